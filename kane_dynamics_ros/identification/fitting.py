"""Fit within the cones: the estimate whose bodies can exist and whose friction never drives.

A convex quadratic programme: the cost of ``choosing`` with positive definite pseudo-inertias P_b > 0 and
the sums of terms in ``choosing.NOT_NEGATIVE`` not below zero [Wensing2018, SousaCortesao2014, Lee2020].
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import lsq_linear, minimize

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.identification import choosing
from kane_dynamics_ros.identification.bodies import coordinates_of, matrix_of, pseudo_inertia
from kane_dynamics_ros.identification.choosing import FAMILIES, Choice, Normal, Problem, Solution
from kane_dynamics_ros.identification.recordings import IdentificationError
from kane_dynamics_ros.identification.regression import TERMS

MARGIN = 1e-4  # smallest eigenvalue of a pseudo-inertia, in units of the URDF's
TOLERANCES = (1e-10, 1e-8, 1e-6)  # of the solver, the finest that it reaches
SOLVED = ("Solved", "AlmostSolved")
GAIN_LAMBDA, GAIN_PULL = 1.0, 1.0  # on the bodies and on log k, while gains are sought
VISCOUS, COULOMB = FAMILIES.index("viscous"), FAMILIES.index("coulomb")


def constrained_solution(problem: Problem, choice: Choice, normal: Normal, weight: float) -> Solution:
    """The estimate within all constraints. Raises ``IdentificationError``."""
    try:
        import clarabel
    except ImportError as error:
        raise IdentificationError(
            "identify needs the solver Clarabel, which is not installed: pip install '.[identify]' in a "
            "checkout, or pip install clarabel",
            "no_solver",
        ) from error
    part = choosing.reduced(problem, choice, normal, weight)
    scale = 1.0 / np.sqrt(np.diag(part.H))
    H = part.H * scale * scale[:, None]
    blocks = [
        (_total_mass(problem), clarabel.ZeroConeT),
        (_above_zero(problem, choice), clarabel.NonnegativeConeT),
        *(
            (_positive_definite(problem, b), lambda _: clarabel.PSDTriangleConeT(4))
            for b, body in enumerate(problem.bodies)
            if body.basis.any()
        ),
    ]
    blocks = [(block, cone) for block, cone in blocks if len(block.right)]
    rows = np.concatenate([block.values for block, _ in blocks])
    fixed = part.start.copy()
    fixed[part.used] = 0.0
    right = np.concatenate([block.right for block, _ in blocks]) - rows @ fixed
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_iter = False, 200
    programme = (
        sparse.csc_matrix(np.triu(H)),
        -part.g * scale,
        sparse.csc_matrix(rows[:, part.used] * scale),
        right,
        [cone(len(block.right)) for block, cone in blocks],
    )
    for tolerance in TOLERANCES:
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        found = clarabel.DefaultSolver(*programme, settings).solve()
        status = str(found.status)
        if status in SOLVED:
            break
    else:
        words = problem.constraints.words
        raise IdentificationError(
            f"the solver stopped with {status!r}: no parameters meet every constraint (asked for: "
            f"{', '.join(words) or 'only bodies that can exist'}); loosen or leave out what was asked for",
            "solver_failed",
            status=status,
            constraints=words,
        )
    x = part.start.copy()
    x[part.used] = np.asarray(found.x) * scale
    terms = x[problem.free :].reshape(-1, len(FAMILIES))
    single = (np.abs(choosing.LIMITS) > 0.0).sum(axis=1) == 1
    signed = np.abs(choosing.LIMITS[single]).any(axis=0)
    signed[[VISCOUS, COULOMB]] = True
    return Solution(x[: problem.free], np.where(signed, np.maximum(terms, 0.0), terms))  # less by rounding


class _Rows(NamedTuple):
    """Rows of a cone: right - values @ x, x being all unknowns."""

    values: Array  # (rows, unknowns)
    right: Array  # (rows,)


def _total_mass(problem: Problem) -> _Rows:
    """The bodies' mass less what it shall be: one row, or none."""
    if problem.constraints.total_mass is None:
        return _Rows(np.zeros((0, problem.size)), np.zeros(0))
    values = np.zeros((1, problem.size))
    values[0, : problem.free] = problem.basis[::10].sum(axis=0)
    own = sum(float(body.origin[0]) for body in problem.bodies)
    return _Rows(values, np.array([problem.constraints.total_mass - own]))


def _above_zero(problem: Problem, choice: Choice) -> _Rows:
    """The sums of a joint's terms that cannot be negative; sign h <= bound m for both sides of each box."""
    rows, right = [], []
    for j, active in enumerate(choice.active):
        for limit in choosing.LIMITS[(np.abs(choosing.LIMITS) @ active) > 0.0]:
            row = np.zeros(problem.size)
            row[problem.place(j)] = -limit
            rows.append(row)
            right.append(0.0)
    for b, box in problem.constraints.boxes:
        body, at = problem.bodies[b], slice(10 * b, 10 * b + 10)
        for axis in range(3):
            for sign, bound in ((1.0, box[1, axis]), (-1.0, -box[0, axis])):
                row = np.zeros(problem.size)
                row[at] = sign * body.basis[1 + axis] - bound * body.basis[0]
                rows.append(row)
                right.append(float(bound * body.origin[0] - sign * body.origin[1 + axis]))
    return _Rows(np.array(rows).reshape(-1, problem.size), np.array(right))


