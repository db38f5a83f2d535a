"""[Malvezzi2017]'s own Maggi equations of the manipulator: thirteen redundant coordinates, wrist locked.

Coordinates: gamma_1, alpha_2, alpha_3, chi_3 = alpha_2 + alpha_3, and the centres of mass x_j, y_j, z_j of
the bodies 2, 3 and of the end-effector 4. The print's slips are put right here (docs/papers.md lists
them): potential energy enters the Lagrangian with a minus, z points up. Derivatives are taken by SymPy.
"""

from typing import NamedTuple

import sympy
from sympy import Matrix, Rational, cos, sin

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


def maggi_system() -> MaggiSystem:
    """Derive the paper's equations from its energies and constraints."""
    h = constraints()
    A = h.jacobian(COORDINATES)
    h_dot = A * Matrix(RATES)
    return MaggiSystem(residuals(), complement(), h, A, h_dot.jacobian(COORDINATES) * Matrix(RATES))


def lagrangian() -> sympy.Expr:
    """L = T - U in the redundant coordinates, eq. (21)."""
    rate = dict(zip(COORDINATES, RATES, strict=True))
    energy = J_z1 * rate[gamma_1] ** 2
    for angle, J_x, J_y, J_z in ((alpha_2, J_x2, J_y2, J_z2), (chi_3, J_x3, J_y3, J_z3)):
        energy += J_x * rate[angle] ** 2
        energy += (J_y * sin(angle) ** 2 + J_z * cos(angle) ** 2) * rate[gamma_1] ** 2
    for j in BODIES:
        energy += MASSES[j] * (sum(rate[s] ** 2 for s in CENTRES[j]) - 2 * g * CENTRES[j][2])
    return energy / 2


def residuals() -> Matrix:
    """Phi_r = d/dt (dL/dq_r') - dL/dq_r - Q_r for each redundant coordinate, eq. (22)."""
    L = lagrangian()
    momenta = Matrix([L]).jacobian(RATES).T
    momenta_rate = momenta.jacobian(COORDINATES) * Matrix(RATES) + momenta.jacobian(RATES) * Matrix(
        ACCELERATIONS
    )
    applied = Matrix([*TORQUES, *[0] * (len(COORDINATES) - len(TORQUES))])
    return momenta_rate - Matrix([L]).jacobian(COORDINATES).T - applied


def constraints() -> Matrix:
    """h_k(q) = 0, eq. (12): chi_3 and the nine centre coordinates as eq. (19) ties them to theta."""
    rows = [chi_3 - alpha_2 - alpha_3]
    for j in BODIES:
        rows += [symbol - value for symbol, value in zip(CENTRES[j], centre(j), strict=True)]
    return Matrix(rows)


def centre(j: int) -> tuple[sympy.Expr, sympy.Expr, sympy.Expr]:
    """x_j, y_j, z_j by eq. (19), with chi_3 for alpha_2 + alpha_3."""
    reach = _E[j] * l_2 * cos(alpha_2) + _F[j] * l_3 * cos(chi_3)
    rise = _E[j] * l_2 * sin(alpha_2) + _F[j] * l_3 * sin(chi_3)
    return -sin(gamma_1) * reach, cos(gamma_1) * reach, rise


def complement() -> Matrix:
    """C: delta q = C delta theta, eq. (20); A C = 0."""
    dependent = Matrix([chi_3, *(s for j in BODIES for s in centre(j))])
    by_theta = dependent.jacobian(THETA)
    by_theta[0, :] = Matrix([[0, 1, 1]])  # chi_3 moves with alpha_2 and alpha_3
    by_theta[1:, :] += dependent[1:, :].jacobian([chi_3]) * by_theta[0, :]
    return sympy.eye(3).col_join(by_theta)
