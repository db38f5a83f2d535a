"""The URDF's text: only numbers of inertias, friction and rotors change, and they mean what was asked for."""

import argparse
import re

import numpy as np
import pytest

from kane_dynamics_ros.cli.identify import urdf_bytes
from kane_dynamics_ros.description import DescriptionError, parse_robot, serial_chain
from kane_dynamics_ros.description.geometry import about_origin
from kane_dynamics_ros.identification.urdf_text import (
    JointNumbers,
    carrier_inertia,
    carriers,
    number,
    rewritten,
)

TEXT = """<?xml version='1.0' encoding="utf-8"?>
<!-- made by hand; <mass value="7"/> in a comment stays -->
<robot name="arm"
  xmlns:x='http://example.org/x'>
  <link name='base'/>
  <link name="upper">
\t<inertial><origin rpy="0.3 -0.2 1.1" xyz='0.1 0 0.2' /><mass value='2.5'/>
      <inertia ixx="0.02" ixy = "0" ixz="0"  iyy="0.03" iyz='0' izz="0.025" /></inertial>
  </link>
  <link name="hand"><inertial><mass value="0.5"/><inertia ixx="1e-3" iyy="1e-3" izz="1e-3"/></inertial></link>
  <link name="camera"><inertial><origin xyz="0 0.05 0"/><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4"
  izz="1e-4"/></inertial></link>
  <joint type="revolute" name="a&amp;b"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="1"/><dynamics friction="0.1" damping='0.2'
    spring="7"/></joint>
  <joint type="revolute" name="wrist"><parent link="upper"/><child link="hand"/><origin xyz="0 0 0.5"/>
    <axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="10" velocity="1"/></joint>
  <joint type="fixed" name="mount"><origin xyz="0.02 0 0.1" rpy="0 0.5 0"/><parent link="hand"/><child
  link="camera"/></joint>
  <transmission name="t"><joint name="wrist"/><actuator name="m"><rotorInertia>1e-5</rotorInertia>
    <mechanicalReduction>50</mechanicalReduction></actuator></transmission>
  <gazebo><mass value="9"/></gazebo>
</robot>
"""
DATA = TEXT.encode()
NUMBER = re.compile(rb"-?\d+\.?\d*(?:[eE][-+]?\d+)?")


def standard(inertia):
    return np.array(about_origin(inertia))


def robot_and_chain(text=DATA):
    robot = parse_robot(text, "arm.urdf")
    return robot, serial_chain(robot, "camera")


def changed(factor=1.3, joints=None, add=False):
    """The text for bodies with other masses and centres; the bodies that were asked for."""
    robot, chain = robot_and_chain()
    asked = []
    for joint in chain.joints:
        parameters = factor * standard(joint.inertia)
        parameters[1] += 0.01
        asked.append(parameters)
    found = carriers(robot, chain)
    links = {c.link: carrier_inertia(p, c) for c, p in zip(found, asked, strict=True)}
    return rewritten(DATA, links, joints or {}, "arm.urdf", add), asked


def test_the_chain_read_back_has_what_was_asked_for():
    """Lumped bodies, an inertial frame that is turned, a missing origin: all come back to the last written
    digit.
    """
    text, asked = changed()
    _, chain = robot_and_chain(text.text)
    for joint, parameters in zip(chain.joints, asked, strict=True):
        np.testing.assert_allclose(standard(joint.inertia), parameters, atol=3e-9)


def test_links_that_are_fixed_to_the_moving_one_keep_their_numbers():
    text, _ = changed()
    camera = DATA[DATA.index(b'<link name="camera"') : DATA.index(b'<joint type="revolute"')]
    assert camera in text.text


def test_nothing_but_numbers_of_inertials_changes():
    text, _ = changed()
    inertial = re.compile(rb"<inertial>.*?</inertial>", re.DOTALL)
    assert inertial.sub(b"", text.text) == inertial.sub(b"", DATA)
    ours, theirs = ([NUMBER.sub(b"#", x) for x in inertial.findall(t)] for t in (text.text, DATA))
    assert ours[0] == theirs[0]  # where every number has its place, not a byte more
    assert ours[2] == theirs[2]


