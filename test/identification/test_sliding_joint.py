"""An arm that turns and slides: mistakes are told of its prismatic joint as of others, in its own units."""

import json
import re

import numpy as np
import pinocchio
import pytest
import two_links

from kane_dynamics_ros.cli.main import main

URDF = two_links.URDF.format(dynamics='<dynamics damping="0" friction="0"/>')
before, second = URDF.split('<joint name="j2" type="revolute">')
second = second.replace('axis xyz="0 1 0"', 'axis xyz="1 0 0"').replace(
    '"-7" upper="7"', '"-0.5" upper="0.5"'
)
URDF = f'{before}<joint name="j2" type="prismatic">{second}'
COULOMB, VISCOUS = np.array([0.5, 2.0]), np.array([0.3, 5.0])  # N m and N
MOTION = tuple(each * [1.0, 0.1] for each in two_links.harmonics())


@pytest.fixture(scope="module")
def efforts():
    arm = pinocchio.buildModelFromXML(URDF)
    data = arm.createData()
    rigid = np.array([pinocchio.rnea(arm, data, *row) for row in zip(*MOTION, strict=True)])
    return rigid + COULOMB * np.tanh(MOTION[1] / 0.01) + VISCOUS * MOTION[1]


def identified(folder, motion, tau, names=two_links.NAMES):
    """The exit code and the record, or None."""
    urdf = folder / "arm.urdf"
    urdf.write_text(URDF)
    bag = two_links.bag(folder / "bag", motion, tau, names=names)
    code = main(["identify", str(bag), "--urdf", str(urdf), "-o", str(folder / "out"), "--no-compile"])
    record = folder / "out" / "identified.json"
    return code, json.loads(record.read_text()) if record.exists() else None


def test_friction_is_found_in_the_units_of_each_joint(efforts, tmp_path):
    code, data = identified(tmp_path, MOTION, efforts)
    assert code == 0
    for j, joint in enumerate(data["joints"]):
        terms = {term["name"]: term["value"] for term in joint["terms"] if term["fitted"]}
        assert terms["Coulomb friction"] == pytest.approx(COULOMB[j], rel=0.02)
        assert terms["viscous friction"] == pytest.approx(VISCOUS[j], rel=0.02)
    assert re.search(r"of [\d.]+ N remain", data["verdict"]["joints"][1]["sentence"])


@pytest.mark.parametrize("wrong", ["millimetres", "exchanged"])
def test_positions_that_no_such_joint_reaches_are_refused(wrong, efforts, tmp_path, capsys):
    """Of a joint that slides by 1 m in all, 3 are as far outside as 1000 are."""
    if wrong == "millimetres":
        code, _ = identified(tmp_path, tuple(each * [1.0, 1000.0] for each in MOTION), efforts)
    else:
        motion = tuple(each * [3.0, 1.0] for each in MOTION)
        code, _ = identified(tmp_path, motion, efforts, names=two_links.NAMES[::-1])
    assert code == 2
    told = capsys.readouterr().err
    assert "'j2'" in told
    assert "record positions in m" in told


def test_efforts_of_another_unit_are_told_in_those_of_the_joints(efforts, tmp_path):
    code, data = identified(tmp_path, MOTION, efforts / 8.0)
    assert code == 1
    doubts = {each["code"]: each["sentence"] for each in data["verdict"]["doubts"]}
    assert "in N m and N?" in doubts["units"]


def test_effort_that_repeats_with_the_way_is_told_with_its_length(efforts, tmp_path):
    """A ball screw that turns once in 30 mm, on a way of half a metre."""
    tau = efforts.copy()
    tau[:, 1] += np.sin(2 * np.pi * MOTION[0][:, 1] / 0.03)
    _, data = identified(tmp_path, MOTION, tau)
    first, second = (each["sentence"] for each in data["verdict"]["joints"])
    assert "repeats" not in first
    length = float(re.search(r"what repeats every ([\d.]+) mm of the joint is most of it", second)[1])
    assert length == pytest.approx(30.0, rel=0.05)
