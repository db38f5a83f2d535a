"""Joint states in the order of their stamps, split where the recorded clock starts again."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from kane_dynamics_ros.replay.reading.blocks import Integers
from kane_dynamics_ros.replay.reading.joint_states import JointStates

RESTART = 1_000_000_000  # [ns] a stamp this far back is a looped bag, not a late message


@dataclass(frozen=True)
class Ordered:
    """One pass through a recording: ``states`` by stamp, and how many messages came out of order."""

    states: JointStates
    reordered: int


def passes(states: JointStates) -> Iterator[Ordered]:
    """The recording cut where stamps jump back by over a second, each part sorted by stamp."""
    ends = np.flatnonzero(np.diff(states.stamps) < -RESTART) + 1
    bounds = [0, *ends.tolist(), len(states.stamps)]
    for start, stop in pairwise(bounds):
        chosen = slice(start, stop)
        late = int((np.diff(states.stamps[chosen]) < 0).sum())
        yield Ordered(_part(states, _order(states.stamps[chosen], start) if late else chosen), late)


def _order(stamps: Integers, start: int) -> Integers:
    return start + np.argsort(stamps, kind="stable")


def _part(states: JointStates, chosen: slice | Integers) -> JointStates:
    arrays = ("stamps", "received", "position", "velocity", "effort")
    return replace(states, **{name: getattr(states, name)[chosen] for name in arrays})
