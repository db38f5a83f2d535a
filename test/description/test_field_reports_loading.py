"""Field reports 1 to 37: what people met when they loaded URDFs; each test names its report."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from chain_torques import generated_model, inverse_dynamics
from scipy.spatial.transform import Rotation
from small_urdf import INERTIA, LIMIT, fixed, joint, link, robot, two_joints
from whole_robot_witness import PinocchioChain

from kane_dynamics_ros.description import load_robot, parse_robot, physics_hash, serial_chain

STATES = np.random.default_rng(37).uniform(-2.0, 2.0, (10, 3, 2))


def chain_of(text, **options):
    return serial_chain(parse_robot(text, "arm.urdf"), **options)


def codes(text):
    """The codes of the doubts about a URDF, without mere information."""
    return [finding.code for finding in chain_of(text).findings if finding.severity != "info"]


def notes(text, code):
    """Messages of one code."""
    return [str(finding.message) for finding in chain_of(text).findings if finding.code == code]


def assert_same_torques(text, other):
    """Two URDFs of two joints with the same torques at random states."""
    one, two = chain_of(text), chain_of(other)
    for state in STATES:
        # A few roundings of numbers near 10.
        np.testing.assert_allclose(inverse_dynamics(one, *state), inverse_dynamics(two, *state), atol=1e-13)


def inertial(mass="1", moment="0.01", origin='xyz="0.1 0 0"', tensor=None):
    tensor = tensor or f'ixx="{moment}" ixy="0" ixz="0" iyy="{moment}" iyz="0" izz="{moment}"'
    return f'<inertial><origin {origin}/><mass value="{mass}"/><inertia {tensor}/></inertial>'


# Field reports 1, 2, 4, 6: what <inertial> says, and what its absence means.


@pytest.mark.parametrize("inside", ["", inertial(mass="0", moment="0")])
def test_link_without_inertial_is_massless(inside):
    """Field reports 1, 2, 6a."""
    text = robot(
        link("base"), link("one"), link("two"), link("tool", inside),
        joint("a", "base", "one"), joint("b", "one", "two"), fixed("t", "two", "tool"),
    )  # fmt: skip
    assert chain_of(text).joints[1].inertia == chain_of(two_joints()).joints[1].inertia
    assert codes(text) == []


def test_moving_link_without_inertia_has_its_own_message():
    """Field report 2."""
    assert notes(two_joints(first=" "), "KD405") == ["it moves, but has no inertia: taken as massless"]


def test_masses_are_read_as_written():
    """Field report 4."""
    chain = chain_of(two_joints(inertial(mass="2.5"), inertial(mass="3.25")))
    assert [body.inertia.mass for body in chain.joints] == [2.5, 3.25]
    assert [body.inertia.com for body in chain.joints] == [(0.1, 0.0, 0.0)] * 2


def test_total_mass_of_massless_links_is_zero_not_nan():
    """Field report 4."""
    chain = chain_of(two_joints(first=inertial(mass="0", moment="0")))
    assert chain.joints[0].inertia.mass == 0.0
    assert chain.joints[0].inertia.com == (0.0, 0.0, 0.0)


def test_mass_without_inertia_is_a_point_mass_and_doubtful():
    """Field report 6b."""
    text = two_joints(first=inertial(moment="0"))
    assert chain_of(text).joints[0].inertia.tensor == ((0.0,) * 3,) * 3
    assert notes(text, "KD408") == ["its mass is 1 kg, its inertia 0: taken as a point mass"]


@pytest.mark.parametrize("index", range(6))
def test_inertia_that_no_body_has_names_its_link(index):
    """Field report 7: six links, each in turn broken."""
    broken = inertial(tensor='ixx="0.1" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"')
    links = [link(f"l{k}", broken if k == index else INERTIA) for k in range(6)]
    joints = [joint(f"j{k}", f"l{k - 1}" if k else "base", f"l{k}") for k in range(6)]
    with pytest.raises(Exception, match=rf"arm.urdf:{index + 3}: link 'l{index}': no body has its inertia"):
        chain_of(robot(link("base", ""), *links, *joints))


def test_lost_decimal_point_is_doubted():
    """Field report 9: 1.68 kg m^2 on a link of 1.56 kg and 0.3 m."""
    tensor = 'ixx="0.017" ixy="0" ixz="0" iyy="1.68" iyz="0" izz="1.68"'
    text = two_joints(first=inertial(mass="1.56", tensor=tensor))
    assert notes(text, "KD407") == [
        "its radius of gyration is 1.038 m, but the link reaches 0.3 m: a slip of the decimal point? "
        "(mass 1.56 kg, "
        "largest moment 1.68 kg m^2)"
    ]


def test_fixed_links_are_lumped_about_their_common_centre_of_mass():
    """Field report 11: two rods 0.3 m apart, the second turned; m1 = 1, m2 = 3."""
    rod = 'ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.025"'
    text = robot(
        link("base", ""), link("one", inertial("1", tensor=rod, origin='xyz="0 0 0"')),
        link("two", inertial("3", tensor=rod, origin='xyz="0 0 0"')),
        joint("a", "base", "one"), fixed("f", "one", "two", xyz="0.3 0 0", rpy="0 0 1.5707963267948966"),
    )  # fmt: skip
    body = chain_of(text).joints[0].inertia
    assert body.mass == 4.0
    np.testing.assert_allclose(body.com, (0.225, 0, 0), atol=1e-16)
    # The quarter turn about z exchanges x and y; the parallel axes add about y and z.
    across = 1 * 0.225**2 + 3 * 0.075**2
    expected = np.diag([0.01 + 0.02, 0.02 + 0.01 + across, 0.025 + 0.025 + across])
    np.testing.assert_allclose(body.tensor, expected, atol=1e-16)  # one rounding of numbers near 0.1


def turned_tensor(R, moments):
    I_L = R @ np.diag(moments) @ R.T
    names = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
    return " ".join(f'{name}="{float(I_L[index])!r}"' for name, index in names.items())


def test_tensor_is_meant_along_the_axes_of_its_origin():
    """Field reports 12 and 14: an inertial frame turned, with the tensor turned to match, changes nothing."""
    angle = 0.7
    R_LI = Rotation.from_rotvec((angle, 0.0, 0.0)).as_matrix()
    moments = (0.01, 0.02, 0.025)
    plain = turned_tensor(np.eye(3), moments)
    turned = turned_tensor(R_LI.T, moments)
    assert_same_torques(
        two_joints(inertial(tensor=plain), inertial(tensor=plain)),
        two_joints(*2 * [inertial(tensor=turned, origin=f'xyz="0.1 0 0" rpy="{angle} 0 0"')]),
    )


def test_inertial_frame_does_not_turn_the_joint_axis():
    """Field report 14."""
    tensor = 'ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.025"'
    turned = inertial(tensor=tensor, origin='xyz="0.1 0 0" rpy="1.5707963267948966 0 0"')
    assert chain_of(two_joints(turned)).joints[0].axis == (0.0, 0.0, 1.0)
    np.testing.assert_allclose(
        chain_of(two_joints(turned)).joints[0].inertia.tensor, np.diag([0.01, 0.025, 0.02]), atol=0
    )


@pytest.mark.parametrize("mass", ["0", "80"])
def test_mass_of_the_base_does_not_matter(mass):
    """Field report 12."""
    moment = "0" if mass == "0" else "1"
    text = two_joints().replace(link("base", ""), link("base", inertial(mass, moment)))
    assert physics_hash(chain_of(text)) == physics_hash(chain_of(two_joints()))


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


# Field reports 26, 27: mimic.


def gripper(kind="prismatic"):
    """A wrist with two fingers side by side, each with a pad; the second follows with -1.5 and an offset."""
    follow = f'<axis xyz="0 1 0"/>{LIMIT}<mimic joint="left" multiplier="-1.5" offset="0.02"/>'
    pads = (
        fixed("p_l", "finger_l", "pad_l", rpy="0.1 0 0"),
        fixed("p_r", "finger_r", "pad_r", rpy="0 0.2 0"),
    )
    return robot(
        *(link(name) for name in ("base", "wrist", "finger_l", "finger_r", "pad_l", "pad_r")), *pads,
        joint("turn", "base", "wrist", rpy="1 0 0"),
        joint("left", "wrist", "finger_l", kind, f'<axis xyz="0 1 0"/>{LIMIT}', rpy="0.3 0 0.2"),
        joint("right", "wrist", "finger_r", kind, follow, rpy="0 0.4 0"),
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic"])
@pytest.mark.parametrize(("tip", "coordinates"), [("pad_l", ("turn", "left")), ("pad_r", ("turn", "right"))])
def test_gripper_is_honoured_whichever_finger_is_the_tip(tmp_path, kind, tip, coordinates):
    """Field reports 26 and 27: both fingers count, as in Pinocchio on the whole robot with q_r = -1.5 "
    "q_l + 0.02."""
    text = gripper(kind)
    tree = parse_robot(text)
    chain = serial_chain(tree, tip)
    assert chain.coordinates == coordinates
    witness, model = PinocchioChain(text, tree, chain), generated_model(chain, tmp_path)
    for state in STATES:
        expected = witness.inverse_dynamics(*state)
        # A few hundred roundings of numbers near 100, more on the way back from a finger.
        np.testing.assert_allclose(inverse_dynamics(chain, *state), expected, atol=1e-12)
        np.testing.assert_allclose(model.inverse_dynamics(*state), expected, atol=1e-12)


