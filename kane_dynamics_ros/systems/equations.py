"""Kane's equations of a system with constraints, generic over the scalar, then in numbers.

With the coordinates q (n,) and u_r = sum_s Y_rs q'_s, hence q' = W u with W = Y^-1:

    F_r + F_r* = 0,  r = 1 .. n              without constraints                  [Malvezzi2017] eq. (1)
    A(q) q' = b(q)                           constraints of velocities, m of them  [Malvezzi2017] eq. (13)

Of the n speeds p = n - rank(A) are independent, u_I, the others follow: u_D = D u_I + d. The partial
velocities of the independent speeds then include those of the dependent ones, v_r + sum_s v_s D_sr, and

    (F_r + F_r*) + sum_s D_sr (F_s + F_s*) = 0,  r = 1 .. p.

Forces of ideal constraints have no part in it. With T = [1; D] and tau the efforts at the coordinates:

    T^T (M u' + V - W^T tau) = 0,   u' = T u_I' + e,   A W u' = c - A W' u,   c = -d/dt(A) q' + b'.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics_ros.algebra import (
    Array,
    Scalar,
    Vector,
    add,
    apply,
    cross,
    dot,
    scale,
    subtract,
    symmetric,
)
from kane_dynamics_ros.algebra import transpose as transposed
from kane_dynamics_ros.codegen.graph import Graph
from kane_dynamics_ros.codegen.passes import list_statements
from kane_dynamics_ros.codegen.print_python import python_function
from kane_dynamics_ros.formulation.dual import Dual
from kane_dynamics_ros.systems import kinematics
from kane_dynamics_ros.systems.kinematics import Frame
from kane_dynamics_ros.systems.model import (
    Coincident,
    Constraint,
    Coupling,
    Holonomic,
    HolonomicConstraint,
    MultibodyError,
    Nonholonomic,
    NoSlip,
    Perpendicular,
    Point,
    System,
)

RANK = 1e-6  # what is left of a row of unit length beside those before it: below it the row is redundant.
# A loop that is closed to 1e-13 by way of redundant constraints may be 3e-7 off across them.
SINGULAR = 1e-9  # reciprocal condition below which a square matrix has no inverse to be trusted
NEAR = 1e-2  # [rad or m] away: a posture beside another one
GRID = 0.25  # [rad or m]: postures that share what is found beside them
POSTURES = 4  # beside one: at least one of them is regular
CLOSED = 1e-13  # [m, rad or 1] by which a closed loop may gape: rounding
CLOSING_STEPS = 50  # of Newton's method, far more than it needs where the loop can be closed
LONGEST_STEP = 0.5  # [rad or m] of Newton's method, so that it stays near its guess
CONSISTENT = 1e-7  # [m, rad or per second] by which a redundant constraint may disagree with the others

Row = Sequence[Scalar]
VelocityForm = Callable[[Row, Row], list[Scalar]]  # of q and q': A q' - b, zero along every motion


# Kane's equations for u = q', without constraints


def kane_terms(system: System, q: Row, qd: Row) -> tuple[list[list[Scalar]], list[Scalar]]:
    """M (n, n) and V (n,) of M q'' + V = tau, as the sums over bodies, [Malvezzi2017] eqs. (1) to (3).

    F_r* = sum v_r . R* + omega_r . T* with R* = -m a and T* = -(J alpha + omega x J omega), weight in R*.
    The accelerations are linear in q'': M_rs = sum m v_r . v_s + omega_r . J omega_s, and V is what remains
    with q'' = 0.
    """
    n = len(system.coordinates)
    M: list[list[Scalar]] = [[0] * n for _ in range(n)]
    V: list[Scalar] = [0] * n
    still = [0] * n
    at = kinematics.frames(system, q)
    moving = kinematics.motions(system, q, qd, still)
    partials = [kinematics.motions(system, q, unit, still) for unit in _units(n)]  # u_r = 1 alone
    for body in system.bodies:
        if body.mass == 0 and not any(entry != 0 for entry in body.inertia):
            continue
        J, c, motion = symmetric(body.inertia), body.com, moving[body.name]
        omega = [part[body.name].omega for part in partials]
        v = [add(part[body.name].v, cross(part[body.name].omega, c)) for part in partials]
        gravity = apply(transposed(at[body.name].R_NB), system.gravity)
        swing = cross(motion.omega, cross(motion.omega, c))
        a = add(motion.a, cross(motion.alpha, c), swing)
        force = scale(body.mass, subtract(a, gravity))  # -R* with q'' = 0
        torque = add(apply(J, motion.alpha), cross(motion.omega, apply(J, motion.omega)))  # -T*
        for r in range(n):
            V[r] = V[r] + dot(v[r], force) + dot(omega[r], torque)
            push, turn = scale(body.mass, v[r]), apply(J, omega[r])
            for s in range(r + 1):
                M[r][s] = M[r][s] + dot(v[s], push) + dot(omega[s], turn)
    for r in range(n):
        for s in range(r):
            M[s][r] = M[r][s]
    return M, V


def _units(n: int) -> list[list[int]]:
    return [[int(r == s) for s in range(n)] for r in range(n)]


# Constraints as functions of q and q'


def closure(system: System, constraint: Constraint) -> Callable[[Row], list[Scalar]] | None:
    """h(q) of a holonomic constraint, a value for each of its equations; None where it is none."""
    match constraint:
        case Coincident():
            return lambda q: _gap(constraint, kinematics.frames(system, q))
        case Perpendicular():
            return lambda q: [_cosine(constraint, kinematics.frames(system, q))]
        case Coupling(follower, leader, ratio, offset):
            row, column = system.coordinates.index(follower), system.coordinates.index(leader)
            return lambda q: [q[row] - ratio * q[column] - offset]
        case Holonomic(h):
            return lambda q: [h(dict(zip(system.coordinates, q, strict=True)))]
    return None


def _gap(constraint: Coincident, at: dict[str, Frame]) -> list[Scalar]:
    gap = subtract(kinematics.position_of(constraint.a, at), kinematics.position_of(constraint.b, at))
    return [dot(direction, gap) for direction in constraint.along]


def _cosine(constraint: Perpendicular, at: dict[str, Frame]) -> Scalar:
    return dot(
        apply(at[constraint.a].R_NB, constraint.axis_a), apply(at[constraint.b].R_NB, constraint.axis_b)
    )


def velocity_form(system: System, constraint: Constraint) -> VelocityForm:
    """A(q) q' - b(q) of a constraint; of a holonomic one the rate of h, by dual numbers."""
    h = closure(system, constraint)
    if h is not None:
        return lambda q, qd: [_slope(value) for value in h([Dual(a, b) for a, b in zip(q, qd, strict=True)])]
    if isinstance(constraint, NoSlip):
        still = [0] * len(system.coordinates)
        return lambda q, qd: kinematics.slip(
            constraint, kinematics.frames(system, q), kinematics.motions(system, q, qd, still)
        )
    assert isinstance(constraint, Nonholonomic)
    names, f = system.coordinates, constraint.f
    return lambda q, qd: [f(dict(zip(names, q, strict=True)), dict(zip(names, qd, strict=True)))]


