"""A file is judged after the chain is chosen: only what the chain's motion depends on is refused."""

import threading
import xml.etree.ElementTree as ET

import numpy as np
import pinocchio
import pytest
from chain_torques import inverse_dynamics
from chains_of_text import chain_of
from small_urdf import INERTIA, LIMIT, fixed, joint, link, robot, two_joints
from urdf_parser_py.xml_reflection import core

from kane_dynamics_ros.description import DescriptionError, parse_robot, reader

Y = f'<axis xyz="0 1 0"/>{LIMIT}'


def inertial(mass="1", ixx="0.01", iyy="0.01", izz="0.01", xyz="0.1 0 0"):
    return (
        f'<inertial><origin xyz="{xyz}"/><mass value="{mass}"/><inertia ixx="{ixx}" ixy="0" ixz="0" '
        f'iyy="{iyy}" iyz="0" izz="{izz}"/></inertial>'
    )


FAULTY_LINKS = {
    "negative mass": (inertial(mass="-1"), "KD401"),
    "inertia without mass": (inertial(mass="0"), "KD402"),
    "mass that is not finite": (inertial(mass="nan"), "KD302"),
    "a word for a moment": (inertial(ixx="much"), "KD301"),
    "no moment": (INERTIA.replace('ixx="0.01"', ""), "KD201"),
    "underscores": (inertial(mass="1_0"), "KD301"),
}
FAULTY_JOINTS = {
    "zero axis": (f'<axis xyz="0 0 0"/>{LIMIT}', "KD304"),
    "exchanged limits": ('<axis xyz="0 0 1"/><limit lower="1" upper="-1" effort="1" velocity="1"/>', "KD504"),
    "negative damping": (f'<axis xyz="0 0 1"/>{LIMIT}<dynamics damping="-1"/>', "KD308"),
    "negative armature": (f'<axis xyz="0 0 1"/>{LIMIT}<dynamics armature="-1"/>', "KD308"),
    "two numbers for an axis": (f'<axis xyz="0 1"/>{LIMIT}', "KD303"),
    "mimic without a joint": (f"<axis xyz='0 0 1'/>{LIMIT}<mimic/>", "KD201"),
}


def with_base(inside):
    return two_joints().replace(link("base", ""), link("base", inside))


@pytest.mark.parametrize("name", FAULTY_LINKS)
def test_a_fault_of_the_base_warns_and_changes_no_torque(name):
    inside, code = FAULTY_LINKS[name]
    chain = chain_of(with_base(inside), strict=True)
    assert chain.joints == chain_of(two_joints()).joints
    assert [(f.code, f.line) for f in chain.findings if f.severity == "warning"] == [(code, 2)]


@pytest.mark.parametrize("name", FAULTY_LINKS)
def test_the_same_fault_of_a_link_that_moves_is_refused_in_its_line(name):
    inside, code = FAULTY_LINKS[name]
    with pytest.raises(DescriptionError) as caught:
        chain_of(two_joints(second=inside))
    assert (caught.value.code, caught.value.place.line) == (code, 4)


@pytest.mark.parametrize("name", FAULTY_JOINTS)
def test_a_fault_of_a_joint_off_the_chain_or_locked_warns(name):
    inside, code = FAULTY_JOINTS[name]
    branch = link("x") + joint("c", "one", "x", inside=inside)
    text = two_joints().replace("</robot>", branch + "</robot>")
    for options in ({"tip": "two"}, {"tip": "x", "lock": {"c": 0.0}}):
        findings = chain_of(text, **options).findings
        assert [(f.code, f.line) for f in findings if f.code == code and f.severity == "warning"] == [
            (code, 8)
        ]
    with pytest.raises(DescriptionError) as caught:
        chain_of(text, tip="x")
    assert (caught.value.code, caught.value.place.line) == (code, 8)


