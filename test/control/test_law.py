"""The control law against what it must do to the arm: forward dynamics closes the loop."""

import math
from dataclasses import replace

import numpy as np
import pytest

from kane_dynamics_ros.control.law import (
    MODES,
    Law,
    TermSwitches,
    critical_gains,
    damping_ratio,
    efforts,
    efforts_by_term,
    too_stiff,
)
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.share import share_directory

N = 5
RNG = np.random.default_rng(4)
KP, KD = np.array([100.0, 90.0, 80.0, 70.0, 60.0]), np.array([20.0, 19.0, 18.0, 17.0, 16.0])
ALL = TermSwitches()
NONE = TermSwitches(False, False, False, False)
TOLERANCE = 1e-9  # [rad/s^2] or [N m]: rounding of sums of some hundred, times the mass matrix's condition


@pytest.fixture(scope="module")
def model():
    return load_model("manipulator_5dof")


@pytest.fixture
def state():
    reference = RNG.uniform(-1.0, 1.0, (3, N))
    return reference, reference[0] + RNG.uniform(-0.1, 0.1, N), RNG.uniform(-1.0, 1.0, N)


def test_computed_torque_makes_the_error_a_damped_oscillator(model, state):
    reference, q, qd = state
    tau = efforts(Law("computed_torque", model, KP, KD, ALL), reference, q, qd)
    expected = reference[2] + KD * (reference[1] - qd) + KP * (reference[0] - q)
    np.testing.assert_allclose(model.forward_dynamics(q, qd, tau), expected, atol=TOLERANCE)


def test_feedforward_gives_the_desired_acceleration_at_the_desired_state(model, state):
    reference, q, qd = state
    tau = efforts(Law("feedforward", model, KP, KD, ALL), reference, q, qd)
    np.testing.assert_allclose(model.forward_dynamics(*reference[:2], tau), reference[2], atol=TOLERANCE)


def test_the_pd_part_alone_is_a_spring_and_a_damper(model, state):
    reference, q, qd = state
    tau = efforts(Law("feedforward_pd", model, KP, KD, NONE), reference, q, qd)
    np.testing.assert_allclose(tau, KP * (reference[0] - q) + KD * (reference[1] - qd), atol=TOLERANCE)


def test_gravity_compensation_keeps_an_arm_at_rest(model, state):
    reference, q, qd = state
    tau = efforts(Law("gravity_compensation", model, KP, KD, ALL), reference, q, qd)
    np.testing.assert_allclose(model.forward_dynamics(q, np.zeros(N), tau), np.zeros(N), atol=TOLERANCE)


@pytest.mark.parametrize("mode", MODES)
def test_the_terms_add_up_to_the_command(model, state, mode):
    law = Law(mode, model.with_urdf_friction(), KP, KD, ALL)
    np.testing.assert_allclose(efforts_by_term(law, *state).total, efforts(law, *state), atol=TOLERANCE)


@pytest.mark.parametrize("term", ["inertia", "coriolis", "gravity", "friction"])
@pytest.mark.parametrize("mode", ["feedforward", "feedforward_pd", "computed_torque"])
def test_a_term_that_is_switched_off_is_missing_from_the_command(model, state, mode, term):
    rubbing = model.with_urdf_friction()
    whole = efforts_by_term(Law(mode, rubbing, KP, KD, ALL), *state)
    without = efforts(Law(mode, rubbing, KP, KD, replace(ALL, **{term: False})), *state)
    np.testing.assert_allclose(whole.total - without, getattr(whole, term), atol=TOLERANCE)


def test_friction_follows_the_desired_velocity_and_not_the_measured_noise(model):
    law = Law("computed_torque", model.with_urdf_friction(), KP, KD, ALL)
    at_rest = np.zeros((3, N))
    for noise in (1e-4, -1e-4):
        assert (efforts_by_term(law, at_rest, np.zeros(N), np.full(N, noise)).friction == 0.0).all()


def test_friction_is_viscous_and_coulomb_with_a_smooth_sign(model):
    rubbing = model.with_parameters(viscous=(2.0,) * N, coulomb=(3.0,) * N, coulomb_velocity=0.1)
    law = Law("feedforward", rubbing, KP, KD, ALL)
    reference = np.zeros((3, N))
    reference[1] = 0.05
    expected = 2.0 * 0.05 + 3.0 * math.tanh(0.5)
    found = efforts_by_term(law, reference, np.zeros(N), np.zeros(N)).friction
    np.testing.assert_allclose(found, expected, rtol=1e-12)  # rounding


def test_a_continuous_joint_takes_the_shorter_way(model):
    law = Law("feedforward_pd", model, KP, KD, NONE)
    turning = replace(law)
    vars(turning)["continuous"] = np.array([True] + [False] * 4)  # as if the model's first joint were
    reference = np.zeros((3, N))
    q = np.zeros(N)
    q[0] = q[1] = math.tau - 0.1
    tau = efforts(turning, reference, q, np.zeros(N))
    np.testing.assert_allclose(tau[:2], [KP[0] * 0.1, KP[1] * (0.1 - math.tau)], rtol=1e-12)  # rounding


