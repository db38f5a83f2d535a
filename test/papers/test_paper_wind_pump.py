"""[WindPump] eqs. (21) to (24) and (A6) to (A46), exactly: right as printed, or wrong by a difference
shown.
"""

import math
import random

import numpy as np
import pytest
import sympy as sp
import wind_pump_print as p
from scipy.integrate import trapezoid
from wind_pump_print import h, hg, l1, l2, phi_1, phi_2, phi_3, psi, t, xi

from kane_dynamics_ros.papers.wind_pump_mechanism import (
    GRAVITY,
    Angles,
    Mechanism,
    MechanismState,
    PaperError,
    PumpMotion,
    close_loop,
    driven,
    external_forces,
    liaison_matrix,
    mass_matrix,
    points,
)
from kane_dynamics_ros.papers.wind_pump_turn import steady_turn

PUMP = Mechanism()
ZERO2 = sp.zeros(2, 1)

# A state that nothing singles out, of a mechanism whose crank has its mass centre off the axis: there the
# code is held against the print. Forces are (X_A .. Y_D), the torque is M_m.
SAMPLE = Mechanism(a1=0.3, a2=0.37)
MOTION = MechanismState(phi_1=0.7, omega_1=9.0, x_D=0.5, v_D=0.3)
SECOND = np.array([-20.0, 4.0])  # epsilon_1, x_D''
PRODUCTS = np.array([MOTION.omega_1**2, MOTION.omega_1 * MOTION.v_D, MOTION.v_D**2])
FORCES = np.array([3.0, -5.0, 7.0, 11.0, -13.0, 17.0, 19.0, -23.0])
TORQUE = 29.0
ANGLES = close_loop(SAMPLE, MOTION.phi_1, MOTION.x_D)
LIAISON = liaison_matrix(SAMPLE, MOTION.phi_1, MOTION.x_D)
ROUNDING = {"rtol": 1e-11, "atol": 1e-11}


def direction(angle):
    return np.array([math.cos(angle), math.sin(angle)])


def matrices(pump, phi_1, x_D):
    """A (10, 2) and B (10, 3) of (A31): the accelerations are linear in (epsilon_1, x_D'') and quadratic in
    (omega_1, x_D').
    """

    def accelerations(omega_1, v_D, *second):
        motion = PumpMotion(pump, MechanismState(phi_1, omega_1, x_D, v_D))
        return motion.accelerations(np.array(second))

    crank, slide = accelerations(1.0, 0.0, 0.0, 0.0), accelerations(0.0, 1.0, 0.0, 0.0)
    both = accelerations(1.0, 1.0, 0.0, 0.0) - crank - slide
    A = np.stack([accelerations(0.0, 0.0, 1.0, 0.0), accelerations(0.0, 0.0, 0.0, 1.0)], axis=1)
    return A, np.stack([crank, both, slide], axis=1)


def speed_ratios():
    """a of (A19) as (A29) has it in A."""
    return (
        matrices(SAMPLE, MOTION.phi_1, MOTION.x_D)[0][[5, 8]] * [[SAMPLE.l2], [SAMPLE.h]] / [SAMPLE.l1, 1.0]
    )


def acceleration_terms():
    """b of (A24) as (A30) has it in B."""
    B = matrices(SAMPLE, MOTION.phi_1, MOTION.x_D)[1]
    return B[[5, 8]] * [[SAMPLE.l2], [SAMPLE.h]] / [SAMPLE.l1**2, SAMPLE.l1, 1.0]


def simplified(value):
    return sp.Matrix([value]).applyfunc(lambda f: sp.simplify(sp.expand_trig(f)))


def unit(angle):
    return sp.Matrix([sp.cos(angle), sp.sin(angle)])


def in_numbers(formula):
    """A formula of the print, (rows, columns), at the state above; angles and rates are the code's."""
    A, B = matrices(SAMPLE, MOTION.phi_1, MOTION.x_D)
    speeds = (A @ [MOTION.omega_1, MOTION.v_D])[[2, 5, 8, 9]]
    seconds = (A @ SECOND + B @ PRODUCTS)[[2, 5, 8, 9]]
    functions = (phi_1, phi_2, phi_3, p.x_D)
    values = list(zip([f.diff(t, 2) for f in functions], seconds, strict=True))
    values += list(zip([f.diff(t) for f in functions], speeds, strict=True))
    values += list(zip(functions, (*ANGLES, MOTION.x_D), strict=True))
    values += list(zip(p.A_SYMBOLS, speed_ratios().ravel(), strict=True))
    values += list(zip(p.FORCES, FORCES, strict=True))
    for name in ("l1", "l2", "h", "hg", "e", "psi", "xi", "a1", "a2", "k", "x0", "Fr"):
        values.append((getattr(p, name), getattr(SAMPLE, name)))
    values.append((p.Mm, TORQUE))
    return np.array(sp.Matrix(formula).subs(values).tolist(), dtype=float)


