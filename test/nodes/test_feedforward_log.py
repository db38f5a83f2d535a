"""What the log says about effort limits when the model has been loaded."""

import shlex
import time
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from own_domain import own_domain

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

import rclpy
from rclpy.clock import ROSClock
from sensor_msgs.msg import JointState
from stand_in_node import StandInNode

from kane_dynamics_ros.control.goals import Ticket, refusal
from kane_dynamics_ros.control.law import Law, TermSwitches, gain_unit, too_stiff
from kane_dynamics_ros.control.loop import ControlLoop
from kane_dynamics_ros.control.validation import SECOND_NS, RequestPoint, TrajectoryError, TrajectoryRequest
from kane_dynamics_ros.nodes.feedforward.condition import LEAST_DAMPING, Condition, weak_damping_text
from kane_dynamics_ros.nodes.feedforward.controller import Controller, NodeClock
from kane_dynamics_ros.nodes.feedforward.parameters import TABLE, build_settings
from kane_dynamics_ros.nodes.feedforward.trajectories import TrajectoryStatus
from kane_dynamics_ros.nodes.feedforward_node import FeedforwardNode
from kane_dynamics_ros.nodes.parameters import declare, read
from kane_dynamics_ros.runtime import load_model

MODEL = load_model("manipulator_5dof")


def node_that_logs(warnings):
    """A stand-in for the node, whose warnings are kept."""
    return SimpleNamespace(
        get_logger=lambda: SimpleNamespace(warning=lambda text, **_: warnings.append(text)),
        create_publisher=lambda *_: None,
        get_fully_qualified_name=lambda: "/feedforward_node",
        resolve_topic_name=lambda name: f"/{name}",
    )


def told(limits):
    warnings = []
    settings = build_settings({each.name: each.default for each in TABLE}, MODEL)
    loop = SimpleNamespace(settings=replace(settings, effort_limits=np.array(limits)))
    condition = Condition(node_that_logs(warnings))
    condition.log_limits(SimpleNamespace(loop=loop, model=MODEL))
    return warnings


def test_limits_that_are_not_known_are_told_once_for_all_joints():
    assert told([np.inf, 1e3, 1e3, 1e3, np.inf]) == [
        "the URDF gives no effort limit, or 0, for joints 'gamma_1', 'gamma_4': not clamped"
    ]


def test_a_joint_that_gravity_alone_overloads_is_named():
    (warning,) = told([1e3, 10.0, 1e3, 1e3, 1e3])
    assert warning.startswith("joint alpha_2: gravity alone needs up to ")
    assert warning.endswith(", the effort limit is 10")


def seldom(q, names=MODEL.joint_names, **values):
    """What is warned of while an arm is at ``q``."""
    warnings = []
    settings = build_settings(
        {each.name: each.default for each in TABLE} | {"mode": "gravity_compensation"} | values, MODEL
    )
    condition = Condition(node_that_logs(warnings))
    reader = SimpleNamespace(q=np.array(q), missing=lambda time: [])
    controller = SimpleNamespace(
        loop=SimpleNamespace(settings=settings),
        model=MODEL,
        reader=reader,
        rate=500.0,  # [Hz]
        missing=list,  # no joint
    )
    for _ in range(5):
        condition.log_seldom(controller)
    return warnings


def test_positions_in_degrees_are_told_with_joint_value_and_limits():
    text = seldom([0.0, 76.8, 0.0, 0.0, 0.0])[0]
    joint = MODEL.joints[1]
    assert f"joint alpha_2 is at 76.8 rad, its limits are {joint.lower:g} to {joint.upper:g}" in text


def test_positions_within_the_limits_are_not_worth_a_word():
    assert seldom([0.1, 0.8, -0.9, 0.2, 0.1]) == []


@pytest.mark.parametrize("gravity", [True, False])
def test_a_limit_that_cannot_hold_the_arm_where_it_is_is_told_by_joint(gravity):
    """To a command without gravity the robot adds it: then it needs none of the limit."""
    q = np.array([0.1, 0.8, -0.9, 0.2, 0.1])
    needed = np.abs(MODEL.gravity(q))
    limits = (needed + 1.0) * np.array([1.0, 1.0, 0.0, 1.0, 1.0])
    told = seldom(q, **{"limits.effort": limits.tolist(), "terms.gravity": gravity})
    assert any(f"joint alpha_3 needs {needed[2]:.3g} N m" in text for text in told) == gravity
    assert not any("alpha_2" in text for text in told)


