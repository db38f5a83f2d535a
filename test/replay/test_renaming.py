"""Joints that a bag calls otherwise."""

from pathlib import Path

import pytest
from replay_bags import motion, record, write_bag

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.replay.recording import (
    names_in_bag,
    proposal,
    read_recording,
    read_renamings,
    recorded_joints,
)

JOINTS = ("panda_joint1", "panda_joint2", "panda_joint3")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["fer_joint1=panda_joint1"], ("fer_joint1", "panda_joint2", "panda_joint3")),
        (["fer_*=panda_*"], ("fer_joint1", "fer_joint2", "fer_joint3")),
        (["a=panda_joint2", "fer_*=panda_*"], ("fer_joint1", "a", "fer_joint3")),
        (["*_x=*"], ("panda_joint1_x", "panda_joint2_x", "panda_joint3_x")),
        ([], JOINTS),
    ],
)
def test_names_are_translated_by_the_first_rule_that_is_about_them(texts, expected):
    assert names_in_bag(JOINTS, read_renamings(texts)) == expected


@pytest.mark.parametrize("text", ["a", "=b", "a=", "a*=b", "a=b*", "a**=b*"])
def test_what_is_no_renaming_is_refused(text):
    with pytest.raises(KaneDynamicsError) as refused:
        read_renamings([text])
    assert refused.value.code == "rename"


@pytest.mark.parametrize(
    "found",
    [
        ("fer_joint1", "fer_joint2", "fer_joint3"),
        ("panda_joint1_motor", "panda_joint2_motor", "panda_joint3_motor", "gripper"),
        ("A1", "A2", "A3"),
        ("left/panda_joint3", "left/panda_joint1", "left/panda_joint2"),
    ],
)
def test_a_prefix_or_suffix_that_makes_all_fit_is_found(found):
    proposed = proposal(JOINTS, found)
    assert proposed is not None
    [renaming] = read_renamings([str(proposed)])
    assert set(names_in_bag(JOINTS, [renaming])) <= set(found)


@pytest.mark.parametrize("found", [("fer_joint1", "fer_joint2"), ("a", "b", "c"), ()])
def test_nothing_is_proposed_where_a_joint_would_be_missing(found):
    assert proposal(JOINTS, found) is None


def test_a_renamed_recording_is_the_same_recording(tmp_path: Path):
    q, qd, _ = motion(2.0, 100.0, 3)
    plain = write_bag(tmp_path / "plain", record(q, qd, q, 100.0, JOINTS))
    other = write_bag(tmp_path / "other", record(q, qd, q, 100.0, [f"x{name}" for name in JOINTS]))
    a = read_recording(plain, JOINTS)
    b = read_recording(other, JOINTS, renamings=read_renamings(["x*=*"]))
    assert b.states.joints == JOINTS
    assert (a.states.position == b.states.position).all()
    assert recorded_joints(other) == ("/joint_states", tuple(f"x{name}" for name in JOINTS))


def test_replay_proposes_and_takes_a_renaming(tmp_path: Path, capsys):
    from kane_dynamics_ros.runtime import load_model

    names = load_model("manipulator_5dof").joint_names
    q, qd, _ = motion(10.0, 100.0, 5)
    bag = write_bag(tmp_path / "bag", record(q, qd, q, 100.0, [f"arm_{name}" for name in names]))
    assert main(["replay", str(bag), "--model", "manipulator_5dof"]) == 2
    assert "--rename 'arm_*=*'" in capsys.readouterr().err
    assert main(["replay", str(bag), "--model", "manipulator_5dof", "--rename", "arm_*=*"]) == 0
