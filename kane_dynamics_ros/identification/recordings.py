"""Read, align and filter: bags of any length to filtered motion in a file, through which all steps walk.

Memory does not grow with a bag: some ten thousand messages are decoded, filtered and written to an unnamed
temporary file, then the next; what stays in memory is a list of where the pieces lie. Neighbouring pieces
overlap by what filtering distorts at their ends, so that nothing is lost in between.
"""

import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import signal
from scipy.ndimage import median_filter

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.replay import errors, motion, recording
from kane_dynamics_ros.replay.bag import open_bag
from kane_dynamics_ros.replay.messages import Block, JointStateDecoder, JointStates

MESSAGES = 32_768  # decoded at a time
PAUSE = 2_000_000_000  # [ns] put between the passes of a looped bag: a gap at any rate that can be used
MOVING_SHARE = 0.98  # of the velocity's power that lies below the frequency at which the motion ends
CUTOFF_OVER_MOTION = 7.0  # the cut-off over that frequency
LOWEST_CUTOFF = 4.0  # [Hz]
SATURATED = 0.995  # of the effort limit
BEYOND = 1.05, 0.1  # of it, and the share of samples at it that, farther out, show that it is not the drive's
OFTEN = 0.7  # share of samples at one and the same effort that is rest, not clipping
NEIGHBOURS = 7  # samples whose median a sample is compared with
SPIKE = 20.0  # usual deviations from it beyond which a sample is a spike,
SPIKE_PART = 0.5  # if they are also that part of the joint's effort
FEWEST = 64  # samples from which noise is judged
PLATEAU = 5  # samples in a row at the very same largest effort: clipped,
STEPS = 3  # unless the effort stays as long at so many other values, or more: it comes in steps,
COARSE = 0.9  # as it does where the next smaller value is below that part of the largest


class IdentificationError(KaneDynamicsError):
    """Parameters cannot be identified from what was given.

    Codes: ``no_effort`` (``bags``), ``nothing_left`` (``part``, ``seconds``), ``still``,
    ``no_solver``, ``solver_failed`` (``status``, ``constraints``), ``no_trajectory`` (``broken``).
    """


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
    sliding: tuple[str, ...] = ()  # joints (of ``joints``) whose position is no angle
    drives: Array | None = None  # C (n, n) where the efforts are those of drives that turn at C qd
    delay: float = 0.0  # [s] by which efforts are stamped too late


