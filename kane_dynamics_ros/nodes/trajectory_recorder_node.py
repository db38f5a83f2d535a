"""Send one trajectory to a running controller and record what it does, in a rosbag2 bag.

For where there is no ``ros2 topic pub`` and no ``ros2 bag record``, and for runs that must start and end
by themselves. It waits until the robot's states and commands flow, sends the trajectory with an absolute
start time, records until it has ended, and exits: 0 when the whole motion is in the bag, with states without
a gap and commands to its end and, from a controller that tells (``~/trajectory_status``), the trajectory
finished; 1, with the reason, for everything else. Whatever waits has a deadline in the wall's time.
"""

import hashlib
import statistics
import sys
import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple
from xml.etree.ElementTree import ParseError, canonicalize

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.duration import Duration
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from rclpy.publisher import Publisher
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.signals import SignalHandlerOptions
from rclpy.subscription import Subscription
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
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics_ros.control.trajectory_file import read_trajectory
from kane_dynamics_ros.control.validation import SECOND_NS
from kane_dynamics_ros.description import parse_robot
from kane_dynamics_ros.description.load import urdf_of_arguments
from kane_dynamics_ros.errors import KaneDynamicsError, path_error
from kane_dynamics_ros.nodes.messages import (
    COMMAND_TOPIC,
    LATCHED_QOS,
    STATUS_QOS,
    nanoseconds_of,
    set_nanoseconds,
    trajectory_from,
)
from kane_dynamics_ros.nodes.parameters import Declaration, declare, read
from kane_dynamics_ros.nodes.process import StopRequest, ignore_signals
from kane_dynamics_ros.text import listed


class RecordedTopic(NamedTuple):
    """A topic to record; of ``latched`` ones, the newest message sent before is received too."""

    name: str
    message: Any  # a message class
    latched: bool = False


STATES, COMMANDS = "joint_states", COMMAND_TOPIC
DESCRIPTION = "robot_description"
STATUS = "feedforward_node/trajectory_status"
TOPICS = (
    RecordedTopic(STATES, JointState),
    RecordedTopic(COMMANDS, Float64MultiArray),
    RecordedTopic("joint_trajectory", JointTrajectory),
    RecordedTopic("feedforward_node/feedforward", JointState),
    RecordedTopic(STATUS, DiagnosticStatus, latched=True),
    RecordedTopic(DESCRIPTION, String, latched=True),
    RecordedTopic("/diagnostics", DiagnosticArray),
)
REQUIRED = ("trajectory", "bag")
STATUS_GRACE = 0.5  # [s] for the status of a failure to reach the bag too
LARGEST_OFFSET = 5.0  # [s] between the stamps of states and this node's clock
PUBLISHER_GRACE = 1.0  # [s] without a publisher before it counts as ended
SERVICE_TIMEOUT = 5.0  # [s] for a service of another node
COMMAND_TOLERANCE = 0.1  # [s] by which the last command may come before the last point is due
QUEUE_DEPTH = 10_000  # messages that may wait to be written
GAP_PERIODS, GAP_SECONDS = 5, 0.02  # a pause between states longer than both is a gap, as for replay
FEWEST_STATES = 10  # of the same joints, from which their period is known
DISCOVERY_GRACE = 3.0  # [s] for the robot's states to come before a description is published
DESCRIPTION_GRACE = 1.0  # [s] for a description to come after them
NODE_NOT_KNOWN_YET = "_NODE_NAME_UNKNOWN_"  # ROS's name for the node of a publisher just discovered
DISCOVERY_PERIOD = 0.1  # [s] between looks for publishers
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

