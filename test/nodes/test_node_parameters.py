"""Parameters: what is accepted, what is refused with which words, and where they are explained."""

import math
from array import array
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from own_domain import own_domain

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

import rclpy
import yaml
from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter
from stand_in_node import StandInNode

from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.nodes.feedforward.controller import Controller
from kane_dynamics_ros.nodes.feedforward.observer import wrench_topics
from kane_dynamics_ros.nodes.feedforward.parameters import TABLE, build_settings
from kane_dynamics_ros.nodes.hardware.parameters import TABLE as HARDWARE_TABLE
from kane_dynamics_ros.nodes.hardware.parameters import build_engine, parametrised
from kane_dynamics_ros.nodes.parameters import declare, read, uniform_arguments
from kane_dynamics_ros.runtime import Payload, load_model
from kane_dynamics_ros.runtime.node_parameters import (
    Declaration,
    RosParameterError,
    checked_value,
    configured_model,
    file_parameters,
    per_joint,
)
from kane_dynamics_ros.share import share_directory
from kane_dynamics_ros.simulation.actuators import COMMAND_INTERFACES
from kane_dynamics_ros.simulation.hardware import SILENCES
from kane_dynamics_ros.simulation.sensors import VELOCITY_SOURCES

MODEL = load_model("manipulator_5dof")
DEFAULTS = {each.name: each.default for each in TABLE}
NUMBER = Declaration("rate", "number", 1.0, "", "Hz", 0.0, 10.0)
NUMBERS = Declaration("gains", "numbers", [], "", minimum=0.0)
CHOICE = Declaration("mode", "text", "a", "", choices=("a", "b"))
SWITCH = Declaration("on", "switch", True, "")


@pytest.mark.parametrize(
    ("declaration", "value", "expected"),
    [
        (NUMBER, 3, 3.0),
        (NUMBERS, [0, 0.5], [0.0, 0.5]),
        (NUMBERS, 2, [2.0]),
        (NUMBERS, None, []),
        (CHOICE, "b", "b"),
        (SWITCH, False, False),
    ],
)
def test_integers_single_numbers_and_empty_lists_are_understood(
    declaration, value, expected
):  # field report 126
    assert checked_value(declaration, value) == expected


@pytest.mark.parametrize(
    ("declaration", "value", "allowed"),
    [
        (NUMBER, 11, "a number from 0 to 10 [Hz]"),
        (NUMBER, "3", "a number from 0 to 10 [Hz]"),
        (NUMBER, math.nan, "a number from 0 to 10 [Hz]"),
        (NUMBER, True, "a number from 0 to 10 [Hz]"),
        (NUMBERS, [1.0, -1.0], "a list of numbers, or one number for all, finite and from 0 on"),
        (CHOICE, "c", "one of a, b"),
        (SWITCH, 1, "true or false"),
    ],
)
def test_a_wrong_value_is_refused_with_name_value_and_what_is_allowed(declaration, value, allowed):
    with pytest.raises(RosParameterError) as caught:
        checked_value(declaration, value)
    assert str(caught.value) == f"parameter {declaration.name!r}: found {value!r}; allowed is {allowed}"


def test_a_list_with_an_infinity_is_shown_as_a_list_and_refused_for_that():
    with pytest.raises(RosParameterError) as caught:
        checked_value(NUMBERS, array("d", [0.0, math.inf]))
    assert "found [0.0, inf]; " in str(caught.value)
    assert "finite" in str(caught.value)


def test_off_is_a_choice_though_yaml_reads_it_as_false():
    choice = Declaration("check", "text", "on", "", choices=("required", "off"))
    assert checked_value(choice, False) == checked_value(choice, "off") == "off"
    with pytest.raises(RosParameterError):
        checked_value(CHOICE, False)


def test_a_list_of_the_wrong_length_says_which_length():  # field report 127
    assert per_joint("kp", [2.0], 3) == [2.0, 2.0, 2.0]
    with pytest.raises(RosParameterError) as caught:
        per_joint("kp", [1.0, 2.0], 3)
    assert str(caught.value) == (
        "parameter 'kp': found [1.0, 2.0]; allowed is 1 value, or 3: one for each joint of the model"
    )


