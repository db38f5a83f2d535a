"""feedforward_node as a process: parameters, lifecycle, and the check against robot_description."""

import itertools

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

from diagnostic_msgs.msg import DiagnosticStatus
from feedforward_lab import MODEL, TOLD, Q, trajectory
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, SetParameters, SetParametersAtomically
from sensor_msgs.msg import JointState

from kane_dynamics_ros.nodes.messages import values_of
from kane_dynamics_ros.share import share_directory

GRAVITY = MODEL.gravity(Q)
ROUNDING = 1e-9  # [N m]


@pytest.fixture(scope="module")
def urdf():
    return (share_directory() / "urdf" / "manipulator_5dof.urdf").read_text()


def heavier(urdf):
    """The same robot with another mass of its second link."""
    return urdf.replace('<mass value="3"/>', '<mass value="4"/>', 1)


def number(name, value):
    return Parameter(name=name, value=ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=value))


def integer(name, value):
    return Parameter(
        name=name, value=ParameterValue(type=ParameterType.PARAMETER_INTEGER, integer_value=value)
    )


def numbers(name, *values):
    kind = ParameterType.PARAMETER_DOUBLE_ARRAY
    return Parameter(name=name, value=ParameterValue(type=kind, double_array_value=list(values)))


def set_together(lab, *parameters):
    request = SetParametersAtomically.Request(parameters=list(parameters))
    return lab.call(SetParametersAtomically, "feedforward_node/set_parameters_atomically", request).result


def test_parameters_change_between_two_commands_and_whole_or_not_at_all(start):
    _, lab = start("-p", "gravity:=[0, 0, -9.81]", "-p", "computed_torque.kp:=100")  # field report 126
    lab.wait_until_commanding()
    np.testing.assert_allclose(lab.commands[-1], GRAVITY, atol=ROUNDING)

    assert set_together(lab, integer("payload.mass", 2), numbers("payload.com", 0.0, 0.0, 0.1)).successful
    lab.commands.clear()
    lab.wait_for(lambda: lab.commands, lab.send)
    payload = MODEL.parameters.payload.__class__(2.0, (0.0, 0.0, 0.1))
    loaded = MODEL.with_parameters(payload=payload).gravity(Q)
    np.testing.assert_allclose(lab.commands[-1], loaded, atol=ROUNDING)

    refused = set_together(lab, number("payload.mass", 0.0), numbers("computed_torque.kp", 1.0, 2.0))
    assert not refused.successful
    assert refused.reason == (
        "parameter 'computed_torque.kp': found [1.0, 2.0]; allowed is 1 value, or 5: one for each joint "
        "of the model"
    )
    lab.commands.clear()
    lab.wait_for(lambda: lab.commands, lab.send)
    np.testing.assert_allclose(lab.commands[-1], loaded, atol=ROUNDING)  # the mass is not 0

    request = DescribeParameters.Request(names=["payload.mass"])
    described = lab.call(DescribeParameters, "feedforward_node/describe_parameters", request).descriptors[0]
    assert described.description == "Mass fixed to the tip [kg]"
    assert described.floating_point_range[0].to_value == 1e4


def test_the_lifecycle_without_autostart(start):
    node, lab = start("-p", "autostart:=false")

    def change(transition):
        request = ChangeState.Request(transition=Transition(id=transition))
        return lab.call(ChangeState, "feedforward_node/change_state", request).success

    def state():
        return lab.call(GetState, "feedforward_node/get_state", GetState.Request()).current_state.id

    assert state() == State.PRIMARY_STATE_UNCONFIGURED
    assert change(Transition.TRANSITION_CONFIGURE)
    lab.hold(0.1)
    assert lab.commands == []
    assert change(Transition.TRANSITION_ACTIVATE)
    lab.wait_until_commanding()
    lab.commands.clear()
    assert change(Transition.TRANSITION_DEACTIVATE)
    lab.wait_for(lambda: lab.commands)
    np.testing.assert_allclose(lab.commands[-1], GRAVITY, atol=ROUNDING)  # left holding
    lab.hold(0.1)
    lab.commands.clear()
    lab.hold(0.1)
    assert lab.commands == []
    assert change(Transition.TRANSITION_CLEANUP)
    assert state() == State.PRIMARY_STATE_UNCONFIGURED
    assert node.end() == 0


def test_it_waits_for_a_description_that_is_required(start, urdf):  # field report 117
    node, lab = start("-p", "description_check:=required")
    lab.wait_for(lambda: "waiting for robot_description" in node.log)
    lab.describe(urdf)
    lab.wait_until_commanding()


