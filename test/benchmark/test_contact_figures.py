"""Shortened versions of what ``python -m benchmark.contact`` measures in ten simulated minutes."""

import numpy as np
import pytest

from benchmark.contact import (
    CONDITION,
    demo,
    detection_delay,
    false_alarms,
    force_error,
    random_motion,
    still,
)
from kane_dynamics_ros.runtime import Payload, initial_positions, load_model

MODEL = load_model("manipulator_5dof")
START = initial_positions(MODEL.joints)


@pytest.mark.parametrize("motion", ["demo", "random"])
def test_half_a_minute_of_motion_without_contact_reports_nothing(motion: str) -> None:
    trajectory = demo(START) if motion == "demo" else random_motion(MODEL, 1)
    assert false_alarms(trajectory, 30.0, seed=5) == []


@pytest.mark.parametrize("joint", range(5))
def test_a_push_of_5_percent_of_the_limit_is_reported_within_20_ms(joint: int) -> None:
    """Moving and at rest, where dry friction takes a part of it; never before its onset."""
    for trajectory, sign in ((random_motion(MODEL, 20 + joint), 1.0), (still(START), -1.0)):
        assert 0.0 <= detection_delay(trajectory, joint, 1.0 + 0.3 * joint, sign, seed=joint) <= 0.020


def test_a_force_at_the_tip_is_told_within_5_percent_where_the_posture_tells_it() -> None:
    payload = Payload(1.5, (0.0, 0.05, 0.0), (0.01, 0.0, 0.0, 0.01, 0.0, 0.01))
    found = [
        force_error(random_motion(MODEL, 41 + k), 1.0, 40.0 * np.eye(3)[(k + 1) % 3], 1 + k, payload)
        for k in range(6)
    ]
    told = [each.error for each in found if each.condition < CONDITION]
    assert len(told) >= 2
    assert max(told) < 0.05
