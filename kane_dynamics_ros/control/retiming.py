"""The fastest timing of a path within limits on velocity, acceleration, jerk and effort.

Along a path q(s), with x = (ds/dt)^2 and u = d^2 s/dt^2,

    dq/dt = q' sqrt(x),        d^2 q/dt^2 = q' u + q'' x,
    tau = M q' u + (M q'' + C(q, q')) x + g + f(q' sqrt(x)),

so that all limits but friction's part f are linear in u and x, and `toppra` finds the highest x(s) by two
passes of small linear programs [Pham2018]. u is constant over each cell of the path, and both ends of the
cell are bound. Friction is linearised about the x of the pass before. What the controller then plays, a cubic
over each cell, is sampled between its ends; where it exceeds a limit, that cell's is tightened, and the
passes are repeated until all limits hold.

The effort must stay within limits for each of several models, as for the ends of an uncertain payload: as the
effort is linear in the payload's inertial parameters, it then does for all between them.

Jerk is limited by smoothing: the mean of s(t) over a window is again a motion on the path, whose jerk the
window bounds; window and a slow-down of all are chosen for the shortest motion within all limits.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PPoly

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.control.joint_path import Curve, Grid, divided
from kane_dynamics_ros.control.limits import effort_limits, velocity_limits
from kane_dynamics_ros.control.splines import evaluate_many, segments
from kane_dynamics_ros.control.validation import (
    NANOSECOND,
    SECOND_NS,
    RequestPoint,
    TrajectoryError,
    TrajectoryRequest,
)
from kane_dynamics_ros.runtime import DynamicsModel, JointInfo

PASSES = 30  # of which the first settle friction
SETTLED = 1e-3  # relative change of the duration
TIGHTENED = 1.05  # times the excess, so that a few passes do
MARGIN = 1e-6  # of each limit, so that rounding from pass to pass does not exceed it
CHECKS = np.linspace(0.0, 1.0, 17)  # of each cell at which limits are checked
SLOW = 1e-2  # of the highest x about which friction is linearised; it rises too steeply at rest
PERTURBED = 1e-3  # relative change of x for friction's slope
LENGTHS = (0.1, 0.01, 1.0)  # of the path, in the units of the solver, whose tolerances are absolute
HIGHEST = 1e8  # x, where no limit on velocity bounds it
LEAST_CELLS = 10
SHORTEST = 2e-3  # [s] the cells' mean duration; more points bring nothing
FIRST_CELLS = 100  # for a look at how long the motion takes
PART_OF_JERK = 0.5  # that the path's shape may take
AT_LIMIT = 0.98  # of a limit, from which the motion is said to be at it
SLOWEST = 100.0  # times the motion without limits on jerk: beyond, a joint that creeps would stick
WINDOWS = np.geomspace(5e-3, 1.0, 12)  # of the motion's duration: candidates for the window of smoothing
QUANTITIES = ("velocity", "acceleration", "jerk", "effort")


@dataclass(frozen=True)
class RetimingLimits:
    """Largest magnitudes (n,): [rad/s], [rad/s^2], [rad/s^3], [N m], or with m and N; infinite where none."""

    velocity: Array
    acceleration: Array
    jerk: Array
    effort: Array

    def scaled(self, part: float) -> "RetimingLimits":
        """This part of every limit."""
        return RetimingLimits(*(part * getattr(self, each) for each in QUANTITIES))


class Retimed(NamedTuple):
    """A motion along a path, as its points.

    ``times_ns`` (N,) from the start; ``q``, ``qd`` and ``qdd`` (N, n), which may be NaN: without it, cubics
    join the points. ``use`` (N - 1, 4, n) is the largest part of each limit that is used between two
    points, in the order of ``QUANTITIES``. ``window`` [s] is that of the smoothing, 0 without.
    """

    times_ns: NDArray[np.int64]
    q: Array
    qd: Array
    qdd: Array
    use: Array
    window: float

    @property
    def duration(self) -> float:
        """How long it lasts [s]."""
        return float(self.times_ns[-1] * NANOSECOND)

    @property
    def accelerations(self) -> Array:
        """Just after each point (N, n); 0 at the last, where the arm rests."""
        states = _between(self)
        return np.concatenate((states[:, 0, 2], np.zeros_like(self.q[-1:])))

    def request(self, model: DynamicsModel) -> TrajectoryRequest:
        """The motion as a trajectory with the model's efforts.

        Where the acceleration changes at a point, its effort is the mean of before and after; the last one
        holds the arm at rest.
        """
        states = _between(self)
        q, qd, qdd, _ = states[:, [0, -1]].transpose(2, 0, 1, 3).reshape(4, -1, self.q.shape[1])
        first, second = model.inverse_dynamics(q, qd, qdd).reshape(-1, 2, self.q.shape[1]).swapaxes(0, 1)
        effort = np.concatenate((first[:1], 0.5 * (second[:-1] + first[1:]), model.gravity(self.q[-1:])))
        qdd = self.qdd[:, ~np.isnan(self.qdd[0])]
        columns = (each.tolist() for each in (self.times_ns, self.q, self.qd, qdd, effort))
        return TrajectoryRequest(model.joint_names, tuple(map(RequestPoint, *columns)))


def urdf_limits(joints: Sequence[JointInfo]) -> RetimingLimits:
    """What the URDF says: velocities and efforts."""
    none = np.full(len(joints), math.inf)
    return RetimingLimits(velocity_limits(joints), none, none, effort_limits(joints))


def fastest(
    curves: Sequence[Curve],
    models: Sequence[DynamicsModel],
    limits: RetimingLimits,
    points: int = 1000,
    report: Callable[[str], None] = lambda text: None,
) -> Retimed:
    """The fastest motion along a path within limits, from rest to rest.

    Args:
        curves: the path, from ``curves_of``.
        models: of one robot; the efforts of each must be within the limits, friction included.
        limits: of each joint; one that moves needs a limit on its effort or acceleration.
        points: how many the motion has at most, about.
        report: is told of progress.

    Raises:
        TrajectoryError: ``no_limit`` (``joint``); ``gravity`` (``joint``, ``index``): standing still at a
            place of the path takes more effort than allowed; ``too_slow``: there is no motion within limits.

    Example:
        >>> from kane_dynamics_ros.control.joint_path import curves_of
        >>> from kane_dynamics_ros.runtime import load_model
        >>> model = load_model("manipulator_5dof")
        >>> ends = [(0.0, 0.9, -1.2, 0.3, 0.5), (0.4, 0.5, -1.0, 0.0, 0.0)]
        >>> line = TrajectoryRequest(model.joint_names, [RequestPoint(0, q) for q in ends])
        >>> curves = curves_of(line, model.joints, tolerance=0.0)
        >>> motion = fastest(curves, [model], urdf_limits(model.joints))
        >>> bool(motion.use.max() <= 1.0)
        True
    """
    lengths = [sum(piece.end - piece.begin for piece in curve) for curve in curves]
    parts = []
    for curve, length in zip(curves, lengths, strict=True):
        cells = max(round(points * length / sum(lengths)), LEAST_CELLS)
        look, _ = _on_curve(divided(curve, min(cells, FIRST_CELLS)), models, limits, passes=1)
        grid = divided(curve, min(cells, max(FIRST_CELLS, math.ceil(look.duration / SHORTEST))))
        motion, x = _on_curve(grid, models, limits)
        if np.isfinite(limits.jerk).any():
            motion = _smoothed(grid, x, models, limits)
        parts.append(motion)
        report(f"curve {len(parts)} of {len(curves)}")
    return _joined(parts)


def _joined(parts: Sequence[Retimed]) -> Retimed:
    """One motion after the other; each begins at rest where the one before it ends."""
    times = [parts[0].times_ns]
    for part in parts[1:]:
        times.append(part.times_ns[1:] + times[-1][-1])

    def rows(field: str) -> Array:
        first, *later = (getattr(part, field) for part in parts)
        return np.concatenate([first, *(each[1:] for each in later)])

    use = np.concatenate([part.use for part in parts])
    window = max(part.window for part in parts)
    return Retimed(np.concatenate(times), rows("q"), rows("qd"), rows("qdd"), use, window)


# Limits as linear constraints


class Rows(NamedTuple):
    """Quantities w = a u + b x + c (2, N, m) at both ends of each cell, and what |w| may be (m,)."""

    a: Array
    b: Array
    c: Array
    largest: Array


def _on_curve(
    grid: Grid, models: Sequence[DynamicsModel], limits: RetimingLimits, passes: int = PASSES
) -> tuple[Retimed, Array]:
    """The fastest motion on one curve without limits on jerk, and its x (N + 1,).

    A single pass gives a motion that is not checked.
    """
    _check_limits(grid, models[0], limits)
    rigid = [_rigid(grid, model, limits.effort) for model in models]
    _check_gravity(grid, models[0], rigid)
    accelerations = Rows(grid.slope, grid.bend, np.zeros_like(grid.slope), limits.acceleration)
    fastest_x = _fastest_x(grid, limits)
    x = np.minimum(fastest_x, 1.0)
    slack = np.full((len(grid.s) - 1, 2, (1 + len(models)) * len(limits.effort)), MARGIN)
    best, duration = None, math.inf
    for _ in range(passes):
        rows = [_with_friction(each, grid, model, x) for each, model in zip(rigid, models, strict=True)]
        x = _highest(grid, [accelerations, *rows], fastest_x, slack)
        motion = _played(grid, x)
        if passes == 1:
            return motion, x
        parts = _parts(motion, models, limits)
        settled = abs(motion.duration - duration) < SETTLED * motion.duration
        duration = motion.duration
        if parts.within(jerk=False) and (best is None or duration < best[0].duration):
            best = motion._replace(use=parts.use), x
        if settled and best is not None:
            return best
        if settled:
            _tighten(slack, fastest_x, parts)
    if best is None:
        raise _no_motion()
    return best


def _no_motion() -> TrajectoryError:
    return TrajectoryError("no motion along this path was found within the limits", "too_slow")


def _check_limits(grid: Grid, model: DynamicsModel, limits: RetimingLimits) -> None:
    unlimited = ~np.isfinite(limits.effort) & ~np.isfinite(limits.acceleration)
    moves = np.abs(grid.slope).max(axis=(0, 1)) > 0.0
    for j in np.flatnonzero(unlimited & moves).tolist():
        raise TrajectoryError(
            f"joint {model.joint_names[j]!r} has no limit on its effort and none on its acceleration; give "
            'the URDF\'s <limit effort="...">, or max_acceleration or max_effort in the file of --limits',
            "no_limit",
            joint=model.joint_names[j],
        )


def _rigid(grid: Grid, model: DynamicsModel, limits: Array) -> Rows:
    """The efforts of the rigid bodies, of both ends of each cell."""
    shape = grid.q.shape
    q, slope, bend = (each.reshape(-1, shape[-1]) for each in (grid.q, grid.slope, grid.bend))
    frictionless = model.without_friction()
    g = frictionless.gravity(q)
    a = frictionless.inverse_dynamics(q, np.zeros_like(q), slope) - g
    b = frictionless.inverse_dynamics(q, slope, bend) - g
    return Rows(a.reshape(shape), b.reshape(shape), g.reshape(shape), limits)


def _check_gravity(grid: Grid, model: DynamicsModel, rigid: Sequence[Rows]) -> None:
    """Refuse a place at which the arm could not stand still."""
    for rows in rigid:
        excess = np.abs(rows.c) - rows.largest
        if excess.max() >= 0.0:
            side, cell, j = (int(i) for i in np.unravel_index(np.argmax(excess), excess.shape))
            part, joint = grid.s[cell + side] / grid.s[-1], model.joints[j]
            needed = float(abs(rows.c[side, cell, j]))
            raise TrajectoryError(
                f"joint {joint.name!r}: gravity alone takes {needed:.4g} of the {rows.largest[j]:.4g} "
                f"{joint.effort_unit} that are allowed, between the points {grid.after[cell]} and "
                f"{grid.after[cell] + 1} of the path ({part:.0%} of the way between two rests)",
                "gravity",
                joint=joint.name,
                index=int(grid.after[cell]),
                found=needed,
            )


def _fastest_x(grid: Grid, limits: RetimingLimits) -> Array:
    """The largest x at each node (N + 1,) by what depends on x alone; infinite where nothing limits it.

    These are |dq/ds| x^(1/2), a velocity, and |d^3 q/ds^3| x^(3/2), the part of jerk that smoothing keeps.
    """
    third = np.abs(grid.bend[1] - grid.bend[0]) / np.diff(grid.s)[:, np.newaxis]
    with np.errstate(divide="ignore"):
        by_velocity = np.min((limits.velocity / np.abs(grid.slope)) ** 2, axis=-1)  # (2, N)
        by_jerk = np.min((PART_OF_JERK * limits.jerk / third) ** (2.0 / 3.0), axis=-1)
    at_ends = np.minimum(by_velocity, by_jerk)
    inner = np.minimum(at_ends[0, 1:], at_ends[1, :-1])
    return (1.0 - MARGIN) * np.concatenate((at_ends[0, :1], inner, at_ends[1, -1:]))


def _with_friction(rows: Rows, grid: Grid, model: DynamicsModel, x: Array) -> Rows:
    """The rows with friction linearised about x (N + 1,): f(x_0) + f'(x_0) (x - x_0)."""
    x = np.maximum(x, SLOW * x.max())
    at_ends = np.stack((x[:-1], x[1:]))[..., np.newaxis]
    step = PERTURBED * at_ends

    def friction(x: Array) -> Array:
        speeds = grid.slope * np.sqrt(x)
        q, qd = (each.reshape(-1, each.shape[-1]) for each in (grid.q, speeds))
        return np.asarray(model.friction_at(q, qd).reshape(speeds.shape))

    slope = (friction(at_ends + step) - friction(at_ends - step)) / (2.0 * step)
    return rows._replace(b=rows.b + slope, c=rows.c + friction(at_ends) - slope * at_ends)


