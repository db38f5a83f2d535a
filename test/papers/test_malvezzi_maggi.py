"""[Malvezzi2017] eqs. (12) to (22): Maggi's equations in the paper's own redundant coordinates."""

import malvezzi_print as printed
import pytest
import sympy
from paper_chains import same
from sympy import cos, sin

from kane_dynamics_ros.formulation.kane import dynamics
from kane_dynamics_ros.papers import manipulator_maggi as ours
from kane_dynamics_ros.papers.assessment import manipulator_in_symbols

gamma1, alpha2, alpha3 = printed.THETA
chi3 = printed.chi3
gd1, gdd1 = printed.gd1, printed.gdd1
ANGLES = (*printed.THETA, chi3)
SYSTEM = ours.maggi_system()
BODIES = (2, 3, 4)
ON_THE_ARM = {chi3: alpha2 + alpha3}


def rows_of(j: int) -> slice:
    """The places of x_j, y_j, z_j among the coordinates."""
    return slice(4 + 3 * (j - 2), 7 + 3 * (j - 2))


@pytest.mark.parametrize("j", BODIES)
def test_coordinates_19_are_exact(j):
    assert same(printed.position(j), sympy.Matrix([ours.centre(j)]).subs(ON_THE_ARM), ANGLES)


@pytest.mark.parametrize("j", BODIES)
def test_coordinates_19_are_where_the_engine_has_the_mass_centres(j):
    from kane_dynamics_ros.formulation.witnesses.maggi import redundant_coordinates

    chain, end_effector = manipulator_in_symbols()
    bodies = list(redundant_coordinates(chain, printed.THETA, end_effector))  # limbs 1, 2, 3, end-effector
    assert same(list(bodies[j - 1].x.ravel()), printed.position(j), ANGLES)


def test_constraints_12_hold_at_coordinates_19():
    at = {
        symbol: value for j in BODIES for symbol, value in zip(ours.CENTRES[j], ours.centre(j), strict=True)
    }
    assert same(SYSTEM.constraints.subs(at).subs(ON_THE_ARM), sympy.zeros(10, 1), ANGLES)


def test_constraints_14_are_the_second_derivative_of_12():
    q, qd, qdd = (sympy.Matrix(s) for s in (ours.COORDINATES, ours.RATES, ours.ACCELERATIONS))
    h_dot = SYSTEM.constraints.jacobian(q) * qd
    h_ddot = h_dot.jacobian(q) * qd + h_dot.jacobian(qd) * qdd
    assert same(SYSTEM.jacobian * qdd + SYSTEM.bias, h_ddot, ANGLES)


def test_C_is_an_orthogonal_complement_of_A_15_16():
    assert same(SYSTEM.jacobian * SYSTEM.complement, sympy.zeros(10, 3), ANGLES)
    assert SYSTEM.complement.subs(dict.fromkeys(ANGLES, 0.3) | {ours.l_2: 1, ours.l_3: 1}).rank() == 3


def test_C_17_is_the_derivative_of_the_coordinates_by_theta():
    coordinates = sympy.Matrix(
        [*printed.THETA, alpha2 + alpha3, *(s for j in BODIES for s in printed.position(j))]
    )
    assert same(SYSTEM.complement.subs(ON_THE_ARM), coordinates.jacobian(printed.THETA), ANGLES)


def test_C_20_is_exact_in_the_rows_of_the_angles():
    assert SYSTEM.complement[:4, :] == printed.COMPLEMENT_HEAD


@pytest.mark.parametrize("j", BODIES)
def test_C_20_has_two_wrong_signs_and_a_wrong_length(j):
    e, f, l_2, l_3 = printed.e[j], printed.f[j], printed.l_2, printed.l_3
    slip = sympy.zeros(3)
    slip[0, 1] = -2 * sin(gamma1) * (e * l_2 * sin(alpha2) + f * l_3 * sin(chi3))
    slip[0, 2] = -2 * sin(gamma1) * f * l_3 * sin(chi3)
    slip[2, 1] = f * (l_2 - l_3) * cos(chi3)
    assert same(printed.complement_rows(j) - SYSTEM.complement[rows_of(j), :], slip, ANGLES)


