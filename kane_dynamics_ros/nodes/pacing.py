"""How many fixed steps are due, from a clock that the caller reads."""


class Pacer:
    """Counts the steps that real time owes. After a pause longer than ``patience`` it does not race to
    catch up: the time missed is dropped and counted.
    """

    def __init__(self, step: int, patience: int) -> None:
        """``step`` and ``patience`` in nanoseconds."""
        self._step, self._patience = step, patience
        self._next: int | None = None
        self.dropped = 0  # steps

    def due(self, now: int) -> int:
        """Steps owed at ``now`` [ns] of a monotonic clock."""
        if self._next is None:
            self._next = now
        late = now - self._next
        if late > self._patience:
            self.dropped += late // self._step
            self._next = now
        steps = max(0, (now - self._next) // self._step + 1)
        self._next += steps * self._step
        return steps
