"""Kinetic and potential energy, and where the bodies are, generic over the scalar."""

from collections.abc import Sequence
from dataclasses import dataclass

from kane_dynamics_ros.formulation.algebra import (
    Matrix,
    Scalar,
    Vector,
    add,
    apply,
    cross,
    dot,
    multiply,
    scale,
)
from kane_dynamics_ros.formulation.kane.kinematics import Placement, velocities


def kinetic_energy(placements: Sequence[Placement], u: Sequence[Scalar]) -> Scalar:
    """T = sum 1/2 (m v.v + 2 h.(v x w) + w.J w), v of Bo and w in body axes [J]."""
    twice: Scalar = 0
    for placement, (omega, v) in zip(placements, velocities(placements, u), strict=True):
        body = placement.segment.body
        xx, xy, xz, yy, yz, zz = body.tensor()
        momentum = dot((xx, xy, xz), omega), dot((xy, yy, yz), omega), dot((xz, yz, zz), omega)
        twice = twice + body.mass * dot(v, v) + 2 * dot(body.moment, cross(v, omega)) + dot(omega, momentum)
    energy: Scalar = twice / 2
    return energy


@dataclass(frozen=True)
class Pose:
    """Orientation ``R_RB`` and origin ``p_RoBo_R`` of a body in the root frame."""

    R_RB: Matrix
    p_RoBo_R: Vector


def body_poses(placements: Sequence[Placement]) -> list[Pose]:
    """Poses of all body frames in the root frame."""
    poses: list[Pose] = []
    R: Matrix = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    p: Vector = (0, 0, 0)
    for placement in placements:
        p = add(p, apply(R, placement.p_PoBo_P))
        rows = [placement.to_body(row) for row in R]  # row by row: R_RB = R_RP R_PB
        R = (rows[0], rows[1], rows[2])
        poses.append(Pose(R, p))
    return poses


def moment_of_mass(placements: Sequence[Placement], poses: Sequence[Pose]) -> tuple[Scalar, Vector]:
    """Total moving mass [kg] and its first moment about the root's origin, in root axes [kg m]."""
    mass: Scalar = 0
    moment: Vector = (0, 0, 0)
    for placement, pose in zip(placements, poses, strict=True):
        body = placement.segment.body
        mass = mass + body.mass
        moment = add(moment, scale(body.mass, pose.p_RoBo_R), apply(pose.R_RB, body.moment))
    return mass, moment


def potential_energy(placements: Sequence[Placement], gravity: Vector) -> Scalar:
    """-g . (first moment of mass), zero at the root's origin [J]."""
    return -1 * dot(gravity, moment_of_mass(placements, body_poses(placements))[1])


def joint_axes(placements: Sequence[Placement], poses: Sequence[Pose]) -> list[Vector]:
    """Joint axes in root axes."""
    return [apply(pose.R_RB, place.segment.axis) for place, pose in zip(placements, poses, strict=True)]


def partial_velocities_of_point(
    placements: Sequence[Placement], poses: Sequence[Pose], point: Vector
) -> list[tuple[Vector, Vector]]:
    """What a unit of each joint's own speed gives the last body: angular velocity, and velocity at ``point``.

    In root axes, before coordinates are shared: followers' multipliers are not in it.
    """
    partials: list[tuple[Vector, Vector]] = []
    for placement, pose, axis in zip(placements, poses, joint_axes(placements, poses), strict=True):
        arm = add(point, scale(-1, pose.p_RoBo_R))
        partials.append(((0, 0, 0), axis) if placement.segment.prismatic else (axis, cross(axis, arm)))
    return partials


def jacobian_of_point(
    placements: Sequence[Placement], poses: Sequence[Pose], point: Vector, n: int
) -> list[list[Scalar]]:
    """(6, n): angular then linear velocity, in root axes, of the last body's point at ``point``."""
    columns: list[tuple[Vector, Vector]] = [((0, 0, 0), (0, 0, 0))] * n
    partials = partial_velocities_of_point(placements, poses, point)
    for placement, (omega, v) in zip(placements, partials, strict=True):
        segment = placement.segment
        old_omega, old_v = columns[segment.coordinate]
        columns[segment.coordinate] = (
            add(old_omega, scale(segment.multiplier, omega)),
            add(old_v, scale(segment.multiplier, v)),
        )
    return [[column[part][k] for column in columns] for part in range(2) for k in range(3)]


def center_of_mass_jacobian(
    placements: Sequence[Placement], poses: Sequence[Pose], n: int
) -> tuple[Vector, list[list[Scalar]]]:
    """Centre of mass [m] in root axes and its Jacobian (3, n): outer masses swing about each joint."""
    mass, moment = moment_of_mass(placements, poses)
    columns: list[Vector] = [(0, 0, 0)] * n
    outer_mass: Scalar = 0
    outer: Vector = (0, 0, 0)
    for k in range(len(placements) - 1, -1, -1):
        placement, pose = placements[k], poses[k]
        body, segment = placement.segment.body, placement.segment
        outer_mass = outer_mass + body.mass
        outer = add(outer, scale(body.mass, pose.p_RoBo_R), apply(pose.R_RB, body.moment))
        axis = apply(pose.R_RB, segment.axis)
        arm = add(outer, scale(-1 * outer_mass, pose.p_RoBo_R))
        swing = scale(outer_mass, axis) if segment.prismatic else cross(axis, arm)
        columns[segment.coordinate] = add(
            columns[segment.coordinate], scale(segment.multiplier / mass, swing)
        )
    center = scale(1 / mass, moment)
    return center, [[column[k] for column in columns] for k in range(3)]


def placed_in_root(pose: Pose, R_BT: Matrix, p_BoTo_B: Vector) -> Pose:
    """The pose of a frame fixed in a body."""
    return Pose(multiply(pose.R_RB, R_BT), add(pose.p_RoBo_R, apply(pose.R_RB, p_BoTo_B)))