def test_urdf_friction_has_a_switch_for_each_kind_and_can_be_given():
    def friction(**changes):
        chosen = {name.replace("__", "."): value for name, value in changes.items()}
        parameters = build_settings(DEFAULTS | chosen, MODEL).law.friction.parameters
        return parameters.viscous, parameters.coulomb

    damping, coulomb = (tuple(getattr(j, what) for j in MODEL.joints) for what in ("damping", "friction"))
    none = (0.0,) * 5
    assert friction() == (damping, coulomb)
    assert friction(friction__urdf_damping=False) == (none, coulomb)
    assert friction(friction__urdf_friction=False) == (damping, none)
    assert friction(friction__viscous=[2.0]) == ((2.0,) * 5, coulomb)


def test_gravity_payload_and_rotors_reach_the_model():
    values = DEFAULTS | {"gravity": [0.0, 0.0, -1.62], "payload.mass": 2.0, "rotor_inertia": [0.1]}
    model = build_settings(values, MODEL).law.rigid
    assert model.parameters.gravity == (0.0, 0.0, -1.62)
    assert model.parameters.payload.mass == 2.0
    np.testing.assert_allclose(model.parameters.rotor_inertia, (0.1,) * 5)


def test_mixed_lists_become_numbers_before_rcl_sees_them(tmp_path):  # field report 126
    file = tmp_path / "with space.yaml"
    file.write_text("/**:\n  ros__parameters:\n    gravity: [0, 0, -9.81]\n    model: x\n")
    given = [
        "node",
        "--ros-args",
        "-p",
        "gravity:=[0, 0, -9.81]",
        "-p",
        "friction.coulomb:=[1, 1e-3]",
        "--params-file",
        str(file),
    ]
    found = uniform_arguments(given, tmp_path)
    assert found[:6] == [
        "node",
        "--ros-args",
        "-p",
        "gravity:=[0.0, 0.0, -9.81]",
        "-p",
        "friction.coulomb:=[1.0, 0.001]",
    ]
    rewritten = yaml.safe_load(Path(found[7]).read_text())
    assert rewritten == {"/**": {"ros__parameters": {"gravity": [0.0, 0.0, -9.81], "model": "x"}}}


def test_other_arguments_and_files_are_left_as_they_are(tmp_path):
    file = tmp_path / "plain.yaml"
    file.write_text("/**:\n  ros__parameters:\n    rates: [1, 2]\n")
    given = [
        "node",
        "-p",
        "a:=[1, 2]",
        "-p",
        "b:={",
        "--params-file",
        str(file),
        "--params-file",
        "absent.yaml",
    ]
    assert uniform_arguments(given, tmp_path) == given


def test_the_configuration_file_holds_known_parameters_with_good_values():
    text = (share_directory() / "config" / "feedforward.yaml").read_text()
    tree = yaml.safe_load(text)["/**"]["ros__parameters"]
    flat = {
        f"{name}.{key}" if isinstance(value, dict) else name: each
        for name, value in tree.items()
        for key, each in (value.items() if isinstance(value, dict) else [("", value)])
    }
    assert set(flat) <= set(DEFAULTS)
    values = {each.name: checked_value(each, flat.get(each.name, each.default)) for each in TABLE}
    build_settings(values, MODEL)


def test_every_parameter_is_in_the_reference():
    document = share_directory() / "docs" / "node.md"
    if not document.is_file():
        pytest.skip("the documentation is not installed, it is in the source checkout")
    text = document.read_text()
    assert [each.name for each in TABLE if f"| `{each.name}` |" not in text] == []


def test_pd_gains_that_are_not_given_accelerate_each_joint_as_computed_torque_does_an_error():
    law = build_settings(DEFAULTS | {"mode": "feedforward_pd"}, MODEL).law
    rest = np.zeros(5)
    for j in range(5):
        for gain, name in ((law.kp[j], "kp"), (law.kd[j], "kd")):
            effort = MODEL.gravity(rest)
            effort[j] += gain
            (expected,) = DEFAULTS[f"computed_torque.{name}"]
            assert MODEL.forward_dynamics(rest, rest, effort)[j] == pytest.approx(expected, rel=1e-9)
    given = build_settings(DEFAULTS | {"mode": "feedforward_pd", "feedforward_pd.kp": [7.0]}, MODEL).law
    np.testing.assert_array_equal(given.kp, [7.0] * 5)