@dataclass
class Track:
    """One bag's filtered motion.

    From its first message, ``seconds`` to its last sample and ``recorded`` to its last message [s].
    ``effort_noise`` (n,): standard deviation of the white noise that is left of each joint's effort below the
    cut-off; ``effort_step`` (2, n): see ``effort_steps``. ``wide``: the last part of the bag once more,
    filtered at twice the cut-off, where the rate allows it.
    """

    bag: Path
    topic: str = ""
    messages: int = 0
    seconds: float = 0.0
    recorded: float = 0.0
    sampled: float = 0.0  # [Hz]
    rate: float = 0.0  # [Hz]
    cutoff: float = 0.0  # [Hz]
    derived: tuple[str, ...] = ()
    noisy: tuple[str, ...] = ()
    gaps: int = 0
    clipped: list[int] = field(default_factory=list)  # samples of each joint
    damages: tuple[str, ...] = ()
    effort_noise: Array = field(default_factory=lambda: np.zeros(0))
    places: list[tuple[int, int, int]] = field(default_factory=list)  # offset in the file, samples, edge
    effort_step: Array = field(default_factory=lambda: np.zeros(0))
    wide: "Track | None" = None

    @property
    def used(self) -> float:
        """For how long there is motion of all joints [s]."""
        return sum(samples - 2 * edge for _, samples, edge in self.places) / self.rate


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

    def keep(self, table: Array) -> int:
        """Append an array to the file; where it begins."""
        offset = self._file.seek(0, 2)
        self._file.write(np.ascontiguousarray(table).tobytes())
        return offset

    def kept(self, offset: int, shape: tuple[int, ...]) -> Array:
        """An array that was kept, once more."""
        self._file.seek(offset)
        return np.frombuffer(bytearray(self._file.read(8 * math.prod(shape)))).reshape(shape)

    def add(self, track: Track, piece: Piece) -> None:
        """Append a piece of a bag."""
        columns = [piece.time, piece.q, piece.qd, piece.qdd, piece.effort, piece.usable.astype(float)]
        table = np.column_stack(columns)
        track.places.append((self.keep(table), len(table), piece.edge))

    def pieces(self, track: Track, most: int = 65_536) -> Iterator[Piece]:
        """The motion of one bag again, in windows of about ``most`` samples that overlap by their edges."""
        n, width = self._joints, 1 + 5 * self._joints
        for offset, samples, edge in track.places:
            for start in range(0, max(1, samples - 2 * edge), most):
                count = min(most + 2 * edge, samples - start)
                table = self.kept(offset + 8 * start * width, (count, width))
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

    Raises a ``BagError`` for a bag that cannot be used, ``IdentificationError`` where no joint of any bag
    measures an effort.
    """
    store = MotionStore(len(requests[0].joints))
    try:
        if executor is None:
            for request in requests:
                track = Track(request.bag)
                for part, piece in read_pieces(request, track, progress):
                    store.add(part, piece)
                store.tracks.append(track)
        else:
            for track, found in executor.map(_read_whole, requests):
                for wide, piece in found:
                    store.add(track.wide if wide and track.wide else track, piece)
                store.tracks.append(track)
        if not any(np.ptp(piece.effort) for track in store.tracks for piece in store.pieces(track)):
            bags = [str(track.bag) for track in store.tracks]
            raise IdentificationError(
                f"{', '.join(bags)}: the measured effort of every joint is constant; nothing can be "
                "identified. Have the driver or joint_state_broadcaster publish measured efforts, and record "
                "again",
                "no_effort",
                bags=bags,
            )
    except BaseException:
        store.__exit__()
        raise
    return store


def _read_whole(request: Request) -> tuple[Track, list[tuple[bool, Piece]]]:
    """What another process sends back: the filtered motion, a fraction of the messages."""
    track = Track(request.bag)
    return track, [(part is not track, piece) for part, piece in read_pieces(request, track)]


def read_pieces(
    request: Request, track: Track, progress: Callable[[int], object] | None = None
) -> Iterator[tuple[Track, Piece]]:
    """A bag's filtered motion piece by piece, and whose it is; ``track`` is filled in on the way."""
    cutoff = request.cutoff
    short: errors.TooShortError | None = None
    noisy: Mask | None = None  # joints whose velocity is better derived from the position
    origin: int | None = None  # [ns] the bag's first stamp
    done = -np.inf  # [s] after it, up to which the motion was handed out
    track.clipped = [0] * len(request.joints)
    last: tuple[recording.Recording, float] | None = None
    for part in _recordings(request, track, progress):
        states = part.states
        origin = int(states.stamps[0]) if origin is None else origin
        track.recorded = float(states.stamps[-1] - origin) * 1e-9
        try:
            if cutoff is None:
                cutoff = identification_cutoff(part)
            if noisy is None:
                densities = noise_densities(states)
                noisy = noisy_velocities(densities, cutoff)
                noisy |= motion.contradicted(motion.estimate(part, cutoff))[0]
                track.effort_noise = np.sqrt(densities[2] * cutoff)
                track.effort_step = effort_steps(states, cutoff)
            recorded = np.isfinite(states.velocity).any(axis=0)
            states = replace(states, velocity=np.where(noisy, np.nan, states.velocity))
            part = replace(part, states=states)
            found = motion.estimate(part, cutoff)
        except errors.TooShortError as error:
            short = error
            continue
        last = part, done
        poor = [joint for joint, no in zip(request.joints, noisy & recorded, strict=True) if no]
        lacking = [joint for joint in found.derived if joint not in poor]
        track.sampled, track.rate, track.cutoff = found.sampled, found.rate, found.cutoff
        track.derived = tuple(dict.fromkeys((*track.derived, *lacking)))
        track.noisy = tuple(dict.fromkeys((*track.noisy, *poor)))
        track.gaps += len(found.gaps)
        for piece in _pieces_of(found, states, request, origin, done):
            done = float(piece.time[-1 - piece.edge])
            unusable = (piece.usable == 0).sum(axis=0).tolist()
            track.clipped = [a + b for a, b in zip(track.clipped, unusable, strict=True)]
            track.seconds = float(piece.time[-1])
            yield track, piece
    if track.rate == 0.0 and short is not None:
        raise short
    if last is not None and cutoff is not None and origin is not None:
        part, done = last
        if 2 * cutoff <= track.sampled / motion.PER_CUTOFF:
            found = motion.estimate(part, 2 * cutoff)
            track.wide = Track(track.bag, sampled=found.sampled, rate=found.rate, cutoff=found.cutoff)
            for piece in _pieces_of(found, part.states, request, origin, done):
                yield track.wide, piece


