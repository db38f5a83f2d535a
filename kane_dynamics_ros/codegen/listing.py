"""The order of statements of a function: what a printer prints."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kane_dynamics_ros.codegen.expression import CONSTANT, SYMBOL, Expression, Graph, Node
from kane_dynamics_ros.codegen.operations import OperationCount, count_operations


@dataclass(frozen=True)
class Listing:
    """Statements of one function in order, with how often each value is used.

    ``names`` gives, for inputs and for values computed elsewhere, the text to print instead.
    """

    graph: Graph
    names: Mapping[int, str]
    statements: Sequence[int]
    uses: Counter[int]
    outputs: Sequence[Expression]

    def node(self, index: int) -> Node:
        return self.graph.nodes[index]

    def count(self) -> OperationCount:
        """Operations of the statements."""
        return count_operations(self.node(i) for i in self.statements)


def list_statements(graph: Graph, outputs: Sequence[Expression], given: Mapping[int, str]) -> Listing:
    """The statements that the outputs need, operands first; ``given`` values are not computed."""
    names: dict[int, str] = {}
    uses: Counter[int] = Counter()
    needed: set[int] = set()
    stack = [output.index for output in outputs]
    uses.update(stack)
    while stack:
        index = stack.pop()
        if index in needed or index in names:
            continue
        node = graph.nodes[index]
        if index in given:
            names[index] = given[index]
        elif node.kind == SYMBOL:
            names[index] = node.label
        elif node.kind == CONSTANT:
            names[index] = repr(node.value)
        else:
            needed.add(index)
            operands = [i for i in (node.a, node.b) if i >= 0]
            uses.update(operands)
            stack += operands
    return Listing(graph, names, sorted(needed), uses, outputs)


def parameter_only(graph: Graph) -> list[bool]:
    """For every node, whether it depends on parameters and on nothing else but constants."""
    found: list[bool] = []
    constant: list[bool] = []
    for node in graph.nodes:
        if node.kind == SYMBOL:
            found.append(node.label.startswith("parameters["))
            constant.append(False)
            continue
        operands = [i for i in (node.a, node.b) if i >= 0]
        constant.append(all(constant[i] for i in operands))
        found.append(not constant[-1] and all(found[i] or constant[i] for i in operands))
    return found


def hoisted(graph: Graph, outputs: Sequence[Expression]) -> list[int]:
    """Nodes that depend on parameters alone and that the outputs use: ``prepare`` computes them once."""
    fixed = parameter_only(graph)
    frontier: set[int] = set()
    seen: set[int] = set()
    stack = [output.index for output in outputs]
    while stack:
        index = stack.pop()
        if index in seen:
            continue
        seen.add(index)
        if fixed[index]:
            frontier.add(index)
            continue
        stack += [i for i in (graph.nodes[index].a, graph.nodes[index].b) if i >= 0]
    return sorted(frontier)
