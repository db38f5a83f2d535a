"""Time of calls, interleaved so that a noisy machine is noisy for all rivals alike.

Processor time is taken, of all threads of this process: other programs on the machine do not count. Where
threads share the work, elapsed time is what is saved: ``clock=time.perf_counter``.
"""

import statistics
import time
from collections.abc import Callable, Mapping

Call = Callable[[], object]
Clock = Callable[[], float]


def interleaved(
    rivals: Mapping[str, Call], *, repeats: int, calls: int = 1, clock: Clock = time.process_time
) -> dict[str, float]:
    """Median time [s] of one call of each rival: in each repeat, each is called ``calls`` times in turn."""
    times: dict[str, list[float]] = {name: [] for name in rivals}
    for call in rivals.values():
        call()  # first calls load and allocate
    for _ in range(repeats):
        for name, call in rivals.items():
            times[name].append(_timed(call, calls, clock))
    return {name: statistics.median(values) for name, values in times.items()}


def _timed(call: Call, calls: int, clock: Clock) -> float:
    start = clock()
    for _ in range(calls):
        call()
    return (clock() - start) / calls
