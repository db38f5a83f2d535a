"""Common-normal frames and regrouped inertias: the same robot, the same torques."""

import math
from dataclasses import replace

import numpy as np
import pytest
from random_chains import random_chain, random_gravity, random_state
from scipy.spatial.transform import Rotation

from kane_dynamics_ros.algebra import apply
from kane_dynamics_ros.description.model import Chain
from kane_dynamics_ros.formulation.dual import sine_cosine
from kane_dynamics_ros.formulation.kane.dynamics import segment_efforts
from kane_dynamics_ros.formulation.kane.frames import reframe
from kane_dynamics_ros.formulation.kane.segments import Segment, regroup, segments_of


def torques(segments: tuple[Segment, ...], state: tuple[np.ndarray, ...], gravity: tuple) -> np.ndarray:
    return np.array(segment_efforts(segments, *state, gravity, sine_cosine))


def turned(chain: Chain, turns: list[tuple[float, float, float]]) -> Chain:
    """The chain with every joint frame turned by Euler angles relative to its parent, axes all z."""
    joints = []
    for joint, angles in zip(chain.joints, turns, strict=True):
        R = Rotation.from_euler("xyz", angles).as_matrix()
        joints.append(replace(joint, R_PJ=tuple(map(tuple, R.tolist())), axis=(0.0, 0.0, 1.0)))
    return replace(chain, joints=tuple(joints))


QUARTER = math.pi / 2
GEOMETRIES = {
    "parallel": [(0, 0, 0.3)] * 4,
    "crossed": [(QUARTER, 0, 0), (-QUARTER, 0, 0.4), (QUARTER, 0, 0), (QUARTER, 0, 1.0)],
    "mixed": [(0, 0, 0), (QUARTER, 0, 0), (0, 0, 0.2), (math.pi, 0, 0)],
    "almost parallel": [(0, 0, 0), (1e-6, 0, 0.1), (0, 3e-9, 0.2), (1e-12, 0, 0)],
    "printed with six digits": [(1.5708, 0, 0), (-1.5708, 3.14159, 0), (0, 1.5708, 0), (1.5708, 0, 0)],
    "oblique": [(0.7, -0.4, 0.1), (1.2, 0.3, 0.2), (-0.9, 1.1, 2.0), (0.2, -2.0, 0.5)],
}


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("prismatic", [0.0, 0.5])
@pytest.mark.parametrize("keep", ["none", "x", "y"])
def test_reframed_and_regrouped_chains_need_the_same_torques(
    geometry: str, prismatic: float, keep: str
) -> None:
    """Rounding alone may differ; the far feet of almost parallel axes would show here as 1e-6."""
    rng = np.random.default_rng(5)
    chain = turned(random_chain(rng, 4, prismatic=prismatic), GEOMETRIES[geometry])
    state, gravity = random_state(rng, 4), random_gravity(rng)
    expected = torques(segments_of(chain), state, gravity)
    reframed = reframe(chain)
    kept = [keep if keep != "none" and _lever(s, keep) else "none" for s in reframed.segments]
    lean = regroup(reframed.segments, kept)
    found = torques(lean, state, apply(reframed.R_0R, gravity))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_origins_of_a_shoulder_stay_where_its_axes_meet() -> None:
    """Three axes through one point; the fourth passes the third 0.3 m up, and only there is a step."""
    rng = np.random.default_rng(4)
    chain = turned(random_chain(rng, 4, prismatic=0.0), GEOMETRIES["crossed"])
    steps = [(0.2, 0.1, 0.5), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.1, 0.0, 0.3)]
    joints = [replace(j, p_PoJo_P=step) for j, step in zip(chain.joints, steps, strict=True)]
    found = [segment.p_PoJo_P for segment in reframe(replace(chain, joints=tuple(joints))).segments]
    assert found[:3] == [(0.0, 0.0, 0.0)] * 3
    np.testing.assert_allclose(found[3], (0.1 * math.cos(1.0), 0.0, 0.3), atol=1e-15)


def _lever(segment: Segment, keep: str) -> bool:
    return not segment.prismatic and abs(segment.p_PoJo_P["xy".index(keep)]) > 1e-3


@pytest.mark.parametrize("collinear", [True, False])
def test_axes_that_coincide_or_meet_are_framed(collinear: bool) -> None:
    rng = np.random.default_rng(8)
    chain = random_chain(rng, 3, prismatic=0.0)
    turns = [(0, 0, 0)] * 3 if collinear else [(0, 0, 0), (QUARTER, 0, 0), (QUARTER, 0, 0)]
    joints = [replace(joint, p_PoJo_P=(0.0, 0.0, 0.0)) for joint in turned(chain, turns).joints]
    chain = replace(chain, joints=tuple(joints))
    state, gravity = random_state(rng, 3), random_gravity(rng)
    reframed = reframe(chain)
    expected = torques(segments_of(chain), state, gravity)
    found = torques(reframed.segments, state, apply(reframed.R_0R, gravity))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_seven_of_ten_parameters_are_left_to_a_body_on_a_revolute_joint() -> None:
    chain = random_chain(np.random.default_rng(3), 5, prismatic=0.0)
    for segment in regroup(reframe(chain).segments, ["none"] * 5):
        m, _, _, h_z, *_, S_zz = segment.body.values()
        assert (m, h_z, S_zz) == (0.0, 0.0, 0.0)


def test_a_body_on_a_prismatic_joint_keeps_no_second_moments() -> None:
    chain = random_chain(np.random.default_rng(3), 5, prismatic=1.0)
    for segment in regroup(reframe(chain).segments, ["none"] * 5):
        assert segment.body.second == (0.0,) * 6


def test_the_last_frame_points_to_the_centre_of_mass() -> None:
    chain = random_chain(np.random.default_rng(4), 3, prismatic=0.0)
    assert reframe(chain).segments[-1].body.moment[1] == 0.0


@pytest.mark.parametrize("sine", [1e-12, 1e-6, 1.2e-4, 1e-3, 9e-3, 2e-2])
def test_frames_of_calibrated_robots_stay_near(sine: float) -> None:
    """Axes that calibration made a little oblique: feet kilometres away would cost half of the digits."""
    rng = np.random.default_rng(0)
    tilts = [(0, 0, 0), (sine, 0, 0), (0, sine, 0), (sine, 0, 0)]
    chain = turned(random_chain(rng, 4, prismatic=0.0), tilts)
    steps = np.linalg.norm([joint.p_PoJo_P for joint in chain.joints], axis=1)
    reframed = np.linalg.norm([segment.p_PoJo_P for segment in reframe(chain).segments], axis=1)
    assert reframed.max() < 100 * steps.max()  # 100: one over the sine from which feet are used


def test_a_base_at_map_coordinates_changes_no_digit() -> None:
    """Torques depend on the chain beyond the first joint alone."""
    chain = random_chain(np.random.default_rng(4), 4)
    far = replace(chain.joints[0], p_PoJo_P=(4e5, 5.6e6, 120.0))  # [m], as in a UTM zone
    near = replace(chain.joints[0], p_PoJo_P=(0.0, 0.0, 0.0))
    framed = [reframe(replace(chain, joints=(first, *chain.joints[1:]))) for first in (far, near)]
    assert framed[0].segments == framed[1].segments
