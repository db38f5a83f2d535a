"""docs/theory.md, number by number: the equations hold, and the code named beside them is there."""

import re
from pathlib import Path

import newton_euler
import numpy as np
import pytest
from random_chains import random_chain, random_gravity, random_inertia, random_state
from scipy.spatial.transform import Rotation

from kane_dynamics_ros.algebra import symmetric
from kane_dynamics_ros.contact.changes import Window, contrast
from kane_dynamics_ros.formulation.dual import sine_cosine
from kane_dynamics_ros.formulation.kane import dynamics, energy
from kane_dynamics_ros.formulation.kane.dynamics import carried_wrenches, joint_efforts, mass_matrix
from kane_dynamics_ros.formulation.kane.energy import momentum_and_drift
from kane_dynamics_ros.formulation.kane.frames import reframe
from kane_dynamics_ros.formulation.kane.kinematics import motion, placements_at
from kane_dynamics_ros.formulation.kane.partial_velocities import (
    generalized_forces_by_body,
    partial_velocities,
    regressor,
)
from kane_dynamics_ros.formulation.kane.segments import body_inertia, moved, regroup, segments_of
from kane_dynamics_ros.formulation.witnesses import gibbs_appell, lagrange, maggi

ROOT = Path(__file__).resolve().parents[2]  # the checkout: docs and tests are not installed
N = 5
RNG = np.random.default_rng(2017)
CHAIN = random_chain(RNG, N, prismatic=0.4)
Q, U, U_RATE = random_state(RNG, N)
GRAVITY = random_gravity(RNG)
SEGMENTS = segments_of(CHAIN)
PLACEMENTS = placements_at(SEGMENTS, Q, sine_cosine)
MOTIONS = motion(PLACEMENTS, U, U_RATE, GRAVITY)
TAU = newton_euler.inverse_dynamics(CHAIN, Q, U, U_RATE, GRAVITY)
CLOSE = {"rel": 1e-11, "abs": 1e-11}  # rounding


def skew(a):
    x, y, z = a
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def rotation(k: int, q=Q) -> np.ndarray:
    """R_PB of body k, by SciPy."""
    joint = CHAIN.joints[k]
    turn = 0.0 if joint.kind == "prismatic" else q[k]
    return np.array(joint.R_PJ) @ Rotation.from_rotvec(np.array(joint.axis) * turn).as_matrix()


def poses(q=Q):
    """Orientation and origin of every body in the root frame."""
    R, p, found = np.eye(3), np.zeros(3), []
    for k, joint in enumerate(CHAIN.joints):
        step = np.array(joint.p_PoJo_P)
        if joint.kind == "prismatic":
            step = step + np.array(joint.R_PJ) @ np.array(joint.axis) * q[k]
        p, R = p + R @ step, R @ rotation(k, q)
        found.append((R, p))
    return found


def test_the_chain_has_joints_of_both_kinds():
    assert {joint.kind for joint in CHAIN.joints} == {"revolute", "prismatic"}


def test_T1_T2_placements():
    for k, placement in enumerate(PLACEMENTS):
        v = np.array([0.3, -0.2, 0.7])
        assert placement.to_previous(tuple(v)) == pytest.approx(rotation(k) @ v, **CLOSE)
        assert placement.to_body(tuple(v)) == pytest.approx(rotation(k).T @ v, **CLOSE)
    R, p = np.eye(3), np.zeros(3)
    for placement, (R_next, p_next) in zip(PLACEMENTS, poses(), strict=True):
        assert p + R @ placement.p_PoBo_P == pytest.approx(p_next, **CLOSE)
        R, p = R_next, p_next


