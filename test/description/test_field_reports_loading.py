"""Field reports 16 to 37: what people met when they loaded URDFs; each test names its report.

Reports 1 to 14 are in test_field_reports_inertia.py, 26 and 27 in test_mimic.py.
"""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from chains_of_text import chain_of, codes, notes
from small_urdf import LIMIT, fixed, joint, link, robot, two_joints

from kane_dynamics_ros.description import load_robot, physics_hash, serial_chain


def inertial(mass="1", moment="0.01", origin='xyz="0.1 0 0"', tensor=None):
    tensor = tensor or f'ixx="{moment}" ixy="0" ixz="0" iyy="{moment}" iyz="0" izz="{moment}"'
    return f'<inertial><origin {origin}/><mass value="{mass}"/><inertia {tensor}/></inertial>'


# Field reports 16, 17, 21: text.


def test_names_and_comments_beyond_ascii_load_under_any_locale(tmp_path):
    """Field report 16: a fresh interpreter under LANG=C, files in UTF-8."""
    text = two_joints().replace('"a"', '"γ₁"').replace("<robot", "<!-- 机械臂 -->\n<robot")
    (tmp_path / "arm.urdf").write_text(text, encoding="utf-8")
    script = (
        "from kane_dynamics_ros.description import load_robot, serial_chain\n"
        "print(ascii(serial_chain(load_robot('arm.urdf')).coordinates))"
    )
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    environment = {**os.environ, "LANG": "C", "LC_ALL": "C", "PYTHONPATH": root}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "('\\u03b3\\u2081', 'b')\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1", "ascii"])
def test_text_with_an_encoding_declaration_loads(encoding):
    """Field report 17."""
    text = f'<?xml version="1.0" encoding="{encoding}"?>\n' + two_joints()
    assert chain_of(text).coordinates == ("a", "b")
    assert chain_of(text.encode(encoding)).coordinates == ("a", "b")
    assert notes(text, "KD109") == [
        f"the declared encoding {encoding!r} is ignored: the text is decoded already"
    ]


@pytest.mark.parametrize("text", ["\ufeff" + two_joints(), ("\ufeff" + two_joints()).encode()])
def test_byte_order_mark_is_skipped_and_noted(text):
    assert notes(text, "KD108") == ["byte-order mark skipped"]


def test_repeated_limit_and_unknown_attributes_give_one_warning_each():
    """Field report 19."""
    limits = '<limit effort="1" velocity="1" lower="-1" upper="1"/><limit effort="9" colour="red"/>'
    text = two_joints(inside=limits + '<axis xyz="0 0 1"/><spring stiffness="1"/>')
    findings = [f for f in chain_of(text).findings if f.severity != "info" and f.code != "KD505"]
    assert [(f.code, f.line, f.message) for f in findings] == [
        ("KD211", 5, "given again; the first, in line 5, is used"),
        ("KD209", 5, "unknown element <spring> in <joint> was not read"),
        ("KD210", 5, "unknown attribute 'colour' of <limit> was not read"),
    ]
    assert chain_of(text).joints[0].limits.effort == 1.0


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            two_joints().replace("<robot", '<robot xmlns="http://www.ros.org"'),
            "default namespace 'http://www.ros.org'",
        ),
        (re.sub(r"<(/?)(?=\w)", r"<\1u:", two_joints()), "prefix 'u'"),
    ],
)
def test_namespaces_are_stripped(text, what):
    """Field report 21."""
    assert physics_hash(chain_of(text)) == physics_hash(chain_of(two_joints()))
    assert notes(text, "KD110") == [f"URDF elements are read without their {what}"]


# Field reports 22, 24: axes.


@pytest.mark.parametrize("length", ["2", "1e-3", "1e6"])
def test_axis_of_any_length_is_made_one(length):
    """Field report 22."""
    text = two_joints(inside=f'<axis xyz="0 0 {length}"/>{LIMIT}')
    assert chain_of(text).joints[0].axis == (0.0, 0.0, 1.0)
    assert codes(text) == ["KD305"]


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "continuous"])
def test_joint_without_axis_turns_about_x(kind):
    """Field report 24."""
    text = robot(link("base"), link("one"), joint("a", "base", "one", kind, LIMIT))
    assert chain_of(text).joints[0].axis == (1.0, 0.0, 0.0)
    assert notes(text, "KD306") == ["no <axis>: it is 1 0 0, as URDF says"]


