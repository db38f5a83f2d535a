"""``make benchmark``: every line of DESIGN.md's table of speeds, ours and the rivals' side by side.

    python -m benchmark [--only SECTION ...] [--no-history] [--page]

Exit code 1 when a required line is not met or a section could not be measured.
"""

import argparse
import importlib
import statistics
import sys
import time
from collections.abc import Sequence

from benchmark import timing
from benchmark.history import append_history, compiler, processor
from benchmark.line import Line, table
from benchmark.page import write_page

# Each is a module of this package whose ``lines()`` measures; the heavy libraries are imported then.
SECTIONS = (
    "calls_from_c",
    "calls_from_python",
    "control_core",
    "batches",
    "sines",
    "generated_size",
    "generation",
    "first_torque",
    "growth",
    "simulated_hardware",
    "replay_speed",
    "identify_speed",
    "round_trip",
    "command_age",
    "long_trajectory",
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmark", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", nargs="+", choices=SECTIONS, default=SECTIONS, metavar="SECTION", help=", ".join(SECTIONS)
    )
    parser.add_argument("--no-history", action="store_true", help="do not append to benchmark/history.jsonl")
    parser.add_argument("--page", action="store_true", help="rewrite docs/speed.md with this run's table")
    options = parser.parse_args(arguments)
    lines, failed = measured_sections(options.only)
    print(
        f"{processor()}; {compiler()}",
        "processor time, medians of interleaved repeats; ratio: rival over ours\n",
        table(lines),
        sep="\n",
    )
    if timing.spreads:
        usual, most = statistics.median(timing.spreads), max(timing.spreads)
        print(f"\nhalf of all rounds lie within +-{usual:.1%} of their median, at worst +-{most:.1%}")
    missed = [line.work for line in lines if line.met is False]
    asked = sum(line.met is not None for line in lines)
    print(f"\n{asked - len(missed)} of {asked} required lines met")
    for name, error in failed.items():
        print(f"not measured: {name}: {error}")
    if not options.no_history:
        append_history(lines)
    if options.page:
        write_page(lines)
    return 1 if missed or failed else 0


def measured_sections(names: Sequence[str]) -> tuple[list[Line], dict[str, Exception]]:
    """The lines of all sections that could be measured, and why the others could not."""
    lines: list[Line] = []
    failed: dict[str, Exception] = {}
    for name in names:
        start = time.perf_counter()
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            lines += importlib.import_module(f"benchmark.{name}").lines()
        except Exception as error:  # one rival that is not installed must not hide the others' figures
            failed[name] = error
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return lines, failed


if __name__ == "__main__":
    sys.exit(main())