def test_T3_T4_partial_velocities():
    places = poses()
    for k, partials in enumerate(partial_velocities(PLACEMENTS, N)):
        R_k, p_k = places[k]
        for r, joint in enumerate(CHAIN.joints):
            R_r, p_r = places[r]
            e = R_k.T @ R_r @ np.array(joint.axis)
            arm = R_k.T @ (p_k - p_r)
            slides, beyond = joint.kind == "prismatic", float(k >= r)
            expected = (0 * e, e) if slides else (e, np.cross(e, arm))
            assert partials[r].omega == pytest.approx(beyond * expected[0], **CLOSE)
            assert partials[r].v_Bo == pytest.approx(beyond * expected[1], **CLOSE)


def test_T5_kane_body_by_body():
    assert generalized_forces_by_body(PLACEMENTS, MOTIONS, N) == pytest.approx(TAU, **CLOSE)


def test_T6_acceleration_field():
    for at in MOTIONS:
        w, alpha = skew(at.omega), skew(at.alpha)
        assert np.array(at.U) == pytest.approx(alpha + w @ w, **CLOSE)


def test_T7_T8_inertia_force_and_torque_are_sums_over_particles():
    """Four particles make a rigid body of any inertia; no tensor is formed for the expected values."""
    particles = RNG.normal(size=(4, 3))
    masses = RNG.uniform(0.5, 2.0, 4)
    S = (particles.T * masses) @ particles
    h, m = masses @ particles, masses.sum()
    body = body_inertia(random_inertia(RNG))
    six = tuple(S[i, j] for i in range(3) for j in range(i, 3))
    body = type(body)(m, tuple(h), six)
    at = MOTIONS[-1]
    accelerations = np.array(at.a_Bo) + particles @ np.array(at.U).T
    force = masses @ accelerations
    torque = masses @ np.cross(particles, accelerations)
    assert dynamics.inertia_force(body, at) == pytest.approx(force, **CLOSE)
    assert dynamics.inertia_torque(body, at) == pytest.approx(torque, **CLOSE)


def test_T9_motions_are_the_derivatives_of_the_poses():
    """omega, alpha and a of each body from finite differences along q(t) = q + u t + u' t^2 / 2."""
    h = 1e-4  # [s]; second differences: rounding 1e-16 / h^2, truncation h^2

    def at(t):
        return poses(Q + U * t + U_RATE * t * t / 2)

    for k, m in enumerate(MOTIONS):
        (R0, p0), (R1, p1), (R2, p2) = at(-h)[k], at(0.0)[k], at(h)[k]
        R_dot, R_ddot = (R2 - R0) / (2 * h), (R2 - 2 * R1 + R0) / h**2
        acceleration = (p2 - 2 * p1 + p0) / h**2 - np.array(GRAVITY)
        assert skew(m.omega) == pytest.approx(R1.T @ R_dot, abs=1e-4)
        assert np.array(m.U) == pytest.approx(R1.T @ R_ddot, abs=1e-3)
        assert m.a_Bo == pytest.approx(R1.T @ acceleration, abs=1e-3)


def test_T10_motion_about_z_in_common_normal_frames():
    placements = placements_at(reframe(CHAIN).segments, Q, sine_cosine)
    for at in motion(placements, U, U_RATE, (0.0, 0.0, 0.0)):
        w, alpha = skew(at.omega), skew(at.alpha)
        assert np.array(at.U) == pytest.approx(alpha + w @ w, **CLOSE)
        x, y, z = at.omega
        expected = [z * x + at.alpha[1], y * z - at.alpha[0], -(x * x + y * y)]
        assert [row[2] for row in at.U] == pytest.approx(expected, **CLOSE)


def test_T11_T12_factored_sum():
    assert dynamics.generalized_forces(PLACEMENTS, MOTIONS, N) == pytest.approx(TAU, **CLOSE)


def test_T13_mass_matrix_columns():
    still, weightless = np.zeros(N), (0.0, 0.0, 0.0)
    columns = [newton_euler.inverse_dynamics(CHAIN, Q, still, unit, weightless) for unit in np.eye(N)]
    assert np.array(mass_matrix(PLACEMENTS, N)) == pytest.approx(np.array(columns).T, **CLOSE)