def test_follower_off_the_path_is_reported():
    """Field report 26: never a free joint in silence."""
    chain = chain_of(gripper(), tip="pad_l")
    assert [f.message for f in chain.findings if f.code == "KD609"] == [
        "moves with 'left': q = -1.5 * its position + 0.02; its inertia and effort go to that coordinate"
    ]
    assert [(j.name, j.multiplier, j.back) for j in chain.joints] == [
        ("turn", 1.0, False),
        ("right", -1.5, False),
        ("right (back)", 1.5, True),
        ("left", 1.0, False),
    ]


def test_leader_off_the_path_is_reported():
    """Field report 26."""
    chain = chain_of(gripper(), tip="pad_r")
    assert [f.message for f in chain.findings if f.code == "KD608"] == [
        "it follows 'left', which is off the path to the tip: the coordinate is its own, and 'left' "
        "moves with it"
    ]


def test_tip_beyond_a_way_back_is_where_it_was():
    """A follower on the last body: the chain ends with the way back, and the tip's frame is seen from "
    "there."""
    text = gripper().replace("</robot>", link("end", "") + fixed("e", "finger_l", "end") + "</robot>")
    text = text.replace(
        'parent link="wrist"/><child link="finger_r"', 'parent link="finger_l"/><child link="finger_r"'
    )
    chain = chain_of(text, tip="end")
    assert [j.name for j in chain.joints] == ["turn", "left", "right", "right (back)"]
    right = chain.joints[2]
    R = np.array(right.R_PJ) @ np.array(chain.R_BT)
    p = np.array(right.p_PoJo_P) + np.array(right.R_PJ) @ np.array(chain.p_BoTo_B)
    np.testing.assert_allclose(R, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(p, (0.3, 0, 0), atol=1e-15)


def test_joint_that_is_called_like_a_way_back_keeps_its_name():
    text = gripper().replace('name="turn"', 'name="right (back)"')
    assert [j.name for j in chain_of(text, tip="pad_l").joints if j.back] == ["right (back)'"]


def test_follower_of_a_leader_that_stands_is_lumped_and_reported():
    chain = chain_of(gripper(), tip="wrist")
    assert [f.message for f in chain.findings if f.code == "KD604"] == [
        "off the chain: everything from it on is lumped as rigid at 0.0 m",
        "a follower off the chain: everything from it on is lumped as rigid at 0.02 m",
    ]


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic"])
def test_follower_on_the_chain_gives_its_effort_to_its_leader(kind):
    """Field report 27: q_b = m q_a + offset and tau = tau_a + m tau_b, against the same arm without mimic."""
    inside = f'<axis xyz="0 1 0.5"/>{LIMIT}'
    follow = inside + '<mimic joint="a" multiplier="-1.5" offset="0.25"/>'
    parts = [link("base"), link("one"), link("two"), joint("a", "base", "one", kind, inside)]
    led = chain_of(robot(*parts, joint("b", "one", "two", kind, follow)))
    free = chain_of(robot(*parts, joint("b", "one", "two", kind, inside)))
    assert led.coordinates == ("a",)
    for q, qd, qdd in np.random.default_rng(27).uniform(-2, 2, (10, 3)):
        tau_a, tau_b = inverse_dynamics(free, (q, -1.5 * q + 0.25), (qd, -1.5 * qd), (qdd, -1.5 * qdd))
        (tau,) = inverse_dynamics(led, [q], [qd], [qdd])
        assert tau == pytest.approx(tau_a - 1.5 * tau_b, abs=1e-12)  # roundings of numbers near 100


def test_follower_of_a_follower_is_traced_to_the_joint_that_leads():
    parts = [link(name) for name in ("base", "one", "two", "three")]
    joints = [
        joint("c", "two", "three", inside=f'{LIMIT}<mimic joint="b" multiplier="2" offset="1"/>'),
        joint("b", "one", "two", inside=f'{LIMIT}<mimic joint="a" multiplier="3" offset="4"/>'),
        joint("a", "base", "one", inside=LIMIT),
    ]
    chain = chain_of(robot(*parts, *joints))
    assert [(j.coordinate, j.multiplier, j.offset) for j in chain.joints] == [(0, 1, 0), (0, 3, 4), (0, 6, 9)]


def test_joints_that_share_a_leader_off_the_path_share_a_coordinate():
    follow = '<axis xyz="0 1 0"/><mimic joint="thumb" multiplier="{}" offset="{}"/>'
    text = robot(
        link("base"), link("thumb_link"), link("one"), link("two"), joint("thumb", "base", "thumb_link"),
        joint("a", "base", "one", inside=follow.format(2, 1)),
        joint("b", "one", "two", inside=follow.format(6, 5)),
    )  # fmt: skip
    chain = chain_of(text, tip="two")
    assert chain.coordinates == ("a",)
    # q_a = 2 q_thumb + 1, so that q_thumb = q_a / 2 - 1/2, and q_b = 6 q_thumb + 5 = 3 q_a + 2.
    assert [(j.name, j.multiplier, j.offset) for j in chain.joints] == [
        ("thumb", 0.5, -0.5),
        ("thumb (back)", -0.5, 0.5),
        ("a", 1.0, 0.0),
        ("b", 3.0, 2.0),
    ]


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
        "its name and 'j 1' become the same word in tools that replace special characters"
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
        "effort limit absent or 0, taken as unknown (nothing is clamped), for 'a', 'b'",
        "velocity limit absent or 0, taken as unknown (nothing is clamped), for 'a', 'b'",
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
