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

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import minimize

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.description import Chain
from kane_dynamics_ros.description.geometry import frames_at
from kane_dynamics_ros.identification.link_boxes import box_corners
from kane_dynamics_ros.identification.recordings import IdentificationError
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
DEPTH = 0.1  # [m] under the allowed height that counts as much as twice a limit

States = tuple[Array, Array, Array]  # position, velocity, acceleration: (N, n) each


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

    Positions stay within ``half`` to either side of the ``middle``.
    """

    middle: Array
    half: Array
    velocity: Array
    acceleration: Array
    effort: Array

    def poses(self, count: int, random: np.random.Generator) -> Array:
        """Random positions within the limits, (count, n)."""
        return random.uniform(self.middle - self.half, self.middle + self.half, (count, len(self.middle)))


def limits_of(
    model: DynamicsModel, widest: float, acceleration: float | None, part: float
) -> TrajectoryLimits:
    """``part`` of the model's limits; ``widest`` [rad] or [m]: to each side of the middle.

    ``acceleration``: of every joint; else what reaches the velocity limit in a quarter of a second.
    """
    ends = [(joint.lower, joint.upper) for joint in model.joints]
    lower, upper = np.array([(-widest, widest) if None in each else each for each in ends], dtype=float).T
    velocity = np.array([joint.velocity or 1.0 / part for joint in model.joints]) * part
    effort = np.array([joint.effort or np.inf for joint in model.joints]) * part
    quick = velocity / ACCELERATION_TIME if acceleration is None else np.full(len(velocity), acceleration)
    half = np.minimum(widest, (upper - lower) / 2) * part
    return TrajectoryLimits((lower + upper) / 2, half, velocity, quick, effort)


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

    def part(self, chosen: Mask) -> "GuardedPoints":
        """Some of the points, by a mask (P,)."""
        return replace(self, body=self.body[chosen], place=self.place[chosen])


def body_points(
    chain: Chain, boxes: Mapping[str, Array], clearance: float, floor: float, up: Array
) -> GuardedPoints:
    """The joints' origins, the tip, and the corners of the links' boxes where they are known."""
    body: list[int] = []
    place: list[Array] = []
    for b, joint in enumerate(chain.joints):
        points = [np.zeros(3), *(np.array(other.p_PoJo_P) for other in chain.joints if other.parent == b)]
        if b == chain.tip_body:
            points.append(np.array(chain.p_BoTo_B))
        points += box_corners(boxes[joint.body]) if joint.body in boxes else []
        body += [b] * len(points)
        place += points
    return GuardedPoints(np.array(body), np.array(place), up, floor + clearance, floor)


def heights(chain: Chain, points: GuardedPoints, q: Array) -> tuple[Array, Array]:
    """Heights of all points, (N, P), and their derivatives by the coordinates, (N, P, n)."""
    N, n = q.shape
    height, slope = np.zeros((N, len(points.body))), np.zeros((N, len(points.body), n))
    frames = frames_at(chain.joints, q)
    carrying: list[list[int]] = []  # of each body, the joints that carry it
    for b, joint in enumerate(chain.joints):
        carrying.append([*(carrying[joint.parent] if joint.parent >= 0 else ()), b])
        for k in np.flatnonzero(points.body == b):
            x = frames[b].p + frames[b].R @ points.place[k]
            height[:, k] = x @ points.up
            for j in carrying[b]:
                other, axis = chain.joints[j], frames[j].axis
                moved = axis if other.kind == "prismatic" else np.cross(axis, x - frames[j].p)
                slope[:, k, other.coordinate] += other.multiplier * (moved @ points.up)
    return height, slope


@dataclass(frozen=True)
class FourierSeries:
    """A Fourier series of n joints: ``centre`` (n,), ``coefficients`` (n, 2 H), ``period`` [s]."""

    centre: Array
    coefficients: Array
    period: float

    def at(self, time: Array) -> States:
        """Position, velocity and acceleration, (N, n) each."""
        bases = fourier(time, self.coefficients.shape[1] // 2, self.period)
        q, qd, qdd = (basis @ self.coefficients.T for basis in bases)
        return q + self.centre, qd, qdd

    def dense(self) -> States:
        """One period, as it is checked."""
        return self.at(np.arange(round(self.period * DENSE)) / DENSE)


def fourier(time: Array, harmonics: int, period: float) -> States:
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


class Excitation(NamedTuple):
    """A trajectory, and what it is worth.

    ``condition``: of the base regressor with columns of unit length, rows in N m or N; ``singular`` (b,):
    its singular values; ``used``: the largest part of each limit that is used, by name; ``lowest``: the
    lowest point over the allowed height [m].
    """

    series: FourierSeries
    condition: float
    start_condition: float
    singular: Array
    used: dict[str, float]
    lowest: float | None


# Costs


class Cost(NamedTuple):
    """A value, and its gradient by q, qd and qdd, (N, n) each."""

    value: float
    by_q: Array
    by_qd: Array
    by_qdd: Array


@dataclass(frozen=True)
class Arm:
    """What moves, and what it must keep."""

    model: DynamicsModel
    chain: Chain
    limits: TrajectoryLimits
    points: GuardedPoints | None

    @cached_property
    def base(self) -> BaseParameters:
        """What efforts can tell apart."""
        return self.model.base_parameters()

    def information(self, q: Array, qd: Array, qdd: Array) -> Cost:
        """F of the module's docstring over samples."""
        W = self.base.regressor(self.model.regressor(q, qd, qdd))
        value, by_G = objective(np.einsum("tib,tic->bc", W, W))
        by_W = 2 * W @ by_G  # (N, n, b)
        slopes = np.zeros((3, *q.shape))
        for k, j in np.ndindex(3, q.shape[1]):
            for sign in (1.0, -1.0):
                states = [q, qd, qdd]
                states[k] = states[k].copy()
                states[k][:, j] += sign * STEP
                moved = self.base.regressor(self.model.regressor(*states))
                slopes[k, :, j] += sign * np.einsum("tib,tib->t", by_W, moved) / (2 * STEP)
        return Cost(value, *slopes)

    def penalty(self, q: Array, qd: Array, qdd: Array) -> Cost:
        """The mean squares of what exceeds the limits, each in units of its limit."""
        limits, model = self.limits, self.model
        half = np.maximum(limits.half, 1e-6)
        tau = model.inverse_dynamics(q, qd, qdd)
        values = (q - limits.middle, qd, qdd, tau)
        mosts = (half, limits.velocity, limits.acceleration, limits.effort)
        over, slopes = [], []
        for x, most in zip(values, mosts, strict=True):
            over.append(np.sign(x) * np.maximum(np.abs(x) / most - 1.0, 0.0))
            slopes.append(2 * over[-1] / most)
        value = sum(float((each**2).sum()) for each in over)
        by_q, by_qd, by_qdd, by_tau = slopes
        if by_tau.any():
            derivatives = (*model.inverse_dynamics_derivatives(q, qd, qdd)[:2], model.mass_matrix(q))
            by_q, by_qd, by_qdd = (
                slope + np.einsum("ti,tij->tj", by_tau, each)
                for slope, each in zip((by_q, by_qd, by_qdd), derivatives, strict=True)
            )
        if self.points is not None:
            height, slope = heights(self.chain, self.points, q)
            below = np.maximum(self.points.height - height, 0.0) / DEPTH
            value += float((below**2).sum())
            by_q = by_q - 2 * np.einsum("tp,tpj->tj", below, slope) / DEPTH
        N = len(q)
        return Cost(value / N, by_q / N, by_qd / N, by_qdd / N)

    def condition(self, states: States) -> tuple[float, Array]:
        """The condition of the base regressor with columns of unit length, and its singular values (b,)."""
        W = self.base.regressor(self.model.regressor(*states)).reshape(-1, len(self.base.columns))
        size = np.linalg.norm(W, axis=0)
        singular: Array = np.linalg.svd(W / np.where(size > 0.0, size, 1.0), compute_uv=False).astype(float)
        return float(singular[0] / singular[-1]) if singular[-1] > 0.0 else float("inf"), singular

    def usage(self, series: FourierSeries) -> tuple[dict[str, float], float | None]:
        """The largest part used of each kind of limit, and the lowest point over the allowed [m]."""
        limits, (q, qd, qdd) = self.limits, series.dense()
        used = {
            "position": float((np.abs(q - limits.middle) / limits.half).max()),
            "velocity": float((np.abs(qd) / limits.velocity).max()),
            "acceleration": float((np.abs(qdd) / limits.acceleration).max()),
            "effort": float((np.abs(self.model.inverse_dynamics(q, qd, qdd)) / limits.effort).max()),
        }
        return used, None if self.points is None else float(self.room(self.points, q).min(initial=np.inf))

    def room(self, points: GuardedPoints, q: Array) -> Array:
        """How far points are above the allowed height [m]: (N, P)."""
        return heights(self.chain, points, q)[0] - points.height

    def safe_pose(self, random: np.random.Generator) -> Array:
        """The middle of the limits (n,) where the arm can stand there, else a pose with much room.

        That is the one with most room of many. Raises ``IdentificationError`` where it cannot stand in any.
        """
        limits = self.limits
        poses = np.concatenate([limits.middle[None], limits.poses(POSES, random)])
        spare = 1.0 - np.abs(self.model.gravity(poses)) / limits.effort
        over = np.full((len(poses), 1), np.inf) if self.points is None else self.room(self.points, poses)
        room = np.minimum(spare.min(axis=1), over.min(axis=1, initial=np.inf))
        best = 0 if room[0] > 0.0 else int(np.argmax(room))
        if room[best] > 0.0:
            return np.asarray(poses[best])
        broken = []
        j = int(np.argmin(spare[best]))
        if spare[best, j] <= 0.0:
            name, part = self.model.joint_names[j], 100.0 * (1.0 - spare[best, j])
            broken.append(f"{part:.0f} % of the effort limit of joint {name!r}, held still")
        if self.points is not None and over[best].min(initial=np.inf) <= 0.0:
            k = int(np.argmin(over[best]))
            body = self.chain.joints[self.points.body[k]].body
            broken.append(f"link {body!r} {-over[best, k]:.3f} m below the clearance over the floor")
        raise no_trajectory(f"at the best of {len(poses)} poses, {'; '.join(broken)}")

    def clearable(self, random: np.random.Generator) -> GuardedPoints | None:
        """The points that move up and down, and that some pose lifts to the height asked for.

        A shoulder's lower edge may do neither. Of its opposite corners, each may be lifted by poses that
        lower the other: of a body, points that no pose lifts together are left out, unless a pose brings them
        to the floor. Raises ``IdentificationError`` where that leaves nothing of a body that reaches the
        floor so, or of the last one.
        """
        points = self.points
        if points is None:
            return None
        height, slope = heights(self.chain, points, self.limits.poses(POSES, random))
        moving = np.abs(slope).sum(axis=(0, 2)) > 1e-9
        chosen = moving & (np.quantile(height, 0.9, axis=0) > points.height)
        for k in np.unique(points.body[moving & ~np.isin(points.body, points.body[chosen])]):
            own = height[:, moving & (points.body == k)]
            if own.min() < points.floor or k == points.body[moving].max():
                link, short = self.chain.joints[k].body, points.height - float(own.max())
                broken = f"link {link!r}, lifted highest, {short:.3f} m below the clearance over the floor"
                raise no_trajectory(broken)
        clear = (height > points.height).astype(float)
        same_body = points.body[:, None] == points.body
        excluded = chosen & (same_body & (clear.T @ clear == 0.0))[:, chosen].any(axis=1)
        return points.part(chosen & ~(excluded & (height.min(axis=0) > points.floor)))

    def kept(self, series: FourierSeries, safe: Array) -> FourierSeries:
        """The series shrunk towards a safe pose until a dense check finds every limit kept.

        Raises ``IdentificationError`` when even a small motion breaks one.
        """
        for _ in range(SHRINKS):
            used, lowest = self.usage(series)
            broken = [f"{part * 100:.0f} % of a {name} limit" for name, part in used.items() if part > 1.0]
            if lowest is not None and lowest < 0.0:
                broken.append(f"{-lowest:.3f} m into the floor")
            if not broken:
                return series
            centre = safe + SHRINK * (series.centre - safe)
            series = FourierSeries(centre, SHRINK * series.coefficients, series.period)
        raise no_trajectory("; ".join(broken))


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


