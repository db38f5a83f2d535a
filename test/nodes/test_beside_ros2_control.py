"""The node beside ros2_control, whose parts are stood in for by what they do on the wire.

The forward command controller: a best-effort reader of depth 1, the last command applied for ever, active
whatever happens. The joint state broadcaster: names sorted, velocities and efforts that a joint lacks padded
with NaN, reliable and transient local. As ros2_control 5.16 and ros2_controllers 5.17 do it.
"""

import importlib.metadata
import os
import signal
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from feedforward_lab import (
    BEST_EFFORT,
    MODEL,
    NAMES,
    RELIABLE,
    STILL,
    TOLD,
    Q,
    trajectory,
)
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from kane_dynamics_ros.nodes.feedforward.ros2_control import ControllerManagerFollower, joints_from, obstacle

NAN = float("nan")
ROUNDING = 1e-9  # [N m]
BROADCASTER = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class ForwardCommandController:
    """Applies the last command that its reader has got."""

    def __init__(self, lab):
        self.effort = np.zeros(5)
        lab.node.create_subscription(
            Float64MultiArray, "forward_effort_controller/commands", self._apply, BEST_EFFORT
        )

    def _apply(self, message):
        self.effort = np.array(message.data)


def push(lab, count):
    """Positions ever further from what is held, so that each has another command.

    Returns the last, once answered. A state may be long on its way. Each has one command at most, so that of
    more commands than there are other states the newest answers the last state, which is sent until then.
    """
    states = [Q + 1e-4 * k for k in range(count)]
    for q in states:
        lab.send(q)
        lab.spin(0.002)
    lab.commands.clear()
    lab.wait_for(lambda: len(lab.commands) > count, lambda: lab.send(states[-1]))
    return states[-1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_last_hold_reaches_the_controller_at_every_stop(start, lab, number):
    controller = ForwardCommandController(lab)
    for _ in range(4):
        node, _ = start("-p", "safety.on_deactivate:=hold", lab=lab)
        lab.wait_until_commanding()
        last = push(lab, 50)
        assert node.end(number) == 0
        lab.spin(0.1)
        np.testing.assert_allclose(controller.effort, MODEL.gravity(last), atol=ROUNDING)
        # one that is lost does no harm: a reader that loses nothing has it many times
        assert sum(np.array_equal(command, lab.commands[-1]) for command in lab.commands) >= 8


def test_the_last_hold_reaches_the_controller_at_every_deactivation(start, lab):
    controller = ForwardCommandController(lab)
    start("-p", "safety.on_deactivate:=hold", lab=lab)
    for _ in range(6):
        lab.wait_until_commanding()
        last = push(lab, 20)
        change(lab, Transition.TRANSITION_DEACTIVATE)
        lab.spin(0.05)
        np.testing.assert_allclose(controller.effort, MODEL.gravity(last), atol=ROUNDING)
        change(lab, Transition.TRANSITION_ACTIVATE)


def change(lab, transition):
    request = ChangeState.Request(transition=Transition(id=transition))
    assert lab.call(ChangeState, "feedforward_node/change_state", request).success


def test_states_of_the_broadcaster_are_answered_without_velocity_interfaces(start, lab):
    publisher = lab.node.create_publisher(JointState, "joint_states", BROADCASTER)
    names = sorted(NAMES)
    q = [Q[NAMES.index(name)] for name in names]
    start("-p", "velocity.missing:=differentiate", lab=lab)
    lab.wait_for(lambda: len(lab.commands) > 5, lambda: lab.send(q, [NAN] * 5, names, publisher))
    np.testing.assert_allclose(lab.commands[-1], MODEL.gravity(Q), atol=ROUNDING)


def test_hardware_that_stops_unnoticed_neither_winds_the_command_up_nor_lets_it_jump_at_its_return(
    start, lab
):
    statuses = lab.listen(DiagnosticStatus, "feedforward_node/trajectory_status", TOLD)
    node, _ = start(lab=lab)
    lab.wait_until_commanding()
    lab.wait_for(lab.trajectories.get_subscription_count)
    lab.trajectories.publish(trajectory((1.0, Q + 0.6, np.zeros(5))))
    lab.commands.clear()
    lab.wait_for(lambda: len(statuses) > 1, lab.send)  # an arm with its brakes on
    dropped = {each.key: each.value for each in statuses[-1].values}
    assert dropped["state"] == "dropped"
    assert dropped["reason"].startswith("tracking_error: joint ")
    largest = np.abs(np.array(lab.commands) - MODEL.gravity(Q)).max()
    lab.hold(0.3)
    np.testing.assert_allclose(lab.commands[-1], MODEL.gravity(Q), atol=ROUNDING)
    # kp times the largest tolerance, and the reference's own motion, through the mass matrix
    assert largest < np.abs(MODEL.mass_matrix(Q)).sum(axis=1).max() * (400 * 0.5 + 40 * 0.9 + 3.6)
    assert "tracking_error" in node.log


def test_a_deactivation_first_stops_the_arm_along_its_reference(start, lab):
    references = lab.listen(JointState, "feedforward_node/feedforward", 1000)
    start(*STILL, "-p", "safety.stop_time:=0.4", lab=lab)
    lab.wait_until_commanding()
    lab.wait_for(lambda: references, lab.send)
    lab.trajectories.publish(trajectory((4.0, Q + 1.0, np.zeros(5))))
    lab.wait_for(lambda: references[-1].velocity[0] > 0.2, lab.send)
    client = lab.node.create_client(ChangeState, "feedforward_node/change_state")
    lab.wait_for(client.service_is_ready, lab.send)
    begin = len(references)
    request = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_DEACTIVATE))
    done = client.call_async(request)
    lab.wait_for(done.done, lab.send)
    q = np.array([each.position for each in references[begin:]])
    qd = np.array([each.velocity for each in references[begin:]])
    assert np.abs(qd[-1]).max() < 0.02  # it was at rest, or a state from it
    assert (np.diff(q[:, 0]) >= -1e-9).all()
    # it stays on the straight line that the trajectory draws
    np.testing.assert_allclose(q - Q, (q[:, :1] - Q[0]) * np.ones(5), atol=1e-6)


