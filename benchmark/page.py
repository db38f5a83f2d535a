"""docs/speed.md: the table of the latest full run, and how it was measured."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from benchmark.arms import REPOSITORY
from benchmark.history import latest_by_processor, processor
from benchmark.line import Line, table

PAGE = REPOSITORY / "docs" / "speed.md"

_TEXT = """\
# Speed

`make benchmark` measures ours and the rivals side by side in one run, appends the figures to
`benchmark/history.jsonl`, and fails when a required line is not met. This page is rewritten by
`python -m benchmark --page`; this is the run of {date} on {processor}.

```text
{table}
```

The required lines on each processor that all was measured on, by its last run: the rival's figure, or the
bound, over ours. Each run is of that day's code; the first ones did not record family and model.

{processors}

How it is measured:

- Times are processor time, so that other programs on the machine do not count, but for the batch, which is
  shared among processors: its time is what elapses. All are medians of many repeats, in
  which ours and the rivals take turns.
- Less is better everywhere; the ratio is the rival's figure over ours.
- *A call from C*: the same 512 random states for all, in one C++ process. Each rival's results are compared
  with Pinocchio's first. *M*, *d tau* (by q and qd) and *d qdd* (by q, qd and tau, with M^-1): of our
  functions with default parameters; CasADi's are its derivatives of inverse dynamics on our frames, with
  L D L^T for accelerations. Pinocchio is the wheel `pin`, compiled without `-march=native` because the
  alignment of its matrices must be the wheel's; MuJoCo's `mj_inverse` runs without contacts, limits and
  passive forces.
- *CasADi*: recursive Newton-Euler in `casadi.SX` (`benchmark/newton_euler.py`), its C code compiled as ours;
  once on the URDF's frames, and once on our frames with our regrouped inertial parameters. What then still
  differs is the sines and cosines in one vectorised pass, and sub-expressions shared as they are created.
- *Operations*: binary + - * / of the emitted C, counted by a C parser (`benchmark/operations.py`); unary
  minus, sines and cosines apart. The bounds are the best figures known to us of each arm.
- *Generation*: ours from the URDF to all functions in Python and C; SymPy's to inverse dynamics in C.
- *Five sines and cosines*: half of the time of a small arm in other generators' code. How the kernel
  works, and its largest error (0.83 ulp over the whole range of doubles), is told in
  `kane_dynamics_ros/codegen/sincos.py`.
- The replay's figures and the node's round trip over DDS are sections of their own, `replay_speed` and
  `round_trip`: the latter means something only on a machine that has nothing else to do. The node runs
  without and with its observer of external torque, which then estimates at every state.
- *The control core*: what `kane_dynamics package` writes for the Panda, in mode computed torque with a
  payload, viscous, Coulomb, load and Stribeck friction, and all checks; the state follows a slow wave.
- *Batches*: `NAME_..._batch` beside the same function called state by state, both from C. Up to 12 joints
  every function that is written out computes 4 to 32 states side by side: from 1,000 states, which stay in
  the caches, the reference robot's take 1.35 (tip Jacobian, M) to 3.1 times less time than the loop, a
  Panda's 1.5 to 3.6; `friction`, whose tanh is the C library's, and what loops over other functions take as
  long. Of results that are larger than the caches, memory is the limit: those of 16 MB and more go past
  them in whole cache lines, which spares the memory that it is read before it is written. A regressor is
  2,000 bytes: to store as many takes 75 to 95 ns past the caches, 110 to 120 through them; the loop, which
  computes while earlier results are still on their way, takes 115 to 120 ns, the batch 77 in the caches and
  115 to 167 beyond. M takes 15 ns in the loop, the batch 11 in the caches and 14 to 17 beyond.
- *The simulated arm*: of a cycle of 3.27 us (3.41 in turns before its Runge-Kutta step called forward
  dynamics), reading the sensors takes 0.67 us (three arrays are copied), the command 0.96 us (it is copied,
  and compared with finite values and limits: half of it), the step the rest: half of it in C. What is left
  is a few dozen of an interpreter's calls, and copies that a caller may keep.