def sides():
    """(beta, gamma, delta) of (A7) to (A16) from the code's angles; beta by the cosine theorem's gamma."""
    B, D = SAMPLE.l1 * direction(MOTION.phi_1), np.array([MOTION.x_D, SAMPLE.e])
    along, BD = math.atan2(*(D - B)[::-1]), math.dist(B, D)
    cosine = (SAMPLE.l2**2 + BD**2 - SAMPLE.h**2) / (2 * SAMPLE.l2 * BD)
    beta = ANGLES.phi_2 + math.acos(cosine) - math.atan2(D[1], D[0])
    return beta, along - ANGLES.phi_2, ANGLES.phi_3 - SAMPLE.psi - along


def angle_at_B():
    """alpha of (A7), from the points alone."""
    B, D = SAMPLE.l1 * direction(MOTION.phi_1), np.array([MOTION.x_D, SAMPLE.e])
    return math.pi - (math.atan2(*(D - B)[::-1]) - MOTION.phi_1)


def moment(at, force):
    return at[0] * force[1] - at[1] * force[0]


# --- section 5: eqs. (21) to (24) ---------------------------------------------------------------------


def test_eqs_21_to_23_the_vector_contour():
    """(22) lacks an index: difference (l - l_3) sin(theta) j; (23) is right."""
    l3, l4, lost, alpha, beta, theta, e, D, X = sp.symbols("l_3 l_4 l alpha beta theta e D X_D")
    contour = l1 * unit(alpha) + l2 * unit(-beta) + l3 * unit(theta) + l4 * unit(theta + sp.pi / 2)
    contour += sp.Matrix([0, e]) + sp.Matrix([-X, -D])  # (21): AB + BC' + C'C + CD + DE + EP + PA
    printed_22 = sp.Matrix(
        [
            l1 * sp.cos(alpha) + l2 * sp.cos(beta) + l3 * sp.cos(theta) - l4 * sp.sin(theta) - X,
            l1 * sp.sin(alpha) - l2 * sp.sin(beta) + lost * sp.sin(theta) + l4 * sp.cos(theta) + e - D,
        ]
    )
    printed_23 = printed_22.subs(lost, l3)
    assert simplified(contour - printed_23) == ZERO2
    assert simplified(printed_22 - contour) == sp.Matrix([0, (lost - l3) * sp.sin(theta)])
    ours = {alpha: phi_1, beta: -phi_2, e: 0, D: p.e, X: p.x_D, l3: SAMPLE.f, l4: SAMPLE.g}
    ours[theta] = phi_3 - psi - math.atan2(SAMPLE.g, SAMPLE.f)
    np.testing.assert_allclose(in_numbers(contour.subs(ours)), 0.0, **ROUNDING)


def test_eq_A6_is_eq_23_in_other_letters():
    """alpha = phi_1, beta = -phi_2, e of (A6) = D - e of (23), and h at phi_3 - psi is l_3 at theta with
    l_4.
    """
    l3, l4 = sp.symbols("l_3 l_4", positive=True)
    theta = phi_3 - psi - sp.atan2(l4, l3)
    of_23 = l3 * unit(theta) + l4 * unit(theta + sp.pi / 2)
    of_A6 = (h * unit(phi_3 - psi)).subs(h, sp.sqrt(l3**2 + l4**2))
    assert simplified(of_23 - of_A6) == ZERO2


def test_eqs_24_and_A31_the_accelerations_are_second_differences_of_the_positions():
    """Along phi_1(t), x_D(t); central differences with step 1e-4 s: relative errors 1e-8 and 1e-16 / 1e-8."""
    omega_1, epsilon_1, v_D, a_D = 9.0, -20.0, 0.3, 4.0

    def everything(time):
        angle = 0.7 + omega_1 * time + epsilon_1 * time**2 / 2
        slide = 0.5 + v_D * time + a_D * time**2 / 2
        angles = close_loop(SAMPLE, angle, slide)
        centres = points(SAMPLE, angle, slide).centres
        return np.array(
            [*(v for row, angle in zip(centres, angles, strict=True) for v in (*row, angle)), slide]
        )

    step = 1e-4
    second = (everything(step) - 2 * everything(0.0) + everything(-step)) / step**2
    A, B = matrices(SAMPLE, 0.7, 0.5)
    found = A @ [epsilon_1, a_D] + B @ [omega_1**2, omega_1 * v_D, v_D**2]
    np.testing.assert_allclose(found, second, rtol=1e-5, atol=1e-5)


