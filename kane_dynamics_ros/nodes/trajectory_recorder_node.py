"""Send one trajectory to a running controller and record what it does, in a rosbag2 bag.

For where there is no ``ros2 topic pub`` and no ``ros2 bag record``, and for runs that must start and end
by themselves. It waits until the robot's states and commands flow, sends the trajectory with an absolute
start time, records until it has ended, and exits: 0 when the whole motion is in the bag, with states without
a gap and commands to its end and, from a controller that tells (``~/trajectory_status``), the trajectory
finished; 1, with the reason, for everything else. Whatever waits has a deadline in the wall's time.
"""

import hashlib
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError, canonicalize

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.duration import Duration
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.signals import SignalHandlerOptions
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics_ros.control.trajectory_file import read_trajectory
from kane_dynamics_ros.control.validation import SECOND_NS, TrajectoryRequest
from kane_dynamics_ros.description import parse_robot
from kane_dynamics_ros.description.load import urdf_of_arguments
from kane_dynamics_ros.errors import KaneDynamicsError, path_error
from kane_dynamics_ros.nodes.messages import (
    LATCHED_QOS,
    nanoseconds_of,
    type_name,
    values_of,
)
from kane_dynamics_ros.nodes.parameters import declare, read
from kane_dynamics_ros.nodes.process import StopRequest, ignore_signals, steady_timer
from kane_dynamics_ros.nodes.recording import COMMANDS, STATES, BagWriter, RecordingError, Run
from kane_dynamics_ros.nodes.serialized import bytes_from_request
from kane_dynamics_ros.runtime.node_parameters import declarations
from kane_dynamics_ros.text import listed, named

DESCRIPTION = "robot_description"
STATUS = "feedforward_node/trajectory_status"
TOPICS: dict[str, Any] = {  # message classes
    STATES: JointState,
    COMMANDS: Float64MultiArray,
    "joint_trajectory": JointTrajectory,
    "feedforward_node/feedforward": JointState,
    STATUS: DiagnosticStatus,
    DESCRIPTION: String,
    "/diagnostics": DiagnosticArray,
}
LATCHED = (STATUS, DESCRIPTION)  # the newest message sent before is received too
REQUIRED = ("trajectory", "bag")
STATUS_GRACE = 0.5  # [s] for the status of a failure to reach the bag too
LARGEST_OFFSET = 5.0  # [s] between the stamps of states and this node's clock
SERVICE_TIMEOUT = 5.0  # [s] for a service of another node
QUEUE_DEPTH = 10_000  # messages that may wait to be written
DISCOVERY_GRACE = 3.0  # [s] for the robot's states to come before a description is published
DESCRIPTION_GRACE = 1.0  # [s] for a description to come after them
NODE_NOT_KNOWN_YET = "_NODE_NAME_UNKNOWN_"  # ROS's name for the node of a publisher just discovered
TELL_PERIOD = 10.0  # [s] between words on how far the recording is
DISCOVERY_PERIOD = 0.1  # [s] between looks for publishers

PARAMETERS = declarations(Path(__file__).with_name("trajectory_recorder.yaml"))


