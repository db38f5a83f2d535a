"""Parameters from products of the linear model: chosen terms, regularisation, constraints, standard errors.

With residual r = tau - Z x, standard deviations sigma_j and the coordinates y_b of each body about the
nominal parameters (``pseudo_inertia``), the estimate is

    min  sum_j sum_t w (r_tj / sigma_j)^2 + lambda sum_b |y_b|^2,    P_b > 0, frictions and rotors >= 0

a convex quadratic programme with semidefinite cones [Wensing2018, SousaCortesao2014, Lee2020]. Everything
about data comes from sums over blocks of time, so that fitting without some of them and judging by these
costs next to nothing:

* terms of friction are taken out one by one for as long as data that were not fitted do not miss them,
* lambda is the largest that is as good as the best, within one standard error of the difference block by
  block.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import block_diag
from scipy.optimize import minimize

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.identification.pseudo_inertia import (
    BodyCoordinates,
    body_at,
    coordinates_of,
    matrix_of,
    pseudo_inertia,
)
from kane_dynamics_ros.identification.regression import (
    COULOMB_WIDTHS,
    STRIBECK_WIDTHS,
    TERMS,
    Products,
    RowLayout,
    Term,
)
from kane_dynamics_ros.replay.messages import Mask

FAMILIES = ("rotor", "viscous", "offset", "coulomb", "load", "stribeck")
NOT_NEGATIVE = ("rotor", "viscous", "coulomb", "load")
COULOMB, STRIBECK = FAMILIES.index("coulomb"), FAMILIES.index("stribeck")
LAMBDAS = tuple(10.0 ** np.arange(-3.0, 5.01, 0.5))
START_LAMBDA = 1.0
FOLDS = 5
ENOUGH_BAGS = 3  # fitted ones, to leave out whole bags: another motion is the harder judge
USUAL = ("rotor", "viscous", "coulomb")  # terms of every joint: they stay if data are better off with them
CLEARLY = 2.0  # standard errors of the difference by which any other must improve data that were not fitted,
WORTH = 1e-3  # and the part of the joint's error in them that each must take away
MARGIN = 1e-4  # smallest eigenvalue of a pseudo-inertia, in units of the URDF's
GAIN_LAMBDA, GAIN_PULL = 1.0, 1.0  # on the bodies and on log k, while gains are sought
# On the joints' own terms, of the largest of their kind: a joint that never moves keeps its values.
RIDGE = 1e-9


class SolverMissingError(KaneDynamicsError):
    """The optional solver of semidefinite programs is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "identify needs the solver Clarabel, which is not installed: pip install '.[identify]' in a "
            "checkout, or pip install clarabel"
        )


class SolverFailedError(KaneDynamicsError):
    """The solver found no parameters that satisfy every constraint."""

    def __init__(self, status: str, constraints: Sequence[str]) -> None:
        asked = ", ".join(constraints) or "none beyond physical consistency"
        super().__init__(
            f"the solver stopped with {status!r}: no parameters meet every constraint (asked for: {asked}); "
            "loosen or leave out what was asked for"
        )


# The problem


@dataclass(frozen=True)
class Nominal:
    """What the URDF says: ``inertial`` (bodies, 10), and of each joint what ``FAMILIES`` name (n, families).

    ``carried`` (bodies, 10): the part of each body that is fixed to its moving link and keeps its values.
    """

    inertial: Array
    terms: Array
    carried: Array


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
    """Which columns take part: widths by number, and ``active`` (n, families)."""

    width: int
    stribeck: int
    active: Array


@dataclass(frozen=True)
class Problem:
    """Products in the coordinates of the estimate.

    ``gram`` (blocks, n, size, size): columns [y of all bodies | ``TERMS`` | measured | target], where the
    target is the measured effort without what is known and without what the URDF's bodies take.
    """

    bodies: tuple[BodyCoordinates, ...]
    nominal: Nominal
    constraints: Constraints
    gram: Array
    count: Array
    sigma: Array

    @property
    def free(self) -> int:
        """Coordinates of all bodies."""
        return 10 * len(self.bodies)

    @property
    def joints(self) -> int:
        return int(self.gram.shape[1])


@dataclass(frozen=True)
class Solution:
    """Coordinates ``y`` (10 bodies,) of the bodies, and the joints' own ``terms`` (n, families).

    Terms that are not fitted are the URDF's.
    """

    y: Array
    terms: Array