def holonomic_residual(system: System, q: Row) -> list[Scalar]:
    """h(q) of all holonomic constraints."""
    functions = (closure(system, constraint) for constraint in system.constraints)
    return [value for h in functions if h is not None for value in h(q)]


def constraint_terms(
    system: System, q: Row, qd: Row
) -> tuple[list[list[Scalar]], list[Scalar], list[Scalar]]:
    """A (m, n), b (m,) and c (m,) of A q' = b and A q'' = c, [Malvezzi2017] eqs. (13), (14)."""
    n = len(system.coordinates)
    A: list[list[Scalar]] = []
    b: list[Scalar] = []
    c: list[Scalar] = []
    for constraint in system.constraints:
        form = velocity_form(system, constraint)
        still = form(q, [0] * n)
        columns = [form(q, unit) for unit in _units(n)]
        A += [[column[k] - still[k] for column in columns] for k in range(len(still))]
        b += [-value for value in still]
        c += [-_slope(value) for value in form(*_along(q, qd))]
    return A, b, c


def speed_terms(system: System, q: Row, qd: Row) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Y (n, n) of u = Y q', and Y' q' (n,)."""
    n = len(system.coordinates)
    if system.speeds is None:
        return [list(unit) for unit in _units(n)], [0] * n
    names, define = system.coordinates, system.speeds

    def speeds(q: Row, qd: Row) -> list[Scalar]:
        return list(define(dict(zip(names, q, strict=True)), dict(zip(names, qd, strict=True))))

    if len(speeds(q, qd)) != n:
        raise MultibodyError(
            f"{len(speeds(q, qd))} generalized speeds are defined; {n} are needed, one for each of "
            f"{', '.join(names)}",
            "speeds",
        )
    columns = [speeds(q, unit) for unit in _units(n)]
    Y = [[column[r] for column in columns] for r in range(n)]
    return Y, [_slope(value) for value in speeds(*_along(q, qd))]


