"""Trajectories worth recording: every base parameter shows, and no limit is touched.

Each joint follows a finite Fourier series [Swevers1997]

    q_j(t) = c_j + sum_k (a_jk sin(k w t) - b_jk cos(k w t))

whose coefficients leave no velocity and no acceleration at the ends of a period: two linear conditions, so
that the coefficients are c + N z with N a basis of what the conditions allow. z is found by a quasi-Newton
method (L-BFGS) with gradients. What is minimised, for the base regressor W over a period with its columns
brought to unit length, is

    F = (log tr C^p + log tr C^-p) / 2p - m log det G / columns,    C = W' W scaled,  G = W' W

The first term approaches the logarithm of the condition of W as p grows, and is smooth; the second asks for
large motion. Gradients by q, qd and qdd come from central differences of the regressor, all samples in one
batch; limits enter as squared penalties that grow until every sample keeps them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space
from scipy.optimize import minimize

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.description import Chain
from kane_dynamics_ros.identification.recordings import IdentificationError
from kane_dynamics_ros.identification.regression import one_thread_each
from kane_dynamics_ros.runtime import BaseParameters, DynamicsModel

SAMPLES = 160  # of a period, while searching
DENSE = 100.0  # [Hz] at which the result is checked
NORM = 4  # p
LARGE = 0.15  # m
STEP = 1e-6  # of central differences, times 1 rad, 1 rad/s, 1 rad/s^2
PENALTIES = (1e1, 1e2, 1e3, 1e4)
RESTARTS = 4  # from other random motions, until one is good
GOOD = 60.0  # condition
INSIDE = 0.97  # of each limit is used while searching
SHRINK = 0.97  # of the amplitudes at a time, when a dense check finds a limit broken
SHRINKS = 100
POSES = 1000  # tried for one at which the arm can stand
UNLIMITED_RANGE = 2.0  # [rad] or [m] to each side, where the URDF gives no narrower limits
ACCELERATION_TIME = 0.25  # [s] in which a joint may reach its largest velocity: no URDF states accelerations


def no_trajectory(broken: str) -> IdentificationError:
    """No exciting trajectory meets the limits: what remains ``broken``."""
    return IdentificationError(
        f"no trajectory within all limits was found; what remains broken: {broken}. Give the arm more "
        "room (--floor, --clearance, --range), or more time (--period)",
        "no_trajectory",
        broken=broken,
    )


# What is kept, and what is found


class TrajectoryLimits(NamedTuple):
    """Limits that the trajectory keeps, each (n,): rad or m, per s, per s^2, N m or N.

    ``lower`` and ``upper`` positions, ``velocity``, ``acceleration``, ``effort``.
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array


@dataclass(frozen=True)
class GuardedPoints:
    """Points fixed to bodies that stay above the floor.

    ``body`` (P,): numbers of the bodies; ``place`` (P, 3) [m] in the body's frame.

    ``up`` (3,): away from the floor, in the root's frame; ``height`` [m]: the least allowed along it, at
    least ``floor`` [m], the floor's own.
    """

    body: Array
    place: Array
    up: Array
    height: float
    floor: float = np.inf  # not known: none counts as out of its reach

    def part(self, chosen: NDArray[np.bool_]) -> "GuardedPoints":
        """Some of the points, by a mask (P,)."""
        return replace(self, body=self.body[chosen], place=self.place[chosen])


