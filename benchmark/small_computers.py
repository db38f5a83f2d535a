"""What the functions of the reference robot ask of a microcontroller: operations, code, stack and error.

    python -m benchmark.small_computers

generates the C for ``float``, compiles it for size, and rewrites docs/microcontrollers.md. The compiler for
Arm (Debian: gcc-arm-none-eabi, libnewlib-arm-none-eabi) is used where it is installed; otherwise its columns
are left out.
"""

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark.arms import REPOSITORY
from benchmark.native_build import run
from kane_dynamics_ros.codegen.derive import Derived, derive
from kane_dynamics_ros.codegen.print_single import BYTES, STATES, SUFFIX, single_costs, single_sources
from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.runtime.compilation import compiler

NAME = "manipulator_5dof"
URDF = REPOSITORY / "urdf" / f"{NAME}.urdf"
DOCUMENT = REPOSITORY / "docs" / "microcontrollers.md"
OPTIONS = ("-std=c99", "-Os", "-ffunction-sections", "-fstack-usage")
ARM = "arm-none-eabi-"
CORTEX_M4 = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")


@dataclass(frozen=True)
class Target:
    """A compiler, and the binary tools that read what it makes."""

    title: str
    command: str
    prefix: str  # of nm and size
    options: Sequence[str]


@dataclass(frozen=True)
class CodeSize:
    """Bytes of the compiled functions by name, of all code and constants, and of each function's frame."""

    functions: Mapping[str, int]
    total: int
    stack: Mapping[str, int]
    needed: frozenset[str]  # names that the C library has to provide


def targets() -> list[Target]:
    """The compilers on this machine: its own, and that for a Cortex-M4 with single-precision hardware."""
    found = []
    if native := compiler():
        found.append(Target("this machine", native, "", ()))
    if shutil.which(f"{ARM}gcc"):
        found.append(Target("Cortex-M4F", f"{ARM}gcc", ARM, CORTEX_M4))
    return found


def code_size(target: Target, sources: Mapping[str, str]) -> CodeSize:
    """Compile the C file among these texts, by file name, and read sizes from the object file."""
    with tempfile.TemporaryDirectory() as folder:
        for file, text in sources.items():
            Path(folder, file).write_text(text, encoding="utf-8")
        source = Path(folder, next(file for file in sources if file.endswith(".c")))
        built = source.with_suffix(".o")
        run([target.command, *OPTIONS, *target.options, "-c", source, "-o", built])
        symbols = run([f"{target.prefix}nm", "-S", built]).splitlines()
        text_bytes = int(run([f"{target.prefix}size", built]).splitlines()[1].split()[0])
        frames = source.with_suffix(".su").read_text(encoding="utf-8")
    rows = [row.split() for row in symbols]
    functions = {row[3]: int(row[1], 16) for row in rows if len(row) == 4 and row[2] in "tT"}
    needed = frozenset(row[1] for row in rows if len(row) == 2 and row[0] == "U")
    stack = {name: int(size) for name, size in re.findall(r":(\w+)\t(\d+)\t", frames)}
    return CodeSize(functions, text_bytes, stack, needed)


def document(derived: Derived, sizes: Mapping[str, CodeSize]) -> str:
    """The page's text. ``sizes``: by the title of the target."""
    own = NAME + SUFFIX
    costs = single_costs(derived)
    titles = list(sizes)
    heads = [f"code, {title} [B] | stack, {title} [B]" for title in titles]
    rows = []
    for function in derived.equations.functions:
        symbol = f"{own}_{function.name}"
        cells = [f"`{function.name}`", str(derived.operations()[function.name].total)]
        for size in sizes.values():
            cells += [str(size.functions[symbol]), str(size.stack[symbol])]
        cost = costs.get(function.name)
        rows.append(f"| {' | '.join([*cells, f'{cost.error:.0e}' if cost else ''])} |")
    totals = "; ".join(f"{size.total:,} bytes on {title}" for title, size in sizes.items())
    needed = sorted(set().union(*(size.needed for size in sizes.values())))
    return _TEXT.format(
        totals=totals,
        states=STATES,
        needed=", ".join(f"`{name}`" for name in needed),
        parameters=BYTES * derived.equations.layout.size,
        prepared=BYTES * len(derived.prepare.outputs),
        head=" | ".join(["function", "operations", *heads, "error"]),
        rule="|".join(["---", *["---:"] * (2 + 2 * len(titles))]),
        rows="\n".join(rows),
    )


_TEXT = """\
# Microcontrollers

`kane_dynamics generate URDF --precision single` also writes `NAME_single.c` and `NAME_single.h`: the same
functions for `float`, C99 without allocation, globals or forms for many states. Of the C library they need
{needed}. They compile without a warning under `-Wall -Wextra -Wconversion -Wdouble-promotion -pedantic`.

The reference robot, every function, compiled with `-Os`, constants included: {totals}.
The linker drops functions that are not called (`-ffunction-sections`, `--gc-sections`). The parameters
array takes {parameters} bytes, what `prepare` makes of it {prepared}. Functions that have a form `_with`
beside them have the default parameters built in and need neither.

- *Operations*: binary + - * / of one call; sines and cosines apart.
- *Code*: bytes of the function's machine code, with what is inlined into it.
- *Stack*: bytes of the function's own frame, as the compiler states it; `inverse_mass_matrix_with` and
  `forward_dynamics_derivatives_with` call other functions on top of theirs.
- *Error*: of a result beside double precision, the largest at {states} random states, relative to the
  largest result at any of them; for those two, see the functions that they call. A result that is small
  beside that, as an effort that gravity hardly needs, has larger errors relative to itself.

| {head} |
|{rule}|
{rows}

Cortex-M4F: `-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16`. This page is rewritten by
`python -m benchmark.small_computers`; other robots' figures are printed by `generate --precision single` and
stand in the header, but for the bytes of code, which the compiler decides.
"""


def main() -> None:
    derived = derive(serial_chain(load_robot(URDF), "tool"))
    sources = single_sources(NAME, derived, "")
    sizes = {target.title: code_size(target, sources) for target in targets()}
    DOCUMENT.write_text(document(derived, sizes), encoding="utf-8")


if __name__ == "__main__":
    main()
