"""Send one trajectory to a running controller and record what it does, in a rosbag2 bag.

For where there is no ``ros2 topic pub`` and no ``ros2 bag record``, and for runs that must start and end
by themselves. It waits until the robot's states and commands flow, sends the trajectory with an absolute
start time, records until it has ended, and exits: 0 when the bag is complete, 1 when something is missing.
"""

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSDurabilityPolicy, QoSProfile
from rclpy.serialization import deserialize_message
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics_ros.control.trajectory_file import read_trajectory
from kane_dynamics_ros.errors import KaneDynamicsError, PathError
from kane_dynamics_ros.nodes.bag_recorder import BagRecorder, Topic
from kane_dynamics_ros.nodes.messages import trajectory_from
from kane_dynamics_ros.nodes.parameters import Declaration, declare, read

NEEDED = ("trajectory", "bag")
STATES, COMMANDS = "joint_states", "forward_effort_controller/commands"
TOPICS = (
    Topic(STATES, JointState),
    Topic(COMMANDS, Float64MultiArray),
    Topic("joint_trajectory", JointTrajectory),
    Topic("feedforward_node/feedforward", JointState),
    Topic("robot_description", String, latched=True),
    Topic("/diagnostics", DiagnosticArray),
)


class SilenceError(KaneDynamicsError):
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


PARAMETERS = (
    Declaration("trajectory", "text", "", "YAML file with a JointTrajectory, as ros2 topic pub takes it"),
    Declaration("bag", "text", "", "directory of the bag to write; must not exist"),
    Declaration("robot_description", "text", "", "URDF file to publish on robot_description; empty: none"),
    Declaration("lead_time", "number", 0.5, "from sending the trajectory to its start", "s", 0.0, 60.0),
    Declaration("settle_time", "number", 0.5, "recorded after the last point", "s", 0.0, 3600.0),
    Declaration(
        "timeout", "number", 20.0, "how long to wait for the robot and the controller", "s", 0.0, 3600.0
    ),
)


def check_given(options: Mapping[str, Any]) -> None:
    """Raise ``MissingParameterError`` for what has to be given and was not."""
    for declaration in PARAMETERS:
        if declaration.name in NEEDED and not options[declaration.name]:
            raise MissingParameterError(declaration.name, declaration.description)


def publish_description(node: Node, path: Path) -> None:
    """Publish a URDF's text as robot_state_publisher does: reliable, transient local."""
    qos = QoSProfile(depth=1, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)
    node.create_publisher(String, "robot_description", qos).publish(String(data=path.read_text("utf-8")))


def what_is_missing(recorder: BagRecorder, publisher: "Publisher[JointTrajectory]") -> str:
    """What the trajectory still has to wait for; empty when nothing."""
    silent = [name for name in (STATES, COMMANDS) if not recorder.heard(name)]
    if silent:
        return f"nothing came on {' and '.join(silent)}"
    return "" if publisher.get_subscription_count() > 1 else "no controller listens to joint_trajectory"


def spin_until(executor: Executor, over: Callable[[], bool]) -> None:
    """Serve callbacks until ``over`` says so; it is asked at least every 50 ms."""
    while not over():
        executor.spin_once(timeout_sec=0.05)


def record(node: Node, executor: Executor, options: Mapping[str, Any]) -> None:
    """Wait for the others, send the trajectory, and record until it has ended."""
    check_given(options)
    trajectory = trajectory_from(read_trajectory(Path(options["trajectory"])), "")
    with BagRecorder(node, Path(options["bag"]), TOPICS) as recorder:
        if options["robot_description"]:
            publish_description(node, Path(options["robot_description"]))
        publisher = node.create_publisher(JointTrajectory, "joint_trajectory", 1)
        await_others(executor, lambda: what_is_missing(recorder, publisher), options["timeout"])
        start = node.get_clock().now() + Duration(seconds=options["lead_time"])
        trajectory.header.stamp = start.to_msg()
        publisher.publish(trajectory)
        end = end_of(trajectory, start) + Duration(seconds=options["settle_time"])
        latest = end + Duration(seconds=options["timeout"])  # for robots that stop, or do not stamp
        spin_until(executor, lambda: last_stamp(recorder) > end or node.get_clock().now() > latest)


def await_others(executor: Executor, missing: Callable[[], str], timeout: float) -> None:
    """Serve callbacks until nothing is missing. Raises when that takes longer than the timeout [s]."""
    deadline = time.monotonic() + timeout
    spin_until(executor, lambda: not missing() or time.monotonic() > deadline)
    if what := missing():
        raise SilenceError(what, timeout)


def last_stamp(recorder: BagRecorder) -> Time:
    """The stamp of the newest recorded state; the node's clock may be ahead of what waits to be written."""
    state = deserialize_message(recorder.last(STATES), JointState)
    return Time.from_msg(state.header.stamp, clock_type=ClockType.ROS_TIME)


def end_of(trajectory: JointTrajectory, start: Time) -> Time:
    """When the last point is due; without points, which means stop, at once."""
    points = trajectory.points
    return start + Duration.from_msg(points[-1].time_from_start) if points else start


def main(args: list[str] | None = None) -> int:
    """Run the node; returns the exit code."""
    rclpy.init(args=args)
    node = rclpy.create_node("trajectory_recorder")
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        declare(node, PARAMETERS)
        record(node, executor, read(node, PARAMETERS))
        return 0
    except KaneDynamicsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {PathError(error) if error.filename else error}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, ExternalShutdownException):
        return 1
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == "__main__":
    sys.exit(main())
