"""Every fault, alone: what it changes and that it ends."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kane_dynamics_ros.errors import UnknownJointError
from kane_dynamics_ros.simulation.engine import SimulationError
from kane_dynamics_ros.simulation.faults import Fault, Faults, parse_fault
from kane_dynamics_ros.simulation.hardware import HardwareOptions, SimulatedHardware
from kane_dynamics_ros.simulation.plant import Plant
from kane_dynamics_ros.simulation.sensors import Report, Reporter, ReportOptions

Arm = Callable[..., Any]
KINDS = ("freeze", "dropout", "nan", "stale", "lost", "lock", "blackout", "contact")


def reports(uncoupled_arm: Arm, fault: str) -> list[Report | None]:
    """Reports at 0, 10, ... 90 ms of two joints that accelerate, under one fault."""
    options = HardwareOptions(faults=(parse_fault(fault),))
    hardware = SimulatedHardware(Plant(uncoupled_arm([1.0, 1.0])), options)
    reporter = Reporter(hardware.joint_names, ReportOptions(rate=100.0), 1e-3)
    found = []
    for _ in range(10):
        hardware.write(np.ones(2))
        found.append(reporter.compose(hardware.read(), hardware.faults))
        for _ in range(10):
            hardware.step()
    return found


def positions(found: list[Report | None]) -> list[float]:
    return [math.nan if report is None else report.position[0] for report in found]


FREE = [0.5 * (0.01 * k) ** 2 for k in range(10)]  # [rad] 1 rad/s^2 from rest


def test_freeze_repeats_the_last_values_and_ends(uncoupled_arm: Arm) -> None:
    found = positions(reports(uncoupled_arm, "freeze@0.025..0.055"))
    np.testing.assert_allclose(found, [*FREE[:3], FREE[2], FREE[2], FREE[2], *FREE[6:]], atol=1e-15)


def test_freeze_of_one_joint_leaves_the_other(uncoupled_arm: Arm) -> None:
    last = reports(uncoupled_arm, "freeze:j1@0.025..")[-1]
    assert last is not None
    np.testing.assert_allclose(last.position, [FREE[9], FREE[2]], atol=1e-15)
    np.testing.assert_allclose(last.velocity, [0.09, 0.02], atol=1e-15)


def test_dropout_sends_nothing_and_ends(uncoupled_arm: Arm) -> None:
    found = reports(uncoupled_arm, "dropout@0.025..0.055")
    assert [report is None for report in found] == [False] * 3 + [True] * 3 + [False] * 4


def test_nan_reaches_every_field_of_the_joint(uncoupled_arm: Arm) -> None:
    found = reports(uncoupled_arm, "nan:j0@0.025..0.055")
    assert np.isnan(positions(found)).tolist() == [False] * 3 + [True] * 3 + [False] * 4
    broken = found[4]
    assert broken is not None
    for values in (broken.position, broken.velocity, broken.effort):
        assert np.isnan(values).tolist() == [True, False]


def test_stale_stamps_stay_while_values_move(uncoupled_arm: Arm) -> None:
    found = reports(uncoupled_arm, "stale@0.02..0.055")
    assert [report.stale for report in found if report] == [False] * 2 + [True] * 4 + [False] * 4
    np.testing.assert_allclose(positions(found), FREE, atol=1e-15)


def test_a_lost_joint_is_missing_from_every_field(uncoupled_arm: Arm) -> None:
    found = reports(uncoupled_arm, "lost:j0@0.02..0.05")
    names = [report.names for report in found if report]
    assert names == [("j0", "j1")] * 2 + [("j1",)] * 3 + [("j0", "j1")] * 5
    assert found[3] is not None
    assert [len(values) for values in found[3][1:4]] == [1, 1, 1]


def test_a_locked_joint_stops_and_the_other_goes_on(uncoupled_arm: Arm) -> None:
    last = reports(uncoupled_arm, "lock:j0@0.02..")[-1]
    assert last is not None
    np.testing.assert_allclose(last.position, [FREE[2], FREE[9]], atol=1e-15)
    np.testing.assert_allclose(last.velocity, [0.0, 0.09], atol=1e-15)


def test_blackout_keeps_the_last_command(uncoupled_arm: Arm) -> None:
    options = HardwareOptions(faults=(parse_fault("blackout@0.01..0.02"),))
    hardware = SimulatedHardware(Plant(uncoupled_arm([1.0])), options)
    given = []
    for k in range(30):
        hardware.write(np.array([float(k)]))
        hardware.step()
        given.append(hardware.read().effort[0])
    assert given == [float(k) if not 10 <= k < 20 else 9.0 for k in range(30)]


def test_faults_are_switched_by_hand_and_stay_apart_from_the_schedule() -> None:
    faults = Faults(["j0", "j1"], [parse_fault("dropout@1.0..2.0")])
    faults.switch([Fault("lock", "j1")])
    assert faults.update(0.5)
    assert faults.active == (Fault("lock", "j1"),)
    assert not faults.update(0.9)
    assert faults.update(1.0)
    assert faults.find("dropout") is not None
    faults.switch([])
    assert faults.update(1.5)
    assert faults.joints("lock") == []
    assert faults.find("dropout") is not None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("freeze", Fault("freeze")),
        ("nan:j0", Fault("nan", "j0")),
        ("lock:a:b@2..3.5", Fault("lock", "a:b", 2.0, 3.5)),
        ("dropout@0.5..", Fault("dropout", None, 0.5)),
    ],
)
def test_faults_are_read_from_text(text: str, expected: Fault) -> None:
    assert parse_fault(text) == expected


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", ""),
        ("freeze@x..2", ""),
        ("melt", "joint: by kind"),
        ("lock", "joint: required"),
        ("stale:j0", "joint: no"),
        ("freeze@3..2", "START < END"),
    ],
)
def test_a_fault_that_makes_no_sense_is_refused_with_examples_to_copy(text: str, rule: str) -> None:
    with pytest.raises(SimulationError) as caught:
        parse_fault(text)
    said = str(caught.value)
    assert said.startswith(f"simulation option fault: found {text!r}; ")
    assert [kind for kind in KINDS if kind not in said] == []
    assert rule in said
    found = re.search(r", as (\S+), or (contact:.*?);", said)
    assert found is not None
    assert parse_fault(found[1]) == Fault("lock", "JOINT", 2.0, 3.5)
    contact = parse_fault(found[2])
    assert (contact.kind, contact.start, contact.end) == ("contact", 9.0, 10.0)


def test_a_fault_of_an_unknown_joint_is_refused() -> None:
    with pytest.raises(UnknownJointError) as caught:
        Faults(["j0"], [Fault("lock", "j7")])
    assert str(caught.value) == "unknown joint 'j7'; the model's joints are 'j0'"
