"""The functions of a generated module, as expressions on one graph that shares sub-expressions."""

from collections.abc import Sequence
from dataclasses import dataclass

from kane_dynamics_ros.codegen.graph import Expression, Graph, Scalar, operations
from kane_dynamics_ros.codegen.parameters import GRAVITY, ParameterLayout
from kane_dynamics_ros.codegen.passes import jacobian, solve_symmetric
from kane_dynamics_ros.description.model import Chain
from kane_dynamics_ros.formulation.algebra import Vector, add, apply, multiply
from kane_dynamics_ros.formulation.kane import energy
from kane_dynamics_ros.formulation.kane.articulated import forward_dynamics
from kane_dynamics_ros.formulation.kane.base_parameters import Keep, regroup
from kane_dynamics_ros.formulation.kane.dynamics import inverse_dynamics, mass_matrix, resultants
from kane_dynamics_ros.formulation.kane.external import carried_wrenches, external_effort
from kane_dynamics_ros.formulation.kane.frames import Reframed
from kane_dynamics_ros.formulation.kane.kinematics import Placement, motion, place
from kane_dynamics_ros.formulation.kane.momentum import momentum_and_drift
from kane_dynamics_ros.formulation.kane.partial_velocities import regressor
from kane_dynamics_ros.formulation.kane.segments import Segment, segments_of

# One generated function, and the symbols of the state that functions take.


@dataclass(frozen=True)
class Function:
    """One generated function: inputs among q, qd, qdd, tau, wrench; one flat output array of a stated shape.

    ``nominal`` functions have the default parameters built in; the others take prepared ones.
    ``pivots`` counts the trailing outputs that are divisors: zero or negative means M is singular.
    """

    name: str
    summary: str
    inputs: tuple[str, ...]
    shape: tuple[int, ...]
    outputs: tuple[Expression, ...]
    nominal: bool = False
    pivots: int = 0

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of the input arrays in order."""
        return self.inputs if self.nominal else ("prepared", *self.inputs)


@dataclass(frozen=True)
class State:
    """The symbols of a state on one graph, each list (n,)."""

    graph: Graph
    q: list[Expression]
    qd: list[Expression]
    qdd: list[Expression]
    tau: list[Expression]

    def place(self, segments: Sequence[Segment]) -> tuple[Placement, ...]:
        """The segments at this state's q."""
        return place(segments, self.q, self.graph.sine_cosine)


def state_symbols(graph: Graph, n: int) -> State:
    """The symbols q[i], qd[i], qdd[i], tau[i]."""
    q, qd, qdd, tau = ([graph.symbol(f"{name}[{i}]") for i in range(n)] for name in ("q", "qd", "qdd", "tau"))
    return State(graph, q, qd, qdd, tau)


def flat(graph: Graph, rows: Sequence[Sequence[Scalar]]) -> tuple[Expression, ...]:
    """Rows of scalars as a flat tuple of expressions."""
    return tuple(graph.lift(x) for row in rows for x in row)


# Forward dynamics as expressions, whichever way costs fewer operations.


@dataclass(frozen=True)
class ForwardDynamics:
    """u', the pivots met on the way, and the diagonal of M that they are to be compared with."""

    qdd: tuple[Expression, ...]
    pivots: tuple[Expression, ...]
    diagonal: tuple[Expression, ...]

    def outputs(self) -> tuple[Expression, ...]:
        return (*self.qdd, *self.pivots, *self.diagonal)


def cheapest_forward_dynamics(
    M: Sequence[Sequence[Expression]],
    bias: Sequence[Expression],
    placements: Sequence[Placement],
    qd: Sequence[Expression],
    tau: Sequence[Expression],
    rotor_inertia: Sequence[Expression],
    gravity: Vector,
) -> ForwardDynamics:
    """By the mass matrix, or joint by joint: the former wins on short arms, the latter on long ones."""
    graph = tau[0].graph
    diagonal = tuple(M[i][i] for i in range(len(M)))
    qdd, pivots = solve_symmetric(M, [t - b for t, b in zip(tau, bias, strict=True)])
    by_matrix = ForwardDynamics(tuple(qdd), tuple(pivots), diagonal)
    if any(p.segment.coordinate != k or p.segment.multiplier != 1 for k, p in enumerate(placements)):
        return by_matrix  # joints that follow others share a coordinate: only M knows of it
    rates, divisors = forward_dynamics(placements, qd, tau, rotor_inertia, gravity)
    by_joint = ForwardDynamics(
        tuple(graph.lift(x) for x in rates), tuple(graph.lift(x) for x in divisors), diagonal
    )
    return min(by_matrix, by_joint, key=lambda way: operations(way.outputs()).total)