def _highest(grid: Grid, rows: Sequence[Rows], fastest_x: Array, slack: Array) -> Array:
    """The highest x (N + 1,) within |w| <= largest - slack, 0 at both ends.

    ``slack`` (N, 2, m) is what is kept away from the upper and from the lower bound in each cell, in units of
    the limit. At the end of a cell of length h, x_1 = x_0 + 2 h u.
    """
    largest = np.concatenate([each.largest for each in rows])
    limited = np.isfinite(largest)
    w = [
        np.concatenate([each[k] for each in rows], axis=-1)[..., limited] / largest[limited] for k in range(3)
    ]
    a, b, c = w
    a[1] += 2.0 * np.diff(grid.s)[:, np.newaxis] * b[1]
    bounds = np.concatenate([1.0 - slack[:, k][:, limited] for k in (0, 1)] * 2, axis=1)
    columns = [np.concatenate((each[0], -each[0], each[1], -each[1]), axis=1) for each in (a, b, c)]
    columns[2] -= bounds
    for length in LENGTHS:
        unit = length / grid.s[-1]
        scaled = (columns[0] / unit, columns[1] / unit**2, columns[2])
        _, speeds, _ = _problem(unit * grid.s, scaled, unit**2 * fastest_x).compute_parameterization(0.0, 0.0)
        if speeds is not None and np.isfinite(speeds).all() and (speeds[1:-1] > 0.0).all():
            return np.asarray((speeds / unit) ** 2)
    raise TrajectoryError(
        "no motion from rest to rest along this path keeps the limits: gravity and friction leave too little "
        "effort; allow more, or choose another path",
        "too_slow",
    )


