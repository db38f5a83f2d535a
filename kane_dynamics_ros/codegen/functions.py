"""The functions of a generated module, as expressions on a graph that shares sub-expressions.

Inverse dynamics with default parameters, which ``factoring`` simplifies, is on a graph of its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Literal, NamedTuple

from kane_dynamics_ros.algebra import Scalar, Vector, add, apply, cross, dot, multiply, scale
from kane_dynamics_ros.codegen.arrangement import (
    SEARCHED,
    Arrangement,
    improved,
    plain_arrangement,
    sharing_arrangement,
)
from kane_dynamics_ros.codegen.factoring import simplified
from kane_dynamics_ros.codegen.graph import Expression, Graph, operations
from kane_dynamics_ros.codegen.parameters import ParameterLayout
from kane_dynamics_ros.codegen.passes import inner, inverted, jacobian, solve_symmetric
from kane_dynamics_ros.description.model import Chain, TipFrame
from kane_dynamics_ros.formulation.kane import energy
from kane_dynamics_ros.formulation.kane.dynamics import (
    carried_wrenches,
    composite_bodies,
    generalized_forces,
    joint_efforts,
    mass_matrix,
    resultants,
)
from kane_dynamics_ros.formulation.kane.effort_derivatives import (
    effort_derivatives,
    external_effort_derivatives_in_root,
)
from kane_dynamics_ros.formulation.kane.energy import momentum_and_drift
from kane_dynamics_ros.formulation.kane.forward_dynamics import forward_dynamics
from kane_dynamics_ros.formulation.kane.frames import Reframed
from kane_dynamics_ros.formulation.kane.kinematics import (
    ROOT,
    Placement,
    body_poses,
    jacobian_of_point,
    motion,
    partial_velocities_of_point,
    placed_in_root,
    placements_at,
)
from kane_dynamics_ros.formulation.kane.partial_velocities import regressor
from kane_dynamics_ros.formulation.kane.segments import BodyInertia, Segment, regroup, segments_of
from kane_dynamics_ros.formulation.kane.shared_axes import placements_in_shared_axes

Composed = Literal["", "functions", "defaults"]
FACTORED = (
    550  # operations up to which inverse dynamics is factored: it takes long, and gains less in long ones
)
WORTH_SUMS = 0.96  # of the operations: sums of angles lengthen the chain of dependent operations
MAY_BE_SINGULAR = ("inverse_mass_matrix", "forward_dynamics", "forward_dynamics_derivatives")
NEEDS = {  # what those call that are computed from other functions
    "inverse_mass_matrix_with": ("mass_matrix_with",),
    "forward_dynamics_derivatives_with": (
        "inverse_mass_matrix_with",
        "bias_with",
        "inverse_dynamics_derivatives_with",
    ),
    "coriolis": ("inverse_dynamics_derivatives_with",),
}

# One generated function, and the symbols of the state that functions take.


@dataclass(frozen=True)
class Function:
    """One generated function: inputs among q, qd, qdd, tau, wrench; one flat output array of a stated shape.

    ``nominal`` functions have the default parameters built in; the others take prepared ones.
    ``pivots`` counts the trailing outputs that are divisors: zero or negative means M is singular.
    ``composed`` functions have no outputs of their own: "functions" are computed from other ones by loops,
    "defaults" call the function with parameters on the default ones.
    ``slopes``: the first two tables (n, n) of the outputs are slopes of efforts; a loop makes them slopes of
    accelerations, by the third, M^-1.
    """

    name: str
    summary: str
    inputs: tuple[str, ...]
    shape: tuple[int, ...]
    outputs: tuple[Expression, ...]
    nominal: bool = False
    pivots: int = 0
    composed: Composed = ""
    slopes: bool = False

    @property
    def needs(self) -> tuple[str, ...]:
        """The functions that it calls, where it is composed of others."""
        if self.composed == "defaults":
            return (f"{self.name}_with",)
        return NEEDS[self.name] if self.composed else ()

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

    def placements(self, segments: Sequence[Segment]) -> tuple[Placement, ...]:
        """The segments at this state's q."""
        return placements_at(segments, self.q, self.graph.sine_cosine)


