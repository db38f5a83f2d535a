"""What makes the simulated arm's time pass: the wall's clock, or a ``/clock`` of its own.

``WallTime`` follows the steady clock, ``ScaledTime`` publishes ``/clock`` at a multiple of the wall's pace,
``LockStepTime`` publishes it from one joint state to the next, when the command that answers has come.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Literal

from builtin_interfaces.msg import Time
from rclpy.node import Node
from rclpy.time import Time as RosTime
from rosgraph_msgs.msg import Clock as ClockMessage

from kane_dynamics_ros.control.validation import SECOND_NS
from kane_dynamics_ros.nodes.process import steady_timer
from kane_dynamics_ros.runtime.node_parameters import wrong_parameter
from kane_dynamics_ros.text import counted

CATCH_UP_NS = 50_000_000  # [ns] a delay up to this long is made up for
BURST = 5  # steps in one go while a delay is made up for
UNDISTURBED_NS = 100_000  # [ns] between two readings of clocks that belong together
TICK = 0.02  # [s] how often lock step looks for a command that did not come
SETTLE_NS = 200_000_000  # [ns] see LockStep
REPEAT_NS = SECOND_NS  # [ns] see LockStep
PAUSED_REPEAT_NS = SECOND_NS // 4
LONGEST_PAUSE_NS = 60 * SECOND_NS
LONG_WAIT_NS = 5 * SECOND_NS  # [ns] without a command, after which it is logged
REPORT_PERIOD = 5.0  # [s] between two log messages of one kind

StepResult = Literal["stepped", "sent", "suppressed"]  # no joint state was due; it went out; a fault kept it
Decision = Literal["wait", "repeat", "advance"]


class SimulationTime(ABC):
    """Calls the arm's steps, and stamps its messages. By default it does not wait."""

    @abstractmethod
    def stamp(self) -> Time:
        """The stamp of a joint state of this moment."""

    def announce(self) -> None:  # noqa: B027
        """A joint state is about to go out."""

    def commanded(self) -> None:  # noqa: B027
        """A good command has just been taken."""

    def pause(self, wanted: bool) -> None:
        """Stand still, or go on. Raises ``RosParameterError`` where time cannot stand still."""
        if wanted:
            raise wrong_parameter("time.paused", wanted, "false, unless time.mode is lock_step")

    @abstractmethod
    def lost(self) -> str:
        """What went wrong with time since the start, to be logged at the end; empty when nothing did."""


