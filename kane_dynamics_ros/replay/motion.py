"""From joint states to what the model needs: position, velocity, acceleration and measured effort.

A recording is cut where its clock starts again (passes), each quantity of a joint is freed of repeats and of
samples that are missing (series), the parts without gaps are found (spans), and only then is anything
sampled, filtered and differentiated (intervals, ``estimate``).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import signal
from scipy.interpolate import Akima1DInterpolator

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.replay.correlation import Delay, command_delay
from kane_dynamics_ros.replay.errors import BagError, TooShortError
from kane_dynamics_ros.replay.messages import Integers, JointStates
from kane_dynamics_ros.replay.recording import RESTART, Recording

ON_GRID = 1e-3  # of a period: samples this near to the grid count as being on it
GAP_PERIODS, GAP_SECONDS = 5, 0.02  # a pause longer than both is a gap, not a late sample
CROWDED = 4  # samples are taken at most so many times as often as they come on average, however they cluster
SLOWEST = 5.0  # [Hz] at which joint states must come
SHORTEST = 1.0  # [s] of an interval that is worth filtering, beside its ends
EDGE_CYCLES = 3.0  # periods of the cut-off after which less than 1e-3 of a filter's end effects is left
LOOKED_AT = 120.0  # [s] of motion from which the cut-off is chosen
VELOCITY_SHARE = 0.9  # of the positions' samples that velocity must have, or it is derived
ORDER = 4  # of the Butterworth filter; run forward and backward it falls by 48 dB an octave
LOWEST, HIGHEST = 2.0, 30.0  # [Hz] allowed cut-offs; rigid-body dynamics of arms lie below
ABOVE_NOISE = 10.0  # the motion ends where its power is less than this many times the noise floor
MARGIN = 1.5  # of the cut-off over the frequency at which the motion ends
PER_CUTOFF = 8.0  # analysis rate over cut-off: so many samples a period of the cut-off remain
STENCIL = 9  # points of the central difference
CONTRADICTED = 0.5  # of a velocity, by which the recorded one is off,
SLOW = 0.01  # [rad/s] or [m/s] and by so much at least
ALIKE = 0.02  # of a factor, within which the velocities of all joints have it in common
butter, firwin = lru_cache(signal.butter), lru_cache(signal.firwin)  # filters are designed once


# Passes


def passes(states: JointStates, revolving: Sequence[str] = ()) -> Iterator[JointStates]:
    """The recording cut where stamps jump back by over a second, each part sorted by stamp.

    The angles of ``revolving`` joints are unwrapped: between two samples none turns by over half a turn,
    unless there is a gap between them.
    """
    columns = [j for j, joint in enumerate(states.joints) if joint in revolving]
    ends = np.flatnonzero(np.diff(states.stamps) < -RESTART) + 1
    for start, stop in pairwise([0, *ends.tolist(), len(states.stamps)]):
        part = states.part(slice(start, stop))
        if (np.diff(part.stamps) < 0).any():
            part = part.part(np.argsort(part.stamps, kind="stable"))
        yield replace(part, position=unwrapped(part.stamps, part.position, columns))


def unwrapped(stamps: Integers, position: Array, columns: Iterable[int]) -> Array:
    """Positions (N, n) with the jumps by 2 pi taken out of some columns; what is missing stays missing.

    A driver that publishes angles from -pi to pi makes such jumps; filtered or differentiated they are
    enormous. In a gap a joint may turn far: what it jumps there stays. ``stamps`` (N,) [ns] ascend.

    >>> unwrapped(np.array([0, 10_000_000]), np.array([[3.0], [-3.0]]), [0]).round(3).ravel().tolist()
    [3.0, 3.283]
    """
    result = position
    for j in columns:
        known = np.flatnonzero(np.isfinite(position[:, j]))
        turns = np.rint(np.diff(position[known, j]) / (2 * np.pi))
        if turns.any():
            pauses = np.diff(stamps[known]) * 1e-9
            turns[pauses > max(GAP_PERIODS * float(np.median(pauses)), GAP_SECONDS)] = 0.0
            result = position.copy() if result is position else result
            result[known[1:], j] -= 2 * np.pi * np.cumsum(turns)
    return result


# Series


class Series(NamedTuple):
    """One quantity of one joint over time: ``time`` [s] strictly increasing, ``value``: (N,) each."""

    time: Array
    value: Array

    def at(self, grid: Array) -> Array:
        """Values on a uniform grid inside the time span: Akima's cubics, which do not overshoot at steps."""
        first = int(np.searchsorted(self.time, grid[0] - (grid[1] - grid[0]) / 2))
        near = self.time[first : first + len(grid)]
        if len(near) == len(grid) and np.abs(near - grid).max() < ON_GRID * (grid[1] - grid[0]):
            return self.value[first : first + len(grid)]
        span = slice(max(first - 3, 0), int(np.searchsorted(self.time, grid[-1])) + 3)
        inside = np.clip(grid, self.time[span][0], self.time[span][-1])  # the last by rounding behind it
        return np.asarray(Akima1DInterpolator(self.time[span], self.value[span])(inside))

    @property
    def period(self) -> float:
        """The usual time between samples [s]: the median, which gaps and jitter do not move."""
        return float(np.median(np.diff(self.time)))


