"""The force at the tip is reported with standard errors that hold, and only where it is determined."""

import json
from pathlib import Path

import numpy as np
import pytest
from pushed_arm import Push, pushed
from replay_bags import write_bag

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.contact.events import tip_force
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.yaml_text import parameter_file

RANDOM = np.random.default_rng(7)
J = RANDOM.normal(size=(3, 6))  # [m]
DEVIATIONS = RANDOM.uniform(0.5, 2.0, 6)  # [N m]
STICTION = np.array([12.0, 14.0, 7.0, 1.0, 0.7])  # [N m]


def test_standard_errors_are_those_of_repeated_measurements() -> None:
    """Of normally distributed efforts; where these scatter more than expected, errors are larger."""
    force = np.array([30.0, -20.0, 25.0])
    noise = DEVIATIONS * np.random.default_rng(1).normal(size=(2000, 6))
    found = [tip_force("tip", J, force @ J + each, DEVIATIONS) for each in noise]
    off = np.array([each.value for each in found]) - force
    assert np.abs(off.mean(axis=0)).max() < 0.1
    stated = np.median([each.errors for each in found], axis=0)
    ratio = off.std(axis=0) / stated
    assert (ratio > 0.8).all()
    assert (ratio < 1.05).all()


@pytest.mark.parametrize("cause", ["posture", "stiction"])
def test_a_direction_that_the_efforts_do_not_show_is_not_determined(cause: str) -> None:
    """The arm is stretched along x, or the joints that feel x may keep all of it by friction."""
    jacobian, deviations = np.zeros((3, 6)), DEVIATIONS.copy()
    jacobian[0, :2], jacobian[1, 2:4], jacobian[2, 4:] = 0.5, 0.4, 0.3
    if cause == "posture":
        jacobian[0] *= 1e-3
    else:
        deviations[:2] = 40.0
    force = np.array([30.0, -20.0, 25.0])
    found = tip_force("tip", jacobian, force @ jacobian, deviations)
    assert np.isfinite(found.errors).tolist() == [False, True, True]
    np.testing.assert_allclose(found.value[1:], force[1:], rtol=1e-9)


def test_efforts_that_no_force_at_the_tip_makes_determine_none() -> None:
    """As of a hand at the upper arm."""
    elsewhere = np.linalg.svd(J / DEVIATIONS)[2][3:].sum(axis=0) * DEVIATIONS
    found = tip_force("tip", J, 100.0 * elsewhere + np.array([2.0, 3.0, -2.0]) @ J, DEVIATIONS)
    assert np.isinf(found.errors).all()


def test_of_a_standing_arm_the_errors_hold_what_stiction_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each push loses in every joint a random part of the dry friction, which the node's file gives."""
    model, random = load_model("manipulator_5dof"), np.random.default_rng(4)
    file = tmp_path / "parameters.yaml"
    file.write_text(parameter_file({"friction": {"coulomb": STICTION.tolist()}}, []))
    off, determined, total = [], 0, 0
    for k in range(3):
        forces = random.normal(size=(4, 3))
        forces *= 60.0 / np.linalg.norm(forces, axis=1, keepdims=True)
        starts = (3.0, 7.0, 11.0, 15.0)
        pushes = tuple(Push(at, at + 1.2, tuple(f)) for at, f in zip(starts, forces.tolist(), strict=True))
        free, arm = (pushed(19.0, 100.0, some, k, still=True) for some in ((), pushes))
        external = free.effort - arm.effort
        for push in pushes:
            during = slice(round(100.0 * push.start), round(100.0 * push.end) + 1)
            kept = np.minimum(np.abs(external[during]), STICTION * random.uniform(size=5))
            arm.effort[during] += np.sign(external[during]) * kept
        bag, report = write_bag(tmp_path / f"bag_{k}", arm), tmp_path / f"report_{k}"
        words = ["observe", str(bag), "--model", "manipulator_5dof", "--report", str(report)]
        assert main([*words, "--parameters", str(file)]) == 0
        assert "dry friction of standing joints" not in capsys.readouterr().out
        contacts = json.loads((report / "contacts.json").read_text())["contacts"]
        R_RT = model.tip_pose(arm.position[0])[:3, :3]
        for push in pushes:
            [found] = [one for one in contacts if one["start"] < push.end and one["end"] > push.start]
            known = np.array(found["tip_force_determined"])
            error = np.array(found["tip_force_error"], dtype=float)
            off += list(((found["tip_force"] - R_RT.T @ push.force) / error)[known])
            determined, total = determined + known.sum(), total + 3
    assert determined > 0.4 * total
    assert np.sqrt(np.mean(np.square(off))) < 1.5
    assert np.mean(np.abs(off) < 2.0) > 0.75  # friction always resists: their mean is not zero
    assert main(words) == 0
    assert "dry friction of standing joints is not known" in capsys.readouterr().out


def test_of_a_moving_arm_the_errors_hold_what_the_model_lacks(tmp_path: Path) -> None:
    """Weak pushes in random directions; masses of the model are a fifth off."""
    model, random = load_model("manipulator_5dof"), np.random.default_rng(5)
    forces = random.normal(size=(5, 3))
    forces *= 40.0 / np.linalg.norm(forces, axis=1, keepdims=True)
    pushes = tuple(Push(3.0 + 4.0 * i, 4.4 + 4.0 * i, tuple(each)) for i, each in enumerate(forces.tolist()))
    arm, report = pushed(24.0, 100.0, pushes), tmp_path / "report"
    bag = write_bag(tmp_path / "bag", arm)
    assert main(["observe", str(bag), "--model", "manipulator_5dof", "--report", str(report)]) == 0
    off = []
    for found, push in zip(
        json.loads((report / "contacts.json").read_text())["contacts"], pushes, strict=True
    ):
        R_RT = model.tip_pose(arm.position[round(100.0 * found["peak"])])[:3, :3]
        known, error = found["tip_force_determined"], np.array(found["tip_force_error"], dtype=float)
        off += list(((found["tip_force"] - R_RT.T @ push.force) / error)[known])
    assert len(off) > 9
    assert np.sqrt(np.mean(np.square(off))) < 2.0
    assert np.mean(np.abs(off) < 2.0) > 0.75