# Inverse and forward dynamics, their parts and their derivatives, as generated functions.


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


# What needs the bodies' own inertias and frames: regressor, reactions, energy, poses.


def link_functions(state: State, segments: Sequence[Segment], gravity: Vector) -> list[Function]:
    """What needs the bodies' own inertias in the frames of the URDF's links."""
    graph, n, bodies = state.graph, len(state.q), len(segments)
    placements = state.place(segments)
    motions = motion(placements, state.qd, state.qdd, gravity)
    Y = regressor(placements, motions, n)
    wrenches = [(*force, *torque) for force, torque in resultants(placements, motions)]
    kinetic = energy.kinetic_energy(placements, state.qd)
    potential = energy.potential_energy(placements, gravity)
    return [
        Function("regressor", "Y: tau = Y pi, rotors excluded", STATE, (n, 10 * bodies), flat(graph, Y)),
        Function(
            "reaction_wrenches",
            "force, then torque about the joint, by which each joint moves its link, in link axes",
            STATE,
            (bodies, 6),
            flat(graph, wrenches),
        ),
        Function(
            "energy", "kinetic and potential energy", ("q", "qd"), (2,), flat(graph, [[kinetic, potential]])
        ),
    ]


def pose_functions(state: State, segments: Sequence[Segment], chain: Chain) -> list[Function]:
    """Where the tip and the centre of mass are, in the root frame."""
    graph, n = state.graph, len(state.q)
    placements = state.place(segments)
    poses = energy.body_poses(placements)
    tip = energy.placed_in_root(poses[-1], chain.R_BT, chain.p_BoTo_B)
    J = [[graph.lift(x) for x in row] for row in energy.jacobian_of_point(placements, poses, tip.p_RoBo_R, n)]
    center, JC = energy.center_of_mass_jacobian(placements, poses, n)
    JC = [[graph.lift(x) for x in row] for row in JC]
    pose = [[*row, p] for row, p in zip(tip.R_RB, tip.p_RoBo_R, strict=True)] + [[0.0, 0.0, 0.0, 1.0]]
    return [
        Function(
            "tip_pose",
            "homogeneous transform of the tip in the root frame",
            ("q",),
            (4, 4),
            flat(graph, pose),
        ),
        Function("tip_jacobian", "angular, then linear velocity of the tip", ("q",), (6, n), flat(graph, J)),
        Function("tip_velocity", "J qd", ("q", "qd"), (6,), _times(J, state.qd)),
        Function(
            "center_of_mass",
            "of all that moves, in the root frame",
            ("q",),
            (3,),
            flat(graph, [center]),
        ),
        Function("center_of_mass_jacobian", "its linear velocity", ("q",), (3, n), flat(graph, JC)),
        Function("center_of_mass_velocity", "JC qd", ("q", "qd"), (3,), _times(JC, state.qd)),
    ]


def _times(matrix: Sequence[Sequence[Expression]], vector: Sequence[Expression]) -> tuple[Expression, ...]:
    return tuple(_dot(row, vector) for row in matrix)


# The environment's wrench at the tip, and the momentum by which an observer finds it.


def external_functions(
    state: State, lean: Sequence[Segment], reframed: Reframed, chain: Chain
) -> list[Function]:
    """J^T w of a wrench in tip axes, how it changes with q, and what of it passes each joint."""
    graph, n, bodies = state.graph, len(state.q), len(lean)
    wrench = [graph.symbol(f"wrench[{i}]") for i in range(6)]
    force, torque = (wrench[0], wrench[1], wrench[2]), (wrench[3], wrench[4], wrench[5])
    R_BL, p_BoLo_B = reframed.links[-1]
    R_BT, p_BoTo_B = multiply(R_BL, chain.R_BT), add(p_BoLo_B, apply(R_BL, chain.p_BoTo_B))
    placements = state.place(lean)
    carried = carried_wrenches(placements, R_BT, p_BoTo_B, force, torque)
    effort = flat(graph, [external_effort(placements, carried, n)])
    in_links = state.place(segments_of(chain))
    passing = carried_wrenches(in_links, chain.R_BT, chain.p_BoTo_B, force, torque)
    inputs = ("q", "wrench")
    summary = "force, then torque about each joint, that a wrench at the tip brings there, in link axes"
    return [
        Function("external_effort", "J^T w of a wrench in tip axes", inputs, (n,), effort),
        Function(
            "external_effort_derivatives",
            "d (J^T w) / d q, the wrench fixed in tip axes",
            inputs,
            (n, n),
            flat(graph, jacobian(effort, state.q)),
        ),
        Function(
            "external_wrenches", summary, inputs, (bodies, 6), flat(graph, [(*f, *t) for f, t in passing])
        ),
    ]


