"""The tests' own splines: Hermite basis functions and a linear system, not the package's coefficients."""

import numpy as np


def linear(t, T, q0, q1):
    """Position, velocity, acceleration on a straight line."""
    return q0 + (q1 - q0) * t / T, (q1 - q0) / T, 0.0


def cubic(t, T, q0, v0, q1, v1):
    """Cubic Hermite interpolation by its basis functions h00, h10, h01, h11 of s = t / T."""
    s = t / T
    q = (
        (1 + 2 * s) * (1 - s) ** 2 * q0
        + s * (1 - s) ** 2 * T * v0
        + s**2 * (3 - 2 * s) * q1
        + s**2 * (s - 1) * T * v1
    )
    v = (6 * s**2 - 6 * s) / T * (q0 - q1) + (3 * s**2 - 4 * s + 1) * v0 + (3 * s**2 - 2 * s) * v1
    a = (12 * s - 6) / T**2 * (q0 - q1) + (6 * s - 4) / T * v0 + (6 * s - 2) / T * v1
    return q, v, a


def quintic(t, T, start, end):
    """The quintic through (q, v, a) at both ends, from its six conditions as a linear system."""

    def row(time, derivative):
        factors = [np.prod(range(k - derivative + 1, k + 1)) if k >= derivative else 0 for k in range(6)]
        return [f * time ** max(k - derivative, 0) for k, f in enumerate(factors)]

    conditions = np.array([row(0.0, d) for d in range(3)] + [row(T, d) for d in range(3)])
    c = np.linalg.solve(conditions, np.array([*start, *end]))
    return tuple(float(np.dot(row(t, d), c)) for d in range(3))
