"""The functions of a generated module of a robot with closed loops.

The URDF's tree and its loops become functions of the independent coordinates q:

    q_T = (q, y(q)),   q_T' = T q',   q_T'' = T q'' + e,   T = [1; J],  J = -A_D^-1 A_I,  A_D e_D = c
    tau = T^T tau_T,   M = T^T M_T T                                      (the loops' forces drop out)

with Kane's equations of the tree, tau_T and M_T, and the loops' A q_T' = 0, A q_T'' = c. The dependent
coordinates y(q) begin at a series that is fitted to closed postures over the range of q, Chebyshev's where a
joint has limits and Fourier's where it turns freely, and are closed by ``STEPS`` steps of Newton's method,
written out. Dependent angles are held by their sines and cosines: a step turns them, no sine is taken.
"""

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from kane_dynamics_ros.algebra import Scalar, Vector, add, apply, dot, scale, subtract, transpose
from kane_dynamics_ros.codegen.derive import Derived, listed
from kane_dynamics_ros.codegen.functions import (
    ArrangedChain,
    Function,
    RobotFunctions,
    Sizes,
    State,
    coriolis_function,
    dynamic_functions,
    flat,
    friction_function,
    state_symbols,
    stated,
    wrench_symbols,
)
from kane_dynamics_ros.codegen.graph import (
    ADD,
    CALL,
    CONSTANT,
    SUBTRACT,
    SYMBOL,
    Expression,
    Graph,
    live_nodes,
)
from kane_dynamics_ros.codegen.parameters import BoundParameters, ParameterLayout
from kane_dynamics_ros.codegen.passes import OPERATORS, inner, jacobian, list_statements, solve_symmetric
from kane_dynamics_ros.codegen.print_python import joint_facts
from kane_dynamics_ros.description import physics_hash
from kane_dynamics_ros.description.model import TipFrame
from kane_dynamics_ros.formulation.kane import energy
from kane_dynamics_ros.formulation.kane.dynamics import (
    Wrench,
    carried_wrenches,
    generalized_forces,
    joint_efforts,
    mass_matrix,
    resultants,
)
from kane_dynamics_ros.formulation.kane.frames import reframe
from kane_dynamics_ros.formulation.kane.kinematics import (
    ROOT,
    body_poses,
    jacobian_of_point,
    motion,
    placed_in_root,
    placements_at,
)
from kane_dynamics_ros.formulation.kane.partial_velocities import regressor
from kane_dynamics_ros.formulation.kane.segments import Segment, segments_of
from kane_dynamics_ros.systems.closed_chain import GRID, SEED, ClosedChain, Samples, sample, trials
from kane_dynamics_ros.systems.model import MultibodyError

STEPS = 3  # of Newton's method: from NEAR they leave rounding
NEAR = 1e-3  # [rad or m] that the fitted series may be off
DEGREES = (4, 8, 12, 18, 26)  # of the series, one after the other until it is near enough
CLOSED = 1e-12  # [m] by which the generated loops may gape
LEAST_SINGULAR = 1e-4  # of A_D's singular values, relative: less is too near to a dead point
AGREE = 1e-10  # of an effort, relative to the largest
POSTURES, STATES = 500, 5  # random ones that a module is tried at

Matrix = list[list[Expression]]


# The functions, on a graph where the sines and cosines of the dependent angles are symbols first


@dataclass(frozen=True)
class Dependent:
    """A dependent coordinate: (sine, cosine) of an angle, or (position,) of a slide."""

    values: tuple[Expression, ...]

    @property
    def rates(self) -> tuple[Scalar, ...]:
        """How the values change with the coordinate."""
        return (1,) if len(self.values) == 1 else (self.values[1], -self.values[0])

    def less(self, change: Expression) -> "Dependent":
        """The coordinate less a small change: an angle is turned by 2 atan(change / 2), exactly a turn."""
        if len(self.values) == 1:
            return Dependent((self.values[0] - change,))
        half = 0.5 * change
        share = 1.0 / (1.0 + half * half)
        s, c = 2.0 * half * share, (1.0 - half * half) * share
        sine, cosine = self.values
        return Dependent((sine * c - cosine * s, cosine * c + sine * s))


