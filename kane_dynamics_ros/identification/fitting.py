"""Fit within the cones: the estimate whose bodies can exist and whose friction never drives.

With residual r = tau - Z x, standard deviations sigma_j and the coordinates y_b of each body about the
nominal parameters (``bodies``), the estimate is

    min  sum_j sum_t w (r_tj / sigma_j)^2 + lambda sum_b |y_b|^2

Everything about data comes from sums over blocks of time, so that fitting without some of them costs next to
nothing. With positive definite pseudo-inertias P_b > 0, and the sums of terms in ``LIMITS`` not below zero,
it is a convex quadratic programme [Wensing2018, SousaCortesao2014, Lee2020].
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import block_diag
from scipy.optimize import minimize, nnls

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.identification.bodies import (
    BodyCoordinates,
    body_at,
    coordinates_of,
    matrix_of,
    pseudo_inertia,
)
from kane_dynamics_ros.identification.recordings import IdentificationError
from kane_dynamics_ros.identification.regression import (
    AT_REST,
    FAMILIES,
    LEAVES,
    LEFT_BY,
    TERMS,
    Guess,
    Memory,
    Regression,
    chosen_terms,
)

ROTOR, VISCOUS, OFFSET, COULOMB = range(4)  # places in ``FAMILIES``
LOAD, MOST_LOAD = FAMILIES.index("load"), 0.5  # that friction takes: gears with more could not be turned back
PLAIN = ("rotor", "viscous", "coulomb")  # what a URDF can carry: of every joint; they stay if data are better
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
SIGNED = [FAMILIES.index(family) for family in ("rotor", "viscous", "coulomb", "load", "square_root")]
SPRING = 1e4  # that holds a sum of terms at zero, over the stiffest of them
# On the joints' own terms, of the largest of their kind: a joint that never moves keeps its values.
RIDGE = 1e-9
RESOLVED = 1e-15  # of the largest entry: a smaller weight of the URDF would be lost in rounding
MARGIN = 1e-4  # smallest eigenvalue of a pseudo-inertia, in units of the URDF's
TOLERANCES = (1e-10, 1e-8, 1e-6)  # of the solver, the finest that it reaches
ROUNDING = 1e-9  # [N m s/rad] and the like: friction and rotors of less are at their bound, zero
SOLVED = ("Solved", "AlmostSolved")
CLEARLY = 2.0  # standard errors of a difference that counts
FELT = 0.1  # of a recording's power that the nominal effort must make up to estimate a gain from it
GAIN_LAMBDA, GAIN_PULL = 1.0, 1.0  # on the bodies and on log k, while gains are sought
REACH = 3.0  # of log k in one pass


class Nominal(NamedTuple):
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

    def bodies(self) -> tuple[BodyCoordinates, ...]:
        """The coordinates of all bodies about these parameters."""
        heaviest, last = float(self.inertial[:, 0].max()), len(self.inertial) - 1
        return tuple(
            body_at(parameters, heaviest, b in self.known, b == last and self.load_mass is not None)
            for b, parameters in enumerate(self.inertial)
        )


class Constraints(NamedTuple):
    """What is asked for beyond physical consistency: total mass [kg], boxes for the centres.

    ``boxes``: for a body's number, the least and greatest coordinates (2, 3) of its centre of mass [m].
    """

    total_mass: float | None = None
    boxes: tuple[tuple[int, Array], ...] = ()


class Choice(NamedTuple):
    """``active`` (n, families): the terms that are fitted; ``origin`` (n, families): values of the others.

    ``held`` (joint, row of ``LIMITS``): sums of terms that are zero, for they would be less.
    """

    active: Mask
    origin: Array
    held: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class Problem:
    """Products in the coordinates of the estimate. Unknowns x: y of all bodies, then each joint's families.

    ``gram`` (blocks, n, k, k), in units of each joint's noise ``sigma``: columns
    [y of all bodies | ``TERMS`` | measured | target], where the target is the measured effort without what is
    known and without what the URDF's bodies take. ``folds``: the blocks that are fitted, in groups that
    cross-validation leaves out together. ``widths``: the candidates of v_c and v_s that are used. ``at_rest``
    (n,): the part of Coulomb friction, of its change towards rest and of that by load, which a joint keeps at
    rest in the direction in which it moved last.
    """

    nominal: Nominal
    constraints: Constraints
    bodies: tuple[BodyCoordinates, ...]
    gram: Array
    sigma: Array
    folds: tuple[tuple[int, ...], ...]
    at_rest: Array
    widths: tuple[int, int] = (0, 0)

    @property
    def free(self) -> int:
        """Coordinates of all bodies."""
        return 10 * len(self.bodies)

    @property
    def joints(self) -> int:
        return len(self.sigma)

    @property
    def size(self) -> int:
        """How many unknowns."""
        return self.free + self.joints * len(FAMILIES)

    @cached_property
    def basis(self) -> Array:
        """(10 bodies, 10 bodies): the bodies' parameters by y."""
        return np.asarray(block_diag(*(body.basis for body in self.bodies)))

    def used(self, gram: Array) -> Array:
        """The columns of products (..., n, k, k) that are used: y, ``FAMILIES`` and the target."""
        *own, left, left_load = (self.free + k for k in chosen_terms(*self.widths))
        columns = np.array([*range(self.free), *own, gram.shape[-1] - 1, left, left_load])
        found = gram[..., columns[:, None], columns]
        for rows in (found, found.swapaxes(-1, -2)):
            rows[..., self.free + LEAVES, :] += self.at_rest[:, None, None] * rows[..., LEFT_BY, :]
        return found[..., : -len(AT_REST), : -len(AT_REST)]

    @cached_property
    def folded(self) -> tuple[Array, ...]:
        """The used products of the blocks of each fold, (blocks, n, u, u)."""
        return tuple(self.used(self.gram[list(fold)]) for fold in self.folds)

    @cached_property
    def whole(self) -> Array:
        """The used products of all that is fitted: (n, u, u)."""
        return np.asarray(sum(part.sum(axis=0) for part in self.folded))

    def inertial(self, x: Array) -> Array:
        """The parameters of all bodies, (bodies, 10)."""
        origin = np.stack([body.origin for body in self.bodies])
        return np.asarray(origin + (self.basis @ x[: self.free]).reshape(-1, 10))

    def terms(self, x: Array) -> Array:
        """The joints' own terms among the unknowns, (n, families)."""
        return x[self.free :].reshape(-1, len(FAMILIES))

    @cached_property
    def pull(self) -> Array:
        """How firmly the URDF's friction holds what data cannot tell: known to its own size."""
        size = np.where([family in PLAIN[1:] for family in FAMILIES], self.nominal.terms, 0.0)
        return np.asarray(1.0 / np.where(size > 0.0, size, np.inf) ** 2)

    @cached_property
    def places(self) -> NDArray[np.intp]:
        """Where the unknowns of each joint's row lie, the last of them being its target's: (n, u)."""
        own = [range(k, k + len(FAMILIES)) for k in range(self.free, self.size, len(FAMILIES))]
        return np.array([[*range(self.free), *each, self.size] for each in own])

    def equations(self, gram: Array) -> Array:
        """The normal equations of all joints together, from used products (..., n, u, u).

        (..., size + 1, size + 1): with v = (-x, 1), v' E v is the weighted sum of squares of the residuals;
        its last column holds the right-hand side.
        """
        E = np.zeros((*gram.shape[:-3], self.size + 1, self.size + 1))
        for j, at in enumerate(self.places):
            E[..., at[:, None], at] += gram[..., j, :, :]
        return E

    @cached_property
    def by_fold(self) -> Array:
        """The normal equations of each fold, (folds, size + 1, size + 1)."""
        return np.stack([self.equations(part.sum(axis=0)) for part in self.folded])

    def errors(self, gram: Array, x: Array) -> Array:
        """The weighted sums of squares of each joint's residuals, from used products: (..., n)."""
        own = np.append(-x, 1.0)[self.places]
        return np.asarray(np.einsum("...ji,ji->...j", (gram @ own[..., None])[..., 0], own))

    def coefficients(self, regression: Regression, x: Array) -> Array:
        """The coefficients of a joint's row, (n, base + terms); those of widths that are not used are 0."""
        return self.with_terms(regression, self.inertial(x), self.terms(x), self.at_rest)

    def with_terms(self, regression: Regression, inertial: Array, terms: Array, at_rest: Array) -> Array:
        """The coefficients of rows for bodies (10 bodies,), terms (n, families), parts ``at_rest`` (n,)."""
        found = np.zeros((self.joints, regression.width - 2))
        found[:, : regression.base] = regression.map @ inertial.ravel()
        *own, left, left_load = (regression.base + k for k in chosen_terms(*self.widths))
        found[:, own] = terms
        coulomb, stribeck, load = terms[:, LEAVES].T
        found[:, left], found[:, left_load] = at_rest * (coulomb + stribeck), at_rest * load
        return found

    def own_terms(self, regression: Regression, Z: Array) -> Array:
        """Of rows (N, n, width) the columns (N, n, families), each with what it leaves at rest."""
        found = Z[..., [regression.base + k for k in chosen_terms(*self.widths)]]
        found[..., LEAVES] += self.at_rest[:, None] * found[..., LEFT_BY]
        return np.asarray(found[..., : -len(AT_REST)])


