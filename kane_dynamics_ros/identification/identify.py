"""From bags to an identified robot, step by step: a reader follows one sample from the bag to a number.

1. ``recordings``: read, align and filter.
2. ``regression``: regress. A first pass takes the load from the URDF and counts every sample alike; the scale
   of each joint's noise follows from its residual (generalised least squares, repeated until the scales
   stand). Two more passes take the load from the estimate and weigh samples by their residuals (Huber),
   by stiction at rest, and not at all where the effort was clipped.
   Where residuals ask for coupled drives, ``coupling`` looks for them, and the passes are made again.
3. ``choosing``: widths, terms, what friction leaves at rest, and the weight of the URDF, by cross-validation
   over blocks of time, or bags.
4. ``fitting``: the estimate within the cones.
5. ``judging``: a last pass judges it on data that were not fitted, and finds how sure it is. ``misplaced``.
6. ``verdict``, ``writing``, ``urdf_text``: what to think of it, and the files.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.identification import choosing, coupling, fitting, judging
from kane_dynamics_ros.identification.fitting import Choice, Constraints, Nominal, Problem, Stage
from kane_dynamics_ros.identification.misplaced import Misplaced, misplaced
from kane_dynamics_ros.identification.recordings import IdentificationError, MotionStore
from kane_dynamics_ros.identification.regression import (
    COULOMB_WIDTHS,
    FAMILIES,
    STRIBECK_WIDTHS,
    Extent,
    Guess,
    Memory,
    Products,
    Regression,
    Residuals,
)
from kane_dynamics_ros.replay.coupled import STANDS
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.text import counted

BLOCKS = 60  # of time, of each bag
FEWEST_BLOCKS = 12  # of each bag where there are many
ROUNDS = 3  # of reweighting by joint
ROBUST_PASSES, GAIN_PASSES = 2, 3
USED = 0.8  # of a recording's time; where less could be used, it is said
NOISE_FLOOR = 1e-9  # of the largest joint's effort: a perfect fit has no scale


@dataclass(frozen=True)
class Settings:
    """``holdout``: the last part of each bag that is judged instead of fitted, 0 where other bags are.

    ``validate``: how many of the bags, the last ones, are only judged. ``payloads``: of each bag, the ten
    parameters of a known body at the tip in the last body's frame; ``loaded``: the bags with the body at the
    tip that the nominal bodies end with. ``gains``: estimate the effort per recorded unit. ``weight``: of the
    URDF, chosen where it is None. ``families``: the terms of joints that may be fitted. ``coupling``: C of
    the drives (n, n) where it is known, else it is ``sought``.
    """

    holdout: float
    validate: int
    payloads: tuple[Array, ...]
    loaded: tuple[bool, ...] = ()
    constraints: Constraints = field(default_factory=Constraints)
    gains: bool = False
    weight: float | None = None
    families: tuple[str, ...] = FAMILIES
    coupling: Array | None = None
    sought: bool = False


@dataclass(frozen=True)
class Found:
    """The estimate: ``inertial`` (bodies, 10), ``terms`` (n, families of ``FAMILIES``), what gets written.

    ``gain`` (n,): effort per recorded unit, over what was given. ``weights``: each candidate of the URDF's
    weight, and its cross-validated error over the best one's. ``coulomb_velocity``: width of the smooth sign,
    ``stribeck_velocity`` (n,) [rad/s] or [m/s]. ``at_bound``: bodies that only the constraint keeps
    consistent. ``at_rest`` (n,): as in ``Problem``. ``coupling``: C (n, n) of the drives, whose terms and
    noise these are, or None.
    """

    nominal: Nominal
    choice: Choice
    inertial: Array
    terms: Array
    written: judging.Written
    gain: Array
    sigma: Array
    weight: float
    weights: tuple[tuple[float, float], ...]
    coulomb_velocity: float
    stribeck_velocity: Array
    at_bound: tuple[int, ...]
    at_rest: Array
    coupling: Array | None = None


@dataclass(frozen=True)
class Identified:
    """Everything that was found, how sure it is, and how it does on data that were not fitted."""

    found: Found
    certainty: judging.Certainty
    judged: judging.Judged
    extent: Extent
    misplaced: Misplaced | None
    notes: tuple[str, ...]


def identify(
    store: MotionStore,
    model: DynamicsModel,
    nominal: Nominal,
    settings: Settings,
    progress: Callable[[str], object] = lambda text: None,
) -> Identified:
    """Identify a robot. Raises ``IdentificationError``."""
    bags = len(store.tracks)
    blocks = max(FEWEST_BLOCKS, BLOCKS // bags)
    fitted = fitted_blocks(store, blocks, settings)
    loaded = settings.loaded or (False,) * bags
    regression = Regression(store, model, settings.payloads, loaded, blocks, settings.coupling)
    if (regression.extent.speeds < STANDS).all():
        raise IdentificationError(
            f"no joint moved: all are slower than {STANDS:g} rad/s or m/s; record a motion of excite", "still"
        )
    stage, products, seen = estimated(regression, nominal, settings, fitted, progress)
    if settings.sought:
        C = coupling.found_coupling(regression, stage, seen.sample, fitted, progress)
        if C is not None:
            regression = regression.coupled(C)
            stage, products, _ = estimated(regression, nominal, settings, fitted, progress)
    progress("choosing terms and the weight of the URDF")
    gram = fitting.coordinates_gram(products.gram, regression, nominal)
    problem, choice = stage.problem, stage.choice
    problem = replace(
        problem,
        gram=gram / problem.sigma[:, None, None] ** 2,
        folds=choosing.folds_of(products.bag, fitted),
    )
    weight = settings.weight or choosing.choose_lambda(problem, choice)[0]
    resting = choosing.choose_at_rest(problem, choice, weight)
    progress("judging by data that were not fitted")
    estimate = estimated_with(*resting, regression, settings, fitted, stage)
    if estimate.problem.at_rest.any() and not estimate.judged.fitted.rest_helps:
        # cross-validation hardly counts samples at rest: efforts that lag look like friction that stays
        chosen = choosing.choose_terms(problem, choice, weight)
        estimate = estimated_with(problem, chosen, regression, settings, fitted, stage)
    problem, choice, weight, compared, x, terms, guess, result = estimate
    if regression.coupling is not None:  # of which the URDF knows nothing
        plain = judging.judged(regression.coupled(None), fitted, problem, guess, terms, stage.memory.lags)
        result = result.with_nominal(plain)
    found = Found(
        nominal=nominal,
        choice=choice,
        inertial=problem.inertial(x),
        terms=terms[0],
        written=judging.written_terms(result.held, terms, problem.at_rest, regression.coupling),
        gain=stage.used_gain,
        sigma=problem.sigma,
        weight=weight,
        weights=tuple(zip(choosing.LAMBDAS, (compared / compared.min()).tolist(), strict=True)),
        coulomb_velocity=COULOMB_WIDTHS[problem.widths[0]],
        stribeck_velocity=STRIBECK_WIDTHS[problem.widths[1]] * regression.speeds,
        at_bound=fitting.bodies_at_bound(problem, x),
        coupling=regression.coupling,
        at_rest=problem.at_rest,
    )
    certainty = judging.certainty_of(regression, problem, choice, x, weight, result.scores, stage)
    elsewhere = misplaced(regression, fitted, problem, choice, weight, guess)
    notes = tuple(notes_of(regression, problem.sigma, found.written.at_rest, result.creep))
    return Identified(found, certainty, result, regression.extent, elsewhere, notes)


class Estimate(NamedTuple):
    """The estimate ``x`` with chosen terms, and how it does; ``compared``: the errors of all weights."""

    problem: Problem
    choice: Choice
    weight: float
    compared: Array
    x: Array
    terms: tuple[Array, Array, Array]
    guess: Guess
    judged: judging.Judged


def estimated_with(
    problem: Problem, choice: Choice, regression: Regression, settings: Settings, fitted: Mask, stage: Stage
) -> Estimate:
    """Choose the URDF's weight for these terms, estimate, and judge by data that were not fitted."""
    best, compared = choosing.choose_lambda(problem, choice)
    weight = settings.weight or best
    E = problem.equations(problem.whole)
    x = fitting.nearest_consistent(problem, fitting.constrained_solution(problem, choice, E, weight))
    guess = stage.guess._replace(
        inertial=problem.inertial(x).ravel(),
        rotors=problem.terms(x)[:, 0],
        coefficients=problem.coefficients(regression, x),
        gain=stage.used_gain,
    )
    terms = (problem.terms(x), fitting.plain_terms(problem, choice, x), problem.nominal.terms)
    result = judging.judged(regression, fitted, problem, guess, terms, stage.memory.lags)
    return Estimate(problem, choice, weight, compared, x, terms, guess, result)


