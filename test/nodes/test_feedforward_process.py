"""feedforward_node as a process over DDS: what comes in, what goes out, and how it ends."""

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from own_domain import own_domain

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from feedforward_lab import (
    BEST_EFFORT,
    MODEL,
    NAMES,
    PATIENT,
    RELIABLE,
    STILL,
    TOLD,
    FeedforwardProcess,
    Lab,
    Q,
    trajectory,
)
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics_ros.nodes.messages import values_of

GRAVITY = MODEL.gravity(Q)
ROUNDING = 1e-9  # [N m]


@pytest.fixture(scope="module")
def shared(tmp_path_factory, ros_domain):
    """One node for the tests that leave it as they found it."""
    node = FeedforwardProcess(tmp_path_factory.mktemp("node") / "log", ros_domain, *PATIENT, *STILL)
    lab = Lab(ros_domain)
    try:
        lab.wait_until_commanding()
        yield node, lab
    finally:
        lab.close()
        node.kill()


@pytest.fixture
def lab(shared):
    shared[1].hold(0.05)
    shared[1].commands.clear()
    return shared[1]


def test_it_imports_neither_sympy_nor_scipy():
    code = (
        "import sys, kane_dynamics_ros.nodes.feedforward_node; print({'sympy', 'scipy'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"


def test_it_is_active_at_a_small_multiple_of_the_processor_time_of_a_node_that_does_nothing(tmp_path):
    domain = own_domain()
    bare = "import time, numpy, rclpy; rclpy.init(); rclpy.create_node('bare'); print(time.process_time())"
    least = float(subprocess.run([sys.executable, "-c", bare], capture_output=True, check=True).stdout)
    node = FeedforwardProcess(tmp_path / "log", domain)
    lab = Lab(domain)
    try:
        lab.wait_until_commanding()
        with open(f"/proc/{node.process.pid}/stat") as stat:
            user, system = stat.read().rsplit(")", 1)[1].split()[11:13]
        assert (int(user) + int(system)) / os.sysconf("SC_CLK_TCK") < 5.0 * least  # 3 was measured
    finally:
        lab.close()
        node.kill()


def test_a_state_is_answered_with_the_effort_that_holds_it(lab):
    lab.wait_for(lambda: len(lab.commands) > 5, lab.send)
    np.testing.assert_allclose(lab.commands, np.tile(GRAVITY, (len(lab.commands), 1)), atol=ROUNDING)


@pytest.mark.parametrize("qos", [BEST_EFFORT, RELIABLE], ids=["best effort", "reliable"])
def test_any_order_and_more_joints_from_any_publisher(lab, qos):
    publisher = lab.node.create_publisher(JointState, "joint_states", qos)
    names = [NAMES[3], "gripper", *NAMES[:3], "camera", NAMES[4]]
    place = {name: i for i, name in enumerate(NAMES)}
    q = [Q[place[name]] if name in place else float("nan") for name in names]
    lab.wait_for(lambda: publisher.get_subscription_count() == 1)
    time.sleep(0.1)
    lab.wait_for(lambda: len(lab.commands) > 5, lambda: lab.send(q, names=names, publisher=publisher))
    np.testing.assert_allclose(lab.commands[-1], GRAVITY, atol=ROUNDING)
    lab.node.destroy_publisher(publisher)


def test_two_publishers_with_a_part_of_the_joints_each(lab):
    def parts():
        lab.send(Q[:3], names=NAMES[:3])
        lab.spin(0.005)
        lab.send(Q[3:], names=NAMES[3:])

    lab.wait_for(lambda: len(lab.commands) > 5, parts)
    np.testing.assert_allclose(lab.commands[-1], GRAVITY, atol=ROUNDING)


def test_the_newest_state_of_a_burst_is_answered(lab):
    for i in range(100):
        lab.send(Q + 1e-4 * i)
    lab.spin(0.2)
    lab.commands.clear()
    lab.send(Q + 0.01)
    lab.wait_for(lambda: lab.commands)
    kp = 400.0  # the default, 1/s^2
    expected = MODEL.inverse_dynamics(Q + 0.01, np.zeros(5), kp * (Q - (Q + 0.01)))
    np.testing.assert_allclose(lab.commands[-1], expected, atol=1e-6)


def states_of(messages):
    """(state, frame_id) of status messages."""
    found = [{each.key: each.value for each in message.values} for message in messages]
    return [(each["state"], each["frame_id"]) for each in found]


def test_the_sender_of_a_trajectory_learns_what_became_of_it(lab):
    statuses = lab.listen(DiagnosticStatus, "feedforward_node/trajectory_status", TOLD)
    lab.wait_for(lambda: lab.commands, lab.send)
    for label, message in (
        ("good", trajectory((0.1, Q, np.zeros(5)))),
        ("bad", trajectory((0.1, Q + 100.0, np.zeros(5)))),
    ):
        message.header.frame_id = label
        lab.trajectories.publish(message)
    lab.wait_for(lambda: ("finished", "good") in states_of(statuses), lab.send)
    assert states_of(statuses) == [("accepted", "good"), ("refused", "bad"), ("finished", "good")]
    assert [each.level for each in statuses] == [
        DiagnosticStatus.OK,
        DiagnosticStatus.ERROR,
        DiagnosticStatus.OK,
    ]
    told = values_of(statuses[1])
    assert told["reason"].startswith("position of joint 'gamma_")
    assert [values_of(each)["code"] for each in statuses] == ["", "outside_limits", ""]


def rests_at(reference, goal):
    """At the goal and still: near its end the motion is closer to the goal than it is to rest."""
    return np.allclose(reference.position, goal) and np.allclose(reference.velocity, 0.0)


def test_a_trajectory_moves_the_reference_and_ends_at_its_goal(lab):
    references = lab.listen(JointState, "feedforward_node/feedforward")
    goal = Q + 0.2
    lab.wait_for(lambda: references, lab.send)
    lab.trajectories.publish(trajectory((0.3, goal, np.zeros(5))))
    lab.wait_for(lambda: rests_at(references[-1], goal), lab.send)
    assert list(references[-1].name) == NAMES
    lab.trajectories.publish(trajectory((0.3, Q, np.zeros(5))))
    lab.wait_for(lambda: rests_at(references[-1], Q), lab.send)


def test_the_terms_add_up_to_the_command(lab):
    request = SetParameters.Request(
        parameters=[
            Parameter(
                name="terms.publish", value=ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=True)
            )
        ]
    )
    terms = {
        name: lab.listen(JointState, f"feedforward_node/terms/{name}")
        for name in ("inertia", "coriolis", "gravity", "friction", "feedback", "limits")
    }
    assert lab.call(SetParameters, "feedforward_node/set_parameters", request).results[0].successful
    moved = Q + 0.01
    lab.wait_for(lambda: all(terms.values()), lambda: lab.hold(0.03, q=moved))
    np.testing.assert_allclose(terms["gravity"][-1].effort, MODEL.gravity(moved), atol=ROUNDING)
    total = sum(np.array(messages[-1].effort) for messages in terms.values())
    np.testing.assert_allclose(total, lab.commands[-1], atol=ROUNDING)


