"""identify finds the friction that a simulated arm has, and its parameters make the same arm again."""

from pathlib import Path

import numpy as np
import pytest
import two_links
import yaml

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.friction import BEYOND, ExtraFriction
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.simulation.friction import Friction
from kane_dynamics_ros.simulation.hardware import SimulatedHardware
from kane_dynamics_ros.simulation.plant import Plant, PlantOptions
from kane_dynamics_ros.simulation.rollout import simulate

VISCOUS, COULOMB = (0.8, 0.5), (1.5, 1.0)
CASES = {
    "by direction, by load": {
        "coulomb_asymmetry": [0.4, 0.0],
        "viscous_asymmetry": [0.2, 0.0],
        "load": [0.0, 0.2],
    },
    "towards rest, by the root": {"stribeck": [1.0, 0.0], "offset": [0.5, 0.0], "square_root": [0.0, 1.0]},
}


@pytest.mark.parametrize("case", CASES)
def test_the_friction_of_the_simulated_arm_is_found(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A minute of tracked motion with noise: the friction at every speed and load within 5 % of the largest.

    Not each coefficient: what a motion cannot tell apart, as an offset and friction by direction, is shared
    out otherwise.
    """
    monkeypatch.setattr(two_links, "RATE", 1000.0)
    urdf = two_links.urdf(tmp_path)
    module, *_ = write_module(derive(serial_chain(load_robot(str(urdf)))), "two_links", tmp_path)
    model = load_model(module)
    speeds = np.quantile(np.abs(two_links.harmonics()[1]), 0.95, axis=0)
    terms = {name: np.array(values) for name, values in CASES[case].items()}
    beyond = ExtraFriction.of(2, **terms, stribeck_velocity=0.15 * speeds)  # a candidate of identify
    plant = Plant(model, PlantOptions(friction=Friction(VISCOUS, COULOMB, beyond), hard_stops=False))
    motion = np.stack(two_links.harmonics(), axis=1)
    plant.reset(*motion[0, :2])

    def track(reference, q, qd):
        wanted = reference[2] + 4e4 * (reference[0] - q) + 400.0 * (reference[1] - qd)
        return model.mass_matrix(q) @ wanted + model.bias(q, qd)

    def reference(time: float):
        return motion[min(round(time * two_links.RATE), len(motion) - 1)]

    run = simulate(model, track, reference, two_links.SECONDS, SimulatedHardware(plant))
    effort = np.concatenate([run.effort[1:], run.effort[-1:]])  # of the step that begins here
    bag = two_links.bag(tmp_path / "bag", (run.q, run.qd, None), effort, noise=0.01)
    output = tmp_path / "out"
    assert main(["identify", str(bag), "--urdf", str(urdf), "-o", str(output), "--no-compile"]) == 0
    parameters = yaml.safe_load((output / "parameters.yaml").read_text())["/**"]["ros__parameters"]
    found = {name: np.array(values) for name, values in parameters["friction"].items()}
    speed = np.concatenate([sign * np.linspace(0.1, 1.0, 10) for sign in (-1.0, 1.0)])[:, None] * speeds
    for load in (0.0, 1.0):
        wanted, known = (
            each["viscous"] * speed
            + each["coulomb"] * np.sign(speed)
            + ExtraFriction.of(
                2, **{name: each[name] for name in BEYOND if name in each}, stribeck_velocity=width
            ).effort(speed, np.array(load), 1e-6)
            for each, width in (
                ({"viscous": np.array(VISCOUS), "coulomb": np.array(COULOMB), **terms}, 0.15 * speeds),
                (found, found.get("stribeck_velocity", np.ones(2))),
            )
        )
        assert np.abs(known - wanted).max() < 0.05 * np.abs(wanted).max()