def estimated(
    regression: Regression,
    nominal: Nominal,
    settings: Settings,
    fitted: Mask,
    progress: Callable[[str], object],
) -> tuple[Stage, Products, Residuals]:
    """The estimate with all terms after all passes, the last one's products, and what it saw."""
    progress("first estimate")
    n = regression.joints
    rest = np.zeros(n)
    guess = Guess(nominal.inertial.ravel(), nominal.terms[:, 0], None, rest, rest, gain=np.ones(n))
    products = regression.accumulated(guess)
    if settings.gains:
        gram = products.gram[fitted].sum(axis=0)
        guess = guess._replace(gain=fitting.nominal_gains(gram, regression, nominal))
        products = regression.accumulated(guess)
    stage = stage_of(regression, nominal, settings, fitted, guess, products, None)
    passes = ROBUST_PASSES + GAIN_PASSES * settings.gains
    seconds = sum(track.seconds for track in regression.store.tracks)
    every = max(1, int(seconds * regression.row_rate / coupling.SAMPLE))
    for number in range(passes):
        progress(f"robust estimate {number + 1} of {passes}")
        seen = Residuals(n, every)
        products = regression.accumulated(stage.guess, seen)
        stage = stage_of(regression, nominal, settings, fitted, stage.guess, products, seen)
    if settings.gains:
        blocks = np.flatnonzero(fitted)  # a bag's follow one another: either half has parts of all bags
        halves = np.stack([products.gram[blocks[k::2]].sum(axis=0) for k in (0, 1)])
        halves = fitting.coordinates_gram(halves, regression, nominal)
        stage = replace(stage, gains=fitting.honest_gains(stage, halves))
    return stage, products, seen


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


