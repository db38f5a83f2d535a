"""The node's time: one clock for stamps and trajectories, one that never steps.

Under system time the trajectory clock runs on the steady clock, from the system clock's reading; a
step of the system clock is noticed and reported, and does not disturb a running motion. Under
simulated time it is the ROS clock.
"""

import time

from rclpy.clock import ROSClock

STEP_NS = 50_000_000  # larger differences are a step, smaller ones the clock's own steering


class NodeClock:
    """``now_ns`` for stamps and trajectories [ns], ``steady`` for timeouts [s]."""

    def __init__(self, clock: ROSClock) -> None:
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
