"""The clocks of the simulated arm: the wall's, and its own ``/clock``, in lock step or at a rate."""

import time
from collections.abc import Callable
from typing import Literal, Protocol

from builtin_interfaces.msg import Time
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage

from kane_dynamics_ros.nodes.clocks import Pacer
from kane_dynamics_ros.nodes.parameters import ParameterError

# When a simulation in lock step may advance: each joint state waits for the command that answers it.


Action = Literal["wait", "repeat", "advance"]


class LockStep:
    """Decides from the moments [ns of a monotonic clock] of states, commands and ticks.

    Until the first command ever, an unanswered state is repeated each second: the controller may not be up
    yet. Its repetitions may all be answered, so the commands of the first ``settle`` after the first one are
    taken as answers to the same state. Later an unanswered state is waited for without end where ``timeout``
    is 0: then the outcome does not depend on the machine's speed. Otherwise it is given up after ``timeout``
    and the arm advances under the command before; such runs are not repeatable, so they are counted in
    ``timeouts``. A state in which a fault is reported may be answered by nobody, and is given up after a
    second. While paused, nothing advances, and the state is repeated for those who come late; an answer that
    came meanwhile counts afterwards.
    """

    def __init__(self, timeout: int, settle: int) -> None:
        self._timeout, self._settle = timeout, settle
        self._since = 0
        self._repeated = self._started = self._faulty = False
        self._settled_at: int | None = None
        self._answered = False
        self._paused_at: int | None = None
        self.timeouts = 0

    def reported(self, now: int, sent: bool, faulty: bool = False) -> None:
        """A new state was due; ``sent`` False when a fault swallowed it, so that nobody will answer."""
        self._since, self._settled_at = now, None if sent else now
        self._answered, self._faulty, self._repeated = False, faulty, False

    def commanded(self, now: int) -> Action:
        """A command came: advance, or wait for the answers to a repeated state to run dry."""
        first, self._started = not self._started, True
        if first and self._repeated:
            self._settled_at = now + self._settle
        self._answered = True
        return "wait" if self._settled_at is not None or self._paused_at is not None else "advance"

    def tick(self, now: int) -> Action:
        """Time passed without a command: what to do."""
        if self._paused_at is not None:
            if now - self._paused_at >= _LONGEST_PAUSE:  # whoever paused it has died
                return self.resume(now)
            if now - self._since < _PAUSED_REPEAT:
                return "wait"
            self._since, self._repeated = now, True
            return "repeat"
        if self._settled_at is not None:
            return "advance" if now >= self._settled_at else "wait"
        patience = _REPEAT if not self._started or (self._faulty and not self._timeout) else self._timeout
        if not patience or now - self._since < patience:
            return "wait"
        self._since = now
        if not self._started:
            self._repeated = True
            return "repeat"
        if not self._faulty:
            self.timeouts += 1
        return "advance"

    def waiting(self, now: int) -> int:
        """How long an answer has been waited for [ns]; 0 while none is, or before the first one."""
        asleep = self._paused_at is not None or self._settled_at is not None
        return 0 if asleep or not self._started else now - self._since

    def pause(self, now: int) -> None:
        """Stand still, at most for a minute."""
        self._paused_at, self._repeated = now, False

    def resume(self, now: int) -> Action:
        """Go on: at once when the answer came meanwhile."""
        if self._paused_at is None:
            return "wait"
        self._paused_at, self._since = None, now
        if self._answered and self._repeated:
            self._settled_at = now + self._settle
        return "advance" if self._answered and self._settled_at is None else "wait"


# The clocks of the simulated arm: the wall's, and its own ``/clock``, in lock step or by the wall's pace.


_PATIENCE = 50_000_000  # [ns] a delay up to this long is made up for
_BURST = 5  # steps in one go while a delay is made up for
_SETTLE = 200_000_000  # [ns] see LockStep
_TICK = 0.02  # [s] how often lock step looks for a command that did not come
_REPORT_PERIOD = 5.0  # [s] between two log messages of one kind
_LONG = 5_000_000_000  # [ns] without a command that are worth a word
_UNDISTURBED = 100_000  # [ns] between two readings that belong together
_SECOND = 1_000_000_000
_REPEAT = _SECOND  # see LockStep
_PAUSED_REPEAT = _SECOND // 4
_LONGEST_PAUSE = 60 * _SECOND

Outcome = Literal["stepped", "sent", "swallowed"]  # no joint state was due; it went out; a fault kept it


class SimulationTime(Protocol):
    """Calls the arm's steps, and stamps its messages."""

    def stamp(self) -> Time:
        """The stamp of a joint state of this moment."""

    def announce(self) -> None:
        """A joint state is about to go out."""

    def commanded(self) -> None:
        """A good command has just been taken."""

    def pause(self, wanted: bool) -> None:
        """Stand still, or go on. Raises ``ParameterError`` where the time is not its own."""

    def lost(self) -> str:
        """What went wrong with time since the start, for the last words; empty when nothing did."""