# --- closure: (A6) to (A16) ---------------------------------------------------------------------------


def test_eqs_A7_and_A10_the_angle_at_D():
    """(A7) is the sum of angles; (A10) its sine."""
    alpha, beta_AD = sp.symbols("alpha beta_AD")
    beta = phi_1 - sp.pi - alpha - beta_AD  # (A7)
    assert sp.simplify((2 * sp.pi - phi_1 + beta_AD) + alpha + beta - sp.pi) == 0
    printed = -sp.sin(phi_1 - beta_AD) * sp.cos(alpha) + sp.cos(phi_1 - beta_AD) * sp.sin(alpha)
    assert sp.simplify(sp.expand_trig(sp.sin(beta) - printed)) == 0
    at_D, turn = sides()[0], MOTION.phi_1 - math.atan2(SAMPLE.e, MOTION.x_D)
    at_B = angle_at_B()
    by_A10 = -math.sin(turn) * math.cos(at_B) + math.cos(turn) * math.sin(at_B)
    assert math.sin(at_D) == pytest.approx(by_A10, rel=1e-11)


def test_eqs_A8_A9_A11_the_sine_theorem_gives_the_angle_at_B():
    """With tan(alpha) of (A11), l_1 sin(alpha) = AD sin(beta): exact."""
    AD, turn, alpha = sp.symbols("AD turn alpha", positive=True)
    sin_beta = -sp.sin(turn) * sp.cos(alpha) + sp.cos(turn) * sp.sin(alpha)  # (A10), turn = phi_1 - beta'
    balance = sp.expand(l1 * sp.sin(alpha) - AD * sin_beta)
    tangent = -AD * sp.sin(turn) / (l1 - AD * sp.cos(turn))  # (A11)
    assert sp.simplify(balance.subs(sp.sin(alpha), tangent * sp.cos(alpha))) == 0
    side = math.hypot(MOTION.x_D, SAMPLE.e)
    assert side * math.sin(sides()[0]) == pytest.approx(SAMPLE.l1 * math.sin(angle_at_B()), rel=1e-11)


@pytest.mark.parametrize("phi", np.linspace(0.0, 2 * np.pi, 13))
def test_eqs_A12_to_A16_close_the_loop(phi):
    angles = close_loop(PUMP, phi, 0.48)
    C = PUMP.l1 * direction(angles.phi_1) + PUMP.l2 * direction(angles.phi_2)
    D = C + PUMP.h * direction(angles.phi_3 - PUMP.psi)  # (A6)
    np.testing.assert_allclose(D, [0.48, PUMP.e], atol=1e-14)


def test_eq_A12_the_arctangent_is_ambiguous():
    """Where l_1 < AD cos(phi_1 - beta') the angle at B is obtuse, and atan gives it less pi: the sign of
    beta, and with it the position, is wrong. atan2 of the same two terms is right on the whole turn.
    """
    phi, x = 0.9, 0.48
    AD, beta_AD = math.hypot(x, PUMP.e), math.atan2(PUMP.e, x)
    upper, lower = -AD * math.sin(phi - beta_AD), PUMP.l1 - AD * math.cos(phi - beta_AD)
    assert lower < 0
    assert math.atan2(upper, lower) - math.atan(upper / lower) == pytest.approx(-math.pi, rel=1e-14)
    beta = math.asin(PUMP.l1 * math.sin(math.atan(upper / lower)) / AD)
    towards_D = np.array([x, PUMP.e]) - PUMP.l1 * direction(phi)
    direction_of_BD = math.atan2(towards_D[1], towards_D[0])
    assert -beta + beta_AD == pytest.approx(direction_of_BD, rel=1e-12)  # atan2's
    assert abs(beta + beta_AD - direction_of_BD) > 0.05  # the print's
    C, D = (
        PUMP.l1 * direction(phi) + PUMP.l2 * direction(close_loop(PUMP, phi, x).phi_2),
        np.array([x, PUMP.e]),
    )
    assert math.dist(C, D) == pytest.approx(PUMP.h, rel=1e-12)  # with atan2 in the code, C' is where D can be


