"""Judge: the estimate on data that were not fitted, and how sure it is.

One more pass over the motion gathers the errors of several models, and what standard errors need: residuals
follow each other in time, so that neighbouring samples are not independent. The middle of the sandwich is
therefore Newey and West's sum over lags [NeweyWest1987].
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.friction import last_direction
from kane_dynamics_ros.identification.choosing import spread
from kane_dynamics_ros.identification.fitting import PLAIN, ROTOR, Choice, Problem, Stage, reduced
from kane_dynamics_ros.identification.regression import COULOMB_WIDTHS, FAMILIES, Guess, Regression, row_step
from kane_dynamics_ros.replay.correlation import bartlett
from kane_dynamics_ros.replay.motion import low_pass
from kane_dynamics_ros.runtime.parameters import find_base_parameters

PARAMETERS = ("m", "hx", "hy", "hz", "Jxx", "Jxy", "Jxz", "Jyy", "Jyz", "Jzz")
POINTS = 3000  # kept for figures
BODILY = 0.3  # of the effort: what bodies change counts in comparison with that, at least
ALIKE = 0.01  # of a residual: the richer of two models that differ by less is taken
CREEP, TINY = 1e-4, 1e-12  # [rad] or [m] by which a joint must turn back at rest; what is rounding


class Errors(NamedTuple):
    """Root mean squares (n,) [N m] or [N] of one part of the data: of the measured effort and of residuals.

    ``nominal``: by the URDF; ``identified``: with every chosen term, and friction after creeping;
    ``momentary``: without what friction leaves at rest of the motion before; ``plain``: with the terms that a
    URDF carries; ``kept``: the identified bodies with the URDF's own friction and rotors.
    """

    samples: int
    effort: Array
    nominal: Array
    identified: Array
    momentary: Array
    plain: Array
    kept: Array

    @property
    def rest_helps(self) -> bool:
        """Whether what friction leaves at rest makes joints better on the whole, every sample counting."""
        return bool(np.mean(((self.identified + 1e-300) / (self.momentary + 1e-300)) ** 2) < 1.0)

    def relative(self, residual: Array) -> float:
        """RMS of a residual over all joints, over the RMS of the effort."""
        power = float((self.effort**2).sum())
        return float(np.sqrt((residual**2).sum() / power)) if power else 0.0


class Standing(NamedTuple):
    """Of data that were not fitted, where each joint stands and where it moves: (2, n) each.

    ``share`` of the time; root mean squares of the ``effort`` and of the ``residual`` with every chosen term.
    """

    share: Array
    effort: Array
    residual: Array

    @property
    def moving(self) -> float:
        """RMS of the residual over all joints while they move, over the RMS of their effort then."""
        power, left = (float((self.share[1] * each[1] ** 2).sum()) for each in (self.effort, self.residual))
        return float(np.sqrt(left / power)) if power else 0.0

    @property
    def at_rest(self) -> Array:
        """The part of each joint's residual, in power, that is left while it stands: (n,)."""
        powers = self.share * self.residual**2
        return np.asarray(powers[0] / np.maximum(powers.sum(axis=0), 1e-300))


class Curves(NamedTuple):
    """Samples for figures: ``time`` (N,), ``bag`` (N,), ``held`` (N,) bool, the rest (N, n).

    ``friction``: measured effort minus everything rigid, of drives where they are coupled.
    """

    bag: Array
    time: Array
    held: Mask
    q: Array
    qd: Array
    measured: Array
    nominal: Array
    identified: Array
    friction: Array


