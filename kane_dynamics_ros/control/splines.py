"""Polynomial segments between two points, by what both of them carry.

A segment of duration T [s] is a polynomial of degree 5 in the time t since its start,
q(t) = c_0 + c_1 t + ... + c_5 t^5, with the coefficients as rows of an array of shape (6, n).
"""

from typing import Any

import numpy as np

from kane_dynamics_ros.algebra import Array, Mask


def segments(q: Array, qd: Array, qdd: Array, durations: Array) -> Array:
    """The polynomials between consecutive points, (m - 1, 6, n); ``durations`` (m - 1,) [s] are above 0.

    ``q``, ``qd`` and ``qdd`` (m, n) are the points' positions, velocities and accelerations, rows of NaN
    where a point does not carry them. Linear when an end carries positions only, cubic when both carry
    velocities, quintic when both carry accelerations too. All segments of one kind are solved in one pass.
    """
    coefficients = np.zeros((len(durations), 6, q.shape[1]))
    smooth = _both_ends(qd)
    smoother = smooth & _both_ends(qdd)
    for chosen, solve in ((~smooth, _linear), (smooth & ~smoother, _cubic), (smoother, _quintic)):
        i = np.flatnonzero(chosen)
        if i.size:
            T = durations[i, np.newaxis]
            solve(coefficients, i, T, q, qd, qdd)
    return coefficients


def constant(q: Array) -> Array:
    """The polynomial that stays at ``q`` (n,), (6, n)."""
    coefficients = np.zeros((6, q.shape[0]))
    coefficients[0] = q
    return coefficients


def evaluate(coefficients: Array, t: float) -> Array:
    """Position, velocity and acceleration at ``t`` [s] since the segment's start, (3, n)."""
    t2 = t * t
    t3 = t2 * t
    t4 = t3 * t
    basis = np.array(
        (
            (1.0, t, t2, t3, t4, t4 * t),
            (0.0, 1.0, 2.0 * t, 3.0 * t2, 4.0 * t3, 5.0 * t4),
            (0.0, 0.0, 2.0, 6.0 * t, 12.0 * t2, 20.0 * t3),
        )
    )
    result: Array = basis.dot(coefficients)
    return result


def evaluate_many(coefficients: Array, t: Array) -> Array:
    """``evaluate`` at many times: coefficients (..., 6, n) at ``t`` (..., N) give (..., N, 3, n)."""
    one, zero = np.ones_like(t), np.zeros_like(t)
    rows = (
        (one, t, t**2, t**3, t**4, t**5),
        (zero, one, 2.0 * t, 3.0 * t**2, 4.0 * t**3, 5.0 * t**4),
        (zero, zero, 2.0 * one, 6.0 * t, 12.0 * t**2, 20.0 * t**3),
    )
    basis = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
    result: Array = basis @ coefficients[..., np.newaxis, :, :]
    return result


def _both_ends(rows: Array) -> Mask:
    """For each segment, whether both its ends carry the quantity."""
    carried = ~np.isnan(rows[:, 0])
    return carried[:-1] & carried[1:]


def _linear(c: Array, i: Any, T: Array, q: Array, qd: Array, qdd: Array) -> None:
    """Velocity (q_1 - q_0) / T, acceleration 0."""
    c[i, 0] = q[i]
    c[i, 1] = (q[i + 1] - q[i]) / T


def _cubic(c: Array, i: Any, T: Array, q: Array, qd: Array, qdd: Array) -> None:
    """The cubic with both ends' positions and velocities."""
    d, v0, v1 = q[i + 1] - q[i], qd[i], qd[i + 1]
    c[i, 0], c[i, 1] = q[i], v0
    c[i, 2] = (3.0 * d - (2.0 * v0 + v1) * T) / T**2
    c[i, 3] = (-2.0 * d + (v0 + v1) * T) / T**3


def _quintic(c: Array, i: Any, T: Array, q: Array, qd: Array, qdd: Array) -> None:
    """The quintic with both ends' positions, velocities and accelerations."""
    d, v0, v1, a0, a1 = q[i + 1] - q[i], qd[i], qd[i + 1], qdd[i], qdd[i + 1]
    c[i, 0], c[i, 1], c[i, 2] = q[i], v0, a0 / 2.0
    c[i, 3] = (20.0 * d - (8.0 * v1 + 12.0 * v0) * T - (3.0 * a0 - a1) * T**2) / (2.0 * T**3)
    c[i, 4] = (-30.0 * d + (14.0 * v1 + 16.0 * v0) * T + (3.0 * a0 - 2.0 * a1) * T**2) / (2.0 * T**4)
    c[i, 5] = (12.0 * d - 6.0 * (v0 + v1) * T + (a1 - a0) * T**2) / (2.0 * T**5)
