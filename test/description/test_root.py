"""A chain that begins at a link of the robot's own choice: an arm on a mobile base."""

import numpy as np
import pytest
from chain_torques import generated_model, inverse_dynamics
from chains_of_text import chain_of
from scipy.spatial.transform import Rotation
from small_urdf import INERTIA, LIMIT, fixed, joint, link, robot
from whole_robot_witness import PinocchioChain

from kane_dynamics_ros.description import (
    DescriptionError,
    check_origin,
    parse_robot,
    physics_hash,
    serial_chain,
)

ARM = (
    link("mount"),
    link("one"),
    link("two"),
    link("tool"),
    joint("a", "mount", "one", rpy="0.4 0.2 0"),
    joint("b", "one", "two", inside=f'<axis xyz="0 1 0"/>{LIMIT}'),
    fixed("flange", "two", "tool"),
)
BASE = (
    link("floor"),
    link("cart", '<inertial><mass value="-3"/></inertial>'),
    link("wheel", '<inertial><mass value="2000"/></inertial>'),
    link("head", ""),
    joint("drive", "floor", "cart", "planar"),
    joint("roll", "cart", "wheel", "continuous"),
    joint("nod", "cart", "head"),
    joint("lift", "cart", "mount", "prismatic", rpy="0 0.3 0"),
)
WITHOUT_BASE = chain_of(robot(*ARM))


@pytest.fixture(scope="module")
def on_base() -> str:
    return robot(*(part.replace('"-3"', '"3"') for part in BASE), *ARM)


def test_the_arm_is_the_same_as_without_its_base(on_base):
    chain = chain_of(on_base, root="mount")
    assert (chain.root, chain.tip, chain.coordinates) == ("mount", "tool", ("a", "b"))
    assert chain.joints == WITHOUT_BASE.joints


def test_nothing_is_said_about_what_the_root_does_not_carry(on_base):
    said = [(f.code, f.element) for f in chain_of(on_base, root="mount").findings if f.severity != "info"]
    without = [(f.code, f.element) for f in WITHOUT_BASE.findings if f.severity != "info"]
    assert said == without
    assert not {"cart", "wheel", "head"} & {
        name for f in chain_of(on_base, root="mount").findings for name in f.message.split("'")
    }


def test_torques_agree_with_the_whole_robot_at_rest(on_base):
    """Pinocchio moves only the arm; a slide turns nothing, so that gravity is known in the root's axes."""
    text = on_base.replace('"planar"', '"fixed"')
    parsed = parse_robot(text)
    chain = serial_chain(parsed, root="mount")
    witness = PinocchioChain(text, parsed, serial_chain(parsed, "tool", lock={"lift": 0.0}))
    R = np.array(((np.cos(0.3), 0, np.sin(0.3)), (0, 1, 0), (-np.sin(0.3), 0, np.cos(0.3))))
    np.testing.assert_allclose(chain.gravity, R.T @ (0, 0, -9.81), rtol=1e-15)
    for state in np.random.default_rng(1).uniform(-2, 2, (5, 3, 2)):
        found = inverse_dynamics(chain, *state, gravity=chain.gravity)
        np.testing.assert_allclose(found, witness.inverse_dynamics(*state), rtol=1e-12, atol=1e-13)


def test_a_module_is_recognised_as_made_from_its_robot_with_its_root_and_locks(tmp_path, on_base):
    model = generated_model(chain_of(on_base, root="mount", lock={"b": 0.5}), tmp_path)
    assert (model.root, model.locked) == ("mount", {"b": 0.5})
    assert check_origin(model, parse_robot(on_base)).matches
    assert check_origin(model, parse_robot(on_base.replace('value="2000"', 'value="1"'))).matches
    other = on_base.replace('xyz="0.1 0 0"', 'xyz="0.1 0.01 0"')
    assert not check_origin(model, parse_robot(other)).matches