def _problem(s: Array, columns: Sequence[Array], fastest_x: Array) -> Any:
    """toppra's problem: ``a u + b x + c <= 0``, with columns (N, m) each, and ``x <= fastest_x``."""
    import toppra
    from toppra.algorithm import TOPPRA
    from toppra.constraint import LinearConstraint

    a, b, c = (np.concatenate((each, each[-1:])) for each in columns)  # with a last row, which nothing uses
    x_bounds = np.stack((np.zeros_like(fastest_x), np.minimum(fastest_x, HIGHEST)), axis=1)
    coefficients = (a, b, c, np.eye(a.shape[1]), np.zeros(a.shape[1]), None, x_bounds)
    limits = LinearConstraint()
    limits.identical = True
    limits.dof = 1
    limits.compute_constraint_params = lambda path, gridpoints: coefficients
    # The path is in the coefficients: toppra asks for its length alone.
    line = toppra.SplineInterpolator(s[[0, -1]], np.array([[0.0], [1.0]]))
    return TOPPRA([limits], line, gridpoints=s, solver_wrapper="seidel")


# What the controller plays, held against the limits


class Parts(NamedTuple):
    """What a motion uses of each limit, with signs, at K places between two points, (N, K, n) each.

    ``efforts`` are those of each model.
    """

    velocity: Array
    acceleration: Array
    jerk: Array
    efforts: tuple[Array, ...]

    @property
    def use(self) -> Array:
        """The largest between two points (N, 4, n)."""
        effort = np.max([np.abs(each).max(axis=1) for each in self.efforts], axis=0)
        others = [_peak(np.abs(each)) for each in (self.velocity, self.acceleration, self.jerk)]
        return np.stack([*others, effort], axis=1)

    def within(self, *, jerk: bool) -> bool:
        """Whether all limits hold, that on jerk among them or not."""
        use = self.use
        return bool(use.max() <= 1.0) if jerk else bool(np.delete(use, 2, axis=1).max() <= 1.0)