def coordinates_gram(gram: Array, regression: Regression, nominal: Nominal) -> Array:
    """Products (..., width, width) of the regression's columns as those of ``Problem.gram``, unscaled."""
    bodies = nominal.bodies()
    basis = block_diag(*(body.basis for body in bodies))
    free, base, terms = len(basis), regression.base, len(TERMS)
    E = np.zeros((regression.width, free + terms + 2))
    E[:base, :free] = regression.map @ basis
    E[base:-2, free:-2] = np.eye(terms)
    E[-1, -2] = 1.0
    E[:base, -1] = -(regression.map @ np.concatenate([body.origin for body in bodies]))
    E[-2, -1], E[-1, -1] = -1.0, 1.0
    return np.asarray(E.T @ gram @ E)


# Least squares without constraints


class Reduced(NamedTuple):
    """H x = g of the unknowns that take part, regularised; the others have the values in ``start``."""

    H: Array
    g: Array
    used: NDArray[np.intp]
    start: Array


def reduced(problem: Problem, choice: Choice, E: Array, weight: float) -> Reduced:
    """The equations with lambda on the bodies, and next to nothing on the terms, towards their origin."""
    H, g = E[:-1, :-1], E[:-1, -1]
    own = problem.terms(np.diag(H))
    ridge = np.full(problem.size, max(weight, RESOLVED * np.diag(H).max()))
    ridge[problem.free :] = np.broadcast_to(RIDGE * own.max(axis=0) + 1e-12, own.shape).ravel()
    start = np.concatenate([np.zeros(problem.free), choice.origin.ravel()])
    takes_part = np.concatenate([np.ones(problem.free, bool), choice.active.ravel()])
    used = np.flatnonzero(takes_part)
    right = g[used] - H[used] @ np.where(takes_part, 0.0, start) + ridge[used] * start[used]
    own_H = H[np.ix_(used, used)] + np.diag(ridge[used])
    for j, limit in choice.held:  # by a stiff spring: its terms' families all take part
        row = np.zeros(problem.size)
        row[problem.places[j, problem.free : -1]] = LIMITS[limit]
        row = row[used]
        own_H += SPRING * np.diag(own_H)[row != 0.0].max() * np.outer(row, row)
    return Reduced(own_H, right, used, start)


