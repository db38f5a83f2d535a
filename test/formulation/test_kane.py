"""Kane's equations against closed forms and against their own unfactored sum."""

import math

import numpy as np
import pytest
from random_chains import random_chain, random_gravity, random_state

from kane_dynamics_ros.description.model import IDENTITY, Chain, ChainJoint, Inertia
from kane_dynamics_ros.formulation.dual import sine_cosine
from kane_dynamics_ros.formulation.kane.dynamics import generalized_forces, segment_efforts
from kane_dynamics_ros.formulation.kane.kinematics import motion, placements_at
from kane_dynamics_ros.formulation.kane.partial_velocities import generalized_forces_by_body, regressor
from kane_dynamics_ros.formulation.kane.segments import segments_of

G = 9.81


def pendulum(kind: str, axis: tuple[float, float, float]) -> Chain:
    """2 kg at 0.5 m along x of the moving link, with J_zz = 0.1 kg m^2 about its centre."""
    inertia = Inertia(2.0, (0.5, 0.0, 0.0), ((0.05, 0.0, 0.0), (0.0, 0.08, 0.0), (0.0, 0.0, 0.1)))
    joint = ChainJoint("j", kind, IDENTITY, (0.0, 0.0, 0.0), axis, "body", inertia, 0, -1)
    return Chain("pendulum", "base", "body", (joint,), ("j",), 0)


def torque(chain: Chain, q: float, u: float, a: float, gravity: tuple[float, float, float]) -> float:
    return segment_efforts(segments_of(chain), [q], [u], [a], gravity, sine_cosine)[0]


@pytest.mark.parametrize("q", [0.0, 0.3, -2.0])
def test_a_pendulum_needs_inertia_times_acceleration_plus_its_weight(q: float) -> None:
    # J about the pivot is 0.1 + 2 * 0.5^2; gravity -y pulls the mass down, a positive torque holds it
    expected = 0.6 * 1.7 + 2.0 * G * 0.5 * math.cos(q)
    found = torque(pendulum("revolute", (0.0, 0.0, 1.0)), q, 3.0, 1.7, (0.0, -G, 0.0))
    assert found == pytest.approx(expected, rel=1e-14)


def test_gravity_is_the_acceleration_of_free_fall() -> None:
    """A hanging mass on a vertical slider: held up by a positive force when free fall is downwards."""
    chain = pendulum("prismatic", (0.0, 0.0, 1.0))
    assert torque(chain, 0.1, 0.0, 0.0, (0.0, 0.0, -G)) == pytest.approx(2.0 * G)
    assert torque(chain, 0.1, 0.0, 0.0, (0.0, 0.0, G)) == pytest.approx(-2.0 * G)


def test_the_torque_reverses_when_a_swing_brakes() -> None:
    chain = pendulum("revolute", (0.0, 0.0, 1.0))
    assert torque(chain, 0.4, 1.0, 2.0, (0.0, 0.0, -G)) > 0.0 > torque(chain, 0.4, 1.0, -2.0, (0.0, 0.0, -G))


@pytest.mark.parametrize("n", range(1, 8))
def test_the_factored_sum_equals_the_sum_over_bodies(n: int) -> None:
    """[Malvezzi2017] eq. (3) as printed against the recursion, 1e-12 for rounding in random chains."""
    rng = np.random.default_rng(n)
    segments = segments_of(random_chain(rng, n))
    q, u, udot = random_state(rng, n)
    placements = placements_at(segments, q, sine_cosine)
    motions = motion(placements, u, udot, random_gravity(rng))
    factored = generalized_forces(placements, motions, n)
    plain = generalized_forces_by_body(placements, motions, n)
    np.testing.assert_allclose(factored, plain, rtol=0, atol=1e-12 * np.abs(plain).max())


@pytest.mark.parametrize("n", [1, 4, 7])
def test_the_torque_is_linear_in_the_inertial_parameters(n: int) -> None:
    rng = np.random.default_rng(10 + n)
    segments = segments_of(random_chain(rng, n))
    q, u, udot = random_state(rng, n)
    gravity = random_gravity(rng)
    placements = placements_at(segments, q, sine_cosine)
    motions = motion(placements, u, udot, gravity)
    Y = np.array(regressor(placements, motions, n), dtype=float)
    pi = [value for segment in segments for value in segment.body.inertial_parameters()]
    tau = segment_efforts(segments, q, u, udot, gravity, sine_cosine)
    np.testing.assert_allclose(Y @ pi, tau, rtol=0, atol=1e-12 * np.abs(tau).max())
