"""Expressions are folded and shared as they are created, and their derivatives are exact."""

import math

import numpy as np
import pytest

from kane_dynamics_ros.codegen.graph import Expression, Graph, operations
from kane_dynamics_ros.codegen.passes import jacobian, list_statements, solve_symmetric


@pytest.fixture
def graph() -> Graph:
    return Graph()


def same(a: Expression, b: Expression) -> bool:
    return (a.index, a.negative) == (b.index, b.negative)


def value(expression: Expression, **symbols: float) -> float:
    """Evaluate by walking the nodes: independent of the printers."""
    nodes = expression.graph.nodes
    operations = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b}
    operations["/"] = lambda a, b: a / b
    values: list[float] = []
    for node in nodes:
        if node.kind == "constant":
            values.append(node.value)
        elif node.kind == "symbol":
            values.append(symbols[node.label])
        elif node.kind == "call":
            values.append(getattr(math, node.label)(values[node.a]))
        else:
            values.append(operations[node.kind](values[node.a], values[node.b]))
    return -values[expression.index] if expression.negative else values[expression.index]


def test_equal_operations_are_one_node(graph: Graph) -> None:
    x, y = graph.symbol("x"), graph.symbol("y")
    assert same(x * y + 1.0, 1.0 + y * x)
    assert same(x - y, -(y - x))
    assert same((-x) * y, -(x * y))
    assert same(graph.call("sin", -x), -graph.call("sin", x))
    assert same(graph.call("cos", -x), graph.call("cos", x))


def test_neutral_elements_and_constants_cost_nothing(graph: Graph) -> None:
    x = graph.symbol("x")
    assert same(x + 0, x)
    assert same(1.0 * x, x)
    assert same(x / -1.0, -x)
    assert (0 * x).is_zero
    assert (x - x).is_zero
    assert same(2.0 * (3.0 * x), 6.0 * x)
    assert same(2.0 * x + 3.0 * x, 5.0 * x)
    assert same(x / x, graph.constant(1.0))
    assert (graph.constant(2.0) - 5.0).number == -3.0


def test_whole_quarter_turns_are_taken_out_of_an_angle(graph: Graph) -> None:
    q = graph.symbol("q")
    s, c = graph.call("sin", q), graph.call("cos", q)
    quarter = math.pi / 2
    for turns, expected in enumerate([(s, c), (c, -s), (-s, -c), (-c, s)]):
        found = graph.sine_cosine(q + turns * quarter)
        assert all(same(a, b) for a, b in zip(found, expected, strict=True))
    found = graph.sine_cosine(quarter - q)
    assert all(same(a, b) for a, b in zip(found, (c, s), strict=True))
    assert graph.sine_cosine(q + 1.5707)[0].graph.nodes[-1].kind == "call"  # not a quarter turn


@pytest.mark.parametrize("beside", [2e-12, -2e-12, 1e-7])
def test_an_offset_beside_a_quarter_turn_keeps_its_digits(graph: Graph, beside: float) -> None:
    """As in a file of twelve digits: at q = 0 the cosine is the sine of what is missing, not 0."""
    q, quarter = graph.symbol("q"), math.pi / 2
    sine, cosine = graph.sine_cosine(q + (quarter + beside))
    assert value(cosine, q=0.0) == pytest.approx(-beside, rel=1e-3, abs=0.0)
    assert value(sine, q=0.0) == pytest.approx(1.0, rel=1e-15)


@pytest.mark.parametrize("beside", [3e-14, -3e-14])
def test_rounding_of_a_composed_quarter_turn_is_taken_out(graph: Graph, beside: float) -> None:
    """What products of rotation matrices leave is none of the file's digits."""
    q = graph.symbol("q")
    sine, cosine = graph.sine_cosine(q + (math.pi / 2 + beside))
    assert same(sine, graph.call("cos", q))
    assert same(cosine, -graph.call("sin", q))


def test_dividing_by_the_constant_zero_is_refused(graph: Graph) -> None:
    with pytest.raises(ZeroDivisionError, match=r"^division of an expression by the constant 0$"):
        graph.symbol("x") / 0.0


def test_derivatives_are_those_of_the_rules(graph: Graph) -> None:
    x, y = graph.symbol("x"), graph.symbol("y")
    f = graph.call("sin", x * y) / (1.0 + y * y) - graph.call("tanh", x) * graph.call("cos", y)
    (row,) = jacobian([-f], [x, y])
    a, b = 0.7, -1.3
    by_x = b * math.cos(a * b) / (1 + b * b) - (1 - math.tanh(a) ** 2) * math.cos(b)
    by_y = (
        a * math.cos(a * b) / (1 + b * b)
        - math.sin(a * b) * 2 * b / (1 + b * b) ** 2
        + math.tanh(a) * math.sin(b)
    )
    found = [value(entry, x=a, y=b) for entry in row]
    np.testing.assert_allclose(found, [-by_x, -by_y], rtol=1e-14)


def test_a_symmetric_system_is_solved_and_its_pivots_are_those_of_elimination(graph: Graph) -> None:
    A = np.random.default_rng(0).normal(size=(4, 4))
    M = A @ A.T + np.eye(4)
    b = np.arange(1.0, 5.0)
    x, pivots = solve_symmetric(
        [[graph.constant(entry) for entry in row] for row in M], [graph.constant(entry) for entry in b]
    )
    np.testing.assert_allclose([e.number for e in x], np.linalg.solve(M, b), rtol=1e-12)
    assert np.prod([e.number for e in pivots]) == pytest.approx(np.linalg.det(M), rel=1e-12)


def test_only_what_outputs_need_is_counted_and_listed(graph: Graph) -> None:
    x, y = graph.symbol("x"), graph.symbol("y")
    unused = x / y
    wanted = x * y + graph.call("sin", x)
    count = operations([wanted])
    assert (count.additions, count.multiplications, count.divisions, count.calls) == (1, 1, 0, 1)
    assert unused.index not in list_statements(graph, [wanted], {}).statements
