"""Scalar expressions, hash-consed as they are created, and what their operations cost.

A ``Graph`` owns the nodes: equal sub-expressions are one node. An ``Expression`` is a signed reference to it,
so that a negation costs nothing and is folded into the sum or product that uses it. Constants are folded on
the way. Nodes are numbered in the order of their creation, hence operands always come before what uses them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, cast

from kane_dynamics_ros.algebra import Scalar

CONSTANT, SYMBOL, CALL = "constant", "symbol", "call"  # the kinds of nodes, and four operators
ADD, SUBTRACT, MULTIPLY, DIVIDE = "+", "-", "*", "/"
QUARTER_TURN = 1e-13  # an offset this near to a multiple of pi/2 [rad] is one, as in formulation.kane.frames


class Node(NamedTuple):
    """One operation. ``a`` and ``b`` are indices of operands; ``label`` is a symbol's or function's name."""

    kind: str
    a: int = -1
    b: int = -1
    label: str = ""
    value: float = 0.0


_node = partial(tuple.__new__, Node)  # without what Node._make checks


class Graph:
    """The arena of nodes: the same operation on the same operands is stored once."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._references: list[Expression] = []  # the value of each node; its opposite hangs on it
        self._leaves: dict[Node, int] = {}
        self._operations: dict[str, dict[tuple[int, int], Expression]] = {
            kind: {} for kind in (ADD, SUBTRACT, MULTIPLY, DIVIDE)
        }
        self._constants: dict[float, Expression] = {}
        self.zero = self.constant(0.0)
        self.zero.opposite = self.zero

    def constant(self, value: float) -> Expression:
        """The number ``value``; its node holds the magnitude, the reference the sign."""
        found = self._constants.get(value)
        if found is None:
            found = self._leaf(Node(CONSTANT, value=abs(float(value))))
            if value < 0:
                found = found.opposite
            self._constants[value] = found
        return found

    def symbol(self, name: str) -> Expression:
        """The variable ``name``."""
        return self._leaf(Node(SYMBOL, label=name))

    def reference(self, index: int) -> Expression:
        """The value of a node."""
        return self._references[index]

    def call(self, function: str, argument: Scalar) -> Expression:
        """``sin``, ``cos`` or ``tanh`` of an expression, with the function's parity folded."""
        x = self.lift(argument)
        if x.is_zero:
            return self.constant(1.0 if function == "cos" else 0.0)
        found = self._leaf(Node(CALL, x.index, label=function))
        return (
            found.opposite if x.negative and function != "cos" else found
        )  # sin and tanh are odd, cos is even

    def sine_cosine(self, angle: Scalar) -> tuple[Expression, Expression]:
        """sin and cos of an angle; whole quarter turns in it are taken out: q + pi/2 costs nothing."""
        rest, turns = self._quarter_turns(self.lift(angle))
        sine, cosine = self.call("sin", rest), self.call("cos", rest)
        return ((sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine))[turns % 4]

    def _quarter_turns(self, angle: Expression) -> tuple[Expression, int]:
        """``angle`` = rest + turns pi/2, where the angle is a sum with such a constant."""
        node = self.nodes[angle.index]
        if node.kind not in (ADD, SUBTRACT):
            return angle, 0
        first, second = self._references[node.a], self._references[node.b]
        if angle.negative:
            first = -first
        if angle.negative != (node.kind == SUBTRACT):
            second = -second
        offset, rest = (first, second) if first.is_constant else (second, first)
        if not offset.is_constant:
            return angle, 0
        turns = round(offset.number / (math.pi / 2))
        return (rest, turns) if abs(offset.number - turns * math.pi / 2) < QUARTER_TURN else (angle, 0)

    def lift(self, value: Scalar) -> Expression:
        """A number becomes a constant; an expression stays."""
        return value if isinstance(value, Expression) else self.constant(cast(float, value))

    def _leaf(self, node: Node) -> Expression:
        """The one node that equals this constant, symbol or call."""
        index = self._leaves.setdefault(node, len(self.nodes))
        return self._references[index] if index < len(self.nodes) else self._new(node)

    def _operation(self, kind: str, a: int, b: int) -> Expression:
        """The one node of this operation on these operands."""
        known = self._operations[kind]
        found = known.get((a, b))
        if found is None:
            found = known[a, b] = self._new(_node((kind, a, b, "", 0.0)))
        return found

    def _new(self, node: Node) -> Expression:
        kind, a, _, _, constant = node
        number = constant if kind == CONSTANT else None
        factor = self._references[a].value if kind == MULTIPLY else None
        index = len(self.nodes)
        value = Expression(self, index, False, number, factor)
        opposite = Expression(self, index, True, number and -number, factor and -factor)
        value.opposite, opposite.opposite = opposite, value
        self.nodes.append(node)
        self._references.append(value)
        return value

    # Each builder takes and returns signed references; the rules keep one canonical form per value.

    def _add(self, x: Expression, y: Expression) -> Expression:
        if x.index == 0:
            return y
        if y.index == 0:
            return x
        if x.value is not None and y.value is not None:
            return self.constant(x.value + y.value)
        if x.index == y.index:
            return self.zero if x.negative != y.negative else self.constant(2.0) * x
        if x.factor is not None and y.factor is not None and self.nodes[x.index].b == self.nodes[y.index].b:
            return self.constant(x.factor + y.factor) * self._references[self.nodes[x.index].b]  # c1 v + c2 v
        if x.index > y.index:
            x, y = y, x
        found = self._operation(ADD if x.negative == y.negative else SUBTRACT, x.index, y.index)
        return found.opposite if x.negative else found

    def _multiply(self, x: Expression, y: Expression) -> Expression:
        if x.index == 0 or y.index == 0:
            return self.zero
        if y.value is not None:
            x, y = y, x
        if x.value is not None:
            if y.value is not None:
                return self.constant(x.value * y.value)
            if x.value == 1.0:
                return y
            if x.value == -1.0:
                return y.opposite
            if y.factor is not None:
                return self._multiply(
                    self.constant(y.factor * x.value), self._references[self.nodes[y.index].b]
                )
            found = self._operation(MULTIPLY, x.index, y.index)
        elif x.index < y.index:
            found = self._operation(MULTIPLY, x.index, y.index)
        else:
            found = self._operation(MULTIPLY, y.index, x.index)
        return found.opposite if x.negative != y.negative else found

    def _divide(self, x: Expression, y: Expression) -> Expression:
        if y.is_zero:
            raise ZeroDivisionError("division of an expression by the constant 0")
        if x.is_zero:
            return x
        if y.value is not None:
            return self._multiply(self.constant(1.0 / y.value), x)
        if x.index == y.index:
            return self.constant(-1.0 if x.negative != y.negative else 1.0)
        found = self._operation(DIVIDE, x.index, y.index)
        return found.opposite if x.negative != y.negative else found


