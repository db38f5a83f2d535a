"""Choose terms, widths and the weight of the URDF, by cross-validation over blocks of time or bags.

* Terms of a joint are taken out one by one for as long as data that were not fitted do not miss them. What is
  taken out stays as the URDF says, or is zero where the data say that it is less than nothing.
* The weight lambda is the largest that is as good as the best, within one standard error of the difference
  block by block.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.identification import fitting
from kane_dynamics_ros.identification.fitting import LIMITS, LOAD, MOST_LOAD, PLAIN, Choice, Problem
from kane_dynamics_ros.identification.regression import COULOMB_WIDTHS, FAMILIES, STRIBECK_WIDTHS

PLACES = np.arange(len(FAMILIES))
PLAINEST, BASIC = PLACES < 4, PLACES < 6  # families of every arm; those that are easy to tell apart
GIVES_WAY = [[FAMILIES.index(family) for family in reversed(row)] for row in fitting.NOT_NEGATIVE]
LAMBDAS = tuple(10.0 ** np.arange(-3.0, 5.01, 0.5))
START_LAMBDA = 1.0
PARTS_AT_REST = (0.0, 0.25, 0.5, 0.75)  # of dry friction; with all of it a joint might creep
RISES = range(len(STRIBECK_WIDTHS))
FOLDS = 5
ENOUGH_BAGS = 3  # fitted ones, to leave out whole bags: another motion is the harder judge
WORTH = 1e-3  # of the joint's error in data that were not fitted that each term must take away


def folds_of(bags: NDArray[np.intp], fitted: Mask) -> tuple[tuple[int, ...], ...]:
    """Blocks that are left out together: whole bags where there are enough, else neighbours in time.

    bags (blocks,): each block's bag; fitted (blocks,): those that are fitted at all.
    """
    blocks = np.flatnonzero(fitted)
    names = np.unique(bags[blocks])
    if len(names) >= ENOUGH_BAGS:
        groups = np.array_split(names, min(FOLDS, len(names)))
        return tuple(tuple(blocks[np.isin(bags[blocks], group)].tolist()) for group in groups)
    parts = [np.array_split(blocks[bags[blocks] == name], FOLDS) for name in names]
    folds = (np.concatenate(each).tolist() for each in zip(*parts, strict=True))
    return tuple(tuple(fold) for fold in folds if fold)


def spread(differences: Array) -> Array:
    """The standard error of a sum of differences (blocks, ...): blocks hardly depend on each other."""
    count = len(differences)
    return np.asarray(np.sqrt(count) * differences.std(axis=0, ddof=1) if count > 1 else 0.0)


def clearly_better(before: Array, after: Array, *, margin: float = fitting.CLEARLY) -> Mask:
    """Where errors (blocks, ...) are less, by ``margin`` standard errors and by ``WORTH`` of them."""
    gain = before - after
    needed = np.maximum(margin * spread(gain), WORTH * before.sum(axis=0))
    return np.asarray(gain.sum(axis=0) > needed)


def from_other_folds(problem: Problem, choice: Choice, weight: float) -> list[Array]:
    """The estimates without each of the folds, all unknowns."""
    whole = problem.by_fold.sum(axis=0)
    return [fitting.free_solution(problem, choice, whole - E, weight) for E in problem.by_fold]


def cross_validated(problem: Problem, choice: Choice, weight: float) -> Array:
    """Errors (blocks, n), in sigma^2, of every fitted block by the estimate from the other folds."""
    return np.concatenate([*map(problem.errors, problem.folded, from_other_folds(problem, choice, weight))])


def choose_widths(problem: Problem, choice: Choice, rises: Sequence[int] = RISES) -> Problem:
    """The problem with the widths of the smooth sign and of Stribeck's rise that data ask for.

    Those explain data best that were not fitted; ``rises``: the candidates of v_s.
    """
    candidates = [replace(problem, widths=both) for both in product(range(len(COULOMB_WIDTHS)), rises)]
    return min(candidates, key=lambda each: float(cross_validated(each, choice, START_LAMBDA).sum()))


def choose_lambda(problem: Problem, choice: Choice) -> tuple[float, Array]:
    """The largest weight of the URDF that is as good as the best, and every weight's error."""
    errors = np.array([cross_validated(problem, choice, weight).sum(axis=1) for weight in LAMBDAS])
    best = int(np.argmin(errors.sum(axis=1)))
    more = errors - errors[best]
    good = more.sum(axis=1) <= spread(more.T)
    return LAMBDAS[int(np.flatnonzero(good)[-1])], errors.sum(axis=1)


