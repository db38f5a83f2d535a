"""The recorder against a robot and a controller that only pretend: what it sends, and what is in the bag."""

import json
import os
import subprocess
import sys
import time

import pytest
from own_domain import own_domain

rclpy = pytest.importorskip("rclpy", reason="the nodes need ROS 2")

from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rosbags.highlevel import AnyReader
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

TRAJECTORY = {
    "joint_names": ["a", "b"],
    "points": [
        {
            "positions": [0.1, 0.2],
            "velocities": [0.0, 0.0],
            "accelerations": [0.0, 0.0],
            "time_from_start": {"sec": 0, "nanosec": 500_000_000},
        }
    ],
}


class Pretender(Node):
    """Publishes joint states and commands at 50 Hz and keeps every trajectory that comes."""

    def __init__(self, context):
        super().__init__("pretender", context=context)
        self.trajectories = []
        self._states = self.create_publisher(JointState, "joint_states", 1)
        self._commands = self.create_publisher(Float64MultiArray, "forward_effort_controller/commands", 1)
        self.create_subscription(JointTrajectory, "joint_trajectory", self.trajectories.append, 1)
        self.create_timer(0.02, self.publish)

    def publish(self):
        stamp = self.get_clock().now().to_msg()
        state = JointState(name=["a", "b"], position=[0.1, 0.2])
        state.header.stamp = stamp
        self._states.publish(state)
        self._commands.publish(Float64MultiArray(data=[1.0, 2.0]))


@pytest.fixture
def domain(monkeypatch):
    """A DDS domain of our own that does not leave this machine."""
    number = own_domain()
    monkeypatch.setenv("ROS_DOMAIN_ID", str(number))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    return number


def run_recorder(tmp_path, pretender_executor=None, **parameters):
    """The recorder as a process, while the pretender is served; returns exit code and standard error."""
    trajectory = tmp_path / "trajectory.yaml"
    trajectory.write_text(json.dumps(TRAJECTORY))
    words = {"trajectory": trajectory, "bag": tmp_path / "bag", **parameters}
    settings = [word for name, value in words.items() for word in ("-p", f"{name}:={value}")]
    command = [sys.executable, "-m", "kane_dynamics_ros.nodes.trajectory_recorder_node", "--ros-args"]
    process = subprocess.Popen([*command, *settings], env=os.environ, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30.0
    try:
        while process.poll() is None and time.monotonic() < deadline:
            if pretender_executor:
                pretender_executor.spin_once(timeout_sec=0.02)
            else:
                time.sleep(0.02)
    finally:
        process.kill()
    return process.wait(), process.communicate()[1]


def read(bag):
    """Messages of a bag by topic."""
    found = {}
    with AnyReader([bag]) as reader:
        for connection, _, data in reader.messages():
            found.setdefault(connection.topic, []).append(reader.deserialize(data, connection.msgtype))
    return found


@pytest.fixture
def pretender(domain):
    context = Context()
    rclpy.init(context=context)
    node = Pretender(context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    yield node, executor
    node.destroy_node()
    rclpy.shutdown(context=context)


def test_trajectory_is_sent_once_and_everything_is_in_the_bag(tmp_path, pretender):
    node, executor = pretender
    description = tmp_path / "robot.urdf"
    description.write_text("<robot name='r'/>")
    assert run_recorder(tmp_path, executor, robot_description=description, settle_time=0.1) == (0, "")

    (sent,) = node.trajectories
    assert list(sent.joint_names) == ["a", "b"]
    assert [list(point.positions) for point in sent.points] == [[0.1, 0.2]]
    assert (sent.points[0].time_from_start.sec, sent.points[0].time_from_start.nanosec) == (0, 500_000_000)

    recorded = read(tmp_path / "bag")
    start = sent.header.stamp.sec + 1e-9 * sent.header.stamp.nanosec
    stamps = [m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in recorded["/joint_states"]]
    assert stamps[0] < start
    assert stamps[-1] > start + 0.5  # to the last point and beyond
    assert len(recorded["/joint_trajectory"]) == 1
    assert list(recorded["/forward_effort_controller/commands"][0].data) == [1.0, 2.0]
    assert [message.data for message in recorded["/robot_description"]] == ["<robot name='r'/>"]


def test_recorder_says_what_is_missing_when_nobody_is_there(tmp_path, domain):
    code, error = run_recorder(tmp_path, timeout=0.5)
    assert code == 1
    assert error == (
        "error: nothing came on joint_states and forward_effort_controller/commands after 0.5 s; start the "
        "controller and the robot first, with the same ROS_DOMAIN_ID and namespace\n"
    )


def test_recorder_refuses_a_file_that_is_no_trajectory(tmp_path, domain):
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("points: []")
    code, error = run_recorder(tmp_path, trajectory=wrong)
    assert code == 1
    assert error == f"error: {wrong}: joint_names: found NoneType; allowed: a list\n"


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("trajectory", "YAML file with a JointTrajectory, as ros2 topic pub takes it"),
        ("bag", "directory of the bag to write; must not exist"),
    ],
)
def test_recorder_says_which_parameter_is_missing(tmp_path, domain, name, what):
    assert run_recorder(tmp_path, **{name: "''"}) == (
        1,
        f"error: parameter {name!r} is missing; give it with -p {name}:=... ({what})\n",
    )


def test_recorder_does_not_overwrite_a_bag(tmp_path, domain):
    (tmp_path / "bag").mkdir()
    assert run_recorder(tmp_path) == (
        1,
        f"error: {tmp_path / 'bag'}: exists already, and is not overwritten; name another directory for the "
        "bag\n",
    )
