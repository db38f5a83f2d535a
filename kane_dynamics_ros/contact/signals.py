"""Signals that fail: noise, single samples, values that stand still. None of them is a contact.

A contact has a mean; what a failing sensor adds has none, or no noise at all. White noise of variance s^2 has
third differences of variance 20 s^2, in which motion and contacts hardly show: their median magnitude over a
block of samples is the noise level there.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.ndimage import median_filter, rank_filter

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.replay.messages import JointStates
from kane_dynamics_ros.replay.recording import RESTART

ROUNDING = 1e-9  # of a signal's size: what changes by less is constant
BLOCK, FEWEST = 0.1, 8  # [s] and samples, at least, of which a noise level is taken
DEVIATION = 0.6745 * np.sqrt(20.0)  # median magnitude of third differences of noise of unit variance
USUAL = 0.75  # of the blocks have at most the usual noise
NOISY = 10.0  # times the usual noise, on the average of two blocks or more in a row; half of it in each
FINEST = 1e-4  # of an effort's largest value, or of all positions or velocities: less is no noise
SPIKE, BESIDE = 10.0, 21  # times what is usual, and what is beside it within so many samples
FROZEN = 10.0  # times as many equal values in a row as usual


class Fault(NamedTuple):
    """From ``start`` to ``end`` [s] the "position", "velocity" or "effort" of a joint fails.

    ``kind`` is "noisy", with ``level`` its standard deviation and ``ratio`` that over the usual one; "spike",
    of the height ``level``; "frozen" at the value ``level``; or "silent", as ``silent_joints`` says.
    """

    joint: int
    signal: str
    kind: str
    start: float
    end: float
    level: float = 0.0
    ratio: float = 0.0


def constant_joints(q: Array, effort: Array) -> list[int]:
    """Joints of which neither position nor effort, (N, n) each, changes by more than rounding.

    Even of a joint at rest a measured effort changes: by noise. Values that were not measured are NaN.
    """
    changes = [
        np.nanmax(values, axis=0) - np.nanmin(values, axis=0) > ROUNDING * np.nanmax(np.abs(values), axis=0)
        for values in (q, effort)
    ]
    return [int(j) for j in np.flatnonzero(~np.any(changes, axis=0))]


def silent_joints(effort: Array) -> list[int]:
    """Joints of which most of the measured efforts (N, n) are exactly one value, as within a dead zone.

    Values that were not measured are NaN, and do not count.
    """
    known = [column[np.isfinite(column)] for column in effort.T]
    counts = [np.unique(values, return_counts=True)[1].max(initial=0) for values in known]
    return [j for j, most in enumerate(counts) if most > 0.5 * len(known[j])]


def mended(states: JointStates) -> tuple[JointStates, tuple[Fault, ...]]:
    """The states without spikes, frozen efforts bridged, and all faults in the order of their beginnings."""
    steps = np.diff(states.stamps) * 1e-9
    steps[steps < -1e-9 * RESTART] = np.median(steps)  # passes of a looped bag follow each other
    time = np.concatenate([[0.0], np.cumsum(steps)])
    silent = silent_joints(states.effort)
    found = [Fault(j, "effort", "silent", time[0], time[-1]) for j in silent]
    q, qd, tau = (values.copy() for values in (states.position, states.velocity, states.effort))
    for signal, values in (("position", q), ("velocity", qd), ("effort", tau)):
        for j, column in enumerate(values.T):
            rows = np.flatnonzero(np.isfinite(column))
            if len(rows) < BESIDE or (signal == "effort" and j in silent):
                continue
            x, t = column[rows], time[rows]
            for start, stop in _frozen(x) if signal == "effort" else ():
                others = np.delete(states.effort, j, axis=1)[rows[start:stop]]
                if (np.fmax.reduce(others) > np.fmin.reduce(others)).any():  # no arm without noise
                    found.append(Fault(j, signal, "frozen", t[start], t[stop - 1], float(x[start])))
                    ends = [k for k in (start - 1, stop) if 0 <= k < len(x)]
                    x[start:stop] = np.interp(t[start:stop], t[ends], x[ends])
            column[rows] = x
            least = FINEST * float(np.abs(x if signal == "effort" else values[np.isfinite(values)]).max())
            off = x - median_filter(x, 5)
            size = np.abs(off)
            beside = rank_filter(size, -2, BESIDE)  # the largest but one, which in noise is as large
            usual = max(float(np.quantile(size, 0.99)), float(size[size > 0.0].min(initial=np.inf)), least)
            for i in np.flatnonzero(size > SPIKE * np.maximum(usual, beside)):
                found.append(Fault(j, signal, "spike", t[i], t[i], float(off[i])))
                column[rows[i]] = np.nan
            found += [Fault(j, signal, "noisy", *each) for each in _noisy(x, t, least)]
    found.sort(key=lambda each: each.start)
    return replace(states, position=q, velocity=qd, effort=tau), tuple(found)


def _noisy(x: Array, t: Array, least: float) -> Iterator[tuple[float, float, float, float]]:
    """Stretches of noise in x (M,) at t (M,) [s]: start, end, deviation, and that over the usual.

    The usual noise is ``least`` or more.
    """
    size = max(FEWEST, round(BLOCK * (len(t) - 1) / max(float(t[-1] - t[0]), BLOCK)))
    count = (len(x) - 3) // size
    blocks = np.abs(np.diff(x, 3))[: count * size].reshape(count, size)
    levels = np.median(blocks, axis=1) / DEVIATION
    usual = max(float(np.quantile(levels, USUAL)), least) if count else np.inf
    edges = np.flatnonzero(np.diff(levels > 0.5 * NOISY * usual, prepend=False, append=False))
    for first, last in edges.reshape(-1, 2).tolist():
        level = float(np.sqrt(np.mean(np.square(levels[first:last]))))
        if last - first > 1 and level > NOISY * usual:
            yield t[first * size], t[last * size], level, level / usual


def _frozen(x: Array) -> Iterator[tuple[int, int]]:
    """Runs of equal values of x (M,) that are far longer than is usual."""
    bounds = [0, *(np.flatnonzero(np.diff(x)) + 1).tolist(), len(x)]
    squares = float(np.sum(np.diff(bounds) ** 2))
    for start, stop in pairwise(bounds):
        if (length := stop - start) > FROZEN * (squares - length**2) / max(len(x) - length, 1):
            yield start, stop