def is_jazzy() -> bool:
    """Whether rclpy is Jazzy's: the wheel's version tells, else the environment that was sourced."""
    try:
        return importlib.metadata.version("ros-rclpy").startswith("7.")
    except importlib.metadata.PackageNotFoundError:
        return os.environ.get("ROS_DISTRO") == "jazzy"


@pytest.mark.skipif(is_jazzy(), reason="Jazzy's messages do not say which publisher sent them")
def test_a_second_publisher_of_states_is_named(start, lab):
    node, _ = start(lab=lab)
    second = lab.node.create_publisher(JointState, "joint_states", RELIABLE)
    arrays = lab.listen(DiagnosticArray, "/diagnostics")

    def both():
        lab.send(Q)
        lab.spin(0.002)
        lab.send(Q + 0.5, publisher=second)

    text = f"the same joints' states come from several publishers: {lab.node.get_namespace()}/lab, "
    lab.wait_for(lambda: text in node.log, both)
    lab.wait_for(lambda: any(each.status[0].level != DiagnosticStatus.OK for each in arrays), both)


def test_a_second_node_on_the_same_command_topic_is_named(start, lab):
    first, _ = start(lab=lab)
    start("-r", "__node:=second_node", lab=lab)
    text = (
        f"commands on {lab.node.get_namespace()}/forward_effort_controller/commands come from "
        f"{lab.node.get_namespace()}/feedforward_node, {lab.node.get_namespace()}/second_node"
    )
    lab.wait_for(lambda: text in first.log, lab.send)


