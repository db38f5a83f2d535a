"""``kane_dynamics observe``: pushes found in bags of arms unlike their models, none else, and calibration."""

import json
import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pushed_arm import LIMITS, NAMES, Push, pushed
from replay_bags import effort, motion, pinocchio_arm, record, write_bag
from simulated_arm import recorded

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.cli.observe import read_thresholds
from kane_dynamics_ros.runtime import Payload, load_model
from kane_dynamics_ros.yaml_text import parameter_file

MODEL = "manipulator_5dof"
PUSHES = (Push(7.3, 8.0, (0.0, 60.0, 25.0)), Push(15.1, 15.5, (-70.0, 0.0, -30.0)))


def contacts_in(bag: Path, report: Path, *options: str) -> list[dict[str, Any]]:
    """The contacts that the command reports."""
    assert main(["observe", str(bag), "--model", MODEL, "--report", str(report), *options]) == 0
    found = json.loads((report / "contacts.json").read_text())
    assert found["joints"] == list(NAMES)
    contacts: list[dict[str, Any]] = found["contacts"]
    return contacts


@pytest.mark.parametrize("rate", [30.0, 125.0, 500.0])
def test_both_pushes_are_found_and_none_else_though_the_model_is_wrong(tmp_path: Path, rate: float) -> None:
    """Masses a fifth off, unmodelled gear friction, offsets; without a bag that is free of contact."""
    bag = write_bag(tmp_path / "bag", pushed(24.0, rate, PUSHES))
    found = contacts_in(bag, tmp_path / "report")
    assert len(found) == 2
    for contact, push in zip(found, PUSHES, strict=True):
        slack = 0.3  # [s] of the low-pass, and of a push's slow ends
        assert push.start - slack < contact["start"] < contact["end"] < push.end + slack
        assert push.start < contact["peak"] < push.end
        assert contact["joints"]
    page = (tmp_path / "report" / "contacts.html").read_text()
    assert all(name in page for name in NAMES)
    assert page.count("<svg") == 1


def test_pushes_are_found_though_angles_jump_by_whole_turns(tmp_path: Path) -> None:
    """The first joint turns through pi, which its driver publishes as -pi, and without velocities."""
    record = replace(pushed(24.0, 125.0, PUSHES), velocity=None)
    record.position[:, 0] = (record.position[:, 0] + 2.0 * np.pi) % (2.0 * np.pi) - np.pi
    assert np.abs(np.diff(record.position[:, 0])).max() > 6.0
    found = contacts_in(write_bag(tmp_path / "bag", record), tmp_path / "report")
    assert [push.start < one["peak"] < push.end for one, push in zip(found, PUSHES, strict=True)] == [
        True
    ] * 2


