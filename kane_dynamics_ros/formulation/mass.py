"""The mass matrix M(q), by composite bodies.

M_rs = sum_k (m v_r^k . v_s^k + ...) over the bodies beyond both joints: when only u'_s = 1 and all
speeds are zero, everything beyond joint s moves as one rigid body, whose inertia is the sum of theirs. Its
inertia force, dotted with the partial velocities of u_r, is M_rs.
"""

from collections.abc import Sequence

from kane_dynamics_ros.formulation.algebra import Scalar, Vector, add, cross, dot, scale
from kane_dynamics_ros.formulation.kinematics import Placement
from kane_dynamics_ros.formulation.segments import BodyInertia, body_of, symmetric


def composite_bodies(placements: Sequence[Placement]) -> list[BodyInertia]:
    """Inertia of all bodies from k to the tip, about Bo of body k, for every k."""
    composite = [placement.segment.body for placement in placements]
    for k in range(len(placements) - 1, 0, -1):
        composite[k - 1] = composite[k - 1] + seen_from_previous(composite[k], placements[k])
    return composite


def seen_from_previous(body: BodyInertia, placement: Placement) -> BodyInertia:
    """A body's inertia about the previous body's origin, in the previous body's axes."""
    m, p = body.mass, placement.p_PoBo_P
    S = symmetric(body.second)
    half = [placement.to_previous(row) for row in S]  # S R^T, row by row
    rows = [
        placement.to_previous((half[0][i], half[1][i], half[2][i])) for i in range(3)
    ]  # columns of R S R^T
    h = placement.to_previous(body.moment)
    second = []
    for i in range(3):
        for j in range(i, 3):
            second.append(rows[j][i] + (p[i] * (h[j] + m * p[j]) + h[i] * p[j]))
    return body_of([m, *add(h, scale(m, p)), *second])


def unit_acceleration_forces(body: BodyInertia, axis: Vector, prismatic: bool) -> tuple[Vector, Vector]:
    """Force and torque about Bo that give the body unit acceleration along its joint, at rest.

    Revolute: force e x h, torque J e; prismatic: force m e, torque h x e.
    """
    if prismatic:
        return scale(body.mass, axis), cross(body.moment, axis)
    xx, xy, xz, yy, yz, zz = body.tensor()
    torque = dot((xx, xy, xz), axis), dot((xy, yy, yz), axis), dot((xz, yz, zz), axis)
    return cross(axis, body.moment), torque


def mass_matrix(placements: Sequence[Placement], n: int) -> list[list[Scalar]]:
    """M(q), (n, n) [kg m^2, kg m, kg], without rotors."""
    M: list[list[Scalar]] = [[0] * n for _ in range(n)]
    composite = composite_bodies(placements)
    for s in range(len(placements) - 1, -1, -1):
        driven = placements[s].segment
        force, torque = unit_acceleration_forces(composite[s], driven.axis, driven.prismatic)
        for r in range(s, -1, -1):
            segment = placements[r].segment
            entry = dot(segment.axis, force if segment.prismatic else torque)
            entry = driven.multiplier * segment.multiplier * entry
            i, j = driven.coordinate, segment.coordinate
            M[i][j] = M[i][j] + entry
            if r != s:
                M[j][i] = M[j][i] + entry
            if r:
                force = placements[r].to_previous(force)
                torque = add(placements[r].to_previous(torque), cross(placements[r].p_PoBo_P, force))
    return M