def own_part(problem: Problem, b: int, parameters: Array) -> Array:
    """The pseudo-inertia of what a body does not only carry, (4, 4), in units of the URDF's."""
    inverse = np.linalg.inv(problem.bodies[b].root)
    own = pseudo_inertia(parameters) - pseudo_inertia(problem.nominal.carried[b])
    return np.asarray(inverse @ own @ inverse.T)


def _positive_definite(problem: Problem, b: int) -> _Rows:
    """The pseudo-inertia of a body's own part, beyond ``MARGIN``, in its coordinates: ten rows."""
    body = problem.bodies[b]
    inverse = np.linalg.inv(body.root)
    values = np.zeros((10, problem.size))
    for k, parameters in enumerate(body.basis.T):
        values[:, 10 * b + k] = -coordinates_of(inverse @ pseudo_inertia(parameters) @ inverse.T)
    return _Rows(values, coordinates_of(own_part(problem, b, body.origin) - MARGIN * np.eye(4)))


def nearest_consistent(problem: Problem, solution: Solution) -> Solution:
    """The solution with each body that rounding has made impossible moved just inside the possible."""
    fixed = solution.y.copy()
    for b, body in enumerate(problem.bodies):
        at = slice(10 * b, 10 * b + 10)
        if not body.basis.any() or problem.nominal.load_mass is not None:
            continue
        at_origin = own_part(problem, b, body.origin)
        values, axes = np.linalg.eigh(at_origin + matrix_of(fixed[at]))
        own = (axes * np.maximum(values, MARGIN / 2)) @ axes.T
        fixed[at] = coordinates_of(own - at_origin)
    return Solution(fixed, solution.terms)


def bodies_at_bound(problem: Problem, y: Array) -> tuple[int, ...]:
    """The bodies whose own part is as near to what no body can have as the constraint allows."""
    inertial = problem.inertial(y)
    return tuple(
        b
        for b, body in enumerate(problem.bodies)
        if body.basis.any() and np.linalg.eigvalsh(own_part(problem, b, inertial[b]))[0] < 2 * MARGIN
    )


def plain_terms(problem: Problem, choice: Choice, gram: Array, solution: Solution) -> Array:
    """The terms (n, families) where only those of a URDF are allowed.

    The bodies and rotors keep what was found; where a term beyond was chosen, viscous and Coulomb friction
    are fitted again within the same bounds, with the same weak pull to the URDF. No constant is fitted beside
    them, for a URDF has none: where a joint moves one way only, it would take the friction's place.
    """
    plain = np.where([family in choosing.PLAIN for family in FAMILIES], solution.terms, 0.0)
    beyond = choice.active & ~np.array([family in choosing.PLAIN for family in FAMILIES])
    normals = choosing.normal_by_joint(problem, choice, gram)
    for j in np.flatnonzero(beyond.any(axis=1)):
        at = [problem.place(int(j)).start + f for f in (VISCOUS, COULOMB)]
        terms = np.zeros_like(solution.terms)  # no friction at all, but what moves with the joint
        terms[j, 0] = solution.terms[j, 0]
        H = normals[j].H[np.ix_(at, at)]
        g = normals[j].g[at] - normals[j].H[at] @ Solution(solution.y, terms).x
        size = np.sqrt(np.maximum(np.diag(H), 1e-300))
        origin = problem.nominal.terms[j, [VISCOUS, COULOMB]] * size
        root = np.linalg.cholesky(H / size / size[:, None] + choosing.RIDGE * np.eye(2))
        found = lsq_linear(root.T, np.linalg.solve(root, g / size + choosing.RIDGE * origin), (0.0, np.inf))
        plain[j, [VISCOUS, COULOMB]] = found.x / size
    return plain


# Gains of the drives


class Gains(NamedTuple):
    """Effort per recorded unit over what it was taken for (n,), standard errors of its log (n,)."""

    factor: Array
    error: Array


def fitted_gains(problem: Problem, choice: Choice, gram: Array, samples_each: float) -> Gains:
    """Factors k_j of recorded efforts with which bodies, frictions and payloads fit best.

    The cost is min over all else of sum (k_j tau_j - known - Z x)^2 / (k_j sigma_j)^2 + lambda |y|^2: in the
    units of the recording, or k = 0 would fit best. Only the known bodies and the URDF distinguish one k from
    another, and some joints feel neither: a weak pull holds each k where it was. A factor less than
    ``choosing.CLEARLY`` standard errors from 1 is 1.
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
        normal = choosing.total(choosing.normal_by_joint(problem, choice, mixed))
        x = choosing.free_solution(problem, choice, normal, GAIN_LAMBDA)
        pull = GAIN_LAMBDA * float(x[: problem.free] @ x[: problem.free])
        return normal.power(x) + pull + GAIN_PULL * float(logarithm @ logarithm)

    found = minimize(cost, np.zeros(n), method="L-BFGS-B", options={"maxiter": 60})
    step = 1e-3
    hessian = np.zeros((n, n))
    for i in range(n):
        for j in range(i, n):
            a, b = step * np.eye(n)[i], step * np.eye(n)[j]
            corners = [cost(found.x + s * a + t * b) for s, t in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
            second = (corners[0] - corners[1] - corners[2] + corners[3]) / (4 * step**2)
            hessian[i, j] = hessian[j, i] = second
    variance = 2.0 * samples_each * np.diag(np.linalg.pinv(hessian))
    error = np.sqrt(np.maximum(variance, 0.0))
    return Gains(np.where(np.abs(found.x) > choosing.CLEARLY * error, np.exp(found.x), 1.0), error)