def test_T14_T15_T16_are_checked_on_generated_models():
    """V, C, the skewness of M' - 2C and forward dynamics: test_random_chain_properties.py."""
    text = (ROOT / "test" / "formulation" / "test_random_chain_properties.py").read_text()
    for name in ("less_twice_coriolis_matrix_is_skew", "forward_dynamics_inverts", "all_witnesses_agree"):
        assert name in text


def test_T17_regressor():
    parameters = []
    for segment in SEGMENTS:
        body = segment.body
        parameters += [body.mass, *body.moment, *body.tensor()]
    Y = np.array(regressor(PLACEMENTS, MOTIONS, N))
    assert Y @ np.array(parameters) == pytest.approx(TAU, **CLOSE)


def test_T18_energies():
    places = poses()
    masses = [joint.inertia.mass for joint in CHAIN.joints]
    centres = [p + R @ joint.inertia.com for (R, p), joint in zip(places, CHAIN.joints, strict=True)]
    expected = -sum(m * np.dot(GRAVITY, c) for m, c in zip(masses, centres, strict=True))
    assert energy.potential_energy(PLACEMENTS, GRAVITY) == pytest.approx(expected, **CLOSE)
    M = np.array(mass_matrix(PLACEMENTS, N))
    assert energy.kinetic_energy(PLACEMENTS, U) == pytest.approx(U @ M @ U / 2, **CLOSE)


def test_T19_common_normal_frames_turn_about_x_and_keep_the_torques():
    reframed = reframe(CHAIN)
    for segment in reframed.segments[1:]:
        assert segment.axis == (0.0, 0.0, 1.0)
        if not segment.prismatic:
            assert (segment.R_PJ[0][1], segment.R_PJ[0][2]) == (0.0, 0.0)
            sine, cosine = -segment.R_PJ[1][2], segment.R_PJ[2][2]
            _, y, z = segment.p_PoJo_P
            assert y * cosine + z * sine == pytest.approx(0.0, abs=1e-12)
    gravity = tuple(np.array(reframed.R_0R) @ GRAVITY)
    tau = dynamics.segment_efforts(reframed.segments, Q, U, U_RATE, gravity, sine_cosine)
    assert tau == pytest.approx(TAU, **CLOSE)


def test_T20_moved_inertia():
    body = body_inertia(random_inertia(RNG))
    R, p = Rotation.random(random_state=1).as_matrix(), RNG.normal(size=3)
    S, h, m = np.array(symmetric(body.second)), np.array(body.moment), body.mass
    expected = R @ S @ R.T + np.outer(p, R @ h) + np.outer(R @ h, p) + m * np.outer(p, p)
    seen = moved(body, tuple(map(tuple, R)), tuple(p))
    assert np.array(symmetric(seen.second)) == pytest.approx(expected, **CLOSE)
    assert seen.moment == pytest.approx(R @ h + m * p, **CLOSE)


@pytest.mark.parametrize("keep", ["none", "x", "y"])
def test_T21_regrouped_inertias_keep_the_torques(keep):
    reframed = reframe(CHAIN)
    gravity = tuple(np.array(reframed.R_0R) @ GRAVITY)
    lever = {"x": 0, "y": 1}
    choice = [
        keep if keep != "none" and not s.prismatic and abs(s.p_PoJo_P[lever[keep]]) > 1e-3 else "none"
        for s in reframed.segments
    ]
    regrouped = regroup(reframed.segments, choice)
    tau = dynamics.segment_efforts(regrouped, Q, U, U_RATE, gravity, sine_cosine)
    assert tau == pytest.approx(TAU, rel=1e-10, abs=1e-10)  # kept masses may be large and cancel
    for segment in regrouped:
        if not segment.prismatic:
            assert (segment.body.moment[2], segment.body.second[5]) == (0.0, 0.0)


@pytest.mark.parametrize("witness", [lagrange, maggi, gibbs_appell], ids=["T22", "T23", "T24"])
def test_T22_to_T24_witness_agrees_with_newton_and_euler(witness):
    assert witness.inverse_dynamics(CHAIN, Q, U, U_RATE, GRAVITY) == pytest.approx(TAU, **CLOSE)