@dataclass(frozen=True)
class FourierSeries:
    """A Fourier series of n joints: ``centre`` (n,), ``coefficients`` (n, 2 H), ``period`` [s]."""

    centre: Array
    coefficients: Array
    period: float

    def at(self, time: Array) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration, (N, n) each."""
        return tuple(
            basis @ self.coefficients.T + (self.centre if order == 0 else 0.0)
            for order, basis in enumerate(fourier(time, self.coefficients.shape[1] // 2, self.period))
        )


@dataclass(frozen=True)
class Excitation:
    """A trajectory, and what it is worth.

    ``condition``: of the base regressor with columns of unit length, rows in N m or N; ``singular`` (b,):
    its singular values; ``used``: the largest part of each limit that is used, by name.
    """

    series: FourierSeries
    condition: float
    start_condition: float
    singular: Array
    used: dict[str, float]
    lowest: float | None


def fourier(time: Array, harmonics: int, period: float) -> tuple[Array, Array, Array]:
    """sin(k w t) and -cos(k w t) for k = 1 .. H, and their first two derivatives: (N, 2 H) each."""
    k = np.arange(1, harmonics + 1) * 2 * np.pi / period
    angle = np.multiply.outer(time, k)
    sine, cosine = np.sin(angle), np.cos(angle)
    return (
        np.concatenate([sine, -cosine], axis=1),
        np.concatenate([k * cosine, k * sine], axis=1),
        np.concatenate([-(k**2) * sine, k**2 * cosine], axis=1),
    )


def at_rest_basis(harmonics: int, period: float) -> Array:
    """Coefficients with neither velocity nor acceleration at t = 0: (2 H, 2 H - 2).

    Columns are scaled so that all harmonics have about the same share in the velocity.
    """
    _, velocity, acceleration = fourier(np.zeros(1), harmonics, period)
    scale = np.tile(1.0 / np.arange(1, harmonics + 1), 2)
    conditions = np.concatenate([velocity, acceleration]) * scale
    return np.asarray(
        scale[:, None] * null_space(conditions / np.linalg.norm(conditions, axis=1, keepdims=True))
    )


def limits_of(
    model: DynamicsModel, widest: float, acceleration: float | None, part: float
) -> TrajectoryLimits:
    """``part`` of the model's limits; ``widest`` [rad] or [m]: to each side of the middle.

    ``acceleration``: of every joint; else what reaches the velocity limit in a quarter of a second.
    """
    middle = np.array([_middle(joint.lower, joint.upper) for joint in model.joints])
    half = np.array([_half(joint.lower, joint.upper, widest) for joint in model.joints]) * part
    velocity = np.array([joint.velocity or np.inf for joint in model.joints]) * part
    velocity = np.where(np.isfinite(velocity), velocity, 1.0)
    quick = velocity / ACCELERATION_TIME if acceleration is None else np.full(len(middle), acceleration)
    effort = np.array([joint.effort or np.inf for joint in model.joints]) * part
    return TrajectoryLimits(middle - half, middle + half, velocity, quick, effort)


def _middle(lower: float | None, upper: float | None) -> float:
    return 0.0 if lower is None or upper is None else (lower + upper) / 2


def _half(lower: float | None, upper: float | None, widest: float) -> float:
    return widest if lower is None or upper is None else min(widest, (upper - lower) / 2)


def body_points(
    chain: Chain, boxes: dict[str, Array], clearance: float, floor: float, up: Array
) -> GuardedPoints:
    """The joints' origins, the tip, and the corners of the links' boxes where they are known."""
    body: list[int] = []
    place: list[Array] = []
    for b, joint in enumerate(chain.joints):
        points = [np.zeros(3), *(np.array(other.p_PoJo_P) for other in chain.joints if other.parent == b)]
        if b == chain.tip_body:
            points.append(np.array(chain.p_BoTo_B))
        if joint.body in boxes:
            x, y, z = boxes[joint.body].T
            points += [np.array([a, c, d]) for a in x for c in y for d in z]
        body += [b] * len(points)
        place += points
    return GuardedPoints(np.array(body), np.array(place), up, floor + clearance, floor)


class _Passed(NamedTuple):
    """A joint that carries a body, at many positions: its axis and origin in the root frame, (N, 3)."""

    axis: Array
    origin: Array
    coordinate: int
    multiplier: float
    prismatic: bool


def heights(chain: Chain, points: GuardedPoints, q: Array) -> tuple[Array, Array]:
    """Heights of all points, (N, P), and their derivatives by the coordinates, (N, P, n)."""
    N, n = q.shape
    root = np.broadcast_to(np.eye(3), (N, 3, 3)), np.zeros((N, 3)), ()
    frames: list[tuple[Array, Array, tuple[_Passed, ...]]] = []  # of each body, and the joints that carry it
    height = np.zeros((N, len(points.body)))
    slope = np.zeros((N, len(points.body), n))
    for b, joint in enumerate(chain.joints):
        R, p, passed = frames[joint.parent] if joint.parent >= 0 else root
        p = p + R @ np.array(joint.p_PoJo_P)
        R = R @ np.array(joint.R_PJ)
        axis = R @ np.array(joint.axis)
        passed = (*passed, _Passed(axis, p, joint.coordinate, joint.multiplier, joint.kind == "prismatic"))
        value = joint.multiplier * q[:, joint.coordinate] + joint.offset
        if joint.kind == "prismatic":
            p = p + axis * value[:, None]
        else:
            R = R @ rotations(np.array(joint.axis), value)
        frames.append((R, p, passed))
        for k in np.flatnonzero(points.body == b):
            x = p + R @ points.place[k]
            height[:, k] = x @ points.up
            for a, origin, coordinate, multiplier, slides in passed:
                moved = a if slides else np.cross(a, x - origin)
                slope[:, k, coordinate] += multiplier * (moved @ points.up)
    return height, slope


def rotations(axis: Array, angle: Array) -> Array:
    """Rodrigues' formula for many angles: (N, 3, 3)."""
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    s, c = np.sin(angle)[:, None, None], np.cos(angle)[:, None, None]
    return np.asarray(np.eye(3) + s * K + (1.0 - c) * (K @ K))


