"""A program: named outputs of a graph, the nodes that they need, and what they cost."""

from collections.abc import Iterable, Mapping, Sequence
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


@dataclass(frozen=True)
class Program:
    """A straight-line program: ``outputs`` in order, each an array of expressions by name."""

    graph: Graph
    outputs: Mapping[str, Sequence[Expression]]

    def live(self) -> list[int]:
        """Indices of the nodes that the outputs need, operands first."""
        return live_nodes(self.graph, (e for values in self.outputs.values() for e in values))

    def count(self) -> OperationCount:
        """Operations of the live nodes."""
        return count_operations(self.graph.nodes[i] for i in self.live())


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