def free_solution(problem: Problem, choice: Choice, E: Array, weight: float) -> Array:
    """The regularised estimate without constraints: all unknowns."""
    part = reduced(problem, choice, E, weight)
    x: Array = part.start.copy()
    x[part.used] = np.linalg.solve(part.H, part.g)
    return x


# Within the cones


def constrained_solution(problem: Problem, choice: Choice, E: Array, weight: float) -> Array:
    """The estimate within all constraints: all unknowns. Raises ``IdentificationError``."""
    try:
        import clarabel
    except ImportError as error:
        raise IdentificationError(
            "identify needs the solver Clarabel, which is not installed: pip install '.[identify]' in a "
            "checkout, or pip install clarabel",
            "no_solver",
        ) from error
    part = reduced(problem, choice._replace(held=frozenset()), E, weight)
    scale = 1.0 / np.sqrt(np.diag(part.H))
    sizes, axes = np.linalg.eigh(part.H * scale * scale[:, None])
    # x = to_x y, with |y|^2 for the objective's x^T H x: what is hardly seen is as large as the rest
    to_x = scale[:, None] * axes / np.sqrt(np.maximum(sizes, np.finfo(float).eps * sizes[-1]))
    bodies = [b for b, body in enumerate(problem.bodies) if body.basis.any()]
    blocks = [  # of rows right - values @ x, and their cones
        (_total_mass(problem), clarabel.ZeroConeT),
        (_above_zero(problem, choice), clarabel.NonnegativeConeT),
        *((_positive_definite(problem, b), lambda _: clarabel.PSDTriangleConeT(4)) for b in bodies),
    ]
    blocks = [(rows, cone) for rows, cone in blocks if len(rows)]
    rows = np.concatenate([rows for rows, _ in blocks])
    values, fixed = rows[:, :-1], part.start.copy()
    fixed[part.used] = 0.0
    programme = (
        sparse.identity(len(part.used), format="csc"),
        -part.g @ to_x,
        sparse.csc_matrix(values[:, part.used] @ to_x),
        rows[:, -1] - values @ fixed,
        [cone(len(rows)) for rows, cone in blocks],
    )
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_iter = False, 200
    for tolerance in TOLERANCES:
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        found = clarabel.DefaultSolver(*programme, settings).solve()
        status = str(found.status)
        if status in SOLVED:
            break
    else:
        mass, boxes = problem.constraints
        words = [] if mass is None else [f"a total mass of {mass:g} kg"]
        words += ["centres of mass inside the links' geometry"] * bool(boxes)
        raise IdentificationError(
            f"the solver stopped with {status!r}: no parameters meet every constraint (asked for: "
            f"{', '.join(words) or 'only bodies that can exist'}); loosen or leave out what was asked for",
            "solver_failed",
            status=status,
            constraints=words,
        )
    x: Array = part.start.copy()
    x[part.used] = to_x @ np.asarray(found.x)
    terms = problem.terms(x)
    terms[:, SIGNED] *= terms[:, SIGNED] > ROUNDING
    return x