- *identify*: of 17.9 s, in turns with 21.7 s before its sums were rearranged, on a machine that others slowed
  down: imports 3.9 (SciPy's two, matplotlib's one), reading and filtering 3.8, three passes over the rows
  3.9, choosing terms and the URDF's weight 1.9, judging 0.8, deriving equations twice, a module and the
  report 3.5. Where others are quieter it takes 6.6 to 7.1 s, of which a fifth is imports.
- *A statement* of a chain of 30 joints: the time to derive and write all functions, or to compile them, over
  their number of statements.
- *A model is compiled in libraries*, each when it is called first (`kane_dynamics_ros/runtime/units.py`).
  Of a chain of 30 joints all took 27.7 s of processor time on a busy machine: the first torque's 3.2 s, the
  slopes of efforts and the regressor most of the rest. They took 31.3 s in the same minutes before
  `coriolis` of more than 12 joints was taken from those slopes, and 1.3 times as long as NAME.c as a whole
  before they called each other's functions. Oblique axes, as random ones are, cost one rotation a joint
  since: the regressor's statements became 50,000 of 75,000, its compilation 7 % faster, for what is stored
  counts as much. What is left is 255,000 straight-line statements: 60 % of the parts' time is spent even at
  `-O0`. Leaving out the passes for dead stores, dominators, constants, forwarded addresses and hoisting
  keeps every bit and every call's time; without the second scheduling calls take 3 % longer, without
  vectors 5 to 9 %. Parts from 4,000 statements on make the regressor of a chain of seven joints 10 to 15 %,
  its slopes of efforts with parameters 18 % faster, but a tip's pose and velocity of 30 joints 16 and 39 %
  slower: what a function with few results computes is one chain.
- *What the compiler is told*: `-O3 -march=native -mtune=generic`. Without the last, GCC takes the
  processor's cost model, and its code differs from one to the next. Inverse dynamics, instructions and
  nanoseconds of a call (the least of 9,000 rounds on an AMD EPYC, Debian 12, 2026-11-28, while other programs
  slowed it down to two thirds: compare them with each other only):

  | compiler | options | five joints | | Panda | |
  |---|---|---:|---:|---:|---:|
  | GCC 12.2 | `-O3 -march=native -mtune=generic` | 261 | 33.5 | 777 | 83.3 |
  | | the same, `-fno-tree-slp-vectorize` | 260 | 32.9 | 783 | 84.1 |
  | | `-O3 -march=x86-64-v3` | 261 | 33.2 | 777 | 83.4 |
  | | the same, `-mprefer-vector-width=128` | 261 | 33.2 | 773 | 86.4 |
  | | the same, `-O2` | 264 | 34.0 | 800 | 86.6 |
  | | `-O3 -march=native` (here `-mtune=znver3`) | 284 | 37.0 | 788 | 83.8 |
  | | `-O3 -march=x86-64-v3 -mtune=skylake-avx512` | 282 | 36.6 | 777 | 83.1 |
  | | `-O3 -march=x86-64-v3 -mtune=sapphirerapids` | 282 | 36.2 | 777 | 82.8 |
  | GCC 11.3 | `-O3 -march=native -mtune=generic` | 246 | 33.0 | 771 | 83.7 |
  | | `-O3 -march=native` | 268 | 36.2 | 784 | 84.3 |
  | clang 14.0 | `-O3 -march=native` | 262 | 30.2 | 857 | 78.6 |
  | clang 15.0 | `-O3 -march=native` | 258 | 30.6 | 855 | 78.8 |
  | clang 16.0 | `-O3 -march=native -mtune=generic` | 260 | 29.7 | 845 | 78.3 |

  Newer compilers, in one run of 2026-11-29 (the least of 3,000 rounds, the machine slower still):

  | compiler | options | five joints | | Panda | |
  |---|---|---:|---:|---:|---:|
  | GCC 12.2 | `-O3 -march=native -mtune=generic` | 261 | 39.8 | 777 | 95.3 |
  | GCC 13.3 | `-O3 -march=native -mtune=generic` | 260 | 39.0 | 776 | 94.0 |
  | | the same, `-fno-tree-slp-vectorize` | 259 | 37.3 | 782 | 92.8 |
  | | `-O3 -march=native` | 285 | 43.5 | 790 | 91.4 |
  | GCC 14.2 | `-O3 -march=native -mtune=generic` | 259 | 39.1 | 765 | 85.5 |
  | | the same, `-fno-tree-slp-vectorize` | 259 | 37.8 | 774 | 85.6 |
  | | `-O3 -march=native` | 280 | 42.0 | 778 | 83.6 |
  | clang 17.0 | `-O3 -march=native -mtune=generic` | 259 | 34.3 | 845 | 82.7 |
  | clang 18.1 | `-O3 -march=native -mtune=generic` | 261 | 36.2 | 851 | 92.4 |
  | clang 19.1 | `-O3 -march=native -mtune=generic` | 261 | 35.7 | 853 | 92.6 |

  What is chosen is within 5 % of each compiler's best; clang's code is 3 to 14 % faster than GCC 12's.
  Of the reference robot's other functions, GCC's tuning for Zen makes single calls 0 to 20 % slower, batches
  of d tau 20 % slower and batches of d qdd 20 % faster.
