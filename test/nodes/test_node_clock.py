"""The node's time when the system clock is stepped; clocks are the test's."""

import time

import pytest

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

from rclpy.clock import ROSClock

from kane_dynamics_ros.nodes.feedforward.controller import NodeClock

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


def test_the_system_clocks_own_steering_is_followed_silently(clocks):
    now, pass_time = clocks
    clock = NodeClock(ROSClock())
    pass_time(MILLISECOND, step=MILLISECOND)
    assert clock.check() == 0
    assert clock.now_ns() == now["system"]
