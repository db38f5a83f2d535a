"""Which terms, and which causes common to the arm, explain a residual.

The residual r of a joint is regressed on what each term contributes to its effort,

    r = c_I inertia + c_C coriolis + c_G gravity + b speed + f direction + o

c_I, c_C and c_G are by how much the model's terms are too small, b and f viscous and Coulomb friction
that it lacks, o a constant. What these leave is searched for the other terms of a joint's friction: by the
load, Stribeck's, by direction, by the root of the speed; they come second, for most resemble the first six,
and must explain a good part of what is left.
All at once would share an error out among terms that resemble each other;
so terms are taken one by one, each time the one that explains most of what is left (forward
selection, all coefficients fitted anew), and only as long as the gain is worth reporting.

A term that explains much need not be the cause. It is named only if
- it can be distinguished from all others together: they do not imitate it in this motion;
- its size is possible: no arm has ten times the gravity, or less than none, of its URDF;
- it holds where it was not fitted: a fit to nine tenths of the recording improves the last tenth, in turns.

A body at the tip, or one link's mass, acts on all joints at once. Each such cause is a few columns Y
(effort per unit of its unknowns, for every joint and sample), and is judged by how much of the residuals
of all joints they explain together: least squares over the arm. Friction and offset of each joint are taken
out before, for they hide what the bodies do; and each joint counts in units of its measured effort (RMS), so
that a wrist that does not fit weighs as much as a shoulder.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.description import Inertia
from kane_dynamics_ros.description.geometry import Pose, about_origin, moved_inertia
from kane_dynamics_ros.description.model import IDENTITY, ZERO
from kane_dynamics_ros.replay.comparison import Comparison, smoothed
from kane_dynamics_ros.replay.correlation import bartlett, memory
from kane_dynamics_ros.replay.coupled import Left, Pair, explained, likely_pairs, right_way_round
from kane_dynamics_ros.replay.motion import Motion
from kane_dynamics_ros.runtime import DynamicsModel, Vector

RIGID = ("inertia", "coriolis", "gravity")
BASIC = ("viscous", "Coulomb")  # friction that further terms come beside
SMALLEST_SHARE = 0.05  # of the residual's power that a term must explain, or else ``SMALLEST_REST``
SMALLEST_REST = 0.5  # of the power that the terms before it leave
SMALLEST_SECOND = 0.2  # of the power that the terms before it leave, that a second one must explain anyway
SMALLEST_EFFORT = 0.005  # of the measured effort (RMS) that a term's error must amount to
STANDARD_ERRORS = 5.0  # a coefficient must be this many from zero
ALIKE = 0.95  # correlation above which the motion cannot distinguish two terms
IMITATED = 0.98  # of a term's power that all others together may make up
MOST_TOO_SMALL, MOST_TOO_LARGE = 1.0, 1.0  # by which a term can be off: a link twice as heavy, or none
NOISE = 5.0  # standard errors by which such a bound may be exceeded
REVERSED = 0.1  # how near to -2 a part must be for an effort that was measured with the wrong sign
FOLDS = 10  # parts of the recording that are left out in turn
HOLDS = 2.0  # standard errors, over the parts, by which a term must improve what was left out
AS_GOOD = 0.9  # of the best term's gain that such a term must reach to be named beside it
SAMPLES = 20_000  # of the motion that are looked at: minutes at the analysis rate
SMALLEST_CAUSE_SHARE = 0.3  # of the residuals' power, friction taken out, that a cause must explain
ALONE = 0.95  # of what all causes explain together, noise apart, that the one to report must explain alone
SIMPLER = 0.02  # share by which the tip body, which has four unknowns, must beat a link, which has one
HEAVIEST_LINK = 3.0  # times what the model says; more is no error of a URDF
FARTHEST_TIP = 2.0  # [m] from the tip frame to the centre of what it may carry
OTHER_UNIT = 2.0  # times the model's effort, or as little of it, from which the unit is another one
MOST_LEFT = 0.1  # of an effort's variance that such a factor may leave
SAMPLES_OF_PAIRS = 4000  # among which drives that turn with two joints are looked for
PIECE = 2000  # samples whose regressor is held at once: some MB
RANK = 1e-3  # singular values below this part of the greatest are directions the motion does not show


# One joint: least squares, one term after another


@dataclass(frozen=True)
class Attribution:
    """One term's part in a residual.

    ``coefficient`` as in the module's equation, ``error`` its standard error, ``effort`` the RMS of what
    it adds, ``share`` the part of the residual's power that it explains, 0 to 1, of a pair half of theirs.
    ``alike``: terms that explain it as well, because in this motion they run almost parallel.
    """

    term: str
    coefficient: float
    error: float
    effort: float
    share: float
    alike: tuple[str, ...] = ()


def attribute_joint(
    comparison: Comparison,
    joint: int,
    common: Array | None,
    measured_rms: float,
    independent: float,
    *,
    coulomb: float,
) -> list[Attribution]:
    """The terms to which a joint's residual is attributed, greatest first.

    ``common`` (N,) is the part of the residual that a payload or a link's mass explains: it is reported as
    what it changes in inertia, Coriolis and gravity, and only the rest is searched for friction
    and offsets. Else an offset would pass for the weight of a payload, and friction for its inertia.
    ``coulomb``: the model's Coulomb friction [N m] or [N].
    """
    residual = comparison.residual[:, joint]
    rigid = {name: comparison.terms[name][:, joint] for name in RIGID}
    other = {
        "viscous": comparison.speed[:, joint],
        "Coulomb": comparison.direction[:, joint],
        "offset": np.ones(len(residual)),
    }

    def with_friction(part: Array, first: Mapping[str, Array]) -> list[Attribution]:
        second = {name: values[:, joint] for name, values in comparison.friction.items()}
        attributed = attribute(part, first, measured_rms, independent, second=second)
        terms = {one.term for one in attributed}
        if "Coulomb" in terms or "stribeck" not in terms or coulomb:
            return attributed
        del second["stribeck"]  # it changes Coulomb friction, of which there is none
        return attribute(part, first, measured_rms, independent, second=second)

    if common is None:
        return with_friction(residual, {**rigid, **other})
    rest = residual - common
    found = []
    for part, attributed in (
        (common, attribute(common, rigid, measured_rms, independent, bounded=False)),
        (rest, with_friction(rest, other)),
    ):
        weight = float(np.mean(part**2) / np.mean(residual**2))
        found += [replace(one, share=min(1.0, weight * one.share)) for one in attributed]
    return sorted(found, key=lambda one: -one.effort)


def attribute(
    residual: Array,
    contributions: Mapping[str, Array],
    measured_rms: float,
    independent: float,
    bounded: bool = True,
    second: Mapping[str, Array] | None = None,
) -> list[Attribution]:
    """The terms to which a residual (N,) is attributed, greatest first; empty when none is worth reporting.

    contributions: (N,) each, by term; independent: how many of the N samples count as independent
    (a low-passed signal has fewer than samples); bounded: whether the size of a term must be one that an arm
    can have, as it must unless a cause is known; second: terms that explain what the others leave.
    """
    every = {**contributions, **(second or {})}
    problem = _Problem(residual, every, max(1, round(len(residual) / max(independent, 1.0))))
    first = [i for i, name in enumerate(problem.names) if name in contributions]
    other = [i for i, name in enumerate(problem.names) if name not in contributions]
    basic = (first, SMALLEST_REST, 0.0)
    stages = (basic, (other, 1.0, SMALLEST_SECOND), basic)
    refused: set[int] = set()
    while True:
        selected: dict[int, tuple[float, tuple[str, ...]]] = {}
        for candidates, enough, least in stages:
            _select(selected, problem, candidates, refused, measured_rms, enough, least)
        values, errors = problem.solved(list(selected))
        found = {
            i: Attribution(problem.names[i], value / problem.rms[i], error / problem.rms[i], abs(value), *how)
            for (i, how), value, error in zip(selected.items(), values.tolist(), errors.tolist(), strict=True)
        }
        impossible = {i for i, one in found.items() if bounded and not _possible(one)}
        if any(one.term not in contributions for one in found.values()):
            # what passed for an offset may have been an asymmetry
            impossible |= {
                i
                for i, value, error in zip(selected, values, errors, strict=True)
                if not abs(value) > max(SMALLEST_EFFORT * measured_rms, STANDARD_ERRORS * error)
            }
        if not impossible:
            return sorted(found.values(), key=lambda one: -one.effort)
        refused |= impossible  # the others must explain the residual without it


def _possible(one: Attribution) -> bool:
    """Whether an arm can differ so much from its model; noise may take a coefficient beyond a bound."""
    noise = NOISE * one.error
    possible = -MOST_TOO_LARGE - noise <= one.coefficient <= MOST_TOO_SMALL + noise
    if one.term == "load":
        return one.coefficient > 0.0 and possible
    return one.term not in RIGID or possible or abs(one.coefficient + 2.0) < REVERSED


def _select(
    found: dict[int, tuple[float, tuple[str, ...]]],
    problem: "_Problem",
    candidates: Sequence[int],
    refused: set[int],
    measured_rms: float,
    enough: float,
    least_rest: float,
) -> None:
    """Add columns one after another, each with the share that it adds and the columns that do as well.

    ``enough``: the part of what is left that a column must explain, or else ``SMALLEST_SHARE``; at least
    ``least_rest`` of it in any case. Viscous and Coulomb friction of opposite errors cancel, so that
    each alone explains little: where neither is found they are tried together, and share what they explain.
    """
    among = [*found, *candidates]

    def stand(columns: Sequence[int], twins: Sequence[int] = ()) -> bool:
        """Whether columns can be told from all others, are large enough, and hold where not fitted."""
        values, errors = (each[len(found) :] for each in problem.solved([*found, *columns]))
        least = np.maximum(SMALLEST_EFFORT * measured_rms, STANDARD_ERRORS * errors)
        others = [[i for i in among if i != column and i not in twins] for column in columns]
        imitated = [problem.explained(*each) for each in zip(others, columns, strict=True)]
        large = bool((np.abs(values) > least).all())
        return large and max(imitated) <= IMITATED and problem.holds(list(found), columns)

    out = set(refused)
    while rest := [i for i in candidates if i not in out and i not in found]:
        before = problem.explained(list(found))
        gains = {i: problem.explained([*found, i]) - before for i in rest}
        best = max(gains, key=lambda i: gains[i])
        if not gains[best] > max(min(SMALLEST_SHARE, enough * (1 - before)), least_rest * (1 - before)):
            break
        twins = [i for i in rest if i != best and abs(problem.products[i, best]) > ALIKE]
        if not stand([best], twins):
            out.add(best)
            continue
        alike = tuple(problem.names[i] for i in twins if gains[i] > AS_GOOD * gains[best])
        found[best] = gains[best], alike
    pair = [i for i in candidates if problem.names[i] in BASIC and i not in refused and i not in found]
    gain = problem.explained([*found, *pair]) - problem.explained(list(found))
    if len(pair) == len(BASIC) and gain > SMALLEST_SHARE and stand(pair):
        found.update((i, (gain / len(pair), ())) for i in pair)


class _Problem:
    """The least-squares problem with columns (N, k) scaled to an RMS of 1, whole and in parts of the time.

    ``products`` (k + 1, k + 1) are the mean products of columns and residual (the last), of which ``parts``
    (folds, k + 1, k + 1) are the shares; ``least_memory``: samples that a filter makes alike.
    """

    def __init__(self, residual: Array, contributions: Mapping[str, Array], least_memory: int) -> None:
        rms = {name: float(np.sqrt(np.mean(column**2))) for name, column in contributions.items()}
        self.names = tuple(name for name in contributions if rms[name] > 0)
        self.rms = tuple(rms[name] for name in self.names)  # before scaling
        self.columns = np.stack([contributions[name] / rms[name] for name in self.names], axis=1)
        self.residual = residual
        self.least_memory = least_memory
        both = np.column_stack([self.columns, residual])
        self.parts = np.stack([part.T @ part / len(both) for part in np.array_split(both, FOLDS)])
        self.products = self.parts.sum(axis=0)

    def explained(self, chosen: Sequence[int], column: int = -1) -> float:
        """The part of a column's power, of the residual's by default, that others make up, 0 to 1."""
        power = float(self.products[column, column])
        values = _fitted(self.products, chosen, column)
        return float(values @ self.products[chosen, column] / power) if power else 0.0

    def solved(self, chosen: Sequence[int]) -> tuple[Array, Array]:
        """Coefficients of the scaled columns, and their standard errors.

        For residuals that follow each other.
        """
        if not chosen:
            return np.zeros(0), np.zeros(0)
        values = _fitted(self.products, chosen)
        columns = self.columns[:, chosen]
        left = self.residual - columns @ values
        inverse = np.linalg.pinv(self.products[np.ix_(chosen, chosen)], rcond=1e-9) / len(left)
        scores = bartlett(columns * left[:, None], memory(left, self.least_memory))
        return values, np.sqrt(np.maximum(np.diag(inverse @ scores @ inverse), 0.0))

    def holds(self, chosen: Sequence[int], more: Sequence[int]) -> bool:
        """Whether more columns, fitted to the rest beside the chosen ones, improve what is left out."""

        def left(part: Array, fitted: Sequence[int]) -> float:
            x = np.append(np.zeros(len(part) - 1), 1.0)
            x[fitted] = -_fitted(self.products - part, fitted)
            return float(x @ part @ x)

        gains = [left(part, chosen) - left(part, [*chosen, *more]) for part in self.parts]
        return float(np.mean(gains)) > HOLDS * float(np.std(gains, ddof=1) / np.sqrt(len(gains)))


def _fitted(products: Array, chosen: Sequence[int], column: int = -1) -> Array:
    """Coefficients of some columns in another, from products of columns and residual, the last."""
    if not chosen:
        return np.zeros(0)
    some = products[np.ix_(chosen, chosen)]
    return np.asarray(np.linalg.lstsq(some, products[chosen, column], rcond=1e-9)[0], float)


# The whole arm: efforts in another unit, a body at the tip, or one link's mass


@dataclass(frozen=True)
class EffortScale:
    """Efforts in another unit: by joint, how many times the model's they are (friction and offset apart)."""

    factors: tuple[float, ...]


