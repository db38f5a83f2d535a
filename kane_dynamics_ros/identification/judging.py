"""Judge: the estimate on data that were not fitted, and how sure it is.

One more pass over the motion gathers the errors of several models, and what standard errors need: residuals
follow each other in time, so that neighbouring samples are not independent. The middle of the sandwich is
therefore Newey and West's sum over lags [NeweyWest1987].
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.identification import choosing
from kane_dynamics_ros.identification.choosing import FAMILIES, Choice, Normal, Problem, Solution
from kane_dynamics_ros.identification.regression import Guess, Products, Regression, Rows, residual, row_step
from kane_dynamics_ros.replay.correlation import bartlett
from kane_dynamics_ros.replay.messages import Mask
from kane_dynamics_ros.replay.motion import low_pass
from kane_dynamics_ros.runtime.parameters import find_base_parameters

PARAMETERS = ("m", "hx", "hy", "hz", "Jxx", "Jxy", "Jxz", "Jyy", "Jyz", "Jzz")
POINTS = 3000  # kept for figures
ALIKE = 0.01  # of a residual: the richer of two models that differ by less is taken


@dataclass(frozen=True)
class Errors:
    """Root mean squares (n,) [N m] or [N] of one part of the data: of the measured effort and of residuals.

    ``nominal``: by the URDF; ``identified``: with every chosen term; ``plain``: with those that a URDF
    carries; ``kept``: the identified bodies with the URDF's own friction and rotors.
    """

    effort: Array
    nominal: Array
    identified: Array
    plain: Array
    kept: Array
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
class Judged:
    """What the last pass saw: ``scores`` are their sum over lags, ``seconds`` fitted and held out.

    ``bands``: cut-off frequencies [Hz] beside the one of the fit, and the relative residual below each, of
    the last part of the data that were not fitted. ``changed``: the change of the rigid bodies' effort
    from the URDF to what was identified, over the larger of both, root mean squares over all joints and data.
    """

    fitted: Errors
    held: Errors
    curves: Curves
    scores: Array
    seconds: tuple[float, float]
    bands: tuple[tuple[float, float], ...]
    changed: float


class Written(NamedTuple):
    """The terms (n, families) that go into files: ``urdf`` the URDF's, ``node`` its parameters'.

    ``node_errors`` (n,): root mean squares of the residuals with the latter, on data that were not fitted.
    """

    urdf: Array
    node: Array
    node_errors: Array


def written_terms(held: Errors, solution: Array, plain: Array, nominal: Array) -> Written:
    """Of each joint the richest terms that are no worse than poorer ones on data that were not fitted."""
    errors = np.stack([held.identified, held.plain, held.kept])
    terms = np.stack([solution, plain, nominal])
    joints = np.arange(len(solution))

    def chosen(first: int) -> Array:
        good = errors[first:] <= (1.0 + ALIKE) * errors[first:].min(axis=0)
        return np.asarray(first + np.argmax(good, axis=0))

    node = chosen(0)
    return Written(terms[chosen(1), joints], terms[node, joints], errors[node, joints])


def errors_of(powers: Array, samples: int) -> Errors:
    """Root mean squares from sums of squares (effort and four residuals, n)."""
    effort, nominal, identified, plain, kept = np.sqrt(powers / max(samples, 1))
    return Errors(effort, nominal, identified, plain, kept, samples)


# The last pass


def judged(
    regression: Regression,
    fitted: Mask,
    problem: Problem,
    choice: Choice,
    guess: Guess,
    terms: Sequence[Array],
    lags: int,
) -> Judged:
    """The errors of the nominal model and of the identified bodies with each of ``terms``, and the scores.

    fitted (bags * blocks,): the blocks that were fitted; ``terms``: identified, plain, nominal; ``guess``:
    with the identified bodies and coefficients.
    """
    gathered = _Gathered(regression, fitted, problem, choice, guess, terms, lags)
    regression.visit(guess, gathered.add)
    return gathered.result(_bands(regression, fitted, guess))


class _Gathered:
    """Gathers what ``Judged`` holds, window by window, in memory that does not grow with the bags."""

    def __init__(
        self,
        regression: Regression,
        fitted: Mask,
        problem: Problem,
        choice: Choice,
        guess: Guess,
        terms: Sequence[Array],
        lags: int,
    ) -> None:
        self._regression, self._fitted, self._problem, self._lags = regression, fitted, problem, lags
        layout = regression.layout
        self._own = [k - problem.free + layout.base for k in choosing.columns_of(problem, choice)]
        rigid = np.zeros((problem.joints, layout.width - 2))
        inertial = problem.nominal.inertial.copy()
        if layout.load and problem.nominal.load_mass is None:
            inertial[-1] = 0.0  # it is only a place to start from
        rigid[:, : layout.base] = layout.map @ inertial.ravel()
        rigid[:, self._own] = problem.nominal.terms
        self._models = [rigid]
        for each in terms:
            model = np.array(guess.coefficients)
            model[:, self._own] = each
            self._models.append(model)
        self._terms = terms[0]
        self._rigid = np.stack([rigid, self._models[1], self._models[1] - rigid])[..., : layout.base]
        self._rigid_powers = np.zeros(3)
        self._basis = layout.map @ problem.basis
        seconds = sum(track.seconds for track in regression.store.tracks)
        self._stride = max(1, int(seconds * regression.row_rate / POINTS))
        self._powers = np.zeros((2, 1 + len(self._models), problem.joints))  # fitted, held; effort, residuals
        self._counts = np.zeros(2, int)
        self._scores = np.zeros((problem.size, problem.size))
        self._curves: list[Curves] = []

    def add(self, bag: int, rows: Rows, weight: Array) -> None:
        """One window of a bag."""
        residuals = [residual(rows, model) for model in self._models]
        held = ~self._fitted[self._regression.block_of(bag, rows.time)]
        for part, chosen in enumerate((~held, held)):
            good = chosen[:, None] & (rows.usable > 0)
            for k, values in enumerate((rows.Z[..., -1], *residuals)):
                self._powers[part, k] += (np.where(good, values, 0.0) ** 2).sum(axis=0)
            self._counts[part] += int(chosen.sum())
        for k, model in enumerate(self._rigid):
            effort = np.einsum("tjb,jb->tj", rows.Z[..., : model.shape[1]], model)
            self._rigid_powers[k] += float((effort**2).sum())
        self._add_scores(rows, np.where(held[:, None], 0.0, weight * residuals[1] / self._problem.sigma**2))
        self._add_curves(bag, rows, residuals, held)

    def _add_scores(self, rows: Rows, weighted: Array) -> None:
        """``weighted`` (N, n): residuals in units of their variance, 0 where they were not fitted."""
        bodies = np.einsum("tj,tjb->tb", weighted, rows.Z[..., : len(self._basis)]) @ self._basis
        terms = (weighted[..., None] * rows.Z[..., self._own]).reshape(len(weighted), -1)
        self._scores += bartlett(np.concatenate([bodies, terms], axis=1), self._lags)

    def _add_curves(self, bag: int, rows: Rows, residuals: list[Array], held: Mask) -> None:
        some = slice(0, len(rows.time), self._stride)
        measured = rows.Z[some, :, -1]
        friction = np.einsum("tjk,jk->tj", rows.Z[some][..., self._own[1:]], self._terms[:, 1:])
        self._curves.append(
            Curves(
                bag=np.full(len(measured), bag),
                time=rows.time[some],
                held=held[some],
                qd=rows.qd[some],
                measured=measured,
                nominal=measured - residuals[0][some],
                identified=measured - residuals[1][some],
                friction=residuals[1][some] + friction,
            )
        )

    def result(self, bands: tuple[tuple[float, float], ...]) -> Judged:
        """Everything so far."""
        fitted, held = (
            errors_of(powers, int(count)) for powers, count in zip(self._powers, self._counts, strict=True)
        )
        joined = {
            each.name: np.concatenate([getattr(curves, each.name) for curves in self._curves])
            for each in fields(Curves)
        }
        rate = self._regression.row_rate
        seconds = float(self._counts[0]) / rate, float(self._counts[1]) / rate
        *whole, change = self._rigid_powers
        changed = float(np.sqrt(change / max(whole))) if max(whole) > 0.0 else 0.0
        return Judged(fitted, held, Curves(**joined), self._scores, seconds, bands, changed)


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
        left = np.concatenate([residual(rows, guess.coefficients) for rows in windows])
        effort = np.concatenate([rows.Z[..., -1] for rows in windows])
        times = np.concatenate([rows.time for rows in windows])
        good = np.concatenate([rows.usable for rows in windows]) > 0
        good &= ~fitted[regression.block_of(bag, times)][:, None]
        rate = source.rate / row_step(source.rate, source.cutoff)
        for cutoff in (track.cutoff / 2, 2 * track.cutoff):
            if cutoff < source.cutoff:
                both = [low_pass(each, rate, cutoff) for each in (left, effort)]
            elif cutoff == source.cutoff:
                both = [left, effort]
            else:
                continue
            sums = np.array([float((np.where(good, each, 0.0) ** 2).sum()) for each in both])
            powers[cutoff] = powers.get(cutoff, np.zeros(2)) + sums
    return tuple((cutoff, float(np.sqrt(r / e))) for cutoff, (r, e) in sorted(powers.items()) if e > 0.0)


# Standard errors, base parameters, condition


class Covariance(NamedTuple):
    """Two covariance matrices of all unknowns, each (unknowns, unknowns).

    One by the sums over lags, one as if residuals were alike in all of the motion.

    ``spread``: variance of the URDF's coordinates; ``independent``: how many independent residuals there
    are; ``decided``: how many unknowns the data decide.
    """

    matrices: tuple[Array, Array]
    spread: float
    independent: float
    decided: float

    def errors(self, combinations: Array) -> Array:
        """Standard errors (k,) of combinations (k, unknowns): the larger of both."""
        variances = [np.einsum("ia,ab,ib->i", combinations, M, combinations) for M in self.matrices]
        return np.asarray(np.sqrt(np.maximum(np.max(variances, axis=0), 0.0)))


def covariance_of(
    problem: Problem,
    choice: Choice,
    normal: Normal,
    solution: Solution,
    weight: float,
    scores: Array,
    counted: float,
    samples_each: float,
) -> Covariance:
    """Covariance by noise, H^-1 S H^-1, and by what the pull of the URDF hides.

    The latter is b b' + lambda^2 s^2 H^-2.

    H = A + lambda 1. S: the sums of the scores over lags [NeweyWest1987], enlarged for the unknowns that were
    fitted; or A times the samples that are worth one, which is less noisy, but blind to residuals that grow
    with the motion. The pull moves the estimate by about b = lambda H^-1 y; what it keeps from moving at all
    is as uncertain as the URDF, s^2: 1/lambda, or what the estimate has moved for each direction that data
    decide, whichever is more. ``counted``: samples; ``samples_each``: how many are worth an independent one.
    """
    part = choosing.reduced(problem, choice, normal, weight)
    used = part.used
    A = normal.H[np.ix_(used, used)]
    inverse = np.linalg.inv(part.H)
    decides = np.diag(inverse @ A)
    independent = counted / samples_each
    enlarged = independent / max(independent - float(decides.sum()), 0.2 * independent)
    moved = float(decides[: problem.free].sum())
    spread = max(1.0 / weight, float(solution.y @ solution.y) / max(moved, 1.0))
    inertial = used < problem.free
    bias = inverse @ np.where(inertial, weight * solution.x[used], 0.0)
    pull = np.outer(bias, bias) + inverse @ np.diag(np.where(inertial, weight**2 * spread, 0.0)) @ inverse
    matrices = []
    for middle in (scores[np.ix_(used, used)], A * samples_each):
        matrix = np.zeros_like(normal.H)
        matrix[np.ix_(used, used)] = enlarged * inverse @ middle @ inverse + pull
        matrices.append(matrix)
    return Covariance((matrices[0], matrices[1]), spread, independent, float(decides.sum()))


def condition_of(problem: Problem, base: int, products: Products, fitted: Mask) -> float:
    """The condition number of the base regressor over the fitted data.

    Rows are in units of each joint's noise, columns of unit length.
    """
    noisy = np.where(np.isfinite(problem.sigma), problem.sigma, np.inf)
    gram = products.gram[fitted].sum(axis=0)[:, :base, :base]
    G = (gram / noisy[:, None, None] ** 2).sum(axis=0)
    size = np.sqrt(np.diag(G))
    if not (size > 0.0).all():
        return float("inf")
    values = np.linalg.eigvalsh(G / size / size[:, None])
    return float(np.sqrt(values[-1] / values[0])) if values[0] > 0.0 else float("inf")


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


def base_parameters(
    regression: Regression, problem: Problem, solution: Solution, covariance: Covariance
) -> tuple[BaseParameter, ...]:
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
    rotor = problem.free + len(FAMILIES) * np.arange(n)
    to_x = np.zeros((len(names), problem.size))
    to_x[:own, :own] = block_diag(*(body.basis for body in problem.bodies[: len(model.bodies)]))
    to_x[own + np.arange(n), rotor] = 1.0
    nominal = np.concatenate([problem.nominal.inertial.ravel()[:own], problem.nominal.terms[:, 0]])
    value = np.concatenate([problem.inertial(solution.y).ravel()[:own], solution.terms[:, 0]])
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