# Costs


class Cost(NamedTuple):
    """A value, and its gradient by q, qd and qdd, (N, n) each."""

    value: float
    by_q: Array
    by_qd: Array
    by_qdd: Array


def information(
    model: DynamicsModel, base: BaseParameters, q: Array, qd: Array, qdd: Array, gradient: bool = True
) -> Cost:
    """F of the module's docstring over samples."""
    N, n = q.shape
    W = base.regressor(model.regressor(q, qd, qdd))
    G = np.einsum("tib,tic->bc", W, W)
    value, by_G = objective(G)
    zero = np.zeros((N, n))
    if not gradient:
        return Cost(value, zero, zero, zero)
    by_W = 2 * W @ by_G  # (N, n, b)
    slopes = []
    for k in range(3):
        slope = np.zeros((N, n))
        for j in range(n):
            ends = []
            for sign in (1.0, -1.0):
                states = [q, qd, qdd]
                states[k] = states[k].copy()
                states[k][:, j] += sign * STEP
                ends.append(np.einsum("tib,tib->t", by_W, base.regressor(model.regressor(*states))))
            slope[:, j] = (ends[0] - ends[1]) / (2 * STEP)
        slopes.append(slope)
    return Cost(value, *slopes)


def objective(G: Array) -> tuple[float, Array]:
    """F of W' W, (b, b), and its gradient by G."""
    b = len(G)
    d = np.sqrt(np.diag(G))
    C = G / np.outer(d, d)
    values, vectors = np.linalg.eigh(C)
    values = np.maximum(values, 1e-14)
    high, low = (values**NORM).sum(), (values**-NORM).sum()
    F = (np.log(high) + np.log(low)) / (2 * NORM)
    of_values = (values ** (NORM - 1) / high - values ** (-NORM - 1) / low) / 2
    by_C = (vectors * of_values) @ vectors.T
    # C_ij = G_ij / (d_i d_j) with d_i^2 = G_ii
    by_G = by_C / np.outer(d, d)
    by_G[np.diag_indices(b)] -= (by_C * C).sum(axis=1) / d**2
    sign, logarithm = np.linalg.slogdet(C)
    large = logarithm + 2 * np.log(d).sum() if sign > 0 else -1e3
    inverse = (vectors / values) @ vectors.T / np.outer(d, d)
    return float(F - LARGE * large / b), np.asarray(by_G - LARGE * inverse / b)


def penalty(
    model: DynamicsModel,
    chain: Chain,
    limits: TrajectoryLimits,
    points: GuardedPoints | None,
    q: Array,
    qd: Array,
    qdd: Array,
) -> Cost:
    """The mean squares of what exceeds the limits, each in units of its limit."""
    N = len(q)
    half = np.maximum((limits.upper - limits.lower) / 2, 1e-6)
    over = np.maximum(q - limits.upper, 0.0) / half - np.maximum(limits.lower - q, 0.0) / half
    value, by_q = (over**2).sum(), 2 * over / half
    parts = []
    for x, most in ((qd, limits.velocity), (qdd, limits.acceleration)):
        excess = np.sign(x) * np.maximum(np.abs(x) / most - 1.0, 0.0)
        value += (excess**2).sum()
        parts.append(2 * excess / most)
    by_qd, by_qdd = parts
    tau = model.inverse_dynamics(q, qd, qdd)
    excess = np.sign(tau) * np.maximum(np.abs(tau) / limits.effort - 1.0, 0.0)
    if excess.any():
        value += (excess**2).sum()
        by_tau = 2 * excess / limits.effort
        slopes = model.inverse_dynamics_derivatives(q, qd, qdd)
        by_q = by_q + np.einsum("ti,tij->tj", by_tau, slopes[0])
        by_qd = by_qd + np.einsum("ti,tij->tj", by_tau, slopes[1])
        by_qdd = by_qdd + np.einsum("ti,tij->tj", by_tau, model.mass_matrix(q))
    if points is not None:
        height, slope = heights(chain, points, q)
        below = np.maximum(points.height - height, 0.0) / 0.1
        value += (below**2).sum()
        by_q = by_q - 2 * np.einsum("tp,tpj->tj", below, slope) / 0.1
    return Cost(float(value) / N, by_q / N, by_qd / N, by_qdd / N)


