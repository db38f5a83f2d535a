"""How the cost grows with the number of joints: chains of random joints, as lines, a table and a plot.

Matrices and their derivatives have n^2 elements, hence a module's text grows with n^2 at least; what must not
grow is the time that a statement of it takes, to write and to compile.

    python -m benchmark.growth

rewrites docs/growth.md and docs/images/growth.svg.
"""

import resource
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
from benchmark.native_build import run
from benchmark.operations import count_operations
from kane_dynamics_ros.codegen.arrangement import SEARCHED
from kane_dynamics_ros.codegen.derive import Derived, derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.codegen.parts import LARGE, LARGE_OF_MANY, LONGEST, MANY
from kane_dynamics_ros.runtime.compilation import FLAGS, NATIVE, compiler

sys.path.insert(0, str(REPOSITORY / "test"))  # the random chains of the tests
from random_chains import random_chain

JOINTS = (7, 10, 15, 20, 30)
STEADY = 1.5  # times the cost of a statement at the second length that one may cost at the last
DOCUMENT = REPOSITORY / "docs" / "growth.md"
PLOT = REPOSITORY / "docs" / "images" / "growth.svg"


@dataclass(frozen=True)
class Cost:
    """What a chain of ``joints`` random revolute joints costs."""

    joints: int
    operations: int  # of inverse dynamics in the emitted C
    statements: int  # of all functions
    seconds: float  # to derive all functions and to write the module
    compilation: float  # of NAME.c, processor time [s]


def measure(joints: Sequence[int] = JOINTS) -> list[Cost]:
    """The cost of one random chain of each length."""
    return [_cost(n) for n in joints]


def _cost(n: int) -> Cost:
    chain = random_chain(np.random.default_rng(n), n, prismatic=0.0)
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        derived = derive(chain)
        files = write_module(derived, "chain", Path(folder))
        seconds = time.process_time() - start
        compilation = compile_seconds(next(file for file in files if file.suffix == ".c"))
    statements = sum(len(listing.statements) for listing in derived.listings.values())
    return Cost(n, _operations(derived), statements, seconds, compilation)


def compile_seconds(source: Path) -> float:
    """Processor time of the C compiler [s], with the options of a generated module.

    Raises:
        FileNotFoundError: there is no C compiler.
    """
    command = compiler()
    if command is None:
        raise FileNotFoundError("growth needs a C compiler")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run([command, *FLAGS, *NATIVE, source, "-o", source.with_suffix(".so"), "-lm"])
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def _operations(derived: Derived) -> int:
    """Of inverse dynamics, printed as C alone: a parser takes minutes for all functions of 30 joints."""
    left_out = [f.name for f in derived.equations.functions if f.name != "inverse_dynamics"]
    with tempfile.TemporaryDirectory() as folder:
        write_module(derived, "chain", Path(folder))
        source = Path(folder, "inverse_dynamics.c")
        defined = (f"#define KD_WITHOUT_{name}\n" for name in (*left_out, "parameters", "BATCHES"))
        source.write_text("".join([*defined, '#include "chain.c"\n']))
        return count_operations(source, "chain_inverse_dynamics").binary


def lines() -> list[Line]:
    """A joint more, and a statement more, cost as much at the end of the range as at its beginning."""
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
        _steady("generation", second, last, second.seconds, last.seconds),
        _steady("compilation", second, last, second.compilation, last.compilation),
    ]


def _steady(work: str, short: Cost, long: Cost, before: float, now: float) -> Line:
    """A statement of the longer chain takes hardly more of that time [s] than one of the shorter."""
    ours, theirs = 1e6 * now / long.statements, 1e6 * before / short.statements
    return Line(
        f"chain of {long.joints}, {work} of a statement",
        ours,
        theirs,
        f"at {short.joints} joints",
        "us",
        f"under {STEADY:g} x",
        ours < STEADY * theirs,
    )


def write_document(costs: Sequence[Cost]) -> None:
    """The table and the plot in docs/."""
    rows = "".join(
        f"| {c.joints} | {c.operations} | {c.statements} | {c.seconds:.2f} | {c.compilation:.1f} | "
        f"{1e6 * c.compilation / c.statements:.0f} |\n"
        for c in costs
    )
    caption = "Operations against joints, generation and compilation against statements"
    DOCUMENT.write_text(f"{_TEXT}{rows}\n![{caption}](images/{PLOT.name})\n")
    PLOT.parent.mkdir(exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "growth", "svg.fonttype": "none"}):  # same input, same bytes
        figure = Figure(figsize=(10.0, 3.2), layout="constrained")
        panels = figure.subplots(1, 3)
        joints, statements = [c.joints for c in costs], [c.statements for c in costs]
        for axes, x, x_label, y, y_label in (
            (panels[0], joints, "joints", [c.operations for c in costs], "operations of inverse dynamics"),
            (panels[1], statements, "statements", [c.seconds for c in costs], "generation [s]"),
            (panels[2], statements, "statements", [c.compilation for c in costs], "compilation [s]"),
        ):
            axes.plot(x, y, "o-", color="tab:orange")
            axes.set(xlabel=x_label, ylabel=y_label, xlim=(0, None), ylim=(0, None))
            axes.grid(alpha=0.3)
        figure.savefig(PLOT, metadata={"Date": None})


_TEXT = f"""\
# Cost against the number of joints

Chains of random revolute joints: random axes, frames and inertias, nothing that vanishes. Operations are the
binary + - * / of inverse dynamics in the emitted C, counted by a parser; every joint adds as many. Statements
are those of all functions: matrices and their derivatives have n^2 elements and more. Up to {SEARCHED} joints
every function has a second form with the default parameters built in; beyond, inverse dynamics alone.
Generation is the time to derive all functions and to write Python and C. Compilation is the C compiler's
processor time for the whole NAME.c, with the options that a generated module is compiled with. Functions of
{LARGE:,} statements or more, with {MANY} results or more from {LARGE_OF_MANY:,} on, are cut into parts of
{LONGEST}, so that a statement costs no more in a long function than in a short one, and GCC compiles these
with the passes that make calls faster, in 0.7 to 0.8 of the time of `-O3`. Forms that compute many states
side by side, of functions below {LARGE:,}, are compiled beside those for one: up to {SEARCHED} joints of
all, beyond of inverse dynamics.
`python -m benchmark.growth` rewrites this page.

| joints | operations | statements | generation [s] | compilation [s] | a statement [us] |
|---:|---:|---:|---:|---:|---:|
"""

if __name__ == "__main__":
    measured = measure()
    write_document(measured)
    print(*measured, sep="\n")