def test_a_rejected_trajectory_is_explained_and_changes_nothing(shared, lab):
    node, _ = shared
    lab.trajectories.publish(trajectory((1.0, Q), (0.5, Q)))
    why = "point 1: time_from_start is 0.500000000 s; allowed is more than 1.000000000 s"
    lab.wait_for(lambda: f"trajectory rejected: {why}" in node.log, lab.send)
    lab.trajectories.publish(trajectory((1.0, Q[:4]), names=[*NAMES[:3], "elbow"]))
    lab.wait_for(lambda: "trajectory rejected: unknown joint 'elbow'" in node.log, lab.send)
    lab.commands.clear()
    lab.hold(0.1)
    np.testing.assert_allclose(lab.commands[-1], GRAVITY, atol=ROUNDING)


def test_a_trajectory_is_annotated(lab):
    annotated = lab.listen(JointTrajectory, "feedforward_node/annotated")
    publisher = lab.node.create_publisher(JointTrajectory, "feedforward_node/annotate", RELIABLE)
    lab.wait_for(publisher.get_subscription_count)
    still = trajectory((1.0, Q, np.zeros(5)), (2.0, Q, np.zeros(5)))
    lab.wait_for(lambda: annotated, lambda: (publisher.publish(still), lab.spin(0.1)))
    for point in annotated[-1].points:
        np.testing.assert_allclose(point.effort, GRAVITY, atol=ROUNDING)