def effort_scale(comparison: Comparison, judged: Mask, smallest: float) -> EffortScale | None:
    """The factors of joints whose efforts are all the model's in another unit, as motor currents are.

    Every judged joint whose effort changes by more than ``smallest`` [N m] or [N] must be explained by

        measured = k predicted + b speed + f direction + o,        k < 1/2 or k > 2
    """
    factors = []
    for j in np.flatnonzero(judged):
        measured, predicted = comparison.measured[:, j], comparison.predicted[:, j]
        if np.ptp(measured) <= smallest or np.ptp(predicted) <= smallest:
            continue
        columns = np.stack([predicted, *_friction(comparison, int(j))], axis=1)
        unknowns, _ = _solved(columns, measured)
        left = np.var(measured - columns @ unknowns) / np.var(measured)
        k = float(unknowns[0])
        if left > MOST_LEFT or k <= 0.0 or 1 / OTHER_UNIT < k < OTHER_UNIT:
            return None
        factors.append(k)
    return EffortScale(tuple(factors)) if len(factors) > 1 else None


@dataclass(frozen=True)
class TipBody:
    """A body fixed to a tip: mass [kg], centre of mass in the ``frame`` of that link [m], what it explains.

    A negative mass is a tip that is lighter than the model says; ``share`` is 0 to 1. The frame is the tip's,
    of the further tips of a tree that of the link with a joint that carries the tip.
    """

    mass: float
    com: tuple[float, float, float]
    share: float
    frame: str