class Recorder:
    """A node that sends one trajectory and records, from its subscriptions, until that has ended.

    It subscribes to topics as their publishers offer them, reliably where all of them do.
    """

    def __init__(self, node: Node, options: Mapping[str, Any], stopped: Callable[[], bool]) -> None:
        self._node, self._options, self._stopped = node, options, stopped
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(node)
        self.bag = BagWriter(Path(options["bag"]))
        self._timeout: float = options["timeout"]
        self._run = Run(self.bag.path, self._timeout)
        self._prefix = node.get_namespace().rstrip("/") if options["without_namespace"] else ""
        self._simulated = bool(node.get_parameter("use_sim_time").value)
        self._label = ""
        self._newest: dict[str, bytes] = {}
        self._subscriptions: dict[str, Subscription[Any]] = {}
        self._unreliable: set[str] = set()  # topics with a publisher that offers best effort
        self._next_update = 0.0

    def describe(self, text: str, path: str) -> None:
        """Publish a URDF's text as robot_state_publisher does, unless somebody has: then it must be the same.

        A controller that gets another robot's description stops. One that waits for a description sends no
        commands, so they are not waited for here.
        """
        grace = min(DISCOVERY_GRACE, self._timeout)  # states may themselves need a description
        self._spin_until(lambda: STATES in self._newest, grace)
        self._spin_until(lambda: DESCRIPTION in self._newest, DESCRIPTION_GRACE)
        offers = self._node.get_publishers_info_by_topic(self._node.resolve_topic_name(DESCRIPTION))
        if offers:
            self._spin_until(lambda: DESCRIPTION in self._newest, self._timeout)
        if DESCRIPTION not in self._newest:
            self._node.create_publisher(String, DESCRIPTION, LATCHED_QOS).publish(String(data=text))
        elif not same_description(deserialize_message(self._newest[DESCRIPTION], String).data, text):
            publishers = sorted({each.node_name for each in offers} - {NODE_NOT_KNOWN_YET})
            by = f" by {listed(publishers)}" if publishers else ""
            raise RecordingError(
                f"{DESCRIPTION} is published already{by}, and {path} is not the same; leave the parameter "
                f"{DESCRIPTION} out, or give xacro_arguments as there; nothing was published",
                "other_description",
                publishers=tuple(publishers),
            )

    def drive(self, trajectory: TrajectoryRequest) -> None:
        """Wait for the others, send the trajectory, record until it has ended.

        Raises ``RecordingError`` when anything is missing to the end.
        """
        run, publisher = self._run, self._node.create_publisher(JointTrajectory, "joint_trajectory", 1)
        self._await_others(publisher)
        self.bag.open({self._in_bag(name): (type_name(TOPICS[name]), name in LATCHED) for name in TOPICS})
        for name in LATCHED:
            if name in self._newest:
                self.bag.write(self._in_bag(name), self._now_ns(), self._newest[name])
        with self._paused_robot():
            lead_ns = round(self._options["lead_time"] * SECOND_NS)
            start_ns = max(self._now_ns(), run.states.newest_ns) + lead_ns
            trajectory = replace(trajectory, stamp_ns=start_ns)
            digest = hashlib.sha256(bytes_from_request(trajectory)).hexdigest()
            self._label = f"recorder_{digest[:12]}"  # the same in each run
            publisher.publish(bytes_from_request(replace(trajectory, label=self._label)))
            publisher.wait_for_all_acked(Duration(seconds=SERVICE_TIMEOUT))
            if self._simulated and self._node.count_publishers(STATUS):  # until it says what it makes of it
                self._spin_until(lambda: bool(run.outcome), self._timeout)
        duration_ns = trajectory.points[-1].time_ns if trajectory.points else 0
        run.begin(start_ns, duration_ns, round(self._options["settle_time"] * SECOND_NS))
        count, log = self._node.count_publishers, self._node.get_logger()

        def tell() -> None:
            so_far, whole = (ns / SECOND_NS for ns in (run.states.newest_ns - start_ns, duration_ns))
            so_far = min(max(so_far, 0.0), whole)  # what comes after the motion is recorded, too
            log.info(f"recorded {so_far:.1f} s of the motion's {whole:.1f} s")

        steady_timer(self._node, TELL_PERIOD, tell)
        self._spin_until(
            lambda: run.over(time.monotonic(), {name: count(name) for name in (STATES, COMMANDS)})
        )
        if run.failed:
            self._spin_until(lambda: False, STATUS_GRACE)
        run.judge()
        outcome = "the controller says finished" if run.finished else "the controller says nothing of it"
        log.info(
            f"the whole motion of {duration_ns / SECOND_NS:.3f} s is in the bag {self.bag.path}: "
            f"{self.bag.written} messages; {outcome}"
        )

    def _await_others(self, publisher: Any) -> None:
        # states that wait to be taken are behind /clock
        self._spin_until(
            lambda: not self._missing(publisher) and (not self._simulated or self._in_time()), self._timeout
        )
        if what := self._missing(publisher):
            raise RecordingError(
                f"{what} after {self._timeout:g} s; start the controller and the robot first, with the same "
                "ROS_DOMAIN_ID and namespace",
                "nothing_received",
                missing=what,
            )
        if not self._in_time():
            stamp, now = self._run.states.newest_ns / SECOND_NS, self._now_ns() / SECOND_NS
            clock, advice = "the clock here", "set use_sim_time here as in the controller, or fix"
            if self._simulated:
                clock, advice = "/clock", "leave use_sim_time out here if the controller has none, or fix"
            raise RecordingError(
                f"{STATES} is stamped {stamp:.3f} s, and {clock} shows {now:.3f} s; {advice} the robot's "
                "stamps",
                "other_clock",
                simulated=self._simulated,
            )

    def _in_time(self) -> bool:
        """Whether the newest state is of about now by this node's clock."""
        return abs(self._run.states.newest_ns - self._now_ns()) <= LARGEST_OFFSET * SECOND_NS

    def _missing(self, publisher: Any) -> str:
        """What the trajectory still has to wait for; empty when nothing."""
        if not self._now_ns():
            return "use_sim_time is true, and no time came on /clock"
        silent = [name for name in (STATES, COMMANDS) if name not in self._newest]
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
        self._spin_until(future.done, SERVICE_TIMEOUT)
        result = future.result() if future.done() else None
        return result is not None and all(each.successful for each in result.results)

    def _now_ns(self) -> int:
        return int(self._node.get_clock().now().nanoseconds)

    def _spin_until(self, over: Callable[[], bool], longest: float = math.inf) -> None:
        """Serve callbacks until ``over``, asked at least every 50 ms, says so, or for ``longest`` [s]."""
        end = time.monotonic() + longest
        while not over() and time.monotonic() < end:
            if self._stopped():
                bag = self.bag.path
                message = "stopped by a signal before the trajectory ended; "
                message += f"the bag {bag} stops there" if bag.exists() else "nothing was recorded"
                if self._label:
                    message += (
                        "; the controller follows the trajectory to its end: one without points stops it"
                    )
                raise RecordingError(message, "stopped")
            self._update_subscriptions()
            self._executor.spin_once(timeout_sec=0.05)

    # What comes, and the bag

    def _in_bag(self, name: str) -> str:
        return self._node.resolve_topic_name(name).removeprefix(self._prefix)

    def _update_subscriptions(self) -> None:
        """Subscribe to topics that have publishers by now, and again where a less reliable one joined."""
        if time.monotonic() < self._next_update:
            return
        self._next_update = time.monotonic() + DISCOVERY_PERIOD
        for name in TOPICS:
            current, reliable = self._subscriptions.get(name), name not in self._unreliable
            if current is not None:
                if reliable or current.qos_profile.reliability != ReliabilityPolicy.RELIABLE:
                    continue
                self._node.destroy_subscription(current)
            elif name not in LATCHED:
                offers = self._node.get_publishers_info_by_topic(self._node.resolve_topic_name(name))
                if not offers:
                    continue
                reliable = all(o.qos_profile.reliability == ReliabilityPolicy.RELIABLE for o in offers)
            self._subscriptions[name] = self._subscribe(name, reliable)

    def _subscribe(self, name: str, reliable: bool) -> "Subscription[Any]":
        callbacks = SubscriptionEventCallbacks(use_default_callbacks=False)
        callbacks.incompatible_qos = lambda _: self._unreliable.add(name)
        latched, in_bag = name in LATCHED, self._in_bag(name)

        def receive(data: bytes) -> None:
            now_ns = self._now_ns()
            self._newest[name] = data
            self._run.came(name, now_ns, time.monotonic())
            if name == STATES:
                state = deserialize_message(data, JointState)
                stamp_ns = nanoseconds_of(state.header.stamp) or now_ns
                self._run.states.take(state.name, stamp_ns)
            elif name == STATUS:
                values = values_of(deserialize_message(data, DiagnosticStatus))
                if self._label and values.get("frame_id") == self._label:
                    self._run.outcome = values
            self.bag.write(in_bag, now_ns, data)

        qos = QoSProfile(
            depth=QUEUE_DEPTH,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
            reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        )
        return self._node.create_subscription(
            TOPICS[name], name, receive, qos, raw=True, event_callbacks=callbacks
        )


