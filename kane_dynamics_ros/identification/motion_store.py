"""Bags of any length to filtered motion in a file: read once in pieces, then walked through many times.

Memory does not grow with a bag: some ten thousand messages are decoded, filtered and written to an unnamed
temporary file, then the next; what stays in memory is a list of where the pieces lie. Neighbouring pieces
overlap by what filtering distorts at their ends, so that nothing is lost in between.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import signal
from scipy.ndimage import median_filter

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.replay.bag import open_bag
from kane_dynamics_ros.replay.errors import TooShortError, joint_mismatch
from kane_dynamics_ros.replay.messages import JointStateDecoder, JointStates, Mask
from kane_dynamics_ros.replay.motion import (
    EDGE_CYCLES,
    SHORTEST,
    Interval,
    Motion,
    estimate,
    unwrapped,
)
from kane_dynamics_ros.replay.recording import (
    Recording,
    empty_topic,
    joint_state_topic,
    missing_field,
    proposal,
    set_aside,
)

MESSAGES = 32_768  # decoded at a time
RESTART = 1.0  # [s] stamps that jump back by more begin a new pass of a looped bag
MOVING_SHARE = 0.98  # of the acceleration's power that lies below the frequency at which the motion ends
CUTOFF_OVER_MOTION = 4.0  # the cut-off over that frequency
LOWEST_CUTOFF = 4.0  # [Hz]
SATURATED = 0.995  # of the effort limit
OFTEN = 0.7  # share of samples at one and the same effort that is rest, not clipping
NEIGHBOURS = 7  # samples whose median a sample is compared with
SPIKE = 20.0  # usual deviations from it beyond which a sample is a spike,
SPIKE_PART = 0.5  # if they are also that part of the joint's effort
FEWEST = 64  # samples from which noise is judged
PLATEAU = 5  # samples in a row at the very same largest effort: clipped


class NoEffortError(KaneDynamicsError):
    """No joint measures anything."""

    def __init__(self, bags: Sequence[str]) -> None:
        super().__init__(
            f"{', '.join(bags)}: the measured effort of every joint is constant; nothing can be identified. "
            "Have the driver or joint_state_broadcaster publish measured efforts, and record again"
        )


@dataclass(frozen=True)
class Piece:
    """A part of a bag without gaps, uniform in time: (N, n) each, ``time`` (N,) [s] from the bag's start.

    ``usable``: False where the effort was clipped, or no sample is near. ``edge``: samples at each end that
    filtering distorts. ``sampled``, the recorded rate, ``rate`` and ``cutoff`` in Hz.
    """

    time: Array
    q: Array
    qd: Array
    qdd: Array
    effort: Array
    usable: Array
    sampled: float
    rate: float
    cutoff: float
    edge: int


@dataclass(frozen=True)
class Request:
    """What to read of one bag: ``names`` are the bag's, ``joints`` the model's names of the same joints."""

    bag: Path
    names: tuple[str, ...]
    joints: tuple[str, ...]
    topic: str | None
    cutoff: float | None  # [Hz]
    scale: tuple[float, ...]  # effort per recorded unit
    limits: tuple[float, ...]  # largest effort [N m] or [N], infinite where unknown
    revolving: tuple[str, ...] = ()  # joints (of ``joints``) whose position is an angle


@dataclass
class Track:
    """One bag's filtered motion.

    ``seconds`` from its first to its last sample; the rest describes the recording.
    """

    bag: Path
    topic: str = ""
    messages: int = 0
    seconds: float = 0.0
    sampled: float = 0.0  # [Hz]
    rate: float = 0.0  # [Hz]
    cutoff: float = 0.0  # [Hz]
    derived: tuple[str, ...] = ()
    noisy: tuple[str, ...] = ()
    gaps: int = 0
    clipped: list[int] = field(default_factory=list)  # samples of each joint
    damages: tuple[str, ...] = ()
    places: list[tuple[int, int, int]] = field(default_factory=list)  # offset in the file, samples, edge


class MotionStore:
    """The filtered motion of all bags. Close it, or use it as a context."""

    def __init__(self, joints: int) -> None:
        self._joints = joints
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="kane_dynamics_identify_")  # noqa: SIM115
        self.tracks: list[Track] = []

    def __enter__(self) -> "MotionStore":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def add(self, track: Track, pieces: Iterator[Piece]) -> None:
        """Append a bag's pieces as they come; ``track`` is complete when they have ended."""
        for piece in pieces:
            table = np.column_stack(
                [piece.time, piece.q, piece.qd, piece.qdd, piece.effort, piece.usable.astype(float)]
            )
            self._file.seek(0, 2)
            track.places.append((self._file.tell(), len(table), piece.edge))
            self._file.write(np.ascontiguousarray(table).tobytes())
        self.tracks.append(track)

    def pieces(self, track: Track, most: int) -> Iterator[Piece]:
        """The motion of one bag again, in windows of about ``most`` samples that overlap by their edges."""
        n, width = self._joints, 8 * (1 + 5 * self._joints)
        for offset, samples, edge in track.places:
            for start in range(0, max(1, samples - 2 * edge), most):
                count = min(most + 2 * edge, samples - start)
                self._file.seek(offset + start * width)
                table = np.frombuffer(self._file.read(count * width)).reshape(count, -1)
                q, qd, qdd, effort, usable = (
                    np.ascontiguousarray(table[:, 1 + k * n : 1 + (k + 1) * n]) for k in range(5)
                )
                yield Piece(
                    table[:, 0], q, qd, qdd, effort, usable, track.sampled, track.rate, track.cutoff, edge
                )


