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
from kane_dynamics_ros.nodes.messages import nanoseconds_of, set_nanoseconds
from kane_dynamics_ros.runtime import load_model

MODEL = load_model("manipulator_5dof")
VALUES = {each.name: each.default for each in TABLE} | {
    "safety.on_tracking_error": "ignore",
    "safety.overrun_period": 0.0,
    "observer.run": "always",
    "observer.effort": "commanded",
}
HOUR = 3600 * 1_000_000_000
MILLISECOND = 1_000_000
FASTEST = 1.875 * 0.2 / 2.0  # [rad/s] of a quintic from rest to rest, by 0.2 rad in 2 s


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


class Bench:
    """A controller that follows a motion, with states of a driver that stamps them, or does not, at 1 kHz."""

    def __init__(self, clocks, *, stamps=True, ahead=0, stamped=False):
        self.now, self.pass_time = clocks
        self.ahead = ahead  # of the driver's clock [ns]; the states take a fifth of a millisecond to the node
        self.stamps = stamps
        self.node, self.clock = StandInNode(), NodeClock(ROSClock())
        self.controller = Controller(self.node, self.clock, MODEL, VALUES)
        self.controller.external.look_for_subscribers()
        here = np.array([joint.initial_position or 0.0 for joint in MODEL.joints])
        self.state = JointState(name=list(MODEL.joint_names), position=here, velocity=0.0 * here)
        self.answer()
        there = RequestPoint(2_000 * MILLISECOND, (here + 0.2).tolist(), [0.0] * 5, [0.0] * 5)
        request = TrajectoryRequest(MODEL.joint_names, [there], self.now["system"] if stamped else 0)
        self.controller.follow(self.controller.prepare_trajectory(request, 1, None))

    def answer(self, step=0):
        """Let a state come, of before the ``step`` of the system clock where there is one; its stamp."""
        stamp = self.now["system"] + self.ahead - MILLISECOND // 5 - step if self.stamps else 0
        set_nanoseconds(self.state.header.stamp, stamp)
        self.controller.on_states([(self.state, {})])
        return stamp

    def run(self, step, states=1500, on_the_way=True):
        """The reference after each state (states, n); the system clock is stepped ten times a second.

        A state may then be on the way, with a stamp of before the step.
        """
        positions = []
        for k in range(states):
            stepped = step if k % 100 == 50 else 0
            self.pass_time(MILLISECOND, step=stepped)
            self.answer(stepped if on_the_way else 0)
            positions.append(self.controller.loop.last.reference[0])
        return np.array(positions)

    @property
    def external(self):
        """The observer's messages."""
        return self.node.topics["~/external_torque"].messages


@pytest.mark.parametrize("stamped", [False, True])
@pytest.mark.parametrize(("stamps", "on_the_way"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("step", [-40 * MILLISECOND, 40 * MILLISECOND])
def test_a_motion_goes_on_over_small_steps_of_the_system_clock(clocks, step, stamps, on_the_way, stamped):
    """The reference moves by what the steady time between two states makes of it, and by no more."""
    bench = Bench(clocks, stamps=stamps, stamped=stamped)
    moved = np.diff(bench.run(step, on_the_way=on_the_way), axis=0)
    assert 0.9e-3 * FASTEST < moved.max() < 1.01e-3 * FASTEST
    assert moved.min() >= 0.0
    assert not bench.controller.reader.refusals


@pytest.mark.parametrize("step", [-40 * MILLISECOND, 40 * MILLISECOND])
def test_the_clock_of_another_machines_driver_may_stay_where_it_is(clocks, step):
    bench = Bench(clocks)
    positions = [bench.run(0, states=1000)]
    bench.now["system"] += step
    bench.ahead = -step
    positions.append(bench.run(0, states=100))
    moved = np.diff(np.vstack(positions), axis=0)
    assert 0.9e-3 * FASTEST < moved.max() < 1.01e-3 * FASTEST
    assert moved.min() >= 0.0
    assert not bench.controller.reader.refusals


def test_states_of_before_a_large_step_are_refused_and_those_after_it_are_not(clocks):
    bench = Bench(clocks)
    bench.run(-HOUR, states=100)
    assert bench.controller.reader.refusals == {"future_stamp": 1}
    assert len(bench.node.warnings) == 1


@pytest.mark.parametrize("step", [-40 * MILLISECOND, 0, 40 * MILLISECOND])
def test_the_observer_loses_two_states_at_a_step_of_the_system_clock(clocks, step):
    """That at which it is noticed, whose stamp may be of before it, and the one that begins anew."""
    bench = Bench(clocks)
    bench.run(step, states=100)
    assert len(bench.external) == 100 - (2 if step else 0)
    times = [nanoseconds_of(each.header.stamp) for each in bench.external]
    assert set(np.diff(times)) - {MILLISECOND} <= {step + 3 * MILLISECOND}


def test_what_is_observed_has_the_stamp_of_a_driver_whose_clock_is_ahead(clocks):
    bench = Bench(clocks, ahead=5 * MILLISECOND)
    bench.pass_time(MILLISECOND)
    assert bench.answer() == nanoseconds_of(bench.external[-1].header.stamp)
