"""Body frames on the common normals of successive joint axes, modified Denavit-Hartenberg [KhalilDombre2002].

The same bodies, framed so that equations come out short: z_j along joint axis j, x_j along the common normal
of axis j and of the next one, the origin at its foot. Then the next frame follows frame j by a turn alpha
about x, a step along x, and the joint's own turn and step about z. Any geometry is accepted: where two axes
are almost but not quite parallel, their common normal lies far off, and a general rotation is kept instead.
Where a body carries several joints, the next one is that which most bodies are beyond; the others keep a
general rotation.

Plain arithmetic on purpose, in a fixed order: the same URDF gives the same bytes on every processor.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from kane_dynamics_ros.algebra import Vector as SegmentVector
from kane_dynamics_ros.algebra import add, apply, cross, dot, multiply, scale, transpose
from kane_dynamics_ros.description.model import IDENTITY, ZERO, Chain, Matrix, Vector
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.formulation.kane.segments import (
    BodyInertia,
    Segment,
    moved,
    segments_of,
    without_rounding,
)

SNAP = 1e-13  # direction cosines this near to 0 or +-1 are written exactly; torques change by as little
NEARLY_PARALLEL = 1e-2  # sine below which the common normal is not used: its foot would be far away
ON_AXIS = 1e-12  # distance of the centre of mass from the last axis, relative to that from its origin
SAME_POINT = 1e-9  # two axes nearer than this [m] are taken to meet
ORTHONORMAL = 1e-12  # largest entry of R R^T - 1 that rounding and ``SNAP`` explain


class FrameError(KaneDynamicsError):
    """A body frame came out skew or stretched: a fault of this package, met before anything was written.

    Code ``skew``: ``joint``, and the ``error``, the largest entry of R R^T - 1.
    """


@dataclass(frozen=True)
class Frame:
    """Orientation and origin of a frame F in the root frame R."""

    R_RF: Matrix
    p_RoFo_R: Vector

    @property
    def z(self) -> Vector:
        return self.R_RF[0][2], self.R_RF[1][2], self.R_RF[2][2]


@dataclass(frozen=True)
class Reframed:
    """Segments in common-normal frames, and how the root and link frames sit in them.

    ``R_0R``: orientation of the root link's frame R in frame 0, which takes gravity into frame 0.
    ``links``: for each segment (R_BL, p_BoLo_B), the URDF link frame in the new body frame.
    """

    segments: tuple[Segment, ...]
    R_0R: Matrix
    links: tuple[tuple[Matrix, Vector], ...]


def reframe(chain: Chain) -> Reframed:
    """The chain in common-normal frames; inertias and placements follow, the physics does not change.

    Frame 0 is the root's frame turned so that z_0 is the first joint's axis. (T19), (T20) of docs/theory.md.

    Raises:
        FrameError: a frame came out skew, a fault of this package.
    """
    old = segments_of(chain)
    poses = zero_pose(old)
    frames = common_normal_frames(old, poses)
    origins = [frame.p_RoFo_R for frame in frames]
    before = [max(segment.parent, 0) for segment in old]
    size = max(math.dist(origins[k], origin) for k, origin in zip(before, origins, strict=True))
    segments, links = [], []
    for segment, link, frame, k in zip(old, poses, frames, before, strict=True):
        previous = frames[0] if segment.parent < 0 else frames[k]
        R_PJ, offset = _split(snapped(multiply(transpose(previous.R_RF), frame.R_RF)), segment)
        R_BL, p_BL = _in_frame(frame, link)
        R_BL = checked(snapped(R_BL), segment.name)
        x, y, z = _in_frame(previous, frame)[1]
        segments.append(
            Segment(
                segment.name,
                segment.prismatic,
                checked(R_PJ, segment.name),
                (_cleaned(x, size), _cleaned(y, size), _cleaned(z, size)),
                (0.0, 0.0, 1.0),
                _moved_exactly(segment.body, R_BL, p_BL),
                segment.coordinate,
                segment.parent,
                segment.multiplier,
                segment.offset + offset,
            )
        )
        links.append((R_BL, p_BL))
    R_0R = checked(snapped(transpose(frames[0].R_RF)), old[0].name)
    return Reframed(tuple(segments), R_0R, tuple(links))


def zero_pose(segments: Sequence[Segment]) -> list[Frame]:
    """Each body's link frame, every joint at position 0, in root axes and from the first joint's origin.

    From there, because a root far away, as map coordinates have it, would cost digits.
    """
    root = Frame(IDENTITY, scale(-1.0, _numbers(segments[0].p_PoJo_P)))
    poses: list[Frame] = []
    for segment in segments:
        before = poses[segment.parent] if segment.parent >= 0 else root
        p = add(before.p_RoFo_R, apply(before.R_RF, _numbers(segment.p_PoJo_P)))
        poses.append(Frame(multiply(before.R_RF, cast(Matrix, segment.R_PJ)), p))
    return poses


def common_normal_frames(segments: Sequence[Segment], poses: Sequence[Frame]) -> list[Frame]:
    """The new body frames in the root frame, every joint at position 0."""
    axes = [apply(pose.R_RF, _numbers(segment.axis)) for segment, pose in zip(segments, poses, strict=True)]
    frames = list(poses)
    following = next_joints(segments)
    for j in range(len(segments) - 1, -1, -1):
        k = following[j]
        if k is None:
            frames[j] = _last_frame(segments[j], axes[j], poses[j])
            continue
        x, origin, foot = _common_normal(axes[j], poses[j].p_RoFo_R, axes[k], frames[k])
        if following[k] is None:  # a last frame may slide along its axis to the foot
            frames[k] = Frame(frames[k].R_RF, foot)
        frames[j] = Frame(orthonormal(x, axes[j]), origin)
    return _with_origins_at_rest(segments, frames)


def _with_origins_at_rest(segments: Sequence[Segment], frames: Sequence[Frame]) -> list[Frame]:
    """The frames of joints whose axes meet in a point of the root link, as in a shoulder, moved there.

    Their origins do not accelerate, and no force needs to be carried from one to the next.
    """
    found = list(frames)
    resting: list[bool] = []
    for segment, frame in zip(segments, frames, strict=True):
        rests = segment.parent < 0
        if not rests and resting[segment.parent]:
            center = found[segment.parent].p_RoFo_R
            foot = add(center, _across(frame.z, add(frame.p_RoFo_R, scale(-1.0, center))))
            rests = _length(add(foot, scale(-1.0, center))) <= SNAP * _length(frame.p_RoFo_R)
            if rests:
                found[len(resting)] = Frame(frame.R_RF, center)
        resting.append(rests and not segment.prismatic)
    return found


def next_joints(segments: Sequence[Segment]) -> list[int | None]:
    """Of each segment, the joint on its body that most bodies are beyond (the first such); None at tips."""
    bodies = [1] * len(segments)
    following: list[int | None] = [None] * len(segments)
    for k in range(len(segments) - 1, -1, -1):
        parent = segments[k].parent
        if parent >= 0:
            bodies[parent] += bodies[k]
            other = following[parent]
            if other is None or bodies[k] >= bodies[other]:
                following[parent] = k
    return following


def _last_frame(segment: Segment, axis: Vector, pose: Frame) -> Frame:
    """A frame at a tip may turn about its axis: x towards the centre of mass, so that h_y = 0.

    Where the centre of mass lies on the axis, x is a principal axis of the second moments: S_xy = 0. Where
    it lies almost on the axis, the direction of x is mostly rounding, which any direction may be; that the
    frame stays orthonormal is up to ``orthonormal``.
    """
    h = apply(pose.R_RF, _numbers(segment.body.moment))
    x = _across(axis, h)
    if _length(x) <= ON_AXIS * _length(h):
        x = _principal_across(segment, axis, pose)
    return Frame(orthonormal(x, axis), pose.p_RoFo_R)


def _principal_across(segment: Segment, axis: Vector, pose: Frame) -> Vector:
    """A direction across the axis for which the body's second moment S_xy vanishes."""
    least = min(range(3), key=lambda k: abs(axis[k]))
    R_RF = orthonormal(IDENTITY[least], axis)
    x, y, _ = transpose(R_RF)
    R_BF = multiply(transpose(pose.R_RF), R_RF)
    second = moved(segment.body, transpose(R_BF), ZERO).second
    xx, xy, _, yy, _, _ = (cast(float, moment) for moment in second)
    angle = math.atan2(2.0 * xy, xx - yy) / 2.0 if xy != 0.0 else 0.0
    return add(scale(math.cos(angle), x), scale(math.sin(angle), y))


