"""Pushes that a level hides: as changes that come and go, beside stiction and errors of the model."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pushed_arm import LIMITS, NAMES, Push, pushed
from replay_bags import URDF, Record, write_bag

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.contact.changes import Window, bridged, contrast
from kane_dynamics_ros.contact.signals import silent_joints

RATE = 100.0


def found_in(record: Record, folder: Path) -> list[dict[str, Any]]:
    """The contacts that the command reports."""
    folder.mkdir()
    words = ["--model", "manipulator_5dof", "--report", str(folder / "report")]
    assert main(["observe", str(write_bag(folder / "bag", record)), *words]) == 0
    contacts: list[dict[str, Any]] = json.loads((folder / "report" / "contacts.json").read_text())["contacts"]
    return contacts


def test_a_contrast_is_the_mean_less_the_mean_beside() -> None:
    """Against sums written out; a line has none, and a push beside counts half, with the other sign."""
    values = np.random.default_rng(0).normal(size=(200, 3))
    window = Window(0.2, 0.05, 0.1)  # 10 samples to either side, then 5 left out and 10 more
    found = contrast(values, RATE, window)
    for i in (25, 90, 174):
        beside = 0.5 * (values[i - 25 : i - 15].mean(axis=0) + values[i + 16 : i + 26].mean(axis=0))
        np.testing.assert_allclose(found[i], values[i - 10 : i + 11].mean(axis=0) - beside, atol=1e-12)
    line = np.linspace(0.0, 7.0, 200)[:, None]
    np.testing.assert_allclose(contrast(line, RATE, window)[25:175], 0.0, atol=1e-12)
    push = np.zeros((200, 1))
    push[90:111] = 4.0
    seen = contrast(push, RATE, window)[:, 0]
    assert seen.max() == pytest.approx(4.0)
    assert seen.argmax() == 100
    assert seen.min() == pytest.approx(-2.0)


KINDS = {
    "keeps": lambda since: np.ones_like(since),
    "lets go in a second": lambda since: np.exp(-since),
    "creeps": lambda since: np.maximum(1.0 - since / 4.0, 0.0),
}


def sticking(kind: str, size: float) -> tuple[Record, tuple[float, ...]]:
    """A standing arm, pushed at its first joint alone, which keeps a third of each push as ``kind`` says.

    And when the pushes begin; each lasts 0.8 s.
    """
    starts, signs = (1.5, 4.0, 7.5, 11.0, 14.0), (1.0, 1.0, -1.0, 1.0, -1.0)
    pushes = tuple(
        Push(at, at + 0.8, (sign * size, 0.0, 0.0, 0.0, 0.0)) for at, sign in zip(starts, signs, strict=True)
    )
    arm, free = (pushed(18.0, RATE, some, still=True) for some in (pushes, ()))
    time = np.arange(len(arm.effort)) / RATE
    quiet = 0.2 * (free.effort - free.effort.mean(axis=0))
    arm.effort[:] += quiet - (free.effort - free.effort.mean(axis=0))
    for at, sign in zip(starts, signs, strict=True):
        since = np.maximum(time - at - 0.8, 0.0)
        left = np.where(time > at + 0.8, KINDS[kind](since), 0.0) * np.minimum(since / 0.1, 1.0)
        arm.effort[:, 0] += sign * size / 3.0 * left
    return arm, starts


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("size", [12.0, 25.0, 60.0])
def test_pushes_of_one_joint_are_found_beside_the_stiction_that_they_leave(
    tmp_path: Path, kind: str, size: float
) -> None:
    """From 5 % of the joint's limit of 250 N m; the levels between the pushes differ by as much."""
    record, starts = sticking(kind, size)
    found = found_in(record, tmp_path / "pushed")
    assert [contact["start"] for contact in found] == pytest.approx(starts, abs=0.3)
    assert [contact["end"] - contact["start"] for contact in found] == pytest.approx([0.8] * 5, abs=0.3)
    assert {contact["joints"][0] for contact in found} == {NAMES[0]}


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_found_in_a_standing_arm_whose_stiction_lets_go(tmp_path: Path, seed: int) -> None:
    """As from a motion before the recording: 8 % of each limit over some seconds, and drift."""
    random = np.random.default_rng(seed)
    arm = pushed(20.0, RATE, seed=seed, still=True)
    time = np.arange(len(arm.effort))[:, None] / RATE
    arm.effort[:] += LIMITS * random.uniform(-0.08, 0.08, 5) * np.exp(-time / random.uniform(0.5, 5.0, 5))
    arm.effort[:] += LIMITS * 0.02 * np.cumsum(random.normal(size=arm.effort.shape), axis=0) * 0.01
    assert found_in(arm, tmp_path / "free") == []