def read_bags(
    requests: Sequence[Request],
    executor: Executor | None = None,
    progress: Callable[[int], object] | None = None,
) -> MotionStore:
    """The motion of all bags; ``executor`` reads them side by side.

    Raises a ``BagError`` for a bag that cannot be used, ``NoEffortError`` where no joint of any bag measures
    one.
    """
    store = MotionStore(len(requests[0].joints))
    try:
        if executor is None or len(requests) == 1:
            for request in requests:
                track = Track(request.bag)
                store.add(track, read_pieces(request, track, progress))
        else:
            for track, pieces in executor.map(_read_whole, requests):
                store.add(track, iter(pieces))
        _require_effort(store)
    except BaseException:
        store.__exit__()
        raise
    return store


def _read_whole(request: Request) -> tuple[Track, list[Piece]]:
    """What another process sends back: the filtered motion, a fraction of the messages."""
    track = Track(request.bag)
    return track, list(read_pieces(request, track))


def _require_effort(store: MotionStore) -> None:
    """Raise ``NoEffortError`` where no joint of any bag has an effort that changes."""
    for track in store.tracks:
        for piece in store.pieces(track, MESSAGES):
            if np.ptp(piece.effort, axis=0).max() > 0.0:
                return
    raise NoEffortError([str(track.bag) for track in store.tracks])


def read_pieces(
    request: Request, track: Track, progress: Callable[[int], object] | None = None
) -> Iterator[Piece]:
    """A bag's filtered motion piece by piece; ``track`` is filled in on the way."""
    cutoff = request.cutoff
    clock: _Clock | None = None
    short: TooShortError | None = None
    noisy: Array | None = None  # joints whose velocity is better derived from the position
    done = -np.inf  # [s] up to which the motion was handed out
    track.clipped = [0] * len(request.joints)
    for recording in _recordings(request, track, progress):
        clock = clock or _Clock(int(recording.states.stamps[0]))
        recording = replace(recording, states=_prepared(recording.states, request.scale))
        try:
            if cutoff is None:
                cutoff = identification_cutoff(recording)
            if noisy is None:
                noisy = noisy_velocities(recording.states, cutoff)
            motion = estimate(replace(recording, states=_without_velocity(recording.states, noisy)), cutoff)
        except TooShortError as error:
            short = error
            continue
        left_out = [
            joint
            for joint, no, recorded in zip(request.joints, noisy, recording.states.velocity.T, strict=True)
            if no and np.isfinite(recorded).any()
        ]
        _describe(track, motion, left_out)
        for interval in motion.intervals:
            piece = _piece(interval, motion, recording.states, request, clock, done)
            if len(piece.time) <= 2 * piece.edge:
                continue
            done = float(piece.time[-1 - piece.edge])
            track.clipped = [
                a + int(b) for a, b in zip(track.clipped, (piece.usable == 0).sum(axis=0), strict=True)
            ]
            track.seconds = max(track.seconds, float(piece.time[-1]))
            yield piece
    if track.rate == 0.0 and short is not None:
        raise short


def _describe(track: Track, motion: Motion, noisy: Sequence[str]) -> None:
    track.sampled, track.rate, track.cutoff = motion.sampled, motion.rate, motion.cutoff
    lacking = (joint for joint in motion.derived if joint not in noisy)
    track.derived = tuple(dict.fromkeys((*track.derived, *lacking)))
    track.noisy = tuple(dict.fromkeys((*track.noisy, *noisy)))
    track.gaps += len(motion.gaps)


