"""[WindPump] eqs. (13), (14), (A1) to (A5), table 1 and figure 6."""

import numpy as np
import pytest
import sympy as sp
from small_urdf import joint, link, robot

from kane_dynamics_ros.description import parse_robot, serial_chain
from kane_dynamics_ros.elastic.arm import equations
from kane_dynamics_ros.elastic.arm_model import arm_model
from kane_dynamics_ros.elastic.link import beam_rates
from kane_dynamics_ros.formulation.dual import sine_cosine
from kane_dynamics_ros.formulation.kane.kinematics import body_poses, placements_at
from kane_dynamics_ros.formulation.kane.partial_velocities import partial_velocities
from kane_dynamics_ros.formulation.kane.segments import segments_of
from kane_dynamics_ros.papers.differentiation_counts import (
    METHODS,
    Differentiator,
    FiniteElement,
    count_differentiations,
)
from kane_dynamics_ros.papers.wind_pump_mechanism import (
    Lever,
    Mechanism,
    MechanismState,
    PumpMotion,
    close_loop,
)
from kane_dynamics_ros.papers.wind_pump_turn import lever_frequencies, lever_motion, steady_turn

t = sp.Symbol("t")


# Two particles of 0.7 kg on massless rods of 0.4 m, turning about -y: at angle 0 they hang along -z.
# The second joint's angle is counted from the first rod.
PARTICLE = (
    '<inertial><origin xyz="0 0 -0.4"/><mass value="0.7"/>'
    '<inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial>'
)
ABOUT = '<axis xyz="0 -1 0"/>'
DOUBLE_PENDULUM = robot(
    link("base", ""),
    link("upper", PARTICLE),
    link("lower", PARTICLE),
    joint("q_1", "base", "upper", "continuous", ABOUT, "0 0 0"),
    joint("q_2", "upper", "lower", "continuous", ABOUT, "0 0 -0.4"),
)
STATE = {"q": np.array([0.6, -1.1]), "u": np.array([2.0, -3.0]), "rate": np.array([5.0, 7.0])}


def pendulums_forces():
    """Inertia force less active force of ``elastic.arm.equations`` for the pendulum's absolute angles."""
    model = arm_model(serial_chain(parse_robot(DOUBLE_PENDULUM)), [])
    to_joints = np.array([[1.0, 0.0], [-1.0, 1.0]])
    found = equations(model, to_joints @ STATE["q"], to_joints @ STATE["u"], np.array([0.0, 0.0, -9.81]))
    return to_joints.T @ (found.M @ to_joints @ STATE["rate"] + found.h)


def pendulum_in_numbers(formula, q):
    """A formula in q_1(t), q_2(t), m, l and g at the same state."""
    values = list(zip(q.diff(t, 2), STATE["rate"], strict=True))
    values += [*zip(q.diff(t), STATE["u"], strict=True), *zip(q, STATE["q"], strict=True)]
    values += list(zip(sp.symbols("m l g", positive=True), (0.7, 0.4, 9.81), strict=True))
    return np.array(sp.Matrix(formula).subs(values).tolist(), dtype=float)[:, 0]


def test_eq_A2_partial_derivatives_of_position_and_velocity_agree():
    """For any position r(q_1, q_2, t)."""
    q = [sp.Function(f"q_{k}")(t) for k in (1, 2)]
    u = sp.symbols("u_1 u_2")
    r = sp.Function("r")(*q, t)
    v = r.diff(t).subs(dict(zip((f.diff(t) for f in q), u, strict=True)))
    for coordinate, speed in zip(q, u, strict=True):
        assert sp.simplify(v.diff(speed) - r.diff(coordinate)) == 0
    # the code's partial velocities of both particles are the derivatives of their positions
    chain = serial_chain(parse_robot(DOUBLE_PENDULUM))
    angles = sp.Matrix(sp.symbols("theta_1:3"))
    placements = placements_at(segments_of(chain), list(angles), sine_cosine)
    for k, (pose, rows) in enumerate(
        zip(body_poses(placements), partial_velocities(placements, 2), strict=True)
    ):
        R, at = sp.Matrix(pose.R_RB), sp.Matrix([0, 0, sp.Rational(-2, 5)])
        position = (sp.Matrix(pose.p_RoBo_R) + R * at).applyfunc(sp.nsimplify)
        for r, partial in enumerate(rows):
            v = R * (sp.Matrix(partial.v_Bo) + sp.Matrix(partial.omega).cross(at))
            assert (v - position.diff(angles[r])).applyfunc(sp.nsimplify).applyfunc(sp.simplify) == sp.zeros(
                3, 1
            ), k


