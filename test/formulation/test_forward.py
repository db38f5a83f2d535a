"""Mass matrix, articulated bodies and energies against inverse dynamics and differences."""

import numpy as np
import pytest
from random_chains import random_chain, random_gravity, random_state

from kane_dynamics_ros.formulation.dual import sine_cosine
from kane_dynamics_ros.formulation.kane.dynamics import mass_matrix, segment_efforts
from kane_dynamics_ros.formulation.kane.energy import (
    center_of_mass_jacobian,
    kinetic_energy,
    potential_energy,
)
from kane_dynamics_ros.formulation.kane.forward_dynamics import forward_dynamics
from kane_dynamics_ros.formulation.kane.kinematics import body_poses, jacobian_of_point, placements_at
from kane_dynamics_ros.formulation.kane.segments import segments_of

SIZES = [1, 2, 5, 8]
STEP = 1e-6  # of central differences: error about STEP^2 and rounding / STEP


@pytest.fixture(params=SIZES)
def case(request: pytest.FixtureRequest) -> tuple:
    """Segments, state and gravity of a random chain."""
    n = request.param
    rng = np.random.default_rng(100 + n)
    return segments_of(random_chain(rng, n)), random_state(rng, n), random_gravity(rng)


def test_the_columns_of_m_are_torques_for_unit_accelerations(case: tuple) -> None:
    segments, (q, _, _), _ = case
    n = len(q)
    M = np.array(mass_matrix(placements_at(segments, q, sine_cosine), n))
    still = np.zeros(n)
    columns = [segment_efforts(segments, q, still, unit, (0.0, 0.0, 0.0), sine_cosine) for unit in np.eye(n)]
    np.testing.assert_allclose(M, np.array(columns).T, rtol=0, atol=1e-13 * np.abs(M).max())
    assert np.linalg.eigvalsh(M).min() > 0.0


def test_the_articulated_bodies_invert_inverse_dynamics(case: tuple) -> None:
    segments, (q, u, udot), gravity = case
    rotors = np.linspace(0.1, 0.5, len(q))
    tau = segment_efforts(segments, q, u, udot, gravity, sine_cosine) + rotors * udot
    placements = placements_at(segments, q, sine_cosine)
    found, divisors = forward_dynamics(placements, u, list(tau), list(rotors), gravity)
    assert min(divisors) > 0.0
    np.testing.assert_allclose(found, udot, rtol=0, atol=1e-9 * np.abs(udot).max())  # M's condition: 1e5


def test_the_kinetic_energy_is_half_u_m_u(case: tuple) -> None:
    segments, (q, u, _), _ = case
    placements = placements_at(segments, q, sine_cosine)
    M = np.array(mass_matrix(placements, len(q)))
    assert kinetic_energy(placements, u) == pytest.approx(u @ M @ u / 2, rel=1e-12)


def test_the_slope_of_the_potential_energy_is_the_weight(case: tuple) -> None:
    segments, (q, _, _), gravity = case
    n = len(q)
    still = np.zeros(n)
    weight = segment_efforts(segments, q, still, still, gravity, sine_cosine)

    def potential(at: np.ndarray) -> float:
        return potential_energy(placements_at(segments, at, sine_cosine), gravity)

    slope = [(potential(q + STEP * e) - potential(q - STEP * e)) / (2 * STEP) for e in np.eye(n)]
    np.testing.assert_allclose(weight, slope, atol=1e-7 * max(1.0, np.abs(weight).max()))


def test_jacobians_are_slopes_of_positions(case: tuple) -> None:
    segments, (q, _, _), _ = case
    n = len(q)

    def points(at: np.ndarray) -> np.ndarray:
        placements = placements_at(segments, at, sine_cosine)
        poses = body_poses(placements)
        center, _ = center_of_mass_jacobian(placements, poses, n)
        return np.array([*poses[-1].p_RoBo_R, *center])

    placements = placements_at(segments, q, sine_cosine)
    poses = body_poses(placements)
    J = jacobian_of_point(placements, poses, len(poses) - 1, poses[-1].p_RoBo_R, n)[3:]
    _, JC = center_of_mass_jacobian(placements, poses, n)
    slope = np.array([(points(q + STEP * e) - points(q - STEP * e)) / (2 * STEP) for e in np.eye(n)]).T
    np.testing.assert_allclose(np.array([*J, *JC], dtype=float), slope, atol=1e-8)
