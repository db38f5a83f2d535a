"""Partial velocities written out: Kane's equations as the papers state them, body by body.

omega_r^k and v_r^k are the coefficients of u_r in the angular velocity of body k and in the velocity of its
origin Bo, in the axes of body k. They give the regressor, and the unfactored sum of [Malvezzi2017] eqs. (2)
and (3), a check on ``dynamics.generalized_forces``. Equations (T..) are those of docs/theory.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from kane_dynamics_ros.algebra import Scalar, Vector, add, cross, dot, scale
from kane_dynamics_ros.description.model import Chain
from kane_dynamics_ros.description.model import Vector as Numbers
from kane_dynamics_ros.formulation.dual import sine_cosine
from kane_dynamics_ros.formulation.kane.dynamics import inertia_force, inertia_torque, resultants
from kane_dynamics_ros.formulation.kane.kinematics import BodyMotion, Placement, motion, placements_at
from kane_dynamics_ros.formulation.kane.segments import segments_of

LEAST_LEVER = 1e-3  # [m] over which a joint's force counts as a torque, where it passes through the axis


@dataclass(frozen=True)
class PartialVelocity:
    """omega_r^k [1] and v_r^k [m] (revolute) of one body for one generalized speed, in body axes.

    For a prismatic joint omega_r^k is 0 and v_r^k a unit vector [1].
    """

    omega: Vector
    v_Bo: Vector


def partial_velocities(placements: Sequence[Placement], n: int) -> list[list[PartialVelocity]]:
    """For every body k, its partial velocities for r = 0 .. n-1, (T3) and (T4)."""
    still = PartialVelocity((0, 0, 0), (0, 0, 0))
    table: list[list[PartialVelocity]] = []
    for placement in placements:
        before = table[placement.parent] if placement.parent >= 0 else [still] * n
        current = [_carried(partial, placement) if partial is not still else still for partial in before]
        segment = placement.segment
        along = scale(segment.multiplier, segment.axis)
        own = current[segment.coordinate]
        if segment.prismatic:
            own = PartialVelocity(own.omega, add(own.v_Bo, along))
        else:
            own = PartialVelocity(add(own.omega, along), own.v_Bo)
        current[segment.coordinate] = own
        table.append(current)
    return table


def _carried(partial: PartialVelocity, placement: Placement) -> PartialVelocity:
    """The partial velocity of the previous body, carried to this body's origin and axes."""
    v = add(partial.v_Bo, cross(partial.omega, placement.p_PoBo_P))
    return PartialVelocity(placement.to_body(partial.omega), placement.to_body(v))


# Kane's equations as the plain sum over bodies


def generalized_forces_by_body(
    placements: Sequence[Placement], motions: Sequence[BodyMotion], n: int
) -> list[Scalar]:
    """-F_r*, weight included, (n,) [N m or N], as the plain sum over bodies, (T5): quadratic in joints."""
    tau: list[Scalar] = [0] * n
    for placement, at, partials in zip(placements, motions, partial_velocities(placements, n), strict=True):
        R_star = inertia_force(placement.segment.body, at)
        T_star = inertia_torque(placement.segment.body, at)
        for r, partial in enumerate(partials):  # [Malvezzi2017] eqs. (2), (3)
            tau[r] = tau[r] + dot(partial.v_Bo, R_star) + dot(partial.omega, T_star)
    return tau


def inverse_dynamics_by_body(
    chain: Chain, q: Sequence[float], qd: Sequence[float], qdd: Sequence[float], gravity: Any
) -> tuple[list[float], float]:
    """``dynamics.inverse_dynamics`` as the sum over bodies and partial velocities.

    Neither factored along the tree, nor in common-normal frames, nor with regrouped inertias: what a
    generated module is held against before it is written.

    Args:
        chain: the chain.
        q, qd, qdd: position [rad or m], velocity and acceleration of each coordinate, (n,).
        gravity: free-fall acceleration in the root frame, (3,) [m/s^2].

    Returns:
        Efforts (n,) [N m or N], and the size that their rounding is to be measured by: the largest reaction
        at a joint, also where its part along the axis, the effort, happens to vanish.
    """
    n = len(chain.coordinates)
    placements = placements_at(segments_of(chain), q, sine_cosine)
    motions = motion(placements, qd, qdd, tuple(gravity))
    size = 0.0
    for joint, wrench in zip(chain.joints, resultants(placements, motions), strict=True):
        force, torque = cast(tuple[Numbers, Numbers], wrench)  # of floats, as all arguments are
        lever = 1.0 if joint.kind == "prismatic" else LEAST_LEVER
        size = max(size, math.hypot(*torque), lever * math.hypot(*force))
    return cast(list[float], generalized_forces_by_body(placements, motions, n)), size


# The regressor


def regressor(placements: Sequence[Placement], motions: Sequence[BodyMotion], n: int) -> list[list[Scalar]]:
    """Y(q, u, u'), (n, 10 n_bodies): tau = Y pi, ten parameters a body, (T17).

    The order for each body: m, h_x, h_y, h_z, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz, about Bo in body axes.
    """
    rows: list[list[Scalar]] = [[] for _ in range(n)]
    for at, partials in zip(motions, partial_velocities(placements, n), strict=True):
        columns = _inertia_wrenches(at)
        for r, partial in enumerate(partials):
            for force, torque in columns:
                rows[r].append(dot(partial.v_Bo, force) + dot(partial.omega, torque))
    return rows


def _inertia_wrenches(at: BodyMotion) -> list[tuple[Vector, Vector]]:
    """Force and torque of one body for each unit inertial parameter: (T7) and (T8) are linear in them."""
    units: tuple[Vector, Vector, Vector] = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    zero: Vector = (0, 0, 0)
    columns: list[tuple[Vector, Vector]] = [(at.a_Bo, zero)]
    for k, unit in enumerate(units):
        columns.append(((at.U[0][k], at.U[1][k], at.U[2][k]), cross(unit, at.a_Bo)))
    a, U, (zy, xz, yx) = at.alpha, at.U, at.spread
    x, y, z = at.omega
    yz, zx, xy = y * z, z * x, x * y
    columns += [  # torque J alpha + omega x J omega for each entry of J
        (zero, (a[0], zx, -xy)),
        (zero, (-U[2][0], U[2][1], -yx)),
        (zero, (U[1][0], -xz, -U[1][2])),
        (zero, (-yz, a[1], xy)),
        (zero, (-zy, -U[0][1], U[0][2])),
        (zero, (yz, -zx, a[2])),
    ]
    return columns
