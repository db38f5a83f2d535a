"""Which joint gains an elastic arm bears: the poles of the sampled loop, against the simulated arm."""

from collections import deque

import numpy as np
import pytest
from elastic_arms import GRAVITY, URDF

from kane_dynamics_ros.elastic.arm import equations
from kane_dynamics_ros.elastic.posture import largest_stable_factor, sag, slowest_pole
from kane_dynamics_ros.elastic.reader import elastic_arm
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.simulation.elastic_plant import ElasticPlant
from kane_dynamics_ros.simulation.friction import Friction
from kane_dynamics_ros.simulation.plant import PlantOptions

Q = np.array([0.0, 0.9, -1.2, 0.3, 0.5])
KP, KD = np.diag([600.0, 600.0, 200.0, 2.0, 2.0]), np.diag([120.0, 120.0, 30.0, 0.08, 0.04])
PERIOD, STEPS = 2e-3, 20  # of control [s], and the plant's steps in it
LINKS = URDF.parents[1] / "examples" / "elastic_forearm" / "forearm.yaml"


@pytest.fixture(scope="module")
def model():
    return load_model("manipulator_5dof")


@pytest.fixture(scope="module")
def arm(model):
    return elastic_arm(URDF.read_text(encoding="utf-8"), model, LINKS)


def speeds_of(arm, model, factor, delay):
    """The joints' largest speeds [rad/s] in the first and the last 0.15 s of 0.4 s."""
    options = PlantOptions(time_step=PERIOD / STEPS, friction=Friction.none(5), hard_stops=False)
    plant = ElasticPlant(arm, model, options)
    plant.reset(Q + 1e-6, np.zeros(5))
    late, speeds = deque([model.gravity(Q)] * delay), []
    for _ in range(200):
        late.append(model.gravity(Q) + factor**2 * KP @ (Q - plant.q) - factor * KD @ plant.qd)
        effort = late.popleft()
        for _ in range(STEPS):
            plant.step(effort)
        speeds.append(np.abs(plant.qd).max())
    return max(speeds[:75]), max(speeds[125:])


@pytest.mark.parametrize("delay", [0, 1])
def test_the_simulated_arm_settles_below_the_bound_and_oscillates_above_it(arm, model, delay):
    bound = largest_stable_factor(arm, Q, GRAVITY, KP, KD, PERIOD, delay)
    early, late = speeds_of(arm, model, 0.8 * bound, delay)
    assert late < early < 1e-2
    early, late = speeds_of(arm, model, 1.5 * bound, delay)
    assert late > 5.0 * early or early > 1.0  # it grows, or has grown at once


def test_shipped_gains_are_stable_without_delay_and_a_period_late_only_when_halved(arm):
    assert slowest_pole(arm, Q, GRAVITY, KP, KD, PERIOD, 0) < 1.0
    assert slowest_pole(arm, Q, GRAVITY, KP, KD, PERIOD, 1) > 1.0
    assert slowest_pole(arm, Q, GRAVITY, KP / 4, KD / 2, PERIOD, 1) < 1.0


def test_faster_control_bears_larger_gains(arm):
    bounds = [largest_stable_factor(arm, Q, GRAVITY, KP, KD, period) for period in (4e-3, 2e-3, 1e-3)]
    assert bounds == sorted(bounds)


def test_what_a_motor_moves_at_first_is_a_fraction_of_the_rigid_inertia(arm, model):
    """The links yield: M's Schur complement."""
    M = equations(arm, sag(arm, Q, GRAVITY), np.zeros(arm.size), GRAVITY).M
    rigid, instant = np.array(model.mass_matrix(Q)), np.linalg.inv(np.linalg.inv(M)[: arm.n, : arm.n])
    assert np.linalg.eigvalsh(instant).min() > 0.0
    assert instant[2, 2] < 0.1 * rigid[2, 2]  # the forearm's own joint
