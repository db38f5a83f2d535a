"""Forward dynamics without the mass matrix: the equations of motion solved joint by joint.

Kane's equation of a joint at a tip alone gives its u' in terms of the acceleration of the body before it.
With that u' eliminated, the last body only adds to the inertia that the body before it seems to have, and so
on to the root: articulated bodies [Featherstone2008]. The cost is linear in the joints.

Accelerations are split into the drift, which the speeds cause alone, and the rest, alpha and a, which is
linear in the u' and in free fall: then no velocity products occur in the elimination.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kane_dynamics_ros.algebra import (
    Matrix,
    Scalar,
    Vector,
    add,
    apply,
    cross,
    cross_columns,
    dot,
    scale,
    symmetric,
    transpose,
)
from kane_dynamics_ros.formulation.kane.dynamics import inertia_force, inertia_torque
from kane_dynamics_ros.formulation.kane.kinematics import BodyMotion, Placement, children, motion
from kane_dynamics_ros.formulation.kane.segments import BodyInertia, Segment, Six


@dataclass(frozen=True)
class Articulated:
    """What it takes to accelerate a body and all that hangs on it, the joints beyond it free.

    torque = I alpha + H a + torque_0, force = H^T alpha + m a + force_0, about Bo, in one frame's axes.
    I [kg m^2] and m [kg] are symmetric (xx, xy, xz, yy, yz, zz): the mass differs with the direction.
    """

    I: Six  # noqa: E741 - the usual symbol
    H: Matrix
    m: Six
    torque_0: Vector
    force_0: Vector


@dataclass(frozen=True)
class _Joint:
    """A joint's elimination: torque and force for unit u', the divisor, and the effort left for u'."""

    torque: Vector
    force: Vector
    divisor: Scalar
    effort: Scalar


def forward_dynamics(
    placements: Sequence[Placement],
    u: Sequence[Scalar],
    tau: Sequence[Scalar],
    rotor_inertia: Sequence[Scalar],
    gravity: Vector,
) -> tuple[list[Scalar], list[Scalar]]:
    """u' that the efforts tau cause, M u' = tau - V, (T16) of docs/theory.md; and the divisors on the way.

    Args:
        placements: geometry at the present q; every joint has a coordinate of its own, multiplier 1.
        u, tau, rotor_inertia: speeds [rad/s or m/s], efforts [N m or N], rotor inertias [kg m^2 or kg], (n,).
        gravity: free-fall acceleration in the root frame [m/s^2].

    Returns:
        u' [rad/s^2 or m/s^2] and the divisors [kg m^2 or kg], each (n,): a divisor that is not positive means
        that its joint moves nothing.
    """
    n = len(placements)
    drifts = motion(placements, u, [0] * n, (0, 0, 0))
    joints: list[_Joint] = []
    felt: dict[int, Articulated] = {}  # of each body, by the one before it
    carried = children(placements)
    for k in range(n - 1, -1, -1):
        whole = _own(placements[k].segment.body, drifts[k])
        for c in carried[k]:
            whole = _joined(whole, _seen_from_previous(felt[c], placements[c]))
        joint = _joint_equation(placements[k].segment, whole, tau[k], rotor_inertia[k])
        joints.insert(0, joint)
        felt[k] = _with_joint_free(whole, joint)
    return _accelerations(placements, joints, gravity), [joint.divisor for joint in joints]


def _own(body: BodyInertia, drift: BodyMotion) -> Articulated:
    """A body alone: torque J alpha + h x a, force m a - h x alpha, and what the drift takes."""
    x, y, z = body.moment
    H = ((0, -z, y), (z, 0, -x), (-y, x, 0))
    m = (body.mass, 0, 0, body.mass, 0, body.mass)
    return Articulated(body.tensor(), H, m, inertia_torque(body, drift), inertia_force(body, drift))


def _joined(a: Articulated, b: Articulated) -> Articulated:
    """Two bodies that move as one."""
    rows = [add(p, q) for p, q in zip(a.H, b.H, strict=True)]
    return Articulated(
        _sum(a.I, b.I),
        (rows[0], rows[1], rows[2]),
        _sum(a.m, b.m),
        add(a.torque_0, b.torque_0),
        add(a.force_0, b.force_0),
    )


