"""The nodes' time: one clock for stamps, one that never steps, fixed steps and a meter."""

import time
from collections.abc import Callable
from typing import NamedTuple

from rclpy.clock import Clock, JumpHandle, JumpThreshold, ROSClock, TimeJump
from rclpy.duration import Duration

# The node's time: one clock for stamps and trajectories, one that never steps.
#
# Under system time the trajectory clock runs on the steady clock, from the system clock's reading; a
# step of the system clock is noticed and reported, and does not disturb a running motion. Under
# simulated time it is the ROS clock, and timeouts count its seconds.


NANOSECONDS = 1_000_000_000  # in a second
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

    def steady(self) -> float:
        """The time of timeouts [s]. Under simulated time it is that: a slow machine times nothing out."""
        return self.now_ns() * 1e-9 if self.simulated else time.monotonic()

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


# Which fixed steps are due, from a clock that the caller reads.


class Pacer:
    """Hands out the steps that real time owes, each with the moment at which it was due.

    At most ``burst`` steps at a time, so that commands get their turn while a delay is made up for. A delay
    longer than ``patience`` is not made up for: the time missed is dropped and counted.
    """

    def __init__(self, step: int, patience: int, burst: int) -> None:
        """``step`` and ``patience`` in nanoseconds."""
        self._step, self._patience, self._burst = step, patience, burst
        self._next: int | None = None
        self.dropped = 0  # steps

    def due(self, now: int) -> list[int]:
        """The moments [ns] of the steps to make at ``now`` [ns] of a monotonic clock."""
        if self._next is None:
            self._next = now
        late = now - self._next
        if late > self._patience:
            self.dropped += late // self._step
            self._next = now
        count = min(self._burst, max(0, (now - self._next) // self._step + 1))
        first, self._next = self._next, self._next + count * self._step
        return [first + k * self._step for k in range(count)]


# How often commands went out and how long each took, since the last reading.


class Reading(NamedTuple):
    """Rate [Hz], mean and largest time from a state's arrival in the node to its command [s]."""

    rate: float
    mean_latency: float
    largest_latency: float


class Meter:
    """Counts one command after another."""

    def __init__(self, time: float) -> None:
        self.total = 0
        self._since = time
        self._count, self._sum, self._largest = 0, 0.0, 0.0

    def count(self, latency: float) -> None:
        self._count += 1
        self._sum += latency
        if latency > self._largest:
            self._largest = latency

    def read(self, time: float) -> Reading:
        """The figures since the last reading, and start anew."""
        count, elapsed = self._count, time - self._since
        reading = Reading(
            count / elapsed if elapsed > 0.0 else 0.0, self._sum / count if count else 0.0, self._largest
        )
        self.total += count
        self._since, self._count, self._sum, self._largest = time, 0, 0.0, 0.0
        return reading