# The search


@one_thread_each()
def excite(
    model: DynamicsModel,
    chain: Chain,
    base: BaseParameters,
    limits: TrajectoryLimits,
    points: GuardedPoints | None,
    period: float = 20.0,
    harmonics: int = 6,
    iterations: int = 30,
    seed: int = 0,
    progress: Callable[[str], object] = lambda text: None,
) -> Excitation:
    """A trajectory of one period. Raises ``IdentificationError``."""
    n = len(model.joint_names)
    random = np.random.default_rng(seed)
    N = at_rest_basis(harmonics, period)
    time = np.arange(SAMPLES) * period / SAMPLES
    bases = [part @ N for part in fourier(time, harmonics, period)]
    inner = TrajectoryLimits(
        *(
            c * INSIDE + m * (1 - INSIDE)
            for c, m in zip(limits[:2], [(limits.lower + limits.upper) / 2] * 2, strict=True)
        ),
        *(INSIDE * each for each in limits[2:]),
    )

    def unpacked(x: Array) -> tuple[Array, Array, Array]:
        centre, z = x[:n], x[n:].reshape(n, -1)
        q, qd, qdd = (part @ z.T for part in bases)
        return q + centre, qd, qdd

    def cost(x: Array, weight: float) -> tuple[float, Array]:
        states = unpacked(x)
        inform = information(model, base, *states)
        broken = penalty(model, chain, inner, points, *states)
        slopes = [a + weight * b for a, b in zip(inform[1:], broken[1:], strict=True)]
        by_z = np.sum([slope.T @ part for slope, part in zip(slopes, bases, strict=True)], axis=0)
        return inform.value + weight * broken.value, np.concatenate([slopes[0].sum(axis=0), by_z.ravel()])

    if points is not None:
        points = clearable(chain, limits, points, random)
    safe = safe_pose(model, chain, limits, points, random)
    dense = np.arange(round(period * DENSE)) / DENSE

    def series_of(x: Array) -> FourierSeries:
        return FourierSeries(x[:n], x[n:].reshape(n, -1) @ N.T, period)

    best: Excitation | None = None
    broken: IdentificationError | None = None
    for attempt in range(RESTARTS):
        x = started(limits, safe, bases, n, random)
        random_motion = condition_of(model, base, unpacked(x))[0]
        candidates = [x]  # of which only a smaller part may keep the limits
        for stage, weight in enumerate(PENALTIES):
            options = {"maxiter": iterations, "maxcor": 30}
            x = minimize(cost, x, args=(weight,), jac=True, method="L-BFGS-B", options=options).x
            candidates.append(x)
            progress(f"attempt {attempt + 1}, stage {stage + 1} of {len(PENALTIES)}")
        for x in candidates:
            try:
                series = kept(model, chain, limits, points, series_of(x), safe)
            except IdentificationError as error:
                broken = error
                continue
            condition, singular = condition_of(model, base, series.at(dense))
            if best is None or condition < best.condition:
                used, lowest = usage(model, chain, limits, points, series)
                best = Excitation(series, condition, random_motion, singular, used, lowest)
        if best is not None and best.condition < min(GOOD, best.start_condition):
            break
    if best is None:
        raise broken or no_trajectory("every limit")
    return best


def clearable(
    chain: Chain, limits: TrajectoryLimits, points: GuardedPoints, random: np.random.Generator
) -> GuardedPoints:
    """The points that move up and down, and that some pose lifts to the height asked for.

    A shoulder's lower edge may do neither. Of its opposite corners, each may be lifted by poses that lower
    the other: of a body, points that no pose lifts together are left out, unless a pose brings them to the
    floor.
    """
    poses = random.uniform(limits.lower, limits.upper, (POSES, len(limits.lower)))
    height, slope = heights(chain, points, poses)
    chosen = (np.abs(slope).sum(axis=(0, 2)) > 1e-9) & (np.quantile(height, 0.9, axis=0) > points.height)
    clear = (height > points.height).astype(float)
    same_body = points.body[:, None] == points.body
    excluded = chosen & (same_body & (clear.T @ clear == 0.0))[:, chosen].any(axis=1)
    return points.part(chosen & ~(excluded & (height.min(axis=0) > points.floor)))


