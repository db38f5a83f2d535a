"""FollowJointTrajectory with rclpy's own client, the node and the simulated arm as processes, over DDS."""

import os
import subprocess
import sys
import time

import pytest

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

import motion_action
from action_msgs.msg import GoalStatus
from compilers import CPP_COMPILERS
from diagnostic_msgs.msg import DiagnosticStatus
from feedforward_lab import ABSOLUTE, MODEL, SPACE, TOLD, Lab, trajectory
from rclpy.action import ActionClient

from kane_dynamics_ros.nodes.messages import values_of

pytestmark = pytest.mark.skipif(not CPP_COMPILERS, reason="no C and C++ compiler on this machine")
HOME = [joint.initial_position or 0.0 for joint in MODEL.joints]
DURATION = 0.4  # [s]
STEP = 0.02  # [rad] the motion of a goal
LATER = 1.0 + 0.05 / DURATION  # 50 ms
GOALS = 30  # at most, until one was not held up by other work on the machine
CONTROL_MSGS = "from motion_test.action import FollowJointTrajectory\n"
BARE_SERVER = """
import sys, time, rclpy
from rclpy.action import ActionServer
from control_msgs.action import FollowJointTrajectory

def execute(goal):
    time.sleep(float(sys.argv[1]))
    goal.succeed()
    return FollowJointTrajectory.Result()

rclpy.init()
node = rclpy.create_node("bare_server")
server = ActionServer(node, FollowJointTrajectory, "~/follow_joint_trajectory", execute)
rclpy.spin(node)
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """A folder with an action of control_msgs' name and shape."""
    folder = motion_action.build(tmp_path_factory.mktemp("packages"))
    stand_in = folder / "control_msgs" / "action"
    stand_in.mkdir(parents=True)
    (stand_in.parent / "__init__.py").touch()
    (stand_in / "__init__.py").write_text(CONTROL_MSGS)
    return folder


@pytest.fixture(scope="module")
def action(packages):
    sys.path.insert(0, str(packages))
    from motion_test.action import FollowJointTrajectory

    yield FollowJointTrajectory
    sys.path.remove(str(packages))


class Client:
    """Sends goals to a server and waits for what comes."""

    def __init__(self, lab, action, server):
        self.lab, self.action = lab, action
        self.feedback = []
        self._client = ActionClient(lab.node, action, f"{server}/follow_joint_trajectory")
        self.close = self._client.destroy  # the node does not: it would be left to the garbage collector
        lab.wait_for(self._client.server_is_ready)

    def send(self, message):
        """The goal's handle."""
        future = self._client.send_goal_async(
            self.action.Goal(trajectory=message),
            feedback_callback=lambda each: self.feedback.append(each.feedback),
        )
        self.lab.wait_for(future.done)
        return future.result()

    def result(self, handle):
        """Status and result, as soon as they come."""
        future = handle.get_result_async()
        self.lab.wait_for(future.done)
        return future.result()


@pytest.fixture(scope="module")
def running(packages, action, ros_domain, tmp_path_factory):
    """The lab, a client of the node, which is active, and one of a bare server of rclpy's."""
    environment = os.environ | {"ROS_DOMAIN_ID": str(ros_domain), "PYTHONPATH": str(packages)}
    common = ["--ros-args", *ABSOLUTE, "-r", f"__ns:={SPACE}"]
    commands = (
        ["-m", "kane_dynamics_ros.nodes.feedforward_node", *common, "-p", "safety.state_timeout:=2.0"],
        ["-m", "kane_dynamics_ros.nodes.simulated_hardware_node", *common, "-p", "publish_rate:=200.0"],
        ["-c", BARE_SERVER, str(DURATION), *common],
    )
    started = [subprocess.Popen([sys.executable, *words], env=environment) for words in commands]
    lab, clients = Lab(ros_domain), []
    try:
        for server in ("feedforward_node", "bare_server"):
            clients.append(Client(lab, action, server))
        lab.wait_for(lambda: lab.commands)
        yield lab, *clients
    finally:
        for each in (*clients, lab):
            each.close()
        for process in started:
            process.kill()
            process.wait()


def motion(sign, duration=DURATION, **more):
    """From where the arm stands by ``STEP``, or back."""
    there = [q + (STEP if sign > 0 else 0.0) for q in HOME]
    return trajectory((duration, there, [0.0] * len(HOME)), **more)


def test_the_result_comes_at_the_end_as_a_bare_servers_does(running):
    _, ours, bare = running
    took = {ours: [], bare: []}
    for k in range(GOALS):
        for client in (ours, bare):
            begin = time.monotonic()
            handle = client.send(motion((-1) ** k))
            assert handle.accepted
            result = client.result(handle)
            took[client].append(time.monotonic() - begin)
            assert result.status == GoalStatus.STATUS_SUCCEEDED
        if in_time := min(took[ours]) < LATER * min(took[bare]):
            break
    assert in_time
    moved = [each for each in ours.feedback if each.desired.time_from_start.nanosec > 0]
    assert moved
    assert all(each.header.stamp.sec > 0 for each in moved)
    times = [each.actual.time_from_start.sec + 1e-9 * each.actual.time_from_start.nanosec for each in moved]
    assert max(times) < max(took[ours])  # from the start of its own trajectory


def test_a_cancelled_goal_ends_at_once(running):
    lab, ours, _ = running
    handle = ours.send(motion(+1, duration=30.0))
    lab.spin(0.2)
    begin = time.monotonic()
    cancelled = handle.cancel_goal_async()
    result = ours.result(handle)
    assert result.status == GoalStatus.STATUS_CANCELED
    assert time.monotonic() - begin < DURATION  # the whole of a short goal; the trajectory has 30 s
    lab.wait_for(cancelled.done)
    assert len(cancelled.result().goals_canceling) == 1


def test_goals_and_trajectories_are_taken_in_the_order_in_which_they_come(running):
    lab, ours, _ = running
    handle = ours.send(motion(+1, duration=30.0))
    lab.trajectories.publish(motion(-1, duration=DURATION))
    result = ours.result(handle)
    assert result.status == GoalStatus.STATUS_ABORTED
    assert "replaced" in result.result.error_string
    later = ours.send(motion(-1))
    assert ours.result(later).status == GoalStatus.STATUS_SUCCEEDED


def wrong(kind):
    """A goal that joint_trajectory_controller rejects, labelled with its kind."""
    message = motion(+1)
    message.header.frame_id = kind
    first = message.points[0]
    if kind == "unknown":
        message.joint_names[0] = "elbow"
    elif kind == "missing":
        message.joint_names = message.joint_names[1:]
        first.positions, first.velocities = first.positions[1:], first.velocities[1:]
    elif kind == "empty":
        message.points = []
    elif kind == "past":
        message.header.stamp.sec = 1
    elif kind == "not increasing":
        message.points = [first, first]
    else:
        first.velocities = first.velocities[1:]
    return message


@pytest.mark.parametrize("kind", ["unknown", "missing", "empty", "past", "not increasing", "wrong length"])
def test_a_goal_that_cannot_be_followed_is_rejected_with_the_reason_on_the_status_topic(running, kind):
    lab, ours, _ = running
    told = lab.listen(DiagnosticStatus, "feedforward_node/trajectory_status", TOLD)
    assert not ours.send(wrong(kind)).accepted
    lab.wait_for(lambda: any(values_of(each)["frame_id"] == kind for each in told))
    [answer] = [each for each in told if values_of(each)["frame_id"] == kind]
    assert answer.message.startswith("refused: ")