PARAMETERS = (
    Declaration("trajectory", "text", "", "YAML file with a JointTrajectory, as ros2 topic pub takes it"),
    Declaration("bag", "text", "", "directory of the bag to write; must not exist"),
    Declaration(
        "robot_description", "text", "", "URDF or xacro file to publish on robot_description; empty: none"
    ),
    Declaration(
        "xacro_arguments",
        "text",
        "",
        "arguments of robot_description's xacro file: 'name:=value other:=value'",
    ),
    Declaration(
        "without_namespace",
        "switch",
        False,
        "leave the node's namespace out of the names of topics in the bag",
    ),
    Declaration("lead_time", "number", 0.5, "from sending the trajectory to its start", "s", 0.0, 60.0),
    Declaration("settle_time", "number", 0.5, "recorded after the last point", "s", 0.0, 3600.0),
    Declaration(
        "timeout",
        "number",
        20.0,
        "how long, by the wall's clock, to wait for the robot and the controller, and for them to go on",
        "s",
        0.0,
        3600.0,
    ),
)


class BagExistsError(KaneDynamicsError):
    """There is something where the bag should go."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(
            f"{path}: exists already, and is not overwritten; name another directory for the bag"
        )


class BagWriteError(KaneDynamicsError):
    """The system does not take what belongs into the bag: a full disk, a folder that is not ours."""

    def __init__(self, path: Path, error: OSError, messages: int) -> None:
        self.path = path
        super().__init__(
            f"{path}: cannot be written: {error.strerror or error}; it is not complete after {messages} "
            "messages; make room, or name another directory for the bag"
        )


class NothingReceivedError(KaneDynamicsError):
    """The controller or the robot did not show up."""

    def __init__(self, missing: str, waited: float) -> None:
        self.missing, self.waited = missing, waited
        super().__init__(
            f"{missing} after {waited:g} s; start the controller and the robot first, with the same "
            "ROS_DOMAIN_ID and namespace"
        )


class MissingParameterError(KaneDynamicsError):
    """A parameter without a default was not given."""

    def __init__(self, name: str, what: str) -> None:
        self.name = name
        super().__init__(f"parameter {name!r} is missing; give it with -p {name}:=... ({what})")


class OtherRobotError(KaneDynamicsError):
    """robot_description was asked to be published, and is that of another robot than the trajectory's."""

    def __init__(self, path: Path, joints: Sequence[str]) -> None:
        self.path, self.joints = path, tuple(joints)
        super().__init__(
            f"{path} has no joint {listed(joints)}, which the trajectory moves: it is another robot's; "
            "nothing was published"
        )


class OtherDescriptionError(KaneDynamicsError):
    """robot_description is published already, with another text."""

    def __init__(self, path: Path, publishers: Sequence[str]) -> None:
        self.path, self.publishers = path, tuple(publishers)
        by = f" by {listed(publishers)}" if publishers else ""
        super().__init__(
            f"{DESCRIPTION} is published already{by}, and {path} is not the same; leave the parameter "
            f"{DESCRIPTION} out, or give xacro_arguments as there; nothing was published"
        )


class OtherClockError(KaneDynamicsError):
    """The robot's stamps come from another clock than this node's; ``simulated`` when that is /clock."""

    def __init__(self, stamp: float, now: float, simulated: bool) -> None:
        self.simulated = simulated
        clock, advice = ("the clock here", "set use_sim_time here as in the controller, or fix")
        if simulated:
            clock, advice = ("/clock", "leave use_sim_time out here if the controller has none, or fix")
        super().__init__(
            f"{STATES} is stamped {stamp:.3f} s, and {clock} shows {now:.3f} s; {advice} the robot's stamps"
        )


class MissingStatesError(KaneDynamicsError):
    """Joint states of the motion are not in the bag; ``gaps`` are their starts and lengths [s]."""

    def __init__(self, gaps: Sequence[tuple[float, float]], bag: Path) -> None:
        self.gaps, self.bag = tuple(gaps), bag
        count = "a gap" if len(gaps) == 1 else f"{len(gaps)} gaps"
        start, longest = max(gaps, key=lambda gap: gap[1])
        which = "of" if len(gaps) == 1 else "the longest of"
        super().__init__(
            f"{STATES} has {count} during the motion, {which} {longest:.3f} s from {start:.3f} s after its "
            f"start; those states were not sent or did not arrive, as on a machine that is too busy; the bag "
            f"{bag} has the rest"
        )