def stage_of(
    regression: Regression,
    nominal: Nominal,
    settings: Settings,
    fitted: Mask,
    guess: Guess,
    products: Products,
    seen: Residuals | None,
) -> Stage:
    """An estimate with all terms, and the scales of the noise that belong to it."""
    samples = products.count[fitted].sum(axis=0)
    count = np.maximum(samples, 1.0)
    total = products.gram[fitted].sum(axis=0)
    power = total[:, -1, -1]
    floor = NOISE_FLOOR * np.sqrt(power / count).max()
    unmeasured = samples <= 0.0  # the joint's effort never changes, or is always clipped

    def scales(values: Array) -> Array:
        return np.where(unmeasured, np.inf, np.maximum(values, floor))

    active = np.tile([family in settings.families for family in FAMILIES], (len(power), 1))
    active[unmeasured] = False
    choice = Choice(active, nominal.terms)
    folds = choosing.folds_of(products.bag, fitted)
    by_fold = np.stack([products.gram[list(fold)].sum(axis=0) for fold in folds])
    gram = fitting.coordinates_gram(by_fold, regression, nominal)
    sigma = scales(np.sqrt(power / count))
    problem = Problem(
        nominal,
        settings.constraints,
        nominal.bodies(),
        gram / sigma[:, None, None] ** 2,
        sigma,
        tuple((k,) for k in range(len(folds))),
        np.zeros(len(sigma)),
    )
    for number in range(ROUNDS):
        if number == ROUNDS - 1:
            problem = choosing.choose_widths(problem, choice)
        E = problem.equations(problem.whole)
        x = fitting.constrained_solution(problem, choice, E, choosing.START_LAMBDA)
        left = np.maximum(problem.errors(problem.whole, x), 0.0) / count
        sigma = scales(np.sqrt(left) * np.where(unmeasured, 0.0, problem.sigma))
        problem = replace(problem, gram=gram / sigma[:, None, None] ** 2, sigma=sigma)
    terms = dict(zip(FAMILIES, problem.terms(x).T, strict=True))
    fresh = Guess(
        problem.inertial(x).ravel(),
        terms["rotor"],
        problem.coefficients(regression, x),
        sigma if seen is None else scales(seen.sigma()),
        np.maximum(terms["coulomb"] + terms["stribeck"], 0.0),
        guess.gain,
    )
    memory = Memory() if seen is None else seen.memory()
    gains = fitting.Gains(np.ones(len(sigma)), np.zeros(len(sigma)))
    if settings.gains:
        gains = fitting.fitted_gains(problem, choice, memory.each)
        fresh = fresh._replace(gain=guess.gain * gains.factor)
    own = slice(regression.own)
    base = (total[:, own, own] / sigma[:, None, None] ** 2).sum(axis=0)
    return Stage(
        fresh, problem, choice, float(samples.sum()), judging.condition_of(base), memory, guess.gain, gains
    )


