"""How the bodies of a system move, and what each generalized speed contributes: generic over the scalar.

Vectors of body B are in B's axes, unless their name says N, the ground's. A scalar may be a float, a SymPy
expression, a dual number, or an expression of the code generator.
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
    multiply,
    rotation_about,
    scale,
    subtract,
    transpose,
)
from kane_dynamics_ros.codegen.graph import Expression
from kane_dynamics_ros.formulation import dual
from kane_dynamics_ros.formulation.dual import Dual
from kane_dynamics_ros.systems.model import GROUND, IDENTITY, ZERO, NoSlip, Point, System


def sin(x: Scalar) -> Scalar:
    """Sine of any scalar."""
    return sine_cosine(x)[0]


def cos(x: Scalar) -> Scalar:
    """Cosine of any scalar."""
    return sine_cosine(x)[1]


def sine_cosine(x: Scalar) -> tuple[Scalar, Scalar]:
    """Sine and cosine of a float, a SymPy expression, a dual number or an expression of generated code."""
    if isinstance(x, Dual):
        sine, cosine = sine_cosine(x.value)
        return Dual(sine, cosine * x.slope), Dual(cosine, -(sine * x.slope))
    return x.graph.sine_cosine(x) if isinstance(x, Expression) else dual.sine_cosine(x)


@dataclass(frozen=True)
class Frame:
    """Where a body is: ``R_NB`` (3, 3) and ``p_NoBo_N`` (3,) [m]."""

    R_NB: Matrix
    p_NoBo_N: Vector


@dataclass(frozen=True)
class Motion:
    """How a body moves, in its own axes: ``omega``, ``alpha``; ``v`` and ``a`` of its origin."""

    omega: Vector
    v: Vector
    alpha: Vector
    a: Vector


AT_REST = Motion(ZERO, ZERO, ZERO, ZERO)


def frames(system: System, q: Sequence[Scalar]) -> dict[str, Frame]:
    """Every body's frame at the coordinates q (n,), by name; the ground's too."""
    found = {GROUND: Frame(IDENTITY, ZERO)}
    positions = _by_body(system, q)
    for body in system.bodies:
        parent, s = found[body.parent], positions[body.name]
        R_NJ = multiply(parent.R_NB, body.rotation)
        origin = add(parent.p_NoBo_N, apply(parent.R_NB, body.at))
        if body.joint == "prismatic":
            found[body.name] = Frame(R_NJ, add(origin, apply(R_NJ, scale(s, body.axis))))
            continue
        if body.joint == "revolute":
            R_NJ = multiply(R_NJ, rotation_about(body.axis, *sine_cosine(s)))
        found[body.name] = Frame(R_NJ, origin)
    return found


def motions(
    system: System, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar]
) -> dict[str, Motion]:
    """Every body's motion for q, q', q'', each (n,).

    For a joint about the axis e, with s its coordinate and r = p_PoBo:

        omega = omega_P + s' e        alpha = alpha_P + s'' e + omega_P x s' e
        v = v_P + omega_P x r         a = a_P + alpha_P x r + omega_P x (omega_P x r)

    and along e: v gains s' e, a gains s'' e + 2 omega_P x s' e.
    """
    found = {GROUND: AT_REST}
    values = zip(*(_by_body(system, x).values() for x in (q, qd, qdd)), strict=True)
    for body, (s, sd, sdd) in zip(system.bodies, values, strict=True):
        P, r, R_BP = found[body.parent], body.at, transpose(body.rotation)
        if body.joint == "prismatic":
            r = add(r, apply(body.rotation, scale(s, body.axis)))
        elif body.joint == "revolute":
            R_BP = multiply(transpose(rotation_about(body.axis, *sine_cosine(s))), R_BP)
        v = add(P.v, cross(P.omega, r))
        a = add(P.a, cross(P.alpha, r), cross(P.omega, cross(P.omega, r)))
        omega, alpha, v, a = (apply(R_BP, vector) for vector in (P.omega, P.alpha, v, a))
        along, along_rate = scale(sd, body.axis), scale(sdd, body.axis)
        if body.joint == "revolute":
            alpha = add(alpha, along_rate, cross(omega, along))
            omega = add(omega, along)
        elif body.joint == "prismatic":
            v = add(v, along)
            coriolis = cross(omega, along)
            a = add(a, along_rate, coriolis, coriolis)
        found[body.name] = Motion(omega, v, alpha, a)
    return found


def position_of(point: Point, at: dict[str, Frame]) -> Vector:
    """A point's position from the ground's origin, in the ground's axes [m]."""
    frame = at[point.body]
    return add(frame.p_NoBo_N, apply(frame.R_NB, point.position))


def slip(constraint: NoSlip, at: dict[str, Frame], moving: dict[str, Motion]) -> list[Scalar]:
    """The velocity of the body's particle at the contact, relative to ``on``, along each direction [m/s]."""
    contact = at[constraint.at]
    relative = subtract(
        _particle_velocity(constraint.body, contact.p_NoBo_N, at, moving),
        _particle_velocity(constraint.on, contact.p_NoBo_N, at, moving),
    )
    return [dot(apply(contact.R_NB, direction), relative) for direction in constraint.along]


def _particle_velocity(body: str, place_N: Vector, at: dict[str, Frame], moving: dict[str, Motion]) -> Vector:
    """The velocity of the particle of a body that is at a place, in the ground's axes."""
    frame, motion = at[body], moving[body]
    r = subtract(place_N, frame.p_NoBo_N)
    return add(apply(frame.R_NB, motion.v), cross(apply(frame.R_NB, motion.omega), r))


def _by_body(system: System, values: Sequence[Scalar]) -> dict[str, Scalar]:
    """A value for every body, 0 for those that are fixed."""
    given = iter(values)
    return {body.name: 0 if body.joint == "fixed" else next(given) for body in system.bodies}