class TrajectoryFailedError(KaneDynamicsError):
    """The controller reports that it did not follow the whole trajectory."""

    def __init__(self, state: str, reason: str, bag: Path) -> None:
        self.state, self.reason = state, reason
        super().__init__(f"the controller says of the trajectory: {state}: {reason}; see the bag {bag}")


class RunBrokenError(KaneDynamicsError):
    """States, commands or time did not reach the end of the trajectory."""

    def __init__(self, what: str, left: float, bag: Path) -> None:
        super().__init__(f"{what}, {left:.3f} s before the end of the recording; the bag {bag} stops there")


class StoppedError(KaneDynamicsError):
    """Ctrl-C or SIGTERM came before the end."""

    def __init__(self, bag: Path, sent: bool) -> None:
        self.bag, self.sent = bag, sent
        kept = f"the bag {bag} stops there" if bag.exists() else "nothing was recorded"
        going_on = (
            "; the controller follows the trajectory to its end: one without points stops it" if sent else ""
        )
        super().__init__(f"stopped by a signal before the trajectory ended; {kept}{going_on}")


# The bag


class Received(NamedTuple):
    """The newest message of a topic, as it came over the wire."""

    data: bytes
    clock_ns: int  # when, by the node's clock
    steady: float  # [s] when, by a clock that never steps


class StateTimes:
    """When the joint states that came were measured, to know how far they are and which are missing.

    States of the same joints have a period of their own: several publishers may share the topic.
    """

    def __init__(self) -> None:
        self._stamps: dict[tuple[str, ...], array[int]] = {}
        self.newest_ns = 0  # of the state that came last

    def take(self, data: bytes, clock_ns: int, recorded: bool) -> None:
        """One state as it came at ``clock_ns`` [ns], which counts as its stamp where it has none."""
        state = deserialize_message(data, JointState)
        self.newest_ns = nanoseconds_of(state.header.stamp) or clock_ns
        if recorded:
            self._stamps.setdefault(tuple(state.name), array("q")).append(self.newest_ns)

    def gaps(self, start_ns: int, end_ns: int) -> list[tuple[float, float]]:
        """Where recorded states are missing between two moments [ns]: from ``start_ns`` on, how long [s]."""
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