def identification_cutoff(recording: Recording) -> float:
    """The cut-off [Hz] for identification: a little above the motion, below what rigid bodies do not explain.

    Replay's choice reaches to where the motion drowns in noise; joints that bend and friction that jumps live
    there. Here it is at most 4 times the frequency below which 98 % of the power of every joint's
    acceleration lies. Raises ``TooShortError``.
    """
    motion = estimate(recording)
    longest = max(motion.intervals, key=lambda interval: len(interval.time))
    qdd = longest.qdd[motion.edge : -motion.edge]
    power = np.abs(np.fft.rfft(qdd - qdd.mean(axis=0), axis=0)) ** 2
    total = power.sum(axis=0)
    moving = total > 1e-6 * total.max(initial=0.0)
    if not moving.any():
        return motion.cutoff
    below = np.cumsum(power[:, moving], axis=0) / total[moving]
    frequency = np.fft.rfftfreq(len(qdd), 1 / motion.rate)
    ends = [float(frequency[np.searchsorted(column, MOVING_SHARE)]) for column in below.T]
    return min(motion.cutoff, max(LOWEST_CUTOFF, CUTOFF_OVER_MOTION * max(ends)))


def noisy_velocities(states: JointStates, cutoff: float) -> Array:
    """Joints whose recorded velocity is noisier, as an acceleration, than what the position gives: (n,) bool.

    White noise of density S in the velocity becomes an acceleration of power S (2 pi)^2 f^3/3 below the
    cut-off f, in the position S (2 pi)^4 f^5/5. The densities are those of the upper half of the band.
    """
    densities = np.full((2, len(states.joints)), np.inf)
    for k, values in enumerate((states.position, states.velocity)):
        for j, column in enumerate(values.T):
            known = np.isfinite(column)
            steps = np.diff(states.stamps[known]) * 1e-9
            if known.sum() < FEWEST or not np.median(steps) > 0.0:
                continue
            rate = 1.0 / float(np.median(steps))
            segment = min(int(known.sum()), max(FEWEST, int(4 * rate)))
            frequency, power = signal.welch(column[known], rate, nperseg=segment, detrend="linear")
            densities[k, j] = np.median(power[frequency > rate / 4])
    by_position = densities[0] * (2 * np.pi) ** 4 * cutoff**5 / 5
    by_velocity = densities[1] * (2 * np.pi) ** 2 * cutoff**3 / 3
    return np.asarray(by_position < by_velocity)


def _without_velocity(states: JointStates, joints: Array) -> JointStates:
    """The states with the velocity of some joints left out."""
    return replace(states, velocity=np.where(joints, np.nan, states.velocity)) if joints.any() else states


def _recordings(
    request: Request, track: Track, progress: Callable[[int], object] | None
) -> Iterator[Recording]:
    """The joint states of a bag, some ten thousand at a time, each part with the end of the one before."""
    found: dict[str, None] = {}
    recorded = {
        "position": np.zeros(len(request.joints), bool),
        "effort": np.zeros(len(request.joints), bool),
    }
    dropped = 0
    with open_bag(request.bag) as bag:
        topics = bag.topics()
        if bag.damages and not topics:
            raise bag.damages[0]
        track.topic = joint_state_topic(request.bag, topics, request.topic)
        decoder, count, before = JointStateDecoder(request.names), 0, None
        for block in bag.blocks({track.topic}):
            decoder.add(block)
            count += len(block.offsets)
            if progress is not None:
                progress(len(block.offsets))
            if count >= MESSAGES:
                states = decoder.result()
                joined = states if before is None else _joined(before, states)
                _note_fields(joined, found, recorded)
                dropped += states.dropped
                track.messages += len(states.stamps)
                if len(joined.stamps):
                    yield _recording(request, track.topic, joined)
                before = _tail(joined, request.cutoff)
                decoder, count = JointStateDecoder(request.names), 0
        states = decoder.result()
        track.messages += len(states.stamps)
        joined = states if before is None else _joined(before, states)
        _note_fields(joined, found, recorded)
        if len(states.stamps):
            yield _recording(request, track.topic, joined)
        if bag.damages and not track.messages:
            raise bag.damages[0]
        track.damages = tuple(map(str, bag.damages))
    if not track.messages:
        raise empty_topic(request.bag, track.topic, dropped + states.dropped)
    missing = [name for name in request.names if name not in found]
    if missing:
        raise joint_mismatch(
            request.bag, track.topic, missing, tuple(found), proposal(request.joints, tuple(found))
        )
    for name, ever in recorded.items():
        if not ever.all():
            raise missing_field(
                request.bag,
                track.topic,
                name,
                [joint for joint, yes in zip(request.names, ever, strict=True) if not yes],
            )