@dataclass(frozen=True)
class Judged:
    """What the last pass saw: ``scores`` are their sum over lags, ``seconds`` fitted and held out.

    ``bands``: cut-off frequencies [Hz] beside the one of the fit, and the relative residual below each, of
    the last part of the data that were not fitted. ``changed``: the change of the rigid bodies' effort
    from the URDF to what was identified, over the larger of both, root mean squares over all joints and data;
    or over a part of the effort, where bodies make up less.
    ``lag`` [s]: by which efforts that come later than the motion says leave least, to first order, and the
    part of the residuals' power, in units of each joint's noise, that it takes away; ``lag_shares`` (n,): of
    each joint's, 0 where drives are coupled. ``nominal_lag``: that of the nominal model, and the power that
    it then leaves, over what the identified one leaves now. ``creep`` (n,): as ``after_creeping``.
    """

    fitted: Errors
    held: Errors
    standing: Standing
    curves: Curves
    scores: Array
    seconds: tuple[float, float]
    bands: tuple[tuple[float, float], ...]
    changed: float
    lag: tuple[float, float]
    lag_shares: Array
    nominal_lag: tuple[float, float]
    creep: Array

    def with_nominal(self, other: "Judged") -> "Judged":
        """The same with what the nominal model leaves as another judges it."""
        return replace(
            self,
            fitted=self.fitted._replace(nominal=other.fitted.nominal),
            held=self.held._replace(nominal=other.held.nominal),
            curves=self.curves._replace(nominal=other.curves.nominal),
            nominal_lag=other.nominal_lag,
        )


class Written(NamedTuple):
    """The terms (n, families) that go into files: ``urdf`` the URDF's, ``node`` its parameters'.

    ``at_rest`` (n,): the part of the latter that stays at rest. ``urdf_errors`` and ``node_errors`` (n,):
    root mean squares of the residuals with each, on data that were not fitted.
    """

    urdf: Array
    node: Array
    at_rest: Array
    urdf_errors: Array
    node_errors: Array


def written_terms(
    held: Errors, terms: Sequence[Array], at_rest: Array, coupling: Array | None = None
) -> Written:
    """Of each joint the richest terms that are no worse than poorer ones on data that were not fitted.

    ``terms``: as those of ``judged``. Joints whose drives are coupled by C (n, n) share their friction, and
    are chosen for together.
    """
    richest = held.identified if at_rest.any() else held.momentary  # a node does not feel what creeps
    errors = np.stack([richest, held.momentary, held.plain, held.kept])
    choices, joints = np.stack([terms[0], *terms]), np.arange(len(at_rest))
    together = np.eye(len(at_rest)) if coupling is None else (coupling != 0.0) | (coupling.T != 0.0)
    together = np.linalg.matrix_power(together.astype(float), len(at_rest)) > 0.0
    shares = (errors / np.maximum(errors.min(axis=0), 1e-300)) ** 2
    costs = np.sqrt(shares @ together / together.sum(axis=0))

    def chosen(first: int) -> Array:
        good = costs[first:] <= (1.0 + ALIKE) * costs[first:].min(axis=0)
        return np.asarray(first + np.argmax(good, axis=0))

    urdf, node = chosen(2), chosen(0)
    return Written(
        choices[urdf, joints],
        choices[node, joints],
        np.where(node == 0, at_rest, 0.0),
        errors[urdf, joints],
        errors[node, joints],
    )


# Friction after creeping


def last_crept(q: Array, before: Array) -> Array:
    """The direction, 1 or -1, in which each joint (N, n) last moved by ``CREEP`` or more, at any speed.

    ``before`` (n,): that before the first of them, 0 where it is not known.
    """
    return last_direction(np.diff(play(q, CREEP), axis=0, prepend=q[:1]), TINY, before)


def play(x: Array, slack: float) -> Array:
    """What follows x (N, n) with this slack to either side, from x at first.

    Each sample clamps what was before to x - slack and x + slack; clamps in a row are one: of 1, 2, 4, ...

    >>> play(np.array([[0.0], [3.0], [2.5], [1.5], [-4.0]]), 1.0).ravel().tolist()
    [0.0, 2.0, 2.0, 2.0, -3.0]
    """
    lower, upper = x - slack, x + slack
    lower[0] = upper[0] = x[0]
    step = 1
    while step < len(x):
        ends = lower[step:].copy(), upper[step:].copy()
        lower[step:], upper[step:] = (np.clip(each[:-step], *ends) for each in (lower, upper))
        step *= 2
    return lower


