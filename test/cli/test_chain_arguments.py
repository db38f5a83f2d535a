"""``--root``, ``--tip``, ``--lock`` and ``--xacro`` as every command reads them."""

import argparse
import json
import os
from pathlib import Path

import pytest

from kane_dynamics_ros.cli.arguments import ArgumentError, add_chain_arguments, chain_of
from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.description import Chain, DescriptionError
from kane_dynamics_ros.replay.jobs import robot_note
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.share import share_directory

URDF = str(share_directory() / "urdf" / "manipulator_5dof.urdf")


def chain(*words: str, urdf: str = URDF) -> Chain:
    """The chain that a command line means."""
    parser = argparse.ArgumentParser()
    add_chain_arguments(parser)
    return chain_of(argparse.Namespace(urdf=urdf, **vars(parser.parse_args(words))))


def test_without_arguments_the_whole_chain_is_taken():
    assert chain().coordinates == ("gamma_1", "alpha_2", "alpha_3", "beta_4", "gamma_4")


def test_locks_and_tip_reach_the_chain():
    found = chain("--tip", "hand", "--lock", "beta_4=0.5", "--lock", "gamma_4=-1e-1")
    assert (found.tip, found.coordinates) == ("hand", ("gamma_1", "alpha_2", "alpha_3"))
    assert found.locked == (("beta_4", 0.5), ("gamma_4", -0.1))


@pytest.mark.parametrize("text", ["beta_4", "beta_4=", "=0.5", "beta_4=half", "beta_4=nan", "beta_4=inf"])
def test_a_lock_that_is_no_number_is_refused(text):
    with pytest.raises(ArgumentError) as error:
        chain("--lock", text)
    assert (error.value.code, error.value.found) == ("lock", text)


XACRO = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="mass" default="1"/>
  <link name="base"/>
  <link name="body">
    <inertial><mass value="$(arg mass)"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <joint name="j" type="continuous"><parent link="base"/><child link="body"/></joint>
</robot>"""


@pytest.mark.parametrize("text", ["mass=2.5", "mass:=2.5"])
def test_xacro_arguments_reach_the_file(tmp_path, text):
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(XACRO)
    assert chain(urdf=str(path)).joints[0].inertia.mass == 1.0
    assert chain("--xacro", text, urdf=str(path)).joints[0].inertia.mass == 2.5


@pytest.mark.parametrize("text", ["mass", "=2"])
def test_a_xacro_argument_without_name_or_value_is_refused(text):
    with pytest.raises(ArgumentError) as error:
        chain("--xacro", text)
    assert (error.value.code, error.value.found) == ("xacro", text)


def test_xacro_arguments_for_a_plain_urdf_are_refused():
    with pytest.raises(DescriptionError) as error:
        chain("--xacro", "mass=2")
    assert (error.value.code, error.value.place.file) == ("KD115", URDF)


@pytest.mark.parametrize(
    "words", [["inspect"], ["generate"], ["excite"], ["trajectory"], ["identify", "BAG", "--urdf"]]
)
def test_commands_end_with_2_where_a_xacro_argument_is_a_slip(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(XACRO)
    (tmp_path / "BAG").mkdir()  # a bag that is missing is told before anything is read
    assert main([*words, str(path), "--xacro", "mas:=2.5"]) == 2
    message = capsys.readouterr().err
    assert "'mas'" in message
    assert "'mass'" in message
    assert sorted(os.listdir(tmp_path)) == ["BAG", path.name]


ON_A_CART = """<robot name="rover">
  <link name="floor"/>
  <link name="cart">
    <inertial><mass value="20"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <link name="body">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <joint name="drive" type="planar"><parent link="floor"/><child link="cart"/></joint>
  <joint name="j" type="continuous"><parent link="cart"/><child link="body"/></joint>
</robot>"""


@pytest.mark.parametrize("command", ["generate", "package", "trajectory"])
def test_a_lock_in_degrees_is_warned_of_by_what_derives_from_the_chain(command, tmp_path, capsys):
    output = tmp_path / ("motion.yaml" if command == "trajectory" else "")
    words = [command, URDF, "--lock", "alpha_2=60", "-o", str(output)]
    assert main([*words, "--no-compile"] if command == "generate" else words) == 0
    assert "[KD614]" in capsys.readouterr().out


def test_a_chain_from_a_root_is_inspected_generated_verified_and_recognised(tmp_path, monkeypatch, capsys):
    """The planar joint below the root, which no chain can hold, is none of the arm's business."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rover.urdf").write_text(ON_A_CART)
    assert main(["inspect", "rover.urdf", "--json"]) == 2
    capsys.readouterr()
    assert main(["inspect", "rover.urdf", "--root", "cart", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["root"], data["tip"], data["coordinates"]) == ("cart", "body", ["j"])
    assert main(["generate", "rover.urdf", "--root", "cart", "--no-compile", "--name", "arm"]) == 0
    assert load_model(tmp_path / "arm.py", backend="python").root == "cart"
    assert main(["verify", "arm.py", "--urdf", "rover.urdf", "--states", "1", "--backend", "python"]) == 0
    note = robot_note(None, tmp_path / "rover.urdf", load_model(tmp_path / "arm.py", backend="python"))
    assert note.startswith("the model was generated from ")


def test_the_replay_recognises_a_model_with_locked_joints(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["generate", URDF, "--lock", "beta_4=0.5", "--no-compile", "--name", "held"]) == 0
    held = load_model(tmp_path / "held.py", backend="python")
    assert robot_note(Path(URDF).read_text(), None, held).startswith("the model was generated from ")
    heavier = Path(URDF).read_text().replace('<mass value="3"/>', '<mass value="4"/>', 1)
    assert "NOT generated" in robot_note(heavier, None, held)
