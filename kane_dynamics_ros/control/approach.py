"""The way from wherever the arm is to a trajectory's first point: as one quintic from rest to rest."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.control.limits import position_limits
from kane_dynamics_ros.control.validation import SECOND_NS, RequestPoint, TrajectoryRequest
from kane_dynamics_ros.runtime import JointInfo, initial_positions

POINT_SPACING = 0.05  # [s] between the points of a trajectory that is made here; quintics join them
LONGEST = 1000.0  # [s] of such a motion: as many points as the node annotates by default
MOST_POINTS = 100_000  # that are written, of repetitions too: with more, the node takes seconds to begin
LEAST_APPROACH = 2.0  # [s]
PEAK_OVER_MEAN = 1.875  # speed of a quintic from rest to rest
SHARE_OF_SPEED = 0.8  # of the speeds that the approach may use
UNLIMITED_WAY = math.pi  # [rad or m] that a joint without limits is expected away from the first point


def approach_time(joints: Sequence[JointInfo], first: Array, speeds: Array) -> int:
    """Whole seconds in which the arm reaches the first point.

    From the URDF's initial positions, and from anywhere within the limits, at no more than
    ``SHARE_OF_SPEED`` of ``speeds`` (n,) [rad/s or m/s]. ``first`` (n,) [rad or m].
    """
    lower, upper = position_limits(joints)
    farthest = np.maximum(first - lower, upper - first)
    farthest = np.where(np.isfinite(farthest), farthest, UNLIMITED_WAY)
    way = np.maximum(farthest, np.abs(first - initial_positions(joints)))
    slowest = float((PEAK_OVER_MEAN * way / (SHARE_OF_SPEED * speeds)).max())
    return math.ceil(max(LEAST_APPROACH, slowest))


def request_after(
    approach: float, names: Sequence[str], times: Iterable[float], states: Sequence[Array]
) -> TrajectoryRequest:
    """The trajectory of ``states``, positions, velocities and accelerations (N, n) at ``times`` (N,) [s].

    Its first point is due ``approach`` [s] after the start.
    """
    points = tuple(
        RequestPoint(round(SECOND_NS * (approach + t)), *(tuple((x + 0.0).tolist()) for x in state))
        for t, *state in zip(times, *states, strict=True)
    )
    return TrajectoryRequest(names, points)
