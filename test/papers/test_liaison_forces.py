"""Assembly as a projection, and the liaison forces that it eliminates."""

import numpy as np
import pytest

from kane_dynamics_ros.elastic.body import clamped, straight_beam
from kane_dynamics_ros.elastic.equations import RigidMotion, coefficients, mass
from kane_dynamics_ros.elastic.link import Material, beam_rates, rectangle
from kane_dynamics_ros.papers.wind_pump_turn import connectivity, liaison_forces, support_reactions

RATES = beam_rates(Material(E=2.1e11, G=8.1e10, density=7850.0), rectangle(0.03, 0.012))
LENGTH = 0.8


@pytest.fixture(params=["plane", "space"])
def beam(request):
    return clamped(straight_beam(request.param, RATES, LENGTH, 5, x0=0.3))


def moving(beam, seed):
    """A random motion of the frame and of the beam that satisfies eq. (20)."""
    rng = np.random.default_rng(seed)
    plane = beam.kind == "plane"
    a_O, omega, epsilon = rng.normal(size=(3, 3))
    if plane:
        a_O[2] = omega[:2] = epsilon[:2] = 0.0
    motion = RigidMotion(a_O, omega, epsilon)
    delta, rate = 1e-3 * rng.normal(size=(2, len(beam.free)))
    system = coefficients(beam, motion)
    second = np.linalg.solve(system.m, system.Q - system.c @ rate - system.k @ delta)
    return motion, delta, rate, second


def test_assembly_is_the_projection_by_the_connectivity(beam):
    A = connectivity(beam)
    blocks = np.kron(np.eye(beam.elements), np.einsum("aaij->ij", beam.element.D))
    np.testing.assert_allclose(mass(beam), A.T @ blocks @ A, rtol=1e-12, atol=1e-15)
    stiffness = np.kron(np.eye(beam.elements), beam.element.k)
    np.testing.assert_allclose(beam.k, A.T @ stiffness @ A, atol=1e-9 * abs(beam.k).max())


def test_liaison_forces_do_no_work_and_meet_at_every_node_but_the_support(beam):
    forces = liaison_forces(beam, *moving(beam, 1))
    largest = abs(forces).max()
    projected = connectivity(beam).T @ forces.ravel()
    np.testing.assert_allclose(projected, 0.0, atol=1e-9 * largest)  # round-off of terms of size k delta
    np.testing.assert_allclose(support_reactions(beam, forces)[1:], 0.0, atol=1e-9 * largest)


def test_the_support_bears_the_beam_s_change_of_momentum(beam):
    """Sum of forces = int a dm, from the rows m_O of the assembled body: another path than the elements'."""
    motion, delta, rate, second = moving(beam, 2)
    reactions = support_reactions(beam, liaison_forces(beam, motion, delta, rate, second))
    from_W = np.cross(motion.epsilon, beam.S + beam.m_O @ delta)
    turning = np.cross(motion.omega, np.cross(motion.omega, beam.S + beam.m_O @ delta))
    coriolis = 2 * np.cross(motion.omega, beam.m_O @ rate)
    force = beam.mass * motion.a_O + from_W + turning + coriolis + beam.m_O @ second
    axes = 2 if beam.kind == "plane" else 3
    scale = abs(force).max() + abs(beam.k).max() * abs(delta).max()
    np.testing.assert_allclose(reactions[0, :axes], force[:axes], atol=1e-9 * scale)


def test_a_cantilever_at_rest_is_held_by_its_weight_and_half_its_length_s_moment():
    """m g L and m g L^2 / 2, whatever it sags."""
    beam = clamped(straight_beam("plane", RATES, LENGTH, 3))
    motion = RigidMotion(np.array([0.0, 9.81, 0.0]), np.zeros(3), np.zeros(3))
    system = coefficients(beam, motion)
    delta = np.linalg.solve(system.k, system.Q)
    still = np.zeros_like(delta)
    reactions = support_reactions(beam, liaison_forces(beam, motion, delta, still, still))
    weight = RATES.m * LENGTH * 9.81
    np.testing.assert_allclose(reactions[0], [0.0, weight, weight * LENGTH / 2], rtol=1e-9, atol=1e-9)