def _along(q: Row, qd: Row) -> tuple[list[Scalar], list[Scalar]]:
    """q and q' as duals whose slope is by time, q' kept constant."""
    return [Dual(x, xd) for x, xd in zip(q, qd, strict=True)], [Dual(xd, 0) for xd in qd]


def _slope(value: Any) -> Any:
    """The derivative that a dual carries; 0 of what did not depend on the variable."""
    return value.slope if isinstance(value, Dual) else 0 * value


# The same in numbers, at one state


@dataclass(frozen=True)
class StateTerms:
    """Everything that the equations need at q, u, as arrays of floats.

    ``q``, ``qd`` (n,). ``M`` (n, n), ``V`` (n,): of M q'' + V = tau. ``A`` (m, n), ``b``, ``c`` (m,).
    ``W`` (n, n), ``W_rate_u`` (n,) = W' u, so that q'' = W u' + W' u.
    """

    q: Array
    qd: Array
    M: Array
    V: Array
    A: Array
    b: Array
    c: Array
    W: Array
    W_rate_u: Array


@dataclass(frozen=True)
class Reduction:
    """Which speeds are independent, u = T u_I + t and u' = T u_I' + e.

    ``redundant`` names constraints that follow from the others.
    """

    independent: tuple[int, ...]
    T: Array
    t: Array
    e: Array
    redundant: tuple[str, ...]


@lru_cache(maxsize=32)
def program(system: System) -> Callable[[Row, Row], list[float]]:
    """M, V, A, b, c, Y, Y' q' and h, one after the other, as straight-line code of q and q'.

    What a generated module holds, run as Python.
    """
    n, graph = len(system.coordinates), Graph()
    q, qd = ([graph.symbol(f"{name}[{r}]") for r in range(n)] for name in ("q", "qd"))
    M, V = kane_terms(system, q, qd)
    A, b, c = constraint_terms(system, q, qd)
    Y, Y_rate_qd = speed_terms(system, q, qd)
    rows = [*M, V, *A, b, c, *Y, Y_rate_qd, holonomic_residual(system, q)]
    outputs = [graph.lift(value) for row in rows for value in row]
    text = python_function("terms", ("q", "qd"), n, list_statements(graph, outputs, {}), "Terms of a system")
    namespace: dict[str, Any] = {"sin": math.sin, "cos": math.cos}
    exec(compile(text, f"<system {system.name}>", "exec"), namespace)
    terms: Callable[[Row, Row], list[float]] = namespace["terms"]
    return terms


def _evaluated(system: System, q: Row, qd: Row) -> list[Array]:
    """The parts of ``program``: M, V, A, b, c, Y, Y' q' and h."""
    flat = np.array(program(system)(q, qd), dtype=float)
    n, m = len(q), len(equation_names(system))
    sizes = np.cumsum([n * n, n, m * n, m, m, n * n, n])
    M, V, A, b, c, Y, Y_rate_qd, h = np.split(flat, sizes)
    return [M.reshape(n, n), V, A.reshape(m, n), b, c, Y.reshape(n, n), Y_rate_qd, h]


def closures(system: System, q: ArrayLike) -> tuple[Array, Array]:
    """h(q) of the holonomic constraints [m, rad or 1], and their rows of A(q), (len(h), n)."""
    positions = as_state(system, q)
    parts = _evaluated(system, positions, [0.0] * len(positions))
    return parts[-1], parts[2][holonomic_rows(system)]


def state_terms(system: System, q: ArrayLike, u: ArrayLike) -> StateTerms:
    """The terms at q (n,) [rad or m] and u (n,).

    Raises:
        MultibodyError: ``speeds``, where the generalized speeds do not determine q'.
    """
    positions, speeds = as_state(system, q), np.array(as_state(system, u))
    if system.speeds is None:
        W: Array = np.eye(len(positions))
    else:
        Y = _evaluated(system, positions, [0.0] * len(positions))[5]
        if np.linalg.cond(Y) > 1 / SINGULAR:
            raise MultibodyError(
                f"the generalized speeds of {system.name!r} do not determine q' at q = {positions}: their "
                "matrix Y is singular; choose speeds that span, or another posture",
                "speeds",
            )
        W = np.asarray(np.linalg.inv(Y), dtype=float)
    qd = W @ speeds
    M, V, A, b, c, _, Y_rate_qd, _ = _evaluated(system, positions, qd.tolist())
    return StateTerms(np.array(positions), qd, M, V, A, b, c, W, -W @ Y_rate_qd)


