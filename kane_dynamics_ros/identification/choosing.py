"""Choose terms: least squares from products, and cross-validation over blocks of time or bags.

With residual r = tau - Z x, standard deviations sigma_j and the coordinates y_b of each body about the
nominal parameters (``bodies``), the estimate is

    min  sum_j sum_t w (r_tj / sigma_j)^2 + lambda sum_b |y_b|^2

Everything about data comes from sums over blocks of time, so that fitting without some of them and judging by
these costs next to nothing:

* terms of a joint are taken out one by one for as long as data that were not fitted do not miss them. What is
  taken out stays as the URDF says, or is zero where the data say that it is less than nothing,
* lambda is the largest that is as good as the best, within one standard error of the difference block by
  block.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.identification import regression
from kane_dynamics_ros.identification.bodies import BodyCoordinates, body_at
from kane_dynamics_ros.identification.regression import TERMS, Products, RowLayout, Term
from kane_dynamics_ros.replay.messages import Mask

PLAIN = ("rotor", "viscous", "coulomb")  # what a URDF can carry: of every joint; they stay if data are better
FAMILIES = (
    *("rotor", "viscous", "offset", "coulomb", "load", "stribeck"),
    *("coulomb_asymmetry", "viscous_asymmetry", "square_root"),
)
BASIC = FAMILIES[:6]
# Sums of terms that cannot be negative, or friction would drive: the family that gives way comes last.
NOT_NEGATIVE: tuple[dict[str, float], ...] = (
    {"rotor": 1.0},
    *({"viscous": 1.0, "viscous_asymmetry": side} for side in (1.0, -1.0)),
    {"load": 1.0},
    {"square_root": 1.0},
    *({"coulomb": 1.0, "coulomb_asymmetry": side} for side in (1.0, -1.0)),
    *({"coulomb": 1.0, "coulomb_asymmetry": side, "stribeck": 1.0} for side in (1.0, -1.0)),
)
LIMITS = np.array([[row.get(family, 0.0) for family in FAMILIES] for row in NOT_NEGATIVE])
GIVES_WAY = [[FAMILIES.index(family) for family in reversed(row)] for row in NOT_NEGATIVE]
LAMBDAS = tuple(10.0 ** np.arange(-3.0, 5.01, 0.5))
START_LAMBDA = 1.0
FOLDS = 5
ENOUGH_BAGS = 3  # fitted ones, to leave out whole bags: another motion is the harder judge
CLEARLY = (
    2.0  # standard errors of the difference by which other terms must improve data that were not fitted,
)
WORTH = 1e-3  # and the part of the joint's error in them that each must take away
# On the joints' own terms, of the largest of their kind: a joint that never moves keeps its values.
RIDGE = 1e-9


@dataclass(frozen=True)
class Nominal:
    """What the URDF says: ``inertial`` (bodies, 10), and of each joint what ``FAMILIES`` name (n, families).

    ``carried`` (bodies, 10): the part of each body that is fixed to its moving link and keeps its values.
    ``known``: bodies that are not identified at all. ``load_mass`` [kg]: of the last body, where it is the
    load at the tip, and its mass is known.
    """

    inertial: Array
    terms: Array
    carried: Array
    known: tuple[int, ...] = ()
    load_mass: float | None = None


@dataclass(frozen=True)
class Constraints:
    """What is asked for beyond physical consistency: total mass [kg], boxes for the centres.

    ``boxes``: for a body's number, the least and greatest coordinates (2, 3) of its centre of mass [m].
    """

    total_mass: float | None = None
    boxes: tuple[tuple[int, Array], ...] = ()

    @property
    def words(self) -> list[str]:
        """The constraints for a message."""
        mass = [] if self.total_mass is None else [f"a total mass of {self.total_mass:g} kg"]
        return mass + (["centres of mass inside the links' geometry"] if self.boxes else [])


class Choice(NamedTuple):
    """Which columns take part: widths by number, and ``active`` (n, families).

    ``origin`` (n, families): the values of the terms that are not fitted.
    """

    width: int
    stribeck: int
    active: Array
    origin: Array


@dataclass(frozen=True)
class Problem:
    """Products in the coordinates of the estimate. Unknowns x: y of all bodies, then each joint's families.

    ``gram`` (blocks, n, size, size): columns [y of all bodies | ``TERMS`` | measured | target], where the
    target is the measured effort without what is known and without what the URDF's bodies take.
    """

    bodies: tuple[BodyCoordinates, ...]
    nominal: Nominal
    constraints: Constraints
    gram: Array
    sigma: Array
    basis: Array = field(init=False)  # (10 bodies, 10 bodies): parameters by y

    def __post_init__(self) -> None:
        object.__setattr__(self, "basis", block_diag(*(body.basis for body in self.bodies)))

    @property
    def free(self) -> int:
        """Coordinates of all bodies."""
        return 10 * len(self.bodies)

    @property
    def joints(self) -> int:
        return int(self.gram.shape[1])

    @property
    def size(self) -> int:
        """How many unknowns."""
        return self.free + self.joints * len(FAMILIES)

    def inertial(self, y: Array) -> Array:
        """The parameters of all bodies, (bodies, 10)."""
        origin = np.stack([body.origin for body in self.bodies])
        return np.asarray(origin + (self.basis @ y[: self.free]).reshape(-1, 10))

    def place(self, joint: int) -> slice:
        """Where the unknowns of a joint's own terms lie."""
        return slice(self.free + len(FAMILIES) * joint, self.free + len(FAMILIES) * (joint + 1))


