"""One line of the table of speeds, and the table."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

HEAD = ("work", "ours", "rival", "", "ratio", "required", "met")


@dataclass(frozen=True)
class Line:
    """A figure of ours beside a rival's, in one unit; less is better, ``ratio`` is theirs over ours.

    ``required`` says what DESIGN.md asks, in words; ``met`` is ``None`` where it asks nothing.
    """

    work: str
    ours: float
    rival: float
    rival_name: str
    unit: str
    required: str = ""
    met: bool | None = None

    @property
    def ratio(self) -> float:
        """Theirs over ours; infinite where ours is 0, as a count of lost messages may be."""
        return self.rival / self.ours if self.ours else math.inf

    def cells(self) -> tuple[str, ...]:
        met = {True: "met", False: "NOT MET", None: ""}[self.met]
        ours, rival = (f"{_short(value)} {self.unit}".rstrip() for value in (self.ours, self.rival))
        return self.work, ours, rival, self.rival_name, f"{self.ratio:.2f}", self.required, met


def faster(work: str, ours: float, rival: float, rival_name: str, unit: str, factor: float) -> Line:
    """A line that asks for ``factor`` times the rival's speed at least."""
    required = f"at least {factor:g} x"
    return Line(work, ours, rival, rival_name, unit, required, rival / ours >= factor)


def below(work: str, ours: float, bound: float, bound_name: str, unit: str) -> Line:
    """A line that asks for less than a bound."""
    return Line(work, ours, bound, bound_name, unit, f"under {_short(bound)}", ours < bound)


def table(lines: Sequence[Line]) -> str:
    """The lines in columns as wide as they need."""
    rows = [HEAD, *(line.cells() for line in lines)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEAD))]
    rule = tuple("-" * width for width in widths)
    cells = [rows[0], rule, *rows[1:]]
    return "\n".join(
        "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells
    )


def _short(value: float) -> str:
    return f"{value:.0f}" if value == round(value) else f"{value:.3g}" if value < 100 else f"{value:.0f}"
