"""Print listings as C99 statements on local constants."""

from collections.abc import Sequence

from kane_dynamics_ros.codegen.expression import CALL
from kane_dynamics_ros.codegen.listing import Listing


def c_statements(listing: Listing, indent: str) -> list[str]:
    """``const double tN = ...;`` for every statement."""
    lines = []
    for index in listing.statements:
        node = listing.node(index)
        a = c_operand(listing, node.a)
        text = f"{node.label}({a})" if node.kind == CALL else f"{a} {node.kind} {c_operand(listing, node.b)}"
        lines.append(f"{indent}const double t{index} = {text};")
    return lines


def c_operand(listing: Listing, index: int) -> str:
    """The text of a value."""
    return listing.names.get(index, f"t{index}")


def c_outputs(listing: Listing, targets: Sequence[str], indent: str) -> list[str]:
    """``target = value;`` for every output."""
    return [
        f"{indent}{target} = {'-' if output.negative else ''}{c_operand(listing, output.index)};"
        for target, output in zip(targets, listing.outputs, strict=True)
    ]
