"""A body at the tip: found from one recording of a known arm, and what it tells of the drives' gains."""

import json

import numpy as np
import pytest
import yaml
from planted_arm import JOINTS, MODEL, URDF, motion, planted, write

from kane_dynamics_ros.cli import identify as command
from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.identification import fitting
from kane_dynamics_ros.identification.verdict import ROUGH
from kane_dynamics_ros.runtime import Payload

MASS, CENTRE, INERTIA = 2.3, (0.03, -0.02, 0.07), (0.004, 0.001, 0.0, 0.006, 0.0, 0.005)
LOAD = Payload(MASS, CENTRE, INERTIA)


@pytest.fixture(autouse=True)
def shipped_model(monkeypatch):
    monkeypatch.setattr(command, "nominal_model", lambda chain, gravity, folder: MODEL)


def recorded(folder, seed, load=None, gain=1.0, truth=None, by_load=0.0):
    """The shipped arm, or another, with friction, a load, and 1 % of noise; efforts over ``gain``.

    ``by_load``: friction by the bodies' effort, and with it an offset and Coulomb friction by direction.
    """
    q, qd, qdd = motion(30.0, 250.0, seed)
    model = MODEL if load is None else MODEL.with_parameters(payload=load)
    tau = model.inverse_dynamics(q, qd, qdd)
    if truth is not None:
        tau += truth.effort(q, qd, qdd) - MODEL.inverse_dynamics(q, qd, qdd)
    else:
        tau += 0.4 * np.tanh(qd / 0.01) + 0.8 * qd
    if by_load:
        sign = np.tanh(qd / 0.01)
        own = truth.rotor * qdd + truth.viscous * qd + truth.coulomb * sign
        tau += by_load * np.abs(tau - own) * sign + 0.3 * sign + 0.15 * np.abs(sign) + 0.2
    noise = 0.01 * np.sqrt((tau**2).mean(axis=0)) * np.random.default_rng(seed).normal(size=tau.shape)
    return write(folder, q, None, (tau + noise) / gain, 250.0)


def test_a_mounted_tool_is_found_from_one_recording(tmp_path, capsys):
    bag = recorded(tmp_path / "bag", 3, LOAD)
    words = ["--urdf", str(URDF), "-o", str(tmp_path / "out"), "--payload-only"]
    assert main(["identify", str(bag), *words]) == 0
    output = capsys.readouterr().out
    payload = yaml.safe_load((tmp_path / "out" / "parameters.yaml").read_text())["/**"]["ros__parameters"][
        "payload"
    ]
    assert payload["mass"] == pytest.approx(MASS, rel=0.02)
    assert payload["com"] == pytest.approx(CENTRE, abs=0.003)
    MODEL.with_parameters(payload=Payload(payload["mass"], tuple(payload["com"]), tuple(payload["inertia"])))
    rows = {line.split()[0]: line.split() for line in output.splitlines() if "±" in line}
    for name, true in zip(("mass", "x", "y", "z"), (MASS, *CENTRE), strict=True):
        value, error = float(rows[name][1]), float(rows[name][3])
        assert abs(value - true) < 4 * error
    assert [path.name for path in (tmp_path / "out").glob("*.y*ml")] == ["parameters.yaml"]
    assert not list((tmp_path / "out").glob("*.urdf"))


def test_without_a_tool_none_is_found(tmp_path):
    bag = recorded(tmp_path / "bag", 4)
    main(["identify", str(bag), "--urdf", str(URDF), "-o", str(tmp_path / "out"), "--payload-only"])
    payload = yaml.safe_load((tmp_path / "out" / "parameters.yaml").read_text())["/**"]["ros__parameters"][
        "payload"
    ]
    assert payload["mass"] < 0.05


