"""Plants that differ from the model on purpose."""

from pathlib import Path

import numpy as np
import pinocchio
import pytest

from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description.chain import serial_chain
from kane_dynamics_ros.description.load import load_robot
from kane_dynamics_ros.runtime import DynamicsModel, load_model
from kane_dynamics_ros.share import share_directory
from kane_dynamics_ros.simulation.engine import SimulationError
from kane_dynamics_ros.simulation.friction import Friction
from kane_dynamics_ros.simulation.mujoco_engine import MujocoEngine
from kane_dynamics_ros.simulation.plant import Plant, PlantOptions, drawn_factors, with_factors

URDF = share_directory() / "urdf" / "manipulator_5dof.urdf"
FACTORS = {"limb_2": 1.3, "hand": 0.5}


@pytest.fixture(scope="module")
def adjustable(tmp_path_factory: pytest.TempPathFactory) -> DynamicsModel:
    """The reference robot with its inertial parameters as run-time parameters."""
    folder: Path = tmp_path_factory.mktemp("adjustable")
    derived = derive(serial_chain(load_robot(URDF)), inertial="runtime")
    module = write_module(derived, "adjustable", folder)[0]
    return load_model(module, backend="python")


def test_factors_act_as_they_do_in_pinocchio(adjustable: DynamicsModel) -> None:
    other = pinocchio.buildModelFromUrdf(str(URDF))
    for joint, factor in ((2, 1.3), (5, 0.5)):  # Pinocchio's joint 2 carries limb_2, joint 5 the hand
        inertia = other.inertias[joint]
        other.inertias[joint] = pinocchio.Inertia(
            factor * inertia.mass, inertia.lever, factor * inertia.inertia
        )
    q, qd, qdd = np.random.default_rng(0).standard_normal((3, 5))
    expected = pinocchio.rnea(other, other.createData(), q, qd, qdd)
    found = with_factors(adjustable, FACTORS).inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_both_engines_take_the_same_factors(adjustable: DynamicsModel) -> None:
    free = PlantOptions(friction=Friction.none(5), hard_stops=False)
    engines = (
        Plant(with_factors(adjustable, FACTORS), free),
        MujocoEngine(URDF.read_text(), adjustable, free, FACTORS),
    )
    for engine in engines:
        for _ in range(150):
            engine.step(np.array([5.0, 60.0, 20.0, 0.1, 0.1]))
    np.testing.assert_allclose(engines[1].q, engines[0].q, atol=1e-9)  # both of fourth order


def test_draws_stay_in_their_spread_and_repeat(adjustable: DynamicsModel) -> None:
    factors = drawn_factors(adjustable, 0.2, seed=4)
    assert tuple(factors) == adjustable.bodies
    assert all(0.8 <= factor <= 1.2 for factor in factors.values())
    assert len(set(factors.values())) == 5
    assert factors == drawn_factors(adjustable, 0.2, seed=4)
    assert factors != drawn_factors(adjustable, 0.2, seed=5)


def test_a_model_with_built_in_inertias_says_what_to_do() -> None:
    model = load_model("manipulator_5dof")
    assert with_factors(model, {"hand": 1.0}) is model
    with pytest.raises(SimulationError) as caught:
        with_factors(model, FACTORS)
    assert str(caught.value) == (
        "model 'manipulator_5dof' has its masses and inertias built in, so the plant cannot differ from "
        "them; generate it with --inertial runtime"
    )


def test_wrong_factors_are_refused(adjustable: DynamicsModel) -> None:
    with pytest.raises(SimulationError) as unknown:
        with_factors(adjustable, {"elbow": 1.0})
    assert str(unknown.value) == (
        "unknown body 'elbow'; the model's bodies are 'limb_1', 'limb_2', 'limb_3', 'wrist', 'hand'"
    )
    with pytest.raises(SimulationError) as negative:
        with_factors(adjustable, {"hand": -1.0})
    assert str(negative.value) == (
        "simulation option mismatch factor of 'hand': found -1.0; allowed: finite and > 0"
    )
    with pytest.raises(SimulationError) as wide:
        drawn_factors(adjustable, 1.0, seed=0)
    assert str(wide.value) == "simulation option mismatch.spread: found 1.0; allowed: at least 0, below 1"
