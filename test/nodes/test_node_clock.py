"""The node's time when the system clock is stepped; clocks are the test's."""

import time

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

from rclpy.clock import ROSClock
from sensor_msgs.msg import JointState
from stand_in_node import StandInNode

from kane_dynamics_ros.control.validation import RequestPoint, TrajectoryRequest
from kane_dynamics_ros.nodes.feedforward.controller import Controller, NodeClock
from kane_dynamics_ros.nodes.feedforward.parameters import TABLE
from kane_dynamics_ros.runtime import load_model

MODEL = load_model("manipulator_5dof")
VALUES = {each.name: each.default for each in TABLE} | {
    "safety.on_tracking_error": "ignore",
    "safety.overrun_period": 0.0,
}
HOUR = 3600 * 1_000_000_000
MILLISECOND = 1_000_000


@pytest.fixture
def clocks(monkeypatch):
    """System and steady time [ns] under the test's control."""
    now = {"system": 1_700_000_000 * 1_000_000_000, "steady": 5 * HOUR}
    monkeypatch.setattr(time, "time_ns", lambda: now["system"])
    monkeypatch.setattr(time, "monotonic_ns", lambda: now["steady"])

    def pass_time(nanoseconds, step=0):
        now["steady"] += nanoseconds
        now["system"] += nanoseconds + step

    return now, pass_time


def test_time_goes_on_evenly_when_the_system_clock_is_stepped_back(clocks):  # field report 109
    now, pass_time = clocks
    clock = NodeClock(ROSClock())
    before = clock.now_ns()
    pass_time(MILLISECOND, step=-HOUR)
    assert clock.now_ns() == before + MILLISECOND
    assert clock.check() == -HOUR
    assert clock.now_ns() == now["system"]
    assert clock.check() == 0


def test_a_small_step_of_the_system_clock_is_told_too(clocks):
    now, pass_time = clocks
    clock = NodeClock(ROSClock())
    pass_time(MILLISECOND, step=MILLISECOND)
    assert clock.check() == MILLISECOND
    assert clock.now_ns() == now["system"]
    assert clock.check() == 0


def test_readings_between_which_another_process_ran_are_no_step(clocks, monkeypatch):
    now, pass_time = clocks
    clock = NodeClock(ROSClock())

    def interrupted():
        pass_time(MILLISECOND)
        return now["system"]

    monkeypatch.setattr(time, "time_ns", interrupted)
    assert clock.check() == 0


@pytest.mark.parametrize("stamped", [False, True])
@pytest.mark.parametrize("step", [-40 * MILLISECOND, 40 * MILLISECOND])
def test_a_motion_goes_on_over_small_steps_of_the_system_clock(clocks, step, stamped):
    """The reference moves by what the steady time between two states makes of it, and by no more."""
    now, pass_time = clocks
    clock, node = NodeClock(ROSClock()), StandInNode()
    controller = Controller(node, clock, MODEL, VALUES)
    here = np.array([joint.initial_position or 0.0 for joint in MODEL.joints])
    state = JointState(name=list(MODEL.joint_names), position=here, velocity=0.0 * here)
    controller.on_states([(state, {})])
    there = RequestPoint(2_000 * MILLISECOND, (here + 0.2).tolist(), [0.0] * 5, [0.0] * 5)
    request = TrajectoryRequest(MODEL.joint_names, [there], now["system"] if stamped else 0)
    controller.follow(controller.prepare_trajectory(request, 1, None))
    positions = []
    for k in range(1500):
        pass_time(MILLISECOND, step=step if k % 100 == 50 else 0)
        if (found := clock.check()) != 0:
            assert not controller.shift_clock(found)
        controller.on_states([(state, {})])
        positions.append(controller.loop.last.reference[0])
    moved = np.diff(positions, axis=0)
    fastest = 1.875 * 0.2 / 2.0  # [rad/s] of a quintic from rest to rest
    assert 0.9e-3 * fastest < moved.max() < 1.01e-3 * fastest
    assert moved.min() >= 0.0