class Pacer:
    """Hands out the steps that real time owes, each with the moment at which it was due.

    At most ``burst`` steps at a time, so that commands get their turn while a delay is made up for. A delay
    longer than ``longest`` is not made up for: the time missed is dropped and counted.
    """

    def __init__(self, step: int, longest: int, burst: int) -> None:
        """``step`` and ``longest`` in nanoseconds."""
        self._step, self._longest, self._burst = step, longest, burst
        self._next: int | None = None
        self.dropped = 0  # steps

    def due(self, now: int) -> list[int]:
        """The moments [ns] of the steps to make at ``now`` [ns] of a monotonic clock."""
        if self._next is None:
            self._next = now
        late = now - self._next
        if late > self._longest:
            self.dropped += late // self._step
            self._next = now
        count = min(self._burst, max(0, (now - self._next) // self._step + 1))
        first, self._next = self._next, self._next + count * self._step
        return [first + k * self._step for k in range(count)]


class WallTime(SimulationTime):
    """Steps as the steady clock passes; stamps say when a step was due, on the node's clock."""

    def __init__(self, node: Node, step: float, advance: Callable[[], StepResult]) -> None:
        self._node, self._advance = node, advance
        self._pacer = Pacer(round(step * SECOND_NS), CATCH_UP_NS, BURST)
        self._due = time.monotonic_ns()
        self._offset = node.get_clock().now().nanoseconds - self._due  # of the node's clock
        steady_timer(node, step, self._on_timer)

    def stamp(self) -> Time:
        before = time.monotonic_ns()
        offset = self._node.get_clock().now().nanoseconds - before
        if time.monotonic_ns() - before < UNDISTURBED_NS:  # else another process ran between the readings
            self._offset = offset
        return _stamp(self._due + self._offset)

    def lost(self) -> str:
        dropped = self._pacer.dropped
        steps = f"{dropped} step{' was' if dropped == 1 else 's were'}"
        return f"{steps} left out because the machine was too slow" if dropped else ""

    def _on_timer(self) -> None:
        dropped = self._pacer.dropped
        for due in self._pacer.due(time.monotonic_ns()):
            self._due = due
            self._advance()
        if self._pacer.dropped > dropped:
            self._node.get_logger().warning(self.lost(), throttle_duration_sec=REPORT_PERIOD)


class ScaledTime(SimulationTime):
    """Its own ``/clock``, which advances with the wall's times ``rate``, and does not wait.

    Where the machine is too slow for the rate, the clock is too: no step is left out. ``now`` is the arm's
    time [s], ``advance`` makes one step of ``step`` [s].
    """

    def __init__(
        self,
        node: Node,
        now: Callable[[], float],
        step: float,
        advance: Callable[[], StepResult],
        rate: float,
    ) -> None:
        self._now, self._advance, self._rate = now, advance, rate
        self._pacer = Pacer(round(step / rate * SECOND_NS), CATCH_UP_NS, BURST)
        self._clock = node.create_publisher(ClockMessage, "/clock", 10)
        steady_timer(node, step / rate, self._on_timer)

    def stamp(self) -> Time:
        return _stamp(round(self._now() * SECOND_NS))

    def lost(self) -> str:
        dropped = self._pacer.dropped
        return f"/clock ran slower than time.rate {self._rate:g}: the machine was too slow" if dropped else ""

    def _on_timer(self) -> None:
        for _ in self._pacer.due(time.monotonic_ns()):
            self._advance()
            self._clock.publish(ClockMessage(clock=self.stamp()))


class LockStep:
    """Decides from the moments [ns of a monotonic clock] of states, commands and ticks.

    An unanswered state is repeated each second: the controller may not be up yet, or have been deactivated or
    restarted. The repetitions may all be answered, so the commands of the first ``settle`` after the first
    one are taken as answers to the same state. It is waited for without end where ``timeout`` is 0: then the
    outcome does not depend on the machine's speed. Otherwise it is given up after ``timeout``, once there was
    a command ever, and the arm advances under the command before; such runs are not repeatable, so they are
    counted in ``timeouts``. A state in which a fault is reported may stay unanswered, and is given up after a
    second. While paused, nothing advances, and the state is repeated for those who come late; an answer that
    came meanwhile counts afterwards.
    """

    def __init__(self, timeout: int, settle: int) -> None:
        self._timeout, self._settle = timeout, settle
        self._since = 0  # when the state was due
        self._sent = 0  # and when it went out last
        self._repeated = self._started = self._faulty = False
        self._settled_at: int | None = None
        self._answered = False
        self._paused_at: int | None = None
        self.timeouts = 0

    def reported(self, now: int, sent: bool, faulty: bool = False) -> None:
        """A new state was due; ``sent`` False when a fault suppressed it, so that no answer will come."""
        self._since, self._sent, self._settled_at = now, now, None if sent else now
        self._answered, self._faulty, self._repeated = False, faulty, False

    def commanded(self, now: int) -> Decision:
        """A command came: advance, or wait for the answers to a repeated state to run dry."""
        if self._repeated and not self._answered:
            self._settled_at = now + self._settle
        self._started = True
        self._answered = True
        return "wait" if self._settled_at is not None or self._paused_at is not None else "advance"

    def tick(self, now: int) -> Decision:
        """Time passed without a command: what to do."""
        if self._paused_at is not None:
            if now - self._paused_at >= LONGEST_PAUSE_NS:  # the process that paused it has died
                return self.resume(now)
            return self._repeat_after(PAUSED_REPEAT_NS, now)
        if self._settled_at is not None:
            return "advance" if now >= self._settled_at else "wait"
        if not self._started or not (self._timeout or self._faulty):
            return self._repeat_after(REPEAT_NS, now)
        if now - self._since < (self._timeout or REPEAT_NS):
            return "wait"
        if not self._faulty:
            self.timeouts += 1
        return "advance"

    def _repeat_after(self, longest: int, now: int) -> Decision:
        if now - self._sent < longest:
            return "wait"
        self._sent, self._repeated = now, True
        return "repeat"

    def waiting(self, now: int) -> int:
        """How long an answer has been waited for [ns]; 0 while none is, or before the first one."""
        asleep = self._paused_at is not None or self._settled_at is not None
        return 0 if asleep or not self._started else now - self._since

    def pause(self, now: int) -> None:
        """Stand still, at most for a minute."""
        self._paused_at, self._repeated = now, False

    def resume(self, now: int) -> Decision:
        """Go on: at once when the answer came meanwhile."""
        if self._paused_at is None:
            return "wait"
        self._paused_at, self._since = None, now
        if self._answered and self._repeated:
            self._settled_at = now + self._settle
        return "advance" if self._answered and self._settled_at is None else "wait"


class LockStepTime(SimulationTime):
    """Its own ``/clock``, which advances from one joint state to the next when the command has come.

    ``now`` is the arm's time [s], ``advance`` makes one step, ``repeat`` sends the last joint state again,
    ``faulty`` tells whether a fault is in what is reported.
    """

    def __init__(
        self,
        node: Node,
        now: Callable[[], float],
        advance: Callable[[], StepResult],
        repeat: Callable[[], None],
        faulty: Callable[[], bool],
        timeout: float,
    ) -> None:
        self._node, self._now, self._advance, self._repeat = node, now, advance, repeat
        self._faulty = faulty
        self._lock_step = LockStep(round(timeout * SECOND_NS), SETTLE_NS)
        self._clock = node.create_publisher(ClockMessage, "/clock", 10)
        steady_timer(node, TICK, self._on_timer)

    def stamp(self) -> Time:
        return _stamp(round(self._now() * SECOND_NS))

    def announce(self) -> None:
        self._clock.publish(ClockMessage(clock=self.stamp()))

    def commanded(self) -> None:
        if self._lock_step.commanded(time.monotonic_ns()) == "advance":
            self._to_next_state()

    def pause(self, wanted: bool) -> None:
        now = time.monotonic_ns()
        if wanted:
            self._lock_step.pause(now)
        elif self._lock_step.resume(now) == "advance":
            self._to_next_state()

    def lost(self) -> str:
        timeouts = self._lock_step.timeouts
        states = counted(timeouts, "state")
        return f"{states} stayed without a command: this run is not repeatable" if timeouts else ""

    def _on_timer(self) -> None:
        waiting = self._lock_step.waiting(time.monotonic_ns())
        if waiting > LONG_WAIT_NS:
            self._node.get_logger().warning(
                f"time stands still: no command has come for {waiting / SECOND_NS:.0f} s",
                throttle_duration_sec=REPORT_PERIOD,
            )
        action = self._lock_step.tick(time.monotonic_ns())
        if action == "repeat":
            self._repeat()
        elif action == "advance":
            if self.lost():
                self._node.get_logger().warning(self.lost(), throttle_duration_sec=REPORT_PERIOD)
            self._to_next_state()

    def _to_next_state(self) -> None:
        outcome: StepResult = "stepped"
        while outcome == "stepped":
            outcome = self._advance()
        self._lock_step.reported(time.monotonic_ns(), outcome == "sent", self._faulty())


def _stamp(nanoseconds: int) -> Time:
    return RosTime(nanoseconds=max(nanoseconds, 0)).to_msg()
