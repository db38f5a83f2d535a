"""Rotations and inertia sums against SciPy's rotations and against sums over points."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from small_urdf import two_joints

from kane_dynamics_ros.description import DescriptionError, Inertia, parse_robot, serial_chain
from kane_dynamics_ros.description.geometry import (
    Pose,
    about_origin,
    central_inertia,
    lump,
    moment_about,
    moved_inertia,
    rotation_about,
    rotation_quaternion,
    rotation_rpy,
    sine_cosine,
)

ANGLES = np.random.default_rng(1).uniform(-7, 7, (20, 3)).tolist()
EXACT = 2e-15  # products of a few cosines


@pytest.mark.parametrize("rpy", ANGLES)
def test_rpy_turns_about_the_fixed_axes_x_y_z(rpy):
    expected = Rotation.from_euler("xyz", rpy).as_matrix()  # lower case: fixed axes
    np.testing.assert_allclose(rotation_rpy(*rpy), expected, atol=EXACT)


@pytest.mark.parametrize("rpy", ANGLES)
def test_rotation_about_an_axis(rpy):
    axis = np.array(rpy) / np.linalg.norm(rpy)
    expected = Rotation.from_rotvec(1.3 * axis).as_matrix()
    np.testing.assert_allclose(rotation_about(tuple(axis.tolist()), 1.3), expected, atol=EXACT)


@pytest.mark.parametrize("rpy", ANGLES)
def test_quaternion_of_any_length(rpy):
    rotation = Rotation.from_euler("xyz", rpy)
    x, y, z, w = (3.0 * rotation.as_quat()).tolist()
    np.testing.assert_allclose(rotation_quaternion(x, y, z, w), rotation.as_matrix(), atol=EXACT)


@pytest.mark.parametrize("turns", range(-8, 9))
def test_quarter_turns_are_exact(turns):
    entries = [entry for row in rotation_rpy(turns * math.pi / 2, 0.0, 0.0) for entry in row]
    assert set(entries) <= {0.0, 1.0, -1.0}


def test_quarter_turn_written_with_twelve_digits_stays_as_written():
    """Its sine and cosine are those of the angle in the file: another tool must find the same torques."""
    assert rotation_rpy(1.57079632679, 0.0, 0.0)[1][1] == math.cos(1.57079632679) != 0.0


@pytest.mark.parametrize("turns", [-8, -3, 1, 2, 7])
@pytest.mark.parametrize("offset", [3e-14, 1e-12, 1e-7])
def test_an_angle_that_misses_a_quarter_turn_by_more_than_rounding_stays_as_written(turns, offset):
    angle = turns * math.pi / 2 + offset
    assert sine_cosine(angle) == (math.sin(angle), math.cos(angle))
    assert 0.0 not in sine_cosine(angle)


def body_of_points(points, masses):
    """Mass, centre and central tensor of point masses, by their definitions."""
    com = masses @ points / masses.sum()
    r = points - com
    tensor = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, r, strict=True))
    return Inertia(float(masses.sum()), tuple(com.tolist()), tuple(map(tuple, tensor.tolist())))


def test_lumped_inertia_is_that_of_all_points():
    random = np.random.default_rng(2)
    points, masses = random.uniform(-1, 1, (12, 3)), random.uniform(0.1, 2, 12)
    parts = [body_of_points(points[k : k + 4], masses[k : k + 4]) for k in (0, 4, 8)]
    whole, expected = lump(parts), body_of_points(points, masses)
    assert whole.mass == pytest.approx(expected.mass, rel=1e-15)
    np.testing.assert_allclose(whole.com, expected.com, atol=1e-15)
    np.testing.assert_allclose(whole.tensor, expected.tensor, atol=1e-14)  # sums of terms near 10


def test_moved_inertia_is_that_of_the_moved_points():
    random = np.random.default_rng(3)
    points, masses = random.uniform(-1, 1, (5, 3)), random.uniform(0.1, 2, 5)
    R, p = Rotation.from_euler("xyz", (0.4, 0.5, 0.6)).as_matrix(), random.uniform(-1, 1, 3)
    place = Pose(tuple(map(tuple, R.tolist())), tuple(p.tolist()))
    moved, expected = (
        moved_inertia(place, body_of_points(points, masses)),
        body_of_points(points @ R.T + p, masses),
    )
    np.testing.assert_allclose(moved.com, expected.com, atol=1e-15)
    np.testing.assert_allclose(moved.tensor, expected.tensor, atol=1e-14)


def test_moment_about_a_line_is_the_sum_of_masses_times_squared_distances():
    random = np.random.default_rng(5)
    points, masses = random.uniform(-1, 1, (5, 3)), random.uniform(0.1, 2, 5)
    axis = np.array([0.6, 0.0, 0.8])
    expected = sum(m * np.linalg.norm(np.cross(axis, p)) ** 2 for m, p in zip(masses, points, strict=True))
    found = moment_about(body_of_points(points, masses), tuple(axis.tolist()))
    assert found == pytest.approx(expected, rel=1e-14)


def test_origin_may_be_a_quaternion():
    x, y, z, w = Rotation.from_euler("xyz", (0.1, 0.2, 0.3)).as_quat().tolist()
    text = two_joints()
    turned = text.replace('rpy="0 0 0"', 'rpy="0.1 0.2 0.3"', 1)
    quaternion = text.replace('rpy="0 0 0"', f'quat_xyzw="{x!r} {y!r} {z!r} {w!r}"', 1)
    found, expected = (parse_robot(robot).joints[0].R_PJ for robot in (quaternion, turned))
    np.testing.assert_allclose(found, expected, atol=EXACT)


@pytest.mark.parametrize(
    ("orientation", "found"),
    [
        ('rpy="0 0 0" quat_xyzw="0 0 0 1"', "both rpy and quat_xyzw are given"),
        ('quat_xyzw="0 0 0 0"', "quat_xyzw is 0"),
    ],
)
def test_unclear_orientation_is_refused(orientation, found):
    with pytest.raises(DescriptionError) as caught:
        serial_chain(parse_robot(two_joints().replace('rpy="0 0 0"', orientation, 1), "arm.urdf"))
    assert str(caught.value) == (
        f"arm.urdf:5: joint 'a' <origin>: {found}; give rpy (turns about X, Y, Z in rad), or one "
        f"quaternion of length "
        "1 [KD309]"
    )


def test_a_body_of_its_parameters_about_the_origin_has_these():
    parameters = (2.0, 0.2, -0.1, 0.3, 0.5, 0.01, 0.02, 0.6, -0.03, 0.4)
    np.testing.assert_allclose(about_origin(central_inertia(parameters)), parameters, atol=1e-14)