class Expression:
    """A signed reference to a node of a graph; supports + - * / with expressions and numbers.

    A graph makes them, two a node, each the ``opposite`` of the other. ``value``: that of a constant;
    ``factor``: the constant in a product with one; ``None`` elsewhere.
    """

    __slots__ = ("factor", "graph", "index", "negative", "opposite", "value")
    opposite: Expression

    def __init__(
        self, graph: Graph, index: int, negative: bool, value: float | None, factor: float | None
    ) -> None:
        self.graph, self.index, self.negative = graph, index, negative
        self.value, self.factor = value, factor

    @property
    def is_constant(self) -> bool:
        return self.value is not None

    @property
    def is_zero(self) -> bool:
        return self.index == 0

    @property
    def number(self) -> float:
        """The value of a constant. Raises ``TypeError`` where it is none."""
        if self.value is None:
            raise TypeError(f"{self} is no constant")
        return self.value

    def __neg__(self) -> Expression:
        return self.opposite

    def __add__(self, other: Scalar) -> Expression:
        if type(other) is Expression:
            return self.graph._add(self, other)
        return self if other == 0 else self.graph._add(self, self.graph.constant(cast(float, other)))

    __radd__ = __add__

    def __sub__(self, other: Scalar) -> Expression:
        if type(other) is Expression:
            return self.graph._add(self, other.opposite)
        return self + -other

    def __rsub__(self, other: Scalar) -> Expression:
        return self.opposite + other

    def __mul__(self, other: Scalar) -> Expression:
        if type(other) is Expression:
            return self.graph._multiply(self, other)
        if other == 0:
            return self.graph.zero
        return self if other == 1 else self.graph._multiply(self, self.graph.constant(cast(float, other)))

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Expression:
        return self.graph._divide(self, self.graph.lift(other))

    def __rtruediv__(self, other: Scalar) -> Expression:
        return self.graph._divide(self.graph.lift(other), self)

    def __repr__(self) -> str:
        return f"{'-' if self.negative else ''}{self.graph.nodes[self.index]}"


# The nodes that outputs of a graph need, and what they cost.


@dataclass(frozen=True)
class OperationCount:
    """Binary operations + - * /, and function calls counted apart."""

    additions: int
    multiplications: int
    divisions: int
    calls: int

    def __add__(self, other: OperationCount) -> OperationCount:
        return OperationCount(
            self.additions + other.additions,
            self.multiplications + other.multiplications,
            self.divisions + other.divisions,
            self.calls + other.calls,
        )

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
    needed = {-1}  # no operand
    stack = [root.index for root in roots]
    nodes = graph.nodes
    while stack:
        index = stack.pop()
        if index not in needed:
            needed.add(index)
            stack += nodes[index][1:3]  # a and b
    return sorted(needed)[1:]


def count_operations(nodes: Iterable[Node]) -> OperationCount:
    """Count the operations of nodes."""
    kinds = Counter(node.kind for node in nodes)
    return OperationCount(kinds[ADD] + kinds[SUBTRACT], kinds[MULTIPLY], kinds[DIVIDE], kinds[CALL])