def test_T25_external_efforts_are_the_power_of_the_wrench():
    """J^T w from the poses: the tip's displacement for a small turn of each joint, by differences."""
    R_BT, p_BT = np.array(CHAIN.R_BT), np.array(CHAIN.p_BoTo_B)
    f, m = RNG.normal(size=(2, 3))
    R, _ = poses()[-1]
    R_RT = R @ R_BT
    carried = carried_wrenches(PLACEMENTS, CHAIN.tip_frames, [(tuple(f), tuple(m))])
    h = 1e-6
    for r, effort in enumerate(joint_efforts(PLACEMENTS, carried, N)):
        (R_1, p_1), (R_0, p_0) = (poses(Q + sign * h * np.eye(N)[r])[-1] for sign in (1, -1))
        v = (p_1 + R_1 @ p_BT - p_0 - R_0 @ p_BT) / (2 * h)
        turn = (R_1 - R_0) @ R.T / (2 * h)
        omega = np.array([turn[2, 1], turn[0, 2], turn[1, 0]])
        assert effort == pytest.approx((R_RT @ f) @ v + (R_RT @ m) @ omega, rel=1e-7, abs=1e-7)


def test_T26_momentum_and_its_drift_are_slopes_of_the_kinetic_energy():
    def T(q, u):
        return energy.kinetic_energy(placements_at(SEGMENTS, q, sine_cosine), u)

    p, drift = momentum_and_drift(PLACEMENTS, U, N)
    h = 1e-6
    for r in range(N):
        step = h * np.eye(N)[r]
        assert p[r] == pytest.approx((T(Q, U + step) - T(Q, U - step)) / (2 * h), rel=1e-7, abs=1e-7)
        assert drift[r] == pytest.approx((T(Q + step, U) - T(Q - step, U)) / (2 * h), rel=1e-7, abs=1e-7)


def test_T27_is_checked_on_a_closed_form_and_on_the_simulated_arm():
    tests = (ROOT / "test/control/test_observer.py").read_text()
    assert "def test_the_residual_of_a_constant_effort_is_exact_at_irregular_times" in tests
    assert "def test_the_residual_of_a_moving_arm_converges_with_the_square_of_the_step" in tests


def test_T28_a_contrast_is_the_change_of_a_mean():
    """A push over the middle of the window, beside it a slow error that goes through its mean."""
    window, rate, size = Window(1.0, 0.25, 1.0), 100.0, 7.0
    time = np.arange(1000) / rate
    push = np.abs(time - 5.0) < 0.6
    external = np.column_stack([size * push, 3.0 + 0.2 * time, size * push + 3.0 + 0.2 * time])
    assert contrast(external, rate, window)[500] == pytest.approx([size, 0.0, size], abs=1e-12)


PAGE = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
NUMBERS = re.findall(r"\\tag\{(T\d+)\}", PAGE)
# (T7): `kane/dynamics.py`, `inertia_force`
CODE = re.findall(r"^\((T\d+)\)[^`\n]*`(\w+/\w+\.py)`, `(\w+)`(?: and `(\w+)`)?", PAGE, re.MULTILINE)


def test_every_equation_of_the_page_has_a_test_here():
    here = Path(__file__).read_text(encoding="utf-8")
    assert len(NUMBERS) == 28
    for number in NUMBERS:
        assert re.search(rf"{number}(?!\d)", here), number


def test_every_equation_of_the_page_names_code_that_exists():
    assert [number for number, *_ in CODE] == NUMBERS
    for _, path, *names in CODE:
        package = ROOT / "kane_dynamics_ros"
        outside = path.startswith(("codegen/", "control/", "contact/"))
        text = (package / (path if outside else f"formulation/{path}")).read_text()
        for name in filter(None, names):
            assert re.search(rf"^(def|class) {name}\b", text, re.MULTILINE), (path, name)