def choose_at_rest(problem: Problem, choice: Choice, weight: float) -> tuple[Problem, Choice]:
    """The problem with the part of friction that each joint keeps at rest, and the terms chosen with it.

    One part for the whole arm, for many a joint hardly ever rests; another, or none, for joints that are
    better off so.
    """
    chosen = choose_terms(problem, choice, weight)
    tried = [replace(problem, at_rest=problem.at_rest + part) for part in PARTS_AT_REST]
    errors = np.stack([cross_validated(each, chosen, weight) for each in tried])
    best, own = int(np.argmin(errors.sum(axis=(1, 2)))), np.argmin(errors.sum(axis=1), axis=0)
    better = clearly_better(errors[best], errors[own, :, np.arange(problem.joints)].T, margin=1.0)
    if best:
        resting = replace(problem, at_rest=np.array(PARTS_AT_REST)[np.where(better, own, best)])
        terms = choose_terms(resting, choice, weight)
        after = cross_validated(resting, terms, weight)
        if clearly_better(errors[0].sum(axis=1), after.sum(axis=1), margin=1.0):
            return resting, terms
    return problem, chosen


def choose_terms(problem: Problem, choice: Choice, weight: float) -> Choice:
    """The terms that data ask for that were not fitted.

    ``PLAINEST`` ones come first. Other ``BASIC`` ones take part with a joint whose data are better off so;
    the rest, which is hard to tell from these, as friction by direction is from an offset, if clearly so.
    """
    chosen = remaining_terms(problem, choice._replace(active=choice.active & PLAINEST), weight)
    for families, margin in ((BASIC, 1.0), (PLACES >= 0, fitting.CLEARLY)):
        richer = remaining_terms(problem, choice._replace(active=choice.active & families), weight)
        errors = [cross_validated(problem, each, weight) for each in (chosen, richer)]
        better = clearly_better(*errors, margin=margin)[:, None]
        sides = ((richer, better), (chosen, ~better))
        held = frozenset(at for each, used in sides for at in each.held if used[at[0]])
        active, origin = (np.where(better, new, old) for new, old in zip(richer[:2], chosen[:2], strict=True))
        chosen = Choice(active, origin, held)
    return chosen


def remaining_terms(problem: Problem, choice: Choice, weight: float) -> Choice:
    """Take out terms, one by one, until data that were not fitted miss each that is left.

    A term that is negative where it cannot be goes first, and is zero: the URDF's friction is a guess, which
    such data contradict. So does friction that takes more than ``MOST_LOAD``, which stands for another.
    """
    blocks = [problem.equations(part) for part in problem.folded]
    whole = problem.equations(problem.whole)
    margin = np.array([0.0 if family in PLAIN else fitting.CLEARLY for family in FAMILIES])
    while choice.active.any():
        terms = problem.terms(fitting.free_solution(problem, choice, whole, weight))
        steep = np.flatnonzero(choice.active[:, LOAD] & (terms[:, LOAD] > MOST_LOAD))
        if len(steep):
            choice = without(choice, int(steep[0]), LOAD, 0.0)
            continue
        negative = _most_negative(choice, terms)
        if negative is not None:
            choice = _no_longer_negative(problem, choice, whole, weight, *negative)
            continue
        losses, errors = removal_losses(problem, choice, whole, blocks, weight)
        candidates = np.argwhere(choice.active)
        worth = WORTH * errors[candidates[:, 0]]
        surplus = losses.sum(axis=0) - np.maximum(margin[candidates[:, 1]] * spread(losses), worth)
        worst = int(np.argmin(surplus))
        if surplus[worst] >= 0.0:
            break
        choice = without(choice, *candidates[worst])
    return choice


