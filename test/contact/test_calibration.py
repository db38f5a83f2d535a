"""Thresholds are calibrated on what the node's observer compares with, also after a gap."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from pushed_arm import NAMES, pushed
from replay_bags import write_bag

from kane_dynamics_ros.contact.calibration import Calibration, observed
from kane_dynamics_ros.contact.report import calibration_lines
from kane_dynamics_ros.control.observer import MomentumObserver, ObserverSettings, Thresholds
from kane_dynamics_ros.replay.recording import read_recording
from kane_dynamics_ros.runtime import load_model

MODEL = load_model("manipulator_5dof", backend="python")
THRESHOLDS = Thresholds(*np.random.default_rng(0).uniform(1.0, 2.0, (4, 5)))


def test_calibrated_parts_make_the_threshold_that_the_node_compares_with(tmp_path: Path) -> None:
    bag = write_bag(tmp_path / "bag", pushed(4.0, 100.0))
    states = read_recording(bag, NAMES).states
    stamps = states.stamps.copy()
    stamps[200:] += 1_500_000_000  # a gap in the middle of the motion
    states = replace(states, stamps=stamps)
    settings = ObserverSettings(MODEL, MODEL, np.full(5, 30.0), THRESHOLDS)
    run, _ = observed(states, settings)
    made = (
        THRESHOLDS.constant
        + THRESHOLDS.rest * run.slow
        + THRESHOLDS.speed * run.speed
        + THRESHOLDS.acceleration * run.acceleration
    )
    node, expected = MomentumObserver(settings), []
    for i, time in enumerate((1e-9 * (states.stamps - states.stamps[0])).tolist()):
        if node.update(states.position[i], states.velocity[i], states.effort[i], time):
            expected.append(node.threshold)
    np.testing.assert_allclose(made, expected, rtol=1e-12)
    assert len(made) == len(states.stamps) - 2  # neither the first state nor the one after the gap
    assert np.ptp(run.speed[200:], axis=0).min() > 0.0


def test_thresholds_above_the_effort_limit_are_told() -> None:
    """Half a minute cannot tell what comes once in ten hours: what is extrapolated may never be exceeded."""
    limits = np.array([joint.effort for joint in MODEL.joints])
    parts = [np.array([0.9, 0.01, 0.01, 0.01, 0.01]) * limits, *np.zeros((2, 5)), 0.2 * limits]
    calibration = Calibration(Thresholds(*parts), ((0.5, 2.0),) * 5, 0.1, 0.01, {})
    warnings = [line for line in calibration_lines(calibration, MODEL) if "warning" in line]
    assert len(warnings) == 1
    assert f"joint {NAMES[0]!r}: at rest that is above its effort limit of {limits[0]:.3g} N m" in warnings[0]
    assert "10 h" in warnings[0]
