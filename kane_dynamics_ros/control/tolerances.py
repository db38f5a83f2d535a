"""How far the arm may be from its reference: joint_trajectory_controller's ``constraints``."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kane_dynamics_ros.runtime.interface import Array


@dataclass(frozen=True)
class Tolerances:
    """Largest position errors while moving and at the goal (n,) [rad or m]; 0 switches a check off.

    The goal's must hold, and no joint be faster than ``stopped_velocity`` [rad/s or m/s], within
    ``goal_time`` [s] after the end of the motion; a ``goal_time`` of 0 waits for ever.
    """

    trajectory: Array
    goal: Array
    goal_time: float = 0.0
    stopped_velocity: float = 0.0

    @cached_property
    def _weights(self) -> Array:
        return _inverse(self.trajectory)

    @cached_property
    def _goal_weights(self) -> Array:
        return _inverse(self.goal)

    def violated(self, error: Array) -> int | None:
        """The joint whose error (n,) is worst, if it is too large while moving."""
        return _worst(error * self._weights)

    def missed(self, error: Array, qd: Array) -> int | None:
        """The joint that is not at its goal, or has not come to rest there; None when all have."""
        joint = _worst(error * self._goal_weights)
        if joint is None and self.stopped_velocity:
            joint = _worst(qd / self.stopped_velocity)
        return joint


def _inverse(limits: Array) -> Array:
    return np.divide(1.0, limits, out=np.zeros_like(limits), where=limits > 0.0)


def _worst(shares: Array) -> int | None:
    """The index of the largest magnitude, if that is above 1; cheap when all are small."""
    if shares.dot(shares) <= 1.0:
        return None
    worst = int(np.abs(shares).argmax())
    return worst if abs(shares[worst]) > 1.0 else None
