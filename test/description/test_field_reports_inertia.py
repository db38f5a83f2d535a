"""Field reports 1 to 14: what <inertial> says, and what its absence means; each test names its report."""

import numpy as np
import pytest
from chain_torques import inverse_dynamics
from chains_of_text import chain_of, codes, notes
from scipy.spatial.transform import Rotation
from small_urdf import INERTIA, LIMIT, fixed, joint, link, robot, two_joints

from kane_dynamics_ros.description import DescriptionError, physics_hash

STATES = np.random.default_rng(37).uniform(-2.0, 2.0, (10, 3, 2))


def assert_same_torques(text, other):
    """Two URDFs of two joints with the same torques at random states."""
    one, two = chain_of(text), chain_of(other)
    for state in STATES:
        # A few roundings of numbers near 10.
        np.testing.assert_allclose(inverse_dynamics(one, *state), inverse_dynamics(two, *state), atol=1e-13)


def inertial(mass="1", moment="0.01", origin='xyz="0.1 0 0"', tensor=None):
    tensor = tensor or f'ixx="{moment}" ixy="0" ixz="0" iyy="{moment}" iyz="0" izz="{moment}"'
    return f'<inertial><origin {origin}/><mass value="{mass}"/><inertia {tensor}/></inertial>'


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


@pytest.mark.parametrize("index", range(1, 6))
def test_inertia_that_no_body_has_names_its_link(index):
    """Field report 7: six links, each in turn broken; of the first only the moment about its axis acts."""
    broken = inertial(tensor='ixx="0.1" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"')
    links = [link(f"l{k}", broken if k == index else INERTIA) for k in range(6)]
    axes = [f'<axis xyz="0 {k % 2} {1 - k % 2}"/>{LIMIT}' for k in range(6)]
    joints = [joint(f"j{k}", f"l{k - 1}" if k else "base", f"l{k}", inside=axes[k]) for k in range(6)]
    text = robot(link("base", ""), *links, *joints)
    found = [(f.line, f.element) for f in chain_of(text).findings if f.code == "KD403"]
    assert found == [(index + 3, f"link 'l{index}'")]
    with pytest.raises(DescriptionError) as caught:
        chain_of(text, strict=True)
    assert (caught.value.code, caught.value.place.line) == ("KD403", index + 3)


def test_lost_decimal_point_is_warned_of():
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
