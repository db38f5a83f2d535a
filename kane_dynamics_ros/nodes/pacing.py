"""Which fixed steps are due, from a clock that the caller reads."""


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
