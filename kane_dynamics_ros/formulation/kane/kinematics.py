"""Where the bodies of a tree are and how they move, generic over the scalar.

Every vector of body B is expressed in B. Generalized speeds are u_r = q'_r. Accelerations are those of
the body origins less the free-fall acceleration, so that weight needs no term of its own. Equations (T..) are
those of docs/theory.md.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from kane_dynamics_ros.algebra import (
    Matrix,
    Scalar,
    Vector,
    add,
    apply,
    cross,
    matrix_rotated_about,
    multiply,
    rotate_about,
    rotation_about,
    scale,
    transpose,
    turned,
)
from kane_dynamics_ros.formulation.kane.segments import Segment

Z: Vector = (0, 0, 1)
Turn = tuple[Scalar, Scalar]  # sine and cosine of an angle
SineCosine = Callable[[Scalar], Turn]  # of one kind of scalar; ``dual.sine_cosine`` of numbers and symbols


@dataclass(frozen=True)
class Placement:
    """One segment's geometry at a configuration: how vectors pass its joint, (T2).

    Every body's vectors are written in axes of its own, or in others that ``shared_axes`` chose. ``turn``: of
    the body's axes about the joint's axis, from the joint's own; ``lead``: of the previous body's own axes
    about its z, from those used for it; ``None`` where there is no turn. ``p_PoBo_P`` is the body origin in
    the previous axes, the slide of a prismatic joint included.
    """

    segment: Segment
    turn: Turn | None
    p_PoBo_P: Vector
    lead: Turn | None = None

    @property
    def parent(self) -> int:
        """The index of the body that carries this one; -1: the root link."""
        return self.segment.parent

    @cached_property
    def oblique(self) -> Matrix | None:
        """The whole rotation where the axis is no coordinate axis: cheaper then than its two turns."""
        if self.turn is None or sum(entry != 0 for entry in self.segment.axis) < 2:
            return None
        return multiply(self.segment.R_PJ, rotation_about(self.segment.axis, *self.turn))

    def to_body(self, v_P: Vector) -> Vector:
        """A vector of the previous axes P, expressed in the body's axes B."""
        v = v_P if self.lead is None else rotate_about(Z, -self.lead[0], self.lead[1], v_P)
        if self.oblique is not None:
            return apply(transpose(self.oblique), v)
        v = apply(transpose(self.segment.R_PJ), v)
        return v if self.turn is None else rotate_about(self.segment.axis, -self.turn[0], self.turn[1], v)

    def to_previous(self, v_B: Vector) -> Vector:
        """A vector of the body's axes B, expressed in the previous axes P."""
        if self.oblique is not None:
            return self.from_previous_body(apply(self.oblique, v_B))
        v = v_B if self.turn is None else rotate_about(self.segment.axis, *self.turn, v_B)
        return self.from_previous_body(apply(self.segment.R_PJ, v))

    def from_previous_body(self, v: Vector) -> Vector:
        """A vector of the previous body's own axes, in those used for it."""
        return v if self.lead is None else rotate_about(Z, *self.lead, v)

    def wrench_to_previous(self, force: Vector, torque: Vector) -> tuple[Vector, Vector]:
        """A force and a torque about Bo, in body axes, as those about Po in the previous axes, (T11).

        Linear and angular momentum pass a joint in the same way.
        """
        force = self.to_previous(force)
        return force, add(self.to_previous(torque), cross(self.p_PoBo_P, force))

    def matrix_to_previous(self, A_B: Matrix) -> Matrix:
        """R_PB A_B R_PB^T."""
        A, R = A_B, self.segment.R_PJ
        if self.turn is not None:
            A = matrix_rotated_about(self.segment.axis, *self.turn, A)
        if R[0] == (1, 0, 0) and not _quarter_turns(R):  # about x by a constant angle
            A = matrix_rotated_about(R[0], R[2][1], R[1][1], A)
        else:
            A = turned(A, lambda v: apply(R, v))
        return A if self.lead is None else matrix_rotated_about(Z, *self.lead, A)


def placements_at(
    segments: Sequence[Segment], q: Sequence[Scalar], sine_cosine: SineCosine
) -> tuple[Placement, ...]:
    """The placements of all segments at the coordinates q, (n,) [rad or m], in the bodies' own axes."""
    placements = []
    for segment in segments:
        position = segment.multiplier * q[segment.coordinate] + segment.offset  # (T1)
        if segment.prismatic:
            slide = apply(segment.R_PJ, scale(position, segment.axis))
            placements.append(Placement(segment, None, add(segment.p_PoJo_P, slide)))
        else:
            placements.append(Placement(segment, sine_cosine(position), segment.p_PoJo_P))
    return tuple(placements)


# The tree