class BagRecorder:
    """Subscribes to topics as raw bytes and, once ``open`` was called, writes each message as it comes.

    Nothing is written before ``open``, so that a start that is refused leaves no bag; latched messages that
    came before are then written first. ``update_subscriptions`` is to be called while spinning: it
    subscribes to topics as their publishers offer them, reliably where all of them do. A context manager:
    the bag is complete, with its metadata, when it closes. ``without_namespace`` leaves the node's namespace
    out of the names in the bag. Raises ``BagExistsError``, ``BagWriteError``.
    """

    def __init__(
        self, node: Node, path: Path, topics: tuple[RecordedTopic, ...], without_namespace: bool = False
    ) -> None:
        if path.exists():
            raise BagExistsError(path)
        self.path = path
        self._node = node
        self._topics = {topic.name: topic for topic in topics}
        self._prefix = node.get_namespace().rstrip("/") if without_namespace else ""
        self._writer: Writer | None = None
        self._connections: dict[str, Connection] = {}
        self._subscriptions: dict[str, Subscription[Any]] = {}
        self._unreliable: set[str] = set()  # topics with a publisher that offers best effort
        self._newest: dict[str, Received] = {}
        self.state_times = StateTimes()
        self._written = 0
        self._next_update = 0.0

    def __enter__(self) -> "BagRecorder":
        self.update_subscriptions()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        writer, self._writer = self._writer, None
        if writer is None:
            return
        try:
            writer.close()
        except OSError as failure:
            with suppress(Exception):
                writer.abort()
            if error is None:
                raise BagWriteError(self.path, failure, self._written) from None

    def open(self) -> None:
        """Create the bag, and write what is latched."""
        writer = Writer(self.path, version=9, storage_plugin=StoragePlugin.MCAP)
        try:
            writer.open()
            self._writer = writer
            for topic in self._topics.values():
                self._connections[topic.name] = self._connection(writer, topic)
        except OSError as error:
            raise BagWriteError(self.path, error, 0) from None
        now = self._node.get_clock().now().nanoseconds
        for name, newest in self._newest.items():
            if self._topics[name].latched:
                self._write(name, now, newest.data)

    def update_subscriptions(self) -> None:
        """Subscribe to topics that have publishers by now, and again where a less reliable one joined."""
        if time.monotonic() < self._next_update:
            return
        self._next_update = time.monotonic() + DISCOVERY_PERIOD
        for name, topic in self._topics.items():
            best_effort = name in self._unreliable
            current = self._subscriptions.get(name)
            if current is not None and best_effort and is_reliable(current.qos_profile):
                self._node.destroy_subscription(current)
            elif current is not None:
                continue
            elif not topic.latched:
                offers = self._node.get_publishers_info_by_topic(self._node.resolve_topic_name(name))
                if not offers:
                    continue
                best_effort = not all(is_reliable(each.qos_profile) for each in offers)
            self._subscriptions[name] = self._subscribe(topic, reliable=not best_effort)

    @property
    def written(self) -> int:
        """How many messages are in the bag."""
        return self._written

    def has_received(self, name: str) -> bool:
        """Whether anything has come from a topic."""
        return name in self._newest

    def last(self, name: str) -> Received:
        """The newest message of a topic; ``KeyError`` when none has come."""
        return self._newest[name]

    def _subscribe(self, topic: RecordedTopic, reliable: bool) -> "Subscription[Any]":
        callbacks = SubscriptionEventCallbacks(use_default_callbacks=False)
        callbacks.incompatible_qos = lambda _: self._unreliable.add(topic.name)
        return self._node.create_subscription(
            topic.message,
            topic.name,
            self._receiver(topic.name),
            QoSProfile(
                depth=QUEUE_DEPTH,
                durability=QoSDurabilityPolicy.TRANSIENT_LOCAL
                if topic.latched
                else QoSDurabilityPolicy.VOLATILE,
                reliability=QoSReliabilityPolicy.RELIABLE if reliable else QoSReliabilityPolicy.BEST_EFFORT,
            ),
            raw=True,
            event_callbacks=callbacks,
        )

    def _receiver(self, name: str) -> Callable[[bytes], None]:
        def receive(data: bytes) -> None:
            now = self._node.get_clock().now().nanoseconds
            self._newest[name] = Received(data, now, time.monotonic())
            if name == STATES:
                self.state_times.take(data, now, recorded=self._writer is not None)
            if self._writer is not None:
                self._write(name, now, data)

        return receive

    def _write(self, name: str, now_ns: int, data: bytes) -> None:
        if self._writer is None:
            return
        try:
            self._writer.write(self._connections[name], now_ns, data)
        except OSError as error:
            raise BagWriteError(self.path, error, self._written) from None
        self._written += 1

    def _connection(self, writer: Writer, topic: RecordedTopic) -> Connection:
        package, kind = topic.message.__module__.partition(".")[0], topic.message.__name__
        return writer.add_connection(
            self._node.resolve_topic_name(topic.name).removeprefix(self._prefix),
            f"{package}/msg/{kind}",
            typestore=get_typestore(Stores.ROS2_JAZZY),
            offered_qos_profiles=[LATCHED_IN_BAG] if topic.latched else [],
        )


def is_reliable(qos: QoSProfile) -> bool:
    """Whether a quality of service promises that every message arrives."""
    return bool(qos.reliability == QoSReliabilityPolicy.RELIABLE)


# The run


