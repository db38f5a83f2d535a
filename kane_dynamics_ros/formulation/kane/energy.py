"""Energy, momentum and centre of mass of a tree of bodies, generic over the scalar.

Equations (T..) are those of docs/theory.md.
"""

from collections.abc import Sequence

from kane_dynamics_ros.algebra import Scalar, Vector, add, apply, cross, dot, scale, symmetric
from kane_dynamics_ros.formulation.kane.kinematics import (
    BodyPose,
    Placement,
    body_poses,
    children,
    velocities,
)


def kinetic_energy(placements: Sequence[Placement], u: Sequence[Scalar]) -> Scalar:
    """T = sum 1/2 (m v.v + 2 h.(v x w) + w.J w), v of Bo and w in body axes [J], (T18); rotors apart.

    ``u``: generalized speeds, (n,) [rad/s or m/s].
    """
    twice: Scalar = 0
    for placement, (omega, v) in zip(placements, velocities(placements, u), strict=True):
        body = placement.segment.body
        spin = apply(symmetric(body.tensor()), omega)
        twice = twice + body.mass * dot(v, v) + 2 * dot(body.moment, cross(v, omega)) + dot(omega, spin)
    energy: Scalar = twice / 2
    return energy


def potential_energy(placements: Sequence[Placement], gravity: Vector) -> Scalar:
    """U = -g . (first moment of mass), zero at the root's origin [J], (T18).

    ``gravity``: free-fall acceleration in the root frame [m/s^2].
    """
    return -1 * dot(gravity, moment_of_mass(placements, body_poses(placements))[1])


def momentum_and_drift(
    placements: Sequence[Placement], u: Sequence[Scalar], n: int
) -> tuple[list[Scalar], list[Scalar]]:
    """Generalized momentum p = M u and how it changes by itself, dT/dq = C^T u, each (n,); rotors apart.

    With T(q, u) = 1/2 u^T M(q) u, the momentum is p = dT/du = M u, and Lagrange's equations read

        p' = dT/dq - g(q) + tau,        dT/dq = M' u - C u = C^T u,

    because M' - 2 C is skew: what a momentum observer needs [DeLuca2005] holds no acceleration and no
    derivative of M. Both follow from the linear momentum P and the angular momentum L about Bo of everything
    beyond a joint. A turn of joint r by dq_r changes the velocities of all bodies beyond it by omega x e
    (turning) and v x e (translation), taken at body r, hence, with the axis e of body r, (T26)

        revolute:   p_r = e . L,    dT/dq_r = L . (omega x e) + P . (v x e)
        prismatic:  p_r = e . P,    dT/dq_r = P . (omega x e)

    so that the cost is linear in the joints. Rotors, which are not included, add only to p.

    Args:
        placements: geometry at the present q.
        u: generalized speeds, (n,) [rad/s or m/s].

    Returns:
        p [N m s or N s] and dT/dq [N m or N], each (n,).
    """
    p: list[Scalar] = [0] * n
    drift: list[Scalar] = [0] * n
    momenta: list[tuple[Vector, Vector]] = [((0, 0, 0), (0, 0, 0))] * len(placements)
    moving, carried = list(velocities(placements, u)), children(placements)
    for k in range(len(placements) - 1, -1, -1):
        segment, (omega, v) = placements[k].segment, moving[k]
        body = segment.body
        passed = [placements[c].wrench_to_previous(*momenta[c]) for c in carried[k]]
        spin = apply(symmetric(body.tensor()), omega)
        linear = add(scale(body.mass, v), cross(omega, body.moment), *(P for P, _ in passed))
        angular = add(spin, cross(body.moment, v), *(L for _, L in passed))
        momenta[k] = linear, angular
        e, r = segment.axis, segment.coordinate
        own = segment.effort_of(linear, angular)
        gained = dot(linear, cross(omega if segment.prismatic else v, e))
        if not segment.prismatic:
            gained = gained + dot(angular, cross(omega, e))
        p[r] = p[r] + segment.multiplier * own
        drift[r] = drift[r] + segment.multiplier * gained
    return p, drift


# Centre of mass


def moment_of_mass(placements: Sequence[Placement], poses: Sequence[BodyPose]) -> tuple[Scalar, Vector]:
    """Total moving mass [kg] and its first moment about the root's origin, in root axes [kg m]."""
    mass: Scalar = 0
    moment: Vector = (0, 0, 0)
    for placement, pose in zip(placements, poses, strict=True):
        body = placement.segment.body
        mass = mass + body.mass
        moment = add(moment, scale(body.mass, pose.p_RoBo_R), apply(pose.R_RB, body.moment))
    return mass, moment


def center_of_mass_jacobian(
    placements: Sequence[Placement], poses: Sequence[BodyPose], n: int
) -> tuple[Vector, list[list[Scalar]]]:
    """Centre of mass [m] in root axes and its Jacobian (3, n): outer masses swing about each joint."""
    mass, moment = moment_of_mass(placements, poses)
    columns: list[Vector] = [(0, 0, 0)] * n
    beyond: list[tuple[Scalar, Vector]] = [(0, (0, 0, 0))] * len(placements)  # what each body carries
    for k in range(len(placements) - 1, -1, -1):
        placement, pose = placements[k], poses[k]
        body, segment = placement.segment.body, placement.segment
        outer_mass, outer = beyond[k]
        outer_mass = outer_mass + body.mass
        outer = add(outer, scale(body.mass, pose.p_RoBo_R), apply(pose.R_RB, body.moment))
        if placement.parent >= 0:
            mass_so_far, so_far = beyond[placement.parent]
            beyond[placement.parent] = mass_so_far + outer_mass, add(so_far, outer)
        axis = apply(pose.R_RB, segment.axis)
        arm = add(outer, scale(-1 * outer_mass, pose.p_RoBo_R))
        swing = scale(outer_mass, axis) if segment.prismatic else cross(axis, arm)
        columns[segment.coordinate] = add(
            columns[segment.coordinate], scale(segment.multiplier / mass, swing)
        )
    center = scale(1 / mass, moment)
    return center, [[column[k] for column in columns] for k in range(3)]
