"""Natural frequencies and shapes of free vibration."""

import numpy as np
import scipy.linalg

from kane_dynamics_ros.elastic.equations import Coefficients
from kane_dynamics_ros.runtime.interface import Array


def natural_frequencies(m: Array, k: Array) -> Array:
    """Circular frequencies [rad/s], ascending, of m delta'' + k delta = 0; rigid motions give 0."""
    squared: Array = scipy.linalg.eigh(k, m, eigvals_only=True)
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))


def gyroscopic_frequencies(system: Coefficients) -> Array:
    """Imaginary parts [rad/s], ascending, of the eigenvalues of m d'' + c d' + k d = 0, (n,).

    c and k need not be symmetric. A non-oscillating pair of eigenvalues counts as two zeros, of which
    one is kept.
    """
    n = len(system.m)
    inverse = np.linalg.inv(system.m)
    companion = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ system.k, -inverse @ system.c]])
    imaginary = np.sort(np.linalg.eigvals(companion).imag)
    return imaginary[n:]


def proportional_damping(
    ratios: tuple[float, float], frequencies: tuple[float, float]
) -> tuple[float, float]:
    """Factors (a, b) of c = a m + b k that give two damping ratios at two circular frequencies [rad/s]."""
    (z1, z2), (w1, w2) = ratios, frequencies
    a, b = np.linalg.solve([[0.5 / w1, 0.5 * w1], [0.5 / w2, 0.5 * w2]], [z1, z2])
    return float(a), float(b)
