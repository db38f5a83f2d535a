"""A model against descriptions that differ from it in one thing each."""

from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="the room of the nodes needs the ROS 2 wheels")

from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description import parse_robot, serial_chain
from kane_dynamics_ros.nodes.feedforward.model import (
    GenerationError,
    StaleModelError,
    check_model,
    checked_model,
)
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
    with pytest.raises(StaleModelError) as caught:
        check_model(MODEL, urdf)
    assert str(caught.value) == (
        f"model 'manipulator_5dof' was not generated from this robot_description: {difference}; generate it "
        "again (kane_dynamics generate), or set generate_when_stale to true"
    )


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path):
    occupied = tmp_path / "file"
    occupied.write_text("")
    with pytest.raises(GenerationError) as caught:
        checked_model("manipulator_5dof", DIFFERENCES["mass"][0], True, str(occupied))
    text = str(caught.value)
    assert text.startswith(f"cannot generate a fresh model from robot_description: {occupied}/")
    assert text.endswith(": Not a directory; set model_cache to a folder to write in")


def test_a_model_with_a_root_and_locked_joints_is_recognised(tmp_path: Path):
    """And made afresh with the same root and locks, where the description has changed."""
    locked = serial_chain(parse_robot(URDF), "hand", root="limb_1", lock={"beta_4": 0.5})
    files = write_module(derive(locked), "arm", tmp_path)
    model = load_model(files[0], backend="python")
    check_model(model, URDF)
    heavier = changed('<mass value="3"/>', '<mass value="4"/>')
    with pytest.raises(StaleModelError):
        check_model(model, heavier)
    fresh = checked_model(str(files[0]), heavier, generate=True, cache=str(tmp_path / "cache"))
    assert (fresh.root, fresh.tip, fresh.locked) == (model.root, model.tip, model.locked)
    check_model(fresh, heavier)