def test_eq_A13_is_the_cosine_theorem():
    AD, beta_AD = sp.symbols("AD beta_AD", positive=True)
    BD = AD * unit(beta_AD) - l1 * unit(phi_1)
    printed = l1**2 + AD**2 - 2 * l1 * AD * sp.cos(2 * sp.pi - phi_1 + beta_AD)
    assert sp.simplify(sp.expand_trig(printed - BD.dot(BD))) == 0
    ours = printed.subs({AD: sp.sqrt(p.x_D**2 + p.e**2), beta_AD: sp.atan2(p.e, p.x_D)})
    legs = SAMPLE.l2 * direction(ANGLES.phi_2) + SAMPLE.h * direction(ANGLES.phi_3 - SAMPLE.psi)
    np.testing.assert_allclose(legs @ legs, in_numbers([[ours]])[0, 0], **ROUNDING)


def test_eqs_A14_and_A15_are_the_cosine_theorem_of_another_triangle():
    """The text says ABD; with C' in it, l_2, h and BD are the sides of BC'D."""
    angle = sp.Symbol("angle")  # at C'
    BD2 = l2**2 + h**2 - 2 * l2 * h * sp.cos(angle)
    gamma, delta = ((u**2 + BD2 - v**2) / (2 * u) for u, v in ((l2, h), (h, l2)))  # times BD
    # the sides' components along BD add up to BD, and those across it are equal
    assert sp.expand(l2 * gamma + h * delta - BD2) == 0
    assert sp.expand(l2**2 * (BD2 - gamma**2) - h**2 * (BD2 - delta**2)) == 0
    _, at_B, at_D = sides()
    B, D = SAMPLE.l1 * direction(MOTION.phi_1), np.array([MOTION.x_D, SAMPLE.e])
    square = math.dist(B, D) ** 2
    for found, near, far in ((at_B, SAMPLE.l2, SAMPLE.h), (at_D, SAMPLE.h, SAMPLE.l2)):
        assert math.cos(found) == pytest.approx(
            (near**2 + square - far**2) / (2 * near * math.sqrt(square)), rel=1e-11
        )


def test_a_position_out_of_reach_is_refused():
    with pytest.raises(PaperError, match=r"0\.876413 m.*0\.25 m to 0\.75 m") as caught:
        close_loop(PUMP, 0.0, 0.9)
    assert (caught.value.code, caught.value.slider) == ("unreachable", 0.9)


@pytest.mark.parametrize("wrong", [{"m1": -1.0}, {"J3": -0.5}, {"mD": -3.0}, {"mD": 0.0}, {"l2": math.nan}])
def test_a_dimension_that_no_mechanism_has_is_refused_at_once(wrong):
    with pytest.raises(PaperError) as caught:
        Mechanism(**wrong)
    assert (caught.value.code, caught.value.name) == ("dimension", *wrong)


def test_a_mechanism_whose_crank_cannot_turn_is_refused_at_once():
    with pytest.raises(PaperError) as caught:
        Mechanism(l1=0.5)
    assert caught.value.code == "unreachable"


# --- speeds and accelerations: (A17) to (A31) ---------------------------------------------------------


def test_eqs_A17_and_A21_are_the_derivatives_of_the_closure():
    assert sp.expand(p.A6.diff(t) - p.A17) == ZERO2
    assert sp.expand(p.A17.diff(t) - p.A21) == ZERO2
    np.testing.assert_allclose(in_numbers(p.A17), 0.0, **ROUNDING)
    np.testing.assert_allclose(in_numbers(p.A21), 0.0, **ROUNDING)


def test_eqs_A18_to_A20_solve_the_speeds():
    unknown = sp.Matrix([l2 * p.omega_2, h * p.omega_3])
    given = sp.Matrix([l1 * p.omega_1, p.v_D])
    rows = sp.Matrix([-p.A17[0], p.A17[1]])
    assert sp.expand(p.A18_LEFT * unknown - p.A18_RIGHT * given - rows) == ZERO2
    assert sp.simplify(p.A18_LEFT * p.A19 - p.A18_RIGHT) == sp.zeros(2)
    np.testing.assert_allclose(speed_ratios(), in_numbers(p.A19), **ROUNDING)