def problem_of(
    products: Products, layout: RowLayout, nominal: Nominal, constraints: Constraints, sigma: Array
) -> Problem:
    """The products in the coordinates of the estimate."""
    heaviest = float(nominal.inertial[:, 0].max())
    bodies = tuple(body_at(parameters, heaviest) for parameters in nominal.inertial)
    basis = block_diag(*(body.basis for body in bodies))
    origin = np.concatenate([body.origin for body in bodies])
    count = len(TERMS)
    E = np.zeros((layout.width, nominal.inertial.size + count + 2))
    E[: layout.base, : len(basis)] = layout.map @ basis
    E[layout.base : layout.base + count, len(basis) : len(basis) + count] = np.eye(count)
    E[-1, -2] = 1.0
    E[: layout.base, -1] = -(layout.map @ origin)
    E[-2, -1], E[-1, -1] = -1.0, 1.0
    gram = E.T @ products.gram @ E
    return Problem(bodies, nominal, constraints, gram, products.count, sigma)


def columns_of(problem: Problem, choice: Choice) -> list[int]:
    """The columns of the families, in their order, in a joint's products."""
    wanted = [
        Term("rotor"),
        Term("viscous"),
        Term("offset"),
        Term("coulomb", choice.width),
        Term("load", choice.width),
        Term("stribeck", choice.width, choice.stribeck),
    ]
    return [problem.free + TERMS.index(term) for term in wanted]


# Least squares without constraints


class Normal(NamedTuple):
    """H x = g of the least squares without regularisation, and the power that remains: x' H x - 2 g' x + c.

    Unknowns: y of all bodies, then each joint's families as differences from the URDF.
    """

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
    columns = columns_of(problem, choice)
    free, F = problem.free, len(FAMILIES)
    size = free + F * problem.joints
    parts = []
    for j in range(problem.joints):
        own = np.array([*range(free), *columns])
        # the target loses what the URDF's own terms take
        change = np.zeros(gram.shape[-1])
        change[-1] = 1.0
        change[columns] -= problem.nominal.terms[j]
        G = gram[j] / problem.sigma[j] ** 2
        place = np.array([*range(free), *range(free + F * j, free + F * (j + 1))])
        H, g = np.zeros((size, size)), np.zeros(size)
        H[np.ix_(place, place)] = G[np.ix_(own, own)]
        g[place] = G[own] @ change
        parts.append(Normal(H, g, float(change @ G @ change)))
    return parts


def total(parts: Sequence[Normal]) -> Normal:
    """The equations of several joints or blocks together."""
    return Normal(
        np.sum([part.H for part in parts], axis=0),
        np.sum([part.g for part in parts], axis=0),
        float(sum(part.c for part in parts)),
    )


def unknowns(problem: Problem, choice: Choice) -> NDArray[np.intp]:
    """The numbers of the unknowns that take part: all coordinates, and active terms."""
    return np.flatnonzero(np.concatenate([np.ones(problem.free, bool), choice.active.ravel()]))


def ridge_of(problem: Problem, H: Array, weight: float) -> Array:
    """What is added to H's diagonal: lambda for the bodies, next to nothing for the terms."""
    ridge = np.full(len(H), weight)
    own = np.diag(H)[problem.free :].reshape(-1, len(FAMILIES))
    ridge[problem.free :] = np.broadcast_to(RIDGE * own.max(axis=0) + 1e-12, own.shape).ravel()
    return ridge


def free_solution(problem: Problem, choice: Choice, normal: Normal, weight: float) -> Array:
    """The regularised estimate without constraints: all unknowns, 0 where they take no part."""
    used = unknowns(problem, choice)
    ridge = ridge_of(problem, normal.H, weight)
    x = np.zeros(len(normal.g))
    H = normal.H[np.ix_(used, used)] + np.diag(ridge[used])
    x[used] = np.linalg.solve(H, normal.g[used])
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
    F = len(FAMILIES)
    errors = np.zeros((len(blocks), problem.joints))
    for j in range(problem.joints):
        own = x[problem.free + F * j : problem.free + F * (j + 1)]
        v = np.zeros(problem.gram.shape[-1])
        v[: problem.free] = -x[: problem.free]
        v[-1] = 1.0
        v[columns] -= problem.nominal.terms[j] + own
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


def choose_widths(problem: Problem, validation: Validation, active: Array) -> Choice:
    """The widths of the smooth sign and of Stribeck's rise that explain data best that were not fitted."""
    return min(
        (
            Choice(width, stribeck, active)
            for width in range(len(COULOMB_WIDTHS))
            for stribeck in range(len(STRIBECK_WIDTHS))
        ),
        key=lambda choice: float(cross_validated(problem, choice, validation, START_LAMBDA).sum()),
    )


