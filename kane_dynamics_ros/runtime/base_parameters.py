"""The minimal inertial parameters, found numerically from the regressor."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from kane_dynamics_ros.runtime.interface import Array

STATES = 40  # random states for each joint; more than enough rows for 10 parameters a body
DEPENDENT = 1e-9  # relative size of a diagonal entry of R below which a column depends on others


@dataclass(frozen=True)
class BaseParameters:
    """``pi_base = map @ inertial_parameters`` and ``Y_base = Y[..., columns]`` give the same torques.

    ``columns``: the (b,) standard parameters that stand for the groups; ``map``: (b, 10 bodies).
    """

    columns: NDArray[np.intp]
    map: Array

    def regressor(self, Y: Array) -> Array:
        """The base regressor, (..., n, b), of a standard one, (..., n, 10 bodies)."""
        return Y[..., self.columns]


def find_base_parameters(regressor: Callable[..., Array], n: int) -> BaseParameters:
    """QR with column pivoting of the regressor over random states, after Gautier (1991).

    Y = Y_b [1 K]: the independent columns Y_b and the others as combinations of them.
    """
    random = np.random.default_rng(0)
    q, qd, qdd = random.uniform(-np.pi, np.pi, (3, STATES * n, n))
    Y = regressor(q, qd, qdd)
    Y = Y.reshape(-1, Y.shape[-1])
    size = np.linalg.norm(Y, axis=0)
    size[size == 0.0] = 1.0
    _, R, order = qr(Y / size, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int((diagonal > DEPENDENT * diagonal[0]).sum()) if diagonal.size and diagonal[0] > 0 else 0
    K = np.linalg.solve(R[:rank, :rank], R[:rank, rank:]) * size[order[rank:]] / size[order[:rank], None]
    K[np.abs(K) < DEPENDENT] = 0.0
    combine = np.zeros((rank, Y.shape[1]))
    combine[np.arange(rank), order[:rank]] = 1.0
    combine[:, order[rank:]] = K
    sort = np.argsort(order[:rank])
    return BaseParameters(order[:rank][sort], combine[sort])