def _joint_equation(segment: Segment, whole: Articulated, effort: Scalar, rotor: Scalar) -> _Joint:
    """The joint's own equation: divisor u' + (torque, force) . (alpha, a) = effort - what the drift takes."""
    e = segment.axis
    if segment.prismatic:
        torque, force = apply(whole.H, e), apply(symmetric(whole.m), e)
        return _Joint(torque, force, dot(e, force) + rotor, effort - dot(e, whole.force_0))
    torque, force = apply(symmetric(whole.I), e), apply(transpose(whole.H), e)
    return _Joint(torque, force, dot(e, torque) + rotor, effort - dot(e, whole.torque_0))


def _with_joint_free(whole: Articulated, joint: _Joint) -> Articulated:
    """u' = (effort - torque . alpha - force . a) / divisor put in: what the body before it feels."""
    t, f = joint.torque, joint.force
    by_t, by_f = scale(1 / joint.divisor, t), scale(1 / joint.divisor, f)
    rows = [add(row, scale(-1 * by_t[i], f)) for i, row in enumerate(whole.H)]
    return Articulated(
        _less_outer(whole.I, by_t, t),
        (rows[0], rows[1], rows[2]),
        _less_outer(whole.m, by_f, f),
        add(whole.torque_0, scale(joint.effort, by_t)),
        add(whole.force_0, scale(joint.effort, by_f)),
    )


def _seen_from_previous(body: Articulated, placement: Placement) -> Articulated:
    """The articulated inertia about the previous body's origin, in its axes: a_Bo = a_Po + alpha x p."""
    p, turn = placement.p_PoBo_P, placement.matrix_to_previous
    I, H, m = turn(symmetric(body.I)), turn(body.H), turn(symmetric(body.m))  # noqa: E741
    moved = [add(H_row, P_m) for H_row, P_m in zip(H, cross_columns(p, m), strict=True)]
    moved_p = [cross(p, row) for row in moved]  # rows of -(H + p x m) [p]x
    P_Ht = cross_columns(p, transpose(H))
    rows = [add(I[i], moved_p[i], P_Ht[i]) for i in range(3)]
    force_0, torque_0 = placement.wrench_to_previous(body.force_0, body.torque_0)
    return Articulated(
        (rows[0][0], rows[0][1], rows[0][2], rows[1][1], rows[1][2], rows[2][2]),
        (moved[0], moved[1], moved[2]),
        (m[0][0], m[0][1], m[0][2], m[1][1], m[1][2], m[2][2]),
        torque_0,
        force_0,
    )


def _accelerations(
    placements: Sequence[Placement], joints: Sequence[_Joint], gravity: Vector
) -> list[Scalar]:
    """u' from the root outwards."""
    root: tuple[Vector, Vector] = (0, 0, 0), scale(-1, gravity)
    found: list[tuple[Vector, Vector]] = []
    rates: list[Scalar] = []
    for placement, joint in zip(placements, joints, strict=True):
        alpha, a = found[placement.parent] if placement.parent >= 0 else root
        a = placement.to_body(add(a, cross(alpha, placement.p_PoBo_P)))
        alpha = placement.to_body(alpha)
        rate = (joint.effort - dot(joint.torque, alpha) - dot(joint.force, a)) / joint.divisor
        along = scale(rate, placement.segment.axis)
        if placement.segment.prismatic:
            a = add(a, along)
        else:
            alpha = add(alpha, along)
        found.append((alpha, a))
        rates.append(rate)
    return rates


def _sum(a: Six, b: Six) -> Six:
    xx, xy, xz, yy, yz, zz = (p + q for p, q in zip(a, b, strict=True))
    return xx, xy, xz, yy, yz, zz


def _less_outer(a: Six, b: Vector, c: Vector) -> Six:
    """a - b c^T, known to be symmetric."""
    pairs = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    xx, xy, xz, yy, yz, zz = (entry - b[i] * c[j] for entry, (i, j) in zip(a, pairs, strict=True))
    return xx, xy, xz, yy, yz, zz