def test_gains_are_found_without_the_loads_centre(tmp_path, capsys):
    """Roll about the load's axis feels too little of it; the first three are within 5 %."""
    ampere = np.array([8.0, 9.0, 4.0, 0.5, 0.5])
    truth = planted(7, error=0.1)
    empty = recorded(tmp_path / "empty", 8, gain=ampere, truth=truth)
    loaded = recorded(tmp_path / "loaded", 9, Payload(2.0, (0.05, 0.0, 0.05)), gain=ampere, truth=truth)
    main([
        *("identify", str(empty), str(loaded), "--urdf", str(URDF), "--payload", "loaded=2.0"),
        *("-o", str(tmp_path / "out"), "--no-compile", "--jobs", "1"),
    ])  # fmt: skip
    [line] = [each for each in capsys.readouterr().out.splitlines() if each.startswith("drive gains")]
    parts = {part.split()[0]: part.split() for part in line.partition(": ")[2].split(", ")}
    found = np.array([float(parts[joint][1]) for joint in JOINTS])
    assert found[:3] == pytest.approx(ampere[:3], rel=0.05)
    assert all("±" in part for part in parts.values())


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_errors_of_gains_are_true_beside_friction_by_load_and_offsets(seed, tmp_path, capsys):
    """By noise alone, a joint's gain was three of its errors off."""
    ampere = np.array([8.0, 9.0, 4.0, 0.5, 0.5])
    same = {"gain": ampere, "truth": planted(seed + 3, error=0.15), "by_load": 0.08}
    empty = recorded(tmp_path / "empty", 10 * seed, **same)
    loaded = recorded(tmp_path / "loaded", 10 * seed + 1, Payload(2.8, (0.05, 0.03, 0.08)), **same)
    main([
        *("identify", str(empty), str(loaded), "--urdf", str(URDF), "--payload", "loaded=2.8"),
        *("-o", str(tmp_path / "out"), "--no-compile", "--jobs", "1"),
    ])  # fmt: skip
    output = capsys.readouterr().out
    [line] = [each for each in output.splitlines() if each.startswith("drive gains")]
    parts = np.array([part.split()[1::2] for part in line.partition(": ")[2].split(", ")], float)
    found, error = parts.T
    assert (np.abs(found - ampere) < 2.5 * error).all()
    assert (error < np.array([0.05, 0.05, 0.05, 0.15, 0.15]) * ampere).all()
    assert ("gains are known to" in output) == ((error / found).max() > ROUGH)


def test_a_third_recording_leaves_the_errors_of_gains_what_they_are(tmp_path, capsys):
    """Halves of the data have parts of each bag: the load is in one of three alone."""
    ampere = np.array([8.0, 9.0, 4.0, 0.5, 0.5])
    same = {"gain": ampere, "truth": planted(7, error=0.15)}
    bags = [recorded(tmp_path / f"empty_{seed}", seed, **same) for seed in (8, 10)]
    bags.insert(1, recorded(tmp_path / "loaded", 9, Payload(2.8, (0.05, 0.03, 0.08)), **same))
    main([
        *("identify", *map(str, bags), "--urdf", str(URDF), "--payload", "loaded=2.8"),
        *("-o", str(tmp_path / "out"), "--no-compile", "--jobs", "1"),
    ])  # fmt: skip
    [line] = [each for each in capsys.readouterr().out.splitlines() if each.startswith("drive gains")]
    parts = np.array([part.split()[1::2] for part in line.partition(": ")[2].split(", ")], float)
    found, error = parts.T
    assert (np.abs(found - ampere) < 2.5 * error).all()
    assert (error < np.array([0.05, 0.05, 0.05, 0.15, 0.15]) * ampere).all()


def test_gains_that_run_away_are_refused(tmp_path, capsys, monkeypatch):
    """A gain that is still at the search's bound in the last pass has no error that could be stated."""
    monkeypatch.setattr(fitting, "REACH", 1e-3)
    ampere = np.array([8.0, 9.0, 4.0, 0.5, 0.5])
    same = {"gain": ampere, "truth": planted(7, error=0.1)}
    empty = recorded(tmp_path / "empty", 8, **same)
    loaded = recorded(tmp_path / "loaded", 9, Payload(2.0, (0.05, 0.0, 0.05)), **same)
    code = main([
        *("identify", str(empty), str(loaded), "--urdf", str(URDF), "--payload", "loaded=2.0"),
        *("-o", str(tmp_path / "out"), "--no-compile", "--jobs", "1"),
    ])  # fmt: skip
    assert code == command.DO_NOT_USE
    assert "are not determined by this load" in capsys.readouterr().out
    assert json.loads((tmp_path / "out" / "identified.json").read_text(), parse_constant=pytest.fail)


def test_a_load_of_no_bag_is_told_before_bags_are_read(tmp_path, capsys):
    """By the bag's name as it is printed; the folder has no bag in it, which reading would tell."""
    (tmp_path / "loaded").mkdir()
    words = ["identify", str(tmp_path / "loaded"), "--urdf", str(URDF), "-o", str(tmp_path / "out")]
    assert main([*words, "--payload", "laoded=2.0"]) == 2
    assert "--payload 'laoded=2.0': give BAG=MASS" in (said := capsys.readouterr().err)
    assert f"the bags are {tmp_path / 'loaded'}" in said
    assert main([*words, "--holdout", "2"]) == 2
    assert "--holdout '2'" in capsys.readouterr().err
