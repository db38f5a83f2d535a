"""From joint states to what the model needs: position, velocity, acceleration and measured effort.

A recording is cut where its clock starts again (passes), each quantity of a joint is freed of repeats and of
samples that are missing (series), the parts without gaps are found (spans), and only then is anything
sampled, filtered and differentiated (intervals, ``estimate``). ``estimate_recording`` keeps all that a
verdict needs, at a fraction of the samples' memory.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import signal
from scipy.interpolate import Akima1DInterpolator

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.replay.correlation import Delay, command_delay
from kane_dynamics_ros.replay.errors import BagError, TooShortError
from kane_dynamics_ros.replay.messages import Integers, JointStates
from kane_dynamics_ros.replay.recording import Recording

RESTART = 1_000_000_000  # [ns] a stamp this far back is a looped bag, not a late message
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
PER_CUTOFF = 8.0  # analysis rate over cut-off
STENCIL = 9  # points of the central difference


# Passes


@dataclass(frozen=True)
class Ordered:
    """One pass through a recording: ``states`` by stamp, and how many messages came out of order."""

    states: JointStates
    reordered: int


def passes(states: JointStates, revolving: Sequence[str] = ()) -> Iterator[Ordered]:
    """The recording cut where stamps jump back by over a second, each part sorted by stamp.

    The angles of ``revolving`` joints are unwrapped: between two samples none turns by over half a turn.
    """
    columns = [j for j, joint in enumerate(states.joints) if joint in revolving]
    ends = np.flatnonzero(np.diff(states.stamps) < -RESTART) + 1
    bounds = [0, *ends.tolist(), len(states.stamps)]
    for start, stop in pairwise(bounds):
        chosen = slice(start, stop)
        late = int((np.diff(states.stamps[chosen]) < 0).sum())
        part = states.part(_order(states.stamps[chosen], start) if late else chosen)
        yield Ordered(replace(part, position=unwrapped(part.position, columns)), late)


def unwrapped(position: Array, columns: Iterable[int]) -> Array:
    """Positions (N, n) with the jumps by 2 pi taken out of some columns; what is missing stays missing.

    A driver that publishes angles from -pi to pi makes such jumps; filtered or differentiated they are
    enormous.

    >>> unwrapped(np.array([[3.0], [-3.0]]), [0]).round(3).ravel().tolist()
    [3.0, 3.283]
    """
    result = position
    for j in columns:
        known = np.isfinite(position[:, j])
        if (np.abs(np.diff(position[known, j])) > np.pi).any():
            result = position.copy() if result is position else result
            result[known, j] = np.unwrap(position[known, j])
    return result


def _order(stamps: Integers, start: int) -> Integers:
    return start + np.argsort(stamps, kind="stable")


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


def series(stamps: Integers, origin: int, values: Array) -> list[Series]:
    """The finite samples of each column, of repeated stamps the first; ``stamps`` [ns] ascend.

    Columns without missing samples share one time array.
    """
    time: Array = (stamps - origin).astype(np.float64) * 1e-9
    ascending = bool((np.diff(stamps) > 0).all())
    found = []
    for column in values.T:
        known = np.flatnonzero(np.isfinite(column))
        if ascending and len(known) == len(column):
            found.append(Series(time, column))
            continue
        fresh = np.ones(len(known), bool)
        fresh[1:] = np.diff(stamps[known]) > 0
        found.append(Series(time[known[fresh]], column[known[fresh]]))
    return found


def period(time: Array) -> float:
    """The usual time between samples [s]: the median, which gaps and jitter do not move."""
    return float(np.median(np.diff(time))) if len(time) > 1 else np.inf


def covered(times: list[Array], longest_gap: float) -> list[tuple[float, float]]:
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


def _gaps(time: Array, longest: float) -> list[tuple[float, float]]:
    wide = np.flatnonzero(np.diff(time) > longest)
    return list(zip(time[wide].tolist(), time[wide + 1].tolist(), strict=True))


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

    def grid(self, step: float) -> Array:
        """Uniform times [s] inside the span."""
        return np.asarray(self.start + step * np.arange(int(self.seconds / step * (1 + 1e-12)) + 1))


def spans(parts: Iterable[JointStates], derived: Sequence[bool]) -> Iterator[Span]:
    """The parts without gaps of every pass, in order; each pass sorted by stamp.

    ``derived``: joints whose velocity comes too seldom, so that it does not count.
    """
    shift = 0.0
    for states in parts:
        origin = int(states.stamps[0])
        position, measured, effort = (
            series(states.stamps, origin, values)
            for values in (states.position, states.velocity, states.effort)
        )
        velocity = [None if skip else one for one, skip in zip(measured, derived, strict=True)]
        times = [one.time for one in (*position, *velocity, *effort) if one is not None]
        if min(map(len, times)) < 2:
            continue  # too little of this pass to know every joint
        step = max(map(period, times))
        for start, end in covered(times, max(GAP_PERIODS * step, GAP_SECONDS)):
            yield Span(start, end, shift, origin, position, velocity, effort)
        shift += float(states.stamps[-1] - origin) * 1e-9 + step


def sampling_step(span: Span) -> float:
    """The sampling period [s]: the slowest joint's, averaged over the span, so that no grid drifts."""
    every = (*span.position, *span.effort)
    usual = max(period(one.time) for one in every)
    samples = (np.diff(np.searchsorted(one.time, (span.start, span.end))) for one in every)
    most = CROWDED * max(int(number[0]) for number in samples)
    return span.seconds / max(1, min(round(span.seconds / usual), most))


