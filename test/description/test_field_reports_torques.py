"""Field reports 39 to 61: torques that were wrong elsewhere; each test names its report.

Torques come from the generated module, run in pure Python; the witness is Pinocchio on the whole URDF, or
physics that can be done by hand.
"""

import numpy as np
import pytest
from chain_torques import generated_model
from example_robots import ROBOTS
from small_urdf import INERTIA, LIMIT, fixed, joint, link, robot, two_joints
from whole_robot_witness import PinocchioChain

from kane_dynamics_ros.description import DescriptionError, load_robot, parse_robot, serial_chain
from kane_dynamics_ros.errors import SingularMassMatrixError

G = 9.81
QUARTER = "1.5707963267948966"
ROUNDING = 1e-12  # relative: a few hundred roundings of 1e-16, with some cancellation


def inertial(
    mass="1", com="0.1 0 0", moments=("0.01", "0.01", "0.01"), products=("0", "0", "0"), rpy="0 0 0"
):
    (xx, yy, zz), (xy, xz, yz) = moments, products
    return (
        f'<inertial><origin xyz="{com}" rpy="{rpy}"/><mass value="{mass}"/>'
        f'<inertia ixx="{xx}" ixy="{xy}" ixz="{xz}" iyy="{yy}" iyz="{yz}" izz="{zz}"/></inertial>'
    )


def about(axis):
    return f'<axis xyz="{axis}"/>{LIMIT}'


@pytest.fixture
def model(tmp_path):
    """Makes the generated model of a URDF text."""
    count = iter(range(100))

    def make(text, tip=None, lock=None):
        return generated_model(serial_chain(parse_robot(text), tip, lock=lock), tmp_path / str(next(count)))

    return make


def states(n, count=5, fast=1.5):
    return np.random.default_rng(n).uniform(-fast, fast, (count, 3, n))


def assert_same(one, other, n, fast=1.5):
    for state in states(n, fast=fast):
        expected = other.inverse_dynamics(*state)
        size = np.abs(expected).max()
        np.testing.assert_allclose(one.inverse_dynamics(*state), expected, rtol=0, atol=ROUNDING * size)


def test_fixed_joints_anywhere_are_as_good_as_lumped_links(model):
    """Field report 39: seven joints, fixed ones at the base, between and after, against Pinocchio."""
    parts, last = [link("world", ""), link("base"), fixed("b", "world", "base", rpy="0.1 0.2 0.3")], "base"
    for k in range(7):
        parts += [link(f"l{k}"), link(f"m{k}"), fixed(f"f{k}", f"l{k}", f"m{k}", rpy="0.4 0 0.2")]
        parts.append(joint(f"j{k}", last, f"l{k}", inside=about("0 0.6 0.8"), rpy="0.3 0.1 0"))
        last = f"m{k}"
    text = robot(*parts)
    tree = parse_robot(text)
    assert_same(model(text), PinocchioChain(text, tree, serial_chain(tree)), 7)


def test_products_of_inertia_are_the_entries_as_written(model):
    """Field report 41: fast motion with all products not zero, against Pinocchio."""
    body = inertial(
        moments=("0.05", "0.06", "0.07"), products=("0.01", "-0.012", "0.013"), com="0.1 -0.05 0.2"
    )
    text = two_joints(body, body, inside=about("0.6 0 0.8"))
    tree = parse_robot(text)
    assert_same(model(text), PinocchioChain(text, tree, serial_chain(tree)), 2, fast=20.0)


def test_joint_made_fixed_leaves_the_others(model):
    """Field report 42: n follows the moving joints; the middle joint of three made fixed, and locked at 0."""
    parts = [link(name) for name in ("base", "one", "two", "three")]
    moving = [
        joint("a", "base", "one"),
        joint("b", "one", "two", inside=about("0 1 0")),
        joint("c", "two", "three"),
    ]
    made_fixed = moving[1].replace('type="revolute"', 'type="fixed"')
    fixed_model = model(robot(*parts, moving[0], made_fixed, moving[2]))
    locked_model = model(robot(*parts, *moving), lock={"b": 0.0})
    assert fixed_model.joint_names == locked_model.joint_names == ("a", "c")
    assert fixed_model.mass_matrix([0.1, 0.2]).shape == (2, 2)
    assert_same(fixed_model, locked_model, 2)