# Field reports 29, 31, 32: the tree. (31 and 32's messages are in test_refusals.py.)


def test_order_of_elements_does_not_matter():
    """Field report 29: the same hash, bit by bit, for 20 shuffles of a robot with branches."""
    links = [link(f"l{k}", inertial(mass=f"{1 + k / 7}", origin=f'xyz="0.{k + 1} 0.03 0"')) for k in range(7)]
    joints = [joint(f"j{k}", f"l{k}", f"l{k + 1}", rpy="0.3 0.2 0.1") for k in range(3)]
    branches = [fixed(f"f{k}", "l2", f"l{k}", rpy="0.1 0.2 0.3") for k in range(4, 7)]
    elements = links + joints + branches
    expected = physics_hash(chain_of(robot(*elements), tip="l3"))
    generator = np.random.default_rng(29)
    for _ in range(20):
        assert physics_hash(chain_of(robot(*generator.permutation(elements)), tip="l3")) == expected


def test_frame_that_is_only_a_parent_is_the_root():
    """Field report 31: one root, not two."""
    text = robot(
        link("base"), link("one"), link("world", ""), joint("a", "base", "one"), fixed("w", "world", "base")
    )
    assert chain_of(text).root == "world"


# Field report 34: names.


@pytest.mark.parametrize("name", ["joint-1", "Revolute 2", "1", "class", "γ", "a'; import os #", '{0}"%s\\'])
def test_names_stay_as_they_are_and_are_noted(name):
    """Field report 34."""
    escaped = name.replace('"', "&quot;").replace("'", "&apos;")
    text = two_joints().replace('joint name="a"', f'joint name="{escaped}"')
    assert chain_of(text).coordinates == (name, "b")
    assert len(notes(text, "KD214")) == 1


def test_names_that_collide_after_cleaning_are_noted():
    """Field report 34."""
    text = (
        two_joints()
        .replace('joint name="a"', 'joint name="j 1"')
        .replace('joint name="b"', 'joint name="j-1"')
    )
    assert notes(text, "KD215") == [
        "its name and 'j-1' become one word in tools that replace special characters"
    ]


# Field reports 36, 37: limits and friction.


def test_limits_of_zero_are_unknown_and_said_once():
    """Field report 36."""
    inside = '<axis xyz="0 0 1"/><limit lower="0" upper="0" effort="0" velocity="0"/>'
    text = two_joints(inside=inside).replace(LIMIT, '<limit lower="0" upper="0" effort="0" velocity="0"/>')
    limits = chain_of(text).joints[0].limits
    assert (limits.lower, limits.upper, limits.velocity, limits.effort) == (None, None, None, None)
    assert [finding.message for finding in chain_of(text).findings if finding.severity == "warning"] == [
        "position limits absent or 0, taken as unknown (nothing is clamped), for 'a', 'b'",
        "effort limit absent, 0 or negative, taken as unknown (nothing is clamped), for 'a', 'b'",
        "velocity limit absent, 0 or negative, taken as unknown (nothing is clamped), for 'a', 'b'",
    ]


def test_damping_and_friction_are_read_as_written():
    """Field report 37; that they are part of the torque only when asked for is a test of the runtime."""
    chain = chain_of(two_joints(inside='<axis xyz="0 0 1"/><dynamics damping="1" friction="2"/>'))
    assert (chain.joints[0].damping, chain.joints[0].friction) == (1.0, 2.0)


def test_xacro_file_is_expanded_with_its_arguments(tmp_path):
    """A path with a space in it, as in field report 129."""
    folder = tmp_path / "with space"
    folder.mkdir()
    text = two_joints().replace('mass value="1"', 'mass value="$(arg m)"')
    text = text.replace("<robot", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"')
    text = text.replace(">\n", '>\n<xacro:arg name="m" default="2"/>\n', 1)
    path = folder / "arm.urdf.xacro"
    path.write_text(text)
    assert serial_chain(load_robot(path)).joints[0].inertia.mass == 2.0
    robot_of_7 = load_robot(path, xacro_arguments={"m": "7"})
    assert serial_chain(robot_of_7).joints[0].inertia.mass == 7.0
    assert robot_of_7.findings[0].code == "KD111"