def choose_terms(problem: Problem, choice: Choice, validation: Validation, weight: float) -> Choice:
    """Take out terms, one by one, until data that were not fitted miss each that is left.

    Leaving out unknown i of a least-squares estimate x changes it by -H^-1 e_i x_i / (H^-1)_ii: every removal
    is judged without solving again. A term that is negative where it cannot be goes first.
    """
    whole = total(normal_by_joint(problem, choice, validation.whole))
    held = [
        [normal_by_joint(problem, choice, problem.gram[block]) for block in fold] for fold in validation.folds
    ]
    margin = np.array([0.0 if family in USUAL else CLEARLY for family in FAMILIES])
    active = choice.active.copy()
    while active.any():
        now = Choice(choice.width, choice.stribeck, active)
        x = free_solution(problem, now, whole, weight)
        negative = _most_negative(problem, active, x)
        if negative is not None:
            active[negative] = False
            continue
        losses, errors = _losses(problem, now, whole, held, weight)
        candidates = np.argwhere(active)
        spread = np.sqrt(len(losses)) * losses.std(axis=0, ddof=1)
        needed = np.maximum(margin[candidates[:, 1]] * spread, WORTH * errors[candidates[:, 0]])
        surplus = losses.sum(axis=0) - needed
        worst = int(np.argmin(surplus))
        if surplus[worst] >= 0.0:
            break
        active[tuple(candidates[worst])] = False
    return Choice(choice.width, choice.stribeck, active)


def _most_negative(problem: Problem, active: Array, x: Array) -> tuple[int, int] | None:
    """Joint and family of the term farthest below zero where it cannot be, by its effort."""
    terms = problem.nominal.terms + x[problem.free :].reshape(-1, len(FAMILIES))
    terms[:, STRIBECK] = np.minimum(0.0, terms[:, COULOMB] + terms[:, STRIBECK])  # friction at rest
    bounded = np.array([family in (*NOT_NEGATIVE, "stribeck") for family in FAMILIES])
    forbidden = bounded & active & (terms < 0.0)
    if not forbidden.any():
        return None
    size = np.where(forbidden, np.abs(terms), 0.0)
    j, f = np.unravel_index(int(np.argmax(size)), size.shape)
    return int(j), int(f)


def _losses(
    problem: Problem,
    choice: Choice,
    whole: Normal,
    held: Sequence[Sequence[Sequence[Normal]]],
    weight: float,
) -> tuple[Array, Array]:
    """How much the held-out error of each block grows without each active term.

    Then each joint's error (n,).

    held: the equations of each fold's blocks, joint by joint.
    """
    used = unknowns(problem, choice)
    ridge = ridge_of(problem, whole.H, weight)[used]
    terms = slice(len(used) - int(choice.active.sum()), len(used))
    errors = np.zeros(problem.joints)
    losses = []
    for fold in held:
        blocks = [total(parts) for parts in fold]
        left = whole - total(blocks)
        inverse = np.linalg.inv(left.H[np.ix_(used, used)] + np.diag(ridge))
        x = inverse @ left.g[used]
        columns = inverse[:, terms]
        step = x[terms] / np.diag(inverse)[terms]
        full = np.zeros(len(whole.g))
        full[used] = x
        for block, parts in zip(blocks, fold, strict=True):
            G, g = block.H[np.ix_(used, used)], block.g[used]
            slope = (G @ x - g) @ columns
            curve = np.einsum("ia,ia->a", columns, G @ columns)
            losses.append(-2 * step * slope + step**2 * curve)
            errors += [part.power(full) for part in parts]
    return np.array(losses), errors


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


# The estimate within all constraints


def constrained_solution(problem: Problem, choice: Choice, normal: Normal, weight: float) -> Solution:
    """The estimate within all constraints. Raises ``SolverMissingError``, ``SolverFailedError``."""
    try:
        import clarabel
    except ImportError as error:
        raise SolverMissingError from error
    used = unknowns(problem, choice)
    ridge = ridge_of(problem, normal.H, weight)
    H = normal.H[np.ix_(used, used)] + np.diag(ridge[used])
    scale = 1.0 / np.sqrt(np.diag(H))
    H = H * scale * scale[:, None]
    rows, right, cones = _cones(problem, choice, used, clarabel)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = 200
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(H)),
        -normal.g[used] * scale,
        sparse.csc_matrix(rows * scale),
        right,
        cones,
        settings,
    )
    found = solver.solve()
    if str(found.status) not in ("Solved", "AlmostSolved"):
        raise SolverFailedError(str(found.status), problem.constraints.words)
    x = np.zeros(len(normal.g))
    x[used] = np.asarray(found.x) * scale
    return solution_of(problem, x)