def _total_mass(problem: Problem) -> Array:
    """The bodies' mass less what it shall be: one row, or none."""
    if problem.constraints.total_mass is None:
        return np.zeros((0, problem.size + 1))
    row = np.zeros((1, problem.size + 1))
    row[0, : problem.free] = problem.basis[::10].sum(axis=0)
    row[0, -1] = problem.constraints.total_mass - sum(float(body.origin[0]) for body in problem.bodies)
    return row


def _above_zero(problem: Problem, choice: Choice) -> Array:
    """The sums of a joint's terms that cannot be negative, friction by load up to its most, and centres.

    These as sign h <= bound m for both sides of each box.
    """
    rows = []
    for j, active in enumerate(choice.active):
        if active[LOAD]:
            row = np.zeros(problem.size + 1)
            row[problem.places[j, problem.free + LOAD]], row[-1] = 1.0, MOST_LOAD
            rows.append(row)
        for limit in LIMITS[(LIMITS != 0.0) @ active]:
            row = np.zeros(problem.size + 1)
            row[problem.places[j, problem.free : -1]] = -limit
            rows.append(row)
    for b, box in problem.constraints.boxes:
        basis, origin = problem.bodies[b].basis, problem.bodies[b].origin
        for axis in range(3):
            for sign, bound in ((1.0, box[1, axis]), (-1.0, -box[0, axis])):
                row = np.zeros(problem.size + 1)
                row[10 * b : 10 * b + 10] = sign * basis[1 + axis] - bound * basis[0]
                row[-1] = bound * origin[0] - sign * origin[1 + axis]
                rows.append(row)
    return np.array(rows).reshape(-1, problem.size + 1)


def _positive_definite(problem: Problem, b: int) -> Array:
    """The pseudo-inertia of a body's own part, beyond ``MARGIN``, in its coordinates: ten rows."""
    body = problem.bodies[b]
    inverse = np.linalg.inv(body.root)
    rows = np.zeros((10, problem.size + 1))
    rows[:, 10 * b : 10 * b + 10] = -coordinates_of(inverse @ pseudo_inertia(body.basis.T) @ inverse.T).T
    rows[:, -1] = coordinates_of(own_part(problem, b, body.origin) - MARGIN * np.eye(4))
    return rows