def test_eqs_A22_to_A24_b11_has_l2_for_h():
    """Exact difference, print less right: a_21^2 (1 / h - 1 / l_2) / det, in b_11 alone. (A22), which our
    copy lost, is the solution of (A21) for the angular accelerations.
    """
    q = sp.symbols("q_1:3")  # l1 omega_1 and x_D'
    speeds = p.A_SYMBOLS
    lever = (speeds[0] * q[0] + speeds[1] * q[1]) ** 2 / l2  # l2 omega_2^2
    pendulum = (speeds[2] * q[0] + speeds[3] * q[1]) ** 2 / h
    crank = q[0] ** 2 / l1
    load = sp.Matrix(
        [
            -crank * p.c1 - lever * p.c2 - pendulum * p.c3,
            crank * p.s1 + lever * p.s2 + pendulum * p.s3,
        ]
    )
    solved = (p.A18_LEFT.adjugate() / p.det * load).applyfunc(sp.expand)
    terms = (q[0] ** 2, q[0] * q[1], q[1] ** 2)
    right = sp.Matrix(2, 3, lambda i, j: sp.expand(solved[i]).coeff(q[0], 2 - j).coeff(q[1], j))
    assert sp.expand(solved - right * sp.Matrix(terms)) == ZERO2
    expected = sp.zeros(2, 3)
    expected[0, 0] = speeds[2] ** 2 * (1 / h - 1 / l2) / p.det
    difference = p.A23 - right - expected
    for seed in (1, 2):  # at exact points of the three unit circles
        circles = random.Random(seed)
        pairs = ((p.c1, p.s1), (p.c2, p.s2), (p.c3, p.s3))
        values = {f: v for pair in pairs for f, v in zip(pair, rational_direction(circles), strict=True)}
        values[-p.s3] = -values[p.s3]  # SymPy writes sin(phi_3 - psi) as -sin(psi - phi_3)
        assert sp.expand(difference.subs(values)) == sp.zeros(2, 3)
    found = acceleration_terms()
    np.testing.assert_allclose(found, in_numbers(p.A23 - expected), **ROUNDING)


def test_eqs_A25_to_A28_mass_centres():
    """(A25), which our copy lost, is the crank's: a_1 l_1 (c_1, s_1), as the moment arms of (A33) need."""
    assert sp.expand(p.A26_POSITION.diff(t) - p.A26_SPEED) == ZERO2
    assert sp.expand(p.A26_SPEED.diff(t) - p.A26_ACCELERATION) == ZERO2
    assert sp.expand(p.A27_POSITION.diff(t) - p.A27_SPEED) == ZERO2
    assert sp.expand(p.A27_SPEED.diff(t) - p.A28) == ZERO2
    centres = sp.Matrix.hstack(p.a1 * l1 * unit(phi_1), p.A26_POSITION, p.A27_POSITION)
    np.testing.assert_allclose(
        points(SAMPLE, MOTION.phi_1, MOTION.x_D).centres, in_numbers(centres).T, **ROUNDING
    )
    A, B = matrices(SAMPLE, MOTION.phi_1, MOTION.x_D)
    found = (A @ SECOND + B @ PRODUCTS)[[3, 4, 6, 7]]
    np.testing.assert_allclose(found, in_numbers([*p.A26_ACCELERATION, *p.A28])[:, 0], **ROUNDING)


def test_eqs_A29_and_A30_angular_speeds_and_accelerations():
    """(A29) is (A20) divided by the lengths; (A30), destroyed in our copy, is (A24) so."""
    a = sp.Matrix(2, 2, p.A_SYMBOLS)
    by_A20 = sp.diag(1 / l2, 1 / h) * a * sp.diag(l1, 1)
    assert sp.simplify(p.A29 - by_A20) == sp.zeros(2)
    A, B = matrices(SAMPLE, MOTION.phi_1, MOTION.x_D)
    np.testing.assert_allclose(A[[5, 8]], in_numbers(p.A29), **ROUNDING)
    values = dict(zip(p.A_SYMBOLS, speed_ratios().ravel(), strict=True))
    mended = p.A23.copy()
    mended[0, 0] -= p.A_SYMBOLS[2] ** 2 * (1 / h - 1 / l2) / p.det
    by_A24 = in_numbers(mended.subs(values)) * [SAMPLE.l1**2, SAMPLE.l1, 1.0]
    np.testing.assert_allclose(B[[5, 8]], by_A24 / [[SAMPLE.l2], [SAMPLE.h]], **ROUNDING)


# --- free bodies: (A32) to (A42) ----------------------------------------------------------------------


def test_eqs_A32_and_A33_the_cranks_moment_lacks_a_length():
    """Both by the forces at A and B; exact difference of (A33): (1 - l_1) (1 - a_1) c_1 Y_B."""
    arm = l1 * unit(phi_1)
    right = p.Mm + moment(-p.a1 * arm, (p.XA, p.YA)) + moment((1 - p.a1) * arm, (p.XB, p.YB))
    assert sp.simplify(sp.expand_trig(p.A32_MOMENT - right)) == 0
    assert sp.expand(p.A33 - right - (1 - l1) * (1 - p.a1) * p.c1 * p.YB) == 0
    found = (LIAISON @ FORCES + external_forces(SAMPLE, MOTION, TORQUE))[:3]
    weight = GRAVITY * SAMPLE.m1
    expected = in_numbers([p.XA + p.XB, p.YA + p.YB - weight, p.A32_MOMENT])[:, 0]
    np.testing.assert_allclose(found, expected, **ROUNDING)