def test_pd_gains_that_are_not_given_are_stable_with_all_joints_free_at_500_hz():
    """The arm linear about zero, its commands two periods late, from an error of 1 mrad, for four seconds.

    The slowest mode, with the least eigenvalue 3.7 1/s of M^-1 Kd, decays at half of that: by a thousand.
    """
    law = build_settings(DEFAULTS | {"mode": "feedforward_pd"}, MODEL).law
    mobility, period = np.linalg.inv(MODEL.mass_matrix(np.zeros(5))), 2e-3
    q, qd = 1e-3 * np.array([1.0, -1.0, 1.0, -1.0, 1.0]), np.zeros(5)
    on_the_way = [np.zeros(5), np.zeros(5)]
    for _ in range(2000):
        on_the_way.append(-law.kp * q - law.kd * qd)
        acceleration = mobility @ on_the_way.pop(0)
        q, qd = q + period * qd + 0.5 * period**2 * acceleration, qd + period * acceleration
    assert np.abs(q).max() < 1e-5


def test_a_misspelt_parameter_does_not_pass_unnoticed():
    context = rclpy.Context()
    rclpy.init(args=[], context=context, domain_id=own_domain())
    given = ["rate:=2.0", "rat:=3.0", "of_each.joint:=1.0", "use_sim_time:=false"]
    overrides = ["--ros-args", *(word for each in given for word in ("-p", each))]
    node = rclpy.create_node("misspelt", context=context, cli_args=overrides)
    warnings = []
    node.get_logger = lambda: SimpleNamespace(warning=warnings.append, info=lambda text: None)
    try:
        declare(node, [NUMBER], but=("of_each.",))
        (warning,) = warnings
        assert "'rat'" in warning
        assert "did you mean 'rate'?" in warning
        declare(node, [replace(NUMBER, name="of_each.joints")], only="of_each.")
        assert "did you mean 'of_each.joints'?" in warnings[-1]
        assert len(warnings) == 2
    finally:
        node.destroy_node()
        rclpy.shutdown(context=context)


@pytest.mark.parametrize("namespace", ["/", "/n", "/n/m"])
def test_a_file_is_warned_of_exactly_when_ros_takes_nothing_from_it(tmp_path, monkeypatch, namespace):
    """rclpy's own matching of sections to the node is the judge."""
    keys = [
        "/**",
        "/*",
        "arm",
        "/arm",
        "arm_node",
        "n/arm",
        "/**/arm",
        "/*/arm",
        "/n/*",
        "/n/**",
        "/n/**/arm",
    ]
    context = rclpy.Context()
    rclpy.init(args=[], context=context, domain_id=own_domain())
    try:
        for i, key in enumerate(keys):
            file = tmp_path / f"{i}.yaml"
            file.write_text(f"{key}:\n  ros__parameters: {{rate: 2.0}}\n")
            arguments = ["--ros-args", "--params-file", str(file), "-r", f"__ns:={namespace}"]
            monkeypatch.setattr("sys.argv", ["arm_node", *arguments])
            node = rclpy.create_node("arm", context=context, cli_args=arguments)
            warnings = []
            node.get_logger = lambda to=warnings: SimpleNamespace(warning=to.append, info=lambda text: None)
            declare(node, [NUMBER])
            assert (not warnings) == (node.get_parameter("rate").value == 2.0), key
            assert all(
                str(file) in each and repr(f"{namespace}/arm".replace("//", "/")) in each for each in warnings
            )
            node.destroy_node()
    finally:
        rclpy.shutdown(context=context)


def test_a_description_that_is_given_as_a_parameter_is_said_to_be_a_topic():
    context = rclpy.Context()
    rclpy.init(args=[], context=context, domain_id=own_domain())
    node = rclpy.create_node(
        "described", context=context, cli_args=["--ros-args", "-p", "robot_description:=x"]
    )
    warnings = []
    node.get_logger = lambda: SimpleNamespace(warning=warnings.append, info=lambda text: None)
    try:
        declare(node, [NUMBER])
        (warning,) = warnings
        assert "'robot_description'" in warning
        assert "it is a topic" in warning
    finally:
        node.destroy_node()
        rclpy.shutdown(context=context)


