"""Which joint feedback an elastic arm bears: poles of the sampled loop about a posture.

The encoder sits at the motor (collocated), so that continuous PD feedback damps every mode. Sampled, and late
by ``delay`` periods, it does not: to a fast change the joint shows only what of the arm follows at once, the
inertia ``instant_inertia``, a fraction of the rigid one, and the loop gain is inversely as large.
"""

import math

import numpy as np
import scipy.linalg

from kane_dynamics_ros.elastic.arm import equations
from kane_dynamics_ros.elastic.arm_model import ArmModel
from kane_dynamics_ros.elastic.statics import sag
from kane_dynamics_ros.runtime.interface import Array


def slowest_pole(
    arm: ArmModel, q: Array, gravity: Array, kp: Array, kd: Array, period: float, delay: int = 1
) -> float:
    """Largest modulus of the sampled loop's poles at rest in ``q`` (n,): 1 or more oscillates for ever.

    The efforts are -kp dq - kd dq' (each (n, n)), held over ``period`` [s], and those of ``delay`` periods
    before. The arm is linear about its sag, without friction and without the stiffness of gravity.
    """
    n, size = arm.n, arm.size
    M = equations(arm, sag(arm, q, gravity), np.zeros(size), gravity).M
    inverse = np.linalg.inv(M)
    held = np.zeros((2 * size + n, 2 * size + n))
    held[:size, size : 2 * size] = np.eye(size)
    held[size : 2 * size, :size] = -inverse @ arm.k
    held[size : 2 * size, size : 2 * size] = -inverse @ arm.c
    held[size : 2 * size, 2 * size :] = inverse[:, :n]
    step = scipy.linalg.expm(held * period)
    gain = np.zeros((n, 2 * size))
    gain[:, :n], gain[:, size : size + n] = -kp, -kd
    free, driven = step[: 2 * size, : 2 * size], step[: 2 * size, 2 * size :]
    if delay == 0:
        return float(np.abs(np.linalg.eigvals(free + driven @ gain)).max())
    queue = np.eye(n * delay, k=n)
    loop = np.zeros((2 * size + n * delay, 2 * size + n * delay))
    loop[: 2 * size, : 2 * size], loop[: 2 * size, 2 * size : 2 * size + n] = free, driven
    loop[2 * size :, 2 * size :] = queue
    loop[-n:, : 2 * size] = gain
    return float(np.abs(np.linalg.eigvals(loop)).max())


def largest_stable_factor(
    arm: ArmModel, q: Array, gravity: Array, kp: Array, kd: Array, period: float, delay: int = 1
) -> float:
    """How many times kd (kp by the square, so that the damping ratio stays) the loop bears; 0 to 100."""

    def stable(factor: float) -> bool:
        return slowest_pole(arm, q, gravity, factor**2 * kp, factor * kd, period, delay) < 1.0

    factors = np.geomspace(0.01, 100.0, 41)
    first = next((i for i, factor in enumerate(factors) if not stable(float(factor))), len(factors))
    if first in (0, len(factors)):
        return 0.0 if first == 0 else float(factors[-1])
    low, high = float(factors[first - 1]), float(factors[first])
    for _ in range(12):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low


def instant_inertia(arm: ArmModel, q: Array, gravity: Array) -> Array:
    """(n, n) [kg m^2]: what the joints' motors move at first, while the links yield; M's Schur complement."""
    M = equations(arm, sag(arm, q, gravity), np.zeros(arm.size), gravity).M
    return np.asarray(np.linalg.inv(np.linalg.inv(M)[: arm.n, : arm.n]))