@pytest.mark.parametrize("since", [10.0, 15.0])
def test_a_load_that_comes_and_stays_is_no_contact_of_the_time_before(since: float, tmp_path: Path) -> None:
    loaded = pushed(20.0, RATE, (Push(since, 30.0, (60.0, 30.0, 0.0, 0.0, 0.0)),), still=True)
    assert found_in(loaded, tmp_path / "loaded") == []


def test_many_pushes_of_a_standing_arm_are_told_apart_in_a_few_sweeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is found, none spans the pauses between them, and the sweeps do not grow with their number."""
    random = np.random.default_rng(5)
    arm = pushed(200.0, 50.0, still=True)
    time = np.arange(len(arm.effort)) / 50.0
    middles = np.cumsum(random.uniform(2.5, 7.0, 40))
    middles = middles[middles < 195.0]
    for at in middles:
        height = random.choice([-1, 1]) * random.uniform(10.0, 30.0)
        half = random.uniform(0.3, 0.8)
        rises = np.clip((half - np.abs(time - at)) / 0.1, 0.0, 1.0)
        arm.effort[:, random.integers(3)] -= height * rises
    sweeps = []

    def counted(*words: Any) -> Any:
        sweeps.append(words)
        return bridged(*words)

    monkeypatch.setattr("kane_dynamics_ros.contact.changes.bridged", counted)
    found = found_in(arm, tmp_path / "many")
    assert len(found) == len(middles) > 35
    assert all(each["start"] < at < each["end"] for each, at in zip(found, middles, strict=True))
    assert max(each["end"] - each["start"] for each in found) < 2.0
    assert len(sweeps) < len(middles)


def test_a_hand_that_leans_on_a_standing_arm_for_a_quarter_of_the_time_is_found(tmp_path: Path) -> None:
    leant = pushed(40.0, RATE, (Push(15.0, 25.0, (0.0, 40.0, 0.0)),), still=True)
    found = found_in(leant, tmp_path / "leant")
    assert [(one["start"], one["end"]) for one in found] == [pytest.approx((15.0, 25.0), abs=0.2)]


def test_a_weak_push_at_the_tip_is_found_in_all_joints_together(tmp_path: Path) -> None:
    """Of an arm that moves; in no joint its level stands out."""
    starts = (4.0, 9.0, 14.0, 19.0)
    forces = np.random.default_rng(5).normal(size=(4, 3))
    forces *= 18.0 / np.linalg.norm(forces, axis=1, keepdims=True)
    pushes = tuple(Push(at, at + 1.4, tuple(each)) for at, each in zip(starts, forces.tolist(), strict=True))
    found = found_in(pushed(24.0, RATE, pushes), tmp_path / "pushed")
    assert [contact["start"] for contact in found] == pytest.approx(starts, abs=0.3)


def without(record: Record, start: float, end: float) -> Record:
    """The record with a gap from ``start`` to ``end`` [s]."""
    time = np.arange(len(record.stamps)) / RATE
    kept = (time < start) | (time >= end)
    columns = {name: getattr(record, name)[kept] for name in vars(record) if name != "names"}
    return replace(record, **columns)


def test_a_push_that_lasts_over_a_gap_ends_with_what_was_recorded(tmp_path: Path) -> None:
    """It begins with 60 N m, goes on with 45, and still does so after the gap."""
    pushes = tuple(Push(9.0, end, (size, 0.0, 0.0, 0.0, 0.0)) for end, size in ((10.0, 15.0), (15.0, 45.0)))
    arm = pushed(22.0, RATE, pushes, still=True)
    found = found_in(without(arm, 11.0, 14.0), tmp_path / "gap")
    assert found[0]["start"] == pytest.approx(9.0, abs=0.3)
    assert 9.5 < found[0]["end"] < 11.0


@pytest.mark.parametrize(("seconds", "still"), [(1.6, True), (3.0, False), (4.0, False)])
def test_a_recording_too_short_for_pushes_says_so(
    tmp_path: Path, seconds: float, still: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Instead of a push of infinite size; from which size on a longer one tells them is a line of its own."""
    for name, length in (("short", seconds), ("long", 12.0)):
        found_in(pushed(length, RATE, still=still), tmp_path / name)
        told = capsys.readouterr().out
        page = (tmp_path / name / "report" / "contacts.html").read_text()
        data = json.loads((tmp_path / name / "report" / "contacts.json").read_text())
        assert "inf " not in told
        assert ">inf<" not in page
        short = name == "short"
        assert ("not looked for" in told, "not looked for" in page) == (short, short)
        own = [
            line for line in told.splitlines() if line.strip().startswith("a push felt by this joint alone")
        ]
        assert len(own) == (0 if short else 5)
        assert data["pushes"] == [None] * 5 or not short


