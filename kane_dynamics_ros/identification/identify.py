"""From bags to an identified robot: passes over the motion, choices, the estimate, and what it is worth.

1. A first pass takes the load from the URDF and counts every sample alike; the scale of each joint's noise
   follows from its residual (generalised least squares, repeated until the scales stand).
2. Two more passes take the load from the estimate and weigh samples by their residuals (Huber), by
   stiction at rest, and not at all where the effort was clipped.
3. Widths, terms and the weight of the URDF are chosen by cross-validation over blocks of time, or bags.
4. The constrained estimate; a last pass judges it on data that were not fitted, and gathers what standard
   errors need: residuals follow each other in time, so that neighbouring samples are not
   independent. The middle of the sandwich is therefore Newey and West's sum over lags [NeweyWest1987].
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import lsq_linear

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.identification.estimation import (
    FAMILIES,
    LAMBDAS,
    START_LAMBDA,
    Choice,
    Constraints,
    Gains,
    Nominal,
    Normal,
    Problem,
    Solution,
    Validation,
    bodies_at_bound,
    choose_lambda,
    choose_terms,
    choose_widths,
    columns_of,
    constrained_solution,
    fitted_gains,
    folds_of,
    inertial_of,
    nearest_consistent,
    normal_by_joint,
    problem_of,
    ridge_of,
    total,
    unknowns,
    validation_of,
    vector_of,
)
from kane_dynamics_ros.identification.motion_store import MotionStore
from kane_dynamics_ros.identification.regression import (
    COULOMB_WIDTHS,
    PER_CUTOFF,
    STANDS,
    STRIBECK_WIDTHS,
    TERMS,
    Guess,
    Products,
    Residuals,
    RowLayout,
    Rows,
    Term,
    accumulate,
    block_starts,
    layout_of,
    one_thread_each,
    residual,
    visit,
)
from kane_dynamics_ros.replay.correlation import bartlett
from kane_dynamics_ros.replay.messages import Mask
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.runtime.parameters import find_base_parameters
from kane_dynamics_ros.text import counted

PARAMETERS = ("m", "hx", "hy", "hz", "Jxx", "Jxy", "Jxz", "Jyy", "Jyz", "Jzz")
PLAIN_FAMILIES = ("rotor", "viscous", "coulomb")  # what a URDF and the node can carry
BLOCKS = 60  # of time, of each bag
FEWEST_BLOCKS = 12  # of each bag where there are many
ROUNDS = 3  # of reweighting by joint
ROBUST_PASSES, GAIN_PASSES = 2, 3
NOISE_FLOOR = 1e-9  # of the largest joint's effort: a perfect fit has no scale
POINTS = 3000  # kept for figures
FELT = 0.1  # of a recording's power that the nominal effort must make up to estimate a gain from it
ALIKE = 0.8  # correlation of the URDF's and the recorded effort from which on their ratio means something
UNIT_RATIO = 2.5  # ratio of the URDF's efforts to the recorded ones beyond which their unit is doubted
IDENTIFIABLE = 0.5  # part of the URDF's uncertainty that the motion must take away from a parameter


class NothingToJudgeError(KaneDynamicsError):
    """No samples are left on one side of the split."""

    def __init__(self, part: str, seconds: float) -> None:
        super().__init__(
            f"{seconds:.3g} s of motion leave nothing {part}; record longer, or give other bags to --validate"
        )


# What is asked for, and what is found


@dataclass(frozen=True)
class Settings:
    """``holdout``: the last part of each bag that is judged instead of fitted, 0 where other bags are.

    ``validate``: how many of the bags, the last ones, are only judged. ``payloads``: of each bag, the ten
    parameters of a known body at the tip in the last body's frame. ``gains``: estimate the effort per
    recorded unit. ``weight``: of the URDF, chosen where it is None.
    """

    holdout: float
    validate: int
    payloads: tuple[Array, ...]
    constraints: Constraints = field(default_factory=Constraints)
    gains: bool = False
    weight: float | None = None


@dataclass(frozen=True)
class Errors:
    """Root mean squares (n,) [N m] or [N] of one part of the data: of the measured effort and of residuals.

    ``nominal``: by the URDF; ``identified``: with every chosen term; ``plain``: with those that a URDF and
    the node carry.
    """

    effort: Array
    nominal: Array
    identified: Array
    plain: Array
    samples: int

    def relative(self, residual: Array) -> float:
        """RMS of a residual over all joints, over the RMS of the effort."""
        power = float((self.effort**2).sum())
        return float(np.sqrt((residual**2).sum() / power)) if power else 0.0


@dataclass(frozen=True)
class Curves:
    """Samples for figures: ``time`` (N,), ``bag`` (N,), ``held`` (N,) bool, the rest (N, n).

    ``friction``: measured effort minus everything rigid.
    """

    bag: Array
    time: Array
    held: Mask
    qd: Array
    measured: Array
    nominal: Array
    identified: Array
    friction: Array


@dataclass(frozen=True)
class BaseParameter:
    """A combination of parameters that efforts distinguish from the others, and what it is.

    ``parts``: (name, factor) of what is combined, the first the one that gives it its name.
    """

    name: str
    parts: tuple[tuple[str, float], ...]
    nominal: float
    value: float
    error: float


@dataclass(frozen=True)
class Identified:
    """Everything that was found.

    ``inertial`` (bodies, 10) and ``terms`` (n, families of ``FAMILIES``), with standard errors; ``plain`` (n,
    families): the terms where only those of a URDF are allowed. ``determined`` (bodies, 10): the part of
    the URDF's uncertainty that the motion took away, 0 to 1. ``weights``: each candidate, and its
    cross-validated error over the best one's. ``memory`` [s]: for how long residuals correlate.
    ``condition``: of the base regressor with columns of unit length, over the fitted data. ``seconds``:
    fitted and held out. ``stribeck_velocity`` (n,) [rad/s] or [m/s]. ``at_bound``: bodies that only the
    constraint keeps consistent.
    """

    problem: Problem
    choice: Choice
    nominal: Nominal
    inertial: Array
    inertial_error: Array
    determined: Array
    terms: Array
    terms_error: Array
    plain: Array
    gain: Array
    gain_error: Array
    sigma: Array
    weight: float
    weights: tuple[tuple[float, float], ...]
    memory: float
    independent: float
    condition: float
    base: tuple[BaseParameter, ...]
    fitted: Errors
    held: Errors
    curves: Curves
    seconds: tuple[float, float]
    stribeck_velocity: Array
    at_bound: tuple[int, ...]
    notes: tuple[str, ...]

    @property
    def coulomb_velocity(self) -> float:
        """Width of the smooth sign [rad/s] or [m/s]."""
        return COULOMB_WIDTHS[self.choice.width]


# Passes over the motion


@one_thread_each()
def identify(
    store: MotionStore,
    model: DynamicsModel,
    nominal: Nominal,
    settings: Settings,
    progress: Callable[[str], object] = lambda text: None,
) -> Identified:
    """Identify a robot. Raises ``NothingToJudgeError``, and the solver's errors."""
    blocks = max(FEWEST_BLOCKS, BLOCKS // len(store.tracks))
    task = Task(
        store,
        model,
        layout_of(model, usual_speeds(store)),
        nominal,
        settings,
        blocks,
        fitted_blocks(store, blocks, settings),
    )
    progress("first estimate")
    stage = first_stage(task)
    passes = ROBUST_PASSES + GAIN_PASSES * settings.gains
    for number in range(passes):
        progress(f"robust estimate {number + 1} of {passes}")
        stage = next_stage(task, stage)
    progress("choosing terms and the weight of the URDF")
    return finished(task, stage, progress)


def usual_speeds(store: MotionStore) -> Array:
    """The speed that each joint exceeds in 5 % of the time: (n,)."""
    found = [
        np.quantile(np.abs(piece.qd[piece.edge : -piece.edge]), 0.95, axis=0)
        for track in store.tracks
        for piece in store.pieces(track, 65_536)
    ]
    return np.asarray(np.max(found, axis=0))


def fitted_blocks(store: MotionStore, blocks: int, settings: Settings) -> Mask:
    """Which blocks are fitted: (bags * blocks,) bool. Raises ``NothingToJudgeError``."""
    bags = len(store.tracks)
    part = np.arange(blocks) < round(blocks * (1.0 - settings.holdout))
    chosen = np.concatenate(
        [part if b < bags - settings.validate else np.zeros(blocks, bool) for b in range(bags)]
    )
    seconds = sum(track.seconds for track in store.tracks)
    if not chosen.any():
        raise NothingToJudgeError("to fit", seconds)
    if chosen.all():
        raise NothingToJudgeError("to judge", seconds)
    return chosen


@dataclass(frozen=True)
class Task:
    """What stays the same through all passes; ``fitted`` (bags * blocks,): whether a block is fitted."""

    store: MotionStore
    model: DynamicsModel
    layout: RowLayout
    nominal: Nominal
    settings: Settings
    blocks: int
    fitted: Mask

    def accumulated(self, guess: Guess, seen: Residuals | None = None) -> Products:
        """One pass."""
        return accumulate(
            self.store, self.model, self.layout, guess, self.settings.payloads, self.blocks, seen
        )


@dataclass(frozen=True)
class Stage:
    """What one pass has taught.

    ``correlated``: samples until residuals forget, and samples worth one. ``used_gain`` (n,): the products';
    ``gains``: by which factor it would be better.
    """

    guess: Guess
    products: Products
    problem: Problem
    validation: Validation
    choice: Choice
    correlated: tuple[int, float]
    used_gain: Array
    gains: Gains


def first_stage(task: Task) -> Stage:
    """Every sample counts alike; load, and gains where they are sought, by the URDF."""
    n = len(task.model.joint_names)
    rest = np.zeros(n)
    inertial, rotors = task.nominal.inertial.ravel(), task.nominal.terms[:, 0]
    guess = Guess(inertial, rotors, None, rest, rest, np.ones(n))
    products = task.accumulated(guess)
    if task.settings.gains:
        guess = guess._replace(gain=gains_by_nominal(task, products))
        products = task.accumulated(guess)
    return stage_of(task, guess, products, None)


def gains_by_nominal(task: Task, products: Products) -> Array:
    """Effort per recorded unit by which the URDF's effort and friction explain the recording.

    The recording is fitted with the URDF's effort, viscous and Coulomb friction and a constant: (n,). A
    joint that does not feel the URDF's bodies takes the middle of the others.
    """
    layout = task.layout
    beside = [layout.base + TERMS.index(Term(name)) for name in ("viscous", "coulomb", "offset")]
    v = np.zeros((layout.width, 4))
    v[: layout.base, 0], v[-2, 0] = layout.map @ task.nominal.inertial.ravel(), 1.0
    v[beside, [1, 2, 3]] = 1.0
    found = []
    for G in products.gram[task.fitted].sum(axis=0):
        H, g = v.T @ G @ v, v.T @ G[:, -1]
        x = np.linalg.lstsq(H, g, rcond=1e-12)[0]
        felt = x[0] ** 2 * H[0, 0] > FELT * G[-1, -1]
        found.append(1.0 / float(x[0]) if felt and x[0] != 0.0 else np.nan)
    gains = np.array(found)
    middle = float(np.nanmedian(gains)) if np.isfinite(gains).any() else 1.0
    return np.where(np.isfinite(gains), gains, middle)


def next_stage(task: Task, before: Stage) -> Stage:
    """Load, weights and noise by the estimate before."""
    seen = Residuals(len(before.guess.sigma))
    return stage_of(task, before.guess, task.accumulated(before.guess, seen), seen)


def stage_of(task: Task, guess: Guess, products: Products, seen: Residuals | None) -> Stage:
    """An estimate with all terms, and the scales of the noise that belong to it."""
    count = np.maximum(products.count[task.fitted].sum(axis=0), 1.0)
    power = products.gram[task.fitted].sum(axis=0)[:, -1, -1]
    floor = NOISE_FLOOR * np.sqrt(power / count).max()
    unmeasured = power <= 0.0  # the joint's effort is always 0
    sigma = np.where(unmeasured, np.inf, np.maximum(np.sqrt(power / count), floor))
    folds = folds_of(products.bag, task.fitted)
    active = np.ones((len(sigma), len(FAMILIES)), bool)
    active[unmeasured] = False
    choice = Choice(0, 0, active)
    for round_ in range(ROUNDS):
        problem = problem_of(products, task.layout, task.nominal, task.settings.constraints, sigma)
        validation = validation_of(problem, folds)
        if round_ == ROUNDS - 1:
            choice = choose_widths(problem, validation, active)
        parts = normal_by_joint(problem, choice, validation.whole)
        solution = constrained_solution(problem, choice, total(parts), START_LAMBDA)
        left = [max(part.power(vector_of(problem, solution)), 0.0) for part in parts]
        scale = np.where(unmeasured, 0.0, sigma)
        sigma = np.where(unmeasured, np.inf, np.maximum(np.sqrt(np.array(left) * scale**2 / count), floor))
    problem = problem_of(products, task.layout, task.nominal, task.settings.constraints, sigma)
    validation = validation_of(problem, folds)
    robust = sigma if seen is None else np.where(unmeasured, np.inf, np.maximum(seen.sigma(), floor))
    terms = dict(zip(FAMILIES, solution.terms.T, strict=True))
    fresh = Guess(
        inertial_of(problem, solution.y).ravel(),
        terms["rotor"],
        coefficients_of(problem, task.layout, choice, solution),
        robust,
        np.maximum(terms["coulomb"] + terms["stribeck"], 0.0),
        guess.gain,
    )
    gains = Gains(np.ones(len(sigma)), np.zeros(len(sigma)))
    if task.settings.gains:
        each = 1.0 if seen is None else seen.samples_each()
        gains = fitted_gains(problem, choice, validation.whole, each)
        fresh = fresh._replace(gain=guess.gain * gains.factor)
    correlated = (1, 1.0) if seen is None else (seen.memory(), seen.samples_each())
    return Stage(fresh, products, problem, validation, choice, correlated, guess.gain, gains)


def coefficients_of(problem: Problem, layout: RowLayout, choice: Choice, solution: Solution) -> Array:
    """The coefficients of a joint's row, (n, base + TERMS); those of widths that were not chosen are 0."""
    coefficients = np.zeros((problem.joints, layout.base + len(TERMS)))
    coefficients[:, : layout.base] = layout.map @ inertial_of(problem, solution.y).ravel()
    places = [layout.base + k - problem.free for k in columns_of(problem, choice)]
    coefficients[:, places] = solution.terms
    return coefficients


# The estimate


def finished(task: Task, stage: Stage, progress: Callable[[str], object]) -> Identified:
    """Choose, estimate within the constraints, and judge."""
    problem, validation = stage.problem, stage.validation
    weight, _ = choose_lambda(problem, stage.choice, validation)
    choice = choose_terms(problem, stage.choice, validation, task.settings.weight or weight)
    weight, compared = choose_lambda(problem, choice, validation)
    weight = task.settings.weight or weight
    normal = total(normal_by_joint(problem, choice, validation.whole))
    solution = constrained_solution(problem, choice, normal, weight)
    solution = Solution(nearest_consistent(problem, solution.y), solution.terms)
    plain = plain_terms(problem, choice, validation.whole, solution)
    progress("judging by data that were not fitted")
    passed = judged(task, stage, choice, solution, plain)
    covariance = covariance_of(task, stage, choice, normal, solution, weight, passed.scores)
    inertial = inertial_of(problem, solution.y)
    basis = block_diag(*(body.basis for body in problem.bodies))
    size = problem.free + problem.joints * len(FAMILIES)
    errors = covariance.errors(np.pad(basis, ((0, 0), (0, size - problem.free))))
    own = covariance.errors(np.eye(size)[problem.free :])
    prior = np.sqrt(covariance.spread * (basis**2).sum(axis=1))
    return Identified(
        problem=problem,
        choice=choice,
        nominal=task.nominal,
        inertial=inertial,
        inertial_error=errors.reshape(-1, 10),
        determined=np.clip(1.0 - (errors / prior) ** 2, 0.0, 1.0).reshape(-1, 10),
        terms=solution.terms,
        terms_error=own.reshape(-1, len(FAMILIES)),
        plain=plain,
        gain=stage.used_gain,
        gain_error=stage.gains.error * np.abs(stage.used_gain),
        sigma=problem.sigma,
        weight=weight,
        weights=tuple(zip(LAMBDAS, (compared / compared.min()).tolist(), strict=True)),
        memory=stage.correlated[0] / row_rate(task.store),
        independent=covariance.independent,
        condition=condition_of(problem, task.layout, stage.products, task.fitted),
        base=base_parameters(task, problem, choice, solution, covariance),
        fitted=passed.fitted,
        held=passed.held,
        curves=passed.curves,
        seconds=passed.seconds,
        stribeck_velocity=STRIBECK_WIDTHS[choice.stribeck] * task.layout.speeds,
        at_bound=bodies_at_bound(problem, solution.y),
        notes=tuple(notes_of(task, stage)),
    )


def row_rate(store: MotionStore) -> float:
    """Rows a second of the first bag [Hz]."""
    track = store.tracks[0]
    return track.rate / max(1, int(track.rate / (PER_CUTOFF * track.cutoff)))


def plain_terms(problem: Problem, choice: Choice, gram: Array, solution: Solution) -> Array:
    """The terms (n, families) where only rotor inertia, viscous and Coulomb friction are allowed.

    The bodies and rotors keep what was found; where a term beyond was chosen, viscous and Coulomb friction
    are fitted again beside a constant, which is then dropped: neither a URDF nor the node has one.
    """
    plain = np.where([family in PLAIN_FAMILIES for family in FAMILIES], solution.terms, 0.0)
    beyond = choice.active & ~np.array([family in (*PLAIN_FAMILIES, "offset") for family in FAMILIES])
    again = [FAMILIES.index(name) for name in ("viscous", "coulomb", "offset")]
    for j in np.flatnonzero(beyond.any(axis=1)):
        part = normal_by_joint(problem, choice, gram)[j]
        place = problem.free + len(FAMILIES) * int(j)
        rotor = FAMILIES.index("rotor")
        terms = np.zeros_like(solution.terms)  # no friction at all, but what moves with the joint
        terms[j, rotor] = solution.terms[j, rotor]
        fixed = vector_of(problem, Solution(solution.y, terms))
        at = [place + f for f in again]
        H, g = part.H[np.ix_(at, at)], part.g[at] - part.H[at] @ fixed
        size = np.sqrt(np.maximum(np.diag(H), 1e-300))
        root = np.linalg.cholesky(H / size / size[:, None] + 1e-9 * np.eye(3))
        found = lsq_linear(root.T, np.linalg.solve(root, g / size), ([0.0, 0.0, -np.inf], np.inf))
        plain[j, again[:2]] = found.x[:2] / size[:2]
    return plain


# The last pass


@dataclass(frozen=True)
class Passed:
    """What the last pass saw: ``scores`` are their sum over lags, ``seconds`` fitted and held out."""

    fitted: Errors
    held: Errors
    curves: Curves
    scores: Array
    seconds: tuple[float, float]


def judged(task: Task, stage: Stage, choice: Choice, solution: Solution, plain: Array) -> Passed:
    """One more pass: the errors of the nominal, identified and plain models, and the scores."""
    judge = _Judge(task, stage, choice, solution, plain)
    guess = stage.guess._replace(
        inertial=inertial_of(stage.problem, solution.y).ravel(),
        rotors=solution.terms[:, 0],
        coefficients=coefficients_of(stage.problem, task.layout, choice, solution),
        gain=stage.used_gain,
    )
    visit(task.store, task.model, task.layout, guess, task.settings.payloads, judge.add)
    return judge.result()


class _Judge:
    """Gathers what ``Passed`` holds, window by window, in memory that does not grow with the bags."""

    def __init__(self, task: Task, stage: Stage, choice: Choice, solution: Solution, plain: Array) -> None:
        problem, layout = stage.problem, task.layout
        self._task, self._problem, self._lags, self._terms = (
            task,
            problem,
            stage.correlated[0],
            solution.terms,
        )
        nominal = Solution(np.zeros(problem.free), task.nominal.terms)
        self._models = [
            coefficients_of(problem, layout, Choice(0, 0, choice.active), nominal),
            coefficients_of(problem, layout, choice, solution),
            coefficients_of(problem, layout, choice, Solution(solution.y, plain)),
        ]
        self._basis = layout.map @ block_diag(*(body.basis for body in problem.bodies))
        self._own = [k - problem.free + layout.base for k in columns_of(problem, choice)]
        self._starts = block_starts(task.store.tracks, task.blocks)
        self._rate = row_rate(task.store)
        self._stride = max(1, int(sum(track.seconds for track in task.store.tracks) * self._rate / POINTS))
        size = problem.free + len(FAMILIES) * problem.joints
        self._powers = np.zeros((2, 1 + len(self._models), problem.joints))  # fitted, held; effort, residuals
        self._counts = np.zeros(2, int)
        self._scores = np.zeros((size, size))
        self._curves: list[Curves] = []

    def add(self, b: int, rows: Rows, weight: Array) -> None:
        """One window of bag ``b``."""
        residuals = [residual(rows, model) for model in self._models]
        block = b * self._task.blocks + np.searchsorted(self._starts[b], rows.time, "right") - 1
        held = ~self._task.fitted[block]
        self._add_powers(rows, residuals, held)
        self._add_scores(rows, np.where(held[:, None], 0.0, weight * residuals[1] / self._problem.sigma**2))
        self._add_curves(b, rows, residuals, held)

    def _add_powers(self, rows: Rows, residuals: list[Array], held: Mask) -> None:
        for part, chosen in enumerate((~held, held)):
            good = chosen[:, None] & (rows.usable > 0)
            for k, values in enumerate((rows.Z[..., -1], *residuals)):
                self._powers[part, k] += (np.where(good, values, 0.0) ** 2).sum(axis=0)
            self._counts[part] += int(chosen.sum())

    def _add_scores(self, rows: Rows, weighted: Array) -> None:
        """``weighted`` (N, n): residuals in units of their variance, 0 where they were not fitted."""
        bodies = np.einsum("tj,tjb->tb", weighted, rows.Z[..., : self._task.layout.base]) @ self._basis
        terms = (weighted[..., None] * rows.Z[..., self._own]).reshape(len(weighted), -1)
        self._scores += bartlett(np.concatenate([bodies, terms], axis=1), self._lags)

    def _add_curves(self, b: int, rows: Rows, residuals: list[Array], held: Mask) -> None:
        some = slice(0, len(rows.time), self._stride)
        measured = rows.Z[some, :, -1]
        friction = np.einsum("tjk,jk->tj", rows.Z[some][..., self._own[1:]], self._terms[:, 1:])
        self._curves.append(
            Curves(
                bag=np.full(len(measured), b),
                time=rows.time[some],
                held=held[some],
                qd=rows.qd[some],
                measured=measured,
                nominal=measured - residuals[0][some],
                identified=measured - residuals[1][some],
                friction=residuals[1][some] + friction,
            )
        )

    def result(self) -> Passed:
        """Everything so far."""
        fitted, held = (
            errors_of(powers, int(count)) for powers, count in zip(self._powers, self._counts, strict=True)
        )
        joined = {
            each.name: np.concatenate([getattr(curves, each.name) for curves in self._curves])
            for each in fields(Curves)
        }
        seconds = float(self._counts[0]) / self._rate, float(self._counts[1]) / self._rate
        return Passed(fitted, held, Curves(**joined), self._scores, seconds)


def errors_of(powers: Array, samples: int) -> Errors:
    """Root mean squares from sums of squares (effort and three residuals, n)."""
    effort, nominal, identified, plain = np.sqrt(powers / max(samples, 1))
    return Errors(effort, nominal, identified, plain, samples)


# Standard errors, base parameters, notes


class Covariance(NamedTuple):
    """Two covariance matrices of all unknowns, each (unknowns, unknowns).

    One by the sums over lags, one as if residuals were alike in all of the motion.

    ``spread``: variance of the URDF's coordinates; ``independent``: how many independent residuals there
    are.
    """

    matrices: tuple[Array, Array]
    spread: float
    independent: float

    def errors(self, combinations: Array) -> Array:
        """Standard errors (k,) of combinations (k, unknowns): the larger of both."""
        variances = [np.einsum("ia,ab,ib->i", combinations, M, combinations) for M in self.matrices]
        return np.asarray(np.sqrt(np.maximum(np.max(variances, axis=0), 0.0)))


def covariance_of(
    task: Task,
    stage: Stage,
    choice: Choice,
    normal: Normal,
    solution: Solution,
    weight: float,
    scores: Array,
) -> Covariance:
    """Covariance by noise, H^-1 S H^-1, and by what the pull of the URDF hides.

    The latter is b b' + lambda^2 s^2 H^-2.

    H = A + lambda 1. S: the sums of the scores over lags [NeweyWest1987], enlarged for the unknowns that were
    fitted; or A times the samples that are worth one, which is less noisy, but blind to residuals that grow
    with the motion. The pull moves the estimate by about b = lambda H^-1 y; what it keeps from moving at all
    is as uncertain as the URDF, s^2: 1/lambda, or what the estimate has moved for each direction that data
    decide, whichever is more.
    """
    problem = stage.problem
    used = unknowns(problem, choice)
    ridge = ridge_of(problem, normal.H, weight)[used]
    A = normal.H[np.ix_(used, used)]
    inverse = np.linalg.inv(A + np.diag(ridge))
    decides = np.diag(inverse @ A)
    independent = float(stage.products.count[task.fitted].sum()) / stage.correlated[1]
    enlarged = independent / max(independent - float(decides.sum()), 0.2 * independent)
    moved = float(decides[: problem.free].sum())
    spread = max(1.0 / weight, float(solution.y @ solution.y) / max(moved, 1.0))
    inertial = used < problem.free
    bias = inverse @ np.where(inertial, weight * vector_of(problem, solution)[used], 0.0)
    pull = np.outer(bias, bias) + inverse @ np.diag(np.where(inertial, weight**2 * spread, 0.0)) @ inverse
    matrices = []
    for middle in (scores[np.ix_(used, used)], A * stage.correlated[1]):
        matrix = np.zeros_like(normal.H)
        matrix[np.ix_(used, used)] = enlarged * inverse @ middle @ inverse + pull
        matrices.append(matrix)
    return Covariance((matrices[0], matrices[1]), spread, independent)


def condition_of(problem: Problem, layout: RowLayout, products: Products, fitted: Mask) -> float:
    """The condition number of the base regressor over the fitted data.

    Rows are in units of each joint's noise, columns of unit length.
    """
    noisy = np.where(np.isfinite(problem.sigma), problem.sigma, np.inf)
    gram = products.gram[fitted].sum(axis=0)[:, : layout.base, : layout.base]
    G = (gram / noisy[:, None, None] ** 2).sum(axis=0)
    size = np.sqrt(np.diag(G))
    if not (size > 0.0).all():
        return float("inf")
    values = np.linalg.eigvalsh(G / size / size[:, None])
    return float(np.sqrt(values[-1] / values[0])) if values[0] > 0.0 else float("inf")


def base_parameters(
    task: Task, problem: Problem, choice: Choice, solution: Solution, covariance: Covariance
) -> tuple[BaseParameter, ...]:
    """The combinations of inertial parameters and rotor inertias that efforts distinguish.

    [Gautier1991].
    """
    model, n = task.model, problem.joints

    def regressor(q: Array, qd: Array, qdd: Array) -> Array:
        Y = model.regressor(q, qd, qdd)
        return np.concatenate([Y, qdd[..., None] * np.eye(n)], axis=-1)

    found = find_base_parameters(regressor, n)
    names = [f"{body} {name}" for body in model.bodies for name in PARAMETERS]
    names += [f"{joint} rotor" for joint in model.joint_names]
    to_x = np.zeros((len(names), problem.free + n * len(FAMILIES)))
    to_x[: 10 * len(problem.bodies), : problem.free] = block_diag(*(body.basis for body in problem.bodies))
    for j in range(n):
        to_x[10 * len(problem.bodies) + j, problem.free + len(FAMILIES) * j] = 1.0
    nominal = np.concatenate([task.nominal.inertial.ravel(), task.nominal.terms[:, 0]])
    value = np.concatenate([inertial_of(problem, solution.y).ravel(), solution.terms[:, 0]])
    error = covariance.errors(found.map @ to_x)
    return tuple(
        BaseParameter(
            names[column],
            tuple((names[k], float(row[k])) for k in np.flatnonzero(row)),
            float(row @ nominal),
            float(row @ value),
            float(error[i]),
        )
        for i, (column, row) in enumerate(zip(found.columns.tolist(), found.map, strict=True))
    )


def notes_of(task: Task, stage: Stage) -> Iterator[str]:
    """What was odd about the recordings, in words."""
    joints = task.model.joint_names
    for track in task.store.tracks:
        if track.derived:
            yield f"{track.bag}: no velocity of {', '.join(track.derived)}: derived from the position"
        if track.noisy:
            yield (
                f"{track.bag}: recorded velocity of {', '.join(track.noisy)} is noisier than the position's "
                "derivative, which was used"
            )
        if track.gaps:
            yield f"{track.bag}: {counted(track.gaps, 'gap')}, across which nothing was filtered"
        for joint, clipped in zip(joints, track.clipped, strict=True):
            if clipped:
                yield f"{track.bag}: effort of {joint} clipped: {clipped / track.rate:.2g} s were set aside"
        yield from track.damages
    still = [joint for joint, speed in zip(joints, task.layout.speeds, strict=True) if speed < STANDS]
    if still:
        yield f"hardly any motion of {', '.join(still)}: what only that motion shows stays as the URDF says"
    unmeasured = [
        joint for joint, sigma in zip(joints, stage.problem.sigma, strict=True) if not np.isfinite(sigma)
    ]
    if unmeasured:
        yield f"the effort of {', '.join(unmeasured)} is always 0: its rows were left out"
    ratio = units_ratio(task, stage)
    if not task.settings.gains and ratio is not None and not 1 / UNIT_RATIO < ratio < UNIT_RATIO:
        yield (
            f"the URDF's efforts are about {ratio:.3g} times the recorded ones: are those in N m, and "
            "positive along the axis? Give --effort-scale, N m a recorded unit"
        )


def units_ratio(task: Task, stage: Stage) -> float | None:
    """The URDF's effort over the recorded one, the median over joints where they run alike.

    None where none do.
    """
    v = np.zeros(task.layout.width)
    v[: task.layout.base] = task.layout.map @ task.nominal.inertial.ravel()
    v[-2] = 1.0
    ratios = []
    for G in stage.products.gram[task.fitted].sum(axis=0):
        predicted, recorded, both = float(v @ G @ v), float(G[-1, -1]), float(v @ G[:, -1])
        if predicted > 0.0 and recorded > 0.0 and abs(both) > ALIKE * np.sqrt(predicted * recorded):
            ratios.append(both / recorded)
    return float(np.median(ratios)) if ratios else None
