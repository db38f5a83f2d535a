"""Generalized momentum of a chain, and how it changes by itself [DeLuca2005].

With T(q, u) = 1/2 u^T M(q) u, the momentum is p = dT/du = M u, and Lagrange's equations read

    p' = dT/dq - g(q) + tau,        dT/dq = M' u - C u = C^T u,

because M' - 2 C is skew: what a momentum observer needs holds no acceleration and no derivative of M.
Both follow from the linear momentum P and the angular momentum L about Bo of everything beyond a joint. A
turn of joint r by dq_r changes the velocities of all bodies beyond it by omega x e (turning) and v x e
(translation), taken at body r, hence with the axis e of body r

    revolute:   p_r = e . L,    dT/dq_r = L . (omega x e) + P . (v x e)
    prismatic:  p_r = e . P,    dT/dq_r = P . (omega x e)

so that the cost is linear in the joints.
"""

from collections.abc import Sequence

from kane_dynamics_ros.formulation.algebra import Scalar, Vector, add, cross, dot, scale
from kane_dynamics_ros.formulation.kane.kinematics import Placement, velocities


def momentum_and_drift(
    placements: Sequence[Placement], u: Sequence[Scalar], n: int
) -> tuple[list[Scalar], list[Scalar]]:
    """p = M u and dT/dq = C^T u, each (n,); rotors, which add only to p, are not included.

    Units: N m s and N m for a revolute joint, N s and N for a prismatic one.
    """
    p: list[Scalar] = [0] * n
    drift: list[Scalar] = [0] * n
    linear: Vector = (0, 0, 0)
    angular: Vector = (0, 0, 0)
    moving = list(velocities(placements, u))
    for k in range(len(placements) - 1, -1, -1):
        segment, (omega, v) = placements[k].segment, moving[k]
        body = segment.body
        xx, xy, xz, yy, yz, zz = body.tensor()
        turning = dot((xx, xy, xz), omega), dot((xy, yy, yz), omega), dot((xz, yz, zz), omega)
        linear = add(scale(body.mass, v), cross(omega, body.moment), linear)
        angular = add(turning, cross(body.moment, v), angular)
        e, r = segment.axis, segment.coordinate
        own = dot(e, linear if segment.prismatic else angular)
        gained = dot(linear, cross(omega if segment.prismatic else v, e))
        if not segment.prismatic:
            gained = gained + dot(angular, cross(omega, e))
        p[r] = p[r] + segment.multiplier * own
        drift[r] = drift[r] + segment.multiplier * gained
        linear = placements[k].to_previous(linear)
        angular = add(placements[k].to_previous(angular), cross(placements[k].p_PoBo_P, linear))
    return p, drift