@dataclass(frozen=True)
class LinkError:
    """A link whose mass and inertia are ``factor`` times the model's, and how much that explains."""

    link: str
    factor: float
    share: float


def whole_arm_cause(
    model: DynamicsModel, motion: Motion, comparison: Comparison
) -> TipBody | LinkError | None:
    """The cause that explains the residuals of all joints best, if one explains nearly all of them."""
    columns = _columns_of_causes(model, motion)  # 4 of each tip, 1 of each body
    samples = np.arange(len(columns))
    stacked, residual = _stacked(columns, comparison, samples)
    if not len(residual):
        return None  # no joint measures any effort
    _, everything = _solved(stacked, residual)
    if everything * float(np.sqrt(np.mean(residual**2))) < SMALLEST_EFFORT:
        return None
    causes: list[tuple[TipBody | LinkError, Sequence[int]]] = []
    tips, masses = tip_places(model), model.inertial_parameters[::10]
    for k, link in enumerate(model.bodies, 4 * len(tips)):
        excess, share = _solved(stacked[:, [k]], residual)
        if 0 < 1 + excess[0] < HEAVIEST_LINK:
            causes.append((LinkError(link, 1 + float(excess[0]), share), [k]))
    for k, (frame, (body, _)) in enumerate(tips.items()):
        own = range(4 * k, 4 * k + 4)
        moments, share = _solved(stacked[:, own], residual)
        mass = float(moments[0])
        x, y, z = (moments[1:] / mass if mass else moments[1:]).tolist()
        if -masses[body] < mass < masses.sum() and float(np.linalg.norm((x, y, z))) < FARTHEST_TIP:
            causes.append((TipBody(mass, (x, y, z), share, frame), own))
    if not causes:
        return None
    best, used = max(causes, key=lambda one: one[0].share - SIMPLER * isinstance(one[0], TipBody))
    if best.share <= max(SMALLEST_CAUSE_SHARE, ALONE * everything):
        return None
    # fitted to one half of the motion it must explain the other, both ways; an arm may rest in one half of it
    columns, turns = columns[:, :, used], samples * 2 * FOLDS // len(samples) % 2
    for half in (0, 1):
        learnt = _stacked(columns[turns == half], comparison, samples[turns == half])
        asked, wanted = _stacked(columns[turns != half], comparison, samples[turns != half])
        left = wanted - asked @ _solved(*learnt)[0]
        if float(left @ left) > (1 - SMALLEST_CAUSE_SHARE) * float(wanted @ wanted):
            return None
    return best