def _note_fields(states: JointStates, found: dict[str, None], recorded: Mapping[str, Mask]) -> None:
    found.update(dict.fromkeys(states.found))
    for name, ever in recorded.items():
        np.logical_or(ever, np.isfinite(getattr(states, name)).any(axis=0), out=ever)


def _recording(request: Request, topic: str, states: JointStates) -> Recording:
    possible, _ = set_aside(replace(states, joints=request.joints))
    return Recording(request.bag, topic, possible, None, None, (), (), 1.0, request.revolving)


def _prepared(states: JointStates, scale: Sequence[float]) -> JointStates:
    """Efforts in N m or N, positions unwrapped.

    Lone efforts far from their neighbours are left out: none jumps there and back.
    """
    effort = states.effort * np.array(scale)
    near = median_filter(np.nan_to_num(effort), size=(NEIGHBOURS, 1), mode="nearest")
    away = np.abs(effort - near)
    known = np.isfinite(effort).any(axis=0)
    bounds = np.full(effort.shape[1], np.inf)
    bounds[known] = np.maximum(
        SPIKE * 1.4826 * np.nanmedian(away[:, known], axis=0),
        SPIKE_PART * np.nanquantile(np.abs(effort[:, known]), 0.99, axis=0),
    )
    position = unwrapped(states.position, range(len(states.joints)))
    return replace(states, position=position, effort=np.where(away > bounds, np.nan, effort))


def _tail(states: JointStates, cutoff: float | None) -> JointStates:
    """The end of a part that the next one needs.

    Twice what filtering distorts, and the stencil's few samples.
    """
    overlap = 2 * EDGE_CYCLES / (cutoff or LOWEST_CUTOFF) + SHORTEST
    kept = states.stamps >= states.stamps[-1] - round(overlap * 1e9) if len(states.stamps) else slice(0)
    return states.part(kept)


def _joined(a: JointStates, b: JointStates) -> JointStates:
    arrays = ("stamps", "received", "position", "velocity", "effort")
    found = tuple(dict.fromkeys((*a.found, *b.found)))
    both: dict[str, Any] = {name: np.concatenate([getattr(a, name), getattr(b, name)]) for name in arrays}
    return replace(b, found=found, **both)


class _Clock:
    """Seconds since the bag's start, also where a looped bag's stamps begin again."""

    def __init__(self, origin: int) -> None:
        self._origin, self._shift, self._last = origin, 0.0, 0.0

    def place(self, interval: Interval) -> Array:
        """The times of an interval (N,) [s]."""
        start = (interval.stamp - self._origin) * 1e-9 + self._shift
        length = float(interval.time[-1] - interval.time[0])
        if start + length < self._last - RESTART:  # it ends before what was already seen: another pass
            self._shift += self._last - start
            start = self._last
        self._last = max(self._last, start + length)
        return np.asarray(start + (interval.time - interval.time[0]))


def _piece(
    interval: Interval, motion: Motion, states: JointStates, request: Request, clock: _Clock, done: float
) -> Piece:
    """An interval from where its samples, beyond the edge, come after ``done`` [s], and what is unusable."""
    whole = clock.place(interval)
    fresh = slice(max(0, int(np.searchsorted(whole, done, "right")) - motion.edge), None)
    time = whole[fresh]
    pad = EDGE_CYCLES / motion.cutoff / 2  # [s] over which the low-pass spreads a sample
    relative = (states.stamps - interval.stamp) * 1e-9 + float(whole[0])
    usable = np.ones_like(interval.q[fresh])
    for j, limit in enumerate(request.limits):
        at = relative[_clipped(states.effort[:, j], limit)]
        if len(at):
            nearest = np.abs(
                time[:, None] - at[np.clip(np.searchsorted(at, time)[:, None] + [-1, 0], 0, len(at) - 1)]
            )
            usable[nearest.min(axis=1) < pad, j] = 0.0
    arrays = (interval.q[fresh], interval.qd[fresh], interval.qdd[fresh], interval.effort[fresh])
    return Piece(time, *arrays, usable, motion.sampled, motion.rate, motion.cutoff, motion.edge)


def _clipped(effort: Array, limit: float) -> Array:
    """Which raw samples are at the effort limit, or on a plateau at the very largest value: (N,) bool."""
    size = np.abs(effort)
    top = np.nanmax(size, initial=0.0)
    at_top = size == top
    runs = np.convolve(at_top, np.ones(PLATEAU), "same") >= PLATEAU
    # a joint at rest, or one whose effort is always the same, is no plateau
    rare = top > 0.0 and at_top.mean() < OFTEN
    flat = np.convolve(runs, np.ones(PLATEAU), "same") > 0 if rare else np.zeros(len(size), bool)
    return np.asarray((flat & at_top) | (size >= SATURATED * limit))