@dataclass(frozen=True)
class Solution:
    """Coordinates ``y`` (10 bodies,) of the bodies, and the joints' own ``terms`` (n, families)."""

    y: Array
    terms: Array

    @property
    def x(self) -> Array:
        """All unknowns."""
        return np.concatenate([self.y, self.terms.ravel()])


def problem_of(
    products: Products, layout: RowLayout, nominal: Nominal, constraints: Constraints, sigma: Array
) -> Problem:
    """The products in the coordinates of the estimate."""
    heaviest = float(nominal.inertial[:, 0].max())
    last = len(nominal.inertial) - 1
    bodies = tuple(
        body_at(parameters, heaviest, b in nominal.known, b == last and nominal.load_mass is not None)
        for b, parameters in enumerate(nominal.inertial)
    )
    basis = block_diag(*(body.basis for body in bodies))
    origin = np.concatenate([body.origin for body in bodies])
    free, count = len(basis), len(TERMS)
    E = np.zeros((layout.width, free + count + 2))
    E[: layout.base, :free] = layout.map @ basis
    E[layout.base : layout.base + count, free : free + count] = np.eye(count)
    E[-1, -2] = 1.0
    E[: layout.base, -1] = -(layout.map @ origin)
    E[-2, -1], E[-1, -1] = -1.0, 1.0
    return Problem(bodies, nominal, constraints, E.T @ products.gram @ E, sigma)


def columns_of(problem: Problem, choice: Choice) -> list[int]:
    """The columns of the families, in their order, in a joint's products."""
    width, stribeck = choice.width, choice.stribeck
    terms = {
        **{name: Term(name) for name in FAMILIES},
        **{name: Term(name, width) for name in ("coulomb", "load", "coulomb_asymmetry")},
        "stribeck": Term("stribeck", width, stribeck),
    }
    return [problem.free + TERMS.index(terms[family]) for family in FAMILIES]


def coefficients_of(problem: Problem, layout: RowLayout, choice: Choice, solution: Solution) -> Array:
    """The coefficients of a joint's row, (n, base + TERMS); those of widths that were not chosen are 0."""
    coefficients = np.zeros((problem.joints, layout.base + len(TERMS)))
    coefficients[:, : layout.base] = layout.map @ problem.inertial(solution.y).ravel()
    places = [layout.base + k - problem.free for k in columns_of(problem, choice)]
    coefficients[:, places] = solution.terms
    return coefficients