def own_part(problem: Problem, b: int, parameters: Array) -> Array:
    """The pseudo-inertia of what a body does not only carry, (4, 4), in units of the URDF's."""
    inverse = np.linalg.inv(problem.bodies[b].root)
    own = pseudo_inertia(parameters) - pseudo_inertia(problem.nominal.carried[b])
    return np.asarray(inverse @ own @ inverse.T)


def nearest_consistent(problem: Problem, x: Array) -> Array:
    """The estimate with each body that rounding has made impossible moved just inside the possible."""
    fixed: Array = x.copy()
    for b, body in enumerate(problem.bodies):
        at = slice(10 * b, 10 * b + 10)
        if body.basis.any() and problem.nominal.load_mass is None:
            at_origin = own_part(problem, b, body.origin)
            values, axes = np.linalg.eigh(at_origin + matrix_of(x[at]))
            own = (axes * np.maximum(values, MARGIN / 2)) @ axes.T
            fixed[at] = coordinates_of(own - at_origin)
    return fixed


def bodies_at_bound(problem: Problem, x: Array) -> tuple[int, ...]:
    """The bodies whose own part is as near to what no body can have as the constraint allows."""
    return tuple(
        b
        for b, parameters in enumerate(problem.inertial(x))
        if problem.bodies[b].basis.any()
        and np.linalg.eigvalsh(own_part(problem, b, parameters))[0] < 2 * MARGIN
    )


def plain_terms(problem: Problem, choice: Choice, x: Array) -> Array:
    """The terms (n, families) where only those of a URDF are allowed.

    The bodies and rotors keep what was found; where a term beyond was chosen, or one stays at rest, viscous
    and Coulomb friction are fitted again within the same bounds, drawn to the URDF weakly, and by ``pull``.
    No constant is fitted beside them, for a URDF has none: where a joint moves one way only, it would take
    the friction's place.
    """
    plain = np.array([family in PLAIN for family in FAMILIES])
    found = np.where(plain, problem.terms(x), 0.0)
    pair, whole = [VISCOUS, COULOMB], replace(problem, at_rest=np.zeros(problem.joints)).whole
    for j in np.flatnonzero((choice.active & ~plain).any(axis=1) | (problem.at_rest > 0.0)):
        G = whole[j]
        own = np.append(-x, 1.0)[problem.places[j]]  # (-x, 1) without any friction
        own[problem.free + 1 : -1] = 0.0
        at = [problem.free + f for f in pair]
        H, g = G[np.ix_(at, at)], G[at] @ own
        size = np.sqrt(np.maximum(np.diag(H), 1e-300))
        ridge = RIDGE + problem.pull[j, pair] / size**2
        root = np.linalg.cholesky(H / size / size[:, None] + np.diag(ridge))
        right = g / size + ridge * problem.nominal.terms[j, pair] * size
        found[j, pair] = nnls(root.T, np.linalg.solve(root, right))[0] / size
    return found


# Gains of the drives


class Gains(NamedTuple):
    """Effort per recorded unit over what it was taken for (n,), standard errors of its log (n,)."""

    factor: Array
    error: Array


@dataclass(frozen=True)
class Stage:
    """What one pass has taught: the next one's guess, the problem, all terms chosen.

    ``problem``: each of its blocks is all of a fold, which is enough until terms are chosen.

    ``samples``: of the fitted data; ``condition``: of their base regressor, columns of unit length, rows in
    units of each joint's noise. ``used_gain`` (n,): the products'; ``gains``: by which factor it would be
    better.
    """

    guess: Guess
    problem: Problem
    choice: Choice
    samples: float
    condition: float
    memory: Memory
    used_gain: Array
    gains: Gains

    @property
    def independent(self) -> float:
        """How many independent residuals there are."""
        return self.samples / self.memory.each


def nominal_gains(gram: Array, regression: Regression, nominal: Nominal) -> Array:
    """Effort per recorded unit by which the URDF's effort and friction explain the recording: (n,).

    ``gram`` (n, width, width) is fitted with the URDF's effort, viscous and Coulomb friction and a constant.
    A joint that does not feel the URDF's bodies takes the middle of the others.
    """
    beside = [regression.base + chosen_terms(0, 0)[f] for f in (VISCOUS, COULOMB, OFFSET)]
    v = np.zeros((regression.width, 4))
    v[: regression.base, 0], v[-2, 0] = regression.map @ nominal.inertial.ravel(), 1.0
    v[beside, [1, 2, 3]] = 1.0
    gains = np.full(len(gram), np.nan)
    for j, G in enumerate(gram):
        H = v.T @ G @ v
        x = np.linalg.lstsq(H, v.T @ G[:, -1], rcond=1e-12)[0]
        if x[0] > 0.0 and x[0] ** 2 * H[0, 0] > FELT * G[-1, -1]:
            gains[j] = 1.0 / x[0]
    return np.where(np.isfinite(gains), gains, np.nanmedian(gains) if np.isfinite(gains).any() else 1.0)


