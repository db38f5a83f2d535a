"""What the environment exerts on the tip, carried from joint to joint: E of [Hussain2016] eq. (6).

A force f and a torque m at the tip's origin add f . v_r + m . omega_r to Kane's generalized active force of
u_r, with the partial velocities of the tip: J^T w. As for inertia forces the sum factors along the chain
into the wrench that passes each joint. The sign is that of a load that drives the arm:

    M(q) u' + V(q, u) = tau + J^T w.
"""

from collections.abc import Sequence

from kane_dynamics_ros.formulation.algebra import Matrix, Scalar, Vector, add, apply, cross, dot
from kane_dynamics_ros.formulation.kane.kinematics import Placement


def carried_wrenches(
    placements: Sequence[Placement], R_BT: Matrix, p_BoTo_B: Vector, force_T: Vector, torque_T: Vector
) -> list[tuple[Vector, Vector]]:
    """The tip's wrench as force and torque about Bo, in body axes, at every body, root to tip [N], [N m].

    Args:
        placements: geometry at the present q.
        R_BT, p_BoTo_B: the tip frame T in the last body.
        force_T, torque_T: on the arm, at the tip's origin, in tip axes.
    """
    force = apply(R_BT, force_T)
    torque = add(apply(R_BT, torque_T), cross(p_BoTo_B, force))
    wrenches = [(force, torque)]
    for placement in reversed(placements[1:]):
        force = placement.to_previous(force)
        torque = add(placement.to_previous(torque), cross(placement.p_PoBo_P, force))
        wrenches.insert(0, (force, torque))
    return wrenches


def external_effort(
    placements: Sequence[Placement], wrenches: Sequence[tuple[Vector, Vector]], n: int
) -> list[Scalar]:
    """J^T w, (n,) [N m or N]: the wrench that passes each joint, dotted with the joint's partial velocity."""
    effort: list[Scalar] = [0] * n
    for placement, (force, torque) in zip(placements, wrenches, strict=True):
        segment = placement.segment
        partial = dot(segment.axis, force if segment.prismatic else torque)
        effort[segment.coordinate] = effort[segment.coordinate] + segment.multiplier * partial
    return effort


def external_effort_derivatives_in_root(
    placements: Sequence[Placement],
    partials: Sequence[tuple[Vector, Vector]],
    force: Vector,
    torque: Vector,
    n: int,
) -> list[list[Scalar]]:
    """d (J^T w) / d q, (n, n), of a wrench that is fixed in root axes.

    With omega_i and v_i the tip's partial velocities of joint i, and joint k at or before it, everything from
    k on turns about k: d v_i / d q_k = omega_k x v_i = d v_k / d q_i, d omega_i / d q_k = omega_k x omega_i,
    and omega_k does not change with q_i. Dotted with the wrench,

        d tau_i / d q_k = omega_k . (v_i x f + omega_i x m),    d tau_k / d q_i = omega_k . (v_i x f).

    Args:
        placements: geometry at the present q.
        partials: omega_i and v_i (``energy.partial_velocities_of_point``), in root axes.
        force, torque: f and m on the arm, at the tip's origin, in root axes.
        n: how many coordinates.
    """
    slopes: list[list[Scalar]] = [[0] * n for _ in range(n)]
    segments = [placement.segment for placement in placements]
    for i, (omega_i, v_i) in enumerate(partials):
        by_force = cross(v_i, force)
        by_wrench = add(by_force, cross(omega_i, torque))
        for k, (omega_k, _) in enumerate(partials[: i + 1]):
            row, column = segments[i].coordinate, segments[k].coordinate
            share = segments[i].multiplier * segments[k].multiplier
            if k < i:
                slopes[row][column] = slopes[row][column] + share * dot(omega_k, by_wrench)
            slopes[column][row] = slopes[column][row] + share * dot(omega_k, by_force)
    return slopes