def test_axis_turned_into_z_gives_the_same_torques(model):
    """Field report 44: axis y, and the same joint with its frame turned so that the axis is z."""
    body = {"com": "0.1 0.2 0.3", "moments": ("0.05", "0.06", "0.07")}
    along_y = two_joints(inertial(**body), INERTIA, inside=about("0 1 0"))
    # In the turned frame x' = x, y' = -z, z' = y.
    turned = robot(
        link("base", ""), link("two"),
        link("one", inertial(com="0.1 -0.3 0.2", moments=("0.05", "0.07", "0.06"))),
        joint("a", "base", "one", inside=about("0 0 1"), rpy=f"-{QUARTER} 0 0"),
        joint("b", "one", "two", xyz="0.3 0 0", rpy=f"{QUARTER} 0 0"),
    )  # fmt: skip
    assert_same(model(turned), model(along_y), 2)


def test_vertical_slide_carries_the_whole_weight_above_it(model):
    """Field report 46: an arm on a lifting column with grippers behind fixed joints."""
    text = robot(
        link("base"), link("column"), link("arm"), link("hand"), link("finger_l"), link("finger_r"),
        joint("lift", "base", "column", "prismatic", about("0 0 1")),
        joint("turn", "column", "arm", inside=about("0 1 0")), fixed("f", "arm", "hand"),
        joint("left", "hand", "finger_l", "prismatic", about("0 1 0")),
        joint("right", "hand", "finger_r", "prismatic", about("0 -1 0")),
    )  # fmt: skip
    lifted = model(text, tip="hand")
    for q in ([0.0, 0.0], [0.3, 0.8], [0.1, -2.0]):
        assert lifted.gravity(q)[0] == pytest.approx(5 * 1.0 * G, rel=ROUNDING)


def test_tiago_lifts_its_whole_upper_body(tmp_path):
    """Field report 46, on the robot's own file: the torso's effort is the weight of all that moves."""
    chain = serial_chain(load_robot(ROBOTS / "tiago_description/robots/tiago_no_hand.urdf"), "arm_7_link")
    weight = G * sum(body.inertia.mass for body in chain.joints)
    tau = generated_model(chain, tmp_path).gravity(np.full(len(chain.coordinates), 0.3))
    assert tau[0] == pytest.approx(weight, rel=ROUNDING)


def test_torque_holds_the_arm_and_is_positive_along_the_axis(model):
    """Field report 47: 1 kg at 0.1 m along x, axis -y lifts it: +0.981 N m at the motor."""
    arm = model(robot(link("base"), link("one"), joint("a", "base", "one", inside=about("0 -1 0"))))
    assert arm.gravity([0.0]) == pytest.approx([0.1 * G], rel=ROUNDING)


@pytest.mark.parametrize(("gravity", "sign"), [((0, 0, -G), 1), ((0, 0, G), -1)])
def test_gravity_is_the_acceleration_of_free_fall(model, gravity, sign):
    """Field report 49: a hanging mass turned out by a quarter turn wants to swing down."""
    arm = model(robot(link("base"), link("one"), joint("a", "base", "one", inside=about("0 -1 0"))))
    tau = arm.with_parameters(gravity=gravity).gravity([0.0])
    assert tau == pytest.approx([sign * 0.1 * G], rel=ROUNDING)


def test_inertial_torque_reverses_where_the_motion_brakes(tmp_path):
    """Field report 51: UR10, first joint from 0 to pi/2 at rest to rest: accelerating +, braking -."""
    model = generated_model(
        serial_chain(load_robot(ROBOTS / "ur_description/urdf/ur10_robot.urdf")), tmp_path
    )
    time = np.linspace(0.0, 1.0, 21)
    # Quintic from rest to rest: s = 10 t^3 - 15 t^4 + 6 t^5.
    swing = np.zeros((3, 21, 6))
    swing[0, :, 1] = -1.0
    swing[0, :, 0] = np.pi / 2 * (10 * time**3 - 15 * time**4 + 6 * time**5)
    swing[1, :, 0] = np.pi / 2 * (30 * time**2 - 60 * time**3 + 30 * time**4)
    swing[2, :, 0] = np.pi / 2 * (60 * time - 180 * time**2 + 120 * time**3)
    tau = model.inverse_dynamics(*swing)[:, 0]
    assert (tau[1:10] > 0.0).all()
    assert (tau[11:20] < 0.0).all()


def mounted(rpy):
    """An arm of two level-ish joints on a base that is fixed to the world with a rotation."""
    return robot(
        link("world", ""), link("base"), link("one", inertial(com="0.1 0.02 0.03")), link("two"),
        fixed("mount", "world", "base", rpy=rpy), joint("a", "base", "one"),
        joint("b", "one", "two", inside=about("0 1 0")),
    )  # fmt: skip


