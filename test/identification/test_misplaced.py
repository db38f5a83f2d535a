"""A zero that is off, a tilted base, a wrong scale and a drift are told with their sizes, nothing else is."""

import json
import re

import numpy as np
import pytest
from planted_arm import JOINTS, URDF, motion, planted, write

from kane_dynamics_ros.cli.main import main


def identified(tmp_path, zeros=(0.0,) * 5, tilt=(0.0,) * 3, scale=(1.0,) * 5, drift=(0.0,) * 5, words=()):
    """The record of an arm whose joints stand at ``zeros`` [deg] where they read 0, on a base ``tilt`` [deg].

    Efforts are recorded ``scale`` times as large, and grow by ``drift`` [N m] in its minute. Other
    bodies, friction, rotors than the URDF's; noise.
    """
    truth = planted(3, error=0.1)
    gravity = truth.arm.gravity.linear
    x, y, z = np.radians(tilt)
    truth.arm.gravity.linear = gravity - np.cross([x, y, z], gravity)
    q, qd, qdd = motion(60.0, 250.0, 3)
    tau = truth.effort(q, qd, qdd)
    noise = 0.01 * np.sqrt((tau**2).mean(axis=0)) * np.random.default_rng(0).normal(size=tau.shape)
    tau = scale * (tau + noise) + np.outer(np.linspace(0.0, 1.0, len(tau)), drift)
    bag = write(tmp_path / "bag", q - np.radians(zeros), None, tau, 250.0)
    output = tmp_path / "out"
    main(["identify", str(bag), "--urdf", str(URDF), "-o", str(output), "--no-compile", *words])
    return json.loads((output / "identified.json").read_text())


def test_a_joints_zero_that_is_off_is_told_with_its_angle(tmp_path):
    angle = 3.0
    data = identified(tmp_path, zeros=(0.0, angle, 0.0, 0.0, 0.0))
    found = data["misplaced"]
    assert (found["what"], found["joint"]) == ("zero", JOINTS[1])
    assert found["error"] < 0.1 * np.radians(abs(angle))
    assert found["value"] == pytest.approx([np.radians(angle)], abs=3 * found["error"])
    sentence = data["verdict"]["sentence"]
    assert f"the zero of {JOINTS[1]} were off: at 0 it stands at +" in sentence


def test_a_tilted_base_is_told_with_the_gravity_that_takes_it_out(tmp_path):
    data = identified(tmp_path, tilt=(2.0, -1.0, 0.0))
    found = data["misplaced"]
    assert found["joint"] is None
    assert np.degrees(found["value"]) == pytest.approx([2.0, -1.0, 0.0], abs=3 * np.degrees(found["error"]))
    gravity = re.search(r"--gravity (\S+) takes", data["verdict"]["sentence"])[1]
    again = identified(tmp_path, tilt=(2.0, -1.0, 0.0), words=["--gravity", gravity])
    assert again["misplaced"] is None
    left, before = (each["residual"]["held_out"]["relative"]["identified"] for each in (again, data))
    assert left < 0.5 * before


def test_of_what_no_effort_shows_nothing_is_told(tmp_path):
    """The first joint turns about the vertical; beyond the last one is nothing but its own body."""
    data = identified(tmp_path, zeros=(5.0, 0.0, 0.0, 0.0, 5.0))
    assert data["misplaced"] is None
    assert "description" not in data["verdict"]["sentence"]


@pytest.mark.parametrize("factor", [0.6, 0.8, 1.5])
def test_a_wrong_scale_of_one_joints_efforts_is_told_with_the_option_that_corrects_it(tmp_path, factor):
    scale = np.where(np.arange(5) == 1, factor, 1.0)
    data = identified(tmp_path, scale=scale)
    found = data["misplaced"]
    assert (found["what"], found["joint"]) == ("scale", JOINTS[1])
    assert found["error"] < 0.1 / factor
    assert found["value"] == pytest.approx([1.0 / factor], abs=3 * found["error"])
    [doubt] = [each for each in data["verdict"]["doubts"] if each["code"] == "scale"]
    given = re.search(r"--effort-scale (\S+) \(", doubt["sentence"])[1]
    again = identified(tmp_path, scale=scale, words=["--effort-scale", given])
    assert (again["misplaced"], again["verdict"]["doubts"]) == (None, [])
    left, before = (each["residual"]["held_out"]["relative"]["identified"] for each in (again, data))
    assert left < 0.5 * before


@pytest.mark.parametrize("joint", [1, 3])
def test_a_drift_of_efforts_is_told_as_such(tmp_path, joint):
    """Gravity changes the second joint's effort as slowly: a tilted base would explain some of it."""
    drift = np.where(np.arange(5) == joint, (0.0, 12.0, 0.0, 2.0, 0.0), 0.0)
    data = identified(tmp_path, drift=drift)
    found = data["misplaced"]
    assert (found["what"], found["joint"]) == ("drift", JOINTS[joint])
    assert found["value"] == pytest.approx([drift[joint]], abs=3 * found["error"])
    assert found["error"] < 0.2 * drift[joint]
    assert f"efforts of {JOINTS[joint]} drifted by +" in data["verdict"]["sentence"]


def test_one_scale_of_all_efforts_is_no_scale_of_one_joint(tmp_path):
    data = identified(tmp_path, scale=(1.5,) * 5)
    assert data["misplaced"] is None
    assert "scale" not in {each["code"] for each in data["verdict"]["doubts"]}