def state_symbols(graph: Graph, n: int) -> State:
    """The symbols q[i], qd[i], qdd[i], tau[i]."""
    q, qd, qdd, tau = ([graph.symbol(f"{name}[{i}]") for i in range(n)] for name in ("q", "qd", "qdd", "tau"))
    return State(graph, q, qd, qdd, tau)


def flat(graph: Graph, rows: Sequence[Sequence[Scalar]]) -> tuple[Expression, ...]:
    """Rows of scalars as a flat tuple of expressions."""
    return tuple(graph.lift(x) for row in rows for x in row)


# What functions with one form are called, take and return, whatever the robot.


class Sizes(NamedTuple):
    """Joints, bodies and tips of a model."""

    n: int
    bodies: int
    tips: int = 1


POSITION, MOTION, STATE, PUSHED = ("q",), ("q", "qd"), ("q", "qd", "qdd"), ("q", "wrench")
STATED: dict[str, tuple[str, tuple[str, ...], Callable[[Sizes], tuple[int, ...]]]] = {
    "regressor": ("Y: tau = Y pi, rotors excluded", STATE, lambda m: (m.n, 10 * m.bodies)),
    "reaction_wrenches": (
        "force, then torque about the joint, by which each joint moves its link, in link axes",
        STATE,
        lambda m: (m.bodies, 6),
    ),
    "energy": ("kinetic and potential energy", MOTION, lambda m: (2,)),
    "momentum": ("p = M qd, then C^T qd - g, to which p' adds the efforts", MOTION, lambda m: (2, m.n)),
    "tip_pose": ("homogeneous transform of the tip in the root frame", POSITION, lambda m: (4, 4)),
    "tip_jacobian": ("angular, then linear velocity of the tip", POSITION, lambda m: (6, m.n)),
    "tip_velocity": ("J qd", MOTION, lambda m: (6,)),
    "center_of_mass": ("of all that moves, in the root frame", POSITION, lambda m: (3,)),
    "center_of_mass_jacobian": ("its linear velocity", POSITION, lambda m: (3, m.n)),
    "center_of_mass_velocity": ("JC qd", MOTION, lambda m: (3,)),
    "tip_poses": ("tip_pose of every tip", POSITION, lambda m: (m.tips, 4, 4)),
    "tip_jacobians": ("tip_jacobian of every tip", POSITION, lambda m: (m.tips, 6, m.n)),
    "external_effort": ("J^T w of a wrench in tip axes", PUSHED, lambda m: (m.n,)),
    "external_effort_derivatives": (
        "d (J^T w) / d q, the wrench fixed in tip axes",
        PUSHED,
        lambda m: (m.n, m.n),
    ),
    "external_wrenches": (
        "force, then torque about each joint, that a wrench at the tip brings there, in link axes",
        PUSHED,
        lambda m: (m.bodies, 6),
    ),
    "external_effort_in_root": ("J^T w of a wrench in root axes", PUSHED, lambda m: (m.n,)),
    "external_effort_in_root_derivatives": (
        "d (J^T w) / d q, the wrench fixed in root axes",
        PUSHED,
        lambda m: (m.n, m.n),
    ),
}
OF_EVERY_TIP = ("tip_poses", "tip_jacobians")


def stated(graph: Graph, sizes: Sizes, **rows: Sequence[Sequence[Scalar]]) -> list[Function]:
    """The functions of these names, in this order, with their outputs row by row.

    Those of every tip are left out where there is one.
    """
    found = []
    for name, outputs in rows.items():
        if name in OF_EVERY_TIP and sizes.tips == 1:
            continue
        summary, inputs, shape = STATED[name]
        found.append(Function(name, summary, inputs, shape(sizes), flat(graph, outputs)))
    return found


# A chain at a state: what Kane's equations give, as expressions.


