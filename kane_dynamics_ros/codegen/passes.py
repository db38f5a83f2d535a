"""Passes over the expression graph: exact derivatives, linear solving, the order of statements."""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kane_dynamics_ros.algebra import Array, Scalar
from kane_dynamics_ros.codegen.graph import (
    ADD,
    CALL,
    CONSTANT,
    DIVIDE,
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

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    ADD: operator.add,
    SUBTRACT: operator.sub,
    MULTIPLY: operator.mul,
    DIVIDE: operator.truediv,
}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {"sin": np.sin, "cos": np.cos, "tanh": np.tanh}
CONSTANTS_ALONE, PARAMETERS_ALONE, STATE_TOO = range(3)  # what a value depends on

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


def factorized(M: Sequence[Sequence[Expression]]) -> tuple[list[list[Expression]], list[Expression]]:
    """M = L^T D L: L, unit lower triangular (its entries below the diagonal count), and the pivots D.

    Eliminates from the last row upwards, so that zeros of M above a leaf joint stay zero. All pivots of
    a positive definite M are positive.
    """
    n = len(M)
    L = [list(row) for row in M]
    D = [row[j] for j, row in enumerate(M)]
    for j in range(n - 1, -1, -1):
        D[j] = L[j][j]
        for i in range(j - 1, -1, -1):
            factor = L[j][i] / D[j]
            for k in range(i, -1, -1):
                L[i][k] = L[i][k] - factor * L[j][k]
            L[j][i] = factor
    return L, D


def solve_symmetric(
    M: Sequence[Sequence[Expression]], b: Sequence[Expression]
) -> tuple[list[Expression], list[Expression]]:
    """x of M x = b, and the pivots of ``factorized``."""
    n = len(b)
    L, D = factorized(M)
    x = list(b)
    for j in range(n - 1, -1, -1):  # L^T is upper: substitute from the last
        for i in range(j):
            x[i] = x[i] - L[j][i] * x[j]
    x = [value / pivot for value, pivot in zip(x, D, strict=True)]
    for j in range(1, n):
        for i in range(j):
            x[j] = x[j] - L[j][i] * x[i]
    return x, D


def inverted(M: Sequence[Sequence[Expression]]) -> tuple[list[list[Scalar]], list[Expression]]:
    """The inverse of a symmetric M, and the pivots of ``factorized``.

    L X = D^-1 L^-T, whose entries below the diagonal are zero: X_ji = -sum_k<j L_jk X_ki for i < j, and
    X_jj = 1 / D_j - sum_k<j L_jk X_kj, row after row.
    """
    n = len(M)
    L, D = factorized(M)
    X: list[list[Scalar]] = [[0.0] * n for _ in M]
    for j in range(n):
        for i in range(j):
            X[j][i] = X[i][j] = inner([-factor for factor in L[j][:j]], [X[k][i] for k in range(j)])
        X[j][j] = 1.0 / D[j] + inner([-factor for factor in L[j][:j]], [X[k][j] for k in range(j)])
    return X, D


def inner(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """The sum of products; 0 of nothing."""
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


# The order of statements of a function: what a printer prints.


@dataclass(frozen=True)
class Listing:
    """Statements of one function in order, with how often each value is used.

    ``names`` gives, for inputs and for values computed elsewhere, the text to print instead.
    """

    graph: Graph
    names: Mapping[int, str]
    statements: Sequence[int]
    uses: Mapping[int, int]
    outputs: Sequence[Expression]

    def node(self, index: int) -> Node:
        return self.graph.nodes[index]

    def count(self) -> OperationCount:
        """Operations of the statements."""
        return count_operations(self.node(i) for i in self.statements)

    def evaluated(self, inputs: Mapping[str, Sequence[Any] | Array]) -> list[Any]:
        """Values of the outputs for inputs by name, elements NumPy's floats or arrays of one kind.

        As in C, one over a mass of 0 is infinite, and no error.
        """
        values: dict[int, Any] = {}
        for index, name in self.names.items():
            head, _, place = name.rstrip("]").partition("[")
            values[index] = inputs[head][int(place)] if place else float(name)
        with np.errstate(all="ignore"):
            for index in self.statements:
                kind, a, b, label, _ = self.graph.nodes[index]
                values[index] = (
                    FUNCTIONS[label](values[a]) if kind == CALL else OPERATORS[kind](values[a], values[b])
                )
        return [-values[o.index] if o.negative else values[o.index] for o in self.outputs]


def list_statements(graph: Graph, outputs: Sequence[Expression], given: Mapping[int, str]) -> Listing:
    """The statements that the outputs need, operands first; ``given`` values are not computed."""
    names: dict[int, str] = {}
    uses: dict[int, int] = {}
    needed: list[int] = []
    nodes = graph.nodes
    stack = [output.index for output in outputs]
    while stack:
        index = stack.pop()
        if index in uses:
            uses[index] += 1
            continue
        uses[index] = 1
        kind, a, b, label, value = nodes[index]
        if index in given:
            names[index] = given[index]
        elif kind == SYMBOL:
            names[index] = label
        elif kind == CONSTANT:
            names[index] = repr(value)
        else:
            needed.append(index)
            stack.append(a)
            if b >= 0:
                stack.append(b)
    needed.sort()
    return Listing(graph, names, needed, uses, outputs)


def dependence(graph: Graph) -> list[int]:
    """For every node, whether it depends on constants alone, on parameters too, or on the state."""
    found: list[int] = []
    for kind, a, b, label, _ in graph.nodes:
        if kind == SYMBOL:
            found.append(PARAMETERS_ALONE if label.startswith("parameters[") else STATE_TOO)
        elif kind == CONSTANT:
            found.append(CONSTANTS_ALONE)
        else:
            found.append(found[a] if b < 0 or found[a] > found[b] else found[b])
    return found


def hoisted(graph: Graph, outputs: Sequence[Expression]) -> list[int]:
    """Nodes that depend on parameters alone and that the outputs use: ``prepare`` computes them once."""
    found = dependence(graph)
    frontier: set[int] = set()
    seen = {-1}  # no operand
    stack = [output.index for output in outputs]
    while stack:
        index = stack.pop()
        if index in seen:
            continue
        seen.add(index)
        if found[index] == PARAMETERS_ALONE:
            frontier.add(index)
            continue
        stack += graph.nodes[index][1:3]  # a and b
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


def cut_at_angles(listing: Listing) -> TrigonometricPass:
    """Cut a listing at its sines and cosines, which become ``s[place]`` and ``c[place]``.

    Args:
        listing: a function's statements; every angle is computed without a sine or cosine.
    """
    kinds = listing.graph.nodes
    calls = [i for i in listing.statements if kinds[i].kind == CALL and kinds[i].label in ("sin", "cos")]
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
        names[i] = f"{node.label[0]}[{by_angle[node.a]}]"
    early = _needed(listing, angles, set())
    late = _needed(listing, [output.index for output in listing.outputs], set(calls))
    before = replace(listing, statements=early, outputs=())
    return TrigonometricPass(before, replace(listing, names=names, statements=late), angles, place, window)


def _needed(listing: Listing, roots: Iterable[int], given: set[int]) -> tuple[int, ...]:
    """The statements but ``given`` ones that the roots need. What angles and results share is in both."""
    needed, nodes = set(roots), listing.graph.nodes
    found = []
    for index in reversed(listing.statements):  # operands come before what uses them
        if index in needed and index not in given:
            found.append(index)
            needed.update(nodes[index][1:3])  # a and b
    return tuple(reversed(found))
