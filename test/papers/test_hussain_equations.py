"""[Hussain2016] eqs. (33) to (48): forces and equations of motion, from the engine and from Lagrange."""

import re
from pathlib import Path

import hussain_print as printed
import pytest
import sympy
from paper_chains import lagranges_efforts, same
from sympy import cos, sin

from kane_dynamics_ros.description import Inertia
from kane_dynamics_ros.formulation.dual import sine_cosine
from kane_dynamics_ros.formulation.kane import dynamics
from kane_dynamics_ros.formulation.kane.dynamics import inertia_force, inertia_torque
from kane_dynamics_ros.formulation.kane.kinematics import BodyMotion, motion, placements_at
from kane_dynamics_ros.formulation.kane.partial_velocities import generalized_forces_by_body
from kane_dynamics_ros.formulation.kane.segments import body_inertia, segments_of
from kane_dynamics_ros.formulation.witnesses import lagrange
from kane_dynamics_ros.papers.three_link_chain import chain_in_symbols

q1, q2, q3 = ANGLES = (printed.q1, printed.q2, printed.q3)
qd1, qd2, qd3 = RATES = (printed.qd1, printed.qd2, printed.qd3)
ACCELERATIONS = (printed.qdd1, printed.qdd2, printed.qdd3)
AT_REST = (0, 0, 0)
GRAVITY = (0, 0, -printed.g)  # n_2 is the root frame's z


@pytest.fixture(scope="module")
def efforts():
    """T_1, T_2, T_3 by the engine."""
    return dynamics.inverse_dynamics(chain_in_symbols(), ANGLES, RATES, ACCELERATIONS, GRAVITY)


@pytest.fixture(scope="module")
def by_lagrange():
    """T_1, T_2, T_3 by Lagrange's equations."""
    return lagrange.inverse_dynamics(chain_in_symbols(), ANGLES, RATES, ACCELERATIONS, GRAVITY)


def test_active_forces_34_36_37_balance_the_static_torques():
    static = dynamics.inverse_dynamics(chain_in_symbols(), ANGLES, AT_REST, AT_REST, GRAVITY)
    torques = dict(zip((printed.T_1, printed.T_2, printed.T_3), static, strict=True))
    F = [F_r.subs(torques) for F_r in (printed.F_1, printed.F_2, printed.F_3)]
    assert same(F, AT_REST, ANGLES)
    placements = placements_at(segments_of(chain_in_symbols()), ANGLES, sine_cosine)
    by_body = generalized_forces_by_body(placements, motion(placements, AT_REST, AT_REST, GRAVITY), 3)
    assert same(by_body, static, ANGLES)  # (33) and (35): the same forces as dot products


def test_equation_39_has_l_B_where_rho_B_belongs(efforts):
    slip = 2 * printed.m_B * printed.l_A * (printed.rho_B - printed.l_B) * sin(q2) * qd1 * qd2
    assert same(printed.T1_KANE - efforts[0], slip, ANGLES)


def test_equation_40_is_exact(efforts, by_lagrange):
    assert same(printed.T2, efforts[1], ANGLES)
    assert same(printed.T2, by_lagrange[1], ANGLES)  # (47)


def test_equation_41_prints_a_term_twice(efforts, by_lagrange):
    slip = 2 * printed.m_C * printed.l_B * printed.rho_C * sin(q3) * qd1 * qd2
    assert same(printed.T3 - efforts[2], slip, ANGLES)
    assert same(printed.T3 - by_lagrange[2], slip, ANGLES)  # (48)


def test_equation_46_has_the_slip_of_39_and_lacks_a_term(by_lagrange):
    slip = 2 * printed.l_A * (printed.m_B * (printed.rho_B - printed.l_B) + printed.m_C * printed.l_B)
    assert same(printed.T1_LAGRANGE - by_lagrange[0], slip * sin(q2) * qd1 * qd2, ANGLES)


def test_lagrange_and_kane_agree_as_the_paper_says(efforts, by_lagrange):
    assert same(list(by_lagrange), efforts, ANGLES)


def test_equation_44_lacks_three_terms_and_mixes_two():
    kinetic, _ = lagrange.energies(chain_in_symbols(), ANGLES, RATES, GRAVITY)
    m_C, l_A, l_B, rho_C = printed.m_C, printed.l_A, printed.l_B, printed.rho_C
    missing = m_C * l_B**2 / 2 * qd2**2
    missing += (printed.I_C + m_C * rho_C**2 + m_C * l_B * rho_C * cos(q3)) * qd2 * qd3
    missing += m_C * rho_C * (l_B * cos(q3) + l_A * cos(q2 + q3) - l_A * cos(q3)) * qd1**2
    assert same(kinetic.item() - printed.K, missing, ANGLES)


def test_equation_45_is_exact():
    _, potential = lagrange.energies(chain_in_symbols(), ANGLES, RATES, GRAVITY)
    assert same(printed.P, potential.item(), ANGLES)


def test_equations_42_and_43_derive_the_exact_torques_from_the_right_energies(by_lagrange):
    kinetic, potential = lagrange.energies(chain_in_symbols(), ANGLES, RATES, GRAVITY)
    L = kinetic.item() - potential.item()
    assert same(lagranges_efforts(L, ANGLES, RATES, ACCELERATIONS), list(by_lagrange), ANGLES)