- *Intel*: no line of this page was measured on an Intel processor yet. Cycles that models of processors
  predict (`llvm-mca` 19, a hundred calls in a row, calls of the C library left out) of GCC 12.2's code: for
  Sapphire Rapids with `-mtune=generic`, as we compile; there with its own tuning; for Zen 3 on Zen 4, where
  the model's 128 are 31.1 ns measured:

  | arm | inverse dynamics | M | forward dynamics | d tau | d qdd |
  |---|---:|---:|---:|---:|---:|
  | manipulator_5dof | 100, 99, 128 | 53, 54, 65 | 142, 147, 173 | 163, 181, 233 | 324, 332, 432 |
  | ur5 | 109, 116, 160 | 83, 94, 115 | 181, 200, 280 | 277, 324, 433 | 551, 572, 793 |
  | so101 | 212, 223, 266 | 124, 139, 159 | 279, 287, 412 | 472, 501, 691 | 677, 714, 969 |
  | panda | 199, 213, 295 | 158, 186, 218 | 419, 477, 709 | 818, 858, 1250 | 1194, 1219, 1714 |

  Every sine is in vectors there as here. Whether memory and clock keep up, only such a machine can tell.
- *Fewer operations are not always faster*: SO-101's 403, factored, took GCC's code 79 to 91 ns where 442
  had taken 74 to 83 (clang's: 66 to 82 and 74 to 83); the other arms became 4 to 15 % faster. The longest
  chain of operations is shorter, too: 75 cycles, 102 before. But it stands at the end of the statements,
  and a model of Zen 3 (`llvm-mca`) waits for it. Putting statements earlier whose way to the results is
  longer makes SO-101 5 to 9 % faster, but Panda 7 to 8 % and the reference robot 2 to 7 % slower: more
  values are kept in memory meanwhile.
- How the cost grows with the number of joints: [growth](growth.md). What the code for `float` asks of a small
  computer: [microcontrollers](microcontrollers.md).
"""


def write_page(lines: Sequence[Line]) -> None:
    """Rewrite docs/speed.md with these lines, and the required ones of other processors beside them."""
    text = _TEXT.format(
        date=date.today().isoformat(),
        processor=processor(),
        table=table(lines),
        processors=by_processor(lines, latest_by_processor()),
    )
    PAGE.write_text(text, encoding="utf-8")


def by_processor(lines: Sequence[Line], runs: Mapping[str, Mapping[str, Any]]) -> str:
    """A Markdown table of the ratios of the required ``lines``, a column for each processor's run."""
    heads = [f"{name} ({run['date'][:10]}, {run['compiler'].split()[-1]})" for name, run in runs.items()]
    rows = [["work", "beside", "required", *heads], ["---", "---", "---", *("---:" for _ in heads)]]
    for line in lines:
        if line.met is not None:
            ratios = (_ratio(run, line.work, line.rival_name) for run in runs.values())
            rows.append([line.work, line.rival_name, line.required, *ratios])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _ratio(run: Mapping[str, Any], work: str, rival_name: str) -> str:
    """The rival's figure over ours in a run of history.jsonl; empty where it was not measured."""
    found = [each for each in run["figures"] if each["work"] == work and rival_name in each]
    return f"{found[0][rival_name] / found[0]['ours']:.2f}" if found and found[0]["ours"] else ""