def _peak(values: Array) -> Array:
    """The largest of K values (N, K, n) and of what is between them, (N, n).

    A parabola through three of them rises above the largest by at most an eighth of their second difference.
    """
    return np.asarray(values.max(axis=1) + np.abs(np.diff(values, 2, axis=1)).max(axis=1) / 8.0)


def _played(grid: Grid, x: Array) -> Retimed:
    """The motion with x (N + 1,) at the nodes, between which the acceleration along the path is constant.

    Times are whole nanoseconds: the nodes move along with them.
    """
    speeds, h = np.sqrt(x), np.diff(grid.s)
    exact = np.concatenate((np.zeros(1), np.cumsum(2.0 * h / (speeds[1:] + speeds[:-1]))))
    times_ns = np.round(exact * SECOND_NS).astype(np.int64)
    late = (times_ns * NANOSECOND - exact)[:-1, np.newaxis]
    u = (np.diff(x) / (2.0 * h))[:, np.newaxis]
    qd = grid.slope[0] * speeds[:-1, np.newaxis]
    qdd = grid.slope[0] * u + grid.bend[0] * x[:-1, np.newaxis]
    end = grid.q[1, -1:]
    q = np.concatenate((grid.q[0] + qd * late, end))
    qd = np.concatenate((qd + qdd * late, np.zeros_like(end)))
    return Retimed(times_ns, q, qd, np.full_like(q, np.nan), np.empty(0), 0.0)