def test_eqs_A34_and_A35_the_levers_moment():
    """(A35) is right; (A34) has Y_C with the wrong sign: difference 2 (1 - a_2) l_2 c_2 Y_C."""
    arm = l2 * unit(phi_2)
    right = moment(-p.a2 * arm, (-p.XB, -p.YB)) + moment((1 - p.a2) * arm, (p.XC, -p.YC))
    assert sp.expand(p.A35 - right) == 0
    assert sp.simplify(sp.expand_trig(p.A34_MOMENT - right - 2 * (1 - p.a2) * l2 * p.c2 * p.YC)) == 0
    found = (LIAISON @ FORCES)[3:6]
    np.testing.assert_allclose(found, in_numbers([-p.XB + p.XC, -p.YB - p.YC, p.A35])[:, 0], **ROUNDING)


def test_eqs_A37_to_A40_joints_as_seen_from_mass_centre_3():
    C = -hg * unit(phi_3 - psi - xi)
    assert simplified(sp.Matrix([p.A39, p.A40]) - C) == ZERO2
    assert simplified(sp.Matrix([p.A37, p.A38]) - C - h * unit(phi_3 - psi)) == ZERO2
    arms = LIAISON[8]  # of -X_C, Y_C, X_D and -Y_D about mass centre 3
    found = [-arms[7], -arms[6], arms[5], arms[4]]
    np.testing.assert_allclose(found, in_numbers([p.A37, p.A38, p.A39, p.A40])[:, 0], **ROUNDING)


def test_eq_A36_the_pendulums_moment_has_one_wrong_sign():
    """Of the liaison forces (X_D, -Y_D) at D and (-X_C, Y_C) at C; exact difference: -2 x_C Y_C."""
    right = moment((p.A37, p.A38), (p.XD, -p.YD)) + moment((p.A39, p.A40), (-p.XC, p.YC))
    printed = p.A36_MOMENT.subs(p.G, 0)
    assert sp.expand(printed - right + 2 * p.A39 * p.YC) == 0
    found = (LIAISON @ FORCES)[6:9]
    np.testing.assert_allclose(found, in_numbers([p.XD - p.XC, -p.YD + p.YC, right])[:, 0], **ROUNDING)


def test_eq_A36_the_weights_moment_does_not_belong_to_the_common_mass_centre():
    """With m_3 + M_3 at one mass centre, the weights G_3 + G act there and have no moment about it; the print
    has G (-x_D + L c_3), the moment of G alone, applied at L (-c_3, -s_3) from D.
    """
    weight_at = sp.Matrix([p.A37, p.A38]) - p.L * unit(phi_3)
    printed = p.A36_MOMENT.subs(dict.fromkeys(p.FORCES, 0))
    assert sp.expand(printed - moment(weight_at, (0, -p.G))) == 0
    common = moment((0, 0), (0, -p.G3 - p.G))
    assert common == 0
    assert printed != 0
    weights = external_forces(SAMPLE, MOTION, TORQUE)[6:9]
    np.testing.assert_allclose(weights, [0.0, -GRAVITY * SAMPLE.m3, float(common)], **ROUNDING)


def test_eqs_A41_and_A42_differ_by_the_spring():
    """Exact difference: k (x_D - x_D0), which the first form of (A42) has, its last form and (A41) have
    not.
    """
    assert sp.expand(p.A41 - p.A42_ROW_10 - p.k * (p.x_D - p.x0)) == 0
    fast = MOTION._replace(v_D=50 * SAMPLE.v_Fr)  # the smooth sign is 1 there, to the last digit
    expected = in_numbers([p.A42_ROW_10.subs(p.XD, 0).subs(p.v_D, 1)])
    np.testing.assert_allclose(external_forces(SAMPLE, fast, TORQUE)[9], expected[0, 0], **ROUNDING)


def test_eq_A42_the_sixth_row_has_Y_B_for_X_B():
    """Exact difference from (A35): (X_B - Y_B) a_2 l_2 s_2. The third row repeats (A33)."""
    assert sp.expand(p.A42_ROW_6 - p.A35 - (p.XB - p.YB) * p.a2 * l2 * p.s2) == 0
    external = external_forces(SAMPLE, MOTION._replace(v_D=0.0, x_D=SAMPLE.x0), TORQUE)
    weights = -GRAVITY * np.array([SAMPLE.m1, SAMPLE.m2, SAMPLE.m3])
    expected = [0.0, weights[0], TORQUE, 0.0, weights[1], 0.0, 0.0, weights[2], 0.0, 0.0]
    np.testing.assert_allclose(external, expected, **ROUNDING)
    found = (LIAISON @ FORCES + external)[5]
    np.testing.assert_allclose(found, in_numbers([p.A35])[0, 0], **ROUNDING)


