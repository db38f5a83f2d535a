"""Every refused URDF gets one message that says where, what was found, what is allowed and what to do."""

import pytest
from small_urdf import INERTIA, LIMIT, joint, link, robot, two_joints

from kane_dynamics_ros.description import DescriptionError, load_robot, parse_robot, serial_chain


def refusal(text):
    with pytest.raises(DescriptionError) as caught:
        serial_chain(parse_robot(text, "arm.urdf"), strict=True)
    return caught.value


def inertial(mass="1", ixx="0.01", iyy="0.01", izz="0.01", ixy="0"):
    return (
        f'<inertial><mass value="{mass}"/>'
        f'<inertia ixx="{ixx}" ixy="{ixy}" ixz="0" iyy="{iyy}" iyz="0" izz="{izz}"/></inertial>'
    )


def second(inertial):
    """The body of the second joint turns about two directions, so that its whole tensor acts."""
    return two_joints(second=inertial, inside=f'<axis xyz="0 1 0"/>{LIMIT}')


def with_axis(axis):
    return two_joints(inside=f'<axis xyz="{axis}"/>{LIMIT}')


CASES = {  # text, and where and why it is refused: line, element, code
    "not XML": ("<robot name='arm'>\n<link", 2, None, "KD102"),
    "nothing": ("", 1, None, "KD102"),
    "another format": ("<sdf version='1.7'/>", 1, None, "KD107"),
    "no links": (robot(), 1, "robot", "KD201"),
    "no joints": (robot(link("base")), 1, "robot", "KD207"),
    "link without a name": (robot("<link/>"), 2, "link", "KD201"),
    "two links of one name": (robot(link("base"), link("base")), 3, "link 'base'", "KD202"),
    "undefined parent": (robot(link("leg"), joint("hip", "body", "leg")), 3, "joint 'hip'", "KD203"),
    "two roots": (
        robot(link("base"), link("one"), link("lost"), joint("a", "base", "one")),
        1,
        "robot",
        "KD204",
    ),
    "a loop": (
        robot(link("base"), link("x"), link("y"), joint("a", "x", "y"), joint("b", "y", "x")),
        6,
        "joint 'b'",
        "KD205",
    ),
    "nothing but a loop": (
        robot(link("x"), link("y"), joint("a", "x", "y"), joint("b", "y", "x")),
        5,
        "joint 'b'",
        "KD205",
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
        4,
        "link 'y'",
        "KD206",
    ),
    "unknown joint type": (
        robot(link("base"), link("one"), joint("a", "base", "one", "spherical")),
        4,
        "joint 'a'",
        "KD208",
    ),
    "axis without a direction": (with_axis("0 0 0"), 5, "joint 'a' <axis>", "KD304"),
    "axis of rounding": (with_axis("0 0 1e-12"), 5, "joint 'a' <axis>", "KD304"),
    "NaN": (with_axis("0 nan 1"), 5, "joint 'a' <axis>", "KD302"),
    "a word for a number": (with_axis("0 up 1"), 5, "joint 'a' <axis>", "KD301"),
    "a decimal comma": (with_axis("0 0 0,5"), 5, "joint 'a' <axis>", "KD301"),
    "two numbers for three": (with_axis("0 1"), 5, "joint 'a' <axis>", "KD303"),
    "negative mass": (two_joints(inertial(mass="-1")), 3, "link 'one' <inertial> <mass>", "KD401"),
    "inertia without mass": (two_joints(inertial(mass="0")), 3, "link 'one' <inertial> <inertia>", "KD402"),
    "triangle inequality": (
        second(inertial(ixx="0.1", iyy="0.01", izz="0.01")),
        4,
        "link 'two'",
        "KD403",
    ),
    "triangle inequality of the principal moments only": (
        second(inertial(ixx="0.1", iyy="0.1", izz="0.1", ixy="0.099")),
        4,
        "link 'two'",
        "KD403",
    ),
    "negative moment": (second(inertial(ixx="-0.01")), 4, "link 'two'", "KD403"),
    "moving link without inertia and nothing after it": (two_joints(second=" "), 4, "link 'two'", "KD404"),
    "limits exchanged": (
        two_joints(inside='<axis xyz="0 0 1"/><limit lower="1" upper="-1" effort="1" velocity="1"/>'),
        5,
        "joint 'a' <limit>",
        "KD504",
    ),
    "negative damping": (two_joints(inside='<dynamics damping="-1"/>'), 5, "joint 'a' <dynamics>", "KD308"),
    "leader that is not there": (
        two_joints(inside=f'{LIMIT}<mimic joint="ghost"/>'),
        5,
        "joint 'a'",
        "KD213",
    ),
    "follower of itself": (two_joints(inside=f'{LIMIT}<mimic joint="a"/>'), 5, "joint 'a'", "KD213"),
    "floating joint": (
        robot(
            link("base"),
            link("one"),
            link("two"),
            joint("a", "base", "one", "floating"),
            joint("b", "one", "two"),
        ),
        5,
        "joint 'a'",
        "KD605",
    ),
    "planar joint that would be lumped": (
        robot(
            link("base"),
            link("one"),
            link("two"),
            joint("a", "base", "one"),
            joint("b", "one", "two", "planar"),
        ),
        6,
        "joint 'b'",
        "KD605",
    ),
    "xacro that was not run": (
        robot(
            "<xacro:include filename='x'/>",
            attributes='name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro"',
        ),
        2,
        None,
        "KD106",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_refused_with_place_code_and_remedy(name):
    text, line, element, code = CASES[name]
    error = refusal(text)
    assert (error.place.line, error.place.element, error.code) == (line, element, code)
    assert str(error) == f"{error.place}: {error.found}; {error.remedy} [{code}]"
    assert str(error).isprintable()


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