def _parts(motion: Retimed, models: Sequence[DynamicsModel], limits: RetimingLimits) -> Parts:
    """The motion between its points as the controller interpolates it, in units of the limits."""
    q, qd, qdd, jerk = np.ascontiguousarray(np.moveaxis(_between(motion), 2, 0))
    flat = [each.reshape(-1, q.shape[-1]) for each in (q, qd, qdd)]
    efforts = (model.inverse_dynamics(*flat).reshape(q.shape) / limits.effort for model in models)
    return Parts(qd / limits.velocity, qdd / limits.acceleration, jerk / limits.jerk, tuple(efforts))


def _between(motion: Retimed) -> Array:
    """States and jerks (N, K, 4, n) at the places ``CHECKS`` between two points."""
    durations = np.diff(motion.times_ns) * NANOSECOND
    pieces = segments(motion.q, motion.qd, motion.qdd, durations)
    return evaluate_many(pieces, durations[:, np.newaxis] * CHECKS, rows=4)


def _tighten(slack: Array, fastest_x: Array, parts: Parts) -> None:
    """Keep away from the limits by what they were exceeded, in the cells where they were."""
    bound = np.concatenate((parts.acceleration, *parts.efforts), axis=2)
    for side, sign in ((0, 1.0), (1, -1.0)):
        excess = (sign * bound).max(axis=1) - 1.0
        slack[:, side] += np.where(excess > 0.0, TIGHTENED * excess, 0.0)
    speed = _peak(np.abs(parts.velocity)).max(axis=1)
    slower = np.where(speed > 1.0, 1.0 / (speed + MARGIN) ** 2, 1.0)
    fastest_x[:-1] *= slower
    fastest_x[1:] *= slower