def reduction(system: System, terms: StateTerms) -> Reduction:
    """The independent speeds at a state, by pivoting, or as the system names them.

    Raises:
        MultibodyError: ``contradictory``, where no speeds satisfy the constraints; ``singular``, where the
            speeds that are named do not determine the others.
    """
    n = len(terms.q)
    AW = terms.A @ terms.W
    rows, others = independent_rows(AW)
    redundant = tuple(equation_names(system)[row] for row in others)
    _refuse_contradiction(system, AW, terms.b, rows, others)
    if redundant and len(rows) < _usual_rank(system, tuple(np.round(terms.q / GRID) * GRID)):
        raise MultibodyError(
            f"{system.name!r} is at a singular posture: {', '.join(redundant)} depends on the other "
            "constraints here, though not near by, so that the motion is not determined; keep away from it",
            "singular",
            redundant=redundant,
        )
    if system.independent is None:
        dependent = spanning_columns(AW[rows])
    else:
        dependent = [r for r, name in enumerate(system.speed_names) if name not in system.independent]
        if len(dependent) != len(rows):
            raise MultibodyError(
                f"{system.name!r} names {n - len(dependent)} independent speeds; its constraints leave "
                f"{n - len(rows)} at this posture",
                "singular",
                named=n - len(dependent),
                left=n - len(rows),
            )
    independent = [r for r in range(n) if r not in dependent]
    square = AW[np.ix_(rows, dependent)]
    if rows and np.linalg.cond(square) > 1 / SINGULAR:
        names = ", ".join(system.speed_names[r] for r in independent)
        raise MultibodyError(
            f"{system.name!r} is singular at this posture: {names} do not determine the other speeds; choose "
            "other independent speeds, or keep away from the posture",
            "singular",
        )
    T, t, e = np.zeros((n, len(independent))), np.zeros(n), np.zeros(n)
    T[independent, range(len(independent))] = 1.0
    if rows:
        second = terms.c - terms.A @ terms.W_rate_u
        right = np.column_stack([-AW[np.ix_(rows, independent)], terms.b[rows], second[rows]])
        solved = np.linalg.solve(square, right)
        T[dependent], t[dependent], e[dependent] = solved[:, :-2], solved[:, -2], solved[:, -1]  # D and d
    return Reduction(tuple(independent), T, t, e, redundant)


def _refuse_contradiction(
    system: System, A: Array, b: Array, chosen: Sequence[int], others: Sequence[int]
) -> None:
    """Raise where b (m,) of rows that the chosen ones span contradicts theirs."""
    for row in others:
        share = np.linalg.lstsq(A[chosen].T, A[row], rcond=None)[0] if chosen else np.zeros(0)
        if abs(share @ b[chosen] - b[row]) > CONSISTENT:
            name = equation_names(system)[row]
            raise MultibodyError(
                f"{name} of {system.name!r} contradicts the constraints before it: no velocity "
                "satisfies them all; take one away",
                "contradictory",
                constraint=name,
            )


@lru_cache(maxsize=32)
def _usual_rank(system: System, near: tuple[float, ...]) -> int:
    """The rank of the constraints at postures near one, which satisfy the holonomic ones as well as it does.

    Constraints that are redundant everywhere lower the rank here and there; at a singular posture it is lower
    than beside it.
    """
    random = np.random.default_rng(0)
    best = 0
    for _ in range(POSTURES):
        try:
            q = close(system, np.array(near) + random.normal(scale=NEAR, size=len(near)))
        except MultibodyError:
            continue
        A = _evaluated(system, q.tolist(), [0.0] * len(near))[2]
        best = max(best, len(independent_rows(A, NEAR**2)[0]))
    return best