def children(placements: Sequence[Placement]) -> list[list[int]]:
    """Of each body, those that it carries, in order."""
    found: list[list[int]] = [[] for _ in placements]
    for k, placement in enumerate(placements):
        if placement.parent >= 0:
            found[placement.parent].append(k)
    return found


def inwards(placements: Sequence[Placement], k: int) -> Iterator[int]:
    """Body k, the one that carries it, and so on: the last one is on the root link."""
    while k >= 0:
        yield k
        k = placements[k].parent


# Poses in the root frame, and the Jacobian of a point


@dataclass(frozen=True)
class BodyPose:
    """Orientation ``R_RB`` and origin ``p_RoBo_R`` [m] of a body in the root frame."""

    R_RB: Matrix
    p_RoBo_R: Vector


ROOT = BodyPose(((1, 0, 0), (0, 1, 0), (0, 0, 1)), (0, 0, 0))  # the root frame itself


def body_poses(placements: Sequence[Placement]) -> list[BodyPose]:
    """Poses of all body frames in the root frame."""
    poses: list[BodyPose] = []
    for placement in placements:
        before = poses[placement.parent] if placement.parent >= 0 else ROOT
        p = add(before.p_RoBo_R, apply(before.R_RB, placement.p_PoBo_P))
        x, y, z = (placement.to_body(row) for row in before.R_RB)  # row by row: R_RB = R_RP R_PB
        poses.append(BodyPose((x, y, z), p))
    return poses


def placed_in_root(pose: BodyPose, R_BT: Matrix, p_BoTo_B: Vector) -> BodyPose:
    """The pose of a frame fixed in a body."""
    return BodyPose(multiply(pose.R_RB, R_BT), add(pose.p_RoBo_R, apply(pose.R_RB, p_BoTo_B)))


def joint_axes(placements: Sequence[Placement], poses: Sequence[BodyPose]) -> list[Vector]:
    """Joint axes, unit vectors, in root axes."""
    return [
        apply(pose.R_RB, placement.segment.axis) for placement, pose in zip(placements, poses, strict=True)
    ]


def partial_velocities_of_point(
    placements: Sequence[Placement], poses: Sequence[BodyPose], body: int, point: Vector
) -> list[tuple[Vector, Vector]]:
    """Partial velocities (omega, v) of a body and a point of it for each joint, in root axes, (T4).

    [1] and [m], of a prismatic joint 0 and [1], of one that does not carry the body 0; multipliers of joints
    that follow others are not in it. ``body``: an index; ``point``: a position in the root frame [m].
    """
    partials: list[tuple[Vector, Vector]] = [((0, 0, 0), (0, 0, 0))] * len(placements)
    axes = joint_axes(placements, poses)
    for k in sorted(inwards(placements, body)):
        arm = add(point, scale(-1, poses[k].p_RoBo_R))
        slides = placements[k].segment.prismatic
        partials[k] = ((0, 0, 0), axes[k]) if slides else (axes[k], cross(axes[k], arm))
    return partials


def jacobian_of_point(
    placements: Sequence[Placement], poses: Sequence[BodyPose], body: int, point: Vector, n: int
) -> list[list[Scalar]]:
    """Angular, then linear velocity of a point of a body for each speed, (6, n), in root axes.

    ``body``: an index; ``point``: a position in the root frame [m].
    """
    columns: list[tuple[Vector, Vector]] = [((0, 0, 0), (0, 0, 0))] * n
    partials = partial_velocities_of_point(placements, poses, body, point)
    for placement, (omega, v) in zip(placements, partials, strict=True):
        segment = placement.segment
        old_omega, old_v = columns[segment.coordinate]
        columns[segment.coordinate] = (
            add(old_omega, scale(segment.multiplier, omega)),
            add(old_v, scale(segment.multiplier, v)),
        )
    return [[column[part][k] for column in columns] for part in range(2) for k in range(3)]


# Velocities and accelerations, in body axes


def velocities(placements: Sequence[Placement], u: Sequence[Scalar]) -> Iterator[tuple[Vector, Vector]]:
    """omega [rad/s] and v of Bo [m/s] of every body, in body axes, from the root outwards.

    One body at a time, so that on a graph each body's expressions stand together.
    """
    still: tuple[Vector, Vector] = (0, 0, 0), (0, 0, 0)
    found: list[tuple[Vector, Vector]] = []
    for placement in placements:
        omega, v = found[placement.parent] if placement.parent >= 0 else still
        segment = placement.segment
        speed = scale(segment.multiplier * u[segment.coordinate], segment.axis)
        v = placement.to_body(add(v, cross(omega, placement.p_PoBo_P)))  # [Hussain2016] eq. (13)
        omega = placement.to_body(omega)
        if segment.prismatic:
            v = add(v, speed)
        else:
            omega = add(omega, speed)
        found.append((omega, v))
        yield omega, v


