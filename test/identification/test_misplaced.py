"""A zero that is off and a tilted base are told with their angles, and nothing is where nothing is off."""

import json
import re

import numpy as np
import pytest
from planted_arm import JOINTS, URDF, motion, planted, write

from kane_dynamics_ros.cli.main import main


def identified(tmp_path, zeros=(0.0,) * 5, tilt=(0.0, 0.0, 0.0), words=()):
    """The record of an arm whose joints stand at ``zeros`` [deg] where they read 0, on a base ``tilt`` [deg].

    Other bodies, friction and rotors than the URDF's, noise of 1 %.
    """
    truth = planted(3, error=0.1)
    gravity = truth.arm.gravity.linear
    x, y, z = np.radians(tilt)
    truth.arm.gravity.linear = gravity - np.cross([x, y, z], gravity)
    q, qd, qdd = motion(60.0, 250.0, 3)
    tau = truth.effort(q, qd, qdd)
    noise = 0.01 * np.sqrt((tau**2).mean(axis=0)) * np.random.default_rng(0).normal(size=tau.shape)
    bag = write(tmp_path / "bag", q - np.radians(zeros), None, tau + noise, 250.0)
    output = tmp_path / "out"
    main(["identify", str(bag), "--urdf", str(URDF), "-o", str(output), "--no-compile", *words])
    return json.loads((output / "identified.json").read_text())


def test_a_joints_zero_that_is_off_is_told_with_its_angle(tmp_path):
    angle = 3.0
    data = identified(tmp_path, zeros=(0.0, angle, 0.0, 0.0, 0.0))
    found = data["misplaced"]
    assert found["joint"] == JOINTS[1]
    assert found["error"] < 0.1 * np.radians(abs(angle))
    assert found["angle"] == pytest.approx([np.radians(angle)], abs=3 * found["error"])
    sentence = data["verdict"]["sentence"]
    assert f"the zero of {JOINTS[1]} were off: at 0 it stands at +" in sentence


def test_a_tilted_base_is_told_with_the_gravity_that_takes_it_out(tmp_path):
    data = identified(tmp_path, tilt=(2.0, -1.0, 0.0))
    found = data["misplaced"]
    assert found["joint"] is None
    assert np.degrees(found["angle"]) == pytest.approx([2.0, -1.0, 0.0], abs=3 * np.degrees(found["error"]))
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