def safe_pose(
    model: DynamicsModel,
    chain: Chain,
    limits: TrajectoryLimits,
    points: GuardedPoints | None,
    random: np.random.Generator,
) -> Array:
    """The middle of the limits (n,) where the arm can stand there, else a pose with much room.

    That is the one with most room of many.

    Raises ``IdentificationError`` where it cannot stand in any.
    """
    middle = (limits.lower + limits.upper) / 2
    poses = np.concatenate([middle[None], random.uniform(limits.lower, limits.upper, (POSES, len(middle)))])
    spare = 1.0 - np.abs(model.gravity(poses)) / limits.effort
    room = np.min(spare, axis=1)
    if points is not None:
        height, _ = heights(chain, points, poses)
        room = np.minimum(room, (height - points.height).min(axis=1, initial=np.inf))
    if room[0] > 0.0:
        return np.asarray(middle)
    best = int(np.argmax(room))
    if not room[best] > 0.0:
        j = int(np.argmin(spare[best]))
        broken = []
        if spare[best, j] <= 0.0:
            name, part = model.joint_names[j], 100.0 * (1.0 - spare[best, j])
            broken.append(f"{part:.0f} % of the effort limit of joint {name!r}, held still")
        if points is not None and len(points.body) and height[best].min() <= points.height:
            k = int(np.argmin(height[best]))
            body, low = chain.joints[points.body[k]].body, points.height - height[best, k]
            broken.append(f"link {body!r} {low:.3f} m below the clearance over the floor")
        raise no_trajectory(f"at the best of {len(poses)} poses, {'; '.join(broken)}")
    return np.asarray(poses[best])


def started(
    limits: TrajectoryLimits, safe: Array, bases: Sequence[Array], n: int, random: np.random.Generator
) -> Array:
    """A random trajectory about a pose that uses half of the room and of the speed."""
    z = random.normal(size=(n, bases[0].shape[1]))
    half = np.maximum(
        np.minimum(limits.upper - safe, safe - limits.lower), 0.05 * (limits.upper - limits.lower)
    )
    sizes = [np.abs(part @ z.T).max(axis=0) for part in bases]
    room = np.minimum.reduce([half / sizes[0], limits.velocity / sizes[1], limits.acceleration / sizes[2]])
    return np.concatenate([safe, (0.5 * room[:, None] * z).ravel()])


def condition_of(
    model: DynamicsModel, base: BaseParameters, states: tuple[Array, Array, Array]
) -> tuple[float, Array]:
    """The condition of the base regressor with columns of unit length, and its singular values (b,)."""
    W = base.regressor(model.regressor(*states)).reshape(-1, len(base.columns))
    size = np.linalg.norm(W, axis=0)
    singular: Array = np.linalg.svd(W / np.where(size > 0.0, size, 1.0), compute_uv=False).astype(np.float64)
    return float(singular[0] / singular[-1]) if singular[-1] > 0.0 else float("inf"), singular


def usage(
    model: DynamicsModel,
    chain: Chain,
    limits: TrajectoryLimits,
    points: GuardedPoints | None,
    series: FourierSeries,
) -> tuple[dict[str, float], float | None]:
    """The largest part used of each kind of limit, and the lowest point over the allowed [m]."""
    time = np.arange(round(series.period * DENSE)) / DENSE
    q, qd, qdd = series.at(time)
    middle, half = (limits.upper + limits.lower) / 2, (limits.upper - limits.lower) / 2
    used = {
        "position": float((np.abs(q - middle) / half).max()),
        "velocity": float((np.abs(qd) / limits.velocity).max()),
        "acceleration": float((np.abs(qdd) / limits.acceleration).max()),
        "effort": float((np.abs(model.inverse_dynamics(q, qd, qdd)) / limits.effort).max()),
    }
    if points is None:
        return used, None
    height, _ = heights(chain, points, q)
    return used, float((height - points.height).min(initial=np.inf))


def kept(
    model: DynamicsModel,
    chain: Chain,
    limits: TrajectoryLimits,
    points: GuardedPoints | None,
    series: FourierSeries,
    safe: Array,
) -> FourierSeries:
    """The series shrunk towards a safe pose until a dense check finds every limit kept.

    Raises ``IdentificationError`` when even a small motion breaks one.
    """
    for _ in range(SHRINKS):
        used, lowest = usage(model, chain, limits, points, series)
        broken = [f"{part * 100:.0f} % of a {name} limit" for name, part in used.items() if part > 1.0]
        if lowest is not None and lowest < 0.0:
            broken.append(f"{-lowest:.3f} m into the floor")
        if not broken:
            return series
        series = FourierSeries(
            safe + SHRINK * (series.centre - safe), SHRINK * series.coefficients, series.period
        )
    raise no_trajectory("; ".join(broken))
