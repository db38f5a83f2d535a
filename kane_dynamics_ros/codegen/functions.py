"""The functions of a generated module, as expressions on one graph that shares sub-expressions.

Inputs are the symbols ``q[i]``, ``qd[i]``, ``qdd[i]``, ``tau[i]`` and ``parameters[k]``. What depends on the
parameters alone is computed once, by ``prepare``, into ``prepared[k]``; the printers see to that.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kane_dynamics_ros.codegen.differentiate import jacobian
from kane_dynamics_ros.codegen.expression import Expression, Graph, Scalar
from kane_dynamics_ros.codegen.forward import cheapest_forward_dynamics
from kane_dynamics_ros.codegen.parameters import ParameterLayout
from kane_dynamics_ros.description.model import Chain
from kane_dynamics_ros.formulation import energy
from kane_dynamics_ros.formulation.algebra import Vector, apply
from kane_dynamics_ros.formulation.base_parameters import Keep, regroup
from kane_dynamics_ros.formulation.frames import Reframed
from kane_dynamics_ros.formulation.kane import inverse_dynamics, resultants
from kane_dynamics_ros.formulation.kinematics import Placement, motion, place
from kane_dynamics_ros.formulation.mass import mass_matrix
from kane_dynamics_ros.formulation.partial_velocities import regressor
from kane_dynamics_ros.formulation.segments import Segment, about_origin

GRAVITY = (0.0, 0.0, -9.81)  # default free-fall acceleration in the root link's frame [m/s^2]


@dataclass(frozen=True)
class Function:
    """One generated function: inputs among q, qd, qdd, tau; one flat output array of a stated shape.

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
class Equations:
    """All functions of a robot, on one graph."""

    graph: Graph
    n: int
    layout: ParameterLayout
    functions: tuple[Function, ...]


@dataclass(frozen=True)
class _State:
    """Symbols of a state and the segments at it, in lean frames and in link frames."""

    graph: Graph
    q: list[Expression]
    qd: list[Expression]
    qdd: list[Expression]
    tau: list[Expression]


def flat(graph: Graph, rows: Sequence[Sequence[Scalar]]) -> tuple[Expression, ...]:
    """Rows of scalars as a flat tuple of expressions."""
    return tuple(graph.lift(x) for row in rows for x in row)


def build(chain: Chain, reframed: Reframed, keep: Sequence[Keep], *, inertial: str = "fixed") -> Equations:
    """All functions of a chain.

    Args:
        chain: the robot.
        reframed: the same in common-normal frames (``formulation.frames``).
        keep: how masses are regrouped (``formulation.base_parameters``).
        inertial: "fixed", or "runtime" when the bodies' inertial parameters are parameters too.
    """
    graph, n = Graph(), len(chain.coordinates)
    symbols = [[graph.symbol(f"{name}[{i}]") for i in range(n)] for name in ("q", "qd", "qdd", "tau")]
    state = _State(graph, *symbols)
    layout = ParameterLayout(n, len(chain.joints), inertial == "runtime")
    given = layout.bind(graph, chain, reframed)
    lean = regroup(given.lean_segments, keep)
    gravity = apply(reframed.R_0R, given.gravity)
    functions = [
        _nominal_inverse_dynamics(state, reframed, keep, rotor_inertia(chain)),
        *_dynamics(state, lean, gravity, given.rotor_inertia),
        *_by_link(state, given.link_segments, given.gravity),
        *_poses(state, given.link_segments, chain),
        Function(
            "friction",
            "viscous * qd + coulomb * tanh(qd / coulomb_velocity)",
            ("qd",),
            (n,),
            tuple(
                viscous * speed + coulomb * graph.call("tanh", speed / given.coulomb_velocity)
                for viscous, coulomb, speed in zip(given.viscous, given.coulomb, state.qd, strict=True)
            ),
        ),
    ]
    return Equations(graph, n, layout, tuple(functions))


def _nominal_inverse_dynamics(
    state: _State, reframed: Reframed, keep: Sequence[Keep], rotors: Sequence[float]
) -> Function:
    lean = regroup(reframed.segments, keep)
    gravity = apply(reframed.R_0R, GRAVITY)
    rigid = _inverse_dynamics(state, lean, gravity, state.qd, state.qdd)
    return Function(
        "inverse_dynamics",
        "tau = M(q) qdd + V(q, qd) with the default parameters",
        ("q", "qd", "qdd"),
        (len(state.q),),
        tuple(t + rotor * a for t, rotor, a in zip(rigid, rotors, state.qdd, strict=True)),
        nominal=True,
    )


def _inverse_dynamics(
    state: _State,
    segments: Sequence[Segment],
    gravity: Vector,
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
) -> tuple[Expression, ...]:
    tau = inverse_dynamics(segments, state.q, qd, qdd, gravity, state.graph.sine_cosine)
    return flat(state.graph, [tau])