# The search


def excite(
    arm: Arm,
    period: float = 20.0,
    harmonics: int = 6,
    iterations: int = 30,
    seed: int = 0,
    progress: Callable[[str], object] = lambda text: None,
) -> Excitation:
    """A trajectory of one period. Raises ``IdentificationError``."""
    n = len(arm.model.joint_names)
    random = np.random.default_rng(seed)
    N = at_rest_basis(harmonics, period)
    time = np.arange(SAMPLES) * period / SAMPLES
    bases = [part @ N for part in fourier(time, harmonics, period)]
    arm = replace(arm, points=arm.clearable(random))
    limits = arm.limits
    inner = replace(arm, limits=TrajectoryLimits(limits.middle, *(INSIDE * each for each in limits[1:])))
    safe = arm.safe_pose(random)

    def series_of(x: Array) -> FourierSeries:
        return FourierSeries(x[:n], x[n:].reshape(n, -1) @ N.T, period)

    def cost(x: Array, weight: float) -> tuple[float, Array]:
        states = series_of(x).at(time)
        inform, broken = arm.information(*states), inner.penalty(*states)
        slopes = [a + weight * b for a, b in zip(inform[1:], broken[1:], strict=True)]
        by_z = np.sum([slope.T @ part for slope, part in zip(slopes, bases, strict=True)], axis=0)
        return inform.value + weight * broken.value, np.concatenate([slopes[0].sum(axis=0), by_z.ravel()])

    best: Excitation | None = None
    broken: IdentificationError | None = None
    for attempt in range(RESTARTS):
        x = started(limits, safe, bases, random)
        random_motion, _ = arm.condition(series_of(x).at(time))
        candidates = [x]  # of which only a smaller part may keep the limits
        for stage, weight in enumerate(PENALTIES):
            options = {"maxiter": iterations, "maxcor": 30}
            x = minimize(cost, x, args=(weight,), jac=True, method="L-BFGS-B", options=options).x
            candidates.append(x)
            progress(f"attempt {attempt + 1}, stage {stage + 1} of {len(PENALTIES)}")
        for x in candidates:
            try:
                series = arm.kept(series_of(x), safe)
            except IdentificationError as error:
                broken = error
                continue
            condition, singular = arm.condition(series.dense())
            if best is None or condition < best.condition:
                best = Excitation(series, condition, random_motion, singular, *arm.usage(series))
        if best is not None and best.condition < min(GOOD, best.start_condition):
            break
    if best is None:
        raise broken or no_trajectory("every limit")
    return best


def started(limits: TrajectoryLimits, safe: Array, bases: list[Array], random: np.random.Generator) -> Array:
    """A random trajectory about a pose that uses half of the room and of the speed: centre and z."""
    z = random.normal(size=(len(safe), bases[0].shape[1]))
    half = np.maximum(limits.half - np.abs(safe - limits.middle), 0.1 * limits.half)
    sizes = [np.abs(part @ z.T).max(axis=0) for part in bases]
    room = np.minimum.reduce([half / sizes[0], limits.velocity / sizes[1], limits.acceleration / sizes[2]])
    return np.concatenate([safe, (0.5 * room[:, None] * z).ravel()])