def close(system: System, guess: ArrayLike, fixed: Collection[str] = ()) -> Array:
    """Coordinates (n,) near a guess (n,) that satisfy the holonomic constraints, by Newton's method.

    Args:
        system: the system.
        guess: [rad or m].
        fixed: names of coordinates that keep the guess's value.

    Raises:
        MultibodyError: ``not_closed``, with the constraint that gapes most and by how much.

    Example:
        >>> from kane_dynamics_ros.systems import Body, Coupling, System, close
        >>> gears = System("gears", (Body("a"), Body("b")), (Coupling("b", "a", ratio=-2.0),))
        >>> close(gears, [0.5, 0.0], fixed=["a"])
        array([ 0.5, -1. ])
    """
    q = np.array(as_state(system, guess))
    free = [r for r, name in enumerate(system.coordinates) if name not in fixed]
    for _ in range(CLOSING_STEPS):
        h, A = closures(system, q)
        if np.abs(h).max(initial=0.0) <= CLOSED * (1 + np.abs(q).max(initial=0.0)):
            return q
        step = np.linalg.lstsq(A[:, free], h, rcond=RANK)[0]
        q[free] -= step * min(1.0, LONGEST_STEP / np.abs(step).max(initial=1e-300))
    name, gap = widest_gap(system, h)
    raise MultibodyError(
        f"{name} of {system.name!r} cannot be closed near this posture: "
        f"it gapes by {gap:.3g}; check the lengths, or begin nearer to a closed posture",
        "not_closed",
        constraint=name,
        gap=gap,
    )


def widest_gap(system: System, h: Array) -> tuple[str, float]:
    """The constraint whose value of h(q) is the largest, and that value."""
    worst = int(np.argmax(np.abs(h)))
    return equation_names(system)[holonomic_rows(system)[worst]], float(abs(h[worst]))


def forward_dynamics(system: System, q: ArrayLike, u: ArrayLike, tau: ArrayLike) -> Array:
    """u' (n,) by Kane's equations with the dependent speeds eliminated.

    Args:
        system: the system.
        q, u: coordinates and generalized speeds that satisfy the constraints, (n,).
        tau: efforts at the coordinates, (n,) [N m or N].

    Raises:
        MultibodyError: ``no_inertia``, where nothing resists some acceleration; what ``reduction`` raises.

    Example:
        >>> from kane_dynamics_ros.systems import Body, System, forward_dynamics
        >>> fall = System("fall", (Body("z", joint="prismatic", mass=2.0),))
        >>> forward_dynamics(fall, [0.0], [0.0], [0.0])
        array([-9.81])
    """
    terms = state_terms(system, q, u)
    reduced = reduction(system, terms)
    return accelerations(system, terms, reduced, np.asarray(tau, dtype=float))


def projected(terms: StateTerms, reduced: Reduction, tau: Array) -> tuple[Array, Array]:
    """M (p, p) and F (p,) of M u_I' = F, free of constraint forces: T^T (M u' + V - W^T tau) = 0."""
    WT = terms.W @ reduced.T
    rest = terms.M @ (terms.W @ reduced.e + terms.W_rate_u) + terms.V
    return WT.T @ terms.M @ WT, WT.T @ (tau - rest)


def accelerations(system: System, terms: StateTerms, reduced: Reduction, tau: Array) -> Array:
    """u' (n,) at known terms: u' = T u_I' + e."""
    inertia, force = projected(terms, reduced, tau)
    size = np.sqrt(np.maximum(np.diag(inertia), 0.0))
    if not size.all() or np.linalg.eigvalsh(inertia / np.outer(size, size)).min(initial=1.0) <= SINGULAR:
        raise MultibodyError(
            f"nothing resists some acceleration of {system.name!r} at this posture: give the bodies that "
            "move freely a mass or an inertia",
            "no_inertia",
        )
    return np.asarray(reduced.T @ np.linalg.solve(inertia, force) + reduced.e)


def inverse_dynamics(
    system: System, q: ArrayLike, u: ArrayLike, u_rates: ArrayLike, actuated: Sequence[str] | None = None
) -> Array:
    """Efforts (n,) [N m or N] at the actuated coordinates that cause the rates of the independent speeds.

    Args:
        system: the system.
        q, u: coordinates and generalized speeds that satisfy the constraints, (n,).
        u_rates: rates of the independent speeds, (p,), in the order of ``independent_speeds``.
        actuated: names of p coordinates with an actuator, those of the independent speeds by default.

    Raises:
        MultibodyError: ``singular``, where the actuators do not determine the motion; what ``reduction``
            raises.
    """
    terms = state_terms(system, q, u)
    reduced = reduction(system, terms)
    inertia, force = projected(terms, reduced, np.zeros(len(terms.V)))
    needed = inertia @ np.asarray(u_rates, dtype=float) - force
    names = actuated if actuated is not None else [system.coordinates[r] for r in reduced.independent]
    columns = [system.coordinates.index(name) for name in names]
    effect = (terms.W @ reduced.T)[columns].T
    if effect.shape[0] != effect.shape[1] or np.linalg.cond(effect) > 1 / SINGULAR:
        raise MultibodyError(
            f"efforts at {', '.join(names)} do not determine the motion of {system.name!r}, which has "
            f"{effect.shape[0]} independent speeds",
            "singular",
        )
    tau = np.zeros(len(terms.V))
    tau[columns] = np.linalg.solve(effect, needed)
    return tau