@pytest.mark.parametrize("declaration", [NUMBER, NUMBERS, CHOICE, SWITCH], ids=lambda each: each.name)
def test_a_parameter_is_not_deleted(declaration):
    """``ros2 param delete`` sets it to NOT_SET; rclpy would undeclare it, and no later change would work."""
    context = rclpy.Context()
    rclpy.init(args=[], context=context, domain_id=own_domain())
    node = rclpy.create_node("kept", context=context, start_parameter_services=False)
    table = [NUMBER, NUMBERS, CHOICE, SWITCH]

    def check(changes):
        try:
            read(node, table, {each.name: each.value for each in changes})
        except RosParameterError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    try:
        declare(node, table)
        node.add_on_set_parameters_callback(check)
        gone = Parameter(declaration.name, Parameter.Type.NOT_SET)
        result = node.set_parameters_atomically([Parameter("rate", value=2.0), gone])
        assert not result.successful
        assert f"{declaration.name!r}" in result.reason
        assert read(node, table) == {each.name: each.default for each in table}  # whole or not at all
    finally:
        node.destroy_node()
        rclpy.shutdown(context=context)


BOMB = "a0: &a0 [1, 2.5]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 40)
)


@pytest.mark.parametrize(
    "text", [BOMB, "a: " + "[" * 100_000, "a: 2020-13-45"], ids=["aliases", "depth", "date"]
)
def test_a_file_that_ros_cannot_read_is_left_to_ros_and_named_by_a_launch(tmp_path, text):
    file = tmp_path / "hostile.yaml"
    file.write_text(text)
    given = ["--params-file", str(file)]
    assert uniform_arguments(given, tmp_path) == given
    with pytest.raises(RosParameterError, match=r"hostile\.yaml"):
        file_parameters(file, "feedforward_node", "")
    assert uniform_arguments(["-p", text.replace(": ", ":=", 1)], tmp_path) == [
        "-p",
        text.replace(": ", ":=", 1),
    ]


def test_the_arm_offers_what_the_simulation_has():
    choices = {each.name: each.choices for each in HARDWARE_TABLE}
    assert choices["command.interface"] == COMMAND_INTERFACES
    assert choices["command.on_silence"] == SILENCES
    assert choices["sensor.velocity"] == VELOCITY_SOURCES


def test_a_trees_other_tips_have_payloads_in_both_nodes_and_topics_of_their_own(tmp_path):
    chain = serial_chain(load_robot(share_directory() / "urdf/two_arms.urdf"), "all")
    tree = load_model(write_module(derive(chain), "two_arms", tmp_path)[0], backend="python")
    bodies = (Payload(1.0), Payload(2.0, (0.0, 0.0, 0.1), (0.1, 0.0, 0.0, 0.1, 0.0, 0.1)))
    given = {
        "payload.mass": bodies[0].mass,
        "payload.branches": [bodies[1].mass, *bodies[1].com, *bodies[1].inertia],
    }
    hardware = {each.name: checked_value(each, each.default) for each in HARDWARE_TABLE}
    assert configured_model({**DEFAULTS, **given}, tree).parameters.payloads == bodies
    assert parametrised(tree, {**hardware, **given}).parameters.payloads == bodies
    with pytest.raises(RosParameterError) as raised:
        configured_model({**DEFAULTS, **given}, MODEL)  # which has one tip
    assert "payload.branches" in str(raised.value)
    for other in ({"engine": "mujoco"}, {"elastic": "links.yaml"}):  # silently left out, it would mislead
        with pytest.raises(RosParameterError, match=r"payload\.branches"):
            build_engine(tree, {**hardware, **given, **other})
    assert wrench_topics(tree.tips) == ["~/external_wrench/left_hand", "~/external_wrench/right_hand"]
    assert wrench_topics(MODEL.tips) == ["~/external_wrench"]
    assert len(set(wrench_topics(["a b", "a-b", "a_b"]))) == 3


@pytest.mark.parametrize(
    ("name", "value"), [("computed_torque.kp", [1.0, 2.0]), ("collision.constant", [1.0] * 6)]
)
def test_values_that_are_refused_leave_nothing_on_the_node(name, value):
    """A publisher that stayed would look like another node's after the next, good configuration."""
    node = StandInNode()
    with pytest.raises(RosParameterError):
        Controller(node, None, MODEL, DEFAULTS | {name: value})
    assert (node.topics, node.services) == ({}, {})