def test_eqs_13_A1_A3_to_A5_give_a_double_pendulum_the_equations_of_lagrange():
    """Sums over two particles of (F - m a) . (partial velocity), exact."""
    m, length, g = sp.symbols("m l g", positive=True)
    q = sp.Matrix([sp.Function(f"q_{k}")(t) for k in (1, 2)])
    first = length * sp.Matrix([sp.sin(q[0]), -sp.cos(q[0])])
    points = [first, first + length * sp.Matrix([sp.sin(q[1]), -sp.cos(q[1])])]
    force = sp.Matrix([0, -m * g])
    active, inertia, by_position = (sp.zeros(2, 1) for _ in range(3))
    for r in points:
        partials = r.diff(t).jacobian(q.diff(t))  # (A4)
        active += partials.T * force  # (A5), left
        inertia += partials.T * (m * r.diff(t, 2))  # (A5), right
        by_position += r.jacobian(q).T * (force - m * r.diff(t, 2))  # (13) with delta r = dr/dq delta q: (A1)
    T = sum((m / 2 * r.diff(t).dot(r.diff(t)) for r in points), sp.Integer(0))
    V = sum((m * g * r[1] for r in points), sp.Integer(0))
    lagrange = sp.Matrix([T.diff(f.diff(t)).diff(t) - T.diff(f) + V.diff(f) for f in q])
    assert (inertia - active - lagrange).applyfunc(sp.simplify) == sp.zeros(2, 1)  # (A3)
    assert (by_position + lagrange).applyfunc(sp.simplify) == sp.zeros(2, 1)  # (A1)
    np.testing.assert_allclose(pendulums_forces(), pendulum_in_numbers(lagrange, q), rtol=1e-12)


@pytest.fixture(scope="module")
def derived():
    """The plane element's equations by each method, and what each one differentiated."""
    counts = {name: Differentiator() for name in METHODS}
    return {name: (METHODS[name](FiniteElement("plane"), counts[name]), counts[name]) for name in METHODS}


def test_eq_14_all_three_methods_give_one_element_the_same_equations(derived):
    kane, _ = derived["Kane"]
    for other in ("Lagrange", "Gibbs-Appell"):
        assert sp.expand(derived[other][0] - kane) == sp.zeros(6, 1)


def test_table_1_plane_element(derived):
    """6 coordinates: 4 each, 2 each and one acceleration, 2 in all."""
    counts = {name: (count.calls, count.scalars) for name, (_, count) in derived.items()}
    assert counts == {"Lagrange": (24, 24), "Gibbs-Appell": (13, 15), "Kane": (2, 21)}


TABLE_1 = {
    5: (288, 120, 10),
    10: (528, 220, 20),
    15: (768, 320, 30),
    20: (1008, 420, 40),
    25: (1248, 520, 50),
    30: (1488, 620, 60),
    40: (1968, 820, 80),
}


def test_table_1_space_element_and_the_print():
    """12 coordinates. Kane: as printed. Lagrange: 48 an element as printed, but the print multiplies by n +
    1. Gibbs-Appell: 25 an element; the print is 20 (n + 1), which no whole number per coordinate gives.
    """
    counts = count_differentiations("space")
    assert {name: count.calls for name, count in counts.items()} == {
        "Lagrange": 48,
        "Gibbs-Appell": 25,
        "Kane": 2,
    }
    for n, (lagrange, gibbs_appell, kane) in TABLE_1.items():
        assert kane == n * counts["Kane"].calls
        assert lagrange == (n + 1) * counts["Lagrange"].calls
        assert gibbs_appell == 20 * (n + 1)
    assert counts["Kane"].scalars == 39  # 3 of the velocity by the time, 3 x 12 partial velocities


