"""``kane_dynamics send``: waits for the subscriber, tells what becomes of the trajectory, with exit codes."""

import math
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

rclpy = pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics_ros.cli.send import pub_command
from kane_dynamics_ros.nodes.messages import STATUS_QOS, TRAJECTORY_QOS
from kane_dynamics_ros.nodes.trajectory_sender import INTERRUPTED, STATUS

TRAJECTORY = "{joint_names: [a, b], points: [{positions: [0.5, -1.0], time_from_start: {sec: 2}}]}"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "trajectory.yaml"
    path.write_text(TRAJECTORY)
    return path


@pytest.fixture
def controller(ros_domain):
    """Starts a node that answers each trajectory with these states, as the controller does; None: silent."""
    context = Context()
    context.init(domain_id=ros_domain)
    executor = SingleThreadedExecutor(context=context)
    thread = threading.Thread(target=executor.spin)
    received = []

    def start(answers, namespace=""):
        node = Node("feedforward_node", context=context, namespace=namespace)
        status = None
        if answers is not None:
            status = node.create_publisher(DiagnosticStatus, STATUS, STATUS_QOS)

        def take(message):
            received.append(message)
            for frame_id, state, reason, *code in answers or ():
                values = {"state": state, "reason": reason, "frame_id": frame_id or message.header.frame_id}
                values["code"] = "".join(code)
                status.publish(DiagnosticStatus(values=[KeyValue(key=k, value=v) for k, v in values.items()]))

        node.create_subscription(JointTrajectory, "joint_trajectory", take, TRAJECTORY_QOS)
        executor.add_node(node)
        thread.start()
        return received

    yield start
    nodes = executor.get_nodes()
    executor.shutdown()
    thread.join()
    for node in nodes:
        node.destroy_node()
    context.shutdown()


@pytest.fixture
def watcher(ros_domain):
    """A node that sees what others are on the domain."""
    context = Context()
    context.init(domain_id=ros_domain)
    node = Node("watcher", context=context)
    yield node
    node.destroy_node()
    context.shutdown()


def send(*words):
    command = [sys.executable, "-m", "kane_dynamics_ros", "send", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_trajectory_that_is_finished_ends_with_0_and_others_reports_are_not_taken_for_ours(
    controller, file, tmp_path, monkeypatch
):
    (tmp_path / "ros2").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    answers = [("", "accepted", "takes 2.000 s"), ("another", "dropped", "no"), ("", "finished", "reached")]
    received = controller(answers)
    done = send(file)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"the same without an answer: {pub_command(file, '')}",
        "sent on /joint_trajectory",
        "accepted: takes 2.000 s",
        "finished: reached",
    ]
    (message,) = received
    assert list(message.joint_names) == ["a", "b"]
    assert list(message.points[0].positions) == [0.5, -1.0]


def test_a_controller_that_waits_for_states_is_asked_again(controller, file):
    class Answers(list):
        """Refusals until the second trajectory, or always."""

        ready = 2

        def __iter__(self):
            good = len(received) >= self.ready
            yield ("", "finished", "reached") if good else ("", "refused", "not yet", "no_state")

    answers = Answers([None])
    received = controller(answers)
    done = send(file)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "finished: reached")
    assert len(received) == 2
    answers.ready = math.inf
    refused = send(file, "--timeout", "3")
    assert (refused.returncode, refused.stdout.splitlines()[-1]) == (1, "refused: not yet")


@pytest.mark.parametrize("state", ["refused", "dropped"])
def test_a_trajectory_that_is_not_followed_ends_with_1_and_the_reason(controller, file, state):
    controller([("", state, "joint 'a' is too fast")], namespace="/arm")
    done = send(file, "--namespace", "/arm")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == f"{state}: joint 'a' is too fast"


def test_a_namespace_that_ros_refuses_is_told_with_2(file):
    done = send(file, "--namespace", "a b")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "'/a b'" in done.stderr


def test_a_subscriber_that_does_not_tell_is_sent_to_and_named_as_one(controller, file):
    received = controller(None)
    done = send(file)
    assert done.returncode == 0
    assert "does not tell" in done.stdout
    assert len(received) == 1


def test_nobody_who_listens_ends_with_2(ros_domain, file):
    done = send(file, "--timeout", "0.5")
    assert done.returncode == 2
    assert "nobody listens on /joint_trajectory after 0.5 s" in done.stderr


def test_ctrl_c_while_it_waits_ends_it_without_a_traceback(watcher, file):
    command = [sys.executable, "-m", "kane_dynamics_ros", "send", str(file), "--timeout", "60"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not watcher.count_publishers("joint_trajectory"):
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate()
    assert (process.returncode, errors) == (INTERRUPTED, "")


@pytest.mark.parametrize("answers", [[("", "accepted", "takes 600 s")], []])
def test_ctrl_c_once_it_was_sent_says_that_the_controller_goes_on(controller, file, answers):
    received = controller(answers)
    command = [sys.executable, "-m", "kane_dynamics_ros", "send", str(file), "--timeout", "60"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not received:
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == INTERRUPTED
    assert errors == (
        "interrupted; the controller goes on: a trajectory without points on /joint_trajectory stops it\n"
    )
