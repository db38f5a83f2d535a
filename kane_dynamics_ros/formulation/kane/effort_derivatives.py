"""Derivatives of the efforts by positions and speeds, from partial velocities: nothing is derived again.

What one coordinate changes, it changes for all bodies beyond its joint alike. Seen from the bodies beyond
joint j, whose axes turn with it, a small change of q_j or u_j moves what is before the joint; a particle at
r from Bo, with the velocity v, then gains the acceleration

    delta_a + delta_beta x r + delta_omega x 2 (v - v_Bo)

with the same three vectors for every particle beyond the joint. They are

                   revolute, q_j    revolute, u_j    prismatic, q_j    prismatic, u_j
    delta_omega    omega x e        e                0                 0
    delta_beta     U e              2 omega x e      0                 0
    delta_a        a x e            0                U e               2 omega x e

where U = [alpha]x + [omega]x[omega]x. Hence body k and all that it carries answer as one, by m, h and J of
the composite body, L = integral 2 (v - v_Bo) dm and Q = integral r 2 (v - v_Bo)^T dm:

    force  = m delta_a + delta_beta x h + delta_omega x L
    torque = h x delta_a + J delta_beta + (trace(Q) 1 - Q^T) delta_omega          (about Bo)

Entry (i, j) of a derivative is the partial velocity of joint i dotted into that answer. Where joint i is the
outer one, the answer of the bodies beyond i is linear in the three vectors at any inner joint j: its
coefficients are carried inwards, once for all j, as for M_ij. Where joint i is the inner one, the answer
itself is carried inwards, and it includes the change of direction of the forces that act beyond joint j.
Where neither joint carries the other, the entry is 0. The cost is quadratic in the joints, as the number of
entries is.
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
    dot,
    scale,
    symmetric,
    transpose,
)
from kane_dynamics_ros.formulation.kane.dynamics import Wrench, unit_acceleration_forces
from kane_dynamics_ros.formulation.kane.kinematics import BodyMotion, Placement, children, inwards
from kane_dynamics_ros.formulation.kane.segments import BodyInertia, Segment

ZERO: Vector = (0, 0, 0)


Table = list[list[Scalar]]  # (n, n)


@dataclass(frozen=True)
class _Change:
    """The three vectors of one coordinate, in the axes of the body that its joint carries."""

    omega: Vector
    beta: Vector
    a: Vector


def effort_derivatives(
    placements: Sequence[Placement],
    motions: Sequence[BodyMotion],
    wrenches: Sequence[Wrench] | None,
    composite: Sequence[BodyInertia],
    u: Sequence[Scalar],
) -> tuple[Table, Table]:
    """d tau / d q and d tau / d u at the state that the motions describe, each (n, n), row i of effort i.

    Args:
        placements: geometry at the present q.
        motions: motions of the bodies, weight included (``kinematics.motion``).
        wrenches: what each joint passes on (``dynamics.resultants``); ``None`` where only d / d u is wanted.
        composite: inertias of each body with all that it carries (``dynamics.composite_bodies``).
        u: generalized speeds, (n,) [rad/s or m/s].

    Returns:
        Efforts [N m or N] by positions [rad or m] and by speeds, friction and rotors not included.
    """
    n = len(u)
    by_q: Table = [[0] * n for _ in range(n)]
    by_u: Table = [[0] * n for _ in range(n)]
    omegas = [scale(2, at.omega) for at in motions]
    steps = _steps(placements, omegas, u)
    L, Q = _momenta(placements, composite, omegas, steps)
    changes = [
        _changes(p.segment, at, omega) for p, at, omega in zip(placements, motions, omegas, strict=True)
    ]
    for i in range(len(placements) - 1, -1, -1):
        segment, body = placements[i].segment, composite[i]
        K = _answer_to_omega(Q[i])
        answers = [_answer(body, L[i], K, change) for change in changes[i]]
        if wrenches is not None:
            answers[0] = _turned_along(segment, answers[0], wrenches[i])
        force, torque = unit_acceleration_forces(body, segment.axis, segment.prismatic)
        spin = cross(L[i], segment.axis) if segment.prismatic else apply(transpose(K), segment.axis)
        last = i
        for j in inwards(placements, i):
            inner = placements[j].segment
            if j != i:
                outer = placements[last]
                force, torque = outer.wrench_to_previous(force, torque)
                spin = add(outer.to_previous(spin), cross(steps[last], force))
                answers = [outer.wrench_to_previous(*answer) for answer in answers]
                last = j
            r, s, both = inner.coordinate, segment.coordinate, inner.multiplier * segment.multiplier
            for table, answer, change in zip((by_q, by_u), answers, changes[j], strict=True):
                _gain(table, r, s, both * inner.effort_of(*answer))
                if j != i:
                    entry = dot(force, change.a) + dot(torque, change.beta) + dot(spin, change.omega)
                    _gain(table, s, r, both * entry)
    return by_q, by_u


def _steps(placements: Sequence[Placement], omegas: Sequence[Vector], u: Sequence[Scalar]) -> list[Vector]:
    """2 (v_Bo - v_Po) of each body, in the previous axes. ``omegas`` are doubled."""
    steps = []
    for placement in placements:
        segment, omega = placement.segment, omegas[placement.parent] if placement.parent >= 0 else ZERO
        step = cross(omega, placement.p_PoBo_P)
        if segment.prismatic:
            slide = scale(2 * segment.multiplier * u[segment.coordinate], segment.axis)
            step = add(step, placement.to_previous(slide))
        steps.append(step)
    return steps


def _momenta(
    placements: Sequence[Placement],
    composite: Sequence[BodyInertia],
    omegas: Sequence[Vector],
    steps: Sequence[Vector],
) -> tuple[list[Vector], list[Matrix]]:
    """L and Q of body k with all that it carries. A body alone: L = 2 omega x h, Q = -S [2 omega]x."""
    L = [ZERO] * len(placements)
    Q: list[Matrix] = [(ZERO, ZERO, ZERO)] * len(placements)
    carried = children(placements)
    for k in range(len(placements) - 1, -1, -1):
        body, omega = placements[k].segment.body, omegas[k]
        momentum = cross(omega, body.moment)
        x, y, z = (cross(omega, row) for row in symmetric(body.second))
        moments: Matrix = (x, y, z)
        for c in carried[k]:
            outer, step, beyond = placements[c], steps[c], composite[c]
            passed, p = outer.to_previous(L[c]), outer.p_PoBo_P
            moment = add(outer.to_previous(beyond.moment), scale(beyond.mass, p))
            moments = _sum(moments, outer.matrix_to_previous(Q[c]), _outer(p, passed), _outer(moment, step))
            momentum = add(momentum, passed, scale(beyond.mass, step))
        L[k], Q[k] = momentum, moments
    return L, Q


def _changes(segment: Segment, at: BodyMotion, omega: Vector) -> tuple[_Change, _Change]:
    """The table above: by the joint's position and by its speed. ``omega`` is doubled."""
    e = segment.axis
    if segment.prismatic:
        return _Change(ZERO, ZERO, apply(at.U, e)), _Change(ZERO, ZERO, cross(omega, e))
    return _Change(cross(at.omega, e), apply(at.U, e), cross(at.a_Bo, e)), _Change(e, cross(omega, e), ZERO)