def external_functions_in_root(state: State, tip_jacobian: Sequence[Expression]) -> list[Function]:
    """The same of a wrench in root axes, from the tip's Jacobian (6, n), angular rows first."""
    graph, n = state.graph, len(state.q)
    wrench = [graph.symbol(f"wrench[{i}]") for i in range(6)]
    columns = [tip_jacobian[i::n] for i in range(n)]
    effort = tuple(_dot((*column[3:], *column[:3]), wrench) for column in columns)
    slopes = flat(graph, jacobian(effort, state.q))
    inputs = ("q", "wrench")
    summary = "d (J^T w) / d q, the wrench fixed in root axes"
    return [
        Function("external_effort_in_root", "J^T w of a wrench in root axes", inputs, (n,), effort),
        Function("external_effort_in_root_derivatives", summary, inputs, (n, n), slopes),
    ]


def momentum_function(
    state: State,
    lean: Sequence[Segment],
    rotor_inertia: Sequence[Expression],
    weight: Sequence[Expression],
) -> Function:
    """What a momentum observer needs of a state."""
    p, drift = momentum_and_drift(state.place(lean), state.qd, len(state.q))
    p = [own + rotor * speed for own, rotor, speed in zip(p, rotor_inertia, state.qd, strict=True)]
    drift = [own - held for own, held in zip(drift, weight, strict=True)]
    summary = "p = M qd, then C^T qd - g, to which p' adds the efforts"
    return Function("momentum", summary, ("q", "qd"), (2, len(p)), flat(state.graph, [p, drift]))


def _dot(a: Sequence[Expression], b: Sequence[Expression]) -> Expression:
    products = [x * y for x, y in zip(a, b, strict=True)]
    return sum(products[1:], products[0])


# The functions of a generated module, as expressions on one graph that shares sub-expressions.
#
# Inputs: symbols ``q[i]``, ``qd[i]``, ``qdd[i]``, ``tau[i]`` and ``parameters[k]``. What depends on the
# parameters alone is computed once, by ``prepare``, into ``prepared[k]``; the printers see to that.


@dataclass(frozen=True)
class Equations:
    """All functions of a robot, on one graph."""

    graph: Graph
    n: int
    layout: ParameterLayout
    functions: tuple[Function, ...]


def build(chain: Chain, reframed: Reframed, keep: Sequence[Keep], *, inertial: str = "fixed") -> Equations:
    """All functions of a chain.

    Args:
        chain: the robot.
        reframed: the same in common-normal frames (``formulation.frames``).
        keep: how masses are regrouped (``formulation.base_parameters``).
        inertial: "fixed", or "runtime" when the bodies' inertial parameters are parameters too.
    """
    graph, n = Graph(), len(chain.coordinates)
    state = state_symbols(graph, n)
    layout = ParameterLayout(n, len(chain.joints), inertial == "runtime")
    given = layout.bind(graph, chain, reframed)
    lean = regroup(given.lean_segments, keep)
    gravity = apply(reframed.R_0R, given.gravity)
    inverse = inverse_functions(state, lean, gravity, given.rotor_inertia)
    bias, weight = (
        next(function.outputs for function in inverse if function.name == name)
        for name in ("bias", "gravity")
    )
    nominal = regroup(reframed.segments, keep), apply(reframed.R_0R, GRAVITY), chain.rotor_inertia
    poses = pose_functions(state, given.link_segments, chain)
    J = next(function.outputs for function in poses if function.name == "tip_jacobian")
    functions = (
        nominal_inverse_dynamics(state, *nominal),
        *inverse,
        *forward_functions(state, lean, gravity, given.rotor_inertia, bias),
        *link_functions(state, given.link_segments, given.gravity),
        *poses,
        *external_functions(state, lean, reframed, chain),
        *external_functions_in_root(state, J),
        momentum_function(state, lean, given.rotor_inertia, weight),
        friction_function(state, given.viscous, given.coulomb, given.coulomb_velocity),
    )
    return Equations(graph, n, layout, functions)
