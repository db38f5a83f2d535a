"""Each witness against Pinocchio, against Newton-Euler, and against closed forms."""

from dataclasses import replace
from math import sin

import newton_euler
import numpy as np
import pinocchio
import pytest
import sympy
from pinocchio_chain import pinocchio_model
from random_chains import random_chain, random_gravity, random_inertia, random_state

from kane_dynamics_ros.description.model import IDENTITY, ZERO, Chain, ChainJoint, Inertia
from kane_dynamics_ros.formulation.witnesses import gibbs_appell, lagrange, maggi
from kane_dynamics_ros.formulation.witnesses.loads import Actuation

WITNESSES = {
    "Lagrange": lagrange.inverse_dynamics,
    "Maggi": maggi.inverse_dynamics,
    "Gibbs-Appell": gibbs_appell.inverse_dynamics,
    "Newton-Euler": newton_euler.inverse_dynamics,
}
each_witness = pytest.mark.parametrize("witness", WITNESSES.values(), ids=WITNESSES.keys())

# Rounding alone: some thousand operations of 1e-16 each, and cancellation between terms.
ROUNDING = 1e-12


def difference(a, b) -> float:
    """Largest difference, relative to the largest torque."""
    return float(np.max(np.abs(np.asarray(a) - b)) / np.max(np.abs(b)))


@each_witness
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_agrees_with_pinocchio_on_random_chains(witness, n):
    rng = np.random.default_rng(n)
    for _ in range(5):
        chain, gravity, payload = random_chain(rng, n), random_gravity(rng), random_inertia(rng)
        model = pinocchio_model(chain, gravity, payload)
        q, qd, qdd = random_state(rng, n)
        expected = pinocchio.rnea(model, model.createData(), q, qd, qdd)
        assert difference(witness(chain, q, qd, qdd, gravity, payload), expected) < ROUNDING


@each_witness
def test_agrees_with_pinocchio_on_thirty_joints(witness):
    rng = np.random.default_rng(30)
    chain, gravity = random_chain(rng, 30), random_gravity(rng)
    model = pinocchio_model(chain, gravity)
    state = random_state(rng, 30)
    expected = pinocchio.rnea(model, model.createData(), *state)
    assert difference(witness(chain, *state, gravity), expected) < ROUNDING


@each_witness
def test_a_follower_adds_its_effort_to_its_leader(witness):
    rng = np.random.default_rng(27)
    free, gravity = random_chain(rng, 4), random_gravity(rng)
    mimic = replace(free.joints[2], coordinate=1, multiplier=-1.5, offset=0.3)
    last = replace(free.joints[3], coordinate=2)
    coupled = replace(
        free,
        joints=(*free.joints[:2], mimic, last),
        coordinates=("joint_1", "joint_2", "joint_4"),
    )
    q, qd, qdd = random_state(rng, 3)
    G = np.array([[1, 0, 0], [0, 1, 0], [0, -1.5, 0], [0, 0, 1]])  # joints from coordinates
    free_state = G @ q + np.array([0, 0, 0.3, 0]), G @ qd, G @ qdd
    expected = G.T @ newton_euler.inverse_dynamics(free, *free_state, gravity)
    assert difference(witness(coupled, q, qd, qdd, gravity), expected) < ROUNDING


@each_witness
def test_a_hanging_mass_pulls_its_joint_towards_the_bottom(witness):
    chain = pendulum(mass=2.0, length=0.5)
    still, gravity = [0.0], (0.0, 0.0, -9.81)
    for angle in (-1.0, 0.0, 0.4, 2.5):  # from hanging straight down, about x
        expected = 2.0 * 9.81 * 0.5 * sin(angle)  # the actuator holds the mass up
        assert witness(chain, [angle], still, still, gravity) == pytest.approx([expected], abs=1e-13)


@each_witness
def test_a_prismatic_joint_carries_weight_and_accelerates_mass(witness):
    tensor = ((0.1, 0.0, 0.0), (0.0, 0.1, 0.0), (0.0, 0.0, 0.1))
    body = Inertia(3.0, (0.1, 0.2, 0.3), tensor)
    lift = ChainJoint("lift", "prismatic", IDENTITY, ZERO, (0.0, 0.0, 1.0), "body", body, 0, -1)
    chain = Chain("lift", "base", "body", (lift,), ("lift",), 0)
    assert witness(chain, [0.2], [1.0], [2.0], (0.0, 0.0, -9.81)) == pytest.approx([3.0 * (9.81 + 2.0)])


@pytest.mark.parametrize("name", ["Lagrange", "Maggi", "Gibbs-Appell"])
def test_symbols_give_the_pendulum_equation_exactly(name):
    m, length, g, q, qd, qdd = sympy.symbols("m l g q qd qdd")
    chain = symbolic_pendulum(m, length)
    (tau,) = WITNESSES[name](chain, [q], [qd], [qdd], (0, 0, -g))
    assert sympy.simplify(tau - (m * length**2 * qdd + m * g * length * sympy.sin(q))) == 0


def test_actuation_adds_rotor_inertia_and_smooth_friction():
    actuation = Actuation((0.1, 0.2), (1.0, 0.0), (0.0, 3.0), coulomb_velocity=0.5)
    effort = actuation.effort(np.array([2.0, 0.25]), np.array([10.0, -1.0]))
    assert effort == pytest.approx([0.1 * 10 + 2.0, -0.2 + 3.0 * np.tanh(0.5)], rel=1e-15)


def test_payload_moves_the_centrifugal_effort_of_a_slide():
    """A turntable and a radial slide: the slide holds m (r + c) w^2 against the payload's flight."""
    nothing = Inertia(0.0, ZERO, (ZERO, ZERO, ZERO))
    turn = ChainJoint("turn", "revolute", IDENTITY, ZERO, (0.0, 0.0, 1.0), "table", nothing, 0, -1)
    slide = ChainJoint("slide", "prismatic", IDENTITY, ZERO, (1.0, 0.0, 0.0), "slider", nothing, 1, 0)
    chain = Chain("turntable", "base", "tip", (turn, slide), ("turn", "slide"), 1, p_BoTo_B=(0.1, 0.0, 0.0))
    payload = Inertia(2.0, (0.05, 0.0, 0.0), (ZERO, ZERO, ZERO))
    for witness in WITNESSES.values():
        tau = witness(chain, [0.7, 0.4], [3.0, 0.5], [0.0, 0.0], (0.0, 0.0, -9.81), payload)
        radius = 0.4 + 0.1 + 0.05
        assert tau == pytest.approx([2 * 2.0 * radius * 3.0 * 0.5, -2.0 * radius * 9.0], rel=1e-13)


def pendulum(mass: float, length: float) -> Chain:
    """A point mass that hangs at ``length`` below a joint about x."""
    body = Inertia(mass, (0.0, 0.0, -length), (ZERO, ZERO, ZERO))
    swing = ChainJoint("swing", "revolute", IDENTITY, ZERO, (1.0, 0.0, 0.0), "bob", body, 0, -1)
    return Chain("pendulum", "base", "bob", (swing,), ("swing",), 0)


def symbolic_pendulum(mass, length) -> Chain:
    """The same with symbols, and whole numbers as integers, so that results are exact."""
    one, none = ((1, 0, 0), (0, 1, 0), (0, 0, 1)), ((0, 0, 0),) * 3
    body = Inertia(mass, (0, 0, -length), none)
    swing = ChainJoint("swing", "revolute", one, (0, 0, 0), (1, 0, 0), "bob", body, 0, -1, 1, 0)
    return Chain("pendulum", "base", "bob", (swing,), ("swing",), 0)