class ArrangedChain:
    """The recursions of a chain in one arrangement (``codegen.arrangement``), at the symbols of a state.

    What several functions need is derived once. Coordinates are the model's, followers' joints included.
    """

    def __init__(
        self,
        state: State,
        arrangement: Arrangement,
        segments: Sequence[Segment],
        gravity: Vector,
        rotor_inertia: Sequence[Scalar],
    ) -> None:
        self.graph, self.state, self.n = state.graph, state, len(state.q)
        self.rotor_inertia = rotor_inertia
        regrouped, self.gravity = arrangement.rewritten(segments, gravity)
        self.placements = placements_in_shared_axes(
            regrouped, state.q, state.graph.sine_cosine, arrangement.families
        )

    def torques(self, qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> tuple[Expression, ...]:
        """Kane's equations solved for the efforts, rotors included."""
        rigid = generalized_forces(self.placements, motion(self.placements, qd, qdd, self.gravity), self.n)
        return flat(self.graph, [[t + r * a for t, r, a in zip(rigid, self.rotor_inertia, qdd, strict=True)]])

    @cached_property
    def inverse_dynamics(self) -> tuple[Expression, ...]:
        return self.torques(self.state.qd, self.state.qdd)

    @cached_property
    def bias(self) -> tuple[Expression, ...]:
        return self.torques(self.state.qd, self._rest)

    @cached_property
    def holding(self) -> tuple[Expression, ...]:
        """What holds the arm at rest: of each joint, the weight of the composite body beyond it."""
        efforts: list[Scalar] = [0.0] * self.n
        accelerations: list[Vector] = []
        for placement, body in zip(self.placements, self.composite, strict=True):
            segment = placement.segment
            before = accelerations[placement.parent] if placement.parent >= 0 else scale(-1, self.gravity)
            a = placement.to_body(before)
            accelerations.append(a)
            pull = scale(body.mass, a) if segment.prismatic else cross(body.moment, a)
            share = segment.multiplier * dot(segment.axis, pull)
            efforts[segment.coordinate] = efforts[segment.coordinate] + share
        by_composite = flat(self.graph, [efforts])
        return min(by_composite, self.torques(self._rest, self._rest), key=lambda way: operations(way).total)

    @cached_property
    def composite(self) -> list[BodyInertia]:
        return composite_bodies(self.placements)

    @cached_property
    def M(self) -> list[list[Expression]]:
        M = [
            [self.graph.lift(x) for x in row] for row in mass_matrix(self.placements, self.n, self.composite)
        ]
        for i, inertia in enumerate(self.rotor_inertia):
            M[i][i] = M[i][i] + inertia
        return M

    @cached_property
    def inverse_M(self) -> tuple[list[list[Scalar]], list[Expression]]:
        """M^-1, and the pivots met on the way."""
        return inverted(self.M)

    @cached_property
    def bias_by_qd(self) -> list[list[Expression]]:
        """d V / d qd = 2 C, because V is a quadratic form in qd: C is that of Christoffel symbols."""
        motions = motion(self.placements, self.state.qd, self._rest, (0, 0, 0))
        _, by_qd = effort_derivatives(self.placements, motions, None, self.composite, self.state.qd)
        return [[self.graph.lift(entry) for entry in row] for row in by_qd]

    def derivatives(self, qdd: Sequence[Scalar]) -> tuple[list[list[Expression]], list[list[Expression]]]:
        """d tau / d q and d tau / d qd at these accelerations."""
        motions = motion(self.placements, self.state.qd, qdd, self.gravity)
        wrenches = resultants(self.placements, motions)
        found = effort_derivatives(self.placements, motions, wrenches, self.composite, self.state.qd)
        by_q, by_qd = ([[self.graph.lift(x) for x in row] for row in table] for table in found)
        return by_q, by_qd

    @cached_property
    def forward_dynamics(self) -> tuple[Expression, ...]:
        """u', then the pivots met on the way and the diagonal of M that they are to be compared with.

        By the mass matrix, or joint by joint: the former wins on short arms, the latter on long ones.
        """
        diagonal = [self.M[i][i] for i in range(self.n)]
        spare = [t - b for t, b in zip(self.state.tau, self.bias, strict=True)]
        qdd, pivots = solve_symmetric(self.M, spare)
        by_matrix = flat(self.graph, [qdd, pivots, diagonal])
        segments = [placement.segment for placement in self.placements]
        if any(s.coordinate != k or s.multiplier != 1 for k, s in enumerate(segments)):
            return by_matrix  # joints that follow others share a coordinate: only M knows of it
        rates, divisors = forward_dynamics(
            self.placements, self.state.qd, self.state.tau, self.rotor_inertia, self.gravity
        )
        by_joint = flat(self.graph, [rates, divisors, diagonal])
        return min(by_matrix, by_joint, key=lambda way: operations(way).total)

    def inverse_mass_matrix(self) -> tuple[Expression, ...]:
        """M^-1, then pivots and diagonal."""
        inverse, pivots = self.inverse_M
        return flat(self.graph, [*inverse, pivots, [self.M[i][i] for i in range(self.n)]])

    def forward_dynamics_derivatives(self) -> tuple[Expression, ...]:
        """d tau / d q and d tau / d qd at the accelerations that tau causes, M^-1, then pivots and diagonal.

        tau(q, qd, qdd) = const. gives d qdd = M^-1 (d tau - d tau / d q dq - d tau / d qd dqd): a loop is to
        multiply the tables by -M^-1 (``Function.slopes``), several columns at once, which is half of the
        operations. The bias that qdd needs is C qd and the weight, and C is there for the derivatives anyway.
        """
        inverse, pivots = self.inverse_M
        halves = [0.5 * speed for speed in self.state.qd]
        spare = [
            self.graph.lift(t - inner(row, halves) - g)
            for t, row, g in zip(self.state.tau, self.bias_by_qd, self.holding, strict=True)
        ]
        by_q, by_qd = self.derivatives([self.graph.lift(inner(row, spare)) for row in inverse])
        diagonal = [self.M[i][i] for i in range(self.n)]
        return flat(self.graph, [*by_q, *by_qd, *inverse, pivots, diagonal])

    @property
    def _rest(self) -> list[Scalar]:
        return [0] * self.n


# Inverse and forward dynamics, their parts and their derivatives, as generated functions.


def best_arrangement(
    segments: Sequence[Segment], gravity: Vector, rotor_inertia: Sequence[float], *, share: bool = True
) -> Arrangement:
    """What costs least for inverse dynamics; ``share`` = False: with every body in its own axes."""

    @cache
    def cost(arrangement: Arrangement) -> int:
        state = state_symbols(Graph(), len(rotor_inertia))
        chain = ArrangedChain(state, arrangement, segments, gravity, rotor_inertia)
        return operations(chain.inverse_dynamics).total

    own = improved(plain_arrangement(segments), segments, cost)
    if not share:
        return own
    shared = improved(replace(sharing_arrangement(segments), keep=own.keep), segments, cost)
    return shared if cost(shared) < WORTH_SUMS * cost(own) else own


def factored(outputs: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """The outputs with fewer operations, unless they have so many that it would take long."""
    return simplified(outputs) if operations(outputs).total <= FACTORED else outputs


def dynamic_functions(suffix: str, inverse: ArrangedChain, forward: ArrangedChain) -> list[Function]:
    """Inverse and forward dynamics, their parts and derivatives, each from the arrangement that suits it.

    Without a suffix, default parameters are built in and everything is written out, but for chains that are
    longer than SEARCHED: there only inverse dynamics is, because the others would double a long text.
    """
    n = inverse.n
    functions = []
    for row in _dynamics(inverse, forward):
        composed: Composed = "functions" if row.name + suffix in NEEDS else ""
        if not suffix and n > SEARCHED and row.name != "inverse_dynamics":
            composed = "defaults"
        written: tuple[Expression, ...] = ()
        if not composed:
            try:
                written = row.outputs()
                if not suffix and row.name == "inverse_dynamics":
                    written = factored(written)
            except ZeroDivisionError:  # of a massless joint: its name is found at run time, by the pivots
                composed = "defaults"
        functions.append(
            Function(
                row.name + suffix,
                row.summary,
                row.inputs,
                row.shape,
                written,
                nominal=not suffix,
                pivots=n if row.name in MAY_BE_SINGULAR else 0,
                composed=composed,
                slopes=bool(written) and row.name == "forward_dynamics_derivatives",
            )
        )
    return functions


class _Dynamics(NamedTuple):
    """A function of the arm's motion, and what derives its outputs where they are to be written out."""

    name: str
    summary: str
    inputs: tuple[str, ...]
    shape: tuple[int, ...]
    outputs: Callable[[], tuple[Expression, ...]]


def _dynamics(inverse: ArrangedChain, forward: ArrangedChain) -> list[_Dynamics]:
    """What is derived, and from which arrangement."""
    graph, n = inverse.graph, inverse.n
    push = ("q", "qd", "tau")
    return [
        _Dynamics(
            "inverse_dynamics", "tau = M(q) qdd + V(q, qd)", STATE, (n,), lambda: inverse.inverse_dynamics
        ),
        _Dynamics("bias", "V(q, qd), without friction", ("q", "qd"), (n,), lambda: inverse.bias),
        _Dynamics("gravity", "effort that holds the arm at rest", ("q",), (n,), lambda: inverse.holding),
        _Dynamics(
            "mass_matrix", "M(q), rotor inertia included", ("q",), (n, n), lambda: flat(graph, forward.M)
        ),
        _Dynamics("inverse_mass_matrix", "M^-1", ("q",), (n, n), forward.inverse_mass_matrix),
        _Dynamics(
            "forward_dynamics",
            "qdd that the efforts tau cause, without friction",
            push,
            (n,),
            lambda: forward.forward_dynamics,
        ),
        _Dynamics(
            "inverse_dynamics_derivatives",
            "d tau / d q, then d tau / d qd",
            STATE,
            (2, n, n),
            lambda: flat(graph, [row for rows in forward.derivatives(forward.state.qdd) for row in rows]),
        ),
        _Dynamics(
            "forward_dynamics_derivatives",
            "d qdd / d q, d qdd / d qd, d qdd / d tau = M^-1, without friction",
            push,
            (3, n, n),
            forward.forward_dynamics_derivatives,
        ),
    ]


def coriolis_function(forward: ArrangedChain, *, written: bool = True) -> Function:
    """C(q, qd): half of d V / d qd, written out or taken from the slopes of efforts."""
    summary, arguments, shape = "C(q, qd) of Christoffel symbols", ("q", "qd"), (forward.n, forward.n)
    if not written:
        return Function("coriolis", summary, arguments, shape, (), composed="functions")
    C = [[entry * 0.5 for entry in row] for row in forward.bias_by_qd]
    return Function("coriolis", summary, arguments, shape, flat(forward.graph, C))


def friction_function(
    state: State,
    viscous: Sequence[Expression],
    coulomb: Sequence[Expression],
    coulomb_velocity: Expression,
) -> Function:
    """Friction, apart from everything else because the hyperbolic tangent is expensive."""
    efforts = tuple(
        damping * speed + level * state.graph.call("tanh", speed / coulomb_velocity)
        for damping, level, speed in zip(viscous, coulomb, state.qd, strict=True)
    )
    summary = "viscous * qd + coulomb * tanh(qd / coulomb_velocity)"
    return Function("friction", summary, ("qd",), (len(efforts),), efforts)


# What needs the bodies' own inertias and frames: regressor, reactions, energy, poses.


def link_functions(state: State, segments: Sequence[Segment], gravity: Vector) -> list[Function]:
    """What needs the bodies' own inertias in the frames of the URDF's links."""
    graph, n, bodies = state.graph, len(state.q), len(segments)
    placements = state.placements(segments)
    motions = motion(placements, state.qd, state.qdd, gravity)
    Y = regressor(placements, motions, n)
    wrenches = [(*force, *torque) for force, torque in resultants(placements, motions)]
    kinetic = energy.kinetic_energy(placements, state.qd)
    potential = energy.potential_energy(placements, gravity)
    return stated(
        graph,
        Sizes(n, bodies),
        regressor=Y,
        reaction_wrenches=wrenches,
        energy=[[kinetic, potential]],
    )


def pose_functions(state: State, segments: Sequence[Segment], chain: Chain) -> list[Function]:
    """Where the tips and the centre of mass are, in the root frame."""
    graph, n = state.graph, len(state.q)
    placements = state.placements(segments)
    poses = body_poses(placements)
    T: list[list[Scalar]] = []  # rows of every tip's transform, and of its Jacobian
    J: list[list[Expression]] = []
    for tip in chain.tip_frames:
        pose = placed_in_root(poses[tip.body] if tip.body >= 0 else ROOT, tip.R_BT, tip.p_BoTo_B)
        rows = jacobian_of_point(placements, poses, tip.body, pose.p_RoBo_R, n)
        T += [[*row, p] for row, p in zip(pose.R_RB, pose.p_RoBo_R, strict=True)]
        T += [[0.0, 0.0, 0.0, 1.0]]
        J += [[graph.lift(x) for x in row] for row in rows]
    center, by_q = energy.center_of_mass_jacobian(placements, poses, n)
    JC = [[graph.lift(x) for x in row] for row in by_q]
    return stated(
        graph,
        Sizes(n, len(segments), len(chain.tips)),
        tip_pose=T[:4],
        tip_jacobian=J[:6],
        tip_velocity=[_times(J[:6], state.qd)],
        center_of_mass=[center],
        center_of_mass_jacobian=JC,
        center_of_mass_velocity=[_times(JC, state.qd)],
        tip_poses=T,
        tip_jacobians=J,
    )


def _times(matrix: Sequence[Sequence[Scalar]], vector: Sequence[Expression]) -> tuple[Expression, ...]:
    return tuple(_dot([vector[0].graph.lift(entry) for entry in row], vector) for row in matrix)


# The environment's wrenches at the tips, and the momentum by which an observer finds them.


def wrench_symbols(graph: Graph, tips: int) -> list[tuple[Vector, Vector]]:
    """Force and torque on each tip: the symbols wrench[i], six a tip."""
    w = [graph.symbol(f"wrench[{i}]") for i in range(6 * tips)]
    return [((w[i], w[i + 1], w[i + 2]), (w[i + 3], w[i + 4], w[i + 5])) for i in range(0, 6 * tips, 6)]


def external_functions(
    state: State, regrouped: Sequence[Segment], reframed: Reframed, chain: Chain
) -> list[Function]:
    """J^T w of wrenches in tip axes, how it changes with q, and what of them passes each joint."""
    graph, n, bodies, tips = state.graph, len(state.q), len(regrouped), chain.tip_frames
    wrenches = wrench_symbols(graph, len(tips))
    in_bodies = [_in_body_axes(tip, reframed) for tip in tips]
    placements = state.placements(regrouped)
    carried = carried_wrenches(placements, in_bodies, wrenches)
    effort = flat(graph, [joint_efforts(placements, carried, n)])
    in_links = state.placements(segments_of(chain))
    passing = [(*force, *torque) for force, torque in carried_wrenches(in_links, tips, wrenches)]
    by_q = flat(graph, jacobian(effort, state.q))
    return stated(
        graph,
        Sizes(n, bodies, len(tips)),
        external_effort=[effort],
        external_effort_derivatives=[by_q],
        external_wrenches=passing,
    )


def _in_body_axes(tip: TipFrame, reframed: Reframed) -> TipFrame:
    """The tip's frame in the body's own, which is on the common normal."""
    if tip.body < 0:
        return tip
    R_BL, p_BoLo_B = reframed.links[tip.body]
    place = add(p_BoLo_B, apply(R_BL, tip.p_BoTo_B))
    return TipFrame(tip.body, multiply(R_BL, tip.R_BT), place)


def external_functions_in_root(state: State, segments: Sequence[Segment], chain: Chain) -> list[Function]:
    """What wrenches in root axes bring, by the tips' partial velocities."""
    graph, n, tips = state.graph, len(state.q), chain.tip_frames
    placements = state.placements(segments)
    poses = body_poses(placements)
    efforts: list[Scalar] = [0] * n
    slopes: list[list[Scalar]] = [[0] * n for _ in range(n)]
    for tip, (force, torque) in zip(tips, wrench_symbols(graph, len(tips)), strict=True):
        if tip.body < 0:
            continue
        place = placed_in_root(poses[tip.body], tip.R_BT, tip.p_BoTo_B).p_RoBo_R
        partials = partial_velocities_of_point(placements, poses, tip.body, place)
        J = jacobian_of_point(placements, poses, tip.body, place, n)
        columns = [[graph.lift(row[i]) for row in (*J[3:], *J[:3])] for i in range(n)]
        wrench = [graph.lift(x) for x in (*force, *torque)]
        efforts = [effort + _dot(column, wrench) for effort, column in zip(efforts, columns, strict=True)]
        found = external_effort_derivatives_in_root(placements, partials, force, torque, n)
        slopes = [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(slopes, found, strict=True)]
    return stated(
        graph,
        Sizes(n, len(segments), len(tips)),
        external_effort_in_root=[efforts],
        external_effort_in_root_derivatives=slopes,
    )


def momentum_function(
    state: State,
    regrouped: Sequence[Segment],
    rotor_inertia: Sequence[Expression],
    weight: Sequence[Expression],
) -> Function:
    """What a momentum observer needs of a state."""
    p, drift = momentum_and_drift(state.placements(regrouped), state.qd, len(state.q))
    p = [own + rotor * speed for own, rotor, speed in zip(p, rotor_inertia, state.qd, strict=True)]
    drift = [own - held for own, held in zip(drift, weight, strict=True)]
    (found,) = stated(state.graph, Sizes(len(p), len(regrouped)), momentum=[p, drift])
    return found


def _dot(a: Sequence[Expression], b: Sequence[Expression]) -> Expression:
    products = [x * y for x, y in zip(a, b, strict=True)]
    return sum(products[1:], products[0])


# All functions of a robot.
#
# Inputs: symbols ``q[i]``, ``qd[i]``, ``qdd[i]``, ``tau[i]`` and ``parameters[k]``. What depends on the
# parameters alone is computed once, by ``prepare``, into ``prepared[k]``; the printers see to that.


@dataclass(frozen=True)
class RobotFunctions:
    """All functions of a robot, on one graph."""

    graph: Graph
    n: int
    layout: ParameterLayout
    functions: tuple[Function, ...]

    def width(self, argument: str) -> int:
        """How many numbers an input array has for one state."""
        return 6 * self.layout.tips if argument == "wrench" else self.n


def build(chain: Chain, reframed: Reframed, *, inertial: str = "fixed") -> RobotFunctions:
    """All functions of a chain.

    Args:
        chain: the robot.
        reframed: the same in common-normal frames (``formulation.kane.frames``).
        inertial: "fixed", or "runtime" when the bodies' inertial parameters are parameters too.
    """
    graph, n = Graph(), len(chain.coordinates)
    state = state_symbols(graph, n)
    layout = ParameterLayout(n, len(chain.joints), inertial == "runtime", len(chain.tips))
    given = layout.bind(graph, chain, reframed)
    nominal = reframed.segments, apply(reframed.R_0R, chain.gravity), chain.rotor_inertia
    loaded = given.common_normal_segments, apply(reframed.R_0R, given.gravity), given.rotor_inertia
    choices = best_arrangement(*nominal), sharing_arrangement(reframed.segments)
    defaults, parametrized = (
        [ArrangedChain(state, choice, *numbers) for choice in choices] for numbers in (nominal, loaded)
    )
    regrouped = regroup(given.common_normal_segments, choices[0].keep)
    poses = pose_functions(state, given.link_segments, chain)
    functions = (
        *dynamic_functions("", *defaults),
        *dynamic_functions("_with", *parametrized),
        coriolis_function(parametrized[1], written=n <= SEARCHED),  # the slopes' text is twice as long
        *link_functions(state, given.link_segments, given.gravity),
        *poses,
        *external_functions(state, regrouped, reframed, chain),
        *external_functions_in_root(state, given.link_segments, chain),
        momentum_function(state, regrouped, given.rotor_inertia, parametrized[0].holding),
        friction_function(state, given.viscous, given.coulomb, given.coulomb_velocity),
    )
    return RobotFunctions(graph, n, layout, functions)