def after_creeping(sums: Array, sigma: Array, folds: Sequence[Sequence[int]]) -> Array:
    """Friction (n,) that stays at rest in the direction d in which a joint last crept, 0 where none is seen.

    ``sums`` (blocks, 2, n): of d times the residual at rest, and of d^2. It counts where all joints' blocks
    are better off, by a standard error, with what the other ``folds`` say, and then at joints that are.
    """

    def value(parts: Array) -> Array:
        product, square = parts.sum(axis=0)
        return np.asarray(np.maximum(product, 0.0) / np.maximum(square, 1e-300))

    fitted = [block for fold in folds for block in fold]
    gains = []
    for fold in folds:
        product, square = sums[list(fold)].swapaxes(0, 1)
        c = value(sums[[block for block in fitted if block not in fold]])
        gains.append((2 * c * product - c**2 * square) / sigma**2)
    gain = np.concatenate(gains)
    helps = gain.sum(axis=0) * (gain.sum() > spread(gain.sum(axis=1))) > 0.0
    return np.where(helps, value(sums[fitted]), 0.0)


def creeping(sums: Array, problem: Problem, lag: float) -> tuple[Array, Array]:
    """``after_creeping`` (n,), and the power (blocks, n) that it takes from the residuals.

    None where a ``lag`` of the efforts takes more, in units of each joint's noise.
    """
    c = after_creeping(sums, problem.sigma, problem.folds)
    power = 2 * c * sums[:, 0] - c**2 * sums[:, 1]
    if float((power / problem.sigma**2).sum()) < lag:
        return np.zeros_like(c), np.zeros_like(power)
    return c, power


# The last pass