def solution_of(problem: Problem, x: Array) -> Solution:
    """All unknowns taken apart; a friction that the solver left below zero by rounding is zero."""
    terms = problem.nominal.terms + x[problem.free :].reshape(-1, len(FAMILIES))
    signed = np.array([family in NOT_NEGATIVE for family in FAMILIES])
    return Solution(x[: problem.free], np.where(signed, np.maximum(terms, 0.0), terms))


def vector_of(problem: Problem, solution: Solution) -> Array:
    """The unknowns of a solution."""
    return np.concatenate([solution.y, (solution.terms - problem.nominal.terms).ravel()])


def _cones(
    problem: Problem, choice: Choice, used: NDArray[np.intp], clarabel: Any
) -> tuple[Array, Array, list[Any]]:
    """Constraints as right - rows @ x in cones.

    Positive definite bodies, terms above zero, and what was asked for.
    """
    rows: list[Array] = []
    right: list[float] = []
    cones: list[Any] = []
    above_zero = [*_terms_above_zero(problem, choice), *_centres_in_boxes(problem)]
    blocks: list[tuple[list[_Row], Any]] = [
        (_total_mass(problem), clarabel.ZeroConeT),
        (above_zero, clarabel.NonnegativeConeT),
    ]
    for block, cone in blocks:
        if block:
            rows += [row.values for row in block]
            right += [row.right for row in block]
            cones.append(cone(len(block)))
    for b, body in enumerate(problem.bodies):
        if body.basis.any():
            block = _positive_definite(problem, b)
            rows += [row.values for row in block]
            right += [row.right for row in block]
            cones.append(clarabel.PSDTriangleConeT(4))
    return np.array(rows)[:, used], np.array(right), cones


class _Row(NamedTuple):
    """One row of right - values @ x, x being all unknowns."""

    values: Array
    right: float


def _row(problem: Problem, values: Mapping[int, float], right: float) -> _Row:
    """The row with these values, by their unknowns' numbers."""
    line = np.zeros(problem.free + problem.joints * len(FAMILIES))
    for k, value in values.items():
        line[k] = value
    return _Row(line, right)


def _row_of_body(problem: Problem, b: int, values: Array, right: float) -> _Row:
    """The row with these values, (10,), at a body's unknowns."""
    return _row(problem, {10 * b + k: float(value) for k, value in enumerate(values)}, right)


def _total_mass(problem: Problem) -> list[_Row]:
    """The bodies' mass less what it shall be: one row, or none."""
    if problem.constraints.total_mass is None:
        return []
    values = {
        10 * b + k: float(x) for b, body in enumerate(problem.bodies) for k, x in enumerate(body.basis[0])
    }
    own = sum(float(body.origin[0]) for body in problem.bodies)
    return [_row(problem, values, problem.constraints.total_mass - own)]


def _terms_above_zero(problem: Problem, choice: Choice) -> list[_Row]:
    """The joints' own terms that cannot be negative, nor the friction next to rest: coulomb + stribeck."""
    rows = []
    terms = problem.nominal.terms
    for j, f in np.argwhere(choice.active):
        first = problem.free + len(FAMILIES) * int(j)
        if FAMILIES[f] in NOT_NEGATIVE:
            rows.append(_row(problem, {first + int(f): -1.0}, float(terms[j, f])))
        if f == STRIBECK:
            values = {first + COULOMB: -1.0, first + STRIBECK: -1.0}
            rows.append(_row(problem, values, float(terms[j, COULOMB] + terms[j, STRIBECK])))
    return rows


def _centres_in_boxes(problem: Problem) -> list[_Row]:
    """sign h <= bound m for both sides of each box along each axis."""
    rows = []
    for b, box in problem.constraints.boxes:
        body = problem.bodies[b]
        for axis in range(3):
            for sign, bound in ((1.0, box[1, axis]), (-1.0, -box[0, axis])):
                values = sign * body.basis[1 + axis] - bound * body.basis[0]
                right = float(bound * body.origin[0] - sign * body.origin[1 + axis])
                rows.append(_row_of_body(problem, b, values, right))
    return rows