# --- elimination: (A43) to (A46) ----------------------------------------------------------------------


def rational_direction(rng):
    """An exact point of the unit circle."""
    u = sp.Rational(rng.randint(-9, 9), rng.randint(3, 8))
    return (1 - u**2) / (1 + u**2), 2 * u / (1 + u**2)


@pytest.fixture(params=[1, 2], scope="module")
def exact(request):
    """A and the liaison matrices, mended and as printed, of a mechanism made of fractions."""
    rng = random.Random(request.param)
    (c1, s1), (c2, s2), (c3, s3), (cg, sg) = (rational_direction(rng) for _ in range(4))
    L1, L2, H, HG, A1, A2 = (sp.Rational(rng.randint(1, 9), rng.randint(2, 7)) for _ in range(6))
    det = s2 * c3 - s3 * c2
    a = sp.Matrix([[-c3 * s1 + s3 * c1, -c3], [c2 * s1 - c1 * s2, c2]]) / det
    omega = [sp.Matrix([[1, 0]]), a[0, :] * sp.diag(L1, 1) / L2, a[1, :] * sp.diag(L1, 1) / H]
    turned = [sp.Matrix([-s1, c1]), sp.Matrix([-s2, c2]), sp.Matrix([-sg, cg])]
    x1 = A1 * L1 * turned[0] * omega[0]
    x2 = L1 * turned[0] * omega[0] + A2 * L2 * turned[1] * omega[1]
    x3 = L1 * turned[0] * omega[0] + L2 * turned[1] * omega[1] + HG * turned[2] * omega[2]
    A = sp.Matrix.vstack(x1, omega[0], x2, omega[1], x3, omega[2], sp.Matrix([[0, 1]]))
    names = {p.l1: L1, p.l2: L2, p.h: H, p.hg: HG, p.a1: A1, p.a2: A2, p.Mm: 0, p.G: 0}
    values = {p.c1: c1, p.s1: s1, p.c2: c2, p.s2: s2, p.c3: c3, p.s3: s3}
    values |= {sp.cos(p.TO_3): cg, sp.sin(p.TO_3): -sg}
    printed = sp.Matrix(
        [
            p.XA + p.XB,
            p.YA + p.YB,
            p.A33,
            -p.XB + p.XC,
            -p.YB - p.YC,
            p.A35,
            p.XD - p.XC,
            -p.YD + p.YC,
            p.A36_MOMENT,
            -p.XD,
        ]
    )
    printed = printed.subs(values).subs(names)
    mended = printed.copy()
    mended[2] += (L1 - 1) * (1 - A1) * c1 * p.YB
    mended[8] += 2 * (-HG * cg) * p.YC
    return A, mended, printed


def test_eq_A46_the_liaison_forces_do_no_work_once_the_signs_are_mended(exact):
    A, mended, printed = exact
    assert sp.expand(A.T * mended) == ZERO2
    assert sp.expand(A.T * printed) != ZERO2  # with (A33) and (A36) as printed they would
    lost = matrices(SAMPLE, MOTION.phi_1, MOTION.x_D)[0].T @ LIAISON
    np.testing.assert_allclose(lost, 0.0, **ROUNDING)


