"""When joint states are reported, and what each report holds: rate, jitter, order, gaps and faults."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.simulation.engine import Array
from kane_dynamics_ros.simulation.errors import SimulationOptionError
from kane_dynamics_ros.simulation.faults import Faults
from kane_dynamics_ros.simulation.sensors import Reading


@dataclass(frozen=True)
class ReportOptions:
    """``jitter``: each report is late by a random time up to this share of the period."""

    rate: float = 500.0  # [Hz]
    jitter: float = 0.0
    shuffle: bool = False
    velocity: bool = True
    effort: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.rate) and self.rate > 0.0):
            raise SimulationOptionError("report.rate", self.rate, "finite and > 0 Hz")
        if not 0.0 <= self.jitter <= 1.0:
            raise SimulationOptionError("report.jitter", self.jitter, "0 to 1")


class Report(NamedTuple):
    """One joint state message: names and arrays in the same order.

    ``velocity`` and ``effort`` are empty when they are not reported. ``stale``: it must carry the stamp
    of the message before.
    """

    names: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array
    stale: bool


class Reporter:
    """Turns readings into reports. Same seed, same calls: same reports."""

    def __init__(self, names: tuple[str, ...], options: ReportOptions, time_step: float) -> None:
        self._names, self._options = names, options
        self._random = np.random.default_rng(options.seed)
        self._every = max(1, round(1.0 / (options.rate * time_step)))  # steps
        self._next = 0  # step
        self._count = 0
        self._last: Reading | None = None

    def due(self, step: int) -> bool:
        """Whether to report after this many time steps; call it once per step."""
        if step < self._next:
            return False
        self._count += 1
        late = self._options.jitter * self._random.random() if self._options.jitter else 0.0
        self._next = max(step + 1, int((self._count + late) * self._every))
        return True

    def compose(self, reading: Reading, faults: Faults) -> Report | None:
        """The report of a reading; None when a dropout swallows it."""
        frozen = faults.joints("freeze")
        if frozen and self._last is not None:
            for fresh, old in zip(reading, self._last, strict=True):
                fresh[frozen] = old[frozen]
        self._last = Reading(*(values.copy() for values in reading))
        for values in reading:
            values[faults.joints("nan")] = np.nan
        if faults.find("dropout"):
            return None
        return self._arrange(reading, faults.joints("lost"), faults.find("stale") is not None)

    def _arrange(self, reading: Reading, lost: list[int], stale: bool) -> Report:
        keep = [i for i in range(len(self._names)) if i not in lost]
        if self._options.shuffle:
            self._random.shuffle(keep)
        nothing = np.empty(0)
        return Report(
            tuple(self._names[i] for i in keep),
            reading.position[keep],
            reading.velocity[keep] if self._options.velocity else nothing,
            reading.effort[keep] if self._options.effort else nothing,
            stale,
        )