@dataclass(frozen=True)
class BodyMotion:
    """Motion of one body in its own axes.

    ``omega`` angular velocity [rad/s], ``alpha`` angular acceleration [rad/s^2], ``a_Bo`` acceleration of
    the origin less free fall [m/s^2], ``U`` = [alpha]x + [omega]x[omega]x [1/s^2]: a point at p of the
    body accelerates with a_Bo + U p, (T6). ``spread`` = (U_zz - U_yy, U_xx - U_zz, U_yy - U_xx).
    """

    omega: Vector
    alpha: Vector
    a_Bo: Vector
    U: Matrix
    spread: Vector


def motion(
    placements: Sequence[Placement], u: Sequence[Scalar], udot: Sequence[Scalar], gravity: Vector
) -> tuple[BodyMotion, ...]:
    """Motion of every body, from the root outwards: (T9), [Hussain2016] eqs. (7) to (20).

    Args:
        placements: geometry at the present q.
        u, udot: generalized speeds and their derivatives, (n,) [rad/s, m/s and per second].
        gravity: free-fall acceleration in the root frame [m/s^2].
    """
    zero: Vector = (0, 0, 0)
    root = BodyMotion(zero, zero, scale(-1, gravity), (zero, zero, zero), zero)
    motions: list[BodyMotion] = []
    for placement in placements:
        segment = placement.segment
        speed = segment.multiplier * u[segment.coordinate]
        rate = segment.multiplier * udot[segment.coordinate]
        before = motions[placement.parent] if placement.parent >= 0 else root
        motions.append(_across_joint(placement, before, speed, rate))
    return tuple(motions)


def _across_joint(placement: Placement, previous: BodyMotion, speed: Scalar, rate: Scalar) -> BodyMotion:
    """The motion of the body beyond a joint from that of the body before it."""
    segment = placement.segment
    a_Bo = placement.to_body(add(previous.a_Bo, apply(previous.U, placement.p_PoBo_P)))  # [Hussain2016] (17)
    omega_P, alpha_P = placement.to_body(previous.omega), placement.to_body(previous.alpha)
    along, push = scale(speed, segment.axis), scale(rate, segment.axis)
    if segment.prismatic:
        a_Bo = add(a_Bo, push, scale(2, cross(omega_P, along)))
        return _gather(omega_P, alpha_P, a_Bo)
    omega = add(omega_P, along)
    if tuple(segment.axis) == Z and _quarter_turns(segment.R_PJ):
        return _turned_about_z(placement, previous, omega, alpha_P[2] + rate, a_Bo)
    return _gather(omega, add(alpha_P, cross(omega_P, along), push), a_Bo)


def _quarter_turns(R: Matrix) -> bool:
    """Whether a rotation only permutes axes: then turning a matrix with it costs nothing."""
    return all(entry in (0, 1, -1) for row in R for entry in row)


def _gather(omega: Vector, alpha: Vector, a_Bo: Vector) -> BodyMotion:
    """U from omega and alpha."""
    x, y, z = omega
    xx, yy, zz = x * x, y * y, z * z
    yz, zx, xy = y * z, z * x, x * y
    U = (
        (-(yy + zz), xy - alpha[2], zx + alpha[1]),
        (xy + alpha[2], -(xx + zz), yz - alpha[0]),
        (zx - alpha[1], yz + alpha[0], -(xx + yy)),
    )
    return BodyMotion(omega, alpha, a_Bo, U, (zz - yy, xx - zz, yy - xx))


def _turned_about_z(
    placement: Placement, previous: BodyMotion, omega: Vector, alpha_z: Scalar, a_Bo: Vector
) -> BodyMotion:
    """The motion of the body beyond a joint about z, with fewer operations than ``_gather``, (T10).

    Points on the joint's axis move with the previous body: U z is the previous body's, turned. It holds
    U_xz = w_z w_x + alpha_y, U_yz = w_y w_z - alpha_x and U_zz = -(w_x^2 + w_y^2), which leaves only the
    products of omega to form.
    """
    R = placement.segment.R_PJ
    z_P = placement.from_previous_body((R[0][2], R[1][2], R[2][2]))
    U_xz, U_yz, U_zz = placement.to_body(apply(previous.U, z_P))
    x, y, z = omega
    xx, zz = x * x, z * z
    yz, zx, xy = y * z, z * x, x * y
    alpha_x, alpha_y = yz - U_yz, U_xz - zx
    spread_y = xx - zz  # U_xx - U_zz
    U_xx, U_yy = U_zz + spread_y, -(xx + zz)
    U = (
        (U_xx, xy - alpha_z, U_xz),
        (xy + alpha_z, U_yy, U_yz),
        (zx - alpha_y, yz + alpha_x, U_zz),
    )
    return BodyMotion(omega, (alpha_x, alpha_y, alpha_z), a_Bo, U, (U_zz - U_yy, spread_y, U_yy - U_xx))