# Jerk


def _smoothed(grid: Grid, x: Array, models: Sequence[DynamicsModel], limits: RetimingLimits) -> Retimed:
    """The shortest motion within all limits that the mean of s(t) over a window gives, slowed down as needed.

    With S the integral of s, the mean over the last T seconds is (S(t) - S(t - T)) / T; its derivatives are
    differences of those of S, likewise.
    """
    speeds, h = np.sqrt(x), np.diff(grid.s)
    times = np.concatenate((np.zeros(1), np.cumsum(2.0 * h / (speeds[1:] + speeds[:-1]))))
    u = np.diff(x) / (2.0 * h)
    inside = np.stack((0.5 * u, speeds[:-1], grid.s[:-1]))
    length = grid.s[-1]
    before, after = np.zeros((3, 1)), np.array([[0.0], [0.0], [length]])
    knots = np.concatenate((times[:1] - times[-1], times, times[-1:] * 2.0))
    integral = PPoly(np.concatenate((before, inside, after), axis=1), knots).antiderivative()
    found = [_with_window(grid, integral, times[-1], part * times[-1], models, limits) for part in WINDOWS]
    within = [motion for motion in found if motion is not None]
    if not within:
        raise _no_motion()
    return min(within, key=lambda motion: motion.duration)


def _with_window(
    grid: Grid,
    integral: PPoly,
    duration: float,
    window: float,
    models: Sequence[DynamicsModel],
    limits: RetimingLimits,
) -> Retimed | None:
    """The smoothed motion, slowed down until all limits hold; None where that does not help.

    A fast motion may pass by momentum where gravity and friction stop a slow one.
    """
    count = math.ceil((duration + window) / max(SHORTEST, (duration + window) / len(grid.s))) + 1
    t = np.linspace(0.0, duration + window, max(count, LEAST_CELLS))
    s, speed, change = ((integral(t, k) - integral(t - window, k)) / window for k in range(3))
    q, slope, bend = _along(grid, np.clip(s, 0.0, grid.s[-1]))
    qd = slope * speed[:, np.newaxis]
    qdd = slope * change[:, np.newaxis] + bend * speed[:, np.newaxis] ** 2
    qd[[0, -1]], qdd[[0, -1]] = 0.0, 0.0
    motion = Retimed(np.round(t * SECOND_NS).astype(np.int64), q, qd, qdd, np.empty(0), window)

    def within(factor: float) -> bool:
        return _parts(_slowed(motion, factor), models, limits).within(jerk=True)

    too_fast, slower = 1.0, 1.0
    while not within(slower):
        too_fast, slower = slower, 1.2 * slower
        if slower > SLOWEST:
            return None
    for _ in range(20 if slower > 1.0 else 0):
        middle = 0.5 * (too_fast + slower)
        too_fast, slower = (too_fast, middle) if within(middle) else (middle, slower)
    motion = _slowed(motion, slower)
    return motion._replace(use=_parts(motion, models, limits).use)


def _slowed(motion: Retimed, factor: float) -> Retimed:
    """The motion in ``factor`` times its time."""
    times_ns = np.round(motion.times_ns * factor).astype(np.int64)
    qd, qdd, window = motion.qd / factor, motion.qdd / factor**2, motion.window * factor
    return motion._replace(times_ns=times_ns, qd=qd, qdd=qdd, window=window)


def _along(grid: Grid, s: Array) -> tuple[Array, Array, Array]:
    """The path and its derivatives at lengths (M,), each (M, n): quintics over the cells."""
    ends = [each.swapaxes(0, 1).reshape(-1, each.shape[-1]) for each in (grid.q, grid.slope, grid.bend)]
    h = np.diff(grid.s)
    lengths = np.ones(2 * len(h) - 1)
    lengths[::2] = h  # every other segment lies between two cells
    q, slope, bend = ends
    pieces = segments(q, slope, bend, lengths)[::2]
    cell = np.clip(np.searchsorted(grid.s, s, side="right") - 1, 0, len(h) - 1)
    states = evaluate_many(pieces[cell], (s - grid.s[cell])[:, np.newaxis])[:, 0]
    return states[:, 0], states[:, 1], states[:, 2]