def series(stamps: Integers, values: Array) -> list[Series]:
    """The finite samples of each column, of repeated stamps the first; ``stamps`` [ns] ascend.

    Times begin at the first stamp. Columns without missing samples share one time array.
    """
    time: Array = (stamps - stamps[0]).astype(np.float64) * 1e-9
    fresh = np.append(True, np.diff(stamps) > 0)
    found = []
    for column in values.T:
        known = np.isfinite(column)
        if known.all() and fresh.all():
            found.append(Series(time, column))
            continue
        rows = np.flatnonzero(known)
        rows = rows[np.append(True, np.diff(stamps[rows]) > 0)] if len(rows) else rows
        found.append(Series(time[rows], column[rows]))
    return found


# Spans


@dataclass(frozen=True)
class Span:
    """A part without gaps, from ``start`` to ``end`` [s] in the time of its pass through the recording.

    ``shift`` [s] leads from that time to the report's, where passes follow each other; ``origin`` [ns] is
    the stamp at the pass's time 0. The series are the whole pass's, one a joint; a velocity is ``None``
    where it must be derived.
    """

    start: float
    end: float
    shift: float
    origin: int
    position: list[Series]
    velocity: list[Series | None]
    effort: list[Series]

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return self.end - self.start

    @property
    def step(self) -> float:
        """The sampling period [s]: the slowest joint's, averaged over the span, so that no grid drifts."""
        every = {id(one.time): one for one in (*self.position, *self.effort)}.values()  # most share an array
        counts = [int(np.diff(np.searchsorted(one.time, (self.start, self.end)))[0]) for one in every]
        usual = round(self.seconds / max(one.period for one in every))
        return self.seconds / max(1, min(usual, CROWDED * max(counts)))

    def grid(self, step: float) -> Array:
        """Uniform times [s] inside the span."""
        return np.asarray(self.start + step * np.arange(int(self.seconds / step * (1 + 1e-12)) + 1))


