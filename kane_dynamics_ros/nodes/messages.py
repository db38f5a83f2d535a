"""Between ROS messages and the plain values of the control room."""

from array import array
from collections.abc import Sequence

from builtin_interfaces.msg import Duration
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from kane_dynamics_ros.control.request import RequestPoint, TrajectoryRequest

NANOSECONDS = 1_000_000_000


def request_from(message: JointTrajectory) -> TrajectoryRequest:
    """A trajectory message as a request, unchecked."""
    stamp = message.header.stamp
    points = tuple(_point(each) for each in message.points)
    return TrajectoryRequest(tuple(message.joint_names), points, stamp.sec * NANOSECONDS + stamp.nanosec)


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
