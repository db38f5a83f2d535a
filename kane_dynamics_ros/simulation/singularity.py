"""Find the joints whose acceleration nothing resists."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.errors import SingularMassMatrixError
from kane_dynamics_ros.simulation.engine import Array

_RELATIVE_PIVOT = 1e-13  # of M_ii; rounding in M leaves a few 1e-16


def refuse_singular(M: Array, names: Sequence[str], locked: NDArray[np.bool_]) -> None:
    """Raise ``SingularMassMatrixError`` when M (n, n), without the locked joints, cannot be inverted.

    Cholesky's pivot of joint i is the inertia that resists it while the joints before it move freely
    and those after it stand still; a joint without one is named.
    """
    free = np.flatnonzero(~locked)
    S = M[np.ix_(free, free)].copy()
    scale = max(np.diag(S).max(initial=0.0), np.finfo(float).tiny)
    singular = []
    for k, joint in enumerate(free.tolist()):
        if S[k, k] <= max(_RELATIVE_PIVOT * M[joint, joint], np.finfo(float).eps * scale * _RELATIVE_PIVOT):
            singular.append(names[joint])
            continue
        S[k + 1 :, k + 1 :] -= np.outer(S[k + 1 :, k], S[k, k + 1 :]) / S[k, k]
    if singular:
        raise SingularMassMatrixError(singular)