@pytest.mark.parametrize("rpy", [f"{QUARTER} 0 0", f"0 {QUARTER} 0", "0.3 -0.4 0.5"])
def test_mounting_in_the_urdf_and_gravity_parameter_agree(model, rpy):
    """Field reports 52 and 61: the base fixed sideways, or gravity turned into its axes."""
    chain = serial_chain(parse_robot(mounted(rpy)))
    R_WB = np.array(chain.joints[0].R_PJ)
    upright = model(mounted("0 0 0")).with_parameters(gravity=R_WB.T @ (0, 0, -G))
    assert_same(model(mounted(rpy)), upright, 2)


def test_sideways_mounting_loads_the_first_joint(model):
    """Field report 52: about the vertical axis gravity asks nothing, about the level one it does."""
    assert model(mounted("0 0 0")).gravity([0.3, 0.4])[0] == pytest.approx(0.0, abs=1e-14)
    assert abs(model(mounted(f"{QUARTER} 0 0")).gravity([0.3, 0.4])[0]) > 1.0


def test_massless_fingers_have_torques_and_no_forward_dynamics(model):
    """Field report 54: their own torque is 0; forward dynamics names the joint instead of giving NaN."""
    text = two_joints(second=inertial(mass="0", moments=("0", "0", "0")), inside=about("0 1 0"))
    made = model(text)
    state = np.array(((0.3, -0.2), (0.5, 0.1), (1.0, 2.0)))
    tree = parse_robot(text)
    expected = PinocchioChain(text, tree, serial_chain(tree)).inverse_dynamics(*state)
    np.testing.assert_allclose(made.inverse_dynamics(*state), expected, rtol=0, atol=1e-14)
    assert expected[1] == 0.0
    with pytest.raises(SingularMassMatrixError, match="'b'"):
        made.forward_dynamics(state[0], state[1], (0.0, 0.0))
    with pytest.raises(DescriptionError, match=r"joint 'b' moves no inertia: .*\[KD404\]"):
        serial_chain(tree, strict=True)


def test_body_fixed_after_the_last_joint_counts_with_its_centre_and_inertia(model):
    """Field report 56: half a kilogram off centre, turned; against Pinocchio."""
    tool = inertial("0.5", com="0.02 -0.03 0.1", moments=("0.002", "0.003", "0.004"))
    text = two_joints(inside=about("0 1 0")).replace(
        "</robot>", link("tool", tool) + fixed("t", "two", "tool", rpy="0.5 0.6 0.7") + "</robot>"
    )
    tree = parse_robot(text)
    held, bare = model(text), model(two_joints(inside=about("0 1 0")))
    assert_same(held, PinocchioChain(text, tree, serial_chain(tree)), 2)
    assert abs(held.gravity([0.0, 0.0]) - bare.gravity([0.0, 0.0]))[0] > 1.0


def test_rotor_inertia_is_on_the_diagonal_once(model):
    """Field report 57: 1e-4 kg m^2 behind 100 to 1 adds 1 kg m^2, and to nothing else."""
    motor = (
        '<transmission name="t"><joint name="a"/><actuator name="m"><rotorInertia>1e-4</rotorInertia>'
        "<mechanicalReduction>100</mechanicalReduction></actuator></transmission>"
    )
    q = [0.3, 0.4]
    difference = model(two_joints().replace("</robot>", motor + "</robot>")).mass_matrix(q)
    difference = difference - model(two_joints()).mass_matrix(q)
    np.testing.assert_allclose(difference, [[1.0, 0.0], [0.0, 0.0]], atol=1e-15)


def test_friction_is_smooth_at_rest_and_off_until_asked_for(model):
    """Field reports 37 and 59: no chatter from noise of 1e-4 rad/s, zero at rest."""
    text = two_joints(inside=about("0 0 1") + '<dynamics damping="1" friction="1"/>')
    plain = model(text)
    rubbing = plain.with_urdf_friction()
    assert plain.friction([0.5, 0.0]) == pytest.approx([0.0, 0.0])
    assert rubbing.friction([0.0, 0.0]) == pytest.approx([0.0, 0.0])
    assert rubbing.friction([0.5, 0.0])[0] == pytest.approx(1.5, rel=1e-3)  # tanh is within 1e-3 of 1 there
    assert np.abs(rubbing.friction([1e-4, 0.0])).max() < 0.02
