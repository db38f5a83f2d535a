"""The 5-DOF manipulator of [Malvezzi2017]: its xacro, its expansion, and the paper's Table 2 and eq. (19)."""

from pathlib import Path

import numpy as np
import pytest
from chain_torques import inverse_dynamics
from scipy.spatial.transform import Rotation

from kane_dynamics_ros.description import load_robot, parse_robot, physics_hash, serial_chain
from kane_dynamics_ros.description.xml_tree import parse_xml

URDF = Path(__file__).parents[2] / "urdf" / "manipulator_5dof.urdf"


@pytest.fixture(scope="module")
def chain():
    return serial_chain(load_robot(URDF))


def contents(element):
    """An element without lines: another xacro version may lay the text out otherwise."""
    children = [contents(child) for child in element.children]
    return (element.tag, element.attributes, element.text.strip(), children)


def test_committed_urdf_is_what_xacro_makes_of_the_source():
    import xacro

    expanded = xacro.process_file(str(URDF) + ".xacro").toprettyxml(indent="  ")
    assert contents(parse_xml(expanded)) == contents(parse_xml(URDF.read_bytes()))


def test_xacro_and_urdf_give_the_same_physics(chain):
    assert physics_hash(serial_chain(load_robot(str(URDF) + ".xacro"))) == physics_hash(chain)


def test_joints_turn_about_the_axes_of_table_1(chain):
    assert [(joint.name, joint.axis) for joint in chain.joints] == [
        ("gamma_1", (0.0, 0.0, 1.0)),
        ("alpha_2", (1.0, 0.0, 0.0)),
        ("alpha_3", (1.0, 0.0, 0.0)),
        ("beta_4", (0.0, 1.0, 0.0)),
        ("gamma_4", (0.0, 0.0, 1.0)),
    ]


def test_masses_and_moments_are_those_of_table_2(chain):
    limb_1, limb_2, limb_3, wrist, hand = (joint.inertia for joint in chain.joints)
    assert limb_1.tensor[2][2] == 3.0
    for limb in (limb_2, limb_3):
        assert limb.mass == 3.0
        assert [limb.tensor[k][k] for k in range(3)] == [0.36, 0.07, 0.36]
    assert wrist.mass + hand.mass == 1.0
    assert wrist.com == hand.com == (0.0, 0.0, 0.0)


def centre_of_mass(chain, q, index):
    """Position of a body's centre of mass in the root frame."""
    R, p = np.eye(3), np.zeros(3)
    for joint, angle in zip(chain.joints[: index + 1], q, strict=False):
        p = p + R @ np.array(joint.p_PoJo_P)
        R = R @ np.array(joint.R_PJ) @ Rotation.from_rotvec(angle * np.array(joint.axis)).as_matrix()
    return p + R @ np.array(chain.joints[index].inertia.com)


@pytest.mark.parametrize(("index", "e", "f"), [(1, 0.5, 0.0), (2, 1.0, 0.5), (3, 1.0, 1.0), (4, 1.0, 1.0)])
def test_centres_of_mass_lie_where_equation_19_says(chain, index, e, f):
    for gamma, alpha_2, alpha_3, beta, gamma_4 in np.random.default_rng(1).uniform(-3, 3, (10, 5)):
        reach = e * np.cos(alpha_2) + f * np.cos(alpha_2 + alpha_3)
        height = e * np.sin(alpha_2) + f * np.sin(alpha_2 + alpha_3)
        expected = (-reach * np.sin(gamma), reach * np.cos(gamma), height)
        found = centre_of_mass(chain, (gamma, alpha_2, alpha_3, beta, gamma_4), index)
        np.testing.assert_allclose(found, expected, atol=1e-14)  # a few roundings of numbers near 1


def test_gravity_torque_of_the_stretched_arm_is_the_sum_of_weights_times_arms(chain):
    tau = inverse_dynamics(chain, np.zeros(5), np.zeros(5), np.zeros(5))
    g = 9.81
    expected = [0, g * (3 * 0.5 + 3 * 1.5 + 1 * 2), g * (3 * 0.5 + 1 * 1), 0, 0]
    np.testing.assert_allclose(tau, expected, atol=1e-13)  # roundings of numbers near 80


def test_initial_pose_comes_from_ros2_control(chain):
    assert [joint.initial_position for joint in chain.joints] == [0.0, 0.9, -1.2, 0.3, 0.5]


def test_reference_robot_has_no_doubts():
    findings = serial_chain(parse_robot(URDF.read_text())).findings
    assert [finding for finding in findings if finding.severity != "info"] == []