def gain_cost(logarithm: Array, problem: Problem, choice: Choice, gram: Array) -> float:
    """What gains of these logarithms (n,) leave, where they are as good as all else allows.

    min over all else of sum (k_j tau_j - known - Z x)^2 / (k_j sigma_j)^2 + lambda |y|^2: in the units of the
    recording, or k = 0 would fit best. Only the known bodies and the URDF distinguish one k from another, and
    some joints feel neither: a weak pull holds each k where it was.
    """
    k = np.exp(logarithm)
    mixed = gram.copy()  # the target is k times the measured effort less the rest
    mixed[:, :, -1] += (k - 1.0)[:, None] * mixed[:, :, -2]
    mixed[:, -1, :] += (k - 1.0)[:, None] * mixed[:, -2, :]
    E = problem.equations(problem.used(mixed / k[:, None, None] ** 2))
    x = free_solution(problem, choice, E, GAIN_LAMBDA)
    v = np.append(-x, 1.0)
    pull = GAIN_LAMBDA * x[: problem.free] @ x[: problem.free] + GAIN_PULL * logarithm @ logarithm
    return float(v @ E @ v + pull)


def best_gains(problem: Problem, choice: Choice, gram: Array, start: Array) -> Array:
    """The logarithms (n,) of the gains that cost least, none of them beyond ``REACH``."""
    bounds = [(-REACH, REACH)] * problem.joints
    data, options = (problem, choice, gram), {"maxiter": 60}
    return np.asarray(minimize(gain_cost, start, data, "L-BFGS-B", bounds=bounds, options=options).x)


def fitted_gains(problem: Problem, choice: Choice, samples_each: float) -> Gains:
    """Factors of recorded efforts with which bodies, frictions and payloads fit best; errors by noise.

    A factor at the bound is none that data determine: its error is infinite.
    """
    gram, n = sum(problem.gram[list(fold)].sum(axis=0) for fold in problem.folds), problem.joints
    found = best_gains(problem, choice, gram, np.zeros(n))
    step = 1e-3 * np.eye(n)
    hessian = np.zeros((n, n))
    for i in range(n):
        for j in range(i, n):
            corners = ((1, 1), (1, -1), (-1, 1), (-1, -1))
            a, b, c, d = (
                gain_cost(found + s * step[i] + t * step[j], problem, choice, gram) for s, t in corners
            )
            hessian[i, j] = hessian[j, i] = (a - b - c + d) / (4 * step[0, 0] ** 2)
    error = np.sqrt(np.maximum(2.0 * samples_each * np.diag(np.linalg.pinv(hessian)), 0.0))
    return Gains(np.exp(found), np.where(np.abs(found) > 0.99 * REACH, np.inf, error))


def honest_gains(stage: Stage, halves: Array) -> Gains:
    """The gains of a stage with errors that cover more than noise.

    They are at least half of what a gain changes by between both halves of the data, (2, n, width, width) in
    coordinates, and without friction by load, or with it alone.
    """
    problem, choice, found = stage.problem, stage.choice, np.log(stage.gains.factor)
    whole = sum(problem.gram[list(fold)].sum(axis=0) for fold in problem.folds)
    weighted = halves / problem.sigma[:, None, None] ** 2
    first, second = (best_gains(problem, choice, half, found) for half in weighted)
    by_load = np.array([family == "load" for family in FAMILIES])
    beside = np.array([family not in (*PLAIN, "offset", "load") for family in FAMILIES])
    poorer = [
        best_gains(problem, choice._replace(active=choice.active & ~left), whole, found)
        for left in (by_load, beside)
    ]
    differences = [second - first, *(each - found for each in poorer)]
    return Gains(stage.gains.factor, np.maximum(stage.gains.error, np.abs(differences).max(axis=0) / 2))
