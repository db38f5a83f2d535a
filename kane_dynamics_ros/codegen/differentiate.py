"""Exact derivatives of expressions, forward through the graph."""

from collections.abc import Sequence

from kane_dynamics_ros.codegen.expression import (
    ADD,
    CALL,
    MULTIPLY,
    SUBTRACT,
    Expression,
    Graph,
    Node,
)
from kane_dynamics_ros.codegen.operations import live_nodes


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