def test_a_joint_that_places_what_moves_needs_its_placement():
    """A fixed joint before the first moving one, and one between links that move together."""
    for parent, child in (("mount", "base"), ("one", "plate")):
        text = robot(
            link("mount", ""), link("base", ""), link("one"), link("two"), link("plate"),
            *(
                fixed(f"to_{c}", p, c, rpy="0 0 up" if (p, c) == (parent, child) else "0 0 0")
                for p, c in (("mount", "base"), ("one", "plate"))
            ),
            joint("a", "base", "one"), joint("b", "one", "two"),
        )  # fmt: skip
        with pytest.raises(DescriptionError) as caught:
            chain_of(text, tip="two")
        assert (caught.value.code, caught.value.place.element) == ("KD301", f"joint 'to_{child}' <origin>")


def test_a_joint_that_places_only_what_stands_does_not():
    text = two_joints().replace(
        "</robot>", link("box") + fixed("f", "base", "box", xyz="0 far 0") + "</robot>"
    )
    assert [f.code for f in chain_of(text, tip="two").findings if f.severity == "warning"] == ["KD301"]


def test_all_faults_of_a_chain_are_raised_together_in_the_order_of_the_file():
    text = two_joints(inertial(mass="-1"), inertial(mass="-2"), inside=f'<axis xyz="0 0 0"/>{LIMIT}')
    with pytest.raises(DescriptionError) as caught:
        chain_of(text)
    assert [(e.code, e.place.line) for e in caught.value.errors] == [("KD401", 3), ("KD401", 4), ("KD304", 5)]
    assert caught.value.code == "KD401"
    assert str(caught.value).count("\n") == 2


# Moments that cannot act.


def test_only_the_moment_about_its_axis_counts_of_a_first_link():
    """As manufacturers publish them: mass 850 kg, izz 108, the other moments 0."""
    published = inertial(mass="850", ixx="0", iyy="0", izz="108")
    text = two_joints(published)
    chain = chain_of(text, strict=True)
    assert "KD403" not in [f.code for f in chain.findings]
    assert [f.line for f in chain.findings if f.code == "KD406"] == [3]
    full = chain_of(two_joints(inertial(mass="850", ixx="100", iyy="100", izz="108")))
    state = np.random.default_rng(0).uniform(-2, 2, (3, 2))
    assert inverse_dynamics(chain, *state).tolist() == inverse_dynamics(full, *state).tolist()


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_of_a_link_after_parallel_axes_too_and_of_links_that_only_translate_nothing(kind):
    impossible = inertial(ixx="9", iyy="0.01", izz="0.01")
    inside = f'<axis xyz="0 0 1"/>{LIMIT}'
    text = robot(
        link("base"), link("one", impossible), link("two", impossible),
        joint("a", "base", "one", kind, inside, rpy="0.3 0.4 0"), joint("b", "one", "two", kind, inside),
    )  # fmt: skip
    findings = chain_of(text, strict=True).findings
    assert [(f.code, f.line) for f in findings if f.code in ("KD403", "KD406")] == [
        ("KD406", 3),
        ("KD406", 4),
    ]


def test_a_negative_moment_about_the_axis_of_a_first_link_acts():
    text = two_joints(inertial(izz="-0.001"))
    assert [f.code for f in chain_of(text).findings if f.severity == "warning"] == ["KD403"]


def test_after_axes_that_are_not_parallel_the_whole_tensor_acts():
    text = two_joints(second=inertial(ixx="0.03"), inside=Y)
    assert [f.code for f in chain_of(text).findings if f.severity == "warning"] == ["KD403"]
    with pytest.raises(DescriptionError):
        chain_of(text, strict=True)


