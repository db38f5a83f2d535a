"""The nodes that outputs of a graph need, and what they cost."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kane_dynamics_ros.codegen.expression import CALL, CONSTANT, SYMBOL, Expression, Graph, Node


@dataclass(frozen=True)
class OperationCount:
    """Binary operations + - * /, and function calls counted apart."""

    additions: int
    multiplications: int
    divisions: int
    calls: int

    @property
    def total(self) -> int:
        """Binary operations without calls."""
        return self.additions + self.multiplications + self.divisions


def operations(outputs: Sequence[Expression]) -> OperationCount:
    """What it costs to compute the outputs together."""
    graph = outputs[0].graph
    return count_operations(graph.nodes[i] for i in live_nodes(graph, outputs))


def live_nodes(graph: Graph, roots: Iterable[Expression]) -> list[int]:
    """Indices of all nodes that the roots depend on, in creation order."""
    needed: set[int] = set()
    stack = [root.index for root in roots]
    nodes = graph.nodes
    while stack:
        index = stack.pop()
        if index not in needed:
            needed.add(index)
            node = nodes[index]
            if node.a >= 0:
                stack.append(node.a)
            if node.b >= 0:
                stack.append(node.b)
    return sorted(needed)


def count_operations(nodes: Iterable[Node]) -> OperationCount:
    """Count the operations of nodes."""
    kinds = {"+": 0, "-": 0, "*": 0, "/": 0, CALL: 0, CONSTANT: 0, SYMBOL: 0}
    for node in nodes:
        kinds[node.kind] += 1
    return OperationCount(kinds["+"] + kinds["-"], kinds["*"], kinds["/"], kinds[CALL])
