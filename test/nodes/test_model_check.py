"""A model against descriptions that differ from it in one thing each."""

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="the room of the nodes needs the ROS 2 wheels")

import kane_dynamics_ros.nodes.feedforward.model as model_room
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description import parse_robot, serial_chain
from kane_dynamics_ros.nodes.feedforward.model import (
    DescriptionCheck,
    ModelCheckError,
    check_model,
    checked_model,
)
from kane_dynamics_ros.nodes.feedforward.parameters import TABLE
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.share import share_directory

MODEL = load_model("manipulator_5dof")
URDF = (share_directory() / "urdf" / "manipulator_5dof.urdf").read_text()


def changed(old, new):
    """The description with the first ``old`` replaced."""
    assert old in URDF
    return URDF.replace(old, new, 1)


DIFFERENCES = {
    "mass": (
        changed('<mass value="3"/>', '<mass value="4"/>'),
        "mass of body 'limb_2' is 3, the description's 4",
    ),
    "damping": (
        changed('damping="1.0"', 'damping="2.5"'),
        "damping of joint 'gamma_1' is 1.0, the description's 2.5",
    ),
    "joint name": (
        URDF.replace('"beta_4"', '"wrist_turn"'),
        "its joints are gamma_1, alpha_2, alpha_3, beta_4, gamma_4, the description's gamma_1, alpha_2, "
        "alpha_3, wrist_turn, gamma_4",
    ),
    "placement": (
        changed('<origin rpy="0 0 0" xyz="0 1 0"/>', '<origin rpy="0 0 0" xyz="0 1.1 0"/>'),
        "the placement or axis of a joint, the tip's frame, or a mimic differs",
    ),
}


def test_the_description_that_the_model_was_generated_from_is_accepted():
    check_model(MODEL, URDF)


def test_what_is_not_physics_does_not_matter():
    check_model(MODEL, changed('rgba="0.9 0.45 0.1 1"', 'rgba="0 0 1 1"'))


@pytest.mark.parametrize(("urdf", "difference"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_what_differs_is_named(urdf, difference):
    with pytest.raises(ModelCheckError, match="'manipulator_5dof'") as caught:
        check_model(MODEL, urdf)
    assert (caught.value.code, caught.value.differences) == ("stale", (difference,))
    assert difference in str(caught.value)


def test_a_model_of_another_robot_is_told_as_that():
    for changes in ([('"tool"', '"flange"')], [(f'"{name}"', f'"my_{name}"') for name in MODEL.joint_names]):
        urdf = URDF
        for before, after in changes:
            assert before in urdf
            urdf = urdf.replace(before, after)
        with pytest.raises(ModelCheckError, match="another robot") as caught:
            check_model(MODEL, urdf)
        assert caught.value.code in ("foreign", "stale")


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path):
    occupied = tmp_path / "file"
    occupied.write_text("")
    with pytest.raises(ModelCheckError) as caught:
        checked_model("manipulator_5dof", DIFFERENCES["mass"][0], True, str(occupied))
    assert caught.value.code == "generation"
    assert f"{occupied}/" in str(caught.value)
    assert "Not a directory" in str(caught.value)


def test_a_model_with_a_root_and_locked_joints_is_recognised(tmp_path: Path):
    """And made afresh with the same root and locks, where the description has changed."""
    locked = serial_chain(parse_robot(URDF), "hand", root="limb_1", lock={"beta_4": 0.5})
    files = write_module(derive(locked), "arm", tmp_path)
    model = load_model(files[0], backend="python")
    check_model(model, URDF)
    heavier = changed('<mass value="3"/>', '<mass value="4"/>')
    with pytest.raises(ModelCheckError) as caught:
        check_model(model, heavier)
    assert caught.value.code == "stale"
    fresh = checked_model(str(files[0]), heavier, generate=True, cache=str(tmp_path / "cache"))
    assert (fresh.root, fresh.tip, fresh.locked) == (model.root, model.tip, model.locked)
    check_model(fresh, heavier)


def test_a_fault_in_the_check_itself_is_an_outcome_with_its_traceback(monkeypatch):
    def fault(*arguments):
        raise ZeroDivisionError("of the test")

    monkeypatch.setattr(model_room, "checked_model", fault)
    check = DescriptionCheck()
    check.text = URDF
    check.begin({each.name: each.default for each in TABLE})
    deadline = time.monotonic() + 20.0
    while (found := check.outcome()) is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert isinstance(found, ModelCheckError)
    assert found.code == "fault"
    assert "ZeroDivisionError: of the test" in str(found)
    assert "Traceback" in found.details


def test_a_fresh_model_is_kept_apart_by_version_and_by_kind_of_inertial_parameters(
    tmp_path: Path, monkeypatch
):
    runs = []
    done = SimpleNamespace(returncode=0)
    monkeypatch.setattr(model_room.subprocess, "run", lambda command, **_: runs.append(command) or done)
    fixed = MODEL
    runtime = SimpleNamespace(
        name=MODEL.name,
        root=MODEL.root,
        tips=MODEL.tips,
        locked={},
        parameters=SimpleNamespace(inertial=(1.0,)),
    )
    model_room._generated(fixed, URDF, tmp_path)
    model_room._generated(runtime, URDF, tmp_path)
    monkeypatch.setattr(model_room, "__version__", "another")
    model_room._generated(fixed, URDF, tmp_path)
    assert len({command[command.index("-o") + 1] for command in runs}) == 3


@pytest.mark.parametrize(("inertial", "option"), [(None, "fixed"), ((1.0,), "runtime")])
def test_a_fresh_model_is_generated_with_the_same_kind_of_inertial_parameters(
    tmp_path: Path, monkeypatch, inertial, option
):
    commands = []
    done = SimpleNamespace(returncode=0)
    monkeypatch.setattr(model_room.subprocess, "run", lambda command, **_: commands.append(command) or done)
    model = SimpleNamespace(
        name="arm", root="base", tips=("tool",), locked={}, parameters=SimpleNamespace(inertial=inertial)
    )
    model_room._generated(model, URDF, tmp_path)
    (command,) = commands
    assert command[command.index("--inertial") + 1] == option