# Feedback at a finite rate.


def envelope(kp, kd, period, delay, steps=4000):
    """How fast the error of a double integrator grows [1/s], stepped as controller and arm do it."""
    q, qd, waiting = 1.0, 0.0, [0.0] * delay
    sizes = []
    for _ in range(steps):
        waiting.append(-kp * q - kd * qd)
        u = waiting.pop(0)
        q, qd = q + period * qd + 0.5 * period**2 * u, qd + period * u
        size = np.hypot(q, qd)
        sizes.append(size)
        q, qd, waiting = q / size, qd / size, [each / size for each in waiting]
    return np.log(sizes[steps // 2 :]).mean() / period


@pytest.mark.parametrize("period", [0.001, 0.005, 0.01, 0.02])
@pytest.mark.parametrize("delay", [0, 1, 2, 3])
def test_a_negative_damping_ratio_is_a_loop_that_diverges(period, delay):
    damping = damping_ratio(400.0, 40.0, period, delay)
    assert (damping < 0.0) == (envelope(400.0, 40.0, period, delay) > 0.0)


def test_the_default_gains_at_the_default_rate_of_controller_manager():
    # as measured beside ros2_control at 100 Hz: 0.17 with two periods of delay, unstable with three
    assert damping_ratio(400.0, 40.0, 0.01, 2) == pytest.approx(0.17, abs=0.005)
    assert damping_ratio(400.0, 40.0, 0.01, 3) < 0.0


def test_without_delay_and_at_a_high_rate_the_ratio_is_the_textbooks():
    assert damping_ratio(400.0, 12.0, 1e-5, 0) == pytest.approx(12.0 / (2.0 * 20.0), rel=1e-3)


@pytest.mark.parametrize("period", [0.001, 0.01])
def test_gains_for_a_rate_are_the_largest_that_are_damped_so_well(period):
    kp, kd = critical_gains(period, 0.25)
    assert kd == pytest.approx(2.0 * np.sqrt(kp))
    assert damping_ratio(kp, kd, period) == pytest.approx(0.25, abs=1e-3)
    assert damping_ratio(1.1 * kp, kd * np.sqrt(1.1), period) < 0.25


def test_pd_gains_are_judged_by_the_inertia_that_each_joint_moves_alone(model):
    q = np.array([0.1, 0.8, -0.9, 0.2, 0.1])
    law = Law("feedforward_pd", model, np.full(5, 300.0), np.full(5, 30.0), TermSwitches())
    for j in range(5):
        effort = np.zeros(5)
        effort[j] = 300.0
        alone = model.forward_dynamics(q, np.zeros(5), model.gravity(q) + effort)
        found = too_stiff(replace(law, kp=effort), q, 1e-3, damping=99.0)
        assert found.joint == j
        assert (found.kp, found.kd) == pytest.approx((alone[j], 0.1 * alone[j]))
        assert found.damping == damping_ratio(found.kp, found.kd, 1e-3)


def test_the_first_joint_whose_gains_are_too_high_for_the_rate_is_named(model):
    kp = np.array([400.0, 4e4, 1e6, 1e6, 400.0])
    law = Law("computed_torque", model, kp, 2.0 * np.sqrt(kp), TermSwitches())
    found = too_stiff(law, np.zeros(5), 0.001, 0.25)
    assert (found.joint, found.kp, found.kd) == (1, 4e4, 400.0)
    assert too_stiff(law, np.zeros(5), 0.001, -0.2, delay=1).joint == 2
    assert (
        too_stiff(replace(law, kp=np.full(5, 400.0), kd=np.full(5, 40.0)), np.zeros(5), 0.001, 0.25) is None
    )
    for mode in ("feedforward", "gravity_compensation"):
        assert too_stiff(replace(law, mode=mode), np.zeros(5), 0.001, 0.25) is None


def test_the_gains_of_the_page_are_those_of_the_rate():
    document = share_directory() / "docs" / "howto" / "ros2_control.md"
    if not document.is_file():
        pytest.skip("the documentation is not installed, it is in the source checkout")
    rows = [
        line.split("|")[1:5] for line in document.read_text().splitlines() if line.strip().startswith("|")
    ]
    figures = [[float(cell) for cell in row] for row in rows if row[0].strip().isdigit()]
    assert [row[0] for row in figures] == [100, 200, 500, 1000]
    for rate, damping, kp, kd in figures:
        assert damping == pytest.approx(damping_ratio(400.0, 40.0, 1.0 / rate), abs=0.006)
        assert (kp, kd) == pytest.approx(critical_gains(1.0 / rate, 0.25), rel=5e-3)
