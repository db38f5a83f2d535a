"""[Malvezzi2017]'s own Maggi equations of the manipulator: thirteen redundant coordinates, wrist locked.

Coordinates: gamma_1, alpha_2, alpha_3, chi_3 = alpha_2 + alpha_3, and the centres of mass x_j, y_j, z_j of
the bodies 2, 3 and of the end-effector 4. The print's slips are put right here (docs/papers.md lists
them): potential energy enters the Lagrangian with a minus, z points up. Derivatives are taken by SymPy.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import sympy
from numpy.typing import ArrayLike
from sympy import Matrix, Rational, cos, sin

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.papers.differentiation_counts import Differentiator

gamma_1, alpha_2, alpha_3 = THETA = sympy.symbols("gamma_1 alpha_2 alpha_3")
chi_3 = sympy.Symbol("chi_3")
BODIES = (2, 3, 4)
CENTRES = {j: sympy.symbols(f"x_{j} y_{j} z_{j}") for j in BODIES}
COORDINATES = (*THETA, chi_3, *CENTRES[2], *CENTRES[3], *CENTRES[4])
RATES = tuple(sympy.Symbol(f"{q}_dot") for q in COORDINATES)
ACCELERATIONS = tuple(sympy.Symbol(f"{q}_ddot") for q in COORDINATES)
TORQUES = T_1, T_2, T_3 = sympy.symbols("T_1:4")
J_z1, m_2, J_x2, J_y2, J_z2 = sympy.symbols("J_z1 m_2 J_x2 J_y2 J_z2")
m_3, J_x3, J_y3, J_z3, m_4 = sympy.symbols("m_3 J_x3 J_y3 J_z3 m_4")
l_2, l_3, g = sympy.symbols("l_2 l_3 g")
PARAMETERS = (J_z1, m_2, J_x2, J_y2, J_z2, m_3, J_x3, J_y3, J_z3, m_4, l_2, l_3, g)
MASSES = {2: m_2, 3: m_3, 4: m_4}
_E = {2: Rational(1, 2), 3: 1, 4: 1}  # e_j of eq. (19)
_F = {2: 0, 3: Rational(1, 2), 4: 1}  # f_j
FREE = len(THETA)
_NEWTON_STEPS = 20
_CLOSED = 1e-14  # [m] or [rad], what a constraint may be off by


class MaggiSystem(NamedTuple):
    """Everything that eq. (18) needs, over ``COORDINATES``, ``RATES`` and ``ACCELERATIONS``."""

    residuals: Matrix  # Phi_r (13, 1), eq. (22)
    complement: Matrix  # C (13, 3), eq. (20)
    constraints: Matrix  # h_k (10, 1), eq. (12)
    jacobian: Matrix  # A (10, 13), eq. (14)
    bias: Matrix  # b (10, 1), eq. (14)

    @property
    def equations(self) -> Matrix:
        """C' Phi (3, 1), eq. (18): zero along every motion."""
        return self.complement.T * self.residuals


def maggi_system(bodies: Sequence[int] = BODIES, count: Differentiator | None = None) -> MaggiSystem:
    """Derive the paper's equations from its energies and constraints.

    Without body 4 in ``bodies`` they are those of the arm without its end-effector, in ten coordinates.
    ``count`` takes down the derivatives that [Malvezzi2017] eqs. (18) to (22) need; A and b are of the DAE.
    """
    q, q_d, _ = _symbols(bodies)
    h = constraints(bodies)
    A = h.jacobian(q)
    h_dot = A * Matrix(q_d)
    return MaggiSystem(
        residuals(bodies, count), complement(bodies, count), h, A, h_dot.jacobian(q) * Matrix(q_d)
    )


def _symbols(bodies: Sequence[int]) -> tuple[list[Any], list[Any], list[Any]]:
    """The redundant coordinates with those of the given bodies, their rates and accelerations."""
    last = len(THETA) + 1 + 3 * len(bodies)
    return list(COORDINATES[:last]), list(RATES[:last]), list(ACCELERATIONS[:last])


def lagrangian(bodies: Sequence[int] = BODIES) -> sympy.Expr:
    """L = T - U in the redundant coordinates, eq. (21)."""
    rate = dict(zip(COORDINATES, RATES, strict=True))
    energy = J_z1 * rate[gamma_1] ** 2
    for angle, J_x, J_y, J_z in ((alpha_2, J_x2, J_y2, J_z2), (chi_3, J_x3, J_y3, J_z3)):
        energy += J_x * rate[angle] ** 2
        energy += (J_y * sin(angle) ** 2 + J_z * cos(angle) ** 2) * rate[gamma_1] ** 2
    for j in bodies:
        energy += MASSES[j] * (sum(rate[s] ** 2 for s in CENTRES[j]) - 2 * g * CENTRES[j][2])
    return energy / 2


def residuals(bodies: Sequence[int] = BODIES, count: Differentiator | None = None) -> Matrix:
    """Phi_r = d/dt (dL/dq_r') - dL/dq_r - Q_r for each redundant coordinate, eq. (22)."""
    count = count or Differentiator()
    L, (q, q_d, q_dd) = lagrangian(bodies), _symbols(bodies)
    rows = []
    for coordinate, rate, applied in zip(q, q_d, [*TORQUES, *[0] * len(q)], strict=False):
        momentum = count.by_scalar(L, rate)
        momentum_rate = count.along(momentum, [(q, q_d), (q_d, q_dd)])
        rows.append(momentum_rate - count.by_scalar(L, coordinate) - applied)
    return Matrix(rows)


def constraints(bodies: Sequence[int] = BODIES) -> Matrix:
    """h_k(q) = 0, eq. (12): chi_3 and the nine centre coordinates as eq. (19) ties them to theta."""
    rows = [chi_3 - alpha_2 - alpha_3]
    for j in bodies:
        rows += [symbol - value for symbol, value in zip(CENTRES[j], centre(j), strict=True)]
    return Matrix(rows)


def centre(j: int) -> tuple[sympy.Expr, sympy.Expr, sympy.Expr]:
    """x_j, y_j, z_j by eq. (19), with chi_3 for alpha_2 + alpha_3."""
    reach = _E[j] * l_2 * cos(alpha_2) + _F[j] * l_3 * cos(chi_3)
    rise = _E[j] * l_2 * sin(alpha_2) + _F[j] * l_3 * sin(chi_3)
    return -sin(gamma_1) * reach, cos(gamma_1) * reach, rise


def complement(bodies: Sequence[int] = BODIES, count: Differentiator | None = None) -> Matrix:
    """C: delta q = C delta theta, eq. (20); A C = 0."""
    count = count or Differentiator()
    centres = Matrix([s for j in bodies for s in centre(j)])
    chi_by_theta = Matrix([[0, 1, 1]])  # chi_3 moves with alpha_2 and alpha_3
    (by_theta,) = count.by_vector((centres,), Matrix(THETA))
    (by_chi,) = count.by_vector((centres,), Matrix([chi_3]))
    return Matrix.vstack(sympy.eye(3), chi_by_theta, by_theta + by_chi * chi_by_theta)


# The same in numbers, solved together with the constraints: a DAE in all thirteen coordinates.


class MaggiDae:
    """Eqs. (12), (14) and (18) of the manipulator with the numbers of ``parameters``.

    ``parameters`` maps the symbols ``PARAMETERS`` (J_z1, m_2, ..., g) to numbers.
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