def test_a_description_that_was_published_before_is_received(start, urdf):  # field report 117
    node, lab = start("-p", "description_check:=required", urdf=urdf)
    lab.wait_until_commanding()
    assert "waiting" not in node.log or "model 'manipulator_5dof'" in node.log


def test_a_stale_model_is_refused_naming_what_differs(start, urdf):
    node, lab = start("-p", "description_check:=required", urdf=heavier(urdf))
    lab.wait_for(lambda: "cannot configure" in node.log)
    assert (
        "was not generated from this robot_description: mass of body 'limb_2' is 3, the description's 4"
        in node.log
    )
    lab.hold(0.2)
    assert lab.commands == []
    assert "waiting for the right robot_description; or correct the parameters" in node.log


def test_a_stale_model_is_replaced_when_asked(start, urdf, tmp_path):
    pytest.importorskip("sympy", reason="generates a model")
    changed = heavier(urdf)
    arguments = (
        "-p",
        "description_check:=required",
        "-p",
        "generate_when_stale:=true",
        "-p",
        f"model_cache:={tmp_path}",
    )
    _, lab = start(*arguments, urdf=changed)
    lab.wait_until_commanding(patience=60.0)  # it derives and compiles
    assert not np.allclose(lab.commands[-1], GRAVITY)


def test_a_wrong_parameter_is_named_and_nothing_is_commanded(start):  # field report 127
    node, lab = start("-p", "payload.com:=0.5", "-p", "mode:=computed_torque")
    lab.wait_for(lambda: "cannot configure" in node.log)
    assert "parameter 'payload.com': found [0.5]; allowed is a list of 3 numbers" in node.log
    assert node.end() == 0


def test_a_wrong_model_is_corrected_while_the_node_is_not_configured(start):
    node, lab = start("-p", "model:=robot.urdf")
    lab.wait_for(lambda: "cannot configure" in node.log)

    def set_model(value):
        text = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=value)
        request = SetParameters.Request(parameters=[Parameter(name="model", value=text)])
        return lab.call(SetParameters, "feedforward_node/set_parameters", request).results[0]

    assert set_model("manipulator_5dof").successful
    for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
        request = ChangeState.Request(transition=Transition(id=transition))
        assert lab.call(ChangeState, "feedforward_node/change_state", request).success
    lab.wait_until_commanding()
    refused = set_model("robot.urdf")
    assert not refused.successful
    assert "cleanup" in refused.reason
    assert set_model("manipulator_5dof").successful  # as it is


def test_ros_arguments_that_cannot_be_read_end_the_process_with_code_2(start, tmp_path):
    missing = tmp_path / "missing.yaml"
    node, _ = start("--params-file", str(missing))
    assert node.process.wait(20.0) == 2
    assert (
        f"error: failed to initialize rcl: Couldn't parse params file: '--params-file {missing}'." in node.log
    )
    assert "Traceback" not in node.log


@pytest.mark.parametrize("value", ["-1.0", "20000.0"])
def test_a_number_out_of_its_range_ends_the_process_with_code_2(start, value):
    node, _ = start("-p", f"payload.mass:={value}")
    assert node.process.wait(20.0) == 2
    assert (
        f"error: parameter 'payload.mass': found {value}; allowed is a number from 0 to 10000 [kg]"
        in node.log
    )
    assert "Traceback" not in node.log


def test_a_corrected_description_starts_the_node(start, urdf):
    node, lab = start("-p", "description_check:=required", urdf=heavier(urdf))
    lab.wait_for(lambda: "cannot configure" in node.log)
    lab.describe(urdf)
    lab.wait_until_commanding()


def test_another_description_stops_the_output_safely(start, urdf):
    node, lab = start()
    lab.wait_until_commanding()
    lab.describe(heavier(urdf))
    lab.wait_for(lambda: "robot_description changed, so the output stops" in node.log, lab.send)
    lab.spin(1.0)  # the last command is repeated
    np.testing.assert_allclose(lab.commands[-1], GRAVITY, atol=ROUNDING)
    lab.commands.clear()
    lab.hold(0.2)
    assert lab.commands == []
    told = lab.listen(DiagnosticStatus, "feedforward_node/trajectory_status", TOLD)
    lab.trajectories.publish(trajectory((1.0, Q)))
    lab.wait_for(lambda: told)
    assert "the node is not active: robot_description changed: " in told[-1].message  # and how it comes back
    lab.describe(urdf)
    lab.wait_until_commanding()


def change(lab, transition):
    request = ChangeState.Request(transition=Transition(id=transition))
    assert lab.call(ChangeState, "feedforward_node/change_state", request).success