def test_asking_for_what_the_file_says_changes_not_a_byte():
    robot, chain = robot_and_chain()
    links = {
        c.link: carrier_inertia(standard(j.inertia), c)
        for c, j in zip(carriers(robot, chain), chain.joints, strict=True)
    }
    joints = {"a&b": JointNumbers(0.2, 0.1, 0.0), "wrist": JointNumbers(0.0, 0.0, 1e-5 * 2500)}
    assert rewritten(DATA, links, joints, "arm.urdf").text == DATA


def test_friction_and_rotors_go_where_the_file_has_them():
    joints = {"a&b": JointNumbers(1.5, 2.5, 0.0), "wrist": JointNumbers(0.0, 0.0, 0.075)}
    text = rewritten(DATA, {}, joints, "arm.urdf")
    assert text.not_written == ()
    _, chain = robot_and_chain(text.text)
    assert (chain.joints[0].damping, chain.joints[0].friction) == (1.5, 2.5)
    assert chain.joints[1].rotor_inertia == pytest.approx(0.075)
    assert b'spring="7"' in text.text


def test_what_has_no_place_is_told_or_added():
    joints = {"a&b": JointNumbers(0.2, 0.1, 0.3), "wrist": JointNumbers(0.4, 0.5, 0.025)}
    text = rewritten(DATA, {}, joints, "arm.urdf")
    assert text.text == DATA
    assert text.not_written == ("joint 'a&b': armature 0.3", "joint 'wrist': damping 0.4, friction 0.5")
    added = rewritten(DATA, {}, joints, "arm.urdf", add=True)
    _, chain = robot_and_chain(added.text)
    assert chain.rotor_inertia == pytest.approx((0.3, 0.025))
    assert chain.damping == (0.2, 0.4)
    assert chain.friction == (0.1, 0.5)


def test_the_text_that_is_edited_is_the_file_itself_where_the_reader_does_not_expand_it(tmp_path):
    """A tag of xacro in a block that nobody reads is no reason to lose the file's comments."""
    path = tmp_path / "arm.urdf"
    path.write_bytes(DATA.replace(b"<gazebo>", b"<gazebo><xacro:left_over/>"))
    assert (
        urdf_bytes(argparse.Namespace(urdf=str(path), xacro=[], packages=[], xacro_seconds=20.0))
        == path.read_bytes()
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (TEXT.encode("utf-16"), "save it as UTF-8"),
        (DATA.replace(b'<link name="upper">', b'<link name="other">'), "link 'upper'"),
        (DATA[:-12], "KD102"),
    ],
)
def test_a_text_that_cannot_be_edited_is_refused(text, says):
    robot, chain = robot_and_chain()
    link = {"upper": carrier_inertia(standard(chain.joints[0].inertia) * 2, carriers(robot, chain)[0])}
    with pytest.raises(DescriptionError, match=re.escape(says)):
        rewritten(text, link, {}, "arm.urdf")


# Rotor inertias: what was written is what the URDF says when it is read again, whatever its transmissions say

ROTOR = "<rotorInertia>{}</rotorInertia>"
REDUCTION = "<mechanicalReduction>{}</mechanicalReduction>"
MOTOR = '<actuator name="m">{}</actuator>'
BLOCK = '<transmission name="{name}"><joint name="wrist"/>{inside}</transmission>'
DRAKE = '<drake:rotor_inertia value="1e-5"/><drake:gear_ratio value="50"/>'
CLEAR = MOTOR.format(ROTOR.format("1e-5") + REDUCTION.format(50))


def with_rotors(*insides, armature=None):
    """The arm whose wrist has these transmissions, and an ``armature`` where one is given."""
    start, _, rest = TEXT.partition("<transmission")
    blocks = "".join(BLOCK.format(name=f"t{k}", inside=inside) for k, inside in enumerate(insides))
    text = start + blocks + rest.partition("</transmission>")[2]
    if armature is not None:
        wrist = '<joint type="revolute" name="wrist">'
        text = text.replace(wrist, f'{wrist}<dynamics armature="{armature}"/>')
    return text.encode()