def gap_lengths(found: list[Span]) -> list[float]:
    """How long the gaps between the spans of a pass last [s]."""
    return [after.start - before.end for before, after in pairwise(found) if before.shift == after.shift]


# Filters: one zero-phase low-pass for every signal, its cut-off chosen from the recording itself


def low_pass(values: Array, rate: float, cutoff: float) -> Array:
    """Butterworth, forward and backward along the first axis: no phase, amplitude 1/2 at ``cutoff`` [Hz]."""
    sections = signal.butter(ORDER, cutoff, fs=rate, output="sos")
    return np.asarray(signal.sosfiltfilt(sections, values, axis=0))


def derivative(values: Array, rate: float) -> Array:
    """Time derivative along the first axis: the central difference of 8th order.

    A Savitzky-Golay filter that passes through all its points is that difference. At the analysis rate
    its error is 2e-4 at the cut-off and below 1e-6 at half of it.
    """
    return np.asarray(signal.savgol_filter(values, STENCIL, STENCIL - 1, deriv=1, delta=1 / rate, axis=0))


def decimation(rate: float, cutoff: float) -> int:
    """How many samples become one, so that ``PER_CUTOFF`` samples a period of the cut-off remain."""
    return max(1, int(rate / (PER_CUTOFF * cutoff)))


def decimated(values: Array, factor: int) -> Array:
    """Every ``factor``-th sample of (N,), after a linear-phase low-pass whose delay is taken out."""
    if factor == 1:
        return values
    # Kaiser, beta 8: the pass band is flat to 1e-4, where the shorter default ripples by 2e-3
    return np.asarray(signal.resample_poly(values, 1, factor, window=("kaiser", 8.0), padtype="line"))


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
    ends = [_end(frequency, power[:, j], floor[j]) for j in range(position.shape[1])]
    return float(np.clip(MARGIN * max(ends), LOWEST, min(HIGHEST, rate / PER_CUTOFF)))


def _end(frequency: Array, power: Array, floor: float) -> float:
    """The first frequency past the peak at which the motion drowns in the noise."""
    peak = int(np.argmax(power))
    below_noise = np.flatnonzero(power[peak:] <= ABOVE_NOISE * floor)
    return float(frequency[peak + below_noise[0]] if len(below_noise) else frequency[-1])


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
        found = []
        for interval in self.intervals:
            inside = slice(self.edge, len(interval.time) - self.edge)
            arrays = {name: getattr(interval, name)[inside] for name in ("time", "q", "qd", "qdd", "effort")}
            found.append(replace(interval, **arrays))
        return tuple(found)


