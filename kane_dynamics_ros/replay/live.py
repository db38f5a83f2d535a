"""A running node's commands beside the offline answer, sample by sample."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kane_dynamics_ros.replay.reading.layout import Doubles

SAME = 1e-9  # [N m] or [N]: the node computes what we compute, so only rounding may differ


@dataclass(frozen=True)
class LiveComparison:
    """``difference`` (n,): the largest between command and offline answer, of ``compared`` states.

    ``unanswered`` states got no command though one was due, ``unexpected`` ones got one that was not due.
    """

    difference: Doubles
    compared: int
    unanswered: int
    unexpected: int

    @property
    def same(self) -> bool:
        """Whether every command is the offline answer."""
        differs = self.compared == 0 or bool((self.difference > SAME).any())
        return not (differs or self.unanswered or self.unexpected)


def compare_answers(command: Doubles, expected: Doubles) -> LiveComparison:
    """Both (N, n), rows of NaN where nothing was published."""
    answered, due = np.isfinite(command).all(axis=1), np.isfinite(expected).all(axis=1)
    both = answered & due
    worst = np.abs(command - expected)[both].max(axis=0, initial=0.0)
    return LiveComparison(worst, int(both.sum()), int((due & ~answered).sum()), int((answered & ~due).sum()))


def read_answers(file: Path) -> LiveComparison:
    """What nodes/bag_player.py wrote, compared."""
    with np.load(file) as answers:
        return compare_answers(answers["command"], answers["expected"])
