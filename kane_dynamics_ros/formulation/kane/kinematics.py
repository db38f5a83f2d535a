"""Velocities and accelerations of the bodies of a chain, generic over the scalar.

Every vector of body B is expressed in B. Generalized speeds are u_r = q'_r. Accelerations are those of
the body origins less the free-fall acceleration, so that weight needs no term of its own.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kane_dynamics_ros.formulation.algebra import (
    Matrix,
    Scalar,
    Vector,
    add,
    apply,
    cross,
    rotate_about,
    scale,
    transpose,
)
from kane_dynamics_ros.formulation.kane.segments import Segment

SineCosine = Callable[[Scalar], tuple[Scalar, Scalar]]  # of one kind of scalar


def numeric_sine_cosine(angle: float) -> tuple[float, float]:
    """``SineCosine`` of floats."""
    return math.sin(angle), math.cos(angle)


@dataclass(frozen=True)
class Placement:
    """One segment's geometry at a configuration: how vectors pass its joint.

    ``p_PoBo_P`` is the body origin in the previous frame, the slide of a prismatic joint included.
    """

    segment: Segment
    sine: Scalar
    cosine: Scalar
    p_PoBo_P: Vector

    def to_body(self, v_P: Vector) -> Vector:
        """A vector of the previous frame P, expressed in the body frame B."""
        v_J = apply(transpose(self.segment.R_PJ), v_P)
        if self.segment.prismatic:
            return v_J
        return rotate_about(self.segment.axis, -self.sine, self.cosine, v_J)

    def to_previous(self, v_B: Vector) -> Vector:
        """A vector of the body frame B, expressed in the previous frame P."""
        if self.segment.prismatic:
            return apply(self.segment.R_PJ, v_B)
        v_J = rotate_about(self.segment.axis, self.sine, self.cosine, v_B)
        return apply(self.segment.R_PJ, v_J)


def place(segments: Sequence[Segment], q: Sequence[Scalar], sine_cosine: SineCosine) -> tuple[Placement, ...]:
    """The placements of all segments at the coordinates q, (n,) [rad or m]."""
    placements = []
    for segment in segments:
        position = segment.multiplier * q[segment.coordinate] + segment.offset
        if segment.prismatic:
            slide = apply(segment.R_PJ, scale(position, segment.axis))
            placements.append(Placement(segment, 0, 1, add(segment.p_PoJo_P, slide)))
        else:
            sine, cosine = sine_cosine(position)
            placements.append(Placement(segment, sine, cosine, segment.p_PoJo_P))
    return tuple(placements)


@dataclass(frozen=True)
class BodyMotion:
    """Motion of one body in its own axes.

    ``omega`` angular velocity [rad/s], ``alpha`` angular acceleration [rad/s^2], ``a_Bo`` acceleration of
    the origin less free fall [m/s^2], ``U`` = [alpha]x + [omega]x[omega]x [1/s^2]: a point at p of the
    body accelerates with a_Bo + U p. ``spread`` = (U_zz - U_yy, U_xx - U_zz, U_yy - U_xx).
    """

    omega: Vector
    alpha: Vector
    a_Bo: Vector
    U: Matrix
    spread: Vector


def motion(
    placements: Sequence[Placement], u: Sequence[Scalar], udot: Sequence[Scalar], gravity: Vector
) -> tuple[BodyMotion, ...]:
    """Motion of every body, from the root outwards.

    Args:
        placements: geometry at the present q.
        u, udot: generalized speeds and their derivatives, (n,) [rad/s, m/s and per second].
        gravity: free-fall acceleration in the root frame [m/s^2].
    """
    zero: Vector = (0, 0, 0)
    at = BodyMotion(zero, zero, scale(-1, gravity), (zero, zero, zero), zero)
    motions: list[BodyMotion] = []
    for placement in placements:
        segment = placement.segment
        speed = segment.multiplier * u[segment.coordinate]
        rate = segment.multiplier * udot[segment.coordinate]
        at = _across_joint(placement, at, speed, rate)
        motions.append(at)
    return tuple(motions)


def _across_joint(placement: Placement, previous: BodyMotion, speed: Scalar, rate: Scalar) -> BodyMotion:
    """The motion of the body beyond a joint from that of the body before it."""
    segment = placement.segment
    a_Bo = placement.to_body(add(previous.a_Bo, apply(previous.U, placement.p_PoBo_P)))
    omega_P, alpha_P = placement.to_body(previous.omega), placement.to_body(previous.alpha)
    along, push = scale(speed, segment.axis), scale(rate, segment.axis)
    if segment.prismatic:
        a_Bo = add(a_Bo, push, scale(2, cross(omega_P, along)))
        return _gather(omega_P, alpha_P, a_Bo)
    omega = add(omega_P, along)
    if tuple(segment.axis) == (0, 0, 1) and _quarter_turns(segment.R_PJ):
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
    """The same for a joint about z, with fewer operations.

    Points on the joint's axis move with the previous body: U z is the previous body's, turned. It holds
    U_xz = w_z w_x + alpha_y, U_yz = w_y w_z - alpha_x and U_zz = -(w_x^2 + w_y^2), which leaves only the
    products of omega to form.
    """
    R = placement.segment.R_PJ
    z_P = (R[0][2], R[1][2], R[2][2])
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
