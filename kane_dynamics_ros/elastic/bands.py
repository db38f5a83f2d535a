"""Banded storage of LAPACK: ``band[u + i - j, j] = a[i, j]`` with ``u`` diagonals on either side."""

import numpy as np
from scipy.linalg.blas import dgbmv

from kane_dynamics_ros.runtime.interface import Array

U = 5  # off-diagonals of a chain of plane elements, on either side
_I, _J = np.meshgrid(np.arange(6), np.arange(6), indexing="ij")
_LEFT = _J < 3
_ROWS = U + _I - _J


def assemble(parts: Array) -> Array:
    """Assemble plane elements' matrices (elements, 6, 6) to a band (11, n), n = 3 (elements + 1)."""
    elements = len(parts)
    columns = np.zeros((elements + 1, 3, 2 * U + 1))
    columns[:-1, _J[_LEFT], _ROWS[_LEFT]] += parts[:, _LEFT]
    columns[1:, _J[~_LEFT] - 3, _ROWS[~_LEFT]] += parts[:, ~_LEFT]
    band: Array = np.asfortranarray(columns.reshape(-1, 2 * U + 1).T)
    return band


def hold(band: Array, held: tuple[int, ...], diagonal: float = 0.0) -> Array:
    """The band with the rows and columns ``held`` replaced by ``diagonal`` times the unit matrix's."""
    result: Array = np.array(band, order="F")
    n = band.shape[1]
    for h in held:
        for j in range(max(0, h - U), min(n, h + U + 1)):
            result[U + h - j, j] = 0.0
        result[:, h] = 0.0
        result[U, h] = diagonal
    return result


def product(band: Array, vector: Array) -> Array:
    """Band times vector."""
    n = len(vector)
    return np.asarray(dgbmv(n, n, U, U, 1.0, band, vector))