class TrajectoryRun:
    """One trajectory sent to the controller, and recorded to its end."""

    def __init__(
        self,
        node: Node,
        executor: Executor,
        bag: BagRecorder,
        timeout: float,
        stopped: Callable[[], bool],
    ) -> None:
        self._node, self._executor, self._bag = node, executor, bag
        self._timeout, self._stopped = timeout, stopped
        self._label = ""
        self._outcome: dict[str, str] = {}
        self._simulated = bool(node.get_parameter("use_sim_time").value)
        self._gone_since: dict[str, float] = {}
        self._progress = (-1, 0.0)  # newest stamp [ns], and since when it has been [s]
        node.create_subscription(DiagnosticStatus, STATUS, self._on_status, STATUS_QOS)

    def describe(self, text: str, path: Path) -> None:
        """Publish a URDF's text as robot_state_publisher does, unless somebody has: then it must be the same.

        A controller that gets another robot's description stops. One that waits for a description sends no
        commands, so they are not waited for here. Raises ``OtherDescriptionError``.
        """
        deadline = time.monotonic() + self._timeout
        grace = min(time.monotonic() + DISCOVERY_GRACE, deadline)  # states may themselves need a description
        self._spin_until(lambda: self._bag.has_received(STATES) or time.monotonic() > grace)
        grace = min(time.monotonic() + DESCRIPTION_GRACE, deadline)
        self._spin_until(lambda: self._bag.has_received(DESCRIPTION) or time.monotonic() > grace)
        offers = self._node.get_publishers_info_by_topic(self._node.resolve_topic_name(DESCRIPTION))
        if offers:
            self._spin_until(lambda: self._bag.has_received(DESCRIPTION) or time.monotonic() > deadline)
        if not self._bag.has_received(DESCRIPTION):
            self._node.create_publisher(String, DESCRIPTION, LATCHED_QOS).publish(String(data=text))
            return
        latched = deserialize_message(self._bag.last(DESCRIPTION).data, String).data
        if not same_description(latched, text):
            raise OtherDescriptionError(
                path, sorted({each.node_name for each in offers} - {NODE_NOT_KNOWN_YET})
            )

    def drive(self, trajectory: JointTrajectory, lead: float, settle: float) -> None:
        """Wait for the others, send the trajectory, record until it has ended.

        Raises ``KaneDynamicsError`` when anything is missing to the end.
        """
        publisher = self._node.create_publisher(JointTrajectory, "joint_trajectory", 1)
        self._await_others(publisher)
        self._bag.open()
        with self._paused_robot():
            start_ns = max(self._now_ns(), self._newest_state_ns()) + round(lead * SECOND_NS)
            set_nanoseconds(trajectory.header.stamp, start_ns)
            self._label = label_of(trajectory)
            trajectory.header.frame_id = self._label
            publisher.publish(trajectory)
            self._await_answer(publisher)
        last_ns = start_ns + duration_ns(trajectory)
        self._record_until(last_ns + round(settle * SECOND_NS), last_ns)
        if gaps := self._bag.state_times.gaps(start_ns, last_ns):
            raise MissingStatesError(gaps, self._bag.path)
        outcome = "the controller says finished" if self._finished() else "the controller says nothing of it"
        self._node.get_logger().info(
            f"the whole motion of {duration_ns(trajectory) / SECOND_NS:.3f} s is in the bag "
            f"{self._bag.path}: {self._bag.written} messages; {outcome}"
        )

    def _await_others(self, publisher: "Publisher[JointTrajectory]") -> None:
        deadline = time.monotonic() + self._timeout

        def ready() -> bool:
            if self._missing(publisher):
                return False
            return not self._simulated or self._in_time()  # states that wait to be taken are behind /clock

        self._spin_until(lambda: ready() or time.monotonic() > deadline)
        if what := self._missing(publisher):
            raise NothingReceivedError(what, self._timeout)
        if not self._in_time():
            stamp, now = self._newest_state_ns(), self._now_ns()
            raise OtherClockError(stamp / SECOND_NS, now / SECOND_NS, self._simulated)

    def _in_time(self) -> bool:
        """Whether the newest state is of about now by this node's clock."""
        return abs(self._newest_state_ns() - self._now_ns()) <= LARGEST_OFFSET * SECOND_NS

    def _missing(self, publisher: "Publisher[JointTrajectory]") -> str:
        """What the trajectory still has to wait for; empty when nothing."""
        if not self._now_ns():
            return "use_sim_time is true, and no time came on /clock"
        silent = [name for name in (STATES, COMMANDS) if not self._bag.has_received(name)]
        if silent:
            return f"nothing came on {' and '.join(silent)}"
        return "" if publisher.get_subscription_count() > 1 else "no controller listens to joint_trajectory"

    @contextmanager
    def _paused_robot(self) -> Iterator[None]:
        """Pause a simulated robot in lock step, so that the trajectory comes at one moment of its time.

        It does so however long the controller's process takes. Other robots go on.
        """
        robots = self._node.get_publishers_info_by_topic(STATES) if self._simulated else []
        clients = [
            AsyncParameterClient(self._node, f"{each.node_namespace.rstrip('/')}/{each.node_name}")
            for each in robots
        ]
        paused = [client for client in clients if self._set_paused(client, True)]
        try:
            yield
        finally:
            for client in paused:
                self._set_paused(client, False)

    def _set_paused(self, client: AsyncParameterClient, paused: bool) -> bool:
        """Whether the robot's node has taken it."""
        if not client.wait_for_services(timeout_sec=SERVICE_TIMEOUT):
            return False
        future = client.set_parameters([Parameter("time.paused", value=paused)])
        deadline = time.monotonic() + SERVICE_TIMEOUT
        self._spin_until(lambda: future.done() or time.monotonic() > deadline)
        result = future.result() if future.done() else None
        return result is not None and all(each.successful for each in result.results)

    def _await_answer(self, publisher: "Publisher[JointTrajectory]") -> None:
        """Until the controller says what it makes of the trajectory, where it says such things."""
        publisher.wait_for_all_acked(Duration(seconds=SERVICE_TIMEOUT))
        deadline = time.monotonic() + self._timeout
        if self._simulated and self._node.count_publishers(STATUS):
            self._spin_until(lambda: bool(self._outcome) or time.monotonic() > deadline)

    def _record_until(self, end_ns: int, last_ns: int) -> None:
        """Until states are past ``end_ns``; commands must reach ``last_ns``, when the last point is due."""

        def over() -> bool:
            if self._failed():
                return True
            left = (end_ns - self._newest_state_ns()) / SECOND_NS
            if left < 0.0:
                return True
            if interruption := self._interruption():
                raise RunBrokenError(interruption, left, self._bag.path)
            return False

        self._spin_until(over)
        if self._failed():
            deadline = time.monotonic() + STATUS_GRACE
            self._spin_until(lambda: time.monotonic() > deadline)
            raise TrajectoryFailedError(self._outcome["state"], self._outcome["reason"], self._bag.path)
        behind = (last_ns - self._bag.last(COMMANDS).clock_ns) / SECOND_NS
        if behind > COMMAND_TOLERANCE:
            raise RunBrokenError(f"the last message on {COMMANDS} came", behind, self._bag.path)
        if self._outcome and not self._finished():
            deadline = time.monotonic() + self._timeout
            self._spin_until(lambda: self._finished() or time.monotonic() > deadline)
            if not self._finished():
                raise TrajectoryFailedError(self._outcome["state"], "and never finished", self._bag.path)

    def _failed(self) -> bool:
        return self._outcome.get("state") in ("refused", "dropped")

    def _finished(self) -> bool:
        return self._outcome.get("state") == "finished"

    def _interruption(self) -> str:
        """Why the run will not come to its end; empty as long as it may."""
        now = time.monotonic()
        for name in (STATES, COMMANDS):
            if now - self._bag.last(name).steady > self._timeout:
                return f"nothing came on {name} for {self._timeout:g} s"
            if self._node.count_publishers(name):
                self._gone_since.pop(name, None)
            elif now - self._gone_since.setdefault(name, now) > PUBLISHER_GRACE:
                return f"the publisher of {name} has gone"
        if self._progress_stalled(now):
            return f"time did not advance for {self._timeout:g} s"
        return ""

    def _progress_stalled(self, now: float) -> bool:
        newest = self._newest_state_ns()
        if newest > self._progress[0]:
            self._progress = (newest, now)
        return now - self._progress[1] > self._timeout

    def _on_status(self, message: DiagnosticStatus) -> None:
        values = {each.key: each.value for each in message.values}
        if self._label and values.get("frame_id") == self._label:
            self._outcome = {"reason": message.message, **values}

    def _newest_state_ns(self) -> int:
        """The stamp of the newest recorded state [ns], or when it came where the robot does not stamp.

        The node's clock may be ahead of what waits to be written.
        """
        return self._bag.state_times.newest_ns

    def _now_ns(self) -> int:
        return int(self._node.get_clock().now().nanoseconds)

    def _spin_until(self, over: Callable[[], bool]) -> None:
        """Serve callbacks until ``over`` says so; it is asked at least every 50 ms."""
        while not over():
            if self._stopped():
                raise StoppedError(self._bag.path, sent=bool(self._label))
            self._bag.update_subscriptions()
            self._executor.spin_once(timeout_sec=0.05)


