"""Exact derivatives of expressions, forward through the graph."""

from collections.abc import Sequence

from kane_dynamics_ros.codegen.expression import (
    ADD,
    CALL,
    DIVIDE,
    MULTIPLY,
    SUBTRACT,
    Expression,
    Graph,
    Node,
)
from kane_dynamics_ros.codegen.program import live_nodes


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
        if index != variable.index and (node.a in found or node.b in found):
            found[index] = _chain_rule(graph, node, found, Expression(graph, index, False))
    return found


def _chain_rule(graph: Graph, node: Node, found: dict[int, Expression], value: Expression) -> Expression:
    zero = graph.constant(0.0)
    a = Expression(graph, node.a, False)
    da, db = found.get(node.a, zero), found.get(node.b, zero)
    if node.kind == CALL:
        outer = {
            "sin": lambda: graph.call("cos", a),
            "cos": lambda: -graph.call("sin", a),
            "tanh": lambda: 1.0 - value * value,
        }[node.label]()
        return outer * da
    b = Expression(graph, node.b, False)
    if node.kind == ADD:
        return da + db
    if node.kind == SUBTRACT:
        return da - db
    if node.kind == MULTIPLY:
        return da * b + a * db
    assert node.kind == DIVIDE
    return (da - value * db) / b
