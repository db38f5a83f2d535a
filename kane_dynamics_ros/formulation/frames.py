"""Body frames on the common normals of successive joint axes (modified Denavit-Hartenberg).

The same chain, framed so that equations come out short: z_j along joint axis j, x_j along the common
normal of axes j and j+1, the origin at its foot. Then frame j follows frame j-1 by a turn alpha about x,
a step along x, and the joint's own turn and step about z. Any geometry is accepted: where two axes are
almost but not quite parallel, their common normal lies far off, and a general rotation is kept instead.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.description.model import IDENTITY, Chain, Matrix
from kane_dynamics_ros.formulation.base_parameters import without_rounding
from kane_dynamics_ros.formulation.segments import BodyInertia, Segment, moved, segments_of

Array = NDArray[np.float64]

SNAP = 1e-11  # direction cosines this near to 0 or +-1 are written exactly; torques change by as little
NEARLY_PARALLEL = 1e-4  # sine below which the common normal is not used: its foot would be far away


@dataclass(frozen=True)
class Reframed:
    """Segments in common-normal frames, and how the root and tip frames sit in them.

    ``R_0R``: orientation of the root link's frame R in frame 0, which takes gravity into frame 0.
    ``links``: for each segment (R_BL, p_BoLo_B), the URDF link frame in the new body frame.
    """

    segments: tuple[Segment, ...]
    R_0R: Array
    links: tuple[tuple[Array, Array], ...]


def rotation_to_z(axis: Array) -> Array:
    """A rotation whose third column is the given unit axis."""
    z = axis
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def zero_pose(segments: Sequence[Segment]) -> list[tuple[Array, Array]]:
    """(R_RL, p_RoLo_R) of each body's link frame in the root frame, every joint at position 0."""
    R, p = np.eye(3), np.zeros(3)
    poses = []
    for segment in segments:
        p = p + R @ np.array(segment.p_PoJo_P, dtype=float)
        R = R @ np.array(segment.R_PJ, dtype=float)
        poses.append((R, p))
    return poses


def common_normal_frames(segments: Sequence[Segment]) -> list[tuple[Array, Array]]:
    """(R_RB, p_RoBo_R) of the new body frames in the root frame, every joint at position 0."""
    poses = zero_pose(segments)
    axes = [R @ np.array(s.axis, dtype=float) for s, (R, _) in zip(segments, poses, strict=True)]
    frames: list[tuple[Array, Array]] = [(rotation_to_z(axes[-1]), poses[-1][1])]
    for j in range(len(segments) - 2, -1, -1):
        z, point = axes[j], poses[j][1]
        R_next, next_origin = frames[0]
        x, origin, foot_on_next = _common_normal(z, point, axes[j + 1], next_origin, R_next[:, 0])
        if j == len(segments) - 2:  # the last frame may slide along its axis to the foot
            frames[0] = (_last_frame(segments[-1], axes[-1], poses[-1]), foot_on_next)
        frames.insert(0, (np.column_stack([x, np.cross(z, x), z]), origin))
    if len(segments) == 1:
        frames[0] = (_last_frame(segments[0], axes[0], poses[0]), poses[0][1])
    return frames


def _last_frame(segment: Segment, axis: Array, pose: tuple[Array, Array]) -> Array:
    """The last frame may turn about its axis: x towards the centre of mass, so that h_y = 0."""
    R, _ = pose
    h = R @ np.array(segment.body.moment, dtype=float)
    across = h - axis * float(axis @ h)
    if np.linalg.norm(across) <= 1e-12 * np.linalg.norm(h):
        return rotation_to_z(axis)
    x = across / np.linalg.norm(across)
    return np.column_stack([x, np.cross(axis, x), axis])


def _common_normal(
    z: Array, point: Array, z_next: Array, point_next: Array, x_next: Array
) -> tuple[Array, Array, Array]:
    """x_j, the origin on axis j, and the foot on axis j+1."""
    normal = np.cross(z, z_next)
    sine = float(np.linalg.norm(normal))
    if sine > NEARLY_PARALLEL:
        x = normal / sine
        step = point_next - point
        origin = point + z * (np.cross(step, z_next) @ normal / sine**2)
        foot = point_next + z_next * (np.cross(step, z) @ normal / sine**2)
        return x, origin, foot
    step = point_next - point
    origin = point + z * (z @ step)  # where the next origin projects onto axis j
    across = point_next - origin
    distance = float(np.linalg.norm(across))
    if distance > 1e-9:
        x = across - z * (z @ across)
        return x / np.linalg.norm(x), origin, point_next
    x = x_next - z * (z @ x_next)
    return x / np.linalg.norm(x), origin, point_next


def snapped(values: Array) -> Array:
    """Direction cosines with the last digits of 0 and +-1 cleaned."""
    nearest = np.round(values)
    return np.where(np.abs(values - nearest) < SNAP, nearest, values) + 0.0


def reframe(chain: Chain) -> Reframed:
    """The chain in common-normal frames; inertias and placements follow, the physics does not change.

    Frame 0 is the root's frame turned so that z_0 is the first joint's axis.
    """
    old = segments_of(chain)
    poses, frames = zero_pose(old), common_normal_frames(old)
    R_R0, previous = frames[0][0], (frames[0][0], frames[0][1])
    segments, links = [], []
    size = max(float(np.linalg.norm(b[1] - a[1])) for a, b in itertools.pairwise([frames[0], *frames]))
    for segment, (R_RL, p_L), (R_RB, p_B) in zip(old, poses, frames, strict=True):
        R_PB = previous[0].T @ R_RB
        p = previous[0].T @ (p_B - previous[1])
        R_PJ, offset = _split(snapped(R_PB), segment)
        R_BL, p_BL = snapped(R_RB.T @ R_RL), R_RB.T @ (p_L - p_B)
        segments.append(
            Segment(
                segment.name,
                segment.prismatic,
                _rows(R_PJ),
                _vector(np.where(np.abs(p) < SNAP * size, 0.0, p)),
                (0.0, 0.0, 1.0),
                _moved_exactly(segment.body, R_BL, p_BL),
                segment.coordinate,
                segment.multiplier,
                segment.offset + offset,
            )
        )
        links.append((R_BL, p_BL))
        previous = (R_RB, p_B)
    return Reframed(tuple(segments), snapped(R_R0.T), tuple(links))


def _moved_exactly(body: BodyInertia, R_BL: Array, p_BL: Array) -> BodyInertia:
    """``moved``, with entries that only rounding keeps from 0 made 0."""
    point = BodyInertia(body.mass, (0.0, 0.0, 0.0), (0.0,) * 6)
    shifted = moved(body, _rows(R_BL), _vector(p_BL))
    return without_rounding(shifted, body, moved(point, IDENTITY, _vector(p_BL)))


def _split(R_PB: Array, segment: Segment) -> tuple[Array, float]:
    """R_PB = R_x(alpha) R_z(theta) for a revolute joint: theta becomes the joint's offset."""
    if segment.prismatic or R_PB[0, 2] != 0.0:  # x_P is not normal to the axis: keep it whole
        return R_PB, 0.0
    cosine, sine = R_PB[2, 2], -R_PB[1, 2]
    R_x = np.array([[1.0, 0.0, 0.0], [0.0, cosine, -sine], [0.0, sine, cosine]])
    return R_x, math.atan2(-R_PB[0, 1], R_PB[0, 0])


def _rows(matrix: Array) -> Matrix:
    return _vector(matrix[0]), _vector(matrix[1]), _vector(matrix[2])


def _vector(values: Array) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)
    return x, y, z
