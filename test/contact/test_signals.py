"""Sensors that fail, alone and on top of a push: told as what they do, and neither a contact nor its end."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pushed_arm import LIMITS, NAMES, Push, pushed
from replay_bags import Record, record, write_bag

from kane_dynamics_ros.cli.main import main

RATE, NOISE = 125.0, 0.002  # [Hz], and of the limits: the noise that all efforts have
PUSHES = (Push(7.3, 8.0, (0.0, 60.0, 25.0)), Push(15.1, 15.9, (-70.0, 0.0, -30.0)))
FAILS = ((10.0, 0), (15.2, 2))  # when [s], and which joint's sensor: the second one during a push
LASTS = {"spike": 0.0, "dropout": 0.2}  # [s]
FAULTS = ["effort noise", "position noise", "velocity noise", "spike", "dropout", "frozen"]


def failing(record: Record, fault: str) -> Record:
    """The record with sensors that fail twice for half a second, or as ``LASTS`` says."""
    random = np.random.default_rng(3)
    q, qd, tau = (values.copy() for values in (record.position, record.velocity, record.effort))
    for begin, j in FAILS:
        first = round(begin * RATE)
        rows = slice(first, first + round(LASTS.get(fault, 0.5) * RATE) + 1)
        noise = random.standard_normal(len(tau[rows]))
        if fault == "effort noise":
            tau[rows, j] += 20.0 * NOISE * LIMITS[j] * noise
        elif fault == "position noise":
            q[rows, j] += 0.003 * noise
        elif fault == "velocity noise":
            qd[rows, j] += 0.05 * noise
        elif fault == "spike":
            tau[rows, j] += 0.8 * LIMITS[j]
        else:
            tau[rows, j] = 0.0 if fault == "dropout" else tau[first, j]
    return replace(record, position=q, velocity=None if fault == "position noise" else qd, effort=tau)


Observe = Callable[[str, Record], dict[str, Any]]


@pytest.fixture(scope="module")
def observe(tmp_path_factory: pytest.TempPathFactory) -> Observe:
    """What is found in a record, which has a name of its own."""
    folder, known = tmp_path_factory.mktemp("signals"), {}

    def found(name: str, record: Record) -> dict[str, Any]:
        if name not in known:
            bag, report = write_bag(folder / name, record), folder / f"{name} report"
            assert main(["observe", str(bag), "--model", "manipulator_5dof", "--report", str(report)]) == 0
            known[name] = json.loads((report / "contacts.json").read_text())
            known[name]["page"] = (report / "contacts.html").read_text()
        return known[name]

    return found


@pytest.mark.parametrize("still", [False, True], ids=["moving", "standing"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_failing_sensor_is_told_and_both_pushes_are_found(
    observe: Observe, fault: str, still: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    record = pushed(24.0, RATE, PUSHES, still=still)
    whole = observe(f"whole {still}", record)
    assert whole["faults"] == []
    capsys.readouterr()
    found = observe(f"{fault} {still}", failing(record, fault))
    lines = capsys.readouterr().out.splitlines()
    contacts, told = found["contacts"], found["faults"]
    assert len(contacts) == 2
    for contact, push in zip(contacts, PUSHES, strict=True):
        assert contact["start"] == pytest.approx(push.start, abs=0.3)
        assert contact["end"] == pytest.approx(push.end, abs=0.3)
    for name in ("thresholds", "pushes"):  # elsewhere neither is told from larger efforts on
        np.testing.assert_allclose(found[name], whole[name], rtol=0.35)
    signal = fault.split()[0] if "noise" in fault else "effort"
    kind = "noisy" if "noise" in fault else "spike" if fault == "spike" else "frozen"
    assert [(each["signal"], each["kind"], each["joint"]) for each in told] == [
        (signal, kind, NAMES[j]) for _, j in FAILS
    ]
    for each, (begin, _) in zip(told, FAILS, strict=True):
        assert each["start"] == pytest.approx(begin, abs=0.11)
        assert each["end"] == pytest.approx(begin + LASTS.get(fault, 0.5), abs=0.11)
    if fault == "effort noise":
        assert [each["ratio"] for each in told] == pytest.approx([20.0, 20.0], rel=0.25)
    texts = [line.partition("warning: ")[2] for line in lines if f"warning: {signal} of '" in line]
    assert len(texts) == 2
    assert all(text.split("'")[2] in found["page"] for text in texts)


@pytest.mark.parametrize("missing", [False, True], ids=["whole", "one effort missing"])
def test_an_arm_that_rests_without_noise_has_no_frozen_efforts(observe: Observe, missing: bool) -> None:
    """As simulated without noise: all its efforts stand still together."""
    record = pushed(12.0, RATE)
    for values in (record.position, record.velocity, record.effort):
        values[500:900] = values[500]
    if missing:
        record.effort[700, 1] = np.nan
    assert observe(f"rests {missing}", record)["faults"] == []


def test_a_recording_in_which_no_time_passes_is_refused(tmp_path, capsys):
    values = np.random.default_rng(0).standard_normal((200, len(NAMES)))
    bag = write_bag(tmp_path / "bag", record(values, values, values, 1e12, NAMES))
    assert main(["observe", str(bag), "--model", "manipulator_5dof"]) == 2
    assert "without a gap" in capsys.readouterr().err