# Least squares without constraints


class Normal(NamedTuple):
    """H x = g of the plain least squares, and the power that remains: x' H x - 2 g' x + c."""

    H: Array
    g: Array
    c: float

    def __sub__(self, other: Any) -> "Normal":
        return Normal(self.H - other.H, self.g - other.g, self.c - other.c)

    def power(self, x: Array) -> float:
        """The weighted sum of squares of the residuals."""
        return float(x @ self.H @ x - 2 * self.g @ x + self.c)


def normal_by_joint(problem: Problem, choice: Choice, gram: Array) -> list[Normal]:
    """Normal equations of each joint from products (n, size, size), in units of its sigma."""
    columns, free = columns_of(problem, choice), problem.free
    own = np.array([*range(free), *columns])
    parts = []
    for j in range(problem.joints):
        G = gram[j] / problem.sigma[j] ** 2
        at = problem.place(j)
        place = np.array([*range(free), *range(at.start, at.stop)])
        H, g = np.zeros((problem.size, problem.size)), np.zeros(problem.size)
        H[np.ix_(place, place)] = G[np.ix_(own, own)]
        g[place] = G[own, -1]
        parts.append(Normal(H, g, float(G[-1, -1])))
    return parts


def total(parts: Sequence[Normal]) -> Normal:
    """The equations of several joints or blocks together."""
    return Normal(
        np.sum([part.H for part in parts], axis=0),
        np.sum([part.g for part in parts], axis=0),
        float(sum(part.c for part in parts)),
    )


class Reduced(NamedTuple):
    """H x = g of the unknowns that take part, regularised; the others have the values in ``start``."""

    H: Array
    g: Array
    used: NDArray[np.intp]
    ridge: Array
    start: Array


def reduced(problem: Problem, choice: Choice, normal: Normal, weight: float) -> Reduced:
    """The equations with lambda on the bodies, and next to nothing on the terms, towards their origin."""
    own = np.diag(normal.H)[problem.free :].reshape(-1, len(FAMILIES))
    ridge = np.full(problem.size, weight)
    ridge[problem.free :] = np.broadcast_to(RIDGE * own.max(axis=0) + 1e-12, own.shape).ravel()
    start = np.concatenate([np.zeros(problem.free), choice.origin.ravel()])
    takes_part = np.concatenate([np.ones(problem.free, bool), choice.active.ravel()])
    used = np.flatnonzero(takes_part)
    fixed = np.where(takes_part, 0.0, start)
    H = normal.H[np.ix_(used, used)] + np.diag(ridge[used])
    g = normal.g[used] - normal.H[used] @ fixed + ridge[used] * start[used]
    return Reduced(H, g, used, ridge[used], start)


def free_solution(problem: Problem, choice: Choice, normal: Normal, weight: float) -> Array:
    """The regularised estimate without constraints: all unknowns."""
    part = reduced(problem, choice, normal, weight)
    x: Array = part.start.copy()
    x[part.used] = np.linalg.solve(part.H, part.g)
    return x


# Choices by cross-validation


class Validation(NamedTuple):
    """The products of each fold and of each block, joint by joint, for cross-validation."""

    folds: tuple[tuple[int, ...], ...]
    whole: Array  # (n, size, size)
    by_fold: Array  # (folds, n, size, size)


def folds_of(bags: NDArray[np.intp], fitted: Mask) -> tuple[tuple[int, ...], ...]:
    """Blocks that are left out together: whole bags where there are enough, else neighbours in time.

    bags (blocks,): each block's bag; fitted (blocks,): those that are fitted at all.
    """
    blocks = np.flatnonzero(fitted)
    names = np.unique(bags[blocks])
    if len(names) >= ENOUGH_BAGS:
        groups = np.array_split(names, min(FOLDS, len(names)))
        return tuple(tuple(int(b) for b in blocks if bags[b] in group) for group in groups)
    parts: list[list[int]] = [[] for _ in range(FOLDS)]
    for name in names:
        for fold, part in enumerate(np.array_split(blocks[bags[blocks] == name], FOLDS)):
            parts[fold] += part.tolist()
    return tuple(tuple(part) for part in parts if part)


