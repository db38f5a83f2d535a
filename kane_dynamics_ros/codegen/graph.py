"""Scalar expressions, hash-consed as they are created, and what their operations cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Union

# Scalar expressions, hash-consed as they are created: equal sub-expressions are one node.
#
# A ``Graph`` owns the nodes; an ``Expression`` is a signed reference to one, so that a negation costs
# nothing and is folded into the sum or product that uses it. Constants are folded on the way. Nodes are
# numbered in the order of their creation, hence operands always come before the node that uses them.


Scalar = Union["Expression", float, int]

CONSTANT, SYMBOL, ADD, SUBTRACT, MULTIPLY, DIVIDE, CALL = (
    "constant",
    "symbol",
    "+",
    "-",
    "*",
    "/",
    "call",
)


QUARTER_TURN = 1e-13  # an offset this near to a multiple of pi/2 [rad] is one, as in formulation.frames


class Node(NamedTuple):
    """One operation. ``a`` and ``b`` are indices of operands; ``label`` is a symbol's or function's name."""

    kind: str
    a: int = -1
    b: int = -1
    label: str = ""
    value: float = 0.0


class Graph:
    """The arena of nodes: the same operation on the same operands is stored once."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._index: dict[Node, int] = {}
        self._constants: dict[float, Expression] = {}
        self.zero = -1  # the index of the constant 0, once there is one

    def constant(self, value: float) -> Expression:
        """The number ``value``; its node holds the magnitude, the reference the sign."""
        found = self._constants.get(value)
        if found is None:
            index = self._intern(Node(CONSTANT, value=abs(float(value))))
            found = self._constants[value] = Expression(self, index, value < 0)
            if value == 0.0:
                self.zero = index
        return found

    def symbol(self, name: str) -> Expression:
        """The variable ``name``."""
        return Expression(self, self._intern(Node(SYMBOL, label=name)), False)

    def reference(self, index: int) -> Expression:
        """The value of a node."""
        return Expression(self, index, False)

    def call(self, function: str, argument: Scalar) -> Expression:
        """``sin``, ``cos`` or ``tanh`` of an expression, with the function's parity folded."""
        x = self.lift(argument)
        if x.is_zero:
            return self.constant(1.0 if function == "cos" else 0.0)
        negative = x.negative and function != "cos"  # sin and tanh are odd, cos is even
        return Expression(self, self._intern(Node(CALL, x.index, label=function)), negative)

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
        sign = -1 if angle.negative else 1
        first = Expression(self, node.a, sign < 0)
        second = Expression(self, node.b, (sign < 0) != (node.kind == SUBTRACT))
        offset, rest = (first, second) if first.is_constant else (second, first)
        if not offset.is_constant:
            return angle, 0
        turns = round(offset.number / (math.pi / 2))
        return (rest, turns) if abs(offset.number - turns * math.pi / 2) < QUARTER_TURN else (angle, 0)

    def lift(self, value: Scalar) -> Expression:
        """A number becomes a constant; an expression stays."""
        return value if isinstance(value, Expression) else self.constant(value)

    def _intern(self, node: Node) -> int:
        index = self._index.setdefault(node, len(self.nodes))
        if index == len(self.nodes):
            self.nodes.append(node)
        return index

    # Each builder takes and returns signed references; the rules keep one canonical form per value.

    def _add(self, x: Expression, y: Expression) -> Expression:
        if x.is_zero or y.is_zero:
            return y if x.is_zero else x
        if x.is_constant and y.is_constant:
            return self.constant(x.number + y.number)
        if x.index == y.index:
            return self.constant(0.0) if x.negative != y.negative else self.constant(2.0) * x
        a, b = self._scaled(x), self._scaled(y)
        if a and b and a[1] == b[1]:  # c1 v + c2 v
            return self.constant(a[0] + b[0]) * self.reference(a[1])
        if x.index > y.index:
            x, y = y, x
        if x.negative == y.negative:
            return Expression(self, self._intern(Node(ADD, x.index, y.index)), x.negative)
        return Expression(self, self._intern(Node(SUBTRACT, x.index, y.index)), x.negative)

    def _scaled(self, x: Expression) -> tuple[float, int] | None:
        """(constant, node) where ``x`` is their product."""
        node = self.nodes[x.index]
        sign = -1.0 if x.negative else 1.0
        if node.kind == MULTIPLY and self.nodes[node.a].kind == CONSTANT:
            return sign * self.nodes[node.a].value, node.b
        return None

    def _multiply(self, x: Expression, y: Expression) -> Expression:
        if x.is_zero or y.is_zero:
            return self.constant(0.0)
        if y.is_constant:
            x, y = y, x
        if x.is_constant:
            if y.is_constant:
                return self.constant(x.number * y.number)
            if x.number in (1.0, -1.0):
                return Expression(self, y.index, y.negative != (x.number < 0))
            node = self.nodes[y.index]
            if node.kind == MULTIPLY and self.nodes[node.a].kind == CONSTANT:
                factor = self.constant(self.nodes[node.a].value * x.number * (-1 if y.negative else 1))
                return self._multiply(factor, Expression(self, node.b, False))
            a, b = x.index, y.index
        else:
            a, b = sorted((x.index, y.index))
        return Expression(self, self._intern(Node(MULTIPLY, a, b)), x.negative != y.negative)

    def _divide(self, x: Expression, y: Expression) -> Expression:
        if y.is_zero:
            raise ZeroDivisionError("division of an expression by the constant 0")
        if x.is_zero:
            return x
        if y.is_constant:
            return self._multiply(self.constant(1.0 / y.number), x)
        if x.index == y.index:
            return self.constant(-1.0 if x.negative != y.negative else 1.0)
        return Expression(self, self._intern(Node(DIVIDE, x.index, y.index)), x.negative != y.negative)


class Expression:
    """A signed reference to a node of a graph; supports + - * / with expressions and numbers."""

    __slots__ = ("graph", "index", "negative")

    def __init__(self, graph: Graph, index: int, negative: bool) -> None:
        self.graph, self.index, self.negative = graph, index, negative

    @property
    def is_constant(self) -> bool:
        return self.graph.nodes[self.index].kind == CONSTANT

    @property
    def is_zero(self) -> bool:
        return self.index == self.graph.zero

    @property
    def number(self) -> float:
        """The value of a constant."""
        value = self.graph.nodes[self.index].value
        return -value if self.negative else value

    def __neg__(self) -> Expression:
        return self if self.is_zero else Expression(self.graph, self.index, not self.negative)

    def __add__(self, other: Scalar) -> Expression:
        return self.graph._add(self, self.graph.lift(other))

    def __radd__(self, other: Scalar) -> Expression:
        return self.graph._add(self.graph.lift(other), self)

    def __sub__(self, other: Scalar) -> Expression:
        return self.graph._add(self, -self.graph.lift(other))

    def __rsub__(self, other: Scalar) -> Expression:
        return self.graph._add(self.graph.lift(other), -self)

    def __mul__(self, other: Scalar) -> Expression:
        return self.graph._multiply(self, self.graph.lift(other))

    def __rmul__(self, other: Scalar) -> Expression:
        return self.graph._multiply(self.graph.lift(other), self)

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