def description_to_publish(path: str, xacro_arguments: str, joint_names: Sequence[str]) -> str:
    """The URDF's text, expanded; empty where none is asked for.

    Raises ``KaneDynamicsError`` where it cannot be read or expanded, or lacks a joint of the trajectory.
    """
    if not path:
        return ""
    text = urdf_of_arguments(path, xacro_arguments)
    known = {joint.name for joint in parse_robot(text, path).joints}
    if unknown := [name for name in joint_names if name not in known]:
        raise RecordingError(
            f"{path} has no {named('joint', unknown)}, which the trajectory moves: it is another robot's; "
            "nothing was published",
            "other_robot",
            joints=tuple(unknown),
        )
    return text


def same_description(one: str, other: str) -> bool:
    """Whether two URDFs are the same but for white space, comments and the order of attributes."""
    if one == other:
        return True
    try:
        return canonicalize(one, strip_text=True) == canonicalize(other, strip_text=True)
    except (ParseError, ValueError):  # one of them is no XML
        return False


def record(node: Node, stopped: Callable[[], bool]) -> None:
    """The whole run. Raises ``KaneDynamicsError``; what was recorded until then is readable."""
    declare(node, PARAMETERS)
    options = read(node, PARAMETERS)
    for each in PARAMETERS:
        if each.name in REQUIRED and not options[each.name]:
            message = (
                f"parameter {each.name!r} is missing; give it with -p {each.name}:=... ({each.description})"
            )
            raise RecordingError(message, "missing_parameter", name=each.name)
    trajectory = read_trajectory(Path(options["trajectory"]))
    path = options[DESCRIPTION]
    description = description_to_publish(path, options["xacro_arguments"], trajectory.names)
    recorder = Recorder(node, options, stopped)
    try:
        if description:
            recorder.describe(description, path)
        recorder.drive(trajectory)
    finally:
        recorder.bag.close()


def main(args: list[str] | None = None) -> int:
    """Run the node; returns the exit code."""
    stop = StopRequest()
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # rclpy's, of ROS arguments that cannot be read
        print(f"error: {error}", file=sys.stderr)
        return 1
    node = rclpy.create_node("trajectory_recorder")
    try:
        record(node, lambda: stop.made)
        return 0
    except KaneDynamicsError as error:
        print(f"error: {error}", file=sys.stderr)
    except OSError as error:
        print(f"error: {path_error(error) if error.filename else error}", file=sys.stderr)
    except ExternalShutdownException:
        pass
    finally:
        ignore_signals()
        node.destroy_node()
        rclpy.try_shutdown()
    return 1


if __name__ == "__main__":
    sys.exit(main())