def test_lagrangian_21_has_the_potential_energy_with_the_wrong_sign():
    weight = sum(printed.m[j] * printed.g * printed.z[j] for j in BODIES)
    assert same(printed.L - ours.lagrangian(), 2 * weight, ANGLES)


def residual(name: str):
    names = [str(symbol) for symbol in ours.COORDINATES]
    return SYSTEM.residuals[names.index(name)]


def test_residual_gamma_1_of_22_has_sines_for_cosines_and_sums_for_differences():
    J_z2, J_z3 = printed.J_z2, printed.J_z3
    slip = -(J_z2 * cos(2 * alpha2) + J_z3 * cos(2 * chi3)) * gdd1
    slip += 2 * J_z2 * sin(2 * alpha2) * gd1 * printed.ad2 + 2 * J_z3 * sin(2 * chi3) * gd1 * printed.chid3
    assert same(printed.PHI["gamma_1"] - residual("gamma_1"), slip, ANGLES)


@pytest.mark.parametrize(
    ("name", "J_z", "angle"), [("alpha_2", printed.J_z2, alpha2), ("chi_3", printed.J_z3, chi3)]
)
def test_residuals_alpha_2_and_chi_3_of_22_have_a_sum_for_a_difference(name, J_z, angle):
    slip = -2 * J_z * sin(angle) * cos(angle) * gd1**2
    assert same(printed.PHI[name] - residual(name), slip, ANGLES)


@pytest.mark.parametrize("name", ["alpha_3", *(f"{axis}_{j}" for axis in "xy" for j in BODIES)])
def test_residual_of_22_is_exact(name):
    assert printed.PHI[name] - residual(name) == 0


@pytest.mark.parametrize("j", BODIES)
def test_residual_z_of_22_has_gravity_with_the_wrong_sign(j):
    assert sympy.expand(printed.PHI[f"z_{j}"] - residual(f"z_{j}") + 2 * printed.m[j] * printed.g) == 0


def test_maggi_18_reduced_to_theta_is_kane():
    """On the arm, with all redundant rates and accelerations put in, C' Phi = 0 gives Kane's torques."""
    theta, theta_d, theta_dd = (sympy.Matrix(s) for s in (printed.THETA, printed.THETA_D, printed.THETA_DD))
    coordinates = sympy.Matrix([*theta, alpha2 + alpha3, *(s for j in BODIES for s in printed.position(j))])
    rates = coordinates.jacobian(theta) * theta_d
    accelerations = coordinates.jacobian(theta) * theta_dd + rates.jacobian(theta) * theta_d
    reduced = SYSTEM.equations.subs(dict(zip(ours.ACCELERATIONS[3:], accelerations[3:], strict=True)))
    reduced = reduced.subs(dict(zip(ours.RATES[3:], rates[3:], strict=True))).subs(ON_THE_ARM)
    chain, end_effector = manipulator_in_symbols()
    gravity = (0, 0, -printed.g)
    kane = dynamics.inverse_dynamics(
        chain, printed.THETA, printed.THETA_D, printed.THETA_DD, gravity, end_effector
    )
    torques = dict(zip(ours.TORQUES, kane, strict=True))
    assert same(reduced.subs(torques), sympy.zeros(3, 1), ANGLES)


def test_the_print_reduced_the_same_way_is_not_kane():
    """With 20 and 22 as printed the arm at rest would need negative torques against its weight."""
    still = dict.fromkeys([*ours.RATES, *ours.ACCELERATIONS, *ours.TORQUES, *printed.THETA, chi3], 0)
    C = printed.COMPLEMENT_HEAD
    for j in BODIES:
        C = C.col_join(printed.complement_rows(j))
    phi = sympy.Matrix([printed.PHI[str(symbol)] for symbol in ours.COORDINATES])
    T_2 = (C.T * phi).subs(still)[1]
    weights = (printed.m_2 / 2 + printed.m_3 + printed.m_4) * printed.l_2
    # f_j l_2 in the row of z_j puts l_2 for l_3 as well
    expected = -printed.g * (weights + (printed.m_3 / 2 + printed.m_4) * printed.l_2)
    assert sympy.expand(T_2 - expected) == 0