def label_of(trajectory: JointTrajectory) -> str:
    """A label that identifies this trajectory, the same in each run; ``frame_id`` carries it."""
    return f"recorder_{hashlib.sha256(repr(trajectory).encode()).hexdigest()[:12]}"


def duration_ns(trajectory: JointTrajectory) -> int:
    """From its start to its last point [ns]; without points, which means stop, none."""
    if not trajectory.points:
        return 0
    return nanoseconds_of(trajectory.points[-1].time_from_start)


# The process


def check_given(options: Mapping[str, Any]) -> None:
    """Raise ``MissingParameterError`` for what has to be given and was not."""
    for declaration in PARAMETERS:
        if declaration.name in REQUIRED and not options[declaration.name]:
            raise MissingParameterError(declaration.name, declaration.description)


def description_to_publish(options: Mapping[str, Any], joint_names: Sequence[str]) -> str:
    """The URDF's text, expanded; empty where none is asked for.

    Raises ``OtherRobotError`` where it has not all of the trajectory's joints, ``KaneDynamicsError`` where it
    cannot be read or expanded.
    """
    path = options[DESCRIPTION]
    if not path:
        return ""
    text = urdf_of_arguments(path, options["xacro_arguments"])
    known = {joint.name for joint in parse_robot(text, path).joints}
    if unknown := [name for name in joint_names if name not in known]:
        raise OtherRobotError(Path(path), unknown)
    return text


