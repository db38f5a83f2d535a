"""Kane's equations of a tree of bodies, F_r + F_r* = 0 [Malvezzi2017] eqs. (1) to (3), factored.

For every generalized speed u_r, body k has a partial angular velocity omega_r^k and a partial velocity v_r^k
(of its origin Bo). Each is zero for the bodies that joint r does not carry; those that it carries move as one
rigid body about joint r's axis e_r:

    revolute:  omega_r^k = e_r,  v_r^k = e_r x p_OrBo;    prismatic:  omega_r^k = 0,  v_r^k = e_r.

Hence the sum over bodies in F_r* = sum_k (v_r^k . R_k* + omega_r^k . T_k*) factors into one resultant force
and torque per joint, the body's own and its children's, summed from the tips to the root: the cost is linear
in the joints. Equations (T..) are those of docs/theory.md.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kane_dynamics_ros.algebra import Scalar, Vector, add, apply, cross, dot, scale, symmetric
from kane_dynamics_ros.description.geometry import Pose, moved_inertia
from kane_dynamics_ros.description.model import Chain, Inertia, TipFrame
from kane_dynamics_ros.formulation.dual import sine_cosine
from kane_dynamics_ros.formulation.kane.kinematics import (
    BodyMotion,
    Placement,
    SineCosine,
    children,
    inwards,
    motion,
    placements_at,
)
from kane_dynamics_ros.formulation.kane.segments import (
    BodyInertia,
    Segment,
    body_inertia,
    body_of,
    segments_of,
)

Wrench = tuple[Vector, Vector]  # force [N], and torque about a body's origin [N m], in the body's axes


def inverse_dynamics(chain: Chain, q: Any, qd: Any, qdd: Any, gravity: Any, *payloads: Inertia) -> Any:
    """Joint efforts (n,) that cause ``qdd`` (n,) at ``q`` (n,), ``qd`` (n,): rigid bodies only.

    tau = M(q) u' + V(q, u), [Malvezzi2017] eq. (4), in the URDF's frames and with the interface of the
    witnesses. ``gravity`` is the free-fall acceleration in the root frame (3,) [m/s^2]; ``payloads``:
    one for each tip, in its frame. Every argument, and the chain's own numbers, may be floats, SymPy
    expressions or duals.
    """
    return segment_efforts(loaded_segments(chain, *payloads), q, qd, qdd, tuple(gravity), sine_cosine)


def loaded_segments(chain: Chain, *payloads: Inertia) -> list[Segment]:
    """The chain's segments, each payload (in its tip's frame) added to the body that the tip is fixed in."""
    segments = list(segments_of(chain))
    for tip, payload in zip(chain.tip_frames, payloads, strict=False):
        if tip.body >= 0:
            carried = body_inertia(moved_inertia(Pose(tip.R_BT, tip.p_BoTo_B), payload))
            last = segments[tip.body]
            segments[tip.body] = replace(last, body=last.body + carried)
    return segments


def segment_efforts(
    segments: Sequence[Segment],
    q: Sequence[Scalar],
    u: Sequence[Scalar],
    udot: Sequence[Scalar],
    gravity: Vector,
    sine_cosine: SineCosine,
) -> list[Scalar]:
    """tau = M(q) u' + V(q, u) [Malvezzi2017] eq. (4), friction and rotors not included.

    Args:
        segments: the chain.
        q, u, udot: coordinates, generalized speeds u = q', their derivatives, each (n,).
        gravity: free-fall acceleration in the root link's frame [m/s^2].
        sine_cosine: both of an angle of these scalars.

    Returns:
        Efforts at the coordinates, (n,) [N m or N], positive along the joint axis, motor side.
    """
    placements = placements_at(segments, q, sine_cosine)
    return generalized_forces(placements, motion(placements, u, udot, gravity), len(q))


# The inertia forces of one body, and their sums over all that it carries


def inertia_force(body: BodyInertia, at: BodyMotion) -> Vector:
    """-R* = m a_Bo + U h: the inertia force of a body, sign reversed, weight included [N], (T7)."""
    return add(
        scale(body.mass, at.a_Bo),
        (dot(at.U[0], body.moment), dot(at.U[1], body.moment), dot(at.U[2], body.moment)),
    )


def inertia_torque(body: BodyInertia, at: BodyMotion) -> Vector:
    """-T* = J alpha + omega x J omega + h x a_Bo about Bo, sign reversed, weight included [N m], (T8).

    Summed over the body's particles, integral rho x (a_Bo + U rho) dm, the first two terms are the axial
    vector of U S: its x is (U S)_zy - (U S)_yz, where S_yz meets U_zz - U_yy; cyclic for y and z.
    """
    xx, xy, xz, yy, yz, zz = body.second
    (_, U_xy, U_xz), (U_yx, _, U_yz), (U_zx, U_zy, _) = at.U
    axial = (
        U_zy * yy - U_yz * zz + U_zx * xy - U_yx * xz + at.spread[0] * yz,
        U_xz * zz - U_zx * xx + U_xy * yz - U_zy * xy + at.spread[1] * xz,
        U_yx * xx - U_xy * yy + U_yz * xz - U_xz * yz + at.spread[2] * xy,
    )
    return add(axial, cross(body.moment, at.a_Bo))


def resultants(placements: Sequence[Placement], motions: Sequence[BodyMotion]) -> list[Wrench]:
    """Force and torque about Bo, in body axes, that body k needs from joint k: the liaison forces, (T11).

    They move body k and everything that it carries against inertia and weight. [N], [N m], in the bodies'
    order.
    """
    wrenches = unloaded(placements)
    carried = children(placements)
    for k in range(len(placements) - 1, -1, -1):
        body = placements[k].segment.body
        passed = [placements[c].wrench_to_previous(*wrenches[c]) for c in carried[k]]
        force = add(inertia_force(body, motions[k]), *(f for f, _ in passed))
        torque = add(inertia_torque(body, motions[k]), *(t for _, t in passed))
        wrenches[k] = force, torque
    return wrenches


def unloaded(placements: Sequence[Placement]) -> list[Wrench]:
    """No force and no torque at any body."""
    return [((0, 0, 0), (0, 0, 0))] * len(placements)


def joint_efforts(placements: Sequence[Placement], wrenches: Sequence[Wrench], n: int) -> list[Scalar]:
    """Partial velocities dotted into the wrench that passes each joint, (n,) [N m or N], (T12).

    Of the ``resultants``: the efforts that cause the motion. Of ``carried_wrenches``: J^T w.
    """
    tau: list[Scalar] = [0] * n
    for placement, wrench in zip(placements, wrenches, strict=True):
        segment = placement.segment
        tau[segment.coordinate] = tau[segment.coordinate] + segment.multiplier * segment.effort_of(*wrench)
    return tau


def generalized_forces(
    placements: Sequence[Placement], motions: Sequence[BodyMotion], n: int
) -> list[Scalar]:
    """The actuator efforts tau_r = -F_r* that balance the inertia forces and the weight, (n,) [N m or N].

    [Malvezzi2017] eq. (1): the weight is included in R*, hence in F_r*.
    """
    return joint_efforts(placements, resultants(placements, motions), n)


def carried_wrenches(
    placements: Sequence[Placement], tips: Sequence[TipFrame], wrenches_T: Sequence[Wrench]
) -> list[Wrench]:
    """Wrenches on tips as force and torque about Bo, in body axes, at every body [N], [N m].

    What the environment exerts, E of [Hussain2016] eq. (6): a force f and a torque m at the tip's origin add
    f . v_r + m . omega_r, with the partial velocities of the tip, to the generalized active force F_r.
    As for inertia forces the sum factors into the wrench that passes each joint, of which
    ``joint_efforts`` are J^T w. The sign is that of a load that drives the arm, (T25):

        M(q) u' + V(q, u) = tau + J^T w.

    Args:
        placements: geometry at the present q.
        tips: where they are fixed; bodies that carry none feel nothing.
        wrenches_T: of each tip, force and torque on the arm, at the tip's origin, in tip axes.
    """
    parts: list[list[Wrench]] = [[] for _ in placements]  # of each body: its tips', and its children's
    for tip, (force_T, torque_T) in zip(tips, wrenches_T, strict=True):
        if tip.body >= 0:
            force = apply(tip.R_BT, force_T)
            parts[tip.body].append((force, add(apply(tip.R_BT, torque_T), cross(tip.p_BoTo_B, force))))
    wrenches = unloaded(placements)
    for k in range(len(placements) - 1, -1, -1):
        if parts[k]:
            wrenches[k] = add(*(f for f, _ in parts[k])), add(*(t for _, t in parts[k]))
            if placements[k].parent >= 0:
                parts[placements[k].parent].append(placements[k].wrench_to_previous(*wrenches[k]))
    return wrenches


# The mass matrix M(q), by composite bodies
#
# M_rs = sum_k (m v_r^k . v_s^k + ...) over the bodies that both joints carry: when only u'_s = 1 and all
# speeds are zero, everything beyond joint s moves as one rigid body, whose inertia is the sum of theirs. Its
# inertia force, dotted with the partial velocities of u_r, is M_rs. Joints of which neither carries the other
# have M_rs = 0.


def mass_matrix(
    placements: Sequence[Placement], n: int, composite: Sequence[BodyInertia] | None = None
) -> list[list[Scalar]]:
    """M(q), (n, n) [kg m^2, kg m, kg], without rotors, (T13); ``composite`` where it is known already."""
    M: list[list[Scalar]] = [[0] * n for _ in range(n)]
    composite = composite or composite_bodies(placements)
    for s in range(len(placements) - 1, -1, -1):
        driven = placements[s].segment
        force, torque = unit_acceleration_forces(composite[s], driven.axis, driven.prismatic)
        for r in inwards(placements, s):
            segment = placements[r].segment
            entry = segment.effort_of(force, torque)
            entry = driven.multiplier * segment.multiplier * entry
            i, j = driven.coordinate, segment.coordinate
            M[i][j] = M[i][j] + entry
            if r != s:
                M[j][i] = M[j][i] + entry
            if placements[r].parent >= 0:
                force, torque = placements[r].wrench_to_previous(force, torque)
    return M


def composite_bodies(placements: Sequence[Placement]) -> list[BodyInertia]:
    """Inertia of body k and of all that it carries, about Bo of body k, for every k."""
    composite = [placement.segment.body for placement in placements]
    for k in range(len(placements) - 1, -1, -1):
        parent = placements[k].parent
        if parent >= 0:
            composite[parent] = composite[parent] + seen_from_previous(composite[k], placements[k])
    return composite


def seen_from_previous(body: BodyInertia, placement: Placement) -> BodyInertia:
    """A body's inertia about the previous body's origin, in the previous axes.

    As ``segments.moved``, with the turn done by ``placement``; h = R h_B and h' = h + m p give
    S' = R S R^T + h p^T + p h'^T.
    """
    p = placement.p_PoBo_P
    S = placement.matrix_to_previous(symmetric(body.second))
    h = placement.to_previous(body.moment)
    moved = add(h, scale(body.mass, p))
    second = []
    for i in range(3):
        second.append(S[i][i] + p[i] * (h[i] + moved[i]))
        second += [S[i][j] + (p[i] * moved[j] + h[i] * p[j]) for j in range(i + 1, 3)]
    return body_of([body.mass, *moved, *second])


def unit_acceleration_forces(body: BodyInertia, axis: Vector, prismatic: bool) -> Wrench:
    """Force and torque about Bo that give the body unit acceleration along its joint, at rest [N, N m].

    Revolute: force e x h, torque J e; prismatic: force m e, torque h x e.
    """
    if prismatic:
        return scale(body.mass, axis), cross(body.moment, axis)
    torque = apply(symmetric(body.tensor()), axis)
    return cross(axis, body.moment), torque
