"""The minimal inertial parameters, found numerically from the regressor."""

from collections.abc import Callable

import numpy as np

from kane_dynamics_ros.runtime.interface import Array, BaseParameters

STATES = 40  # random states for each joint; more than enough rows for 10 parameters a body
DEPENDENT = 1e-9  # diagonal entry of R, columns of unit length, below which one depends on others
ROUNDING = 1e-12  # length of a column, relative to the longest, below which it is only rounding


def find_base_parameters(regressor: Callable[..., Array], n: int) -> BaseParameters:
    """QR decomposition of the regressor over random states, after Gautier (1991).

    A column that depends on those before it shows as a zero on R's diagonal. Y = Y_b [1 K]: the
    independent columns Y_b, and the others as combinations of them.
    """
    random = np.random.default_rng(0)
    q, qd, qdd = random.uniform(-np.pi, np.pi, (3, STATES * n, n))
    Y = regressor(q, qd, qdd)
    Y = Y.reshape(-1, Y.shape[-1])
    size = np.linalg.norm(Y, axis=0)
    felt = np.flatnonzero(size > ROUNDING * size.max(initial=0.0))
    R = np.asarray(np.linalg.qr(Y[:, felt] / size[felt], mode="r"))
    chosen = np.abs(np.diag(R)) > DEPENDENT
    columns, others = felt[chosen], felt[~chosen]
    K = np.linalg.lstsq(R[:, chosen], R[:, ~chosen], rcond=None)[0]
    K *= size[others] / size[columns, None]
    K[np.abs(K) < DEPENDENT] = 0.0
    combine = np.zeros((len(columns), Y.shape[1]))
    combine[np.arange(len(columns)), columns] = 1.0
    combine[:, others] = K
    return BaseParameters(columns, combine)
