"""Inverse and forward dynamics, their parts and their derivatives, as generated functions."""

from collections.abc import Sequence

from kane_dynamics_ros.codegen.differentiate import jacobian
from kane_dynamics_ros.codegen.expression import Expression, Scalar
from kane_dynamics_ros.codegen.forward import cheapest_forward_dynamics
from kane_dynamics_ros.codegen.function import Function, State, flat
from kane_dynamics_ros.formulation.algebra import Vector
from kane_dynamics_ros.formulation.kane import inverse_dynamics
from kane_dynamics_ros.formulation.mass import mass_matrix
from kane_dynamics_ros.formulation.segments import Segment

STATE = ("q", "qd", "qdd")


def nominal_inverse_dynamics(
    state: State, lean: Sequence[Segment], gravity: Vector, rotor_inertia: Sequence[float]
) -> Function:
    """Inverse dynamics with numbers for parameters: what a control loop calls most."""
    tau = _torques(state, lean, gravity, state.qd, state.qdd, rotor_inertia)
    summary = "tau = M(q) qdd + V(q, qd) with the default parameters"
    return Function("inverse_dynamics", summary, STATE, (len(tau),), tau, nominal=True)


def inverse_functions(
    state: State, lean: Sequence[Segment], gravity: Vector, rotor_inertia: Sequence[Expression]
) -> list[Function]:
    """Torques with run-time parameters, their parts, and how they change with q and qd."""
    graph, n = state.graph, len(state.q)
    rest = [0] * n
    tau = _torques(state, lean, gravity, state.qd, state.qdd, rotor_inertia)
    bias = _torques(state, lean, gravity, state.qd, rest, rotor_inertia)
    weight = _torques(state, lean, gravity, rest, rest, rotor_inertia)
    by_q, by_qd = jacobian(tau, state.q), jacobian(bias, state.qd)
    C = [[entry * 0.5 for entry in row] for row in by_qd]  # V is a quadratic form in qd, its matrix C
    slopes = (*flat(graph, by_q), *flat(graph, by_qd))
    slopes_summary = "d tau / d q, then d tau / d qd"
    return [
        Function("inverse_dynamics_with", "tau = M(q) qdd + V(q, qd)", STATE, (n,), tau),
        Function("bias", "V(q, qd), without friction", ("q", "qd"), (n,), bias),
        Function("gravity", "effort that holds the arm at rest", ("q",), (n,), weight),
        Function("coriolis", "C(q, qd) of Christoffel symbols", ("q", "qd"), (n, n), flat(graph, C)),
        Function("inverse_dynamics_derivatives", slopes_summary, STATE, (2, n, n), slopes),
    ]


def forward_functions(
    state: State,
    lean: Sequence[Segment],
    gravity: Vector,
    rotor_inertia: Sequence[Expression],
    bias: Sequence[Expression],
) -> list[Function]:
    """The mass matrix, and the accelerations that efforts cause."""
    graph, n = state.graph, len(state.q)
    placements = state.place(lean)
    M = [[graph.lift(x) for x in row] for row in mass_matrix(placements, n)]
    for i in range(n):
        M[i][i] = M[i][i] + rotor_inertia[i]
    forward = cheapest_forward_dynamics(M, bias, placements, state.qd, state.tau, rotor_inertia, gravity)
    summary = "qdd that the efforts tau cause, without friction"
    inputs = ("q", "qd", "tau")
    return [
        Function("mass_matrix", "M(q), rotor inertia included", ("q",), (n, n), flat(graph, M)),
        Function("forward_dynamics", summary, inputs, (n,), forward.outputs(), pivots=n),
    ]


def friction_function(
    state: State,
    viscous: Sequence[Expression],
    coulomb: Sequence[Expression],
    coulomb_velocity: Expression,
) -> Function:
    """Friction, apart from everything else because the hyperbolic tangent is dear."""
    efforts = tuple(
        damping * speed + level * state.graph.call("tanh", speed / coulomb_velocity)
        for damping, level, speed in zip(viscous, coulomb, state.qd, strict=True)
    )
    summary = "viscous * qd + coulomb * tanh(qd / coulomb_velocity)"
    return Function("friction", summary, ("qd",), (len(efforts),), efforts)


def _torques(
    state: State,
    segments: Sequence[Segment],
    gravity: Vector,
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    rotor_inertia: Sequence[Scalar],
) -> tuple[Expression, ...]:
    """Kane's equations solved for the efforts, rotors included."""
    rigid = inverse_dynamics(segments, state.q, qd, qdd, gravity, state.graph.sine_cosine)
    return flat(state.graph, [[t + r * a for t, r, a in zip(rigid, rotor_inertia, qdd, strict=True)]])