def independent_speeds(system: System, q: ArrayLike) -> tuple[str, ...]:
    """The names of the independent speeds u_I at a posture q (n,)."""
    terms = state_terms(system, q, np.zeros(len(system.coordinates)))
    return tuple(system.speed_names[r] for r in reduction(system, terms).independent)


def constraint_efforts(system: System, q: ArrayLike, u: ArrayLike, tau: ArrayLike) -> Array:
    """What the constraints exert on the coordinates, A^T lambda = M q'' + V - tau, (n,) [N m or N]."""
    terms = state_terms(system, q, u)
    rates = accelerations(system, terms, reduction(system, terms), np.asarray(tau, dtype=float))
    return np.asarray(terms.M @ (terms.W @ rates + terms.W_rate_u) + terms.V - np.asarray(tau, dtype=float))


def energy(system: System, q: ArrayLike, u: ArrayLike) -> tuple[float, float]:
    """Kinetic and potential energy [J] at q, u (n,); potential is 0 with all mass at the ground's origin."""
    terms = state_terms(system, q, u)
    at = kinematics.frames(system, as_state(system, q))
    potential = 0.0
    for body in system.bodies:
        com: Vector = kinematics.position_of(Point(body.name, body.com), at)
        potential -= float(body.mass * dot(system.gravity, com))  # type: ignore[arg-type]
    return float(terms.qd @ terms.M @ terms.qd) / 2, potential


def _owners(system: System) -> list[int]:
    """The index of the constraint that each row of A belongs to."""
    counts = [len(c.along) if isinstance(c, (Coincident, NoSlip)) else 1 for c in system.constraints]
    return [k for k, count in enumerate(counts) for _ in range(count)]


def equation_names(system: System) -> list[str]:
    """A name for each row of A."""
    kinds = [type(constraint).__name__ for constraint in system.constraints]
    return [f"constraint {k + 1} ({kinds[k]})" for k in _owners(system)]


def holonomic_rows(system: System) -> list[int]:
    """The rows of A that belong to holonomic constraints, in the order of h(q)."""
    owners = enumerate(_owners(system))
    return [row for row, k in owners if isinstance(system.constraints[k], HolonomicConstraint)]


def independent_rows(A: Array, least: float = RANK) -> tuple[list[int], list[int]]:
    """Rows of A (m, n) that span it, and the others; ``least``: what a row of unit length must add."""
    m, n = A.shape
    size = np.linalg.norm(A, axis=1)
    usual = 0 < m <= n and size.min() > SINGULAR * size.max()
    if usual and np.linalg.svd(A / size[:, None], compute_uv=False)[-1] > least:
        return list(range(m)), []  # no row is nearer to the span of others than the smallest singular value
    chosen, others = list[int](), list[int]()
    basis = np.zeros((0, A.shape[1]))
    for row in range(len(A)):
        rest = A[row] / (size[row] or 1.0)
        for _ in range(2):  # once more against rounding
            rest = rest - basis.T @ (basis @ rest)
        if size[row] > SINGULAR * size.max() and np.linalg.norm(rest) > least:
            chosen.append(row)
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
        else:
            others.append(row)
    return chosen, others


def spanning_columns(A: Array) -> list[int]:
    """As many columns of A (m, n) as its rank, each the one that is farthest from those before it."""
    rest, chosen = A.copy(), list[int]()
    for _ in range(min(A.shape)):
        length = np.linalg.norm(rest, axis=0)
        column = int(np.argmax(length))
        if length[column] <= RANK * np.abs(A).max(initial=0.0):
            break
        chosen.append(column)
        direction = rest[:, column] / np.linalg.norm(rest[:, column])
        rest -= np.outer(direction, direction @ rest)
    return sorted(chosen)


def as_state(system: System, values: ArrayLike) -> list[float]:
    """A state's half as floats. Raises ``MultibodyError`` for a wrong length or what is not finite."""
    array = np.asarray(values, dtype=float)
    if array.shape != (len(system.coordinates),) or not np.isfinite(array).all():
        raise MultibodyError(
            f"{system.name!r} needs {len(system.coordinates)} finite values, one for each of "
            f"{', '.join(system.coordinates)}; found shape {array.shape}",
            "bad_state",
        )
    numbers: list[float] = array.tolist()
    return numbers