class WallTime:
    """Steps as the steady clock passes; stamps say when a step was due, on the node's clock."""

    def __init__(self, node: Node, step: float, advance: Callable[[], Outcome]) -> None:
        self._node, self._advance = node, advance
        self._pacer = Pacer(round(step * _SECOND), _PATIENCE, _BURST)
        self._due = time.monotonic_ns()
        self._offset = node.get_clock().now().nanoseconds - self._due  # of the node's clock
        node.create_timer(step, self._on_timer, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def stamp(self) -> Time:
        before = time.monotonic_ns()
        offset = self._node.get_clock().now().nanoseconds - before
        if time.monotonic_ns() - before < _UNDISTURBED:  # else another process ran between the readings
            self._offset = offset
        return _message(self._due + self._offset)

    def announce(self) -> None:
        """Nothing to do: everybody knows the wall's time."""

    def commanded(self) -> None:
        """Nothing to do: the wall clock does not wait."""

    def pause(self, wanted: bool) -> None:
        """The wall clock does not stand still."""
        if wanted:
            raise ParameterError("time.paused", wanted, "false, unless time.mode is lock_step")

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
            self._node.get_logger().warning(self.lost(), throttle_duration_sec=_REPORT_PERIOD)


class ScaledTime:
    """Its own ``/clock``, which advances with the wall's times ``rate``, and waits for nobody.

    Where the machine is too slow for the rate, the clock is too: no step is left out. ``now`` is the arm's
    time [s], ``advance`` makes one step of ``step`` [s].
    """

    def __init__(
        self, node: Node, now: Callable[[], float], step: float, advance: Callable[[], Outcome], rate: float
    ) -> None:
        self._now, self._advance, self._rate = now, advance, rate
        self._pacer = Pacer(round(step / rate * _SECOND), _PATIENCE, _BURST)
        self._clock = node.create_publisher(ClockMessage, "/clock", 10)
        node.create_timer(step / rate, self._on_timer, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def stamp(self) -> Time:
        return _message(round(self._now() * _SECOND))

    def announce(self) -> None:
        """Nothing to do: each step is announced."""

    def commanded(self) -> None:
        """Nothing to do: time does not wait."""

    def pause(self, wanted: bool) -> None:
        if wanted:
            raise ParameterError("time.paused", wanted, "false, unless time.mode is lock_step")

    def lost(self) -> str:
        dropped = self._pacer.dropped
        return f"/clock ran slower than time.rate {self._rate:g}: the machine was too slow" if dropped else ""

    def _on_timer(self) -> None:
        for _ in self._pacer.due(time.monotonic_ns()):
            self._advance()
            self._clock.publish(ClockMessage(clock=self.stamp()))


class LockStepTime:
    """Its own ``/clock``, which advances from one joint state to the next when the command has come.

    ``now`` is the arm's time [s], ``advance`` makes one step, ``repeat`` sends the last joint state again,
    ``faulty`` tells whether a fault is in what is reported.
    """

    def __init__(
        self,
        node: Node,
        now: Callable[[], float],
        advance: Callable[[], Outcome],
        repeat: Callable[[], None],
        faulty: Callable[[], bool],
        timeout: float,
    ) -> None:
        self._node, self._now, self._advance, self._repeat = node, now, advance, repeat
        self._faulty = faulty
        self._lock_step = LockStep(round(timeout * _SECOND), _SETTLE)
        self._clock = node.create_publisher(ClockMessage, "/clock", 10)
        node.create_timer(_TICK, self._on_timer, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def stamp(self) -> Time:
        return _message(round(self._now() * _SECOND))

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
        states = f"{timeouts} state{'' if timeouts == 1 else 's'}"
        return f"{states} stayed without a command: this run is not repeatable" if timeouts else ""

    def _on_timer(self) -> None:
        waiting = self._lock_step.waiting(time.monotonic_ns())
        if waiting > _LONG:
            self._node.get_logger().warning(
                f"time stands still: no command has come for {waiting / _SECOND:.0f} s",
                throttle_duration_sec=_REPORT_PERIOD,
            )
        action = self._lock_step.tick(time.monotonic_ns())
        if action == "repeat":
            self._repeat()
        elif action == "advance":
            if self.lost():
                self._node.get_logger().warning(self.lost(), throttle_duration_sec=_REPORT_PERIOD)
            self._to_next_state()

    def _to_next_state(self) -> None:
        outcome: Outcome = "stepped"
        while outcome == "stepped":
            outcome = self._advance()
        self._lock_step.reported(time.monotonic_ns(), outcome == "sent", self._faulty())


def _message(nanoseconds: int) -> Time:
    seconds, rest = divmod(max(nanoseconds, 0), _SECOND)
    return Time(sec=seconds, nanosec=rest)
