"""[Hussain2016] table 2 and eqs. (7) to (32): from direction cosines to partial velocities."""

import hussain_print as printed
import pytest
import sympy
from paper_chains import same
from sympy import Matrix, cos, sin

from kane_dynamics_ros.formulation.dual import sine_cosine
from kane_dynamics_ros.formulation.kane.kinematics import motion, placements_at
from kane_dynamics_ros.formulation.kane.partial_velocities import partial_velocities
from kane_dynamics_ros.formulation.kane.segments import segments_of
from kane_dynamics_ros.papers.three_link_chain import chain_in_symbols

q1, q2, q3 = ANGLES = (printed.q1, printed.q2, printed.q3)
RATES = (printed.qd1, printed.qd2, printed.qd3)
ACCELERATIONS = (printed.qdd1, printed.qdd2, printed.qdd3)
COM = tuple(Matrix([rho, 0, 0]) for rho in (printed.rho_A, printed.rho_B, printed.rho_C))
PLACEMENTS = placements_at(segments_of(chain_in_symbols()), ANGLES, sine_cosine)
MOTIONS = motion(PLACEMENTS, RATES, ACCELERATIONS, (0, 0, 0))
# N's axes n_1, n_2, n_3 are the first joint's frame: x, up, and out of the drawing.
N_R_ROOT = Matrix(chain_in_symbols().joints[0].R_PJ).T


def previous_R_body(placement) -> Matrix:
    """Direction cosines of a body's axes in the axes of the one before."""
    columns = [placement.to_previous(axis) for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    return Matrix(columns).T


A_R_B, B_R_C = previous_R_body(PLACEMENTS[1]), previous_R_body(PLACEMENTS[2])
N_R_A = N_R_ROOT * previous_R_body(PLACEMENTS[0])
IN_N = (N_R_A, N_R_A * A_R_B, N_R_A * A_R_B * B_R_C)


@pytest.mark.parametrize(
    ("name", "ours"),
    [("N_R_A", IN_N[0]), ("A_R_B", A_R_B), ("B_R_C", B_R_C), ("N_R_B", IN_N[1])],
)
def test_table_2_is_exact_for(name, ours):
    assert same(printed.TABLE_2[name], ours, ANGLES)


def test_table_2_prints_c12_for_c123_in_N_R_C():
    slip = sympy.zeros(3)
    slip[1, 1] = cos(q1 + q2) - cos(q1 + q2 + q3)
    assert same(printed.TABLE_2["N_R_C"] - IN_N[2], slip, ANGLES)


def test_table_2_prints_s12_and_c12_for_s23_and_c23_in_A_R_C():
    slip = sympy.zeros(3)
    slip[0, 1] = sin(q2 + q3) - sin(q1 + q2)
    slip[1, 1] = cos(q1 + q2) - cos(q2 + q3)
    assert same(printed.TABLE_2["A_R_C"] - A_R_B * B_R_C, slip, ANGLES)


def in_N(body: int, vector) -> Matrix:
    return IN_N[body] * Matrix(vector)


def test_angular_velocities_7_to_9_are_exact():
    for body, velocity in enumerate(printed.ANGULAR_VELOCITY):
        assert same(velocity, in_N(body, MOTIONS[body].omega), ANGLES)


def test_angular_acceleration_10_prints_the_rate_and_11_and_12_are_exact():
    ours = [in_N(body, at.alpha) for body, at in enumerate(MOTIONS)]
    slip = (printed.qd1 - printed.qdd1) * printed.a_3
    assert same(printed.ANGULAR_ACCELERATION[0] - ours[0], slip, ANGLES)
    assert same(printed.ANGULAR_ACCELERATION[1], ours[1], ANGLES)
    assert same(printed.ANGULAR_ACCELERATION[2], ours[2], ANGLES)  # b_3 and c_3 are one vector


def velocity_of_mass_centre(body: int) -> Matrix:
    """Sum over u_r of v_r + omega_r x r, eq. (13) for the mass centre."""
    partials = partial_velocities(PLACEMENTS, 3)[body]
    terms = [
        (Matrix(partial.v_Bo) + Matrix(partial.omega).cross(COM[body])) * u
        for partial, u in zip(partials, RATES, strict=True)
    ]
    return in_N(body, sum(terms, sympy.zeros(3, 1)))


def test_velocities_14_to_16_are_exact():
    for body, velocity in enumerate(printed.VELOCITY):
        assert same(velocity, velocity_of_mass_centre(body), ANGLES)


def acceleration_of_mass_centre(body: int) -> Matrix:
    """a_Bo + ([alpha]x + [omega]x[omega]x) r, eq. (17)."""
    return in_N(body, Matrix(MOTIONS[body].a_Bo) + Matrix(MOTIONS[body].U) * COM[body])


def test_acceleration_18_prints_the_rate_and_19_is_exact():
    slip = (printed.qd1 - printed.qdd1) * printed.rho_A * printed.a_2
    assert same(printed.ACCELERATION[0] - acceleration_of_mass_centre(0), slip, ANGLES)
    assert same(printed.ACCELERATION[1], acceleration_of_mass_centre(1), ANGLES)


def test_acceleration_20_is_exact_up_to_its_unreadable_last_term():
    last = printed.rho_C * sum(ACCELERATIONS) * printed.c_2
    assert same(printed.ACCELERATION[2] + last, acceleration_of_mass_centre(2), ANGLES)


def test_equation_17_is_the_time_derivative_of_equation_13():
    for body in range(3):
        velocity = velocity_of_mass_centre(body)
        rate = velocity.jacobian(ANGLES) * Matrix(RATES) + velocity.jacobian(RATES) * Matrix(ACCELERATIONS)
        assert same(rate, acceleration_of_mass_centre(body), ANGLES)


def test_partial_velocities_21_to_32_are_exact():
    for body, partials in enumerate(partial_velocities(PLACEMENTS, 3)):
        for r, partial in enumerate(partials):
            at_centre = Matrix(partial.v_Bo) + Matrix(partial.omega).cross(COM[body])
            assert same(printed.PARTIAL_ANGULAR_VELOCITY[body][r], in_N(body, partial.omega), ANGLES)
            assert same(printed.PARTIAL_VELOCITY[body][r], in_N(body, at_centre), ANGLES)