def spans(parts: Iterable[JointStates], derived: Sequence[bool], delay: float = 0.0) -> Iterator[Span]:
    """The parts without gaps of every pass, in order; each pass sorted by stamp.

    ``derived``: joints whose velocity comes too seldom, so that it does not count; ``delay`` [s]: by which
    efforts are stamped too late.
    """
    shift = 0.0
    for states in parts:
        position, measured, effort = (
            series(states.stamps, values) for values in (states.position, states.velocity, states.effort)
        )
        if delay:
            effort = [Series(one.time - delay, one.value) for one in effort]
        velocity = [None if skip else one for one, skip in zip(measured, derived, strict=True)]
        every = [one for one in (*position, *velocity, *effort) if one is not None]
        if min(len(one.time) for one in every) < 2:
            continue  # too little of this pass to know every joint
        distinct = list({id(one.time): one for one in every}.values())  # most columns share one array
        period = max(one.period for one in distinct)
        for start, end in covered([one.time for one in distinct], max(GAP_PERIODS * period, GAP_SECONDS)):
            yield Span(start, end, shift, int(states.stamps[0]), position, velocity, effort)
        shift += float(states.stamps[-1] - states.stamps[0]) * 1e-9 + period


def covered(times: Sequence[Array], longest_gap: float) -> Iterator[tuple[float, float]]:
    """The spans [s] in which none of several series has a gap longer than ``longest_gap`` [s]."""
    start, end = max(float(time[0]) for time in times), min(float(time[-1]) for time in times)
    gaps = {(end, np.inf)}
    for time in times:
        wide = np.flatnonzero(np.diff(time) > longest_gap)
        gaps.update(zip(time[wide].tolist(), time[wide + 1].tolist(), strict=True))
    for left, right in sorted(gaps):
        if min(left, end) > start:
            yield start, min(left, end)
        start = max(start, right)


# Filters: one zero-phase low-pass for every signal, its cut-off chosen from the recording itself


def low_pass(values: Array, rate: float, cutoff: float) -> Array:
    """Butterworth, forward and backward along the first axis: no phase, amplitude 1/2 at ``cutoff`` [Hz]."""
    sections = butter(ORDER, cutoff, fs=rate, output="sos")
    return np.asarray(signal.sosfiltfilt(sections, values, axis=0))


def derivative(values: Array, rate: float) -> Array:
    """Time derivative along the first axis: the central difference of 8th order.

    A Savitzky-Golay filter that passes through all its points is that difference. At the analysis rate
    its error is 2e-4 at the cut-off and below 1e-6 at half of it.
    """
    return np.asarray(signal.savgol_filter(values, STENCIL, STENCIL - 1, deriv=1, delta=1 / rate, axis=0))