def _common_normal(
    z: Vector, point: Vector, z_next: Vector, following: Frame
) -> tuple[Vector, Vector, Vector]:
    """x_j, the origin on axis j, and the foot on axis j+1."""
    point_next = following.p_RoFo_R
    step = add(point_next, scale(-1.0, point))
    normal = cross(z, z_next)
    square = dot(normal, normal)
    if square > NEARLY_PARALLEL**2:
        along = dot(cross(step, z_next), normal) / square
        along_next = dot(cross(step, z), normal) / square
        return _unit(normal), add(point, scale(along, z)), add(point_next, scale(along_next, z_next))
    origin = add(point, scale(dot(z, step), z))  # where the next origin projects onto axis j
    between = add(point_next, scale(-1.0, origin))
    x_next = transpose(following.R_RF)[0]
    x = _across(z, between if _length(between) > SAME_POINT else x_next)
    return _unit(x), origin, point_next


def _split(R_PB: Matrix, segment: Segment) -> tuple[Matrix, float]:
    """R_PB = R_x(alpha) R_z(theta) for a revolute joint: theta becomes the joint's offset."""
    if segment.prismatic or R_PB[0][2] != 0.0:  # x_P is not normal to the axis: keep it whole
        return R_PB, 0.0
    cosine, sine = R_PB[2][2], 0.0 - R_PB[1][2]
    R_x = ((1.0, 0.0, 0.0), (0.0, cosine, -sine), (0.0, sine, cosine))
    return R_x, math.atan2(0.0 - R_PB[0][1], R_PB[0][0])


