"""When a simulation in lock step may advance: each joint state waits for the command that answers it."""

from typing import Literal

Action = Literal["wait", "repeat", "advance"]


class LockStep:
    """Decides from the moments [ns of a monotonic clock] of states, commands and ticks.

    Until the first command ever, an unanswered state is repeated after each ``timeout``: the controller may
    not be up yet. Its repetitions may all be answered, so the commands of the first ``settle`` after the
    first one are taken as answers to the same state. Later, an unanswered state is given up after
    ``timeout`` and the arm advances under the command before; such runs are not repeatable, so they
    are counted in ``timeouts``.
    """

    def __init__(self, timeout: int, settle: int) -> None:
        self._timeout, self._settle = timeout, settle
        self._since = 0
        self._repeated = False
        self._started = False
        self._settled_at: int | None = None
        self.timeouts = 0

    def reported(self, now: int, sent: bool) -> None:
        """A new state was due; ``sent`` False when a fault swallowed it, so that nobody will answer."""
        self._since, self._settled_at = now, None if sent else now

    def commanded(self, now: int) -> Action:
        """A command came: advance, or wait for the answers to a repeated state to run dry."""
        first, self._started = not self._started, True
        if first and self._repeated:
            self._settled_at = now + self._settle
        return "wait" if self._settled_at is not None else "advance"

    def tick(self, now: int) -> Action:
        """Time passed without a command: what to do."""
        if self._settled_at is not None:
            return "advance" if now >= self._settled_at else "wait"
        if now - self._since < self._timeout:
            return "wait"
        self._since = now
        if not self._started:
            self._repeated = True
            return "repeat"
        self.timeouts += 1
        return "advance"