def test_a_follower_and_its_way_back_turn_nothing_beyond():
    """A finger about y beside an arm whose axes are all about z: the arm's last body turns about z alone."""
    follow = f'<axis xyz="0 1 0"/>{LIMIT}<mimic joint="a"/>'
    text = robot(
        link("base"), link("one"), link("side"), link("two", inertial(ixx="9")),
        joint("a", "base", "one"), joint("c", "one", "side", inside=follow), joint("b", "one", "two"),
    )  # fmt: skip
    assert "KD403" not in [f.code for f in chain_of(text, tip="two").findings]


# Tensors that are impossible: positive definite or not.


def test_an_impossible_but_positive_definite_tensor_gives_the_torques_of_what_is_written():
    text = two_joints(second=inertial(ixx="0.0226"), inside=Y)  # misses the triangle inequality by 13 %
    model = pinocchio.buildModelFromXML(text)
    data = model.createData()
    chain = chain_of(text)
    assert [f.code for f in chain.findings if f.severity == "warning"] == ["KD403"]
    for state in np.random.default_rng(3).uniform(-2, 2, (5, 3, 2)):
        np.testing.assert_allclose(
            inverse_dynamics(chain, *state), pinocchio.rnea(model, data, *state), rtol=0, atol=1e-12
        )


@pytest.mark.parametrize(("moment", "indefinite"), [("-0.005", False), ("-0.02", True), ("-0.5", True)])
def test_a_tensor_that_makes_the_mass_matrix_indefinite_is_refused(moment, indefinite):
    """M_22 = iyy + m r^2 = iyy + 0.01 about the second axis: the sign of M is known."""
    text = robot(
        link("base"), link("one"), link("two", inertial(ixx="0.01", iyy=moment)),
        joint("a", "base", "one"), joint("b", "one", "two", inside=Y),
    )  # fmt: skip
    if indefinite:
        with pytest.raises(DescriptionError) as caught:
            chain_of(text)
        assert (caught.value.code, caught.value.place.line) == ("KD403", 4)
    else:
        assert "KD403" in [f.code for f in chain_of(text).findings]


def test_a_chain_that_moves_no_mass_at_all_is_refused():
    with pytest.raises(DescriptionError) as caught:
        chain_of(robot(link("base"), link("one", " "), joint("a", "base", "one")))
    assert caught.value.code == "KD404"


def test_an_arm_whose_file_has_no_inertias_is_refused_by_one_error():
    """As some makers' files, which are made for planning alone."""
    text = robot(
        link("base"), link("one", ""), link("two", ""), link("tool", ""),
        joint("a", "base", "one"), joint("b", "one", "two", inside=Y), fixed("f", "two", "tool"),
    )  # fmt: skip
    with pytest.raises(DescriptionError) as caught:
        chain_of(text)
    assert (caught.value.code, caught.value.place.line) == ("KD404", 3)
    assert "'a', 'b'" in str(caught.value)


def test_a_finger_at_the_default_tip_names_the_arms_own_flange():
    follow = f'<axis xyz="0 1 0"/>{LIMIT}<mimic joint="left" multiplier="-1"/>'
    slide = f'<axis xyz="0 1 0"/>{LIMIT}'
    text = robot(
        link("base"), link("one"), link("two"), link("my_flange", ""), link("hand"),
        link("l", " "), link("r", " "),
        joint("a", "base", "one"), joint("b", "one", "two", inside=Y),
        fixed("f", "two", "my_flange"), fixed("h", "my_flange", "hand"),
        joint("left", "hand", "l", "prismatic", slide), joint("right", "hand", "r", "prismatic", follow),
    )  # fmt: skip
    said = {f.code: f.message for f in chain_of(text).findings}
    assert "--tip my_flange" in said["KD404"]
    assert "KD404" not in {f.code for f in chain_of(text, tip="my_flange").findings}
    assert "--tip" not in {f.code: f.message for f in chain_of(text, tip="l").findings}["KD404"]


# What was silent.


@pytest.mark.parametrize("inside", ["<inertial/>", '<inertial><origin xyz="1 0 0"/></inertial>'])
def test_an_empty_inertial_is_named(inside):
    assert [f.line for f in chain_of(two_joints(inside)).findings if f.code == "KD413"] == [3]