class TreeGeometry:
    """The tree's segments at q and at given values of the dependent coordinates, and what its loops say."""

    def __init__(
        self,
        closed: ClosedChain,
        segments: Sequence[Segment],
        q: Sequence[Expression],
        dependents: Sequence[Dependent],
    ) -> None:
        self.closed, self.graph, self.size = closed, q[0].graph, len(closed.tree.coordinates)
        self.dependents = dependents
        position: list[Expression] = [self.graph.zero] * self.size
        self._turns: dict[int, tuple[Expression, ...]] = {}
        for r, own in zip(closed.independent, q, strict=True):
            position[r] = own
        for r, value in zip(closed.dependent, dependents, strict=True):
            if r in closed.slides:
                position[r] = value.values[0]
            else:
                position[r] = self.graph.symbol(f"angle of {r}")
                self._turns[position[r].index] = value.values
        self.placements = placements_at(segments, position, self._sine_cosine)
        self.poses = body_poses(self.placements)

    def _sine_cosine(self, angle: Scalar) -> tuple[Expression, Expression]:
        """Of q and constants by the graph; of a dependent angle, plus a constant, from its own two."""
        x = self.graph.lift(angle)
        if x.negative:
            sine, cosine = self._sine_cosine(-x)
            return -sine, cosine
        if x.index in self._turns:
            sine, cosine = self._turns[x.index]
            return sine, cosine
        node = self.graph.nodes[x.index]
        if node.kind in (ADD, SUBTRACT):
            first, second = self.graph.reference(node.a), self.graph.reference(node.b)
            second = -second if node.kind == SUBTRACT else second
            offset, rest = (first, second) if first.is_constant else (second, first)
            if offset.is_constant and rest.index in self._turns:
                (s, c), (so, co) = self._sine_cosine(rest), self.graph.sine_cosine(offset)
                return s * co + c * so, c * co - s * so
        if any(index in self._turns for index in live_nodes(self.graph, [x])):
            raise MultibodyError(
                "a joint follows a joint of a loop by a ratio other than 1 or -1, which a generated module "
                "cannot hold; make the follower's leader independent",
                "bad_file",
            )
        return self.graph.sine_cosine(x)

    def point(self, body: int, at: Vector) -> Vector:
        """A point's position in the root frame."""
        if body < 0:
            return at
        pose = self.poses[body]
        return add(pose.p_RoBo_R, apply(pose.R_RB, at))

    @cached_property
    def gaps(self) -> list[Expression]:
        """h of the loops: zero where they are closed."""
        found = []
        for loop in self.closed.loops:
            gap = subtract(*(self.point(*side) for side in zip(loop.bodies, loop.points, strict=True)))
            found += [self.graph.lift(dot(direction, gap)) for direction in loop.along]
        return found

    @cached_property
    def A(self) -> Matrix:
        """Of A q_T' = 0, (m, n_T)."""
        rows = []
        for loop in self.closed.loops:
            first, second = (
                list(zip(*self._velocity_by_speeds(*side), strict=True))
                for side in zip(loop.bodies, loop.points, strict=True)
            )
            columns: list[Vector] = [subtract(a, b) for a, b in zip(first, second, strict=True)]
            rows += [[self.graph.lift(dot(d, column)) for column in columns] for d in loop.along]
        return rows

    def _velocity_by_speeds(self, body: int, at: Vector) -> list[list[Scalar]]:
        """(3, n_T) of a point's velocity."""
        if body < 0:
            return [[0] * self.size for _ in range(3)]
        place = self.point(body, at)
        return jacobian_of_point(self.placements, self.poses, body, place, self.size)[3:]

    def rates(self, u: Sequence[Expression]) -> list[Expression]:
        """c of A q_T'' = c at the speeds u of the tree."""
        motions = motion(self.placements, u, [0] * self.size, (0, 0, 0))
        found = []
        for loop in self.closed.loops:
            a: list[Vector] = []
            for body, at in zip(loop.bodies, loop.points, strict=True):
                if body < 0:
                    a.append((0, 0, 0))
                    continue
                own = add(motions[body].a_Bo, apply(motions[body].U, at))
                a.append(apply(self.poses[body].R_RB, own))
            found += [self.graph.lift(-1 * dot(d, subtract(*a))) for d in loop.along]
        return found

    def rows_of(self, which: Sequence[int]) -> Matrix:
        """A of some of the tree's coordinates."""
        return [[row[r] for r in which] for row in self.A]


