"""``kane_dynamics observe`` of an arm whose last drive turns with the joint before it, too."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pushed_arm import LIMITS, NAMES
from replay_bags import Record, motion, record, write_bag

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.cli.observe import read_thresholds
from kane_dynamics_ros.contact.residual import external_efforts
from kane_dynamics_ros.replay.motion import estimate
from kane_dynamics_ros.replay.recording import read_recording
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.runtime.node_parameters import with_parameter_file
from kane_dynamics_ros.yaml_text import load_yaml, parameter_file

RATE = 100.0
C = np.eye(5)
C[4, 3] = 1.0
FRICTION = {"viscous": [2.0, 2.0, 2.0, 0.3, 0.3], "coulomb": [6.0, 8.0, 4.0, 0.8, 0.8]}
OFFSETS = [1.0, -2.0, 0.5, 0.3, -0.4]


def parameters(folder: Path, **friction: Any) -> Path:
    """A file for the node, with this friction and what all have."""
    file = folder / "parameters.yaml"
    file.write_text(parameter_file({"friction": {**FRICTION, "offset": OFFSETS, **friction}}, []))
    return file


@pytest.fixture
def coupled(tmp_path: Path) -> Path:
    return parameters(tmp_path, coupling=C.ravel().tolist())


def moved(file: Path, seed: int) -> Record:
    """Efforts of the model with the friction of a file, and noise."""
    model, beyond = with_parameter_file(load_model("manipulator_5dof"), file)
    q, qd, qdd = motion(15.0, RATE, 5)
    tau = model.inverse_dynamics(q, qd, qdd)
    load = model.without_friction().inverse_dynamics(q, qd, qdd)
    tau += beyond.effort(qd, load, model.parameters.coulomb_velocity)
    tau += 2e-4 * LIMITS * np.random.default_rng(seed).standard_normal(tau.shape)
    return record(q, qd, tau, RATE, NAMES)


def observe(bag: Path, *words: object) -> None:
    assert main(["observe", str(bag), "--model", "manipulator_5dof", *map(str, words)]) == 0


def test_thresholds_are_calibrated_with_the_node_s_friction(tmp_path: Path, coupled: Path) -> None:
    """Those of the wrist are far larger where its coupling is left out, or its offsets are."""
    bag, found = write_bag(tmp_path / "bag", moved(coupled, 1)), []
    rows = C.ravel().tolist()
    for name, friction in (
        ("all", {"coupling": rows}),
        ("a", {}),
        ("b", {"coupling": rows, "offset": [0.0]}),
    ):
        (tmp_path / name).mkdir()
        file, thresholds = parameters(tmp_path / name, **friction), tmp_path / "thresholds.yaml"
        observe(bag, "--calibrate", "--parameters", file, "-o", thresholds)
        found.append(read_thresholds(thresholds, load_model("manipulator_5dof")).thresholds)
    known, *unknown = (each.constant + each.rest for each in found)
    assert all((each[3:] > 3.0 * known[3:]).all() for each in unknown)


@pytest.mark.parametrize("files", ["two", "one"])
def test_collisions_are_judged_with_the_node_s_friction(
    tmp_path: Path, coupled: Path, files: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside the file of thresholds, or in it, as a node may have it; none without contact."""
    thresholds = tmp_path / "thresholds.yaml"
    bag = write_bag(tmp_path / "bag", moved(coupled, 1))
    observe(bag, "--calibrate", "--false-alarms", "0.1", "--parameters", coupled, "-o", thresholds)
    words: list[object] = ["--thresholds", thresholds, "--parameters", coupled]
    if files == "one":
        both = [load_yaml(each.read_text())["/**"]["ros__parameters"] for each in (thresholds, coupled)]
        thresholds.write_text(parameter_file({**both[0], **both[1]}, []))
        words = words[:2]
    capsys.readouterr()
    other = write_bag(tmp_path / "other", moved(coupled, 2))
    observe(other, *words)
    assert "0 collisions" in capsys.readouterr().out
    if files == "two":
        observe(other, *words[:2])
        assert "0 collisions" not in capsys.readouterr().out


def test_friction_that_grows_with_the_load_knows_the_load_of_acceleration(tmp_path: Path) -> None:
    """What is left of a recording by the model itself is noise but where joints reverse."""
    file = parameters(tmp_path, load=[0.2] * 5)
    model, beyond = with_parameter_file(load_model("manipulator_5dof"), file)
    bag = write_bag(tmp_path / "bag", moved(file, 1))
    motion = estimate(read_recording(bag, NAMES), None)
    left = external_efforts(motion, model, correct=False, beyond=beyond).external
    assert (np.median(np.abs(left), axis=0) < 5e-3 * LIMITS).all()


def test_the_friction_that_is_fitted_to_a_recording_is_that_of_coupled_drives(
    tmp_path: Path, coupled: Path
) -> None:
    """The same friction, of which the file tells the coupling alone: the wrist's thresholds are lower."""
    bag, least = write_bag(tmp_path / "bag", moved(coupled, 1)), []
    nothing = {"viscous": [0.0], "coulomb": [0.0], "offset": [0.0]}
    for k, more in enumerate(({"coupling": C.ravel().tolist()}, {})):
        (tmp_path / str(k)).mkdir()
        report = tmp_path / f"report_{k}"
        observe(bag, "--parameters", parameters(tmp_path / str(k), **nothing, **more), "--report", report)
        least.append(json.loads((report / "contacts.json").read_text())["pushes"][3])
    assert least[0] < 0.5 * least[1]