def test_a_standing_joint_without_a_limit_is_not_told_a_share_of_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its threshold is a share of its largest effort."""
    text = re.sub(r'(<limit [^>]*)effort="120[^"]*"', r"\1", URDF.read_text())
    assert text != URDF.read_text()
    (tmp_path / "arm.urdf").write_text(text)
    module, bag = (
        tmp_path / "generated" / "arm.py",
        write_bag(tmp_path / "bag", pushed(12.0, RATE, still=True)),
    )
    assert (
        main(
            [
                "generate",
                str(tmp_path / "arm.urdf"),
                "--name",
                "arm",
                "--no-compile",
                "-o",
                str(module.parent),
            ]
        )
        == 0
    )
    capsys.readouterr()
    assert main(["observe", str(bag), "--model", str(module)]) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if "of a standing arm" in line]
    assert ["% of its largest effort" in line for line in told] == [name == NAMES[2] for name in NAMES]
    assert all(f"% of its effort limit of {LIMITS[j]:g} N m" in told[j] for j in (0, 1, 3, 4))


def test_efforts_that_are_missing_are_no_dead_zone() -> None:
    """Of a driver that publishes the joints in turns; nor is a joint without any."""
    effort = np.random.default_rng(0).normal(size=(300, 4))
    effort[np.arange(300) % 3 > 0, 0] = np.nan
    effort[:, 1] = np.nan
    effort[np.arange(300) % 3 > 0, 2] = 0.0
    assert silent_joints(effort) == [2]


def test_an_effort_within_a_dead_zone_tells_no_contact_and_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its efforts are zero but for a few seconds."""
    arm = pushed(24.0, RATE)
    time = np.arange(len(arm.effort)) / RATE
    shown = ((time > 15.0) & (time < 17.0)) | ((time > 20.0) & (time < 22.0))
    arm.effort[:, 3] = np.where(shown, 6.0 * np.abs(np.sin(40.0 * time)), 0.0)
    assert found_in(arm, tmp_path / "free") == []
    [warning] = [line for line in capsys.readouterr().out.splitlines() if "dead zone" in line]
    assert NAMES[3] in warning
