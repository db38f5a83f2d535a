"""A last body whose centre of mass lies almost on an oblique last axis."""

import math

import numpy as np
import pinocchio
import pytest

from kane_dynamics_ros.algebra import apply
from kane_dynamics_ros.description import parse_robot, serial_chain
from kane_dynamics_ros.description.model import IDENTITY
from kane_dynamics_ros.formulation.dual import sine_cosine
from kane_dynamics_ros.formulation.kane import frames
from kane_dynamics_ros.formulation.kane.dynamics import segment_efforts
from kane_dynamics_ros.formulation.kane.frames import FrameError, orthonormal, reframe

BODY = (
    '<link name="{}"><inertial><origin xyz="{} 0 {}"/><mass value="1"/><inertia ixx="0.001" iyy="0.001" '
    'izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
JOINT = (
    '<joint name="{}" type="revolute"><parent link="{}"/><child link="{}"/><origin xyz="{} 0 0" rpy="{}"/>'
    '<axis xyz="0 0 1"/><limit lower="-3" upper="3" velocity="1" effort="100"/></joint>'
)
DISTANCES = [0.0, 1e-9, 1e-11, 2e-13, *np.logspace(-16, -3, 53)]  # [m] from the last axis


def two_bodies(distance: float, rpy: str) -> str:
    return (
        '<robot name="two"><link name="base"/>'
        + BODY.format("one", 0.1, 0)
        + BODY.format("two", float(distance), 0.1)
        + JOINT.format("j1", "base", "one", 0, "1.5708 0 0")
        + JOINT.format("j2", "one", "two", 0.2, rpy)
        + "</robot>"
    )


@pytest.mark.parametrize("rpy", ["1.2 0.3 0", "-1.5708 0 0"])
@pytest.mark.parametrize("distance", DISTANCES)
def test_torques_agree_with_pinocchio_however_near_the_centre_lies_to_the_axis(distance, rpy):
    """Rounding of a few dozen operations: 1e-13 of the largest torque."""
    text = two_bodies(distance, rpy)
    model = pinocchio.buildModelFromXML(text)
    data = model.createData()
    reframed = reframe(serial_chain(parse_robot(text)))
    for state in np.random.default_rng(0).uniform(-2, 2, (5, 3, 2)):
        gravity = apply(reframed.R_0R, (0.0, 0.0, -9.81))
        found = np.array(segment_efforts(reframed.segments, *state, gravity, sine_cosine), float)
        expected = pinocchio.rnea(model, data, *state)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.abs(expected).max())


@pytest.mark.parametrize("angle", [1.0, 1e-3, 1e-7, 1e-11, 1e-15])
def test_a_frame_made_from_two_directions_is_orthonormal_however_near_they_are(angle):
    z = np.array((0.36, 0.48, 0.8))
    across = np.array((0.8, -0.6, 0.0))
    R = np.array(orthonormal(tuple(math.cos(angle) * z + math.sin(angle) * across), tuple(3.0 * z)))
    np.testing.assert_allclose(R @ R.T, np.eye(3), rtol=0, atol=4e-16)
    np.testing.assert_allclose(R[:, 2], z, rtol=0, atol=2e-16)
    assert np.linalg.det(R) > 0


def test_a_skew_frame_is_never_handed_on(monkeypatch):
    skew = ((1.0, 1e-9, 0.0), *IDENTITY[1:])
    monkeypatch.setattr(frames, "orthonormal", lambda x, z: skew)
    with pytest.raises(FrameError) as caught:
        reframe(serial_chain(parse_robot(two_bodies(0.1, "1.2 0.3 0"))))
    assert caught.value.joint in ("j1", "j2")
    assert caught.value.error == pytest.approx(1e-9)