def judged(
    regression: Regression, fitted: Mask, problem: Problem, guess: Guess, terms: Sequence[Array], lags: int
) -> Judged:
    """The errors of the nominal model and of the identified bodies with each of ``terms``, and the scores.

    fitted (bags * blocks,): the blocks that were fitted; ``terms``: identified, plain, nominal; ``guess``:
    with the identified bodies and coefficients. Memory does not grow with the bags.
    """
    base, n, none = regression.base, problem.joints, np.zeros(problem.joints)
    inertial = problem.nominal.inertial.copy()
    if any(regression.loaded) and problem.nominal.load_mass is None:
        inertial[-1] = 0.0  # it is only a place to start from
    models = [problem.with_terms(regression, inertial, problem.nominal.terms, none)]
    for each, left in zip((terms[0], *terms), (problem.at_rest, none, none, none), strict=True):
        models.append(problem.with_terms(regression, guess.inertial, each, left))
    nominal = models[0]
    rigid = [model[:, :base] for model in (nominal, models[1], models[1] - nominal)]
    rigid_powers, counts, timing = np.zeros(3), np.zeros(2, int), np.zeros((3, 2, n))
    powers = np.zeros((2, 1 + len(models), n))  # fitted, held; effort, residuals
    by_speed = np.zeros((3, 2, n))  # samples, power of effort and residual; where joints stand, and move
    scores = np.zeros((problem.size, problem.size))
    to_y = regression.map @ problem.basis
    curves: list[Curves] = []
    crept, creeps, last = np.zeros((len(fitted), 2, n)), list[Array](), dict[int, Array]()
    seconds = sum(track.seconds for track in regression.store.tracks)
    some = slice(None, None, max(1, int(seconds * regression.row_rate / POINTS)))
    for bag, rows, weight in regression.weighted(guess):
        of_drives = [rows.Z[..., -1], *map(rows.residual, models)]
        measured, *residuals = map(regression.at_joints, of_drives)
        drives = of_drives[2]  # of what was identified
        at = regression.block_of(bag, rows.time)
        held = ~fitted[at]
        for part, chosen in enumerate((~held, held)):
            good = chosen[:, None] & regression.good(rows)
            powers[part] += [(np.where(good, each, 0.0) ** 2).sum(axis=0) for each in (measured, *residuals)]
            counts[part] += int(chosen.sum())
        held_good = held[:, None] & regression.good(rows)
        stands = np.abs(rows.qd) < COULOMB_WIDTHS[0]
        directions = last_crept(rows.q, last.get(bag, none))
        last[bag] = directions[-1]
        d = np.where(stands & regression.good(rows), directions, 0.0)
        np.add.at(crept, at, np.stack([d * residuals[1], d**2], axis=1))
        creeps.append(d[some])
        for k, alike in enumerate((held_good & stands, held_good & ~stands)):  # of those that were not fitted
            columns = np.ones_like(measured), measured, residuals[1]
            by_speed[:, k] += [(np.where(alike, each, 0.0) ** 2).sum(axis=0) for each in columns]
        for k, each in enumerate(rigid):
            rigid_powers[k] += float((np.einsum("tjb,jb->tj", rows.Z[..., :base], each) ** 2).sum())
        if len(measured) > 1:  # of efforts that lag by d, d times their slope is missing
            counted = (rows.usable > 0) / problem.sigma**2
            for k, left in enumerate((drives, of_drives[1])):
                slope = np.gradient(rows.Z[..., -1] - left, rows.time, axis=0)
                columns = -left * slope, slope**2, left**2
                timing[:, k] += [(counted * each).sum(axis=0) for each in columns]
        # scores: residuals in units of their variance, 0 where they were not fitted, times their columns
        weighted = np.where(held[:, None], 0.0, weight * drives / problem.sigma**2)
        by_body = np.einsum("tj,tjb->tb", weighted, rows.Z[..., :base]) @ to_y
        by_term = (weighted[..., None] * problem.own_terms(regression, rows.Z)).reshape(len(weighted), -1)
        scores += bartlett(np.concatenate([by_body, by_term], axis=1), lags)
        friction = np.einsum("tjk,jk->tj", rows.Z[some][..., base + 1 : -2], models[1][:, base + 1 :])
        of_all = rows.time, held, rows.q, rows.qd, measured, *(measured - each for each in residuals[:2])
        parts = [np.full(len(friction), bag), *(each[some] for each in of_all), drives[some] + friction]
        curves.append(Curves._make(parts))
    product, slopes, power = timing + np.reshape([0.0, 1e-300, 1e-300], (3, 1, 1))
    delays = product.sum(axis=1) / slopes.sum(axis=1)
    taken = 2 * delays[:, None] * product - delays[:, None] ** 2 * slopes
    creep, of_creep = none, np.zeros_like(crept[:, 0])
    if regression.coupling is None and not problem.at_rest.any():
        creep, of_creep = creeping(crept, problem, float(taken[0].sum()))
    powers[:, 2] -= of_creep[fitted].sum(axis=0), of_creep[~fitted].sum(axis=0)
    by_speed[2, 0] -= of_creep[~fitted].sum(axis=0)
    fit, held_out = (
        Errors(int(count), *np.sqrt(power / max(int(count), 1)))
        for power, count in zip(powers, counts, strict=True)
    )
    shown = Curves(*(np.concatenate(each) for each in zip(*curves, strict=True)))
    samples = np.maximum(by_speed[0], 1.0)
    share = by_speed[0] / np.maximum(by_speed[0].sum(axis=0), 1.0)
    *whole, change = rigid_powers
    whole.append(BODILY**2 * powers[:, 0].sum())
    return Judged(
        fitted=fit,
        held=held_out,
        standing=Standing(share, *np.sqrt(by_speed[1:] / samples)),
        curves=shown._replace(identified=shown.identified + creep * np.concatenate(creeps)),
        scores=scores,
        seconds=(fit.samples / regression.row_rate, held_out.samples / regression.row_rate),
        bands=_bands(regression, fitted, guess),
        changed=float(np.sqrt(change / max(whole))) if max(whole) > 0.0 else 0.0,
        lag=(float(delays[0]), float(taken[0].sum() / power[0].sum())),
        lag_shares=taken[0] / power[0] * (regression.coupling is None),
        nominal_lag=(float(delays[1]), float((power[1] - taken[1]).sum() / power[0].sum())),
        creep=creep,
    )