def notes_of(regression: Regression, sigma: Array, at_rest: Array, creep: Array) -> Iterator[str]:
    """What was odd about the recordings, in words."""
    joints = regression.model.joint_names
    for track in regression.store.tracks:
        if track.derived:
            yield f"{track.bag}: no velocity of {', '.join(track.derived)}: derived from the position"
        if track.noisy:
            yield (
                f"{track.bag}: the recorded velocity of {', '.join(track.noisy)} is noisier than the "
                "position's derivative, or contradicts it; the derivative was used"
            )
        if track.used < USED * track.recorded:
            yield (
                f"{track.bag}: {track.used:.3g} of its {track.recorded:.3g} s could be used: at the other "
                "times the position or the effort of a joint is missing, or the messages are"
            )
        if track.gaps:
            yield f"{track.bag}: {counted(track.gaps, 'gap')}, across which nothing was filtered"
        for joint, clipped in zip(joints, track.clipped, strict=True):
            if clipped:
                yield f"{track.bag}: effort of {joint} clipped: {clipped / track.rate:.2g} s were set aside"
        yield from track.damages
    still = [joints[j] for j in np.flatnonzero(regression.extent.speeds < STANDS)]
    if still:
        yield f"{', '.join(still)} hardly moved: what only that motion shows stays as the URDF says"
    unmeasured = [joints[j] for j in np.flatnonzero(~np.isfinite(sigma))]
    if unmeasured:
        yield f"the effort of {', '.join(unmeasured)} never changes: its rows were left out"
    if at_rest.any():
        some = ", ".join(f"{joints[j]} ({100 * at_rest[j]:.0f} %)" for j in np.flatnonzero(at_rest))
        yield (
            f"{some}: so much of dry friction stays at rest, in the direction of the last motion "
            "(friction.at_rest in parameters.yaml)"
        )
    if creep.any():
        some = ", ".join(f"{joints[j]} ({creep[j]:.2g})" for j in np.flatnonzero(creep))
        yield (
            f"{some}: so much friction [N m] or [N] stays at rest in the direction in which a joint crept "
            f"last, by {1e3 * judging.CREEP:g} mrad or mm; no reference tells it: parameters.yaml has none"
        )