def test_a_dense_annotation_does_not_hold_up_the_commands(lab):
    annotated = lab.listen(JointTrajectory, "feedforward_node/annotated")
    publisher = lab.node.create_publisher(JointTrajectory, "feedforward_node/annotate", RELIABLE)
    lab.wait_for(publisher.get_subscription_count)
    moves = [(1.0 + i, Q + 0.2 * (-1) ** i, np.zeros(5)) for i in range(100)]
    publisher.publish(trajectory(*moves))
    lab.wait_for(lambda: annotated, lab.send)
    assert len(annotated[-1].points) > 1000
    assert len(lab.commands) > 20  # at 200 a second, for as long as it takes


def test_diagnostics_show_rate_latency_and_the_model(lab):
    arrays = lab.listen(DiagnosticArray, "/diagnostics")
    lab.wait_for(lambda: len(arrays) > 2, lambda: lab.hold(0.05))
    status = arrays[-1].status[0]
    values = {each.key: each.value for each in status.values}
    assert status.name.endswith("feedforward_node: commands")
    assert status.level == DiagnosticStatus.OK
    assert values["model hash"] == MODEL.urdf_hash
    assert float(values["rate [Hz]"]) > 1.0
    assert float(values["mean latency [us]"]) > 0.0


def test_a_subscriber_that_cannot_be_served_is_named(shared, lab):  # field report 116
    node, _ = shared
    from feedforward_lab import LATCHED
    from std_msgs.msg import Float64MultiArray

    subscription = lab.node.create_subscription(
        Float64MultiArray, "forward_effort_controller/commands", print, LATCHED
    )
    named = r"forward_effort_controller/commands'.*incompatible QoS.*policy: DURABILITY"
    lab.wait_for(lambda: re.search(named, node.log), lab.send)
    lab.node.destroy_subscription(subscription)


@pytest.mark.parametrize(
    ("number", "reaction", "expected"),
    [(signal.SIGINT, "hold", GRAVITY), (signal.SIGTERM, "zero", np.zeros(5))],
)
def test_a_signal_ends_it_with_a_safe_command_and_code_0(tmp_path, number, reaction, expected):
    domain = own_domain()
    node = FeedforwardProcess(tmp_path / "log", domain, *PATIENT, "-p", f"safety.on_deactivate:={reaction}")
    lab = Lab(domain)
    try:
        lab.wait_until_commanding()
        lab.send(Q + 0.01)
        lab.spin(0.1)
        lab.commands.clear()
        assert node.end(number) == 0
        lab.spin(0.2)
        moved = MODEL.gravity(Q + 0.01) if reaction == "hold" else expected
        np.testing.assert_allclose(lab.commands[-1], moved, atol=ROUNDING)
        assert "Traceback" not in node.log
    finally:
        lab.close()
        node.kill()


def test_it_ends_with_code_0_before_any_state_came(tmp_path):
    node = FeedforwardProcess(tmp_path / "log", own_domain())
    try:
        deadline = time.monotonic() + 20.0
        while "mode computed_torque" not in node.log:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert node.end() == 0
        assert "Traceback" not in node.log
    finally:
        node.kill()


def wave(points):
    """Positions alone, slow enough for every limit: an annotation of them takes long."""
    times = 0.01 * np.arange(1, points + 1)
    swing = 0.1 * (1.0 - np.cos(0.5 * times))
    return trajectory(
        *((t, Q + np.array([s, 0.0, 0.0, 0.0, 0.0])) for t, s in zip(times, swing, strict=True))
    )


def ended_after_annotating(start, points):
    """How long a node takes to end [s] while it annotates; 2 points are done by then."""
    node, lab = start("-p", "annotate.max_points:=1000000", *STILL, namespace=f"/annotating_{points}")
    annotated = lab.listen(JointTrajectory, "feedforward_node/annotated")
    publisher = lab.node.create_publisher(JointTrajectory, "feedforward_node/annotate", RELIABLE)
    lab.wait_until_commanding()
    lab.wait_for(publisher.get_subscription_count)
    publisher.publish(wave(points))
    lab.wait_for(lambda: points > 2 or annotated, lab.send)
    lab.hold(1.0)
    assert len(annotated) == (points == 2)
    assert "not annotated" not in node.log
    begin = time.monotonic()
    assert node.end() == 0
    return time.monotonic() - begin


def test_a_signal_during_a_long_annotation_ends_the_node_at_once(start):
    """Twenty thousand points once kept a node that was asked to end for more than 90 s."""
    took = {points: ended_after_annotating(start, points) for points in (2, 20_000)}
    assert took[20_000] < 3.0 * took[2]  # what it takes to leave the arm safe, and to end