def _bands(regression: Regression, fitted: Mask, guess: Guess) -> tuple[tuple[float, float], ...]:
    """The relative residual at half and twice the cut-off, on the last part that was not fitted.

    Both from the rows at twice the cut-off, where the recorded rate allows those.
    """
    powers: dict[float, Array] = {}
    for bag, track in enumerate(regression.store.tracks):
        source = track.wide or track
        windows = list(regression.rows(bag, guess, wide=track.wide is not None))
        if not windows or guess.coefficients is None:
            continue
        time = np.concatenate([each.time for each in windows])
        good = np.concatenate([regression.good(each) for each in windows])
        left = np.concatenate([regression.at_joints(each.residual(guess.coefficients)) for each in windows])
        effort = np.concatenate([regression.at_joints(each.Z[..., -1]) for each in windows])
        good &= ~fitted[regression.block_of(bag, time)][:, None]
        rate = source.rate / row_step(source.rate, source.cutoff)
        for cutoff in (track.cutoff / 2, 2 * track.cutoff):
            if cutoff <= source.cutoff:
                both = [low_pass(x, rate, cutoff) if cutoff < source.cutoff else x for x in (left, effort)]
                sums = np.array([float((np.where(good, each, 0.0) ** 2).sum()) for each in both])
                powers[cutoff] = powers.get(cutoff, np.zeros(2)) + sums
    return tuple((cutoff, float(np.sqrt(r / e))) for cutoff, (r, e) in sorted(powers.items()) if e > 0.0)


# How sure it is


class BaseParameter(NamedTuple):
    """A combination of parameters that efforts distinguish from the others, and what it is.

    ``parts``: (name, factor) of what is combined, the first the one that gives it its name.
    """

    name: str
    parts: tuple[tuple[str, float], ...]
    nominal: float
    value: float
    error: float