def _dynamics(
    state: _State, lean: Sequence[Segment], gravity: Vector, rotor_inertia: Sequence[Expression]
) -> list[Function]:
    """Inverse and forward dynamics, their parts and derivatives, with run-time parameters."""
    graph, n = state.graph, len(state.q)
    rest = [0] * n
    bias = _inverse_dynamics(state, lean, gravity, state.qd, rest)
    weight = _inverse_dynamics(state, lean, gravity, rest, rest)
    rigid = _inverse_dynamics(state, lean, gravity, state.qd, state.qdd)
    tau = [t + r * a for t, r, a in zip(rigid, rotor_inertia, state.qdd, strict=True)]
    placements = _place(state, lean)
    M = [[graph.lift(x) for x in row] for row in mass_matrix(placements, n)]
    for i in range(n):
        M[i][i] = M[i][i] + rotor_inertia[i]
    by_qd = jacobian(bias, state.qd)
    C = [[entry * 0.5 for entry in row] for row in by_qd]  # V is a quadratic form in qd, its matrix C
    by_q = jacobian(tau, state.q)
    forward = cheapest_forward_dynamics(M, bias, placements, state.qd, state.tau, rotor_inertia, gravity)
    state3 = ("q", "qd", "qdd")
    return [
        Function("inverse_dynamics_with", "tau = M(q) qdd + V(q, qd)", state3, (n,), tuple(tau)),
        Function("mass_matrix", "M(q), rotor inertia included", ("q",), (n, n), flat(graph, M)),
        Function("bias", "V(q, qd), without friction", ("q", "qd"), (n,), bias),
        Function("gravity", "effort that holds the arm at rest", ("q",), (n,), weight),
        Function("coriolis", "C(q, qd) of Christoffel symbols", ("q", "qd"), (n, n), flat(graph, C)),
        Function(
            "forward_dynamics",
            "qdd that the efforts tau cause, without friction",
            ("q", "qd", "tau"),
            (n,),
            forward.outputs(),
            pivots=n,
        ),
        Function(
            "inverse_dynamics_derivatives",
            "d tau / d q, then d tau / d qd",
            state3,
            (2, n, n),
            (*flat(graph, by_q), *flat(graph, by_qd)),
        ),
    ]


def _place(state: _State, segments: Sequence[Segment]) -> tuple[Placement, ...]:
    return place(segments, state.q, state.graph.sine_cosine)


def _by_link(state: _State, segments: Sequence[Segment], gravity: Vector) -> list[Function]:
    """What needs the bodies' own inertias in the frames of the URDF's links."""
    graph, n, bodies = state.graph, len(state.q), len(segments)
    placements = _place(state, segments)
    motions = motion(placements, state.qd, state.qdd, gravity)
    Y = regressor(placements, motions, n)
    wrenches = [(*force, *torque) for force, torque in resultants(placements, motions)]
    kinetic = energy.kinetic_energy(placements, state.qd)
    potential = energy.potential_energy(placements, gravity)
    state3 = ("q", "qd", "qdd")
    return [
        Function("regressor", "Y: tau = Y pi, rotors excluded", state3, (n, 10 * bodies), flat(graph, Y)),
        Function(
            "reaction_wrenches",
            "force, then torque about the joint, by which each joint moves its link, in link axes",
            state3,
            (bodies, 6),
            flat(graph, wrenches),
        ),
        Function(
            "energy", "kinetic and potential energy", ("q", "qd"), (2,), flat(graph, [[kinetic, potential]])
        ),
    ]


def _poses(state: _State, segments: Sequence[Segment], chain: Chain) -> list[Function]:
    """Where the tip and the centre of mass are, in the root frame."""
    graph, n = state.graph, len(state.q)
    placements = _place(state, segments)
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
    products = ([a * b for a, b in zip(row, vector, strict=True)] for row in matrix)
    return tuple(sum(row[1:], row[0]) for row in products)


def rotor_inertia(chain: Chain) -> list[float]:
    """The URDF's rotor inertias in the order of the coordinates, followers' added to their leaders'."""
    total = [0.0] * len(chain.coordinates)
    for joint in chain.joints:
        total[joint.coordinate] += joint.multiplier**2 * joint.rotor_inertia
    return total


def default_parameters(layout: ParameterLayout, chain: Chain) -> tuple[float, ...]:
    """The parameters array that a loaded module begins with: no payload, no friction, the URDF's rotors."""
    values = [0.0] * layout.size
    part = layout.slices()
    values[part["gravity"]] = GRAVITY
    values[part["rotor_inertia"]] = rotor_inertia(chain)
    values[part["coulomb_velocity"]] = [0.01]
    if layout.inertial:
        bodies = [about_origin(joint.inertia) for joint in chain.joints]
        values[part["inertial"]] = [x for body in bodies for x in body.standard()]
    return tuple(float(value) for value in values)
