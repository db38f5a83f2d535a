"""Every refused URDF gets one message that says where, what was found, what is allowed and what to do."""

import pytest
from small_urdf import INERTIA, LIMIT, joint, link, robot, two_joints

from kane_dynamics_ros.description import DescriptionError, load_robot, parse_robot, serial_chain


def refusal(text, tip=None, lock=None):
    with pytest.raises(DescriptionError) as caught:
        serial_chain(parse_robot(text, "arm.urdf"), tip, lock=lock)
    return str(caught.value)


def inertial(mass="1", ixx="0.01", iyy="0.01", izz="0.01", ixy="0"):
    return (
        f'<inertial><mass value="{mass}"/>'
        f'<inertia ixx="{ixx}" ixy="{ixy}" ixz="0" iyy="{iyy}" iyz="0" izz="{izz}"/></inertial>'
    )


def with_axis(axis):
    return two_joints(inside=f'<axis xyz="{axis}"/>{LIMIT}')


CASES = {
    "not XML": (
        "<robot name='arm'>\n<link",
        "arm.urdf:2: not well-formed XML: unclosed token; give URDF text, in UTF-8 if not declared "
        "otherwise [KD102]",
    ),
    "nothing": (
        "",
        "arm.urdf:1: not well-formed XML: no element found; give URDF text, in UTF-8 if not declared "
        "otherwise [KD102]",
    ),
    "another format": (
        "<sdf version='1.7'/>",
        "arm.urdf:1: the outermost element is <sdf>; a URDF has <robot name='...'> there [KD107]",
    ),
    "no links": (robot(), "arm.urdf:1: robot: element <link> is missing or empty; add it [KD201]"),
    "no joints": (
        robot(link("base")),
        "arm.urdf:1: robot: no joint moves in the whole robot; a chain needs at least one revolute, "
        "continuous or "
        "prismatic joint that is not locked: choose another --tip [KD207]",
    ),
    "link without a name": (
        robot("<link/>"),
        "arm.urdf:2: link: attribute 'name' is missing or empty; add it [KD201]",
    ),
    "two links of one name": (
        robot(link("base"), link("base")),
        "arm.urdf:3: link 'base': the name was given before, in line 2; names must be unique: rename one "
        "[KD202]",
    ),
    "undefined parent": (
        robot(link("leg"), joint("hip", "body", "leg")),
        "arm.urdf:3: joint 'hip': its parent link 'body' is not defined; add <link name='body'/> or mend "
        "the name "
        "[KD203]",
    ),
    "two roots": (
        robot(link("base"), link("one"), link("lost"), joint("a", "base", "one")),
        "arm.urdf:1: robot: several links have no parent: 'base', 'lost'; one root is allowed: join the "
        "others to it "
        "by joints [KD204]",
    ),
    "a loop": (
        robot(link("base"), link("x"), link("y"), joint("a", "x", "y"), joint("b", "y", "x")),
        "arm.urdf:6: joint 'b': joints form a loop: 'a', 'b'; a URDF is a tree: remove the joint that "
        "closes the "
        "loop [KD205]",
    ),
    "nothing but a loop": (
        robot(link("x"), link("y"), joint("a", "x", "y"), joint("b", "y", "x")),
        "arm.urdf:5: joint 'b': joints form a loop: 'a', 'b'; a URDF is a tree: remove the joint that "
        "closes the "
        "loop [KD205]",
    ),
    "two parents": (
        robot(
            link("base"),
            link("x"),
            link("y"),
            joint("a", "base", "x"),
            joint("b", "x", "y"),
            joint("c", "base", "y"),
        ),
        "arm.urdf:4: link 'y': it is the child of several joints: 'b', 'c'; a link has one parent "
        "(closed loops are "
        "not URDF): remove the others [KD206]",
    ),
    "unknown joint type": (
        robot(link("base"), link("one"), joint("a", "base", "one", "spherical")),
        "arm.urdf:4: joint 'a': its type is 'spherical'; allowed are revolute, continuous, prismatic, fixed, "
        "floating, planar [KD208]",
    ),
    "axis without a direction": (
        with_axis("0 0 0"),
        "arm.urdf:5: joint 'a' <axis>: its axis is 0.0 0.0 0.0, which has no direction; give a unit "
        "vector, as in "
        "0 0 1 [KD304]",
    ),
    "axis of rounding": (
        with_axis("0 0 1e-12"),
        "arm.urdf:5: joint 'a' <axis>: its axis is 0.0 0.0 1e-12, which has no direction; give a unit "
        "vector, as in "
        "0 0 1 [KD304]",
    ),
    "NaN": (
        with_axis("0 nan 1"),
        "arm.urdf:5: joint 'a' <axis>: xyz='nan'; numbers must be finite and at most 1e+12 in magnitude "
        "[KD302]",
    ),
    "a word for a number": (
        with_axis("0 up 1"),
        "arm.urdf:5: joint 'a' <axis>: xyz='up' is not a number; write it as in 0.5 or 5e-1 [KD301]",
    ),
    "a decimal comma": (
        with_axis("0 0 0,5"),
        "arm.urdf:5: joint 'a' <axis>: xyz='0,5' is not a number; write it as in 0.5 or 5e-1 (the "
        "decimal mark is a "
        "point, in every locale) [KD301]",
    ),
    "two numbers for three": (
        with_axis("0 1"),
        "arm.urdf:5: joint 'a' <axis>: xyz='0 1' has 2 numbers; 3 are needed, separated by spaces [KD303]",
    ),
    "negative mass": (
        two_joints(inertial(mass="-1")),
        "arm.urdf:3: link 'one' <inertial> <mass>: its mass is -1.0 kg; a mass is 0 or more [KD401]",
    ),
    "inertia without mass": (
        two_joints(inertial(mass="0")),
        "arm.urdf:3: link 'one' <inertial> <inertia>: its mass is 0 but its principal moments of inertia "
        "are 0.01, "
        "0.01, 0.01 kg m^2; give the mass too, or neither (0 and 0: a massless frame) [KD402]",
    ),
    "triangle inequality": (
        two_joints(inertial(ixx="0.1", iyy="0.01", izz="0.01")),
        "arm.urdf:3: link 'one': no body has its inertia: the principal moments are 0.01, 0.01, 0.1 kg "
        "m^2, and the "
        "largest is more than the sum of the other two; each must be 0 or more and at most the sum of "
        "the other two: "
        "take the values from CAD afresh (about the centre of mass, along the axes of "
        "<inertial><origin>) [KD403]",
    ),
    "triangle inequality of the principal moments only": (
        two_joints(inertial(ixx="0.1", iyy="0.1", izz="0.1", ixy="0.099")),
        "arm.urdf:3: link 'one': no body has its inertia: the principal moments are 0.001, 0.1, 0.199 kg "
        "m^2, and "
        "the largest is more than the sum of the other two; each must be 0 or more and at most the sum "
        "of the other "
        "two: take the values from CAD afresh (about the centre of mass, along the axes of "
        "<inertial><origin>) "
        "[KD403]",
    ),
    "negative moment": (
        two_joints(inertial(ixx="-0.01")),
        "arm.urdf:3: link 'one': no body has its inertia: the principal moments are -0.01, 0.01, 0.01 kg "
        "m^2, and "
        "the smallest is negative; each must be 0 or more and at most the sum of the other two: take the "
        "values from "
        "CAD afresh (about the centre of mass, along the axes of <inertial><origin>) [KD403]",
    ),
    "moving link without inertia and nothing after it": (
        two_joints(second=" "),
        "arm.urdf:4: link 'two': joint 'b' moves no inertia: nothing that it carries ('two') resists its "
        "motion, so "
        "the mass matrix is singular; give the link an <inertial>, give the joint a rotor inertia, lock it "
        "(--lock b=0), or choose a --tip before it [KD404]",
    ),
    "limits exchanged": (
        two_joints(inside='<axis xyz="0 0 1"/><limit lower="1" upper="-1" effort="1" velocity="1"/>'),
        "arm.urdf:5: joint 'a' <limit>: its lower limit 1.0 is above its upper limit -1.0; exchange them "
        "[KD504]",
    ),
    "negative damping": (
        two_joints(inside='<dynamics damping="-1"/>'),
        "arm.urdf:5: joint 'a' <dynamics>: damping is -1.0; it must be 0 or more [KD308]",
    ),
    "leader that is not there": (
        two_joints(inside=f'{LIMIT}<mimic joint="ghost"/>'),
        "arm.urdf:5: joint 'a': its <mimic> cannot be followed: there is no joint 'ghost'; mend or "
        "remove the <mimic> "
        "[KD213]",
    ),
    "follower of itself": (
        two_joints(inside=f'{LIMIT}<mimic joint="a"/>'),
        "arm.urdf:5: joint 'a': its <mimic> cannot be followed: followers in a ring: 'a'; mend or remove "
        "the <mimic> "
        "[KD213]",
    ),
    "floating joint": (
        robot(
            link("base"),
            link("one"),
            link("two"),
            joint("a", "base", "one", "floating"),
            joint("b", "one", "two"),
        ),
        "arm.urdf:5: joint 'a': floating joints are not part of a serial chain; choose a --tip whose "
        "chain avoids "
        "it, lock it at its origin (--lock a=0), or use a URDF with a fixed base [KD605]",
    ),
    "planar joint that would be lumped": (
        robot(
            link("base"),
            link("one"),
            link("two"),
            joint("a", "base", "one"),
            joint("b", "one", "two", "planar"),
        ),
        "arm.urdf:6: joint 'b': planar joints are not part of a serial chain; choose a --tip whose chain "
        "avoids it, "
        "lock it at its origin (--lock b=0), or use a URDF with a fixed base [KD605]",
    ),
    "xacro that was not run": (
        robot(
            "<xacro:include filename='x'/>",
            attributes='name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro"',
        ),
        "arm.urdf:2: xacro that was not run: <xacro:include>; expand it with the xacro command, or load "
        "the .xacro "
        "file itself [KD106]",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_refused_with_a_message_that_says_what_to_do(name):
    text, message = CASES[name]
    assert refusal(text) == message


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: path / "none.urdf", "No such file or directory"),
        (lambda path: path, "it is not a regular file"),
    ],
)
def test_file_that_cannot_be_read_is_refused(tmp_path, make, reason):
    path = make(tmp_path)
    with pytest.raises(DescriptionError) as caught:
        load_robot(path)
    assert (
        str(caught.value)
        == f"{path}: cannot be read: {reason}; give the path of a URDF or xacro file [KD101]"
    )


def test_the_only_massless_bodies_that_pass_are_those_with_a_body_after_them():
    chain = serial_chain(parse_robot(two_joints(first=" ")))
    assert [joint.inertia.mass for joint in chain.joints] == [0.0, 1.0]


def test_inertia_that_no_body_has_goes_where_it_does_not_move():
    text = robot(
        link("base", INERTIA.replace('ixx="0.01"', 'ixx="9"')), link("one"), joint("a", "base", "one")
    )
    findings = serial_chain(parse_robot(text, "arm.urdf")).findings
    assert [(finding.code, finding.line) for finding in findings if finding.severity != "info"] == [
        ("KD406", 2)
    ]