def test_figure_6_the_paper_s_terms_hardly_move_the_frequencies():
    """Without the axial load k(omega) = -omega_2^2 m, c = 2 omega_2 G alone act: bounded by omega_2, so
    that the first two frequencies of a pinned strip, (i pi)^2 sqrt(EI / m L^4), fall by less than omega_2^2
    / (2 w) each.
    """
    pump, lever = Mechanism(), Lever()
    turn = steady_turn(pump, samples=25)
    found = lever_frequencies(pump, lever, turn)
    rates = beam_rates(lever.material, lever.section)
    still = np.square(np.pi * np.array([1, 2])) * np.sqrt(rates.EIz / (rates.m * pump.l2**4))
    still *= 1 + np.array([1, 2]) ** 4 * (np.pi / lever.elements) ** 4 / 1440  # the mesh: order 4
    fastest = max(
        abs(lever_motion(PumpMotion(pump, state), loads.accelerations).omega[2])
        for state, loads in zip(turn.motions, turn.loads, strict=True)
    )
    fall = still - found
    assert np.all(fall > -1e-4 * still)  # the mesh's error is known to its leading term
    assert np.all(fall < fastest**2 / (2 * still) + 1e-4 * still)
    assert np.ptp(found[:, 0]) > 0.0


def test_the_levers_frame_moves_as_differences_of_its_positions_say():
    """B's acceleration less free fall in the lever's axes, and the lever's own angular motion."""
    pump, step = Mechanism(a1=0.3, a2=0.37), 1e-4
    motion = MechanismState(phi_1=0.7, omega_1=9.0, x_D=0.5, v_D=0.3)
    second = np.array([-20.0, 4.0])  # epsilon_1, x_D''

    def at(t):
        phi_1 = motion.phi_1 + motion.omega_1 * t + second[0] * t**2 / 2
        angles = close_loop(pump, phi_1, motion.x_D + motion.v_D * t + second[1] * t**2 / 2)
        return np.array([*(pump.l1 * np.array([np.cos(phi_1), np.sin(phi_1)])), angles.phi_2])

    before, now, after = at(-step), at(0.0), at(step)
    acceleration = (after - 2 * now + before) / step**2
    c, s = np.cos(now[2]), np.sin(now[2])
    free = acceleration[:2] + np.array([0.0, 9.81])
    found = lever_motion(PumpMotion(pump, motion), second)
    # differences with a step of 1e-4 s: errors of 1e-6 relative and 1e-16 / 1e-8
    np.testing.assert_allclose(
        found.a_O[:2], [c * free[0] + s * free[1], c * free[1] - s * free[0]], rtol=1e-4
    )
    np.testing.assert_allclose(found.omega[2], (after[2] - before[2]) / (2 * step), rtol=1e-5)
    np.testing.assert_allclose(found.epsilon[2], acceleration[2], rtol=1e-4)


def test_the_axial_load_moves_the_frequencies_by_its_share_of_the_buckling_load():
    """w^2 = w_0^2 (1 + P / P_Euler) for a constant P; here P varies along the lever by its own inertia, 7
    N.
    """
    pump, lever = Mechanism(), Lever()
    turn = steady_turn(pump, samples=9)
    plain = lever_frequencies(pump, lever, turn)[:, 0]
    stiffened = lever_frequencies(pump, lever, turn, stiffened=True)[:, 0]
    rates = beam_rates(lever.material, lever.section)
    euler = np.pi**2 * rates.EIz / pump.l2**2
    load = np.square(stiffened / plain) * euler - euler
    X_C = np.array([loads.liaison[4] for loads in turn.loads])
    np.testing.assert_allclose(load, X_C, atol=8.0)
    assert abs(X_C).max() > 50.0