def normal_matrix(A: Matrix) -> Matrix:
    """A^T A."""
    columns = list(zip(*A, strict=True))
    return [[A[0][0].graph.lift(inner(a, c)) for c in columns] for a in columns]


def least_squares(A: Matrix, b: Sequence[Expression], refined: bool) -> list[Expression]:
    """x of A x = b, whose rows may depend on each other: A^T A x = A^T b, once more for what is left of b."""
    columns = list(zip(*A, strict=True))
    if not columns:
        return []
    graph, normal = A[0][0].graph, normal_matrix(A)
    x, _ = solve_symmetric(normal, [graph.lift(inner(column, b)) for column in columns])
    if refined:
        rest = [value - inner(row, x) for row, value in zip(A, b, strict=True)]
        more, _ = solve_symmetric(normal, [graph.lift(inner(column, rest)) for column in columns])
        x = [first + second for first, second in zip(x, more, strict=True)]
    return x


@dataclass(frozen=True)
class Reduction:
    """q_T' = T q' and q_T'' = T q'' + e: T (n_T, n), e (n_T,), J (n_D, n)."""

    T: Matrix
    e: list[Expression]
    J: Matrix


def reduction(geometry: TreeGeometry, qd: Sequence[Expression]) -> Reduction:
    """The tree's speeds and accelerations by those of the independent joints."""
    closed, graph = geometry.closed, geometry.graph
    n, zero, one = len(qd), graph.zero, graph.constant(1.0)
    A_D = geometry.rows_of(closed.dependent)
    columns = [
        least_squares(A_D, [-entry for entry in column], refined=True)
        for column in zip(*geometry.rows_of(closed.independent), strict=True)
    ]
    J = [[columns[j][k] for j in range(n)] for k in range(len(closed.dependent))]
    T = [[zero] * n for _ in range(geometry.size)]
    for j, r in enumerate(closed.independent):
        T[r][j] = one
    for k, r in enumerate(closed.dependent):
        T[r] = J[k]
    speeds = [graph.lift(inner(row, qd)) for row in T]
    e = [zero] * geometry.size
    rest = least_squares(A_D, geometry.rates(speeds), refined=True)
    for r, value in zip(closed.dependent, rest, strict=True):
        e[r] = value
    return Reduction(T, e, J)


