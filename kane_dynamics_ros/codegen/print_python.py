"""Print functions as Python that runs on floats and, given NumPy's sin and cos, on whole arrays."""

import re
from collections.abc import Sequence

from kane_dynamics_ros.codegen.expression import CALL, Expression
from kane_dynamics_ros.codegen.listing import Listing

DEEPEST = 12  # nested operations in one statement: fewer names to store, still readable
CALLS = ("sin", "cos", "tanh")


def python_function(name: str, arguments: Sequence[str], n: int, listing: Listing, summary: str) -> str:
    """One function: unpacks its arrays, computes, returns a flat list.

    Args:
        name: a Python identifier.
        arguments: ``prepared`` or ``parameters`` first where used, then inputs among q, qd, qdd, tau.
        n: length of each input.
        listing: its statements.
        summary: one line, ours: never text from a URDF.
    """
    calls = [call for call in CALLS if any(listing.node(i).label == call for i in listing.statements)]
    signature = ", ".join([*arguments, *(f"{call}={call}" for call in calls)])
    lines = [f"def {name}({signature}):", f'    """{summary}."""']
    for argument in arguments:
        if argument in ("q", "qd", "qdd", "tau"):
            lines.append(f"    ({', '.join(f'{argument}{i}' for i in range(n))},) = {argument}")
    printer = _Printer(listing)
    lines += [f"    {line}" for line in printer.statements()]
    outputs = [printer.signed(output) for output in listing.outputs]
    lines.append("    return [")
    lines += [f"        {text}," for text in outputs]
    lines.append("    ]")
    return "\n".join(lines) + "\n"


class _Printer:
    """Texts of values: a name where a value is used more than once, the expression itself otherwise."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing
        self.text: dict[int, str] = {i: _local(name) for i, name in listing.names.items()}
        self.depth: dict[int, int] = dict.fromkeys(listing.names, 0)

    def statements(self) -> list[str]:
        """Assignments of the shared values, operands first."""
        lines = []
        for index in self.listing.statements:
            node = self.listing.node(index)
            depth = 1 + max(self.depth[i] for i in (node.a, node.b) if i >= 0)
            if node.kind == CALL:
                text = f"{node.label}({self.text[node.a]})"
            else:
                text = f"({self.text[node.a]} {node.kind} {self.text[node.b]})"
            if self.listing.uses[index] > 1 or depth >= DEEPEST:
                lines.append(f"t{index} = {text[1:-1] if text.startswith('(') else text}")
                text, depth = f"t{index}", 0
            self.text[index], self.depth[index] = text, depth
        return lines

    def signed(self, output: Expression) -> str:
        """An output, with its sign; a difference used once is turned around instead."""
        text = self.text[output.index]
        bare = text[1:-1] if text.startswith("(") else text
        return f"-{text}" if output.negative else bare


def _local(label: str) -> str:
    """q[3] is unpacked to q3; elements of prepared and parameters stay subscripts."""
    return re.sub(r"^(q|qd|qdd|tau)\[(\d+)\]$", r"\1\2", label)