ROTORS = {
    "no reduction": with_rotors(MOTOR.format(ROTOR.format("1e-5"))),
    "reduction 0": with_rotors(MOTOR.format(ROTOR.format("1e-5") + REDUCTION.format(0))),
    "reduction 0, then a clear one": with_rotors(
        MOTOR.format(ROTOR.format("1e-5") + REDUCTION.format(0)), CLEAR
    ),
    "two actuators": with_rotors(CLEAR + MOTOR.format("")),
    "no actuator": with_rotors(ROTOR.format("1e-5") + REDUCTION.format(50)),
    "two reductions": with_rotors(CLEAR + REDUCTION.format(40)),
    "two joints": with_rotors(CLEAR + '<joint name="a&amp;b"/>'),
    "two inertias": with_rotors(CLEAR + ROTOR.format("2e-5")),
    "the inertia twice": with_rotors(CLEAR + ROTOR.format("1e-5")),
    "Drake beside reduction 1": with_rotors(MOTOR.format(DRAKE + REDUCTION.format(1))),
    "Drake without a ratio": with_rotors(MOTOR.format('<drake:rotor_inertia value="0.025"/>')),
    "Drake beside another reduction": with_rotors(MOTOR.format(DRAKE + REDUCTION.format(40))),
    "negative reduction": with_rotors(MOTOR.format(ROTOR.format("1e-5") + REDUCTION.format(-50))),
    "a comment before the number": with_rotors(
        MOTOR.format(ROTOR.format("<!-- <9> -->\n 1e-5 ") + REDUCTION.format(50))
    ),
    "CDATA": with_rotors(MOTOR.format(ROTOR.format("<![CDATA[1e-5]]>") + REDUCTION.format(50))),
    "two that agree": with_rotors(CLEAR, CLEAR),
    "two that do not": with_rotors(CLEAR, CLEAR.replace("1e-5", "3e-5")),
    "two, of other ratios": with_rotors(CLEAR, CLEAR.replace("1e-5", "2.5e-3").replace("50", "7")),
    "armature alone": with_rotors(armature="0.025"),
    "armature 0 beside a transmission": with_rotors(CLEAR, armature="0"),
    "armature beside a transmission": with_rotors(CLEAR, armature="0.025"),
    "armature that differs": with_rotors(CLEAR, armature="0.3"),
    "armature, no reduction": with_rotors(MOTOR.format(ROTOR.format("1e-5")), armature="0.3"),
    "armature that is blank": with_rotors(armature=" "),
    "nothing": with_rotors(),
}


def rotor_of_wrist(text):
    """Its rotor inertia, and whether its sources differ."""
    _, chain = robot_and_chain(text)
    return chain.joints[1].rotor_inertia, any("are not added" in f.message for f in chain.findings)


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize("wanted", [0.0, 0.0123456789, 0.3])
@pytest.mark.parametrize("text", ROTORS.values(), ids=list(ROTORS))
def test_a_rotor_inertia_read_again_is_what_was_written_or_it_is_named(text, wanted, add):
    nothing = JointNumbers(0.0, 0.0, wanted)
    new = rewritten(text, {}, {"wrist": nothing}, "arm.urdf", add)
    found, differs = rotor_of_wrist(new.text)
    before, differed = rotor_of_wrist(text)
    if new.not_written:
        assert found == before != wanted
        assert (new.text, new.not_written) == (text, (f"joint 'wrist': armature {number(wanted)}",))
    else:
        assert found == pytest.approx(wanted, rel=1e-8)
    assert not differs or differed


@pytest.mark.parametrize("text", ROTORS.values(), ids=list(ROTORS))
def test_the_rotor_inertia_that_the_file_says_changes_not_a_byte(text):
    said, _ = rotor_of_wrist(text)
    assert rewritten(text, {}, {"wrist": JointNumbers(0.0, 0.0, said)}, "arm.urdf", True).text == text


@pytest.mark.parametrize("name", ROTORS)
def test_added_rotor_inertias_have_a_place_in_every_urdf(name):
    new = rewritten(ROTORS[name], {}, {"wrist": JointNumbers(0.0, 0.0, 0.3)}, "arm.urdf", add=True)
    assert new.not_written == ()
    assert rotor_of_wrist(new.text)[0] == pytest.approx(0.3, rel=1e-8)
