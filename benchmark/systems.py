"""Systems with constraints beside SymPy's KanesMethod: deriving, then accelerations at a state.

Run as ``python -m benchmark.systems``; prints the rows of the table in docs/systems.md, or those of the
pages that are named. Both take turns in one process; times are the processor's.
"""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import sympy

sys.path.insert(0, str(Path(__file__).parents[1] / "test" / "systems"))

from test_beside_sympy import CASES, derivation, system_of

from kane_dynamics_ros.systems import close, complete_speeds, equations, forward_dynamics

ROUNDS = 5
CALLS = 200


def seconds(work: Callable[[], object], times: int = 1) -> float:
    """Processor time of one call [s]."""
    start = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - start) / times


def row(page: str) -> str:
    """One system: both derivations, both evaluations, and their ratios."""
    system = system_of(page)
    q = close(system, CASES[page][2])
    u = complete_speeds(system, q, np.full(len(q), 0.3))
    tau = np.zeros(len(q))

    def derive() -> None:
        equations.program.cache_clear()
        equations.program(system)

    ours = statistics.median(seconds(derive) for _ in range(ROUNDS))
    start = time.process_time()
    _, found, _ = derivation(page)
    symbols = [*found.q.values(), *found.u.values()]
    theirs_of = sympy.lambdify([symbols], [found.method.mass_matrix, found.method.forcing], cse=True)
    theirs = time.process_time() - start

    def by_sympy() -> object:
        M, f = theirs_of([*q, *u])
        return np.linalg.solve(M, f)

    turns = [
        (seconds(lambda: forward_dynamics(system, q, u, tau), CALLS), seconds(by_sympy, CALLS))
        for _ in range(ROUNDS)
    ]
    call, their_call = (statistics.median(part) for part in zip(*turns, strict=True))
    return (
        f"| {page.replace('_', ' ')} | {theirs:.2f} s | {ours * 1e3:.0f} ms | {theirs / ours:.0f} | "
        f"{their_call * 1e6:.0f} us | {call * 1e6:.0f} us |"
    )


def main() -> None:
    print("| system | KanesMethod derives in | ours in | ratio | its accelerations | ours |")
    print("|---|---|---|---|---|---|")
    for page in sys.argv[1:] or CASES:
        print(row(page), flush=True)


if __name__ == "__main__":
    main()
