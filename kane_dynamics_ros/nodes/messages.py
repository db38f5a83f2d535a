"""Between ROS messages and the plain values of the control room, and the topics' qualities of service."""

from array import array
from collections.abc import Callable, Sequence
from typing import Any

from builtin_interfaces.msg import Duration
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.qos import DurabilityPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from kane_dynamics_ros.control.validation import RequestPoint, TrajectoryRequest
from kane_dynamics_ros.nodes.clocks import NANOSECONDS

# Between ROS messages and the plain values of the control room.


def request_from(message: JointTrajectory) -> TrajectoryRequest:
    """A trajectory message as a request, unchecked."""
    stamp = message.header.stamp
    points = tuple(_point(each) for each in message.points)
    stamp_ns = stamp.sec * NANOSECONDS + stamp.nanosec
    return TrajectoryRequest(tuple(message.joint_names), points, stamp_ns, message.header.frame_id)


def trajectory_from(request: TrajectoryRequest, frame_id: str) -> JointTrajectory:
    """A request as a message."""
    message = JointTrajectory(joint_names=list(request.names))
    message.header.frame_id = frame_id
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(request.stamp_ns, NANOSECONDS)
    message.points = [_point_message(point) for point in request.points]
    return message


def _point(message: JointTrajectoryPoint) -> RequestPoint:
    time = message.time_from_start
    return RequestPoint(
        time.sec * NANOSECONDS + time.nanosec,
        message.positions,
        message.velocities,
        message.accelerations,
        message.effort,
    )


def _point_message(point: RequestPoint) -> JointTrajectoryPoint:
    seconds, nanoseconds = divmod(point.time_ns, NANOSECONDS)
    return JointTrajectoryPoint(
        positions=_doubles(point.positions),
        velocities=_doubles(point.velocities),
        accelerations=_doubles(point.accelerations),
        effort=_doubles(point.effort),
        time_from_start=Duration(sec=seconds, nanosec=nanoseconds),
    )


def _doubles(values: Sequence[float]) -> "array[float]":
    return array("d", values)


# Qualities of service of our topics, and a log line when a neighbour's are incompatible.


JOINT_STATES = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)  # several publishers at once
COMMANDS = QoSProfile(depth=1)
TRAJECTORY = QoSProfile(depth=10)  # several may come at once, with stamps one after the other
OUTPUT = QoSProfile(depth=1)
STATUS = QoSProfile(
    depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL
)  # a sender that joins late knows too
ROBOT_DESCRIPTION = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


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
