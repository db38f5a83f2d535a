"""Passes over the expression graph: exact derivatives, linear solving, the order of statements."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from kane_dynamics_ros.codegen.graph import (
    ADD,
    CALL,
    CONSTANT,
    MULTIPLY,
    SUBTRACT,
    SYMBOL,
    Expression,
    Graph,
    Node,
    OperationCount,
    count_operations,
    live_nodes,
)

# Exact derivatives of expressions, forward through the graph.


def jacobian(outputs: Sequence[Expression], variables: Sequence[Expression]) -> list[list[Expression]]:
    """d outputs[i] / d variables[j]; the variables are symbols. The graph grows by the new nodes."""
    graph = variables[0].graph
    order = live_nodes(graph, outputs)
    columns = [_derivatives(graph, order, variable) for variable in variables]
    zero = graph.constant(0.0)
    rows = []
    for output in outputs:
        row = [column.get(output.index, zero) for column in columns]
        rows.append([-entry for entry in row] if output.negative else row)
    return rows


def _derivatives(graph: Graph, order: Sequence[int], variable: Expression) -> dict[int, Expression]:
    """Derivative of each node that depends on the variable."""
    found = {variable.index: graph.constant(1.0)}
    for index in order:
        node = graph.nodes[index]
        da, db = found.get(node.a), found.get(node.b)
        if (da or db) and index != variable.index:
            if node.kind == CALL and da:
                found[index] = _of_call(graph, node, graph.reference(index)) * da
            else:
                found[index] = _of_operation(graph, node, da, db, index)
    return found


def _of_call(graph: Graph, node: Node, value: Expression) -> Expression:
    """Derivative of a function by its argument."""
    argument = graph.reference(node.a)
    if node.label == "sin":
        return graph.call("cos", argument)
    if node.label == "cos":
        return -graph.call("sin", argument)
    return 1.0 - value * value  # tanh


def _of_operation(
    graph: Graph, node: Node, da: Expression | None, db: Expression | None, index: int
) -> Expression:
    """Sum, product and quotient rules; ``None`` is an operand that does not depend on the variable."""
    if node.kind in (ADD, SUBTRACT):
        second = -db if db and node.kind == SUBTRACT else db
        return _sum(da, second)
    a, b = graph.reference(node.a), graph.reference(node.b)
    if node.kind == MULTIPLY:
        return _sum(da * b if da else None, a * db if db else None)
    return _sum(da, -(graph.reference(index) * db) if db else None) / b


def _sum(x: Expression | None, y: Expression | None) -> Expression:
    if x and y:
        return x + y
    total = x or y
    if total is None:
        raise ValueError("a node without a derivative was differentiated")
    return total


# Linear algebra on expressions: the equations of motion solved for the accelerations.


def solve_symmetric(
    M: Sequence[Sequence[Expression]], b: Sequence[Expression]
) -> tuple[list[Expression], list[Expression]]:
    """x of M x = b by M = L D L^T, and the pivots D.

    Eliminates from the last row upwards, so that zeros of M above a leaf joint stay zero. All pivots of
    a positive definite M are positive.
    """
    n = len(b)
    L = [list(row) for row in M]
    D: list[Expression] = list(b)
    for j in range(n - 1, -1, -1):
        D[j] = L[j][j]
        for i in range(j - 1, -1, -1):
            factor = L[j][i] / D[j]
            for k in range(i, -1, -1):
                L[i][k] = L[i][k] - factor * L[j][k]
            L[j][i] = factor
    x = list(b)
    for j in range(n - 1, -1, -1):  # L^T is upper: substitute from the last
        for i in range(j):
            x[i] = x[i] - L[j][i] * x[j]
    x = [value / pivot for value, pivot in zip(x, D, strict=True)]
    for j in range(1, n):
        for i in range(j):
            x[j] = x[j] - L[j][i] * x[i]
    return x, D


# The order of statements of a function: what a printer prints.


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


# Which angles a function takes the sine and cosine of, and its statements before and after that pass.


@dataclass(frozen=True)
class TrigonometricPass:
    """A listing cut at its one pass of sines and cosines.

    ``angles`` are the nodes of the angles in order. ``window`` is (first, count) where they lie side by
    side in q, so that the pass reads q itself; ``place`` is each angle's place in the pass.
    """

    before: Listing
    after: Listing
    angles: tuple[int, ...]
    place: tuple[int, ...]
    window: tuple[int, int] | None


def cut_at_angles(listing: Listing, sine_name: Callable[[str, int], str]) -> TrigonometricPass:
    """Cut a listing at its sines and cosines, which are renamed.

    Args:
        listing: a function's statements; every angle is computed without a sine or cosine.
        sine_name: the text for ("s" or "c", place of the angle).
    """
    calls = [i for i in listing.statements if _is_trigonometric(listing, i)]
    angles = tuple(sorted({listing.node(i).a for i in calls}))
    nodes = [listing.node(i) for i in angles]
    place, window = tuple(range(len(angles))), None
    if angles and all(node.kind == SYMBOL for node in nodes):
        joints = [int(node.label[2:-1]) for node in nodes]  # of "q[3]"
        first = min(joints)
        place, window = tuple(j - first for j in joints), (first, max(joints) - first + 1)
    by_angle = dict(zip(angles, place, strict=True))
    names = dict(listing.names)
    for i in calls:
        node = listing.node(i)
        names[i] = sine_name(node.label[0], by_angle[node.a])
    early = _needed_by(listing, angles)
    rest = [i for i in listing.statements if i not in early and i not in names]
    before = replace(listing, statements=tuple(i for i in listing.statements if i in early), outputs=())
    return TrigonometricPass(
        before, replace(listing, names=names, statements=tuple(rest)), angles, place, window
    )


def _is_trigonometric(listing: Listing, index: int) -> bool:
    node = listing.node(index)
    return node.kind == CALL and node.label in ("sin", "cos")


def _needed_by(listing: Listing, roots: tuple[int, ...]) -> set[int]:
    statements, needed, stack = set(listing.statements), set[int](), list(roots)
    while stack:
        index = stack.pop()
        if index in statements and index not in needed:
            needed.add(index)
            node = listing.node(index)
            stack += [i for i in (node.a, node.b) if i >= 0]
    return needed