def decimated(values: Array, factor: int) -> Array:
    """Every ``factor``-th sample of (N, k), after a linear-phase low-pass whose delay is taken out.

    The same as ``scipy.signal.resample_poly`` with lines beyond the ends, in a fifth of its time.
    """
    if factor == 1:
        return values
    # Kaiser, beta 8: the pass band is flat to 1e-4, where scipy.signal's default ripples by 2e-3
    taps = firwin(20 * factor + 1, 1 / factor, window=("kaiser", 8.0))
    beyond = np.arange(1, len(taps) // 2 + 1)[:, None] * (values[-1] - values[0]) / (len(values) - 1)
    extended = np.concatenate([values[0] - beyond[::-1], values, values[-1] + beyond])
    return np.asarray(sliding_window_view(extended, len(taps), axis=0)[::factor] @ taps)


def choose_cutoff(position: Array, rate: float) -> float:
    """The cut-off [Hz] for a motion: above its spectrum, below the noise.

    Per joint: the power spectral density of the position falls from its peak to the noise floor (its
    median over the upper half of the band); where it comes within a factor of ``ABOVE_NOISE``, the
    motion ends. The fastest joint decides. position: (N, n) at ``rate`` [Hz].
    """
    frequency, power = signal.welch(
        position, rate, nperseg=min(len(position), int(4 * rate)), detrend="linear", axis=0
    )
    floor = np.median(power[frequency > rate / 4], axis=0)
    ends = []
    for j, peak in enumerate(np.argmax(power, axis=0)):
        drowned = np.flatnonzero(power[peak:, j] <= ABOVE_NOISE * floor[j])
        ends.append(frequency[peak + drowned[0]] if len(drowned) else frequency[-1])
    return float(np.clip(MARGIN * max(ends), LOWEST, min(HIGHEST, rate / PER_CUTOFF)))


# Intervals


@dataclass(frozen=True)
class Interval:
    """A part without gaps at a uniform rate: arrays (N, n), ``time`` (N,).

    ``time`` [s] runs from the recording's first stamp; the passes of a looped bag follow each other.
    ``stamp`` [ns] is the header stamp of the first sample.
    """

    time: Array
    stamp: int
    q: Array
    qd: Array
    qdd: Array
    effort: Array


@dataclass(frozen=True)
class Motion:
    """The intervals of a recording, filtered alike, and how: all of it goes into the report.

    ``sampled`` [Hz] is the recorded rate, ``rate`` [Hz] the one after decimation, ``cutoff`` [Hz] the
    low-pass's; ``edge``: samples that the filters distort at each end of an interval; ``derived``:
    joints whose velocity was derived from the position; ``gaps`` are their lengths [s]; ``reordered`` and
    ``repeated`` count messages.
    """

    intervals: tuple[Interval, ...]
    sampled: float
    rate: float
    cutoff: float
    edge: int
    derived: tuple[str, ...]
    passes: int
    gaps: tuple[float, ...]
    reordered: int
    repeated: int

    @property
    def compared(self) -> tuple[Interval, ...]:
        """The intervals without the ends that the filters distort; each ``stamp`` stays the whole one's."""
        inner = slice(self.edge, -self.edge)
        return tuple(
            Interval(
                each.time[inner], each.stamp, *(x[inner] for x in (each.q, each.qd, each.qdd, each.effort))
            )
            for each in self.intervals
        )


def estimate(recording: Recording, cutoff: float | None = None) -> Motion:
    """Resample, filter and differentiate a recording; ``cutoff`` [Hz] is chosen unless given.

    Raises ``TooShortError`` when no part without gaps is long enough, ``BagError`` ("too_slow", "cutoff").
    """
    states = recording.states
    parts = list(passes(states, recording.revolving))
    positions, velocities = (np.isfinite(x).sum(axis=0) for x in (states.position, states.velocity))
    derived = (velocities < VELOCITY_SHARE * positions).tolist()
    found = list(spans(parts, derived, recording.effort_delay))
    longest = max(found, key=lambda span: span.seconds, default=None)
    if longest is None or longest.seconds < SHORTEST:
        raise too_short(recording, longest.seconds if longest else 0.0, SHORTEST)
    step = longest.step
    refuse_rate(recording, 1 / step, cutoff)
    if cutoff is None:
        grid = longest.grid(step)[: int(LOOKED_AT / step)]
        cutoff = choose_cutoff(np.stack([one.at(grid) for one in longest.position], axis=1), 1 / step)
    needed = SHORTEST + 2 * EDGE_CYCLES / cutoff
    if longest.seconds < needed:
        raise too_short(recording, longest.seconds, needed)
    factor = max(1, int(1 / step / (PER_CUTOFF * cutoff)))
    rate = 1 / (step * factor)
    steps = np.diff(states.stamps)
    return Motion(
        intervals=tuple(_interval(span, step, factor, cutoff) for span in found if span.seconds >= needed),
        sampled=1 / step,
        rate=rate,
        cutoff=cutoff,
        edge=int(np.ceil(EDGE_CYCLES * rate / cutoff)),
        derived=tuple(joint for joint, no in zip(states.joints, derived, strict=True) if no),
        passes=len(parts),
        gaps=tuple(
            after.start - before.end for before, after in pairwise(found) if before.shift == after.shift
        ),
        reordered=int(((steps < 0) & (steps >= -RESTART)).sum()),
        repeated=sum(int((np.diff(part.stamps) == 0).sum()) for part in parts),
    )


def too_short(recording: Recording, seconds: float, needed: float) -> TooShortError:
    """The error of a recording whose longest interval has so many seconds."""
    return TooShortError(
        f"{recording.bag}: topic {recording.topic!r}: the longest interval without a gap lasts {seconds:.3g} "
        f"s; at least {needed:.3g} s are needed to estimate accelerations",
        "too_short",
        bag=recording.bag,
        longest=seconds,
        needed=needed,
    )


def refuse_rate(recording: Recording, rate: float, cutoff: float | None) -> None:
    """Raise ``BagError`` where a rate [Hz] is too low for accelerations, or for a cut-off that is given."""
    where, highest = f"{recording.bag}: topic {recording.topic!r}", rate / PER_CUTOFF
    if rate < SLOWEST:
        raise BagError(
            f"{where}: recorded at {rate:.3g} Hz; at least {SLOWEST:g} Hz are needed to estimate "
            "accelerations, 100 Hz or more are better",
            "too_slow",
            bag=recording.bag,
            rate=rate,
        )
    if cutoff is not None and cutoff > highest:
        raise BagError(
            f"{where}: a cut-off of {cutoff:g} Hz is too high for its rate; at most {highest:.4g} Hz, an "
            "eighth of the rate, are allowed; leave --cutoff out to have one chosen",
            "cutoff",
            bag=recording.bag,
            highest=highest,
        )


def _interval(span: Span, step: float, factor: int, cutoff: float) -> Interval:
    """Sample, decimate and filter one span."""
    grid, rate = span.grid(step), 1 / (step * factor)

    def filtered(joints: Sequence[Series]) -> Array:
        columns = [decimated(one.at(grid)[:, None], factor) for one in joints]
        return low_pass(np.concatenate(columns, axis=1), rate, cutoff)

    q = filtered(span.position)
    qd = derivative(q, rate)
    measured = {j: one for j, one in enumerate(span.velocity) if one is not None}
    if measured:
        qd[:, list(measured)] = filtered(list(measured.values()))
    return Interval(
        time=grid[::factor] + span.shift,
        stamp=span.origin + round(span.start * 1e9),
        q=q,
        qd=qd,
        qdd=derivative(qd, rate),
        effort=filtered(span.effort),
    )


def contradicted(found: Motion) -> tuple[Mask, float | None]:
    """Joints whose recorded velocity is not what their position does, (n,): another joint's, sign or unit.

    And the factor by which the velocities of all joints that move exceed what the positions do, as where
    stamps run too slow; None where it is not common to all. The longest interval tells.
    """
    longest, inner = max(found.intervals, key=lambda each: len(each.time)), slice(found.edge, -found.edge)
    qd, derived = longest.qd[inner], derivative(longest.q, found.rate)[inner]
    off, size = (np.sqrt(np.mean(each**2, axis=0)) for each in (qd - derived, derived))
    wrong, moves = np.asarray(off > np.maximum(CONTRADICTED * size, SLOW)), size > SLOW
    if not moves.any() or not wrong[moves].all():
        return wrong, None
    factor = float((qd * derived)[:, moves].sum() / np.square(derived[:, moves]).sum())
    beside = np.sqrt(np.mean(np.square(qd - factor * derived), axis=0))
    return wrong, factor if (beside < ALIKE * abs(factor) * size)[moves].all() else None


# A recording, estimated


@dataclass(frozen=True)
class EstimatedRecording:
    """The estimated motion, and what the recording said beside.

    ``recording`` keeps the first of its joint states alone, of ``messages``; ``delay`` is that of the
    measured effort behind the commands.
    """

    recording: Recording
    motion: Motion
    delay: Delay | None
    messages: int


def estimate_recording(recording: Recording, cutoff: float | None = None) -> EstimatedRecording:
    """Estimate the motion; the recording can be dropped then. Raises ``BagError``."""
    states, commands = recording.states, recording.commands
    return EstimatedRecording(
        recording=replace(recording, states=states.part(np.array([0])), commands=None),
        motion=estimate(recording, cutoff),
        delay=None if commands is None else command_delay(commands, states),
        messages=len(states.stamps),
    )
