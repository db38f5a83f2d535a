"""Polynomial segments between two points, by what both of them carry.

A segment of duration T [s] is a polynomial of degree 5 in the time t since its start,
q(t) = c_0 + c_1 t + ... + c_5 t^5, with the coefficients as rows of an array of shape (6, n).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.algebra import Array

# Of a polynomial of s = t / T from 0 to d, the coefficients of s, s^2, ... by what both its ends carry, with
# derivatives by s: by d alone; by v_0, d, v_1; by v_0, a_0, d, v_1, a_1
SOLUTIONS = (
    np.ones((1, 1)),
    np.array([[1.0, 0.0, 0.0], [-2.0, 3.0, -1.0], [1.0, -2.0, 1.0]]),
    np.array(
        [
            [1.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.5, 0.0, 0.0, 0.0],
            [-6.0, -1.5, 10.0, -4.0, 0.5],
            [8.0, 1.5, -15.0, 7.0, -1.0],
            [-3.0, -0.5, 6.0, -3.0, 0.5],
        ]
    ),
)


def carried(qd: Array, qdd: Array) -> NDArray[np.intp]:
    """What each point carries (m,): 1 positions, 2 velocities too, 3 accelerations too."""
    found: NDArray[np.intp] = 3 - np.isnan(qd[:, 0]) - np.isnan(qdd[:, 0])
    return found


def segments(q: Array, qd: Array, qdd: Array, durations: Array) -> Array:
    """The polynomials between consecutive points, (m - 1, 6, n); ``durations`` (m - 1,) [s] are above 0.

    ``q``, ``qd`` and ``qdd`` (m, n) are the points' positions, velocities and accelerations, rows of NaN
    where a point does not carry them. Linear when an end carries positions only, cubic when both carry
    velocities, quintic when both carry accelerations too. All segments of one kind are solved in one pass.
    """
    coefficients = np.zeros((len(durations), 6, q.shape[1]))
    coefficients[:, 0] = q[:-1]
    both = np.minimum(carried(qd, qdd)[:-1], carried(qd, qdd)[1:])
    for order, solution in enumerate(SOLUTIONS, 1):
        i = np.flatnonzero(both == order)
        T = durations[i, np.newaxis]
        rates = [(qd, T), (qdd, T**2)][: order - 1]
        ends = [x[i] * scale for x, scale in rates], [x[i + 1] * scale for x, scale in rates]
        known = np.stack((*ends[0], q[i + 1] - q[i], *ends[1]), axis=1)
        powers = np.arange(1, 2 * order)[:, np.newaxis]
        coefficients[i, 1 : 2 * order] = solution @ known / T[:, np.newaxis] ** powers
    return coefficients


def constant(q: Array) -> Array:
    """The polynomial that stays at ``q`` (n,), (6, n)."""
    coefficients = np.zeros((6, q.shape[0]))
    coefficients[0] = q
    return coefficients


def evaluate(coefficients: Array, t: float) -> Array:
    """Position, velocity and acceleration at ``t`` [s] since the segment's start, (3, n)."""
    result: Array = np.array(_basis(t, 1.0, 0.0)[:3]).dot(coefficients)
    return result


def evaluate_many(coefficients: Array, t: Array, rows: int = 3) -> Array:
    """``evaluate`` at many times: coefficients (..., 6, n) at ``t`` (..., N) give (..., N, 3, n).

    Two ``rows`` leave out the acceleration, four have the jerk too.
    """
    basis = np.array(_basis(t, np.ones_like(t), np.zeros_like(t))[:rows])
    basis = np.moveaxis(basis, (0, 1), (-2, -1)).reshape(*t.shape[:-1], -1, 6)
    return np.asarray((basis @ coefficients).reshape(*t.shape, rows, -1))


def _basis(t: Any, one: Any, zero: Any) -> tuple[tuple[Any, ...], ...]:
    """What the coefficients are multiplied by in the position and its three derivatives."""
    t2 = t * t
    t3 = t2 * t
    t4 = t3 * t
    return (
        (one, t, t2, t3, t4, t4 * t),
        (zero, one, 2.0 * t, 3.0 * t2, 4.0 * t3, 5.0 * t4),
        (zero, zero, 2.0 * one, 6.0 * t, 12.0 * t2, 20.0 * t3),
        (zero, zero, zero, 6.0 * one, 24.0 * t, 60.0 * t2),
    )
