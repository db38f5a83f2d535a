"""One quantity of one joint over time, free of repeats and of samples that were not told."""

from typing import NamedTuple

import numpy as np
from scipy.interpolate import Akima1DInterpolator

from kane_dynamics_ros.replay.reading.blocks import Integers
from kane_dynamics_ros.replay.reading.layout import Doubles

ON_GRID = 1e-3  # of a period: samples this near to the grid count as being on it


class Series(NamedTuple):
    """``time`` [s] strictly increasing, ``value``: (N,) each."""

    time: Doubles
    value: Doubles

    def at(self, grid: Doubles) -> Doubles:
        """Values on a uniform grid inside the time span: Akima's cubics, which do not overshoot at steps."""
        first = int(np.searchsorted(self.time, grid[0] - (grid[1] - grid[0]) / 2))
        near = self.time[first : first + len(grid)]
        if len(near) == len(grid) and np.abs(near - grid).max() < ON_GRID * (grid[1] - grid[0]):
            return self.value[first : first + len(grid)]
        span = slice(max(first - 3, 0), int(np.searchsorted(self.time, grid[-1])) + 3)
        return np.asarray(Akima1DInterpolator(self.time[span], self.value[span])(grid))


def series(stamps: Integers, origin: int, values: Doubles) -> list[Series]:
    """The finite samples of each column, of repeated stamps the first; ``stamps`` [ns] ascend.

    Columns that are told in every message share one time array.
    """
    time: Doubles = (stamps - origin).astype(np.float64) * 1e-9
    ascending = bool((np.diff(stamps) > 0).all())
    found = []
    for column in values.T:
        told = np.flatnonzero(np.isfinite(column))
        if ascending and len(told) == len(column):
            found.append(Series(time, column))
            continue
        fresh = np.ones(len(told), bool)
        fresh[1:] = np.diff(stamps[told]) > 0
        found.append(Series(time[told[fresh]], column[told[fresh]]))
    return found


def period(time: Doubles) -> float:
    """The usual time between samples [s]: the median, which gaps and jitter do not move."""
    return float(np.median(np.diff(time))) if len(time) > 1 else np.inf


def covered(times: list[Doubles], longest_gap: float) -> list[tuple[float, float]]:
    """The spans [s] in which none of several series has a gap longer than ``longest_gap`` [s]."""
    times = list({id(time): time for time in times}.values())  # most columns share one array
    start = max(time[0] for time in times)
    end = min(time[-1] for time in times)
    gaps = sorted({gap for time in times for gap in _gaps(time, longest_gap)})
    spans = []
    for left, right in [*gaps, (end, np.inf)]:
        if min(left, end) > start:
            spans.append((float(start), float(min(left, end))))
        start = max(start, right)
    return spans


def _gaps(time: Doubles, longest: float) -> list[tuple[float, float]]:
    wide = np.flatnonzero(np.diff(time) > longest)
    return list(zip(time[wide].tolist(), time[wide + 1].tolist(), strict=True))