def _answer_to_omega(Q: Matrix) -> Matrix:
    """trace(Q) 1 - Q^T."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = Q
    return (yy + zz, -yx, -zx), (-xy, xx + zz, -zy), (-xz, -yz, xx + yy)


def _answer(body: BodyInertia, L: Vector, K: Matrix, change: _Change) -> Wrench:
    """Force and torque about Bo that the change takes."""
    force = add(scale(body.mass, change.a), cross(change.beta, body.moment), cross(change.omega, L))
    J = symmetric(body.tensor())
    torque = add(cross(body.moment, change.a), apply(J, change.beta), apply(K, change.omega))
    return force, torque


def _turned_along(segment: Segment, answer: Wrench, passed: Wrench) -> Wrench:
    """The answer to q_j seen from before the joint: what the joint passes on turns or slides along."""
    force, torque = answer
    if segment.prismatic:
        return force, add(torque, cross(segment.axis, passed[0]))
    return add(force, cross(segment.axis, passed[0])), add(torque, cross(segment.axis, passed[1]))


def _gain(table: Table, i: int, j: int, value: Scalar) -> None:
    table[i][j] = table[i][j] + value


def _outer(a: Vector, b: Vector) -> Matrix:
    """a b^T."""
    return scale(a[0], b), scale(a[1], b), scale(a[2], b)


def _sum(*matrices: Matrix) -> Matrix:
    x, y, z = (add(*rows) for rows in zip(*matrices, strict=True))
    return x, y, z


# Derivatives of J^T w


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
        partials: omega_i and v_i (``kinematics.partial_velocities_of_point``), in root axes.
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