def estimate(recording: Recording, cutoff: float | None = None) -> Motion:
    """Resample, filter and differentiate a recording; ``cutoff`` [Hz] is chosen unless given.

    Raises ``TooShortError`` when no part without gaps is long enough, ``BagError`` ("too_slow", "cutoff").
    """
    ordered = list(passes(recording.states, recording.revolving))
    joints = recording.states.joints
    derived = [_share_of_velocity(recording.states, j) < VELOCITY_SHARE for j in range(len(joints))]
    found = list(spans((part.states for part in ordered), derived))
    longest = max(found, key=lambda span: span.seconds, default=None)
    if longest is None or longest.seconds < SHORTEST:
        raise too_short(recording.bag, recording.topic, longest.seconds if longest else 0.0, SHORTEST)
    step = sampling_step(longest)
    if 1 / step < SLOWEST:
        raise BagError(
            f"{recording.bag}: topic {recording.topic!r}: recorded at {1 / step:.3g} Hz; at least "
            f"{SLOWEST:g} Hz are needed to estimate accelerations, 100 Hz or more are better",
            "too_slow",
            bag=recording.bag,
            rate=1 / step,
        )
    highest = 1 / step / PER_CUTOFF
    if cutoff is not None and cutoff > highest:
        raise BagError(
            f"{recording.bag}: topic {recording.topic!r}: a cut-off of {cutoff:g} Hz is too high for its "
            f"rate; at most {highest:.4g} Hz, an eighth of the rate, are allowed; leave --cutoff out to have "
            "one chosen",
            "cutoff",
            bag=recording.bag,
            highest=highest,
        )
    cutoff = cutoff or choose_cutoff(_positions(longest, step), 1 / step)
    needed = SHORTEST + 2 * EDGE_CYCLES / cutoff
    if longest.seconds < needed:
        raise too_short(recording.bag, recording.topic, longest.seconds, needed)
    factor = decimation(1 / step, cutoff)
    rate = 1 / (step * factor)
    return Motion(
        intervals=tuple(_interval(span, step, factor, cutoff) for span in found if span.seconds >= needed),
        sampled=1 / step,
        rate=rate,
        cutoff=cutoff,
        edge=int(np.ceil(EDGE_CYCLES * rate / cutoff)),
        derived=tuple(joint for joint, no in zip(joints, derived, strict=True) if no),
        passes=len(ordered),
        gaps=tuple(gap_lengths(found)),
        reordered=sum(part.reordered for part in ordered),
        repeated=sum(int((np.diff(part.states.stamps) == 0).sum()) for part in ordered),
    )


def too_short(bag: Path, topic: str, longest: float, needed: float) -> TooShortError:
    """The error of a recording without an interval that is long enough to filter; both in s."""
    return TooShortError(
        f"{bag}: topic {topic!r}: the longest interval without a gap lasts {longest:.3g} s; at least "
        f"{needed:.3g} s are needed to estimate accelerations",
        "too_short",
        bag=bag,
        longest=longest,
        needed=needed,
    )


def _share_of_velocity(states: JointStates, joint: int) -> float:
    """How many of a joint's positions come with a velocity, 0 to 1."""
    positions = np.isfinite(states.position[:, joint]).sum()
    return float(np.isfinite(states.velocity[:, joint]).sum() / positions)


def _positions(span: Span, step: float) -> Array:
    """The first part of a span at the recorded rate, for choosing the cut-off: (N, n)."""
    grid = span.grid(step)[: int(LOOKED_AT / step)]
    return np.stack([one.at(grid) for one in span.position], axis=1)


def _interval(span: Span, step: float, factor: int, cutoff: float) -> Interval:
    """Sample, decimate and filter one span."""
    grid = span.grid(step)
    rate = 1 / (step * factor)

    def filtered(one: Series) -> Array:
        return low_pass(decimated(one.at(grid), factor), rate, cutoff)

    q = np.stack([filtered(one) for one in span.position], axis=1)
    qd = np.stack(
        [derivative(q[:, j], rate) if one is None else filtered(one) for j, one in enumerate(span.velocity)],
        axis=1,
    )
    return Interval(
        time=grid[::factor] + span.shift,
        stamp=span.origin + round(span.start * 1e9),
        q=q,
        qd=qd,
        qdd=derivative(qd, rate),
        effort=np.stack([filtered(one) for one in span.effort], axis=1),
    )


# A recording, estimated


@dataclass(frozen=True)
class EstimatedRecording:
    """The estimated motion, and what the recording said beside.

    ``first_received`` [ns] is the receive time of the first message, ``messages_per_second`` the speed of
    reading.
    """

    bag: Path
    topic: str
    joints: tuple[str, ...]
    motion: Motion
    delay: Delay | None
    messages: int
    messages_per_second: float
    first_received: int
    description: str | None
    notes: tuple[str, ...]
    damages: tuple[str, ...]


def estimate_recording(recording: Recording, cutoff: float | None = None) -> EstimatedRecording:
    """Estimate the motion; the recording can be dropped then. Raises ``BagError``."""
    states, commands = recording.states, recording.commands
    return EstimatedRecording(
        bag=recording.bag,
        topic=recording.topic,
        joints=states.joints,
        motion=estimate(recording, cutoff),
        delay=command_delay(commands, states) if commands is not None else None,
        messages=len(states.stamps),
        messages_per_second=recording.rate,
        first_received=int(states.received[0]),
        description=recording.description,
        notes=recording.notes,
        damages=recording.damages,
    )