def test_a_negative_effort_limit_is_not_called_absent():
    text = two_joints(inside='<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="-1" velocity="1"/>')
    (message,) = (f.message for f in chain_of(text).findings if f.code == "KD502")
    assert "negative" in message
    assert chain_of(text).joints[0].limits.effort is None


# xacro.


@pytest.mark.parametrize("block", ["gazebo", "visual", "ros2_control", "transmission"])
def test_a_xacro_tag_is_ignored_where_nothing_is_read_and_named_elsewhere(block):
    left = f"<{block}><xacro:thing/></{block}>"
    text = (
        two_joints(INERTIA + left)
        if block == "visual"
        else two_joints().replace("</robot>", left + "</robot>")
    )
    if block in ("gazebo", "visual"):
        assert [f.code for f in chain_of(text).findings if f.code.startswith("KD1")] == ["KD114"]
    else:
        with pytest.raises(DescriptionError) as caught:
            chain_of(text)
        assert (caught.value.code, caught.value.place.line) == ("KD106", 7)
        assert "delete" in caught.value.remedy


@pytest.mark.parametrize("tag", ["include", "macro", "insert_block"])
def test_xacro_of_the_years_before_the_prefix_is_named(tag):
    with pytest.raises(DescriptionError) as caught:
        parse_robot(two_joints().replace("</robot>", f'<{tag} name="x"/></robot>'))
    assert (caught.value.code, caught.value.place.line) == ("KD106", 7)
    assert f"<xacro:{tag}>" in caught.value.remedy


# urdf_parser_py itself.


def test_its_remarks_become_findings_and_those_of_other_threads_go_where_they_went(monkeypatch):
    elsewhere = []
    monkeypatch.setattr(core, "on_error", elsewhere.append)
    before = core.on_error
    real = reader.urdf.Robot.from_xml

    def remarking(tree, path):
        core.on_error("something\nodd")
        other = threading.Thread(target=core.on_error, args=("not ours",))
        other.start()
        other.join()
        return real(tree, path)

    monkeypatch.setattr(reader.urdf.Robot, "from_xml", remarking)
    found = [(f.code, f.message) for f in parse_robot(two_joints()).findings if f.code == "KD113"]
    assert found == [("KD113", "something odd")]
    assert elsewhere == ["not ours"]
    assert core.on_error is before


def test_what_it_refuses_is_our_error_and_its_hook_is_put_back(monkeypatch):
    before = core.on_error

    def refusing(tree, path):
        raise AssertionError("rules of\nanother version")

    monkeypatch.setattr(reader.urdf.Robot, "from_xml", refusing)
    with pytest.raises(DescriptionError) as caught:
        parse_robot(two_joints())
    assert caught.value.code == "KD112"
    assert core.on_error is before


def test_it_reads_the_same_from_the_file_itself():
    """The checked copy changes no number: against urdf_parser_py on the text with what it requires."""
    text = two_joints(inside=f'<axis xyz="0 0.6 0.8"/>{LIMIT}<dynamics damping="0.5" friction="0.25"/>')
    ours = parse_robot(text)
    theirs = reader.urdf.Robot.from_xml(ET.fromstring(text), core.Path("robot"))
    assert [link.name for link in ours.links] == [link.name for link in theirs.links]
    for mine, other in zip(ours.joints, theirs.joints, strict=True):
        assert (mine.name, mine.kind, mine.parent, mine.child) == (
            other.name, other.type, other.parent, other.child,
        )  # fmt: skip
        assert list(mine.p_PoJo_P) == other.origin.xyz
        assert (mine.limits.lower, mine.limits.effort) == (other.limit.lower, other.limit.effort)
    assert (ours.joints[0].damping, ours.joints[0].friction) == (0.5, 0.25)
