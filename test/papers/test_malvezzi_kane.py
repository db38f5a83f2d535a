"""[Malvezzi2017] eqs. (1) to (11): M and V by the engine and by Lagrange, against the print."""

import malvezzi_print as printed
import pytest
import sympy
from paper_chains import lagranges_efforts, same
from sympy import cos, sin

from kane_dynamics_ros.formulation.dual import sine_cosine
from kane_dynamics_ros.formulation.kane import dynamics
from kane_dynamics_ros.formulation.kane.kinematics import motion, placements_at
from kane_dynamics_ros.formulation.kane.partial_velocities import generalized_forces_by_body
from kane_dynamics_ros.formulation.witnesses import gibbs_appell, lagrange, maggi
from kane_dynamics_ros.papers.assessment import manipulator_in_symbols

gamma1, alpha2, alpha3 = ANGLES = printed.THETA
gd1, ad2, ad3 = RATES = printed.THETA_D
ACCELERATIONS = printed.THETA_DD
GRAVITY = (0, 0, -printed.g)
CHAIN, END_EFFECTOR = manipulator_in_symbols()
l_2, l_3, m_3, m_4 = printed.l_2, printed.l_3, printed.m_3, printed.m_4


def efforts(derivation, rates=RATES, accelerations=ACCELERATIONS, gravity=GRAVITY):
    return list(derivation(CHAIN, ANGLES, rates, accelerations, gravity, END_EFFECTOR))


@pytest.fixture(scope="module")
def kane():
    """T_1, T_2, T_3 by the engine, eqs. (1) to (5)."""
    return efforts(dynamics.inverse_dynamics)


def test_mass_matrix_6_is_exact_term_by_term():
    columns = [
        efforts(dynamics.inverse_dynamics, (0, 0, 0), tuple(unit), (0, 0, 0))
        for unit in sympy.eye(3).tolist()
    ]
    assert same(printed.M, sympy.Matrix(columns).T, ANGLES)


@pytest.fixture(scope="module")
def V():
    return efforts(dynamics.inverse_dynamics, accelerations=(0, 0, 0))


def test_V1_of_7_has_two_slips(V):
    """A factor too much (its unit is not even a torque's), and l_2 squared where l_3 squared belongs."""
    angle = alpha2 + alpha3
    in_m3 = m_3 * l_2 * l_3 * cos(angle) * sin(alpha2) * ad2 * gd1 * (1 - (ad2 + ad3))
    in_m4 = 2 * m_4 * (l_3**2 - l_2**2) * sin(angle) * cos(angle) * (ad2 + ad3) * gd1
    assert same(printed.V1 - V[0], in_m3 + in_m4, ANGLES)


def test_V2_of_7_has_two_slips(V):
    """l_2 l_3 lacks its half in m_3's term, and m_4's bracket has the wrong sign."""
    angle = alpha2 + alpha3
    in_m3 = m_3 * l_2 * l_3 / 2 * sin(2 * alpha2 + alpha3)
    bracket = l_2**2 * sin(alpha2) * cos(alpha2) + l_2 * l_3 * sin(2 * alpha2 + alpha3)
    in_m4 = -2 * m_4 * (bracket + l_3**2 * sin(angle) * cos(angle))
    assert same(printed.V2 - V[1], (in_m3 + in_m4) * gd1**2, ANGLES)


def test_V3_of_7_lacks_a_half(V):
    """Once its missing bracket is opened after m_4, as units demand."""
    assert same(printed.V3 - V[2], m_3 * l_2 * l_3 / 2 * sin(alpha3) * (ad2 + ad3) * ad2, ANGLES)


@pytest.mark.parametrize("derivation", [lagrange, maggi, gibbs_appell], ids=lambda module: module.__name__)
def test_equations_8_to_11_give_the_same_torques(kane, derivation):
    assert same(efforts(derivation.inverse_dynamics), kane, ANGLES)


def test_equations_1_to_3_summed_body_by_body_give_the_factored_ones(kane):
    placements = placements_at(dynamics.loaded_segments(CHAIN, END_EFFECTOR), ANGLES, sine_cosine)
    motions = motion(placements, RATES, ACCELERATIONS, GRAVITY)
    assert same(generalized_forces_by_body(placements, motions, 3), kane, ANGLES)


def test_equation_8_by_differentiating_the_lagrangian(kane):
    kinetic, potential = lagrange.energies(CHAIN, ANGLES, RATES, GRAVITY, END_EFFECTOR)
    L = kinetic.item() - potential.item()
    assert same(lagranges_efforts(L, ANGLES, RATES, ACCELERATIONS), kane, ANGLES)
    assert same(efforts(lagrange.inverse_dynamics), kane, ANGLES)  # (9), as the package carries it out
