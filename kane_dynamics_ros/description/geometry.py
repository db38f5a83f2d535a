"""Rotations, poses and sums of inertia on plain tuples: the same bits on every machine, whatever NumPy."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics_ros import algebra
from kane_dynamics_ros.algebra import add, apply, cross, dot, multiply, scale, subtract, symmetric, transpose
from kane_dynamics_ros.description.model import IDENTITY, ZERO, ChainJoint, Inertia, Matrix, Vector

# sin and cos of the double nearest to pi/2 leave 6e-17 where the file means 0. An angle that misses a quarter
# turn by less than this is taken as exact; with 12 digits it misses by 5e-12 and stays as written. [rad]
QUARTER_TURN_TOLERANCE = 1e-14

# URDFs are written with few digits, so that a thin rod or plate misses the triangle inequality by rounding. A
# run-time payload is given in full precision and held to it more strictly (``runtime.parameters.TRIANGLE``):
# whatever passes there passes here.
TRIANGLE_TOLERANCE = 1e-2  # relative to the largest principal moment
ROUNDING = 1e-15  # [kg m^2] what is left where CAD programs mean 0


class Pose(NamedTuple):
    """Frame B in frame A: orientation ``R_AB`` and origin ``p_AoBo_A`` [m]."""

    R: Matrix = IDENTITY
    p: Vector = ZERO

    def then(self, other: "Pose") -> "Pose":
        """Frame C in A, for C given in B."""
        return Pose(multiply(self.R, other.R), add(self.p, apply(self.R, other.p)))


def inverse(place: Pose) -> Pose:
    """Frame A in B, for B given in A."""
    R = transpose(place.R)
    return Pose(R, scale(-1.0, apply(R, place.p)))


def sine_cosine(angle: float) -> tuple[float, float]:
    """Sine and cosine, exact at multiples of a quarter turn (see ``QUARTER_TURN_TOLERANCE``)."""
    turns = round(angle / (math.pi / 2))
    if abs(turns) <= 8 and abs(angle - turns * (math.pi / 2)) < QUARTER_TURN_TOLERANCE:
        return ((0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0))[turns % 4]
    return math.sin(angle), math.cos(angle)


def rotation_rpy(roll: float, pitch: float, yaw: float) -> Matrix:
    """R = Rz(yaw) Ry(pitch) Rx(roll): turns about the fixed axes X, Y, Z, in that order [rad]."""
    (sr, cr), (sp, cp), (sy, cy) = sine_cosine(roll), sine_cosine(pitch), sine_cosine(yaw)
    return (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )


def rotation_quaternion(x: float, y: float, z: float, w: float) -> Matrix:
    """The rotation of a quaternion of any length but 0."""
    n = math.hypot(x, y, z, w)
    x, y, z, w = x / n, y / n, z / n, w / n
    return (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)),
        (2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)),
        (2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)),
    )


def rotation_about(axis: Vector, angle: float) -> Matrix:
    """The rotation about a unit vector by ``angle`` [rad]."""
    return cast(Matrix, algebra.rotation_about(axis, *sine_cosine(angle)))


# Inertia: the parallel-axis theorem has its home here


def rotated_tensor(R_AB: Matrix, I_B: Matrix) -> Matrix:
    """I_A = R_AB I_B R_AB^T, exactly symmetric."""
    if R_AB == IDENTITY:
        return I_B
    full = multiply(multiply(R_AB, I_B), transpose(R_AB))
    return symmetric((full[0][0], full[0][1], full[0][2], full[1][1], full[1][2], full[2][2]))


def point_mass_tensor(mass: float, r: Vector) -> Matrix:
    """Inertia about the origin of a point mass at ``r``: m (r.r 1 - r r^T)."""
    x, y, z = r
    return symmetric(
        (
            mass * (y * y + z * z),
            -mass * x * y,
            -mass * x * z,
            mass * (x * x + z * z),
            -mass * y * z,
            mass * (x * x + y * y),
        )
    )


def add_matrices(A: Matrix, B: Matrix) -> Matrix:
    return (add(A[0], B[0]), add(A[1], B[1]), add(A[2], B[2]))


def moved_inertia(place: Pose, inertia: Inertia) -> Inertia:
    """The inertia of a body given in frame B, expressed in frame A."""
    com = add(place.p, apply(place.R, inertia.com))
    return Inertia(inertia.mass, com, rotated_tensor(place.R, inertia.tensor))


def lump(parts: Iterable[Inertia]) -> Inertia:
    """One rigid body from parts given in one frame.

    Masses add, the centre of mass is their mean, and each tensor moves to it by the parallel-axis theorem. A
    sum without mass is a massless frame.
    """
    heavy = [part for part in parts if part.mass > 0.0]
    if len(heavy) <= 1:
        return heavy[0] if heavy else Inertia(0.0, ZERO, (ZERO, ZERO, ZERO))
    mass = sum(part.mass for part in heavy)
    com = ZERO
    for part in heavy:
        com = add(com, scale(part.mass / mass, part.com))
    tensor: Matrix = (ZERO, ZERO, ZERO)
    for part in heavy:
        shift = point_mass_tensor(part.mass, subtract(part.com, com))
        tensor = add_matrices(tensor, add_matrices(part.tensor, shift))
    return Inertia(mass, com, tensor)


def about_origin(inertia: Inertia) -> tuple[float, ...]:
    """(m, h_x, h_y, h_z, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz) about the frame's origin.

    The inertial parameters of a model: h = m c, and J by the parallel-axis theorem.
    """
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = add_matrices(
        inertia.tensor, point_mass_tensor(inertia.mass, inertia.com)
    )
    return (inertia.mass, *scale(inertia.mass, inertia.com), xx, xy, xz, yy, yz, zz)


def central_inertia(parameters: Iterable[float]) -> Inertia:
    """The body whose inertial parameters about the frame's origin these are, (10,): see ``about_origin``.

    c = h / m, and the central tensor is J less the tensor of the mass at c.
    """
    mass, h_x, h_y, h_z, *J = map(float, parameters)
    com = (h_x / mass, h_y / mass, h_z / mass)
    return Inertia(mass, com, add_matrices(symmetric(J), point_mass_tensor(-mass, com)))


def moment_about(inertia: Inertia, axis: Vector) -> float:
    """Moment of inertia about the line through the frame's origin along the unit vector ``axis``."""
    arm = cross(axis, inertia.com)
    return dot(axis, apply(inertia.tensor, axis)) + inertia.mass * dot(arm, arm)