def test_gains_that_are_too_high_for_the_rate_are_told_with_some_that_are_not(start, lab):
    node, _ = start(lab=lab)
    lab.wait_for(
        lambda: "the gains of joint gamma_1 (400 1/s^2 and 40 1/s)" in node.log,
        lambda: lab.hold(0.5, rate=60.0),
        40.0,
    )
    assert "raise the rate, or set -p computed_torque.kp:=" in node.log
    for kp, accepted in ((1e6, False), (300.0, True)):  # the first is far too high for any real loop
        value = ParameterValue(type=ParameterType.PARAMETER_DOUBLE_ARRAY, double_array_value=[kp])
        request = SetParameters.Request(parameters=[Parameter(name="computed_torque.kp", value=value)])
        [result] = lab.call(SetParameters, "feedforward_node/set_parameters", request).results
        assert result.successful == accepted
        assert accepted or "'computed_torque.kp'" in result.reason


# What controller_manager says of its controllers and hardware.

OURS = ("shoulder", "elbow")
JOINTS_OF = {"arm": frozenset({"shoulder", "elbow"}), "gripper": frozenset({"finger"})}


def labelled(states):
    return [SimpleNamespace(name=name, state=SimpleNamespace(label=label)) for name, label in states.items()]


def activity(controllers, hardware):
    """A ControllerManagerActivity."""
    return SimpleNamespace(controllers=labelled(controllers), hardware_components=labelled(hardware))


CASES = {
    "all active": ({"effort": "active"}, {"arm": "active"}, None),
    "hardware": (
        {"effort": "active"},
        {"arm": "inactive", "gripper": "active"},
        "hardware 'arm' is inactive",
    ),
    "another's hardware": ({"effort": "active"}, {"arm": "active", "gripper": "inactive"}, None),
    "hardware whose joints are not known yet": ({"effort": "active"}, {"rail": "inactive"}, None),
    "controller": ({"effort": "inactive"}, {"arm": "active"}, "controller 'effort' is inactive"),
    "controller that is gone": ({}, {"arm": "active"}, "controller 'effort' is not loaded"),
}


@pytest.mark.parametrize(("controllers", "hardware", "expected"), CASES.values(), ids=CASES)
def test_what_keeps_commands_from_the_arm(controllers, hardware, expected):
    assert obstacle(activity(controllers, hardware), "effort", JOINTS_OF, OURS) == expected


def test_the_controller_is_the_one_whose_topic_takes_the_commands():
    told = []
    topic = "/left/arm/forward_effort_controller/commands"
    ControllerManagerFollower(None, "", topic, OURS, told.append).on_activity(activity({}, {}))
    assert told == ["controller 'forward_effort_controller' is not loaded"]


def test_it_is_known_whether_commands_ever_reached_the_arm():
    """At a bring-up the controller is not loaded, then inactive: no error until it was active once."""
    known = []
    follower = ControllerManagerFollower(
        None, "", "/effort/commands", OURS, lambda found: known.append((found, follower.has_been_clear))
    )
    for state in ("unconfigured", "inactive", "active", "inactive"):
        follower.on_activity(activity({"effort": state}, {"arm": "active"}))
    assert [clear for _, clear in known] == [False, False, False, True]
    assert [found is None for found, _ in known] == [False, False, True, False]


def test_changes_are_told_once_also_when_the_hardwares_joints_are_learnt_later():
    told = []
    follower = ControllerManagerFollower(None, "", "/effort/commands", OURS, told.append)
    interfaces = [SimpleNamespace(name=f"{joint}/effort") for joint in OURS]
    response = SimpleNamespace(component=[SimpleNamespace(name="arm", command_interfaces=interfaces)])
    assert joints_from(response) == {"arm": frozenset(OURS)}
    follower.on_activity(activity({"effort": "active"}, {"arm": "active"}))
    follower.on_activity(activity({"effort": "active"}, {"arm": "inactive"}))
    assert told == []  # whose hardware that is nobody knows yet
    follower.on_components(response)
    follower.on_activity(activity({"effort": "active"}, {"arm": "inactive"}))
    follower.on_activity(activity({"effort": "inactive"}, {"arm": "inactive"}))
    follower.on_activity(activity({"effort": "active"}, {"arm": "active"}))
    assert told == ["hardware 'arm' is inactive", "controller 'effort' is inactive", None]