def validation_of(problem: Problem, folds: tuple[tuple[int, ...], ...]) -> Validation:
    """The sums that cross-validation uses."""
    by_fold = np.stack([problem.gram[list(fold)].sum(axis=0) for fold in folds])
    return Validation(folds, by_fold.sum(axis=0), by_fold)


def difference(a: Array, b: Array) -> tuple[float, float]:
    """Sum of a - b over blocks, and its standard error: blocks hardly depend on each other."""
    d = np.asarray(a - b)
    return float(d.sum()), float(np.sqrt(len(d)) * d.std(ddof=1)) if len(d) > 1 else 0.0


def block_errors(problem: Problem, choice: Choice, blocks: Sequence[int], x: Array) -> Array:
    """Weighted squared residuals of some blocks for an estimate: (blocks, n), in sigma^2."""
    columns = columns_of(problem, choice)
    errors = np.zeros((len(blocks), problem.joints))
    for j in range(problem.joints):
        v = np.zeros(problem.gram.shape[-1])
        v[: problem.free] = -x[: problem.free]
        v[-1] = 1.0
        v[columns] = -x[problem.place(j)]
        errors[:, j] = np.einsum("i,bij,j->b", v, problem.gram[list(blocks), j], v) / problem.sigma[j] ** 2
    return errors


def cross_validated(problem: Problem, choice: Choice, validation: Validation, weight: float) -> Array:
    """Errors (blocks, n) of every fitted block by the estimate from the other folds."""
    whole = total(normal_by_joint(problem, choice, validation.whole))
    errors = []
    for fold, gram in zip(validation.folds, validation.by_fold, strict=True):
        left = whole - total(normal_by_joint(problem, choice, gram))
        x = free_solution(problem, choice, left, weight)
        errors.append(block_errors(problem, choice, fold, x))
    return np.concatenate(errors)


def choose_widths(problem: Problem, validation: Validation, choice: Choice) -> Choice:
    """The widths of the smooth sign and of Stribeck's rise that explain data best that were not fitted."""
    return min(
        (
            choice._replace(width=width, stribeck=stribeck)
            for width in range(len(regression.COULOMB_WIDTHS))
            for stribeck in range(len(regression.STRIBECK_WIDTHS))
        ),
        key=lambda each: float(cross_validated(problem, each, validation, START_LAMBDA).sum()),
    )


def choose_lambda(problem: Problem, choice: Choice, validation: Validation) -> tuple[float, Array]:
    """The largest weight of the URDF that is as good as the best, and every weight's error."""
    errors = [cross_validated(problem, choice, validation, weight).sum(axis=1) for weight in LAMBDAS]
    best = int(np.argmin([error.sum() for error in errors]))
    chosen = best
    for k in range(best, len(LAMBDAS)):
        more, spread = difference(errors[k], errors[best])
        if more <= spread:
            chosen = k
    return LAMBDAS[chosen], np.array([error.sum() for error in errors])


def choose_terms(problem: Problem, choice: Choice, validation: Validation, weight: float) -> Choice:
    """The terms that data ask for that were not fitted.

    ``BASIC`` ones come first. Terms that are hard to tell from these, as friction by direction is from an
    offset, take part with a joint whose data are clearly better off with what is then chosen.
    """
    basic = choice.active & np.array([family in BASIC for family in FAMILIES])
    chosen = remaining_terms(problem, choice._replace(active=basic), validation, weight)
    if (basic == choice.active).all():
        return chosen
    richer = remaining_terms(problem, choice, validation, weight)
    errors = [cross_validated(problem, each, validation, weight) for each in (chosen, richer)]
    gain = errors[0] - errors[1]
    spread = np.sqrt(len(gain)) * gain.std(axis=0, ddof=1)
    better = gain.sum(axis=0) > np.maximum(CLEARLY * spread, WORTH * errors[0].sum(axis=0))
    active = np.where(better[:, None], richer.active, chosen.active)
    origin = np.where(better[:, None], richer.origin, chosen.origin)
    return choice._replace(active=active, origin=origin)