@pytest.mark.parametrize(("mode", "holds"), [("computed_torque", True), ("gravity_compensation", False)])
def test_the_end_of_a_reaction_says_that_a_position_is_held_where_one_is(mode, holds):
    loop = ControlLoop(build_settings({each.name: each.default for each in TABLE} | {"mode": mode}, MODEL))
    controller = SimpleNamespace(
        loop=loop,
        reader=SimpleNamespace(refusals=Counter(), last_refusal=""),
        external=SimpleNamespace(collision=None),
        created=time.monotonic(),
    )
    lines = []
    log = SimpleNamespace(error=lambda text, **_: lines.append(text), info=lines.append)
    node = node_that_logs([])
    node.get_logger = lambda: log
    condition, q = Condition(node), np.zeros(5)
    for k in range(500):
        if not 100 < k < 250:
            loop.step(q, q, k * 1_000_000, k * 1e-3)
        loop.watch(k * 1e-3)
        condition.watch(controller)
    fault, end = lines
    assert fault.startswith("stale_state")
    assert ("holding the measured position" in end) == holds


@pytest.mark.parametrize(("mode", "holds"), [("computed_torque", True), ("gravity_compensation", False)])
@pytest.mark.parametrize(
    ("obstacle", "before"), [(None, True), ("hardware is inactive", True), ("no", False)]
)
def test_an_obstacle_to_commands_says_that_a_position_is_held_where_one_is(obstacle, before, mode, holds):
    lines = []
    node = SimpleNamespace(
        get_logger=lambda: SimpleNamespace(info=lines.append, error=lines.append),
        get_parameter=lambda name: SimpleNamespace(value={"mode": mode}[name]),
        _follower=SimpleNamespace(has_been_clear=before),
        _controller=None,
    )
    FeedforwardNode._on_obstacle(node, obstacle)
    assert ["holding the measured position" in line for line in lines] == [holds]


def test_a_trajectory_before_the_first_state_is_refused_with_what_came_instead():
    values = {each.name: each.default for each in TABLE}
    controller = Controller(StandInNode(), NodeClock(ROSClock()), MODEL, values)
    controller.on_states([(JointState(name=["left"], position=[0.0]), {})])
    request = TrajectoryRequest(MODEL.joint_names, [RequestPoint(SECOND_NS, [0.0] * 5)])
    controller.follow(controller.prepare_trajectory(request, 1, None))
    (outcome,) = controller.loop.goals.pop_outcomes()
    assert (outcome.state, outcome.cause) == ("refused", "no_state")
    assert "'left'" in outcome.reason


def test_what_a_sender_is_refused_again_and_again_is_logged_once():
    node = StandInNode()
    node.get_fully_qualified_name = lambda: "/feedforward_node"
    status = TrajectoryStatus(node)
    for number in range(4):
        error = TrajectoryError(f"the state is {number} s old", "no_state")
        status.publish(refusal(Ticket(number, 0, "sender 1"), error))
    assert len(node.warnings) == 1
    status.publish(refusal(Ticket(4, 0, "sender 2"), error))
    status.publish(refusal(Ticket(5, 0, "sender 2"), TrajectoryError("unknown joint", "unknown_joint")))
    assert len(node.warnings) == 3
    assert len(node.topics["~/trajectory_status"].messages) == 6


@pytest.mark.parametrize("mode", ["feedforward_pd", "computed_torque"])
@pytest.mark.parametrize(
    ("kp", "kd", "too_high"),
    [
        ([12.3], [1.23], False),  # not too high for 1 kHz: they lack damping
        ([400.0], [0.0], False),
        ([1e6, 400.0, 400.0, 0.0, 123.456], [2e3, 40.0, 0.0, 0.0, 20.0], True),
    ],
)
def test_the_advice_for_weak_damping_can_be_pasted_and_helps(mode, kp, kd, too_high):
    """kp and kd are in 1/s^2 and 1/s; none of the kp that it tells is above the present one."""
    q = np.zeros(5)
    unit = gain_unit(Law(mode, MODEL, q, q, TermSwitches()), q)
    values = {each.name: each.default for each in TABLE} | {"mode": mode}
    present = {f"{mode}.kp": kp * unit, f"{mode}.kd": kd * unit}
    law = build_settings(values | {name: each.tolist() for name, each in present.items()}, MODEL).law
    text = weak_damping_text(law, q, 1000.0)
    assert ("raise the rate" in text) == too_high
    words = shlex.split(text[text.index("set -p ") + len("set ") :])
    context = rclpy.Context()
    rclpy.init(args=[], context=context, domain_id=own_domain())
    try:
        node = rclpy.create_node("pasted", context=context, cli_args=["--ros-args", *words])
        declare(node, TABLE)
        told = {name: read(node, TABLE)[name] for name in present}
        node.destroy_node()
    finally:
        rclpy.shutdown(context=context)
    assert (np.array(told[f"{mode}.kp"]) <= present[f"{mode}.kp"] * (1.0 + 1e-12)).all()
    advised = build_settings(values | told, MODEL).law
    assert too_stiff(advised, q, 1e-3, 0.98 * LEAST_DAMPING) is None  # three digits of each
