"""What the nodes share of their topics: qualities of service, times and trajectories as messages."""

from array import array
from collections.abc import Callable
from typing import Any

from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.qos import DurabilityPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from kane_dynamics_ros.control.validation import FIELDS, SECOND_NS, RequestPoint, TrajectoryRequest

COMMAND_TOPIC = "forward_effort_controller/commands"

JOINT_STATES_QOS = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)  # of several publishers
COMMANDS_QOS = QoSProfile(depth=1)
TRAJECTORY_QOS = QoSProfile(depth=10)  # several may come at once, with stamps one after the other
OUTPUT_QOS = QoSProfile(depth=1)
BURST_QOS = QoSProfile(depth=1000)  # one for each state: a recorder on a busy machine can still get them
STATUS_QOS = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)  # for senders that join late
LATCHED_QOS = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)  # the newest, for late ones


def subscription_events(logger: RcutilsLogger, topic: str) -> SubscriptionEventCallbacks:
    """Say which policy keeps a publisher's messages from us."""
    callbacks = SubscriptionEventCallbacks(use_default_callbacks=False)
    callbacks.incompatible_qos = _reporter(logger, f"a publisher of {topic!r} offers", "no messages from it")
    return callbacks


def publisher_events(logger: RcutilsLogger, topic: str) -> PublisherEventCallbacks:
    """Say which policy keeps our messages from a subscriber."""
    callbacks = PublisherEventCallbacks(use_default_callbacks=False)
    callbacks.incompatible_qos = _reporter(logger, f"a subscriber of {topic!r} asks for", "no messages to it")
    return callbacks


def _reporter(logger: RcutilsLogger, who: str, effect: str) -> Callable[[Any], None]:
    def report(event: Any) -> None:
        policy = QoSPolicyKind(event.last_policy_kind).name.lower()
        logger.warning(f"{who} an incompatible quality of service: {effect}; policy: {policy}")

    return report


def type_name(message: Any) -> str:
    """``std_msgs/msg/String`` for the class of that message."""
    return f"{message.__module__.partition('.')[0]}/msg/{message.__name__}"


# Times


def nanoseconds_of(time: Any) -> int:
    """A ``Time`` or ``Duration`` message in nanoseconds."""
    return int(time.sec * SECOND_NS + time.nanosec)


def set_nanoseconds(time: Any, nanoseconds: int) -> None:
    """Write nanoseconds into a ``Time`` or ``Duration`` message."""
    time.sec, time.nanosec = divmod(nanoseconds, SECOND_NS)


# Trajectories


def request_from(message: JointTrajectory) -> TrajectoryRequest:
    """A trajectory message as a request, unchecked."""
    points = tuple(_point(each) for each in message.points)
    header = message.header
    return TrajectoryRequest(
        tuple(message.joint_names), points, nanoseconds_of(header.stamp), header.frame_id
    )


def trajectory_from(request: TrajectoryRequest, frame_id: str) -> JointTrajectory:
    """A request as a message."""
    message = JointTrajectory(joint_names=list(request.names))
    message.header.frame_id = frame_id
    set_nanoseconds(message.header.stamp, request.stamp_ns)
    message.points = [_point_message(point) for point in request.points]
    return message


def _point(message: JointTrajectoryPoint) -> RequestPoint:
    values = (message.positions, message.velocities, message.accelerations, message.effort)
    return RequestPoint(nanoseconds_of(message.time_from_start), *values)


def _point_message(point: RequestPoint) -> JointTrajectoryPoint:
    message = JointTrajectoryPoint(**{field: array("d", getattr(point, field)) for field in FIELDS})
    set_nanoseconds(message.time_from_start, point.time_ns)
    return message
