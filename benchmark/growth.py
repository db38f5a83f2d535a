"""How the cost grows with the number of joints: chains of random joints, as lines, a table and a plot.

    python -m benchmark.growth

rewrites docs/growth.md and docs/images/growth.svg.
"""

import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from benchmark.arms import REPOSITORY
from benchmark.line import Line, below
from benchmark.operations import count_operations
from kane_dynamics_ros.codegen.derive import Derived, derive
from kane_dynamics_ros.codegen.print_c import LANES, c_function

sys.path.insert(0, str(REPOSITORY / "test"))  # the random chains of the tests
from random_chains import random_chain

JOINTS = (5, 10, 20, 30)
DOCUMENT = REPOSITORY / "docs" / "growth.md"
PLOT = REPOSITORY / "docs" / "images" / "growth.svg"


@dataclass(frozen=True)
class Cost:
    """What a chain of ``joints`` random revolute joints costs."""

    joints: int
    operations: int  # of inverse dynamics in the emitted C
    seconds: float  # to derive all functions


def measure(joints: Sequence[int] = JOINTS) -> list[Cost]:
    """The cost of one random chain of each length."""
    return [_cost(n) for n in joints]


def _cost(n: int) -> Cost:
    chain = random_chain(np.random.default_rng(n), n, prismatic=0.0)
    start = time.process_time()
    derived = derive(chain)
    seconds = time.process_time() - start
    return Cost(n, _operations(derived), seconds)


def _operations(derived: Derived) -> int:
    """Of inverse dynamics, printed as C alone: a parser takes minutes for all functions of 30 joints."""
    function = next(f for f in derived.equations.functions if f.name == "inverse_dynamics")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "chain.c")
        text = c_function("chain", derived.equations.n, function, derived.listings[function.name], {})
        source.write_text("\n".join(["#define KD_ALWAYS", f"#define KD_LANES {LANES}", *text]))
        return count_operations(source, "chain_inverse_dynamics").binary


def lines() -> list[Line]:
    """A joint more costs as much at the end of the range as at its beginning; the longest in time."""
    costs = measure()
    first, second, *_, before, last = costs
    early = (second.operations - first.operations) / (second.joints - first.joints)
    late = (last.operations - before.operations) / (last.joints - before.joints)
    return [
        Line(
            f"chain of {last.joints}, operations a further joint",
            late,
            early,
            f"at {second.joints} joints",
            "",
            "as many, within 10 %",
            late < 1.1 * early,
        ),
        below(f"chain of {last.joints}, generation", last.seconds, 10.0, "DESIGN.md's bound", "s"),
    ]


def write_document(costs: Sequence[Cost]) -> None:
    """The table and the plot in docs/."""
    rows = "".join(f"| {c.joints} | {c.operations} | {c.seconds:.2f} |\n" for c in costs)
    DOCUMENT.write_text(
        f"{_TEXT}{rows}\n![Operations and generation time against joints](images/{PLOT.name})\n"
    )
    PLOT.parent.mkdir(exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "growth", "svg.fonttype": "none"}):  # same input, same bytes
        figure = Figure(figsize=(7.0, 3.2), layout="constrained")
        panels = figure.subplots(1, 2)
        for axes, values, label in (
            (panels[0], [c.operations for c in costs], "operations of inverse dynamics"),
            (panels[1], [c.seconds for c in costs], "generation [s]"),
        ):
            axes.plot([c.joints for c in costs], values, "o-", color="tab:orange")
            axes.set(xlabel="joints", ylabel=label, xlim=(0, None), ylim=(0, None))
            axes.grid(alpha=0.3)
        figure.savefig(PLOT, metadata={"Date": None})


_TEXT = """\
# Cost against the number of joints

Chains of random revolute joints: random axes, frames and inertias, nothing that vanishes. Operations are the
binary + - * / of inverse dynamics in the emitted C, counted by a parser. Generation is the time to derive all
functions, which include matrices and their derivatives; the time of the C compiler is not part of it.
`python -m benchmark.growth` rewrites this page.

| joints | operations | generation [s] |
|---:|---:|---:|
"""

if __name__ == "__main__":
    measured = measure()
    write_document(measured)
    print(*measured, sep="\n")