def _moved_exactly(body: BodyInertia, R_BL: Matrix, p_BL: Vector) -> BodyInertia:
    """``moved``, with entries that only rounding keeps from 0 made 0."""
    point = BodyInertia(body.mass, ZERO, (0.0,) * 6)
    return without_rounding(moved(body, R_BL, p_BL), body, moved(point, IDENTITY, p_BL))


def _in_frame(frame: Frame, other: Frame) -> tuple[Matrix, Vector]:
    """Orientation and origin of ``other`` in ``frame``."""
    inverse = transpose(frame.R_RF)
    step = add(other.p_RoFo_R, scale(-1.0, frame.p_RoFo_R))
    return multiply(inverse, other.R_RF), apply(inverse, step)


def snapped(R: Matrix) -> Matrix:
    """Direction cosines with the last digits of 0 and +-1 cleaned."""
    rows = [tuple(_snap(entry) for entry in row) for row in R]
    return rows[0], rows[1], rows[2]  # type: ignore[return-value]


def _snap(value: float) -> float:
    nearest = float(round(value))
    return nearest if abs(value - nearest) < SNAP else value


def _cleaned(value: float, size: float) -> float:
    """A length, 0 where it is only rounding beside the size of the robot [m]."""
    return 0.0 if abs(value) <= SNAP * size else value


def orthonormal(x: Vector, z: Vector) -> Matrix:
    """The rotation whose third column is z and whose first is the part of x normal to z, both made 1 long.

    One projection leaves the rounding of its summands, which is not small beside what is left of an x almost
    along z: so x is made 1 long and projected again, which leaves 1e-16 (twice is enough: [Giraud2005]).
    """
    z = _unit(z)
    x = _unit(_across(z, _unit(x)))
    x = _unit(_across(z, x))
    return _columns(x, cross(z, x), z)


def checked(R: Matrix, joint: str) -> Matrix:
    """R as it is. Raises ``FrameError`` where R R^T is not 1."""
    product = multiply(R, transpose(R))
    error = max(abs(product[i][j] - IDENTITY[i][j]) for i in range(3) for j in range(3))
    if not error <= ORTHONORMAL:
        raise FrameError(
            f"the frame of joint {joint!r} is not orthonormal: R R^T differs from 1 by {error:.1e}, at most "
            f"{ORTHONORMAL:.0e} is allowed; nothing was generated: please report the URDF as a fault of this "
            "package",
            "skew",
            joint=joint,
            error=error,
        )
    return R


def _numbers(v: SegmentVector) -> Vector:
    """A vector of a chain's own segments, whose scalars are floats."""
    return cast(Vector, v)


def _across(z: Vector, v: Vector) -> Vector:
    """The part of v normal to the unit vector z."""
    return add(v, scale(-dot(z, v), z))


def _length(v: Vector) -> float:
    return math.sqrt(dot(v, v))


def _unit(v: Vector) -> Vector:
    return scale(1.0 / _length(v), v)


def _columns(x: Vector, y: Vector, z: Vector) -> Matrix:
    return transpose((x, y, z))
