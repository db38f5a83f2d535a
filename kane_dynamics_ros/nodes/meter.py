"""How often commands went out and how long each took, since the last reading."""

from typing import NamedTuple


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