# A bag in parts


def _recordings(
    request: Request, track: Track, progress: Callable[[int], object] | None
) -> Iterator[recording.Recording]:
    """The joint states of a bag, some ten thousand at a time, each part with the end of the one before.

    Stamps ascend through all passes of a looped bag, with a ``PAUSE`` between them.
    """
    found: dict[str, None] = {}
    recorded = {name: np.zeros(len(request.joints), bool) for name in ("position", "effort")}
    dropped = shift = 0
    before: JointStates | None = None
    stamp: int | None = None  # the last one, as it was recorded
    with open_bag(request.bag) as bag:
        topics = bag.topics()
        if bag.damages and not topics:
            raise bag.damages[0]
        track.topic = recording.joint_state_topic(request.bag, topics, request.topic)
        for states in _decoded(bag.blocks({track.topic}), request.names, progress):
            track.messages += len(states.stamps)
            dropped += states.dropped
            found.update(dict.fromkeys(states.found))
            for name, ever in recorded.items():
                ever |= np.isfinite(getattr(states, name)).any(axis=0)
            if not len(states.stamps):
                continue
            recording.check_clock(request.bag, track.topic, states)
            steps = np.diff(states.stamps, prepend=states.stamps[0] if stamp is None else stamp)
            shifts = shift + np.cumsum(np.where(steps < -recording.RESTART, PAUSE - steps, 0))
            stamp, shift = int(states.stamps[-1]), int(shifts[-1])
            states = replace(states, stamps=states.stamps + shifts)
            joined = states if before is None else _joined(before, states)
            possible, _ = recording.set_aside(replace(joined, joints=request.joints))
            prepared, rest = _prepared(possible, request), (None, None, (), (), 1.0)
            yield recording.Recording(request.bag, track.topic, prepared, *rest, effort_delay=request.delay)
            # the next part needs twice what filtering distorts, and the stencil's few samples
            overlap = 2 * motion.EDGE_CYCLES / (request.cutoff or LOWEST_CUTOFF) + motion.SHORTEST
            before = joined.part(
                joined.stamps >= joined.stamps[-1] - round((overlap + abs(request.delay)) * 1e9)
            )
        if bag.damages and not track.messages:
            raise bag.damages[0]
        track.damages = tuple(map(str, bag.damages))
    if not track.messages:
        raise recording.empty_topic(request.bag, track.topic, dropped)
    recording.refuse_incomplete(
        request.bag, track.topic, request.joints, request.names, tuple(found), recorded
    )


def _decoded(
    blocks: Iterable[Block], names: Sequence[str], progress: Callable[[int], object] | None
) -> Iterator[JointStates]:
    """Some ten thousand joint states at a time."""
    decoder, count = JointStateDecoder(names), 0
    for block in blocks:
        decoder.add(block)
        count += len(block.offsets)
        if progress is not None:
            progress(len(block.offsets))
        if count >= MESSAGES:
            yield decoder.result()
            decoder, count = JointStateDecoder(names), 0
    yield decoder.result()