def same_description(one: str, other: str) -> bool:
    """Whether two URDFs are the same but for white space, comments and the order of attributes."""
    if one == other:
        return True
    try:
        return canonicalize(one, strip_text=True) == canonicalize(other, strip_text=True)
    except (ParseError, ValueError):  # one of them is no XML
        return False


def record(node: Node, executor: Executor, options: Mapping[str, Any], stopped: Callable[[], bool]) -> None:
    """The whole run. Raises ``KaneDynamicsError``; what was recorded until then is readable."""
    check_given(options)
    trajectory = trajectory_from(read_trajectory(Path(options["trajectory"])), "")
    description = description_to_publish(options, trajectory.joint_names)
    with BagRecorder(node, Path(options["bag"]), TOPICS, options["without_namespace"]) as bag:
        recording = TrajectoryRun(node, executor, bag, options["timeout"], stopped)
        if description:
            recording.describe(description, Path(options[DESCRIPTION]))
        recording.drive(trajectory, options["lead_time"], options["settle_time"])


def main(args: list[str] | None = None) -> int:
    """Run the node; returns the exit code."""
    stop = StopRequest()
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # rclpy's, of ROS arguments that cannot be read
        print(f"error: {error}", file=sys.stderr)
        return 1
    try:
        node = rclpy.create_node("trajectory_recorder")
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        declare(node, PARAMETERS)
        record(node, executor, read(node, PARAMETERS), lambda: stop.made)
        return 0
    except KaneDynamicsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {path_error(error) if error.filename else error}", file=sys.stderr)
        return 1
    except ExternalShutdownException:
        return 1
    finally:
        ignore_signals()
        rclpy.try_shutdown()


if __name__ == "__main__":
    sys.exit(main())