def remaining_terms(problem: Problem, choice: Choice, validation: Validation, weight: float) -> Choice:
    """Take out terms, one by one, until data that were not fitted miss each that is left.

    Fixing unknown i of a least-squares estimate x at o changes it by -H^-1 e_i (x_i - o) / (H^-1)_ii: every
    removal is judged without solving again. A term that is negative where it cannot be goes first, and is
    zero: the URDF's friction is a guess, which such data contradict.
    """
    whole = total(normal_by_joint(problem, choice, validation.whole))
    held = [
        [total(normal_by_joint(problem, choice, problem.gram[block])) for block in fold]
        for fold in validation.folds
    ]
    margin = np.array([0.0 if family in PLAIN else CLEARLY for family in FAMILIES])
    active, origin = choice.active.copy(), choice.origin.copy()
    while active.any():
        now = choice._replace(active=active, origin=origin)
        x = free_solution(problem, now, whole, weight)
        negative = _most_negative(active, x[problem.free :].reshape(-1, len(FAMILIES)))
        if negative is not None:
            active[negative], origin[negative] = False, 0.0
            continue
        losses, errors = _losses(problem, now, whole, held, validation.folds, weight)
        candidates = np.argwhere(active)
        spread = np.sqrt(len(losses)) * losses.std(axis=0, ddof=1)
        needed = np.maximum(margin[candidates[:, 1]] * spread, WORTH * errors[candidates[:, 0]])
        surplus = losses.sum(axis=0) - needed
        worst = int(np.argmin(surplus))
        if surplus[worst] >= 0.0:
            break
        active[tuple(candidates[worst])] = False
    return choice._replace(active=active, origin=origin)


def _most_negative(active: Array, terms: Array) -> tuple[int, int] | None:
    """Joint and family that must give way because a sum of its terms is farthest below zero."""
    sums = terms @ LIMITS.T
    fitted = active.astype(float) @ np.abs(LIMITS.T) > 0.0
    j, row = np.unravel_index(int(np.argmin(np.where(fitted, sums, np.inf))), sums.shape)
    if not fitted[j, row] or sums[j, row] >= 0.0:
        return None
    families = [f for f in GIVES_WAY[row] if active[j, f]]
    first = GIVES_WAY[row][-1]
    return int(j), first if first in families and terms[j, first] < 0.0 else families[0]


def _losses(
    problem: Problem,
    choice: Choice,
    whole: Normal,
    held: Sequence[Sequence[Normal]],
    folds: Sequence[Sequence[int]],
    weight: float,
) -> tuple[Array, Array]:
    """How much the held-out error of each block grows without each active term; each joint's error (n,).

    held: the equations of each fold's blocks.
    """
    errors = np.zeros(problem.joints)
    losses = []
    for fold, blocks in zip(folds, held, strict=True):
        part = reduced(problem, choice, whole - total(blocks), weight)
        terms = slice(problem.free, len(part.used))
        inverse = np.linalg.inv(part.H)
        x = part.start.copy()
        x[part.used] = inverse @ part.g
        columns = inverse[:, terms]
        step = (x - part.start)[part.used][terms] / np.diag(inverse)[terms]
        for block in blocks:
            slope = (block.H[part.used] @ x - block.g[part.used]) @ columns
            curve = np.einsum("ia,ia->a", columns, block.H[np.ix_(part.used, part.used)] @ columns)
            losses.append(-2 * step * slope + step**2 * curve)
        errors += block_errors(problem, choice, fold, x).sum(axis=0)
    return np.array(losses), errors