# Whether any body can have an inertia tensor


def principal_moments(tensor: Matrix) -> tuple[float, float, float]:
    """Eigenvalues of the tensor, ascending [kg m^2]."""
    smallest, middle, largest = np.linalg.eigvalsh(np.array(tensor))
    return (float(smallest), float(middle), float(largest))


def failed_condition(tensor: Matrix) -> str | None:
    """What keeps a body from having this tensor, with its principal moments; None when nothing does.

    Each principal moment must be at least 0 and at most the sum of the other two.
    """
    smallest, middle, largest = moments = principal_moments(tensor)
    slack = max(TRIANGLE_TOLERANCE * max(abs(largest), abs(smallest)), ROUNDING)
    found = "the principal moments are " + ", ".join(f"{moment:.6g}" for moment in moments) + " kg m^2"
    if smallest < -slack:
        return f"{found}, and the smallest is negative"
    if largest > smallest + middle + slack:
        return f"{found}, and the largest is more than the sum of the other two"
    return None


# Where the bodies of a chain are, at many poses at once


class Frames(NamedTuple):
    """Of one body at P poses: its frame in the root's, and its joint's axis in root axes."""

    R: algebra.Array  # (P, 3, 3)
    p: algebra.Array  # (P, 3) [m]
    axis: algebra.Array  # (P, 3)


def frames_at(joints: Sequence[ChainJoint], poses: ArrayLike) -> list[Frames]:
    """The frames of each body at each of P poses (P, n)."""
    q = np.asarray(poses)
    frames: list[Frames] = []
    root = Frames(np.eye(3)[np.newaxis], np.zeros((1, 3)), np.zeros((1, 3)))
    for joint in joints:
        R, p, _ = frames[joint.parent] if joint.parent >= 0 else root
        p = p + R @ joint.p_PoJo_P
        R = R @ np.array(joint.R_PJ)
        axis = R @ joint.axis
        value = joint.multiplier * q[:, joint.coordinate, np.newaxis] + joint.offset
        if joint.kind == "prismatic":
            frames.append(Frames(R, p + value * axis, axis))
        else:
            frames.append(Frames(R @ turns_about(joint.axis, value), p, axis))
    return frames


def turns_about(axis: Vector, angles: algebra.Array) -> algebra.Array:
    """Rodrigues' formula for P angles (P, 1) [rad]: R = 1 + s [a]x + (1 - c) [a]x^2, (P, 3, 3)."""
    cross_a = np.cross(np.array(axis), np.eye(3)).T
    s, c = np.sin(angles)[:, np.newaxis], np.cos(angles)[:, np.newaxis]
    turns: algebra.Array = np.eye(3) + s * cross_a + (1.0 - c) * cross_a @ cross_a
    return turns
