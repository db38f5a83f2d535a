"""From bags to an identified robot, step by step: a reader follows one sample from the bag to a number.

1. ``recordings``: read, align and filter.
2. ``regression``: regress. A first pass takes the load from the URDF and counts every sample alike; the scale
   of each joint's noise follows from its residual (generalised least squares, repeated until the scales
   stand). Two more passes take the load from the estimate and weigh samples by their residuals (Huber),
   by stiction at rest, and not at all where the effort was clipped.
3. ``choosing``: widths, terms and the weight of the URDF, by cross-validation over blocks of time, or bags.
4. ``fitting``: the estimate within the cones.
5. ``judging``: a last pass judges it on data that were not fitted, and finds how sure it is.
6. ``verdict``, ``writing``, ``urdf_text``: what to think of it, and the files.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.identification import choosing, fitting, judging, regression
from kane_dynamics_ros.identification.choosing import (
    FAMILIES,
    Choice,
    Constraints,
    Nominal,
    Problem,
    Solution,
)
from kane_dynamics_ros.identification.judging import BaseParameter, Judged, Written
from kane_dynamics_ros.identification.recordings import IdentificationError, MotionStore
from kane_dynamics_ros.identification.regression import Guess, Products, Regression, Residuals
from kane_dynamics_ros.replay.messages import Mask
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.text import counted

BLOCKS = 60  # of time, of each bag
FEWEST_BLOCKS = 12  # of each bag where there are many
ROUNDS = 3  # of reweighting by joint
ROBUST_PASSES, GAIN_PASSES = 2, 3
NOISE_FLOOR = 1e-9  # of the largest joint's effort: a perfect fit has no scale
FELT = 0.1  # of a recording's power that the nominal effort must make up to estimate a gain from it


# What is asked for, and what is found


@dataclass(frozen=True)
class Settings:
    """``holdout``: the last part of each bag that is judged instead of fitted, 0 where other bags are.

    ``validate``: how many of the bags, the last ones, are only judged. ``payloads``: of each bag, the ten
    parameters of a known body at the tip in the last body's frame; ``loaded``: the bags with the body at the
    tip that the nominal bodies end with. ``gains``: estimate the effort per recorded unit. ``weight``: of the
    URDF, chosen where it is None. ``families``: the terms of joints that may be fitted.
    """

    holdout: float
    validate: int
    payloads: tuple[Array, ...]
    loaded: tuple[bool, ...] = ()
    constraints: Constraints = field(default_factory=Constraints)
    gains: bool = False
    weight: float | None = None
    families: tuple[str, ...] = FAMILIES


@dataclass(frozen=True)
class Found:
    """The estimate: ``inertial`` (bodies, 10), ``terms`` (n, families of ``FAMILIES``), what gets written.

    ``gain`` (n,): effort per recorded unit, over what was given. ``weights``: each candidate of the URDF's
    weight, and its cross-validated error over the best one's. ``stribeck_velocity`` (n,) [rad/s] or [m/s].
    ``at_bound``: bodies that only the constraint keeps consistent.
    """

    nominal: Nominal
    choice: Choice
    inertial: Array
    terms: Array
    written: Written
    gain: Array
    sigma: Array
    weight: float
    weights: tuple[tuple[float, float], ...]
    stribeck_velocity: Array
    at_bound: tuple[int, ...]

    @property
    def coulomb_velocity(self) -> float:
        """Width of the smooth sign [rad/s] or [m/s]."""
        return regression.COULOMB_WIDTHS[self.choice.width]


@dataclass(frozen=True)
class Certainty:
    """How sure the estimate is: standard errors, shaped as what they belong to.

    ``determined`` (bodies, 10): the part of the URDF's uncertainty that the motion took away, 0 to 1.
    ``last_body``: covariances (10, 10) of the last body's parameters, of which the larger counts.
    ``memory`` [s]: for how long residuals correlate;
    ``independent``: how many independent ones there are, ``decided``: how many unknowns they decide.
    ``condition``: of the base regressor with columns of unit length, over the fitted data.
    """

    inertial: Array
    determined: Array
    terms: Array
    gain: Array
    last_body: tuple[Array, Array]
    base: tuple[BaseParameter, ...]
    memory: float
    independent: float
    decided: float
    condition: float


@dataclass(frozen=True)
class Identified:
    """Everything that was found, how sure it is, and how it does on data that were not fitted."""

    found: Found
    certainty: Certainty
    judged: Judged
    extent: "Extent"
    notes: tuple[str, ...]


# The steps


@regression.one_thread_each()
def identify(
    store: MotionStore,
    model: DynamicsModel,
    nominal: Nominal,
    settings: Settings,
    progress: Callable[[str], object] = lambda text: None,
) -> Identified:
    """Identify a robot. Raises ``IdentificationError``."""
    blocks = max(FEWEST_BLOCKS, BLOCKS // len(store.tracks))
    extent = extent_of(store)
    layout = regression.layout_of(model, extent.speeds, any(settings.loaded))
    loaded = settings.loaded or (False,) * len(store.tracks)
    task = Task(
        Regression(store, model, layout, settings.payloads, loaded, blocks),
        nominal,
        settings,
        fitted_blocks(store, blocks, settings),
        extent,
    )
    progress("first estimate")
    stage = first_stage(task)
    passes = ROBUST_PASSES + GAIN_PASSES * settings.gains
    for number in range(passes):
        progress(f"robust estimate {number + 1} of {passes}")
        stage = next_stage(task, stage)
    progress("choosing terms and the weight of the URDF")
    return finished(task, stage, progress)


@dataclass(frozen=True)
class Extent:
    """How far the joints moved, each (n,): ``lower`` and ``upper`` positions, and the usual largest speed.

    That is the speed which each joint exceeds in 5 % of the time.
    """

    lower: Array
    upper: Array
    speeds: Array


def extent_of(store: MotionStore) -> Extent:
    """How far the joints moved in all bags."""
    pieces = [
        (piece.q.min(axis=0), piece.q.max(axis=0), np.quantile(np.abs(piece.qd[inside]), 0.95, axis=0))
        for track in store.tracks
        for piece in store.pieces(track, 65_536)
        for inside in [slice(piece.edge, -piece.edge)]
    ]
    lower, upper, speeds = (np.array(each) for each in zip(*pieces, strict=True))
    return Extent(lower.min(axis=0), upper.max(axis=0), speeds.max(axis=0))


def fitted_blocks(store: MotionStore, blocks: int, settings: Settings) -> Mask:
    """Which blocks are fitted: (bags * blocks,) bool. Raises ``IdentificationError``."""
    bags = len(store.tracks)
    part = np.arange(blocks) < round(blocks * (1.0 - settings.holdout))
    judged = np.repeat(np.arange(bags) >= bags - settings.validate, blocks)
    chosen = np.tile(part, bags) & ~judged
    seconds = sum(track.seconds for track in store.tracks)
    if chosen.all() or not chosen.any():
        left = "to judge" if chosen.all() else "to fit"
        raise IdentificationError(
            f"{seconds:.3g} s of motion leave nothing {left}; record longer, or give other bags to "
            "--validate",
            "nothing_left",
            part=left,
            seconds=seconds,
        )
    return np.asarray(chosen)


@dataclass(frozen=True)
class Task:
    """What stays the same through all passes; ``fitted`` (bags * blocks,): whether a block is fitted."""

    regression: Regression
    nominal: Nominal
    settings: Settings
    fitted: Mask
    extent: Extent

    def problem(self, products: Products, sigma: Array) -> Problem:
        """The products in the coordinates of the estimate, in units of the noise."""
        layout, constraints = self.regression.layout, self.settings.constraints
        return choosing.problem_of(products, layout, self.nominal, constraints, sigma)


@dataclass(frozen=True)
class Stage:
    """What one pass has taught.

    ``correlated``: samples until residuals forget, and samples worth one. ``used_gain`` (n,): the products';
    ``gains``: by which factor it would be better.
    """

    guess: Guess
    products: Products
    problem: Problem
    validation: choosing.Validation
    choice: Choice
    correlated: tuple[int, float]
    used_gain: Array
    gains: fitting.Gains


def first_stage(task: Task) -> Stage:
    """Every sample counts alike; load, and gains where they are sought, by the URDF."""
    n = len(task.regression.model.joint_names)
    rest = np.zeros(n)
    guess = Guess(task.nominal.inertial.ravel(), task.nominal.terms[:, 0], None, rest, rest, gain=np.ones(n))
    products = task.regression.accumulated(guess)
    if task.settings.gains:
        guess = guess._replace(gain=gains_by_nominal(task, products))
        products = task.regression.accumulated(guess)
    return stage_of(task, guess, products, None)


def gains_by_nominal(task: Task, products: Products) -> Array:
    """Effort per recorded unit by which the URDF's effort and friction explain the recording.

    The recording is fitted with the URDF's effort, viscous and Coulomb friction and a constant: (n,). A
    joint that does not feel the URDF's bodies takes the middle of the others.
    """
    layout = task.regression.layout
    terms = ("viscous", "coulomb", "offset")
    beside = [layout.base + regression.TERMS.index(regression.Term(name)) for name in terms]
    v = np.zeros((layout.width, 4))
    v[: layout.base, 0], v[-2, 0] = layout.map @ task.nominal.inertial.ravel(), 1.0
    v[beside, [1, 2, 3]] = 1.0
    found = []
    for G in products.gram[task.fitted].sum(axis=0):
        H, g = v.T @ G @ v, v.T @ G[:, -1]
        x = np.linalg.lstsq(H, g, rcond=1e-12)[0]
        felt = x[0] ** 2 * H[0, 0] > FELT * G[-1, -1]
        found.append(1.0 / float(x[0]) if felt and x[0] > 0.0 else np.nan)
    gains = np.array(found)
    middle = float(np.nanmedian(gains)) if np.isfinite(gains).any() else 1.0
    return np.where(np.isfinite(gains), gains, middle)


def next_stage(task: Task, before: Stage) -> Stage:
    """Load, weights and noise by the estimate before."""
    seen = Residuals(len(before.guess.sigma))
    return stage_of(task, before.guess, task.regression.accumulated(before.guess, seen), seen)


def stage_of(task: Task, guess: Guess, products: Products, seen: Residuals | None) -> Stage:
    """An estimate with all terms, and the scales of the noise that belong to it."""
    gram = products.gram[task.fitted].sum(axis=0)
    count = np.maximum(products.count[task.fitted].sum(axis=0), 1.0)
    power = gram[:, -1, -1]
    floor = NOISE_FLOOR * np.sqrt(power / count).max()
    unmeasured = power <= 0.0  # the joint's effort is always 0
    sigma = np.where(unmeasured, np.inf, np.maximum(np.sqrt(power / count), floor))
    folds = choosing.folds_of(products.bag, task.fitted)
    active = np.tile([family in task.settings.families for family in FAMILIES], (len(sigma), 1))
    active[unmeasured] = False
    choice = Choice(0, 0, active, task.nominal.terms)
    for round_ in range(ROUNDS):
        problem = task.problem(products, sigma)
        validation = choosing.validation_of(problem, folds)
        if round_ == ROUNDS - 1:
            choice = choosing.choose_widths(problem, validation, choice)
        parts = choosing.normal_by_joint(problem, choice, validation.whole)
        solution = fitting.constrained_solution(problem, choice, choosing.total(parts), choosing.START_LAMBDA)
        left = [max(part.power(solution.x), 0.0) for part in parts]
        scale = np.where(unmeasured, 0.0, sigma)
        sigma = np.where(unmeasured, np.inf, np.maximum(np.sqrt(np.array(left) * scale**2 / count), floor))
    problem = task.problem(products, sigma)
    validation = choosing.validation_of(problem, folds)
    robust = sigma if seen is None else np.where(unmeasured, np.inf, np.maximum(seen.sigma(), floor))
    terms = dict(zip(FAMILIES, solution.terms.T, strict=True))
    fresh = Guess(
        problem.inertial(solution.y).ravel(),
        terms["rotor"],
        choosing.coefficients_of(problem, task.regression.layout, choice, solution),
        robust,
        np.maximum(terms["coulomb"] + terms["stribeck"], 0.0),
        guess.gain,
    )
    gains = fitting.Gains(np.ones(len(sigma)), np.zeros(len(sigma)))
    correlated = (1, 1.0) if seen is None else (seen.memory(), seen.samples_each())
    if task.settings.gains:
        gains = fitting.fitted_gains(problem, choice, validation.whole, correlated[1])
        fresh = fresh._replace(gain=guess.gain * gains.factor)
    return Stage(fresh, products, problem, validation, choice, correlated, guess.gain, gains)


def finished(task: Task, stage: Stage, progress: Callable[[str], object]) -> Identified:
    """Choose, estimate within the constraints, and judge."""
    problem, validation, layout = stage.problem, stage.validation, task.regression.layout
    weight = task.settings.weight or choosing.choose_lambda(problem, stage.choice, validation)[0]
    choice = choosing.choose_terms(problem, stage.choice, validation, weight)
    weight, compared = choosing.choose_lambda(problem, choice, validation)
    weight = task.settings.weight or weight
    normal = choosing.total(choosing.normal_by_joint(problem, choice, validation.whole))
    solution = fitting.constrained_solution(problem, choice, normal, weight)
    solution = fitting.nearest_consistent(problem, solution)
    plain = fitting.plain_terms(problem, choice, validation.whole, solution)
    progress("judging by data that were not fitted")
    guess = stage.guess._replace(
        inertial=problem.inertial(solution.y).ravel(),
        rotors=solution.terms[:, 0],
        coefficients=choosing.coefficients_of(problem, layout, choice, solution),
        gain=stage.used_gain,
    )
    candidates = (solution.terms, plain, task.nominal.terms)
    judged = judging.judged(
        task.regression, task.fitted, problem, choice, guess, candidates, stage.correlated[0]
    )
    found = Found(
        nominal=task.nominal,
        choice=choice,
        inertial=problem.inertial(solution.y),
        terms=solution.terms,
        written=judging.written_terms(judged.held, *candidates),
        gain=stage.used_gain,
        sigma=problem.sigma,
        weight=weight,
        weights=tuple(zip(choosing.LAMBDAS, (compared / compared.min()).tolist(), strict=True)),
        stribeck_velocity=regression.STRIBECK_WIDTHS[choice.stribeck] * layout.speeds,
        at_bound=fitting.bodies_at_bound(problem, solution.y),
    )
    certainty = certainty_of(task, stage, found, normal, solution, judged.scores)
    return Identified(found, certainty, judged, task.extent, tuple(notes_of(task, stage)))


def certainty_of(
    task: Task, stage: Stage, found: Found, normal: choosing.Normal, solution: Solution, scores: Array
) -> Certainty:
    """Standard errors of everything, and what they rest on."""
    problem = stage.problem
    samples = float(stage.products.count[task.fitted].sum())
    covariance = judging.covariance_of(
        problem, found.choice, normal, solution, found.weight, scores, samples, stage.correlated[1]
    )
    by_x = np.pad(problem.basis, ((0, 0), (0, problem.size - problem.free)))
    errors = covariance.errors(by_x)
    prior = np.sqrt(covariance.spread * (problem.basis**2).sum(axis=1))
    first, second = (by_x[-10:] @ M @ by_x[-10:].T for M in covariance.matrices)
    with np.errstate(divide="ignore", invalid="ignore"):
        determined = np.where(prior > 0.0, np.clip(1.0 - (errors / prior) ** 2, 0.0, 1.0), 0.0)
    return Certainty(
        inertial=errors.reshape(-1, 10),
        determined=determined.reshape(-1, 10),
        terms=covariance.errors(np.eye(problem.size)[problem.free :]).reshape(-1, len(FAMILIES)),
        gain=stage.gains.error * np.abs(stage.used_gain),
        last_body=(first, second),
        base=judging.base_parameters(task.regression, problem, solution, covariance),
        memory=stage.correlated[0] / task.regression.row_rate,
        independent=covariance.independent,
        decided=covariance.decided,
        condition=judging.condition_of(
            problem, len(task.regression.layout.columns), stage.products, task.fitted
        ),
    )


def notes_of(task: Task, stage: Stage) -> Iterator[str]:
    """What was odd about the recordings, in words."""
    joints = task.regression.model.joint_names
    for track in task.regression.store.tracks:
        if track.derived:
            yield f"{track.bag}: no velocity of {', '.join(track.derived)}: derived from the position"
        if track.noisy:
            yield (
                f"{track.bag}: the recorded velocity of {', '.join(track.noisy)} is noisier than the "
                "position's derivative, which was used"
            )
        if track.gaps:
            yield f"{track.bag}: {counted(track.gaps, 'gap')}, across which nothing was filtered"
        for joint, clipped in zip(joints, track.clipped, strict=True):
            if clipped:
                yield f"{track.bag}: effort of {joint} clipped: {clipped / track.rate:.2g} s were set aside"
        yield from track.damages
    speeds = task.extent.speeds
    still = [joint for joint, speed in zip(joints, speeds, strict=True) if speed < regression.STANDS]
    if still:
        yield f"{', '.join(still)} hardly moved: what only that motion shows stays as the URDF says"
    sigma = stage.problem.sigma
    unmeasured = [joint for joint, each in zip(joints, sigma, strict=True) if not np.isfinite(each)]
    if unmeasured:
        yield f"the effort of {', '.join(unmeasured)} is always 0: its rows were left out"
