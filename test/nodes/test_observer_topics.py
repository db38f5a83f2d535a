"""feedforward_node's external efforts, wrench and collisions over DDS: an arm at rest that is pushed."""

import math
from array import array

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from feedforward_lab import ABSOLUTE, LATCHED, MODEL, NAMES, PATIENT, SPACE, Q, trajectory
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

REST = np.zeros(5)
FORCE = np.array([30.0, -20.0, 40.0])  # [N] root axes
PUSH = MODEL.external_effort(Q, np.array([*FORCE, 0.0, 0.0, 0.0]), frame="root")
ARGUMENTS = (*PATIENT, "-p", "safety.overrun_period:=0.0")


def send(lab, external=REST, q=Q, qd=REST, effort=True, names=NAMES):
    """A state whose measured effort leaves to the environment what it adds."""
    order = [NAMES.index(name) for name in names]
    message = JointState(name=list(names), position=array("d", q[order]), velocity=array("d", qd[order]))
    if effort:
        message.effort = array("d", (MODEL.gravity(q) - external)[order])
    message.header.stamp = lab.node.get_clock().now().to_msg()
    lab.states.publish(message)


def begin(lab):
    """Until states of an arm that nothing pushes were answered: its drives carry it."""
    lab.wait_until_commanding()
    answered = len(lab.commands)
    lab.wait_for(lambda: len(lab.commands) > answered + 10, lambda: send(lab))


def test_external_torque_and_wrench_come_while_somebody_listens(start):
    """Any order of names; the force in tip axes, the torque that five joints cannot tell NaN."""
    _, lab = start("-p", "observer.wrench:=force")
    begin(lab)
    torques, wrenches = lab.listen(JointState, "feedforward_node/external_torque"), None
    wrenches = lab.listen(WrenchStamped, "feedforward_node/external_wrench")
    names = NAMES[::-1]
    lab.wait_for(
        lambda: torques and abs(torques[-1].effort - PUSH).max() < 0.01 and wrenches,
        lambda: send(lab, PUSH, names=names),
    )
    assert list(torques[-1].name) == NAMES
    last = len(wrenches)
    lab.wait_for(lambda: len(wrenches) > last + 2, lambda: send(lab, PUSH, names=names))
    found = wrenches[-1]
    assert found.header.frame_id == MODEL.tip
    told = np.array([found.wrench.force.x, found.wrench.force.y, found.wrench.force.z])
    expected = MODEL.tip_pose(Q)[:3, :3].T @ FORCE
    np.testing.assert_allclose(told, expected, atol=0.01 * np.abs(FORCE).max())
    assert found.wrench.torque.x == found.wrench.torque.y == found.wrench.torque.z == 0.0


def test_what_the_posture_cannot_tell_is_nan_and_said_in_diagnostics(start):
    _, lab = start()
    begin(lab)
    wrenches = lab.listen(WrenchStamped, "feedforward_node/external_wrench")
    reports = lab.listen(DiagnosticArray, f"{SPACE}/diagnostics" if ABSOLUTE else "/diagnostics")

    def values():
        return {v.key: v.value for report in reports[-1:] for v in report.status[0].values}

    lab.wait_for(lambda: wrenches and "undetermined wrench components" in values(), lambda: send(lab, PUSH))
    torque = wrenches[-1].wrench.torque
    unknown = [name for name in ("x", "y", "z") if math.isnan(getattr(torque, name))]
    assert unknown
    assert all(f"torque.{name}" in values()["undetermined wrench components"] for name in unknown)