@dataclass(frozen=True)
class Certainty:
    """How sure the estimate is: standard errors, shaped as what they belong to.

    ``determined`` (bodies, 10): the part of the URDF's uncertainty that the motion took away, 0 to 1.
    ``last_body``: covariances (10, 10) of the last body's parameters, of which the larger counts.
    ``memory`` [s]: for how long residuals correlate; ``independent``: how many independent ones there are.
    ``samples``: how many independent samples the band below the cut-off f holds in the time T that was
    fitted, 2 f T for each joint; ``decided``: how many unknowns they decide.
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
    samples: float
    decided: float
    condition: float


class Covariance(NamedTuple):
    """Two covariance matrices of all unknowns, each (unknowns, unknowns).

    One by the sums over lags, one as if residuals were alike in all of the motion.

    ``spread``: variance of the URDF's coordinates; ``decided``: how many unknowns the data decide.
    """

    matrices: tuple[Array, Array]
    spread: float
    decided: float

    def errors(self, combinations: Array) -> Array:
        """Standard errors (k,) of combinations (k, unknowns): the larger of both."""
        variances = [np.einsum("ia,ab,ib->i", combinations, M, combinations) for M in self.matrices]
        return np.asarray(np.sqrt(np.maximum(np.max(variances, axis=0), 0.0)))


def covariance_of(
    problem: Problem, choice: Choice, x: Array, weight: float, scores: Array, stage: Stage
) -> Covariance:
    """Covariance by noise, H^-1 S H^-1, and by what the pull of the URDF hides.

    The latter is b b' + lambda^2 s^2 H^-2.

    H = A + lambda 1. S: the sums of the scores over lags [NeweyWest1987], enlarged for the unknowns that were
    fitted; or A times the samples that are worth one, ``each``, which is less noisy, but blind to residuals
    that grow with the motion. The pull moves the estimate by about b = lambda H^-1 y; what it keeps from
    moving at all is as uncertain as the URDF, s^2: 1/lambda, or what the estimate has moved for each
    direction that data decide, whichever is more. Friction that was left out is as uncertain as it is large
    in the URDF.
    """
    each, E = stage.memory.each, problem.equations(problem.whole)
    allowed = choice.active | stage.choice.active & np.isin(FAMILIES, PLAIN)  # what was left out is not known
    own = np.append(np.zeros(problem.free), np.where(choice.active, 0.0, each * problem.pull))
    part = reduced(problem, choice._replace(active=allowed), E + np.diag(np.append(own, 0.0)), weight)
    used = part.used
    A = E[np.ix_(used, used)]
    inverse = np.linalg.inv(part.H)
    fit = reduced(problem, choice, E, weight)
    decides = np.diag(np.linalg.solve(fit.H, E[np.ix_(fit.used, fit.used)]))
    enlarged = stage.independent / max(stage.independent - float(decides.sum()), 0.2 * stage.independent)
    inertial = used < problem.free
    moved = x[: problem.free]
    spread = max(1.0 / weight, float(moved @ moved) / max(float(decides[: problem.free].sum()), 1.0))
    bias = inverse @ np.where(inertial, weight * x[used], 0.0)
    held = np.where(inertial, weight**2 * spread, each * own[used])
    pull = np.outer(bias, bias) + inverse @ np.diag(held) @ inverse
    matrices = np.zeros((2, problem.size, problem.size))
    for matrix, middle in zip(matrices, (scores[np.ix_(used, used)], A * each), strict=True):
        matrix[np.ix_(used, used)] = enlarged * inverse @ middle @ inverse + pull
    return Covariance((matrices[0], matrices[1]), spread, float(decides.sum()))


def certainty_of(
    regression: Regression,
    problem: Problem,
    choice: Choice,
    x: Array,
    weight: float,
    scores: Array,
    stage: Stage,
) -> Certainty:
    """Standard errors of everything, and what they rest on."""
    covariance = covariance_of(problem, choice, x, weight, scores, stage)
    by_x = np.pad(problem.basis, ((0, 0), (0, problem.size - problem.free)))
    errors = covariance.errors(by_x)
    prior = np.sqrt(covariance.spread * (problem.basis**2).sum(axis=1))
    first, second = (by_x[-10:] @ M @ by_x[-10:].T for M in covariance.matrices)
    with np.errstate(divide="ignore", invalid="ignore"):
        determined = np.where(prior > 0.0, np.clip(1.0 - (errors / prior) ** 2, 0.0, 1.0), 0.0)
    return Certainty(
        inertial=errors.reshape(-1, 10),
        determined=determined.reshape(-1, 10),
        terms=problem.terms(covariance.errors(np.eye(problem.size))),
        gain=stage.gains.error * np.abs(stage.used_gain),
        last_body=(first, second),
        base=tuple(base_parameters(regression, problem, x, covariance)),
        memory=stage.memory.lags / regression.row_rate,
        independent=stage.independent,
        samples=stage.samples * 2.0 * regression.store.tracks[0].cutoff / regression.row_rate,
        decided=covariance.decided,
        condition=stage.condition,
    )


def condition_of(gram: Array) -> float:
    """The condition number of a regressor with columns of unit length, from its products (k, k)."""
    size = np.sqrt(np.diag(gram))
    if not (size > 0.0).all():
        return float("inf")
    values = np.linalg.eigvalsh(gram / size / size[:, None])
    return float(np.sqrt(values[-1] / values[0])) if values[0] > 0.0 else float("inf")


def base_parameters(
    regression: Regression, problem: Problem, x: Array, covariance: Covariance
) -> Iterator[BaseParameter]:
    """The combinations of inertial parameters and rotor inertias that efforts distinguish.

    [Gautier1991].
    """
    model, n = regression.model, problem.joints

    def regressor(q: Array, qd: Array, qdd: Array) -> Array:
        Y = model.regressor(q, qd, qdd)
        return np.concatenate([Y, qdd[..., None] * np.eye(n)], axis=-1)

    found = find_base_parameters(regressor, n)
    names = [f"{body} {name}" for body in model.bodies for name in PARAMETERS]
    own = len(names)
    names += [f"{joint} rotor" for joint in model.joint_names]
    to_x = np.zeros((len(names), problem.size))
    to_x[:own, : problem.free] = problem.basis[:own]
    to_x[own + np.arange(n), problem.free + ROTOR + len(FAMILIES) * np.arange(n)] = 1.0
    values = [
        np.concatenate([inertial.ravel()[:own], terms[:, ROTOR]])
        for inertial, terms in (problem.nominal[:2], (problem.inertial(x), problem.terms(x)))
    ]
    errors = covariance.errors(found.map @ to_x)
    for column, row, error in zip(found.columns.tolist(), found.map, errors.tolist(), strict=True):
        parts = tuple((names[k], float(row[k])) for k in np.flatnonzero(row))
        nominal, value = (float(row @ each) for each in values)
        yield BaseParameter(names[column], parts, nominal, value, error)