@pytest.mark.parametrize("times", [20.0, 57.3, 0.0])
def test_velocities_that_positions_contradict_are_left_out_or_refused(
    tmp_path: Path, times: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """20 times: stamps may run too slow, and then every acceleration is wrong; others are a unit, or none."""
    arm = pushed(24.0, 125.0, PUSHES)
    bag = write_bag(tmp_path / "bag", replace(arm, velocity=times * arm.velocity))
    if times == 20.0:
        assert main(["observe", str(bag), "--model", MODEL]) == 2
        output, error = capsys.readouterr()
        assert (output, "20 times" in error) == ("", True)
        return
    found = contacts_in(bag, tmp_path / "report")
    assert [push.start < one["peak"] < push.end for one, push in zip(found, PUSHES, strict=True)] == [
        True
    ] * 2
    [warning] = [line for line in capsys.readouterr().out.splitlines() if "contradicts the position" in line]
    assert all(name in warning for name in NAMES)


def test_calibration_says_which_threshold_is_far_larger_than_usual(tmp_path: Path, capsys: Any) -> None:
    """Contact that the user forgot: a joint pushed for a tenth of the time with four fifths of its limit."""
    push = Push(10.0, 12.4, (0.0, 0.0, 0.0, 12.0, 0.0))
    words = ["--model", MODEL, "--calibrate", "-o", str(tmp_path / "thresholds.yaml")]
    for pushes, expected in (((), 0), ((push,), 1)):
        bag = write_bag(tmp_path / f"bag_{expected}", pushed(24.0, 100.0, pushes))
        assert main(["observe", str(bag), *words]) == 0
        warned = [line for line in capsys.readouterr().out.splitlines() if "warning" in line]
        assert len(warned) == expected
        assert all("'beta_4'" in line for line in warned)


def test_page_of_contacts_shows_names_as_text(tmp_path: Path) -> None:
    bag = write_bag(tmp_path / "<script>alert(1)</script>" / "bag", pushed(24.0, 125.0))
    contacts_in(bag, tmp_path / "report")
    page = (tmp_path / "report" / "contacts.html").read_text()
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(1)") >= 1


def test_long_pushes_of_an_arm_that_stands_still_are_found(tmp_path: Path) -> None:
    """A quarter of the recording is contact, and nothing moves that could tell the model's errors."""
    pushes = (Push(5.0, 7.5, (0.0, 40.0, 25.0)), Push(12.0, 14.5, (-50.0, 0.0, -30.0)))
    bag = write_bag(tmp_path / "bag", pushed(20.0, 100.0, pushes, still=True))
    found = contacts_in(bag, tmp_path / "report")
    assert len(found) == 2
    for contact, push in zip(found, pushes, strict=True):
        assert push.start - 0.3 < contact["start"] < push.start + 0.3
        assert push.end - 0.3 < contact["end"] < push.end + 0.3


def test_a_load_that_stays_on_an_arm_which_stops_is_one_contact_to_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All rest is under load: what may be expected at rest must not be learnt from it."""
    load = Push(18.0, 40.0, (0.0, 60.0, 25.0, 0.0, 0.0))
    record = pushed(24.0, 125.0, (load,), rests=21.0)
    [contact] = contacts_in(write_bag(tmp_path / "bag", record), tmp_path / "report")
    assert (contact["start"], contact["end"]) == pytest.approx((18.0, 24.0), abs=0.3)
    thresholds = np.array(json.loads((tmp_path / "report" / "contacts.json").read_text())["thresholds"])
    assert (thresholds[1:3, 1] < load.force[1:3]).all()
    assert "warning" not in capsys.readouterr().out


def test_a_load_that_passes_for_friction_is_no_push_before_it_and_its_thresholds_are_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It comes when the arm has stopped: nothing of the recording shows what is usual at rest."""
    load = Push(21.3, 40.0, (0.0, 60.0, 25.0, 0.0, 0.0))
    record = pushed(24.0, 125.0, (load,), rests=21.0)
    assert contacts_in(write_bag(tmp_path / "bag", record), tmp_path / "report") == []
    thresholds = np.array(json.loads((tmp_path / "report" / "contacts.json").read_text())["thresholds"])
    beyond = [name for name, each in zip(NAMES, thresholds[:, 1] > LIMITS, strict=True) if each]
    assert beyond == ["alpha_2", "alpha_3"]
    told, page = capsys.readouterr().out, (tmp_path / "report" / "contacts.html").read_text()
    for text in (told, page):
        parts = text.split("its threshold is above its effort limit of")[:-1]
        assert [name in part for name, part in zip(beyond, parts, strict=True)] == [True, True]


def test_pushes_that_bend_a_standing_arm_and_leave_stiction_behind_are_found(tmp_path: Path) -> None:
    """What moves then comes of the pushes, which must not pass for motion whose noise they are."""
    sizes = np.array(
        [[40.0, 120.0, 60.0, 0.0, 0.0], [0.0, 130.0, 0.0, 0.0, 0.0], [45.0, 140.0, 70.0, 6.0, 0.0]]
    )
    sizes = np.vstack([sizes, [60.0, 0.0, 0.0, 0.0, 0.0]])
    starts = (2.6, 5.4, 9.0, 12.5)
    pushes = tuple(Push(at, at + 1.0, tuple(each)) for at, each in zip(starts, sizes.tolist(), strict=True))
    free, arm = (pushed(18.0, 100.0, some, still=True) for some in ((), pushes))
    external = free.effort - arm.effort
    mean = free.effort.mean(axis=0)
    arm.effort[:] = mean + 0.3 * (free.effort - mean) - external
    arm.position[:] += 2e-5 * external  # the gears give way
    arm.velocity[:] += np.gradient(2e-5 * external, 0.01, axis=0)
    time = np.arange(len(external))[:, None] / 100.0
    for at, each in zip(starts, sizes, strict=True):  # stiction lets go slowly
        arm.effort[:] += np.where(time > at + 1.0, 0.1 * each * np.exp(-(time - at - 1.0) / 1.5), 0.0)
    found = contacts_in(write_bag(tmp_path / "bag", arm), tmp_path / "report")
    assert [contact["start"] for contact in found] == pytest.approx(starts, abs=0.3)
    assert [contact["end"] - contact["start"] for contact in found] == pytest.approx([1.0] * 4, abs=0.3)


def test_a_push_is_found_beside_the_friction_of_a_slow_sweep(tmp_path: Path) -> None:
    """A joint that is never faster than 0.04 rad/s, but goes to and fro over a third of a radian."""
    arm = pushed(48.0, 100.0, (Push(20.0, 21.0, (70.0, 0.0, 0.0, 0.0, 0.0)),), still=True)
    time = np.arange(len(arm.position)) / 100.0
    sweep = 0.16 * np.sin(0.25 * time)
    arm.position[:, 0] += sweep
    arm.velocity[:, 0] += np.gradient(sweep, 0.01)
    arm.effort[:, 0] += 30.0 * np.tanh(arm.velocity[:, 0] / 0.005)  # [N m], of a stiff gear
    [contact] = contacts_in(write_bag(tmp_path / "bag", arm), tmp_path / "report")
    assert contact["start"] == pytest.approx(20.0, abs=0.3)


@pytest.mark.parametrize(("joint", "size"), [(1, 60.0), (1, 30.0), (0, 40.0)])
def test_pushes_at_the_shoulder_alone_are_found(tmp_path: Path, joint: int, size: float) -> None:
    """Two fifths of the time, in one joint, to and fro: neither noise nor errors of the model."""
    efforts = [size * (k == joint) for k in range(5)]
    pushes = tuple(
        Push(start, start + 2.4, tuple(sign * each for each in efforts))
        for start, sign in ((2.4, 1), (8.2, -1), (13.6, 1), (19.5, -1))
    )
    found = contacts_in(write_bag(tmp_path / "bag", pushed(24.0, 125.0, pushes)), tmp_path / "report")
    assert len(found) == 4
    for contact, push in zip(found, pushes, strict=True):
        assert push.start - 0.3 < contact["peak"] < push.end + 0.3
        assert contact["joints"][0] == NAMES[joint]
        told = contact["efforts"][joint]
        assert told == pytest.approx(push.force[joint], abs=0.4 * size)  # the model is wrong, too


def test_the_threshold_in_force_is_told_for_each_joint_with_its_origin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of an arm of little noise 1 % of the effort limit decides, not the noise."""
    quiet = pushed(24.0, 125.0)
    quiet.effort[:] = effort(pinocchio_arm(), *motion(24.0, 125.0, 5))
    quiet.effort[:] += 1e-4 * LIMITS * np.random.default_rng(2).standard_normal(quiet.effort.shape)
    contacts_in(write_bag(tmp_path / "quiet", quiet), tmp_path / "report")
    told = capsys.readouterr().out
    for name, limit in zip(NAMES, LIMITS, strict=True):
        assert f"joint {name!r}: contact above {0.01 * limit:.3g} N m (1 % of its effort limit" in told
    data = json.loads((tmp_path / "report" / "contacts.json").read_text())
    np.testing.assert_allclose(data["thresholds"], np.stack([0.01 * LIMITS] * 2, axis=1))
    contacts_in(write_bag(tmp_path / "noisy", pushed(24.0, 125.0)), tmp_path / "other")
    assert "times its usual residual" in capsys.readouterr().out


def test_positions_in_degrees_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = pushed(8.0, 100.0)
    record.position[:] = np.degrees(record.position)
    assert main(["observe", str(write_bag(tmp_path / "bag", record)), "--model", MODEL]) == 2
    assert "degrees" in capsys.readouterr().err


def test_joints_whose_effort_is_constant_are_named_and_get_no_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As simulated without noise: one joint moves about a vertical axis beside it, or none does."""
    record = pushed(8.0, 100.0)
    silent = (1, 4)
    for values in (record.position, record.velocity, record.effort):
        values[:, silent] = values[0, silent]
    partly = write_bag(tmp_path / "partly", record)
    for values in (record.position, record.velocity, record.effort):
        values[:] = values[0]
    wholly = write_bag(tmp_path / "wholly", record)
    thresholds = tmp_path / "thresholds.yaml"
    for bag, joints in ((partly, [NAMES[j] for j in silent]), (wholly, list(NAMES))):
        for options in ((), ("--uncorrected",), ("--calibrate", "-o", str(thresholds))):
            assert main(["observe", str(bag), "--model", MODEL, *options]) == 2
            output, error = capsys.readouterr()
            assert output == ""
            assert [name for name in NAMES if repr(name) in error] == joints
    assert not thresholds.exists()


RESTS = ((0.0, 3.0, 0.0), (8.0, 9.5, 3.9), (16.0, 18.0, -3.9), (22.0, 24.0, 0.0))  # from, to [s], held [N m]
DRY = np.array([4.0, 1.0, 1.0, 0.3, 0.3])  # [N m]
SMOOTH = np.polynomial.Polynomial([0, 0, 0, 10, -15, 6])  # from 0 to 1, at rest at both


@pytest.mark.parametrize("push", [0.0, 12.0])
def test_what_dry_friction_holds_where_a_joint_stops_is_no_contact(tmp_path: Path, push: float) -> None:
    """A drive winds up to 3.9 N m where its joint rests, which 4 N m of friction hold; 12 N m are a push."""
    state = np.stack(motion(24.0, 125.0, 5))
    time = np.arange(state.shape[1]) / 125.0
    state[:, :, 0], held = 0.0, np.zeros(len(time))
    for (*_, start, _), (end, *_) in pairwise(RESTS):
        x = np.clip((time - start) / (end - start), 0.0, 1.0)
        way = 1.0 if start < 12.0 else -1.0  # [rad]
        for k in range(3):
            state[k, :, 0] += way * SMOOTH.deriv(k)(x) / (end - start) ** k
    for start, end, size in RESTS:
        held += size * np.interp(time, [start, start + 0.2, start + 0.8, end], [0, 1, 1, 0], 0, 0)
    tau = effort(pinocchio_arm(), *state) + DRY * np.tanh(state[1] / 0.01)
    tau[:, 0] += held - push * ((time > 16.9) & (time < 17.6))
    tau += 0.002 * LIMITS * np.random.default_rng(3).standard_normal(tau.shape)
    parameters = tmp_path / "friction.yaml"
    parameters.write_text(parameter_file({"friction": {"coulomb": DRY.tolist()}}, []))
    bag = write_bag(tmp_path / "bag", record(*state[:2], tau, 125.0, NAMES))
    found = contacts_in(bag, tmp_path / "report", "--parameters", str(parameters))
    assert [one["joints"] for one in found] == [[NAMES[0]]] * (push > 0.0)
    assert all(16.5 < one["start"] < one["end"] < 18.0 for one in found)


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_found_where_nothing_touched(tmp_path: Path, seed: int) -> None:
    bag = write_bag(tmp_path / "bag", pushed(24.0, 125.0, seed=seed))
    assert contacts_in(bag, tmp_path / "report") == []


def test_the_force_at_the_tip_is_told_with_its_sign(tmp_path: Path) -> None:
    """In tip axes; where the posture tells all of it, its magnitude within a fifth, as the model is wrong."""
    model = load_model(MODEL)
    record = pushed(24.0, 125.0, PUSHES)
    bag = write_bag(tmp_path / "bag", record)
    told = 0
    for contact, push in zip(contacts_in(bag, tmp_path / "report"), PUSHES, strict=True):
        i = round(contact["peak"] * 125.0)
        force = model.tip_pose(record.position[i])[:3, :3] @ np.array(contact["tip_force"])
        assert force @ np.array(push.force) > 0.0
        if all(contact["tip_force_determined"]):
            told += 1
            size = np.linalg.norm(push.force)
            assert np.linalg.norm(force - push.force) < 0.25 * size
    assert told


def test_an_arm_whose_efforts_never_change_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It moves: "0 contacts" would be said of efforts that nobody measured."""
    record = pushed(10.0, 125.0)
    record.effort[:] = 1.0
    assert main(["observe", str(write_bag(tmp_path / "bag", record)), "--model", MODEL]) == 2
    assert "every joint's efforts are mostly one value" in capsys.readouterr().err


def test_the_external_effort_opposes_what_the_drive_supplies(tmp_path: Path) -> None:
    """A push along a joint is taken over from its drive: positive external effort, less measured effort."""
    bag = write_bag(tmp_path / "bag", pushed(24.0, 125.0, (Push(10.0, 11.0, (60.0, 60.0, 0.0)),)))
    (contact,) = contacts_in(bag, tmp_path / "report")
    model = load_model(MODEL)
    q = pushed(24.0, 125.0).position[round(contact["peak"] * 125.0)]
    expected = model.external_effort(q, np.array([60.0, 60.0, 0.0, 0.0, 0.0, 0.0]), frame="root")
    clear = np.abs(expected) > 0.04 * LIMITS
    assert clear.any()
    np.testing.assert_array_equal(np.sign(contact["efforts"])[clear], np.sign(expected)[clear])


def test_calibrated_thresholds_hold_on_another_recording_and_find_the_pushes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Calibrated on one recording without contact, quiet on another, and both pushes found on a third."""
    file = tmp_path / "thresholds.yaml"
    free = write_bag(tmp_path / "free", pushed(60.0, 125.0, seed=1))
    calibrate = [
        "observe",
        str(free),
        "--model",
        MODEL,
        "--calibrate",
        "--false-alarms",
        "1",
        "-o",
        str(file),
    ]
    assert main(calibrate) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in NAMES)
    settings = read_thresholds(file, load_model(MODEL))
    assert (settings.thresholds.constant > 0.0).all()
    quiet = write_bag(tmp_path / "quiet", pushed(60.0, 125.0, seed=2))
    strong = tuple(push._replace(force=tuple(5.0 * f for f in push.force)) for push in PUSHES)
    touched = write_bag(tmp_path / "touched", pushed(24.0, 125.0, strong, seed=3))
    counts = []
    for bag in (quiet, touched):
        assert main(["observe", str(bag), "--model", MODEL, "--thresholds", str(file)]) == 0
        lines = capsys.readouterr().out.splitlines()
        counts.append([float(line.split()[0]) for line in lines[1:]])
    assert counts[0] == []
    assert len(counts[1]) == 2
    for time, push in zip(counts[1], PUSHES, strict=True):
        assert push.start < time < push.end


