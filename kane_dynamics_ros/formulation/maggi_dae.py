"""[Malvezzi2017]'s Maggi equations in numbers, solved together with the constraints: a DAE.

Unknowns are the thirteen redundant coordinates of ``manipulator_maggi``; nothing is reduced beforehand.
"""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy
from numpy.typing import ArrayLike, NDArray

from kane_dynamics_ros.formulation.manipulator_maggi import (
    ACCELERATIONS,
    COORDINATES,
    PARAMETERS,
    RATES,
    THETA,
    TORQUES,
    maggi_system,
)

Array = NDArray[np.float64]
FREE = len(THETA)
_NEWTON_STEPS = 20
_CLOSED = 1e-14  # [m] or [rad], what a constraint may be off by


class MaggiDae:
    """Eqs. (12), (14) and (18) of the manipulator with the numbers of ``parameters``.

    ``parameters`` maps the symbols of ``manipulator_maggi`` (J_z1, m_2, ..., g) to numbers.
    """

    def __init__(self, parameters: Mapping[sympy.Symbol, float]) -> None:
        self._parameters = [parameters[symbol] for symbol in PARAMETERS]

    def constraints(self, q: ArrayLike) -> Array:
        """h(q), (10,): zero on the manipulator, eq. (12)."""
        return np.asarray(self._evaluate(q, np.zeros(len(COORDINATES)))[0][:, 0])

    def torques(self, theta: ArrayLike, theta_d: ArrayLike, theta_dd: ArrayLike) -> Array:
        """T (3,) for a prescribed motion of theta: the redundant rest follows from the constraints."""
        q = self.positions(theta)
        q_d = self._complete(q, np.zeros(len(COORDINATES)), np.asarray(theta_d, float), with_bias=False)
        q_dd = self._complete(q, q_d, np.asarray(theta_dd, float), with_bias=True)
        _, _, _, inertia, bias = self._evaluate(q, q_d)
        return np.asarray(inertia @ q_dd + bias[:, 0])

    def acceleration(self, q: ArrayLike, q_d: ArrayLike, torques: ArrayLike) -> Array:
        """All thirteen accelerations from eqs. (14) and (18) at once."""
        _, A, b, inertia, bias = self._evaluate(q, q_d)
        right = np.concatenate([np.asarray(torques, float) - bias[:, 0], -b[:, 0]])
        return np.asarray(np.linalg.solve(np.vstack([inertia, A]), right))

    def positions(self, theta: ArrayLike) -> Array:
        """The redundant coordinates (13,) for given theta, by Newton's method on the constraints."""
        q = np.concatenate([np.asarray(theta, float), np.zeros(len(COORDINATES) - FREE)])
        for _ in range(_NEWTON_STEPS):
            h, A = self._evaluate(q, np.zeros_like(q))[:2]
            q[FREE:] -= np.linalg.solve(A[:, FREE:], h[:, 0])
            if np.max(np.abs(h)) < _CLOSED:
                break
        return q

    def rates(self, q: Array, theta_d: ArrayLike) -> Array:
        """The redundant rates (13,) for given rates of theta: A q' = 0."""
        return self._complete(q, np.zeros_like(q), np.asarray(theta_d, float), with_bias=False)

    def _complete(self, q: Array, q_d: Array, free: Array, *, with_bias: bool) -> Array:
        """Solve A x + b = 0 for the dependent part of x when the free part is known."""
        _, A, b, _, _ = self._evaluate(q, q_d)
        right = -(A[:, :FREE] @ free) - (b[:, 0] if with_bias else 0.0)
        return np.concatenate([free, np.linalg.solve(A[:, FREE:], right)])

    def _evaluate(self, q: ArrayLike, q_d: ArrayLike) -> list[Any]:
        blocks: list[Any] = _blocks()(np.asarray(q, float), np.asarray(q_d, float), self._parameters)
        return blocks


@functools.cache
def _blocks() -> Any:
    """A function of (q, q', parameters) that gives h, A, b, and C' Phi as inertia @ q'' + bias."""
    system = maggi_system()
    projected = system.equations.subs(dict.fromkeys(TORQUES, 0))
    inertia = projected.jacobian(ACCELERATIONS)
    bias = projected.subs(dict.fromkeys(ACCELERATIONS, 0))
    blocks = [system.constraints, system.jacobian, system.bias, inertia, bias]
    return sympy.lambdify([COORDINATES, RATES, PARAMETERS], blocks, "numpy", cse=True)
