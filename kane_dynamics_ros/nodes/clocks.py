"""The node's time: one clock for stamps and trajectories, one that never steps.

Under system time the trajectory clock runs on the steady clock, from the system clock's reading; a
step of the system clock is noticed and reported, and does not disturb a running motion. Under
simulated time it is the ROS clock.
"""

import time
from collections.abc import Callable

from rclpy.clock import Clock, JumpHandle, JumpThreshold, ROSClock, TimeJump
from rclpy.duration import Duration

STEP_NS = 50_000_000  # larger differences are a step, smaller ones the clock's own steering


class NodeClock:
    """``now_ns`` for stamps and trajectories [ns], ``steady`` for timeouts [s]."""

    def __init__(self, clock: Clock) -> None:
        if not isinstance(clock, ROSClock):
            raise TypeError("a node's clock is a ROSClock")
        self._clock = clock
        self._offset_ns = time.time_ns() - time.monotonic_ns()
        self.simulated = clock.ros_time_is_active

    def now_ns(self) -> int:
        """The time of stamps and trajectories [ns]."""
        if self.simulated:
            nanoseconds: int = self._clock.now().nanoseconds
            return nanoseconds
        return time.monotonic_ns() + self._offset_ns

    def check(self) -> int:
        """Follow the system clock; how far it was stepped since the last check [ns], 0 when it was not."""
        self.simulated = self._clock.ros_time_is_active
        offset_ns = time.time_ns() - time.monotonic_ns()
        step_ns, self._offset_ns = offset_ns - self._offset_ns, offset_ns
        return step_ns if abs(step_ns) > STEP_NS and not self.simulated else 0


def on_jump_back(clock: Clock, react: Callable[[float], None]) -> JumpHandle:
    """Call ``react`` with the jump [s] whenever simulated time jumps back. Keep the handle."""

    def after(jump: TimeJump) -> None:
        if jump.delta.nanoseconds < 0:
            react(jump.delta.nanoseconds * 1e-9)

    threshold = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=False)
    return clock.create_jump_callback(threshold, post_callback=after)