def test_the_simulated_arm_without_contact_has_none(tmp_path: Path) -> None:
    """The plant's friction, which sticks, at 1 kHz, a payload that the model does not know."""
    bag = write_bag(tmp_path / "bag", recorded(load_model(MODEL), Payload(0.4)))
    assert contacts_in(bag, tmp_path / "report") == []


@pytest.mark.parametrize("content", ["", "a: [", "/**: {ros__parameters: {observer: {gain: [1]}}}"])
def test_a_file_that_holds_no_thresholds_is_refused(
    tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = write_bag(tmp_path / "bag", pushed(3.0, 125.0))
    file = tmp_path / "thresholds.yaml"
    file.write_text(content)
    assert main(["observe", str(bag), "--model", MODEL, "--thresholds", str(file)]) == 2
    error = capsys.readouterr().err
    assert str(file) in error
    assert "observe --calibrate wrote" in error


def test_a_file_that_holds_no_parameters_is_told_by_the_option_that_gave_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The node's params_file is no option of this command; an alias is what ROS does not read."""
    file = tmp_path / "thresholds.yaml"
    bag = write_bag(tmp_path / "bag", pushed(4.0, 125.0))
    assert (
        main(["observe", str(bag), "--model", MODEL, "--urdf-friction", "--calibrate", "-o", str(file)]) == 0
    )
    file.write_text(file.read_text() + "a: &a 1\nb: *a\n")
    for option in ("--thresholds", "--parameters"):
        assert main(["observe", str(bag), "--model", MODEL, option, str(file)]) == 2
        assert option in (error := capsys.readouterr().err)
        assert "params_file" not in error


def test_calibration_without_the_node_s_friction_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The node uses the URDF's, unless its parameter file says otherwise."""
    bag, file = write_bag(tmp_path / "bag", pushed(4.0, 125.0)), tmp_path / "parameters.yaml"
    file.write_text(parameter_file({"friction": {"viscous": [1.0]}}, []))
    words = ["observe", str(bag), "--model", MODEL]
    calibrate = ["--calibrate", "-o", str(tmp_path / "thresholds.yaml")]
    for more, expected in (
        (calibrate, True),
        ([*calibrate, "--urdf-friction"], False),
        ([*calibrate, "--parameters", str(file)], False),
        ([], False),
    ):
        assert main([*words, *more]) == 0
        assert ("--urdf-friction" in capsys.readouterr().err) == expected


REAL = os.environ.get("KANE_DYNAMICS_REAL_BAGS", "")


@pytest.mark.skipif(not REAL, reason="KANE_DYNAMICS_REAL_BAGS names no folder of recorded bags and modules")
def test_bags_of_real_robots_without_contact_have_none(tmp_path: Path) -> None:
    """Every bag in the folder that has a module of the same name beside it."""
    modules = sorted(Path(REAL).glob("*.py"))
    assert modules
    for module in modules:
        for bag in Path(REAL).glob(f"{module.stem}*.db3"):
            assert main(["observe", str(bag), "--model", str(module), "--report", str(tmp_path)]) == 0
            assert json.loads((tmp_path / "contacts.json").read_text())["contacts"] == []