def test_eqs_A43_to_A46_the_projection():
    """By matrix algebra: (A45) writes x_D' for x_D'', (A46) (omega_1 x_D', x_D'^2, x_D') for the three
    products; each is a different vector.
    """
    rng = random.Random(5)

    def matrix(rows, columns):
        return sp.Matrix(rows, columns, lambda i, j: sp.Rational(rng.randint(-9, 9), rng.randint(1, 5)))

    A, B, m = matrix(10, 2), matrix(10, 3), sp.diag(*[sp.Rational(rng.randint(1, 9), 3) for _ in range(10)])
    e1, xdd, w1, xd = sp.symbols("epsilon_1 xdd omega_1 xd")
    second, products = sp.Matrix([e1, xdd]), sp.Matrix([w1**2, w1 * xd, xd**2])
    acceleration = A * second + B * products  # (A31), hence (A44)
    blocks = sp.Matrix(2, 2, lambda i, j: (A[:, i].T * m * A[:, j])[0])
    quadratic = sp.Matrix(2, 3, lambda i, j: (A[:, i].T * m * B[:, j])[0])
    assert sp.expand(A.T * m * acceleration - blocks * second - quadratic * products) == ZERO2
    printed_A45, printed_A46 = sp.Matrix([e1, xd]), sp.Matrix([w1 * xd, xd**2, xd])
    assert printed_A45 - second == sp.Matrix([0, xd - xdd])
    assert printed_A46 - products == sp.Matrix([w1 * xd - w1**2, xd**2 - w1 * xd, xd - xd**2])
    M, load = PumpMotion(SAMPLE, MOTION).equations(TORQUE)
    A, B = matrices(SAMPLE, MOTION.phi_1, MOTION.x_D)
    weighed = A.T @ mass_matrix(SAMPLE)
    forces = A.T @ external_forces(SAMPLE, MOTION, TORQUE)
    np.testing.assert_allclose(M, weighed @ A, **ROUNDING)
    np.testing.assert_allclose(load, forces - weighed @ B @ PRODUCTS, **ROUNDING)


# --- what the mechanism does --------------------------------------------------------------------------


def test_liaison_forces_over_a_turn_satisfy_every_free_body():
    """All ten equations (A43), not only the projected two; forces are of the order of 100 N."""
    turn = steady_turn(PUMP, samples=13)
    for motion, loads in zip(turn.motions, turn.loads, strict=True):
        left = mass_matrix(PUMP) @ PumpMotion(PUMP, motion).accelerations(loads.accelerations)
        L = liaison_matrix(PUMP, motion.phi_1, motion.x_D)
        right = external_forces(PUMP, motion, loads.torque) + L @ loads.liaison
        np.testing.assert_allclose(left, right, atol=1e-9)


def test_the_turn_is_periodic_and_the_motor_gives_what_the_pump_takes():
    """Mean power of the motor = mean power lost to the pump's resistance, over a period of the steady
    motion.
    """
    turn = steady_turn(PUMP)
    first, last = turn.motions[0], turn.motions[-1]
    assert (last.x_D, last.v_D) == pytest.approx((first.x_D, first.v_D), abs=1e-4)
    power = [loads.torque * motion.omega_1 for loads, motion in zip(turn.loads, turn.motions, strict=True)]
    lost = [PUMP.Fr * np.tanh(motion.v_D / PUMP.v_Fr) * motion.v_D for motion in turn.motions]
    # trapezoids of a periodic function converge fast; the slide has settled to 1e-4 m/s
    assert trapezoid(power, turn.time) == pytest.approx(trapezoid(lost, turn.time), rel=2e-3)


def test_without_resistance_and_torque_the_energy_stays():
    """Classical Runge-Kutta of eq. (A46): its error after 0.2 s with 0.1 ms steps is about 1e-9 of the
    energy.
    """
    pump = Mechanism(Fr=0.0)

    def energy(y):
        speeds = PumpMotion(pump, MechanismState(y[0], 0.0, y[1], 0.0)).accelerations(
            y[2:]
        )  # A (omega_1, x_D')
        weight = GRAVITY * np.array([pump.m1, pump.m2, pump.m3]) @ points(pump, y[0], y[1]).centres[:, 1]
        return 0.5 * speeds @ mass_matrix(pump) @ speeds + weight + 0.5 * pump.k * (y[1] - pump.x0) ** 2

    def rate(y):
        M, load = PumpMotion(pump, MechanismState(y[0], y[2], y[1], y[3])).equations(0.0)
        return np.concatenate([y[2:], np.linalg.solve(M, load)])

    y, step = np.array([0.4, 0.5, 14.0, 0.1]), 2e-4
    before = energy(y)
    for _ in range(500):
        k1 = rate(y)
        k2 = rate(y + step / 2 * k1)
        k3 = rate(y + step / 2 * k2)
        y = y + step / 6 * (k1 + 2 * k2 + 2 * k3 + rate(y + step * k3))
    assert energy(y) == pytest.approx(before, rel=1e-8)
    assert abs(y[0] - 0.4) > 0.5  # the crank has turned


def test_a_driven_crank_keeps_its_speed():
    loads = driven(PUMP, MechanismState(1.0, 14.0, 0.5, 0.2))
    M, load = PumpMotion(PUMP, MechanismState(1.0, 14.0, 0.5, 0.2)).equations(loads.torque)
    np.testing.assert_allclose(np.linalg.solve(M, load), loads.accelerations, atol=1e-9)
    assert loads.accelerations[0] == 0.0
    assert isinstance(close_loop(PUMP, 1.0, 0.5), Angles)