@pytest.mark.parametrize("source", ["measured", "commanded"])
def test_a_collision_is_latched_drops_the_motion_and_is_reset_by_the_service(start, source):
    node, lab = start("-p", "safety.on_collision:=comply", "-p", f"observer.effort:={source}")
    begin(lab)
    collisions = lab.listen(Bool, "feedforward_node/collision", LATCHED)
    lab.wait_for(
        lambda: collisions and not collisions[-1].data, lambda: send(lab, effort=source == "measured")
    )
    if source == "measured":
        pushed = lambda: send(lab, PUSH)  # noqa: E731
    else:
        speed = iter(np.linspace(0.0, 1.0, 2000))  # what no command asked for
        pushed = lambda: send(lab, qd=np.array([next(speed), 0, 0, 0, 0.0]), effort=False)  # noqa: E731
    lab.wait_for(lambda: collisions[-1].data, pushed)
    lab.wait_for(lambda: "collision: joint" in node.log, lambda: send(lab))
    lab.trajectories.publish(trajectory((1.0, Q + 0.1)))
    lab.wait_for(lambda: "after collision" in node.log, lambda: send(lab))
    away, qd = Q + 0.05, np.array([0.2, -0.1, 0.3, 0.0, 0.1])
    expected = MODEL.gravity(away) - 5.0 * MODEL.mass_matrix(away) @ qd
    lab.commands.clear()
    lab.wait_for(
        lambda: lab.commands and np.abs(lab.commands[-1] - expected).max() < 1e-9,
        lambda: send(lab, q=away, qd=qd),
    )
    response = lab.call(Trigger, "feedforward_node/reset_collision", Trigger.Request())
    assert response.success
    lab.wait_for(lambda: not collisions[-1].data)
    lab.spin(0.3)  # a silence, so that the jump to rest, which no arm makes, is no collision
    lab.commands.clear()
    lab.wait_for(
        lambda: lab.commands and np.abs(lab.commands[-1] - MODEL.gravity(away)).max() < 1e-9,
        lambda: send(lab, q=away),
    )
    assert not collisions[-1].data
    assert not lab.call(Trigger, "feedforward_node/reset_collision", Trigger.Request()).success


def set_parameter(lab, name, value):
    request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
    assert lab.call(SetParameters, "feedforward_node/set_parameters", request).results[0].successful


def test_a_parameter_that_is_set_leaves_a_collision_latched(start):
    node, lab = start("-p", "safety.on_collision:=hold")
    begin(lab)
    collisions = lab.listen(Bool, "feedforward_node/collision", LATCHED)
    reports = lab.listen(DiagnosticArray, f"{SPACE}/diagnostics")
    lab.wait_for(lambda: collisions and not collisions[-1].data, lambda: send(lab))
    lab.wait_for(lambda: collisions[-1].data, lambda: send(lab, PUSH))
    for name, value in (("computed_torque.kp", 390.0), ("observer.gain", 90.0), ("payload.mass", 0.1)):
        set_parameter(lab, name, value)
    reports.clear()
    lab.wait_for(lambda: len(reports) > 1, lambda: send(lab))
    (status,) = reports[-1].status
    assert (status.level, status.message.partition(":")[0]) == (DiagnosticStatus.ERROR, "collision")
    assert "was reset" not in node.log
    assert lab.call(Trigger, "feedforward_node/reset_collision", Trigger.Request()).success


def test_a_collision_that_was_ignored_does_not_hide_the_next(start):
    node, lab = start()
    begin(lab)
    collisions = lab.listen(Bool, "feedforward_node/collision", LATCHED)
    lab.wait_for(lambda: collisions and collisions[-1].data, lambda: send(lab, PUSH))
    set_parameter(lab, "safety.on_collision", "hold")
    lab.wait_for(lambda: not collisions[-1].data, lambda: send(lab))
    lab.wait_for(lambda: collisions[-1].data, lambda: send(lab, PUSH))
    lab.wait_for(lambda: "reaction is hold, until ~/reset_collision" in node.log, lambda: send(lab))


def test_without_listeners_and_consequences_nothing_is_observed(start):
    """No collision is latched by what nobody asked about; a listener makes it look."""
    _, lab = start()
    begin(lab)
    for _ in range(100):
        send(lab, PUSH)
        lab.spin(0.002)
    late = lab.listen(Bool, "feedforward_node/collision", LATCHED)
    lab.wait_for(lambda: late, lambda: send(lab))
    assert not late[0].data
    lab.wait_for(lambda: late[-1].data, lambda: send(lab, PUSH))


def test_states_without_effort_tell_nothing_of_contact(start):
    node, lab = start("-p", "safety.on_collision:=hold")
    lab.wait_until_commanding()
    collisions = lab.listen(Bool, "feedforward_node/collision", LATCHED)
    lab.wait_for(lambda: collisions)
    for k in range(200):
        send(lab, qd=np.array([0.01 * k, 0, 0, 0, 0.0]), effort=False)
        lab.spin(0.002)
    assert not collisions[-1].data
    assert "collision: joint" not in node.log
    lab.wait_for(lambda: "observer.effort" in node.log.partition("joint_states have no")[2])