def test_trajectories_that_come_while_the_arm_stops_do_not_move_it_again(start):
    _, lab = start("-p", "trajectory.limits:=ignore")
    references = lab.listen(JointState, "feedforward_node/feedforward")
    told = lab.listen(DiagnosticStatus, "feedforward_node/trajectory_status", TOLD)
    lab.wait_for(lambda: references, lab.send)

    def follow():
        """The arm is where the reference was: it follows perfectly."""
        lab.send(references[-1].position, references[-1].velocity)

    def send_motion():
        lab.trajectories.publish(trajectory((20.0, Q + 4.0, np.zeros(5)), (40.0, Q, np.zeros(5))))

    send_motion()
    lab.wait_for(lambda: max(references[-1].velocity) > 0.1, follow)
    client = lab.node.create_client(ChangeState, "feedforward_node/change_state")
    lab.wait_for(client.service_is_ready, follow)
    request = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_DEACTIVATE))
    stopped, states = client.call_async(request), itertools.count()

    def follow_and_send():
        follow()
        if next(states) % 4 == 0:
            send_motion()

    lab.wait_for(stopped.done, follow_and_send)
    assert max(np.abs(references[-1].velocity)) < 0.01
    ends = {("dropped", "not_active"), ("refused", "not_active")}
    lab.wait_for(lambda: ends <= {(each["state"], each["code"]) for each in map(values_of, told)})
    values = list(map(values_of, told))
    accepted = [each["id"] for each in values if each["state"] == "accepted"]  # some came before the request
    dropped = [(each["id"], each["code"]) for each in values if each["state"] == "dropped"]
    assert dropped == [(each, "replaced") for each in accepted[:-1]] + [(accepted[-1], "not_active")]


def test_a_node_that_an_operator_has_cleaned_up_stays_so_whatever_is_described(start, urdf):
    _, lab = start(urdf=urdf)
    lab.wait_until_commanding()
    change(lab, Transition.TRANSITION_DEACTIVATE)
    change(lab, Transition.TRANSITION_CLEANUP)
    assert not set_together(lab, numbers("computed_torque.kp", 1.0, 2.0)).successful  # for five joints
    lab.describe(urdf.replace("</robot>", "<!-- the same robot, described again --></robot>"))
    lab.hold(0.5)
    lab.commands.clear()
    lab.hold(0.3)
    assert lab.commands == []
    change(lab, Transition.TRANSITION_CONFIGURE)
    change(lab, Transition.TRANSITION_ACTIVATE)
    lab.wait_until_commanding()


def test_parameters_other_than_their_defaults_are_told_at_the_start(start, tmp_path):
    matched_nothing = tmp_path / "parameters.yaml"
    matched_nothing.write_text(
        "feedforward_node: {ros__parameters: {payload.mass: 2.0}}"
    )  # not its namespace
    node, lab = start("--params-file", str(matched_nothing), "-p", "velocity.cutoff:=30.0")
    lab.wait_for(lambda: "parameters other than their defaults: " in node.log)
    (line,) = [each for each in node.log.splitlines() if "parameters other than" in each]
    assert "velocity.cutoff: 30.0" in line
    assert "payload" not in line


def test_a_joints_own_tolerance_is_a_parameter_and_one_of_no_joint_is_warned_of(start):
    node, lab = start("-p", "constraints.beta_4.trajectory:=0.05", "-p", "constraints.beta_5.goal:=0.05")
    lab.wait_until_commanding()
    lab.wait_for(lambda: "parameter 'constraints.beta_5.goal' is given but not known" in node.log)
    assert "'constraints.beta_4.trajectory' is given but" not in node.log
    lab.hold(0.05)
    moved = Q + np.array([0.0, 0.0, 0.0, 0.06, 0.0])  # pushed further than its own tolerance
    lab.hold(0.1, q=moved)
    lab.wait_for(
        lambda: (
            "tracking_error: joint 'beta_4' is 0.06 rad from its reference; allowed is 0.05 rad" in node.log
        )
    )
    np.testing.assert_allclose(lab.commands[-1], MODEL.gravity(moved), atol=ROUNDING)


def test_a_misspelt_parameter_is_warned_of_once_with_the_one_that_was_meant(start):
    node, lab = start("-p", "computed_torque.kpp:=2.0")
    lab.wait_until_commanding()
    (line,) = [each for each in node.log.splitlines() if "computed_torque.kpp" in each]
    assert "did you mean 'computed_torque.kp'?" in line


def test_a_path_where_the_description_should_be_is_said_so(start):
    node, lab = start("-p", "description_check:=required", urdf="/opt/robots/arm.urdf")
    lab.wait_for(lambda: "cannot configure" in node.log)
    assert "the text must be there, not the path of a file" in node.log
