"""The recording of a trajectory, without a node: the bag, and whether the whole motion is in it."""

import statistics
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path

from rosbags.interfaces import (
    Connection,
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from kane_dynamics_ros.control.validation import SECOND_NS
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.nodes.messages import COMMAND_TOPIC

STATES, COMMANDS = "joint_states", COMMAND_TOPIC
PUBLISHER_GRACE = 1.0  # [s] without a publisher before it counts as ended
COMMAND_TOLERANCE = 0.1  # [s] by which the last command may come before the last point is due
GAP_PERIODS, GAP_SECONDS = 5, 0.02  # a pause between states longer than both is a gap, as for replay
FEWEST_STATES = 10  # of the same joints, from which their period is known
LATCHED_IN_BAG = Qos(
    history=QosHistory.KEEP_LAST,
    depth=1,
    reliability=QosReliability.RELIABLE,
    durability=QosDurability.TRANSIENT_LOCAL,
    deadline=QosTime(0, 0),
    lifespan=QosTime(0, 0),
    liveliness=QosLiveliness.SYSTEM_DEFAULT,
    liveliness_lease_duration=QosTime(0, 0),
    avoid_ros_namespace_conventions=False,
)


class RecordingError(KaneDynamicsError):
    """Not the whole motion is in the bag, or there is no bag.

    Codes: ``missing_parameter`` (name), ``bag_exists``, ``bag_write``, ``nothing_received`` (missing),
    ``other_clock``, ``other_robot`` (joints), ``other_description`` (publishers), ``missing_states`` (gaps),
    ``failed`` (state, reason), ``broken``, ``stopped``.
    """


class BagWriter:
    """A rosbag2 bag of messages as they come over the wire; complete, with its metadata, when it is closed.

    Nothing is written before ``open``, so that a start that is refused leaves no bag. Raises
    ``RecordingError``.
    """

    def __init__(self, path: Path) -> None:
        if path.exists():
            message = f"{path}: exists already, and is not overwritten; name another directory for the bag"
            raise RecordingError(message, "bag_exists", path=path)
        self.path = path
        self.written = 0  # messages
        self._writer: Writer | None = None
        self._connections: dict[str, Connection] = {}

    def open(self, topics: Mapping[str, tuple[str, bool]]) -> None:
        """Create the bag with these topics, each with its type's name and whether it is latched."""
        writer = Writer(self.path, version=9, storage_plugin=StoragePlugin.MCAP)
        store = get_typestore(Stores.ROS2_JAZZY)
        with self._writing():
            writer.open()
            self._writer = writer
            for name, (kind, latched) in topics.items():
                offered = [LATCHED_IN_BAG] if latched else []
                self._connections[name] = writer.add_connection(
                    name, kind, typestore=store, offered_qos_profiles=offered
                )

    def write(self, name: str, time_ns: int, data: bytes) -> None:
        """One message, received at ``time_ns`` [ns]."""
        if self._writer is None:
            return
        with self._writing():
            self._writer.write(self._connections[name], time_ns, data)
        self.written += 1

    def close(self) -> None:
        """Complete the bag, if there is one."""
        writer, self._writer = self._writer, None
        with self._writing():
            if writer is not None:
                try:
                    writer.close()
                except OSError:
                    with suppress(Exception):
                        writer.abort()
                    raise

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """What the system says of a full disk, or a folder that is not ours, as a ``RecordingError``."""
        try:
            yield
        except OSError as error:
            raise RecordingError(
                f"{self.path}: cannot be written: {error.strerror or error}; it is not complete after "
                f"{self.written} messages; make room, or name another directory for the bag",
                "bag_write",
                path=self.path,
            ) from None


class StateTimes:
    """When the joint states that came were measured, to know how far they are and which are missing.

    States of the same joints have a period of their own: several publishers may share the topic.
    """

    def __init__(self) -> None:
        self._stamps: dict[tuple[str, ...], array[int]] = {}
        self.newest_ns = 0  # of the state that came last

    def take(self, names: Sequence[str], stamp_ns: int) -> None:
        """One state with its stamp [ns]."""
        self.newest_ns = stamp_ns
        self._stamps.setdefault(tuple(names), array("q")).append(stamp_ns)

    def gaps(self, start_ns: int, end_ns: int) -> list[tuple[float, float]]:
        """Where states are missing between two moments [ns]: from ``start_ns`` on, how long [s]."""
        found: list[tuple[float, float]] = []
        for stamps in self._stamps.values():
            times = sorted(set(stamps))
            if len(times) < FEWEST_STATES:
                continue
            period = statistics.median(b - a for a, b in pairwise(times))
            longest = max(GAP_PERIODS * period, GAP_SECONDS * SECOND_NS)
            inside = [time for time in times if start_ns < time < end_ns]
            before = max((time for time in times if time <= start_ns), default=start_ns)
            after = min((time for time in times if time >= end_ns), default=end_ns)
            found += [
                ((a - start_ns) / SECOND_NS, (b - a) / SECOND_NS)
                for a, b in pairwise([before, *inside, after])
                if b - a > longest
            ]
        return sorted(found)


class Run:
    """One trajectory from its start to its end, as far as it can be told from what came.

    Times of the recording are in ns of the robot's clock; ``now`` [s] is a clock that never steps, which the
    deadlines count.
    """

    def __init__(self, bag: Path, timeout: float) -> None:
        self.states = StateTimes()
        self.outcome: dict[str, str] = {}  # what the controller said of the trajectory last
        self._bag, self._timeout = bag, timeout
        self._came: dict[str, tuple[int, float]] = {}  # the newest message of a topic: robot's clock, ``now``
        self._gone_since: dict[str, float] = {}
        self._progress = (-1, 0.0)  # newest stamp [ns], and since when it has been [s]
        self._ended_at: float | None = None
        self._start_ns = self._last_ns = self._end_ns = 0

    def begin(self, start_ns: int, duration_ns: int, settle_ns: int) -> None:
        """The trajectory starts at ``start_ns``; the recording ends ``settle_ns`` after its last point."""
        self._start_ns, self._last_ns = start_ns, start_ns + duration_ns
        self._end_ns = self._last_ns + settle_ns

    def came(self, name: str, clock_ns: int, now: float) -> None:
        """A message of a topic."""
        self._came[name] = clock_ns, now

    @property
    def failed(self) -> bool:
        """Whether the controller refused or dropped the trajectory."""
        return self.outcome.get("state") in ("refused", "dropped")

    @property
    def finished(self) -> bool:
        """Whether the controller says that the trajectory was followed to its end."""
        return self.outcome.get("state") == "finished"

    def over(self, now: float, publishers: Mapping[str, int]) -> bool:
        """Whether there is nothing more to wait for; ``publishers`` counts those of states and commands.

        Raises ``RecordingError`` when the run will not come to its end.
        """
        left_ns = self._end_ns - self.states.newest_ns
        if left_ns >= 0 and not self.failed:
            if interruption := self._interruption(now, publishers):
                raise self._broken(interruption, left_ns)
            return False
        if self.failed or self.finished or not self.outcome:
            return True
        self._ended_at = self._ended_at or now
        return now - self._ended_at > self._timeout

    def judge(self) -> None:
        """Raise ``RecordingError`` unless the whole motion was recorded."""
        behind_ns = self._last_ns - self._came[COMMANDS][0]
        if not self.failed and behind_ns > COMMAND_TOLERANCE * SECOND_NS:
            raise self._broken(f"the last message on {COMMANDS} came", behind_ns)
        if self.outcome and not self.finished:
            state = self.outcome["state"]
            reason = self.outcome["reason"] if self.failed else "and never finished"
            raise RecordingError(
                f"the controller says of the trajectory: {state}: {reason}; see the bag {self._bag}",
                "failed",
                state=state,
                reason=reason,
            )
        if gaps := self.states.gaps(self._start_ns, self._last_ns):
            start, longest = max(gaps, key=lambda gap: gap[1])
            count, which = ("a gap", "of") if len(gaps) == 1 else (f"{len(gaps)} gaps", "the longest of")
            raise RecordingError(
                f"{STATES} has {count} during the motion, {which} {longest:.3f} s from {start:.3f} s after "
                "its start; those states were not sent or did not arrive, as on a machine that is too busy; "
                f"the bag {self._bag} has the rest",
                "missing_states",
                gaps=tuple(gaps),
            )

    def _broken(self, what: str, left_ns: int) -> RecordingError:
        left = f"{left_ns / SECOND_NS:.3f} s before the end of the recording"
        return RecordingError(f"{what}, {left}; the bag {self._bag} stops there", "broken")

    def _interruption(self, now: float, publishers: Mapping[str, int]) -> str:
        """Why the run will not come to its end; empty as long as it may."""
        for name in (STATES, COMMANDS):
            if now - self._came[name][1] > self._timeout:
                return f"nothing came on {name} for {self._timeout:g} s"
            if publishers[name]:
                self._gone_since.pop(name, None)
            elif now - self._gone_since.setdefault(name, now) > PUBLISHER_GRACE:
                return f"the publisher of {name} has gone"
        if self.states.newest_ns > self._progress[0]:
            self._progress = (self.states.newest_ns, now)
        stalled = now - self._progress[1] > self._timeout
        return f"time did not advance for {self._timeout:g} s" if stalled else ""
