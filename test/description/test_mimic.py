"""Field reports 26 and 27, and what else followers may be: honoured, or reported."""

import numpy as np
import pytest
from chain_torques import generated_model, inverse_dynamics
from chains_of_text import chain_of
from small_urdf import LIMIT, fixed, joint, link, robot
from whole_robot_witness import PinocchioChain

from kane_dynamics_ros.description import parse_robot, serial_chain
from kane_dynamics_ros.description.judgement import turning_axes

STATES = np.random.default_rng(37).uniform(-2.0, 2.0, (10, 3, 2))


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
    assert [(j.name, j.multiplier, j.parent) for j in chain.joints] == [
        ("turn", 1.0, -1),
        ("right", -1.5, 0),
        ("left", 1.0, 0),
    ]
    assert chain.tip_body == 2


def test_leader_off_the_path_is_reported():
    """Field report 26."""
    chain = chain_of(gripper(), tip="pad_r")
    assert [f.message for f in chain.findings if f.code == "KD608"] == [
        "it follows 'left', which is off the path to the tip: the coordinate is its own, and 'left' "
        "moves with it"
    ]


def test_a_follower_on_the_tips_body_is_not_where_the_tip_is():
    """Field report 26: the chain ends with the finger that carries the tip, whatever else hangs on it."""
    text = gripper().replace("</robot>", link("end", "") + fixed("e", "finger_l", "end") + "</robot>")
    text = text.replace(
        'parent link="wrist"/><child link="finger_r"', 'parent link="finger_l"/><child link="finger_r"'
    )
    chain = chain_of(text, tip="end")
    assert [(j.name, j.parent) for j in chain.joints] == [("turn", -1), ("left", 0), ("right", 1)]
    assert chain.tip_body == 1
    np.testing.assert_allclose(chain.R_BT, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(chain.p_BoTo_B, (0.3, 0, 0), atol=1e-15)


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_a_follower_turns_nothing_but_what_it_carries(kind):
    joints = chain_of(gripper(kind), tip="pad_l").joints
    turns = kind == "revolute"
    assert [len(axes) for axes in turning_axes(joints)] == [1, 1 + turns, 1 + turns]


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


@pytest.mark.parametrize("tip", ["one", "two", "three"])
@pytest.mark.parametrize("multiplier", ["0", "-0.0"])
def test_a_multiplier_of_0_holds_the_follower_at_its_offset(tip, multiplier):
    """On the path, on a branch, and as the tip's own joint: as Pinocchio with that joint held."""
    follow = f'<axis xyz="0 1 0"/>{LIMIT}<mimic joint="a" multiplier="{multiplier}" offset="0.7"/>'
    text = robot(
        link("base"), link("one"), link("two"), link("three"),
        joint("a", "base", "one"), joint("b", "one", "two", inside=follow),
        joint("c", "two", "three", inside=f'<axis xyz="1 0 0"/>{LIMIT}'),
    )  # fmt: skip
    tree = parse_robot(text)
    chain = serial_chain(tree, tip)
    assert chain.coordinates == (("a", "c") if tip == "three" else ("a",))
    witness = PinocchioChain(text, tree, chain)
    for state in STATES[:, :, : len(chain.coordinates)]:
        np.testing.assert_allclose(
            inverse_dynamics(chain, *state), witness.inverse_dynamics(*state), rtol=1e-12, atol=1e-13
        )


def test_the_rotor_of_a_follower_counts_with_its_multiplier_squared(tmp_path):
    """Kinetic energy (J_l + m^2 J_r) u^2 / 2: by the power of both rotors, not from the chain's own sum."""
    text = gripper("revolute").replace('<mimic joint="left"', '<dynamics armature="0.7"/><mimic joint="left"')
    text = text.replace(f"{LIMIT}</joint>", f'{LIMIT}<dynamics armature="0.2"/></joint>')
    chain = serial_chain(parse_robot(text), "pad_l")
    bare = serial_chain(parse_robot(gripper("revolute")), "pad_l")
    with_rotors, without = generated_model(chain, tmp_path / "a"), generated_model(bare, tmp_path / "b")
    q, qdd = np.array([0.3, -0.4]), np.array([1.0, 2.0])
    added = with_rotors.inverse_dynamics(q, 0 * q, qdd) - without.inverse_dynamics(q, 0 * q, qdd)
    np.testing.assert_allclose(added, [0.2 * 1.0, (0.2 + 1.5**2 * 0.7) * 2.0], rtol=1e-12)


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
        ("a", 1.0, 0.0),
        ("b", 3.0, 2.0),
    ]


def test_followers_rub_too(tmp_path):
    """Friction takes the power of both joints together, far above the Coulomb velocity, where tanh is 1."""
    follows = '<dynamics damping="5" friction="7"/><mimic joint="left"'
    text = gripper().replace('<mimic joint="left"', follows)
    text = text.replace(f"{LIMIT}</joint>", f'{LIMIT}<dynamics damping="2" friction="3"/></joint>')
    chain = serial_chain(parse_robot(text), "pad_l")
    left, right = 4.0, 1.5 * 4.0
    u = np.array([0.0, left])
    tau = generated_model(chain, tmp_path).with_urdf_friction().friction(u)
    np.testing.assert_allclose(tau @ u, 2 * left**2 + 3 * left + 5 * right**2 + 7 * right, rtol=1e-14)
