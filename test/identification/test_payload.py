"""A body at the tip: found from one recording of a known arm, and what it tells of the drives' gains."""

import numpy as np
import pytest
import yaml
from planted_arm import JOINTS, MODEL, URDF, motion, planted, write

from kane_dynamics_ros.cli import identify as command
from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.runtime import Payload

MASS, CENTRE, INERTIA = 2.3, (0.03, -0.02, 0.07), (0.004, 0.001, 0.0, 0.006, 0.0, 0.005)
LOAD = Payload(MASS, CENTRE, INERTIA)


@pytest.fixture(autouse=True)
def shipped_model(monkeypatch):
    monkeypatch.setattr(command, "nominal_model", lambda chain, gravity, folder: MODEL)


def recorded(folder, seed, load=None, gain=1.0, truth=None):
    """The shipped arm, or another, with friction, a load, and 1 % of noise; efforts over ``gain``."""
    q, qd, qdd = motion(30.0, 250.0, seed)
    model = MODEL if load is None else MODEL.with_parameters(payload=load)
    tau = model.inverse_dynamics(q, qd, qdd)
    if truth is not None:
        tau += truth.effort(q, qd, qdd) - MODEL.inverse_dynamics(q, qd, qdd)
    else:
        tau += 0.4 * np.tanh(qd / 0.01) + 0.8 * qd
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