def _positive_definite(problem: Problem, b: int) -> list[_Row]:
    """The pseudo-inertia of a body less what it carries, beyond ``MARGIN``, in its coordinates: ten rows."""
    body = problem.bodies[b]
    inverse = np.linalg.inv(body.root)
    own = pseudo_inertia(body.origin) - pseudo_inertia(problem.nominal.carried[b])
    at_nominal = coordinates_of(inverse @ own @ inverse.T - MARGIN * np.eye(4))
    return [_row(problem, {10 * b + k: -1.0}, float(at_nominal[k])) for k in range(10)]


def inertial_of(problem: Problem, y: Array) -> Array:
    """The parameters of all bodies, (bodies, 10)."""
    return np.stack(
        [body.origin + body.basis @ y[10 * b : 10 * b + 10] for b, body in enumerate(problem.bodies)]
    )


def nearest_consistent(problem: Problem, y: Array) -> Array:
    """``y`` with each body that rounding has made impossible moved just inside the possible."""
    fixed: Array = np.array(y)
    for b, body in enumerate(problem.bodies):
        if not body.basis.any():
            continue
        inverse = np.linalg.inv(body.root)
        carried = inverse @ pseudo_inertia(problem.nominal.carried[b]) @ inverse.T
        at_origin = inverse @ pseudo_inertia(body.origin) @ inverse.T
        own = at_origin + matrix_of(y[10 * b : 10 * b + 10]) - carried
        values, axes = np.linalg.eigh(own)
        own = (axes * np.maximum(values, MARGIN / 2)) @ axes.T
        fixed[10 * b : 10 * b + 10] = coordinates_of(own + carried - at_origin)
    return fixed


def bodies_at_bound(problem: Problem, y: Array) -> tuple[int, ...]:
    """The bodies whose own part is as near to what no body can have as the constraint allows."""
    found = []
    for b, body in enumerate(problem.bodies):
        if body.basis.any():
            inverse = np.linalg.inv(body.root)
            own = pseudo_inertia(body.origin + body.basis @ y[10 * b : 10 * b + 10])
            own = inverse @ (own - pseudo_inertia(problem.nominal.carried[b])) @ inverse.T
            if np.linalg.eigvalsh(own)[0] < 2 * MARGIN:
                found.append(b)
    return tuple(found)


# Gains of the drives


class Gains(NamedTuple):
    """Effort per recorded unit over what it was taken for (n,), standard errors of its log (n,)."""

    factor: Array
    error: Array


def fitted_gains(problem: Problem, choice: Choice, gram: Array, samples_each: float) -> Gains:
    """Factors k_j of recorded efforts with which bodies, frictions and known payloads fit best.

    The cost is min over all else of sum (k_j tau_j - known - Z x)^2 / (k_j sigma_j)^2 + lambda |y|^2: in the
    units of the recording, or k = 0 would fit best. Only the known bodies and the URDF distinguish one k from
    another, and some joints feel neither: a weak pull holds each k where it was. A factor less than
    ``CLEARLY`` standard errors from 1 is 1.
    """
    measured = problem.free + len(TERMS)
    n = problem.joints

    def cost(logarithm: Array) -> float:
        k = np.exp(logarithm)
        mixed = gram.copy()
        for j in range(n):
            mixed[j, -1] += (k[j] - 1.0) * gram[j, measured]
            mixed[j, :, -1] = mixed[j, -1]
            mixed[j, -1, -1] = (
                gram[j, -1, -1]
                + 2 * (k[j] - 1.0) * gram[j, measured, -1]
                + (k[j] - 1.0) ** 2 * gram[j, measured, measured]
            )
            mixed[j] /= k[j] ** 2
        normal = total(normal_by_joint(problem, choice, mixed))
        x = free_solution(problem, choice, normal, GAIN_LAMBDA)
        pull = GAIN_LAMBDA * float(x[: problem.free] @ x[: problem.free])
        return normal.power(x) + pull + GAIN_PULL * float(logarithm @ logarithm)

    found = minimize(cost, np.zeros(n), method="L-BFGS-B", options={"maxiter": 60})
    step = 1e-3
    hessian = np.zeros((n, n))
    for i in range(n):
        for j in range(i, n):
            a, b = step * np.eye(n)[i], step * np.eye(n)[j]
            corners = [cost(found.x + s * a + t * b) for s, t in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
            hessian[i, j] = hessian[j, i] = (corners[0] - corners[1] - corners[2] + corners[3]) / (
                4 * step**2
            )
    variance = 2.0 * samples_each * np.diag(np.linalg.pinv(hessian))
    error = np.sqrt(np.maximum(variance, 0.0))
    return Gains(np.where(np.abs(found.x) > CLEARLY * error, np.exp(found.x), 1.0), error)