def coupled_drive(model: DynamicsModel, comparison: Comparison, residual: Array, judged: Mask) -> Pair | None:
    """The drive that seems to turn with another joint, too, by friction that two joints' residuals share.

    ``residual`` (N, n): without what a cause of the whole arm explains. It must hold in both halves of the
    recording, each made of turns.
    """
    some = slice(None, None, max(1, len(residual) // SAMPLES_OF_PAIRS))
    rigid = np.stack([comparison.terms[name][some] for name in RIGID], axis=2)
    size = np.sqrt(np.mean(comparison.measured**2, axis=0))
    counts = judged & (np.sqrt(np.mean(residual**2, axis=0)) > SMALLEST_EFFORT * size)
    good = np.tile(counts, (len(rigid), 1))
    left = Left(residual[some], good, comparison.speed[some], rigid)
    C = np.eye(len(size)) if model.coupling is None else model.coupling
    turns = np.arange(len(rigid)) * 2 * FOLDS // len(rigid) % 2
    for pair in likely_pairs(left, model.joints, C, SMALLEST_CAUSE_SHARE)[:1]:
        halves = [
            Left(left.residual[part], good[part], left.qd[part], rigid[part])
            for part in (turns == 0, turns == 1)
        ]
        factor = np.array([pair.factor])
        if min(float(explained(half, C, *pair[1:3], factor)[0]) for half in halves) > SMALLEST_CAUSE_SHARE:
            friction = left._replace(residual=left.residual + comparison.terms["friction"][some])
            return right_way_round(friction, C, pair)
    return None


def tip_places(model: DynamicsModel) -> dict[str, tuple[int, Pose]]:
    """The frames in which a body at each tip that moves is stated, by link: of which body, and where in it.

    That is the tip's own, but of a further tip that of the link with a joint that carries it.
    """
    (body, R, p), *others = model.source.module.facts["tip_frames"]
    found = {model.tip: (body, Pose(R, p))} | {model.bodies[k]: (k, Pose()) for k, *_ in others if k >= 0}
    return {frame: place for frame, place in found.items() if place[0] >= 0}


def point_parameters(pose: Pose, c: Vector) -> Array:
    """Inertial parameters (10,) of a point of unit mass at ``c`` in a frame, about its body's origin."""
    return np.array(about_origin(moved_inertia(pose, Inertia(1.0, c, (ZERO, ZERO, ZERO)))))


def cause_effort(model: DynamicsModel, motion: Motion, cause: TipBody | LinkError) -> Array:
    """What a cause adds to the effort of every joint along the whole motion, filtered: (N, n)."""
    if isinstance(cause, LinkError):
        body = model.bodies.index(cause.link)
        added = (cause.factor - 1) * model.inertial_parameters[10 * body : 10 * body + 10]
    else:
        body, pose = tip_places(model)[cause.frame]
        added = cause.mass * point_parameters(pose, cause.com)
    parts = []
    for interval in motion.intervals:
        regressors = _regressors(model, interval.q, interval.qd, interval.qdd)
        parts.append(smoothed(np.concatenate([Y[:, :, body] @ added for Y in regressors]), motion))
    return np.concatenate(parts)


def _solved(columns: Array, wanted: Array) -> tuple[Array, float]:
    """Least squares: the unknowns, and the share of the wanted values' power that they explain."""
    size = np.linalg.norm(columns, axis=0)
    size[size == 0] = 1.0  # such a column does nothing
    unknowns = np.asarray(np.linalg.lstsq(columns / size, wanted, rcond=RANK)[0] / size, float)
    power = float(wanted @ wanted)
    left = float(np.sum((wanted - columns @ unknowns) ** 2))
    return unknowns, 1 - left / power if power else 0.0


def _friction(comparison: Comparison, joint: int) -> tuple[Array, Array, Array]:
    """What unit viscous and Coulomb friction and a unit offset add to a joint's effort, (N,) each."""
    return comparison.speed[:, joint], comparison.direction[:, joint], np.ones(len(comparison.time))


def _stacked(columns: Array, comparison: Comparison, part: NDArray[np.intp]) -> tuple[Array, Array]:
    """Columns (N, n, unknowns) and the residual of the same part, joint under joint: (n N, unknowns), (n N,).

    Friction and offset are taken out, and each joint counts in units of its measured effort; a joint
    without any is left out.
    """
    scale = np.sqrt(np.mean(comparison.measured**2, axis=0))
    joints = [np.empty((0, columns.shape[2] + 1))]
    for j in np.flatnonzero(scale):
        friction = np.stack(_friction(comparison, int(j)), axis=1)[part]
        both = np.column_stack([columns[:, j], comparison.residual[part, j]]) / scale[j]
        joints.append(both - friction @ np.linalg.lstsq(friction, both, rcond=None)[0])
    whole = np.concatenate(joints)
    return whole[:, :-1], whole[:, -1]


def _columns_of_causes(model: DynamicsModel, motion: Motion) -> Array:
    """Effort per unit of each cause over the first ``SAMPLES`` samples, filtered: (N, n, 4 tips + bodies).

    Of a body, the unit is what the model has. Of a point-like one at a tip, they are mass and first moment:
    of its parameters pi(c), quadratic in its place, pi(0) and (pi(e) - pi(-e)) / 2 for each axis e.
    """
    bodies = model.inertial_parameters.reshape(-1, 10)
    tips = []
    for k, pose in tip_places(model).values():
        moments = (
            (point_parameters(pose, (x, y, z)) - point_parameters(pose, (-x, -y, -z))) / 2
            for x, y, z in IDENTITY
        )
        tips.append((k, np.stack([point_parameters(pose, ZERO), *moments], axis=1)))
    parts: list[Array] = []
    for interval in motion.intervals:
        missing = SAMPLES - sum(map(len, parts))
        if missing > 0:
            states = (x[: missing + 2 * motion.edge] for x in (interval.q, interval.qd, interval.qdd))
            columns = [
                np.concatenate([*(Y[:, :, k] @ units for k, units in tips), (Y * bodies).sum(axis=3)], axis=2)
                for Y in _regressors(model, *states)
            ]
            parts.append(smoothed(np.concatenate(columns), motion))
    return np.concatenate(parts)


def _regressors(model: DynamicsModel, q: Array, qd: Array, qdd: Array) -> Iterator[Array]:
    """The regressor of some samples at a time, by joint and body: (samples, n, bodies, 10)."""
    for i in range(0, len(q), PIECE):
        some = slice(i, i + PIECE)
        Y = model.regressor(q[some], qd[some], qdd[some])
        yield Y.reshape(-1, q.shape[1], len(model.bodies), 10)