def test_a_follower_of_a_joint_of_the_base_is_held_where_its_leader_puts_it():
    arm = (
        *ARM[:4],
        joint("a", "mount", "one", inside=f'<axis xyz="0 0 1"/>{LIMIT}<mimic joint="nod" offset="0.7"/>'),
        *ARM[5:],
    )
    text = robot(*(part.replace('"-3"', '"3"') for part in BASE), *arm)
    chain = chain_of(text, root="mount")
    assert chain.coordinates == ("b",)
    assert [f.element for f in chain.findings if f.code == "KD607"] == ["joint 'a'"]
    np.testing.assert_allclose(chain.joints[0].R_PJ[0], (np.cos(0.7), -np.sin(0.7), 0), atol=1e-15)


@pytest.mark.parametrize(
    ("root", "tip", "code"),
    [
        ("mount", "wheel", "KD611"),
        ("nowhere", None, "KD601"),
        ("tool", None, "KD207"),
        ("two", "one", "KD611"),
    ],
)
def test_a_root_that_leads_nowhere_is_refused(on_base, root, tip, code):
    with pytest.raises(DescriptionError) as caught:
        serial_chain(parse_robot(on_base), tip, root=root)
    assert caught.value.code == code


# Gravity in the root's axes: turned by what is known of the joints above.

TILTED = """<robot name="tilted"><link name="world"/><link name="base"/>
<link name="one">{inertial}</link><link name="two">{inertial}</link>
<joint name="mount" type="{kind}"><parent link="world"/><child link="base"/>
  <origin rpy="1.5708 0 0"/><axis xyz="{axis}"/></joint>
<joint name="a" type="continuous"><parent link="base"/><child link="one"/><axis xyz="0 0 1"/></joint>
<joint name="b" type="continuous"><parent link="one"/><child link="two"/>
  <origin xyz="0.3 0 0"/><axis xyz="0 1 0"/></joint></robot>"""


def tilted(kind="fixed", axis="0 0 1"):
    return TILTED.format(inertial=INERTIA, kind=kind, axis=axis)


def holding(chain, tmp_path):
    return generated_model(chain, tmp_path).gravity([0.3, 0.4])


def test_gravity_turns_with_the_fixed_joints_above_the_root(tmp_path):
    """The figures of a report: the module from the root holds as that of the whole robot does."""
    text = tilted()
    whole, own = chain_of(text), chain_of(text, root="base")
    np.testing.assert_allclose(
        own.gravity, (0.0, -9.81, 0.0), atol=1e-4
    )  # 1.5708 is not quite a quarter turn
    np.testing.assert_allclose(holding(own, tmp_path), holding(whole, tmp_path), rtol=1e-9)
    assert [f.code for f in own.findings if f.code.startswith("KD61")] == ["KD612"]
    upright = chain_of(text.replace("1.5708", "0"), root="base")
    assert physics_hash(own) != physics_hash(upright)
    assert upright.gravity == (0.0, 0.0, -9.81)


@pytest.mark.parametrize(
    ("kind", "axis", "lock", "known"),
    [
        ("revolute", "0 0 1", None, False),
        ("revolute", "0 0 1", {"mount": 0.5}, True),
        ("prismatic", "0 0 1", None, True),
        ("continuous", "0 1 1e-12", None, False),
        ("floating", "0 0 1", None, False),
        ("planar", "0 0 1", None, False),
    ],
)
def test_gravity_is_taken_along_the_roots_axes_where_a_joint_above_may_tilt_it(kind, axis, lock, known):
    chain = chain_of(tilted(kind, axis), root="base", lock=lock)
    said = [f for f in chain.findings if f.code == "KD613"]
    assert len(said) == (not known)
    if known:
        q = 0.5 if lock else 0.0  # Rx(1.5708) Rz(q) from world to root
        expected = Rotation.from_euler("ZX", (-q, -1.5708)).apply((0, 0, -9.81))
        np.testing.assert_allclose(chain.gravity, expected, atol=1e-14)
    else:
        assert chain.gravity == (0.0, 0.0, -9.81)
        assert "--lock mount" in said[0].message


@pytest.mark.parametrize(("kind", "axis"), [("planar", "0 0 1"), ("continuous", "0 0 -1")])
def test_a_base_that_turns_about_the_vertical_keeps_gravity_known(kind, axis):
    """As a mobile base on a level floor."""
    chain = chain_of(tilted(kind, axis).replace("1.5708", "0"), root="base")
    assert chain.gravity == (0.0, 0.0, -9.81)
    assert not [f for f in chain.findings if f.code in ("KD612", "KD613")]