def without(choice: Choice, joint: int, family: int, value: float | None = None) -> Choice:
    """The choice without a term, which keeps its origin or gets a value, and without the sums it was in."""
    active, origin = choice.active.copy(), choice.origin.copy()
    active[joint, family] = False
    if value is not None:
        origin[joint, family] = value
    held = {(j, row) for j, row in choice.held if j != joint or LIMITS[row, family] == 0.0}
    return Choice(active, origin, frozenset(held))


def _no_longer_negative(
    problem: Problem, choice: Choice, whole: Array, weight: float, joint: int, row: int, family: int
) -> Choice:
    """The choice without the term that gives way where a sum is below zero.

    Or, where data that were not fitted are clearly better off so, with the sum held at zero: friction that
    rises from nothing at rest comes out as less than nothing to one side. The URDF's friction stays where
    data tell it less well than to its own size, other kinds left aside.
    """
    plain = choice._replace(active=choice.active & PLAINEST, held=frozenset())
    part = fitting.reduced(problem, plain, whole, weight)
    at = part.used == problem.places[joint, problem.free + family]
    vague = (problem.pull[joint, family] * np.diag(np.linalg.inv(part.H))[at] > 1.0).any()
    fewer = without(choice, joint, family, None if vague else 0.0)
    active, origin = (each[joint][LIMITS[row] != 0.0] for each in (choice.active, choice.origin))
    if active.sum() < 2 or origin[~active].any():
        return fewer
    held = choice._replace(held=choice.held | {(joint, row)})
    errors = [cross_validated(problem, each, weight)[:, joint] for each in (fewer, held)]
    return held if clearly_better(*errors) else fewer


def _most_negative(choice: Choice, terms: Array) -> tuple[int, int, int] | None:
    """Joint, row of ``LIMITS`` and family that must give way because a sum is farthest below zero."""
    fitted = (choice.active[:, None] & (LIMITS != 0.0)).any(axis=2)
    for held in choice.held:
        fitted[held] = False
    sums = np.where(fitted, terms @ LIMITS.T, np.inf)
    j, row = (int(k) for k in np.unravel_index(int(np.argmin(sums)), sums.shape))
    if sums[j, row] >= 0.0:
        return None
    families = [f for f in GIVES_WAY[row] if choice.active[j, f]]
    first = GIVES_WAY[row][-1]
    return j, row, first if first in families and terms[j, first] < 0.0 else families[0]


def removal_losses(
    problem: Problem, choice: Choice, whole: Array, blocks: list[Array], weight: float
) -> tuple[Array, Array]:
    """How much the held-out error of each block grows without each active term; each joint's error (n,).

    Fixing unknown i of a least-squares estimate x at o changes it by -H^-1 e_i (x_i - o) / (H^-1)_ii: every
    removal is judged without solving again. ``blocks``: the equations of each fold's blocks.
    """
    errors = np.zeros(problem.joints)
    losses = []
    for products, held in zip(problem.folded, blocks, strict=True):
        part = fitting.reduced(problem, choice, whole - held.sum(axis=0), weight)
        inverse = np.linalg.inv(part.H)
        x = part.start.copy()
        x[part.used] = inverse @ part.g
        columns = inverse[:, problem.free :]
        step = (x - part.start)[part.used][problem.free :] / np.diag(inverse)[problem.free :]
        slope = (held[:, part.used, :-1] @ x - held[:, part.used, -1]) @ columns
        curve = np.einsum(
            "ia,bij,ja->ba", columns, held[:, part.used][:, :, part.used], columns, optimize=True
        )
        losses.append(-2 * step * slope + step**2 * curve)
        errors += problem.errors(products, x).sum(axis=0)
    return np.concatenate(losses), errors