def _joined(a: JointStates, b: JointStates) -> JointStates:
    arrays = ("stamps", "received", "position", "velocity", "effort")
    both: dict[str, Any] = {name: np.concatenate([getattr(a, name), getattr(b, name)]) for name in arrays}
    return replace(b, **both)


def _prepared(states: JointStates, request: Request) -> JointStates:
    """Efforts in N m or N, positions unwrapped.

    Lone efforts far from their neighbours are left out: none jumps there and back.
    """
    effort = states.effort * np.array(request.scale)
    if request.drives is not None:  # C^T tau, with gaps only where a drive that takes part has one
        parts = [(row, row != 0.0) for row in request.drives.T]
        effort = np.stack([effort[:, part] @ row[part] for row, part in parts], axis=1)
    columns = np.nan_to_num(effort).T  # one at a time: twice as fast as both axes at once
    near = np.stack([median_filter(each, NEIGHBOURS, mode="nearest") for each in columns], axis=1)
    away = np.abs(effort - near)
    known = np.isfinite(effort).any(axis=0)
    bounds = np.full(effort.shape[1], np.inf)
    bounds[known] = np.maximum(
        SPIKE * 1.4826 * np.nanmedian(away[:, known], axis=0),
        SPIKE_PART * np.nanquantile(np.abs(effort[:, known]), 0.99, axis=0),
    )
    turning = [j for j, joint in enumerate(request.joints) if joint not in request.sliding]
    position = motion.unwrapped(states.stamps, states.position, turning)
    return replace(states, position=position, effort=np.where(away > bounds, np.nan, effort))


# The cut-off, and noise


def identification_cutoff(part: recording.Recording) -> float:
    """The cut-off [Hz] for identification: a little above the motion, below what rigid bodies do not explain.

    Replay's choice reaches to where the motion drowns in noise; joints that bend and friction that jumps live
    there. Here it is at most 7 times the frequency below which 98 % of the power of every joint's velocity
    lies; the acceleration's would be that of vibrations and of the positions' noise, which grow with the
    frequency. Raises ``TooShortError``.
    """
    found = motion.estimate(part)
    longest = max(found.intervals, key=lambda interval: len(interval.time))
    qd = longest.qd[found.edge : -found.edge]
    fading = signal.windows.hann(len(qd))[:, None]  # or a cut motion's ends would pass for fast ones
    power = np.abs(np.fft.rfft(fading * (qd - qd.mean(axis=0)), axis=0)) ** 2
    total = power.sum(axis=0)
    moving = total > 1e-6 * total.max(initial=0.0)
    if not moving.any():
        return found.cutoff
    below = np.cumsum(power[:, moving], axis=0) / total[moving]
    frequency = np.fft.rfftfreq(len(qd), 1 / found.rate)
    ends = [float(frequency[np.searchsorted(column, MOVING_SHARE)]) for column in below.T]
    return min(found.cutoff, max(LOWEST_CUTOFF, CUTOFF_OVER_MOTION * max(ends)))


def noise_densities(states: JointStates) -> Array:
    """Densities of the white noise in position, velocity and effort: (3, n), infinite where unknown.

    Those of the upper half of the band, where no arm moves; in the square of the quantity's unit a Hz.
    """
    densities = np.full((3, len(states.joints)), np.inf)
    for k, values in enumerate((states.position, states.velocity, states.effort)):
        for j, column in enumerate(values.T):
            known = np.isfinite(column)
            steps = np.diff(states.stamps[known]) * 1e-9
            if known.sum() < FEWEST or not np.median(steps) > 0.0:
                continue
            rate = 1.0 / float(np.median(steps))
            segment = min(int(known.sum()), max(FEWEST, int(4 * rate)))
            frequency, power = signal.welch(column[known], rate, nperseg=segment, detrend="linear")
            densities[k, j] = np.median(power[frequency > rate / 4])
    return densities


