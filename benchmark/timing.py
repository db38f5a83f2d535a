"""Time of calls, interleaved so that a noisy machine is noisy for all rivals alike.

Processor time is taken, of all threads of this process, which stays on one core meanwhile: other programs on
the machine do not count. Where threads share the work, elapsed time is what is saved:
``clock=time.perf_counter``. How much the rounds differ is kept in ``spreads`` for whoever prints the table.
"""

import contextlib
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

Call = Callable[[], object]
Clock = Callable[[], float]
spreads: list[float] = []  # of all that was measured: half the distance of the quartiles over the median


def interleaved(
    rivals: Mapping[str, Call], *, repeats: int, calls: int = 1, clock: Clock = time.process_time
) -> dict[str, float]:
    """Median time [s] of one call of each rival: in each repeat, each is called ``calls`` times in turn."""
    times: dict[str, list[float]] = {name: [] for name in rivals}
    with one_core() if clock is time.process_time else contextlib.nullcontext():
        for call in rivals.values():
            call()  # first calls load and allocate
        for _ in range(repeats):
            for name, call in rivals.items():
                times[name].append(_timed(call, calls, clock))
    spreads.extend(spread(values) for values in times.values())
    return {name: statistics.median(values) for name, values in times.items()}


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Keep this process, and those that it starts within, on one core, where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def spread(values: Sequence[float]) -> float:
    """Half the distance of the quartiles over the median.

    >>> spread([1.0, 2.0, 2.0, 3.0, 9.0])
    0.5
    """
    low, middle, high = (
        statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else 3 * values
    )
    return (high - low) / 2 / middle if middle else 0.0


def _timed(call: Call, calls: int, clock: Clock) -> float:
    start = clock()
    for _ in range(calls):
        call()
    return (clock() - start) / calls