class ReducedChain(ArrangedChain):
    """Kane's equations of the tree, projected on the independent joints."""

    def __init__(
        self,
        state: State,
        geometry: TreeGeometry,
        gravity: Vector,
        rotor_inertia: Sequence[Scalar],
        given: BoundParameters | None = None,
    ) -> None:
        """``given``: the friction of the joints that follow; none without."""
        self.graph, self.state, self.n = state.graph, state, len(state.q)
        self.geometry, self.placements, self.gravity = geometry, geometry.placements, gravity
        self.rotor_inertia: list[Scalar] = list(geometry.closed.tree.rotor_inertia)  # of the tree's joints
        for r, inertia in zip(geometry.closed.independent, rotor_inertia, strict=True):
            self.rotor_inertia[r] = inertia
        self.by, self.given = reduction(geometry, state.qd), given
        self.columns = [list(column) for column in zip(*self.by.T, strict=True)]

    def speeds(self, qd: Sequence[Scalar]) -> list[Scalar]:
        """Of the tree."""
        return [inner(row, qd) for row in self.by.T]

    def rates(self, qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> list[Scalar]:
        """Accelerations of the tree: T q'' + e, without e at rest."""
        rest = self.by.e if any(speed != 0 for speed in qd) else [0] * len(self.by.e)
        return [inner(row, qdd) + own for row, own in zip(self.by.T, rest, strict=True)]

    def projected(self, efforts: Sequence[Scalar]) -> list[Expression]:
        """T^T of efforts (n_T,): (n,)."""
        return [self.graph.lift(inner(column, efforts)) for column in self.columns]

    def tree_efforts(self, qd: Sequence[Scalar], qdd: Sequence[Scalar], gravity: Vector) -> list[Scalar]:
        """What the tree's joints would have to supply without its loops, rotors included, (n_T,)."""
        rates = self.rates(qd, qdd)
        motions = motion(self.placements, self.speeds(qd), rates, gravity)
        rigid = generalized_forces(self.placements, motions, self.geometry.size)
        return [t + r * a for t, r, a in zip(rigid, self.rotor_inertia, rates, strict=True)]

    def torques(self, qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> tuple[Expression, ...]:
        return tuple(self.projected(self.needed_efforts(qd, qdd)))

    def needed_efforts(self, qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> list[Scalar]:
        """``tree_efforts`` and, of the joints that follow, their friction."""
        efforts = self.tree_efforts(qd, qdd, self.gravity)
        if self.given is not None and any(speed != 0 for speed in qd):
            speeds, width = self.speeds(qd), self.given.coulomb_velocity
            levels = zip(self.given.follower_viscous, self.given.follower_coulomb, strict=True)
            for r, (viscous, coulomb) in zip(self.geometry.closed.dependent, levels, strict=True):
                sign = self.graph.call("tanh", self.graph.lift(speeds[r]) / width)
                efforts[r] = efforts[r] + viscous * speeds[r] + coulomb * sign
        return efforts

    @cached_property
    def holding(self) -> tuple[Expression, ...]:
        return self.torques([0] * self.n, [0] * self.n)

    @cached_property
    def M(self) -> Matrix:
        of_tree = mass_matrix(self.placements, self.geometry.size)
        for r, inertia in enumerate(self.rotor_inertia):
            of_tree[r][r] = of_tree[r][r] + inertia
        pushed = [[inner(row, column) for row in of_tree] for column in self.columns]
        return [[self.graph.lift(inner(column, push)) for push in pushed] for column in self.columns]

    @cached_property
    def bias_by_qd(self) -> Matrix:
        """d V / d qd = 2 C, because V is a quadratic form in qd: C is that of Christoffel symbols."""
        flowing = self.projected(self.tree_efforts(self.state.qd, [0] * self.n, (0, 0, 0)))
        return jacobian(flowing, self.state.qd)

    def derivatives(self, qdd: Sequence[Scalar]) -> tuple[Matrix, Matrix]:
        tau = self.torques(self.state.qd, qdd)
        return self.slope(tau), jacobian(tau, self.state.qd)

    @cached_property
    def forward_dynamics(self) -> tuple[Expression, ...]:
        spare = [t - b for t, b in zip(self.state.tau, self.bias, strict=True)]
        qdd, pivots = solve_symmetric(self.M, spare)
        return flat(self.graph, [qdd, pivots, [self.M[i][i] for i in range(self.n)]])

    def slope(self, outputs: Sequence[Expression]) -> Matrix:
        """d outputs / d q, through the dependent coordinates too."""
        dependents, q = self.geometry.dependents, self.state.q
        leaves = [x for value in dependents for x in value.values]
        found = []
        for row in jacobian(outputs, [*q, *leaves]):
            entries, by = row[: self.n], iter(row[self.n :])
            for value, slopes in zip(dependents, self.by.J, strict=True):
                by_position = sum((next(by) * rate for rate in value.rates), self.graph.zero)
                entries = [entry + by_position * s for entry, s in zip(entries, slopes, strict=True)]
            found.append(entries)
        return found

    def loop_wrenches(self, needed: Sequence[Scalar]) -> list[list[Wrench]]:
        """What passes each joint of the loops' forces that supply efforts (n_T,) at the dependent joints.

        A_D^T lambda = needed; of redundant constraints the smallest lambda.
        """
        geometry, closed = self.geometry, self.geometry.closed
        if not closed.dependent:
            return []
        A_D = geometry.rows_of(closed.dependent)
        share, _ = solve_symmetric(normal_matrix(A_D), [self.graph.lift(needed[r]) for r in closed.dependent])
        forces = iter([inner(row, share) for row in A_D])
        found = []
        for loop in closed.loops:
            pull = add((0, 0, 0), *(scale(next(forces), direction) for direction in loop.along))
            for body, at, sign in zip(loop.bodies, loop.points, (1, -1), strict=True):
                if body >= 0:
                    own = scale(sign, apply(transpose(geometry.poses[body].R_RB), pull))
                    end = TipFrame(body, p_BoTo_B=cast(Any, at))  # of numbers
                    found.append(carried_wrenches(self.placements, [end], [(own, (0, 0, 0))]))
        return found


def together(wrenches: Sequence[Wrench], others: Sequence[Sequence[Wrench]], sign: int) -> list[list[Scalar]]:
    """Force and torque at each body, with ``sign`` times those of the others."""
    rows = []
    for k, (force, torque) in enumerate(wrenches):
        row: list[Scalar] = [*force, *torque]
        for other in others:
            row = [x + sign * y for x, y in zip(row, (*other[k][0], *other[k][1]), strict=True)]
        rows.append(row)
    return rows


def functions_of(nominal: ReducedChain, loaded: ReducedChain) -> list[Function]:
    """All functions but friction, the dependent coordinates still symbols.

    Of those with default parameters inverse dynamics alone is written out; the others call the general ones.
    """
    of_defaults = flat(nominal.graph, [nominal.inverse_dynamics])
    functions = []
    for general in dynamic_functions("_with", loaded, loaded):
        name = general.name.removesuffix("_with")
        written = of_defaults if name == "inverse_dynamics" else ()
        composed: Any = "" if written else "defaults"
        functions += [replace(general, name=name, outputs=written, nominal=True, composed=composed), general]
    return [*functions, coriolis_function(loaded), *body_functions(loaded), *tip_functions(loaded)]


def body_functions(chain: ReducedChain) -> list[Function]:
    """What needs the bodies' inertias: regressor, joint reactions, energy, momentum."""
    graph, n, state, placements = chain.graph, chain.n, chain.state, chain.placements
    size = chain.geometry.size
    speeds, rates = chain.speeds(state.qd), chain.rates(state.qd, state.qdd)
    motions = motion(placements, speeds, rates, chain.gravity)
    columns = zip(*regressor(placements, motions, size), strict=True)
    Y = [list(row) for row in zip(*(chain.projected(column) for column in columns), strict=True)]
    supplied = chain.loop_wrenches(chain.needed_efforts(state.qd, state.qdd))
    reactions = together(resultants(placements, motions), supplied, -1)
    closed = chain.geometry.closed
    turning = [closed.tree.rotor_inertia[r] * speeds[r] * speeds[r] for r in closed.dependent]
    kinetic = energy.kinetic_energy(placements, speeds) + 0.5 * sum(turning, graph.zero)
    potential = energy.potential_energy(placements, chain.gravity)
    p = [inner(row, state.qd) for row in chain.M]
    drift = [0.5 * inner(column, state.qd) for column in zip(*chain.bias_by_qd, strict=True)]
    drift = [own - held for own, held in zip(drift, chain.holding, strict=True)]
    return stated(
        graph,
        Sizes(n, len(placements)),
        regressor=Y,
        reaction_wrenches=reactions,
        energy=[[kinetic, potential]],
        momentum=[p, drift],
    )


def tip_functions(chain: ReducedChain) -> list[Function]:
    """Where tips and centre of mass are, and what wrenches on the tips bring."""
    graph, n, qd, placements = chain.graph, chain.n, chain.state.qd, chain.placements
    geometry, tree, size = chain.geometry, chain.geometry.closed.tree, chain.geometry.size
    tips, bodies_at = tree.tip_frames, geometry.poses

    def by_q(rows: Sequence[Sequence[Scalar]]) -> Matrix:
        return [[graph.lift(inner(row, column)) for column in chain.columns] for row in rows]

    poses: list[list[Scalar]] = []  # rows of every tip's transform, and of its Jacobian
    J: Matrix = []
    for tip in tips:
        pose = placed_in_root(bodies_at[tip.body] if tip.body >= 0 else ROOT, tip.R_BT, tip.p_BoTo_B)
        J += by_q(jacobian_of_point(placements, bodies_at, tip.body, pose.p_RoBo_R, size))
        poses += [[*row, p] for row, p in zip(pose.R_RB, pose.p_RoBo_R, strict=True)]
        poses.append([0.0, 0.0, 0.0, 1.0])
    center, of_tree = energy.center_of_mass_jacobian(placements, geometry.poses, size)
    JC = by_q(of_tree)
    wrenches = wrench_symbols(graph, len(tips))
    turned = [x for force, torque in wrenches for x in (*torque, *force)]  # as the rows of J
    carried = carried_wrenches(placements, tips, wrenches)
    at_joints = joint_efforts(placements, carried, size)
    in_tip = chain.projected(at_joints)
    in_root = [graph.lift(inner(column, turned)) for column in zip(*J, strict=True)]
    passing = together(carried, chain.loop_wrenches([-1 * effort for effort in at_joints]), 1)
    return stated(
        graph,
        Sizes(n, len(placements), len(tips)),
        tip_pose=poses[:4],
        tip_jacobian=J[:6],
        tip_velocity=[[inner(row, qd) for row in J[:6]]],
        center_of_mass=[center],
        center_of_mass_jacobian=JC,
        center_of_mass_velocity=[[inner(row, qd) for row in JC]],
        external_effort=[in_tip],
        external_effort_derivatives=chain.slope(in_tip),
        external_wrenches=passing,
        external_effort_in_root=[in_root],
        external_effort_in_root_derivatives=chain.slope(in_root),
        tip_poses=poses,
        tip_jacobians=J,
    )


def build(closed: ClosedChain, samples: Sequence[Samples], degree: int, inertial: str) -> RobotFunctions:
    """All functions of the module, the dependent coordinates by a series of this degree and Newton steps."""
    graph, n = Graph(), len(closed.independent)
    state, segments = state_symbols(graph, n), segments_of(closed.tree)
    layout = ParameterLayout(
        n, len(closed.tree.joints), inertial == "runtime", len(closed.tree.tips), len(closed.dependent)
    )
    given = layout.bind(graph, closed.tree, reframe(closed.tree))
    dependents = [
        Dependent((graph.symbol(f"slide of {r}"),))
        if r in closed.slides
        else Dependent((graph.symbol(f"sine of {r}"), graph.symbol(f"cosine of {r}")))
        for r in closed.dependent
    ]
    of_defaults = TreeGeometry(closed, segments, state.q, dependents)
    nominal = ReducedChain(state, of_defaults, closed.tree.gravity, closed.reduced.rotor_inertia)
    with_parameters = TreeGeometry(closed, given.link_segments, state.q, dependents)
    loaded = ReducedChain(state, with_parameters, given.gravity, given.rotor_inertia, given)
    found = functions_of(nominal, loaded)
    values: dict[int, Expression] = {}
    for symbols, solution in zip(dependents, solved(closed, samples, degree, segments, state.q), strict=True):
        values |= {x.index: value for x, value in zip(symbols.values, solution.values, strict=True)}
    written = iter(substituted(graph, [output for function in found for output in function.outputs], values))
    functions = [replace(f, outputs=tuple(next(written) for _ in f.outputs)) for f in found]
    functions.append(friction_function(state, given.viscous, given.coulomb, given.coulomb_velocity))
    return RobotFunctions(graph, n, layout, tuple(functions))


def substituted(
    graph: Graph, outputs: Sequence[Expression], values: Mapping[int, Expression]
) -> list[Expression]:
    """The outputs with the symbols of these nodes replaced."""
    known = dict(values)
    for index in live_nodes(graph, outputs):
        if index in known:
            continue
        node = graph.nodes[index]
        if node.kind in (SYMBOL, CONSTANT):
            known[index] = graph.reference(index)
        elif node.kind == CALL:
            known[index] = graph.call(node.label, known[node.a])
        else:
            known[index] = OPERATORS[node.kind](known[node.a], known[node.b])
    return [-known[output.index] if output.negative else known[output.index] for output in outputs]


# The dependent coordinates by the independent ones: a fitted series, then Newton's steps


class _TooFarError(Exception):
    """A series of this degree is not near enough."""


def _basis(
    limits: tuple[float, float] | None, q: Any, degree: int, trigonometric: Callable[[Any], Any]
) -> list[Any]:
    """Chebyshev polynomials over the limits, or sines and cosines of multiples; of arrays or expressions."""
    if limits is None:
        sine, cosine = trigonometric(q)
        waves = [(sine, cosine)]
        while 2 * len(waves) < degree:
            s, c = waves[-1]
            waves.append((s * cosine + c * sine, c * cosine - s * sine))
        return [1.0, *(x for wave in waves for x in wave)]
    lower, upper = limits
    z = (q - (lower + upper) / 2) * (2 / (upper - lower))
    terms = [1.0, z]
    while len(terms) <= degree:
        terms.append(2 * z * terms[-1] - terms[-2])
    return terms


def _products(bases: Sequence[Sequence[Any]], degree: int) -> list[Any]:
    """Products of one term of each basis, of a total number up to the degree."""
    found = []
    for numbers in itertools.product(*(range(len(basis)) for basis in bases)):
        if sum(numbers) <= degree:
            term = bases[0][numbers[0]] if bases else 1.0
            for basis, number in zip(bases[1:], numbers[1:], strict=True):
                term = basis[number] * term
            found.append(term)
    return found


def solved(
    closed: ClosedChain,
    samples: Sequence[Samples],
    degree: int,
    segments: Sequence[Segment],
    q: Sequence[Expression],
) -> list[Dependent]:
    """The dependent coordinates at q."""
    begun: dict[int, Dependent] = {}
    for part in samples:
        begun |= _fitted(closed, part, degree, q)
    values = [begun[r] for r in closed.dependent]
    for _ in range(STEPS):
        geometry = TreeGeometry(closed, segments, q, values)
        step = least_squares(geometry.rows_of(closed.dependent), geometry.gaps, refined=False)
        values = [value.less(change) for value, change in zip(values, step, strict=True)]
    return values


def _fitted(
    closed: ClosedChain, samples: Samples, degree: int, q: Sequence[Expression]
) -> dict[int, Dependent]:
    """The series of each dependent coordinate of a group, of unit length where it is a sine and a cosine."""
    if samples.independent and degree >= GRID[len(samples.independent)]:
        raise _TooFarError
    limits = [closed.limits(r) for r in samples.independent]
    place = [closed.independent.index(r) for r in samples.independent]

    def products(columns: Sequence[Any], trigonometric: Callable[[Any], Any]) -> list[Any]:
        bases = [_basis(span, x, degree, trigonometric) for span, x in zip(limits, columns, strict=True)]
        return _products(bases, degree)

    ones = np.ones(len(samples.q))
    powers = products(samples.q.T, lambda x: (np.sin(x), np.cos(x)))
    table = np.stack([ones * term for term in powers], axis=1)
    graph = q[0].graph
    terms = products([q[k] for k in place], graph.sine_cosine)
    columns = [
        values
        for r, y in zip(samples.dependent, samples.y.T, strict=True)
        for values in ([y] if r in closed.slides else [np.sin(y), np.cos(y)])
    ]
    wanted = np.stack(columns, axis=1)
    factors = np.linalg.lstsq(table, wanted, rcond=None)[0]
    factors[np.abs(factors) < 0.1 * NEAR / len(factors)] = 0.0
    if np.abs(table @ factors - wanted).max() > NEAR:
        raise _TooFarError
    series = iter([graph.lift(inner(column, terms)) for column in factors.T.tolist()])
    return {
        r: Dependent((next(series),) if r in closed.slides else _of_unit_length(next(series), next(series)))
        for r in samples.dependent
    }


def _of_unit_length(sine: Expression, cosine: Expression) -> tuple[Expression, Expression]:
    """Both divided by their length, which is 1 but for NEAR: Newton's steps to 1 / sqrt(x) from 1."""
    square = sine * sine + cosine * cosine
    factor: Expression = 1.5 - 0.5 * square
    for _ in range(2):
        factor = factor * (1.5 - 0.5 * square * factor * factor)
    return sine * factor, cosine * factor


# The module


def derive_closed(closed: ClosedChain, *, inertial: str = "fixed") -> Derived:
    """The equations of a robot with closed loops, ready for ``codegen.module.write_module``.

    They are held against the system's own at random states first.

    Raises:
        MultibodyError: ``not_closed``, ``too_large``, ``no_limits`` of ``sample``; ``singular``, a dead point
            within the limits; ``not_closed`` where no series closes the loops to 1e-12 m; ``disagreement``,
            a fault of this package.

    Example:
        >>> from kane_dynamics_ros.description import load_robot
        >>> from kane_dynamics_ros.share import share_directory
        >>> from kane_dynamics_ros.systems.closed_chain import closed_chain
        >>> robot = load_robot(share_directory() / "urdf" / "three_link_chain.urdf")
        >>> belt = {"couplings": [{"follower": "q_3", "leader": "q_2", "ratio": -1.0}]}
        >>> derive_closed(closed_chain(robot, belt)).operations()["mass_matrix"].total < 100
        True
    """
    start = time.perf_counter()
    samples = sample(closed)
    for degree in DEGREES:
        try:
            near = largest_gap(closed, samples, degree) <= CLOSED
        except _TooFarError:
            continue
        if near:
            found = build(closed, samples, degree, inertial)
            listings, prepare = listed(found)
            seconds = time.perf_counter() - start
            of_tree = joint_facts(closed.tree)
            derived = Derived(
                closed.reduced,
                found,
                listings,
                prepare,
                physics_hash(closed.origin),
                seconds,
                closed.given,
                tuple(of_tree[r] for r in closed.dependent),
            )
            _refuse_disagreement(derived, closed, samples)
            return derived
    raise MultibodyError(
        f"{closed.system.name!r}: no series up to degree {DEGREES[-1]} closes the loops to {CLOSED:g} m "
        "over the limits of the independent joints; narrow them in the URDF",
        "not_closed",
    )


def _refuse_disagreement(derived: Derived, closed: ClosedChain, samples: Sequence[Samples]) -> None:
    listing = derived.listings["inverse_dynamics"]
    for q, qd, qdd, expected in trials(closed, samples, STATES):
        found = np.array(listing.evaluated({"q": q, "qd": qd, "qdd": qdd}), dtype=float)
        difference = float(np.abs(found - expected).max() / (1.0 + np.abs(expected).max()))
        if not difference <= AGREE:
            raise MultibodyError(
                f"the module of {closed.system.name!r} differs from the system's equations by "
                f"{difference:.2g}, relative; please report it as a fault of this package",
                "disagreement",
                difference=difference,
            )


def largest_gap(closed: ClosedChain, samples: Sequence[Samples], degree: int) -> float:
    """How far the loops gape [m] that the series and Newton's steps close, over the limits of the joints.

    Raises ``MultibodyError`` (``singular``) near a dead point.
    """
    if not closed.dependent:
        return 0.0
    graph, n = Graph(), len(closed.independent)
    q, segments = [graph.symbol(f"q[{i}]") for i in range(n)], segments_of(closed.tree)
    geometry = TreeGeometry(closed, segments, q, solved(closed, samples, degree, segments, q))
    random = np.random.default_rng(SEED)
    at = np.array(
        [random.uniform(*(closed.limits(r) or (-np.pi, np.pi)), POSTURES) for r in closed.independent]
    )
    outputs = [*geometry.gaps, *(entry for row in geometry.rows_of(closed.dependent) for entry in row)]
    values = list_statements(graph, outputs, {}).evaluated({"q": list(at)})
    columns = np.array([np.broadcast_to(value, POSTURES) for value in values], dtype=float)
    count = len(geometry.gaps)
    sizes = np.linalg.svd(columns[count:].T.reshape(POSTURES, count, -1), compute_uv=False)
    share = sizes[:, -1] / sizes[:, 0]
    if not (share >= LEAST_SINGULAR).all():
        posture = at[:, int(np.argmin(share))]
        where = ", ".join(f"{name} = {x:.4g}" for name, x in zip(closed.names, posture, strict=True))
        raise MultibodyError(
            f"{closed.system.name!r} is near a dead point at {where}: the dependent joints are not "
            "determined there; narrow the limits of the independent joints in the URDF",
            "singular",
        )
    return float(np.abs(columns[:count]).max())
