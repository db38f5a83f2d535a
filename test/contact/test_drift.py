"""Friction that falls as an arm warms up is no contact, and hides none."""

import json
from pathlib import Path

import numpy as np
import pytest
from pushed_arm import RUB, Push, pushed
from replay_bags import motion, write_bag

from kane_dynamics_ros.cli.main import main

RATE, SECONDS = 50.0, 120.0
PUSHES = (Push(20.0, 20.8, (-50.0, 30.0, -30.0)), Push(60.0, 70.0, (0.0, 60.0, 25.0)))


@pytest.mark.parametrize("pushes", [(), PUSHES], ids=["free", "pushed"])
def test_an_arm_that_warms_up_has_no_contacts_but_pushes(tmp_path: Path, pushes: tuple[Push, ...]) -> None:
    """Half more in the first minute, a fifth over five; a push of ten seconds is no drift."""
    arm = pushed(SECONDS, RATE, pushes)
    time, qd = np.arange(len(arm.effort))[:, None] / RATE, motion(SECONDS, RATE, 5)[1]
    friction = RUB * (np.tanh(qd / 0.05) * (1.0 + 0.5 * np.exp(-np.square(qd / 0.15))) + 0.4 * qd)
    arm.effort[:] += friction * (0.5 * np.exp(-time / 20.0) + 0.25 * np.exp(-time / 100.0))
    bag, report = write_bag(tmp_path / "bag", arm), tmp_path / "report"
    assert main(["observe", str(bag), "--model", "manipulator_5dof", "--report", str(report)]) == 0
    found = json.loads((report / "contacts.json").read_text())["contacts"]
    assert [one["start"] for one in found] == pytest.approx([push.start for push in pushes], abs=0.3)
    assert [one["end"] for one in found] == pytest.approx([push.end for push in pushes], abs=0.3)