def test_equations_1_2_5_summed_body_by_body(efforts):
    placements = placements_at(segments_of(chain_in_symbols()), ANGLES, sine_cosine)
    motions = motion(placements, RATES, ACCELERATIONS, GRAVITY)
    assert same(generalized_forces_by_body(placements, motions, 3), efforts, ANGLES)


PRINCIPAL = sympy.diag(*sympy.symbols("I_x I_y I_z"))


def free_body(spin, turn, com=(0, 0, 0), tensor=PRINCIPAL):
    """A body moving as it likes; its mass centre at ``com``, its central tensor."""
    inertia = Inertia(printed.m_A, com, tuple(map(tuple, tensor.tolist())))
    w, alpha = (sympy.Matrix(v) for v in (spin, turn))
    skew = sympy.Matrix(3, 3, lambda i, j: sum(sympy.LeviCivita(i, k, j) * w[k] for k in range(3)))
    U = sympy.Matrix(3, 3, lambda i, j: sum(sympy.LeviCivita(i, k, j) * alpha[k] for k in range(3))) + skew**2
    spread = (U[2, 2] - U[1, 1], U[0, 0] - U[2, 2], U[1, 1] - U[0, 0])
    a = sympy.symbols("a_x a_y a_z")
    at = BodyMotion(tuple(spin), tuple(turn), a, tuple(map(tuple, U.tolist())), spread)
    return body_inertia(inertia), at, tensor, sympy.Matrix(a)


SPIN, TURN = sympy.symbols("w_x w_y w_z"), sympy.symbols("e_x e_y e_z")


def test_equation_3_is_the_inertia_force():
    body, at, _, a = free_body(SPIN, TURN)
    assert same(list(inertia_force(body, at)), list(printed.m_A * a), ANGLES)  # -R*


def test_equations_3_and_4_of_a_body_that_nothing_singles_out():
    """Mass centre away from the origin, no principal axes: R* through it, and its moment about the origin."""
    c, spin, turn = sympy.Matrix(sympy.symbols("c_x c_y c_z")), sympy.Matrix(SPIN), sympy.Matrix(TURN)
    xx, xy, xz, yy, yz, zz = sympy.symbols("I_xx I_xy I_xz I_yy I_yz I_zz")
    tensor = sympy.Matrix([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    body, at, I_body, a = free_body(SPIN, TURN, tuple(c), tensor)
    a_centre = a + turn.cross(c) + spin.cross(spin.cross(c))  # eq. (17)
    force = printed.m_A * a_centre
    torque = I_body * turn + spin.cross(I_body * spin) + c.cross(force)
    assert same(list(inertia_force(body, at)), list(force), ANGLES)
    assert same(list(inertia_torque(body, at)), list(torque), ANGLES)


def test_equation_4_lacks_the_gyroscopic_torque_of_a_body_in_space():
    body, at, I_body, _ = free_body(SPIN, TURN)
    minus_torque = sympy.Matrix(inertia_torque(body, at))
    gyroscopic = sympy.Matrix(SPIN).cross(I_body * sympy.Matrix(SPIN))
    assert same(minus_torque - I_body * sympy.Matrix(TURN), gyroscopic, ANGLES)
    planar, at, I_body, _ = free_body((0, 0, SPIN[2]), (0, 0, TURN[2]))
    assert same(sympy.Matrix(inertia_torque(planar, at)), I_body * sympy.Matrix([0, 0, TURN[2]]), ANGLES)


def test_equation_6_has_V_and_G_on_the_side_of_the_torques(efforts):
    """M q'' = T + V + G: the paper's V and G are ours, sign reversed."""
    chain = chain_in_symbols()
    inertia = dynamics.inverse_dynamics(chain, ANGLES, AT_REST, ACCELERATIONS, (0, 0, 0))
    V = [-v for v in dynamics.inverse_dynamics(chain, ANGLES, RATES, AT_REST, (0, 0, 0))]
    G = [-g for g in dynamics.inverse_dynamics(chain, ANGLES, AT_REST, AT_REST, GRAVITY)]
    right = [T + v + g for T, v, g in zip(efforts, V, G, strict=True)]
    assert same(inertia, right, ANGLES)


def test_the_eleven_double_dots_that_are_read_as_single_ones_cannot_be_meant():
    """Slowed down s times, a torque of motion falls by s^2; these factors would by s^3 or s^4."""
    s = sympy.Symbol("s", positive=True)
    slower = {rate: rate / s for rate in RATES} | {a: a / s**2 for a in ACCELERATIONS}
    printed_terms = [term for terms in printed.DOUBLE_DOTS.values() for term in terms]
    assert len(printed_terms) == 11
    for term in printed_terms:
        assert sympy.simplify(term.subs(slower) / term) in {s**-3, s**-4}
    motion_only = {printed.g: 0}
    for torque in (printed.T1_KANE, printed.T1_LAGRANGE, printed.T2, printed.T3):
        torque = torque.subs(motion_only)
        assert sympy.expand(torque.subs(slower, simultaneous=True) * s**2 - torque) == 0
    page = (Path(__file__).resolve().parents[2] / "docs" / "papers.md").read_text(encoding="utf-8")
    for equation, terms in printed.DOUBLE_DOTS.items():
        (row,) = re.findall(rf"^\| {re.escape(equation)} \| two dots .*$", page, re.MULTILINE)
        assert len(re.findall(r"\bq_\d''", row)) == len(terms)