def effort_steps(states: JointStates, cutoff: float) -> Array:
    """The smallest difference of each joint's effort values, and its errors' deviation below the cut-off.

    Errors of rounding to steps have the variance step^2/12, spread over half the rate at which the values
    change: over half the sampling rate where noise changes each, all below the cut-off where motion is slow.
    (2, n), 0 where the effort never changes.
    """
    found = np.zeros((2, len(states.joints)))
    for j, column in enumerate(states.effort.T):
        known = np.isfinite(column)
        values = np.unique(column[known])
        if len(values) > 1:
            seconds = float(np.ptp(states.stamps[known])) * 1e-9
            changes = float(np.count_nonzero(np.diff(column[known]))) / seconds
            found[:, j] = np.diff(values).min() * np.sqrt([1.0, min(1.0, 2 * cutoff / changes) / 12])
    return found


def noisy_velocities(densities: Array, cutoff: float) -> Mask:
    """Joints whose recorded velocity is noisier, as an acceleration, than what the position gives: (n,) bool.

    White noise of density S in the velocity becomes an acceleration of power S (2 pi)^2 f^3/3 below the
    cut-off f, in the position S (2 pi)^4 f^5/5.
    """
    by_position = densities[0] * (2 * np.pi) ** 4 * cutoff**5 / 5
    by_velocity = densities[1] * (2 * np.pi) ** 2 * cutoff**3 / 3
    return np.asarray(by_position < by_velocity)


# Pieces


def _pieces_of(
    found: motion.Motion, states: JointStates, request: Request, origin: int, done: float
) -> Iterator[Piece]:
    """The intervals from where their samples, beyond the edge, come after ``done`` [s]; what is unusable.

    Times are counted from the stamp ``origin`` [ns].
    """
    pad = motion.EDGE_CYCLES / found.cutoff / 2  # [s] over which the low-pass spreads a sample
    raw = (states.stamps - origin) * 1e-9 - request.delay
    for interval in found.intervals:
        whole = (interval.stamp - origin) * 1e-9 + (interval.time - interval.time[0])
        fresh = slice(max(0, int(np.searchsorted(whole, done, "right")) - found.edge), None)
        time = whole[fresh]
        if len(time) <= 2 * found.edge:
            continue
        done = float(time[-1 - found.edge])
        usable = np.ones_like(interval.q[fresh])
        for j, limit in enumerate(request.limits):
            at = raw[clipped(states.effort[:, j], limit)]
            if len(at):
                neighbours = np.clip(np.searchsorted(at, time)[:, None] + [-1, 0], 0, len(at) - 1)
                usable[np.abs(time[:, None] - at[neighbours]).min(axis=1) < pad, j] = 0.0
        arrays = (interval.q[fresh], interval.qd[fresh], interval.qdd[fresh], interval.effort[fresh])
        yield Piece(time, *arrays, usable, found.sampled, found.rate, found.cutoff, found.edge)


def clipped(effort: Array, limit: float) -> Mask:
    """Which raw samples are at the effort limit, or on a plateau at the very largest value: (N,) bool.

    A joint at rest, or one whose effort is always the same, is no plateau; nor is the largest of many values
    at each of which the effort stays, for it is measured in steps. A limit that efforts exceed clips nothing.
    """
    size = np.abs(effort)
    top = np.nanmax(size, initial=0.0)
    at_limit = size >= SATURATED * limit
    at_limit &= (size > BEYOND[0] * limit).sum() <= BEYOND[1] * at_limit.sum()
    at_top = size == top
    ends = np.flatnonzero(np.append(np.diff(effort) != 0.0, True))
    long = np.diff(ends, prepend=-1) >= PLATEAU
    others = np.unique(effort[ends[long]][size[ends[long]] != top])
    coarse = np.nanmax(size[~at_top], initial=0.0) < COARSE * top
    if not top > 0.0 or at_top.mean() >= OFTEN or len(others) >= STEPS or coarse:
        return np.asarray(at_limit)
    runs = np.convolve(at_top, np.ones(PLATEAU), "same") >= PLATEAU
    flat = np.convolve(runs, np.ones(PLATEAU), "same") > 0
    return np.asarray((flat & at_top) | at_limit)
