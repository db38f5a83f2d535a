"""Find coupled drives: joints whose drives turn with another joint, too, as in many wrists.

What the estimate with a drive for each joint leaves is looked at first (``replay.coupled``). Neighbours whose
residuals both follow friction of one common speed are tried: the estimate is made again with that coupling,
its factor refined, and the coupling taken where data that were not fitted are better explained. When no more
are asked for, those stay without which such data are clearly, and much, worse explained at both joints.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.identification import choosing, fitting
from kane_dynamics_ros.identification.fitting import Stage
from kane_dynamics_ros.identification.regression import WINDOW, Regression, Rows, products_of
from kane_dynamics_ros.replay.coupled import Left, likely_pairs

SAMPLE = 3000  # rows that are looked at
WINDOWS = 12  # of the motion, with which estimates are compared
ASKS = (0.06, 0.03)  # of both joints' residuals that the first pair, and further ones, must explain
TRIED = 6  # pairs, of those that are asked for
ROUNDS = 5  # in which several factors are refined in turn, at most
WORTH = 0.05  # of both joints' errors that a coupling must take away
REFINED = 0.2  # of a factor, to both sides of where it is refined
EXACT = 1e-3  # of a factor


class Trial(NamedTuple):
    """What an estimate with some coupling leaves: ``errors`` (blocks, n), cross-validated; a sample of it."""

    errors: Array
    sample: Left


def found_coupling(
    regression: Regression,
    stage: Stage,
    sample: Sequence[tuple[Array, ...]],
    fitted: Mask,
    progress: Callable[[str], object],
) -> Array | None:
    """C (n, n), or None where each joint has a drive of its own.

    ``stage`` and ``sample`` are those of the last pass without coupling.
    """
    block, residual, weight, qd = (np.concatenate(each) for each in zip(*sample, strict=True))
    used = fitted[block.astype(np.intp)]
    seen = Left(residual[used], (weight[used] > 0.0) & np.isfinite(stage.problem.sigma), qd[used])
    C: Array = np.eye(regression.joints)
    before: Trial | None = None
    taken: list[tuple[int, int]] = []
    while pairs := likely_pairs(seen, regression.model.joints, C, ASKS[bool(taken)])[:TRIED]:
        progress("looking for coupled drives")
        before = before or tried(regression, stage, fitted, C)
        for pair in pairs:
            place = pair.drive, pair.joint
            if not better(before, tried(regression, stage, fitted, changed(C, place, pair.factor)), place):
                continue
            with_it = refined(regression, stage, fitted, changed(C, place, pair.factor), place)
            after = tried(regression, stage, fitted, with_it)
            if better(before, after, place):
                C, before, seen = with_it, after, after.sample
                taken.append(place)
                break
        else:
            break
    if not taken:
        return None
    for _ in range(ROUNDS if len(taken) > 1 else 0):  # each was found without those after it
        old = C
        for place in taken:
            C = refined(regression, stage, fitted, C, place)
        if np.abs(C - old).max() < 2.0 * EXACT * np.abs(C - np.eye(len(C))).max():
            break
    whole = tried(regression, stage, fitted, C)
    without = [tried(regression, stage, fitted, changed(C, place, 0.0)) for place in taken]
    kept = [place for place, each in zip(taken, without, strict=True) if worth(each, whole, place)]
    for place in set(taken) - set(kept):
        C = changed(C, place, 0.0)
    return C if kept else None


def changed(C: Array, place: tuple[int, int], factor: float) -> Array:
    """C with another factor."""
    other: Array = C.copy()
    other[place] = factor
    return other


def refined(regression: Regression, stage: Stage, fitted: Mask, C: Array, place: tuple[int, int]) -> Array:
    """C with the factor at a place with which what was not fitted is explained best, near the one there."""

    for _ in range(ROUNDS):

        def cost(ratio: float, C: Array = C) -> float:
            with_it = changed(C, place, ratio * C[place])
            return float(tried(regression, stage, fitted, with_it).errors[:, place].sum())

        bounds = (1.0 - REFINED, 1.0 + REFINED)
        ratio = minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": EXACT}).x
        C = changed(C, place, float(ratio) * C[place])
        if abs(ratio - 1.0) < 0.98 * REFINED:  # else at the edge of what was looked at
            break
    return C


def better(before: Trial, after: Trial, place: tuple[int, int]) -> bool:
    """Whether data that were not fitted are better explained at each joint, clearly at both."""
    a, b = before.errors[:, place], after.errors[:, place]
    both = choosing.clearly_better(a.sum(axis=1, keepdims=True), b.sum(axis=1, keepdims=True))
    return bool(both.all() and (b.sum(axis=0) < a.sum(axis=0)).all())


def worth(without: Trial, whole: Trial, place: tuple[int, int]) -> bool:
    """Whether a coupling makes data that were not fitted clearly and much better explained at each joint."""
    a, b = without.errors[:, place], whole.errors[:, place]
    much = b.sum(axis=0) < (1.0 - WORTH) * a.sum(axis=0)
    return bool((choosing.clearly_better(a, b) & much).all())


def tried(regression: Regression, stage: Stage, fitted: Mask, C: Array) -> Trial:
    """An estimate with C, without the terms that are hard to tell apart, cross-validated over blocks."""
    windows = sum(samples // WINDOW for track in regression.store.tracks for _, samples, _ in track.places)
    coupled = regression.coupled(C, max(1, windows // WINDOWS))
    variance, part = stage.problem.sigma**2, np.linalg.inv(C).T ** 2
    sigma = np.sqrt((part * np.where(part != 0.0, variance, 0.0)).sum(axis=1))
    guess = stage.guess._replace(coefficients=None, sigma=sigma)
    folds = choosing.folds_of(np.repeat(np.arange(len(fitted) // coupled.blocks), coupled.blocks), fitted)
    fold_of = np.full(len(fitted), -1)
    for f, fold in enumerate(folds):
        fold_of[list(fold)] = f
    n, width = coupled.joints, coupled.width
    gram = np.zeros((len(folds), n, width, width))
    seen: list[tuple[Rows, NDArray[np.intp]]] = []
    for bag, rows, weight in coupled.weighted(guess):
        block = coupled.block_of(bag, rows.time)
        seen.append((rows, block))
        for f in range(len(folds)):
            gram[f] += products_of(rows.Z[fold_of[block] == f], weight[fold_of[block] == f])
    problem = replace(
        stage.problem,
        gram=fitting.coordinates_gram(gram, coupled, stage.problem.nominal) / sigma[:, None, None] ** 2,
        sigma=sigma,
        folds=tuple((f,) for f in range(len(folds))),
    )
    choice = stage.choice._replace(active=stage.choice.active & choosing.BASIC)
    if np.count_nonzero(C) > n:  # the width of before was that of friction which the coupling blurred
        problem = choosing.choose_widths(problem, choice, [problem.widths[1]])
    estimates = choosing.from_other_folds(problem, choice, choosing.START_LAMBDA)
    coefficients = [problem.coefficients(coupled, x) for x in estimates]
    errors, samples = np.zeros((len(fitted), n)), []
    for rows, block in seen:
        left = np.zeros(rows.qd.shape)
        for f, own in enumerate(coefficients):
            at = fold_of[block] == f
            left[at] = Rows(*(each[at] for each in rows)).residual(own)
        left, good = coupled.at_joints(left), coupled.good(rows) & (fold_of[block] >= 0)[:, None]
        np.add.at(errors, block, np.where(good, left, 0.0) ** 2 / variance)
        samples.append((left, good, rows.qd))
    residual, counts, qd = (np.concatenate(each) for each in zip(*samples, strict=True))
    some = slice(None, None, max(1, len(qd) // SAMPLE))
    return Trial(errors[fitted], Left(residual[some], counts[some] > 0, qd[some]))
