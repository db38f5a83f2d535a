"""The estimate on small cases against scipy, against its definition, and against solving again."""

from dataclasses import replace

import numpy as np
import pytest
from planted_arm import JOINTS, MODEL, motion, nominal, planted, recorded, store_of, write
from scipy.optimize import minimize

from kane_dynamics_ros.identification import bodies, choosing, fitting
from kane_dynamics_ros.identification.bodies import coordinates_of, matrix_of, pseudo_inertia
from kane_dynamics_ros.identification.choosing import folds_of
from kane_dynamics_ros.identification.fitting import (
    Choice,
    Constraints,
    Nominal,
    Problem,
    bodies_at_bound,
    constrained_solution,
    coordinates_gram,
    free_solution,
)
from kane_dynamics_ros.identification.regression import FAMILIES, TERMS, Guess, Regression

N = len(JOINTS)
FREE = np.zeros((N, len(FAMILIES)), bool)
NONE = np.zeros((N, len(FAMILIES)))
FREE[:, [FAMILIES.index(name) for name in ("viscous", "coulomb", "offset")]] = True
CHOICE = Choice(FREE, NONE)
FOLDS = folds_of(np.zeros(12, int), np.ones(12, bool))


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    """Real products of a planted arm, in 12 blocks."""
    truth = planted(11)
    bag, _ = recorded(tmp_path_factory.mktemp("bag") / "bag", truth, 20.0)
    known = nominal()
    with store_of(bag) as store:
        regression = Regression(store, MODEL, [np.zeros(10)], [False], 12)
        guess = Guess(known.inertial.ravel(), known.terms[:, 0], None, np.zeros(N), np.zeros(N), np.ones(N))
        gram = coordinates_gram(regression.accumulated(guess).gram, regression, known)
    sigma = np.linspace(0.1, 0.5, N)
    scaled = gram / sigma[:, None, None] ** 2
    return Problem(known, Constraints(), known.bodies(), scaled, sigma, FOLDS, np.zeros(N))


def whole(problem):
    return problem.equations(problem.used(problem.gram.sum(axis=0)))


def power(E, x):
    v = np.append(-x, 1.0)
    return v @ E @ v


def test_the_cost_is_the_sum_of_squares_of_the_residuals(problem):
    """The normal equations' power at any x, against the quadratic form of the products with the residual's
    row.
    """
    x = 0.1 * np.random.default_rng(0).normal(size=problem.size)
    gram = problem.gram.sum(axis=0)
    expected = np.zeros(N)
    for j in range(N):
        row = np.zeros(gram.shape[-1])
        row[: problem.free], row[-1] = -x[: problem.free], 1.0
        for f, family in enumerate(FAMILIES):
            [place, *_] = [k for k, term in enumerate(TERMS) if term.family == family]
            row[problem.free + place] = -x[problem.free + len(FAMILIES) * j + f]
        expected[j] = row @ gram[j] @ row
    assert power(whole(problem), x) == pytest.approx(expected.sum(), rel=1e-9)
    assert problem.errors(problem.used(gram), x) == pytest.approx(expected, rel=1e-9)


def test_without_constraints_it_is_ridge_regression(problem):
    E = whole(problem)
    x = free_solution(problem, CHOICE, E, 3.0)

    def cost(y):
        return power(E, y) + 3.0 * y[: problem.free] @ y[: problem.free]

    rng = np.random.default_rng(1)
    used = np.concatenate([np.ones(problem.free, bool), FREE.ravel()])
    for _ in range(20):
        aside = np.where(used, 1e-3 * rng.normal(size=len(x)), 0.0)
        assert cost(x + aside) > cost(x) - 1e-6 * cost(x)


def test_inside_the_constraints_the_solver_finds_the_same(problem):
    """Held near the URDF, no body comes near its bound; friction of the planted arm is above zero."""
    free = free_solution(problem, CHOICE, whole(problem), 1e5)
    x = constrained_solution(problem, CHOICE, whole(problem), 1e5)
    assert bodies_at_bound(problem, x) == ()
    np.testing.assert_allclose(x[: problem.free], free[: problem.free], atol=1e-5)
    np.testing.assert_allclose(x[problem.free :], free[problem.free :], atol=1e-4)


def one_body(pull):
    """One joint, one body, whose data ask for parameters that no body has: |y - pull|^2, and a mass of 1
    kg.
    """
    size = 10 + len(TERMS) + 2
    gram = np.zeros((1, 1, size, size))
    rows = np.zeros((10, size))
    rows[:, :10], rows[:, -1] = np.eye(10), pull
    gram[0, 0] = rows.T @ rows
    ball = np.array([[1.0, 0, 0, 0, 0.1, 0, 0, 0.1, 0, 0.1]])
    known = Nominal(ball, np.zeros((1, len(FAMILIES))), np.zeros((1, 10)))
    own = (bodies.body_at(ball[0], 1.0),)
    return Problem(known, Constraints(), own, gram, np.ones(1), ((0,),), np.zeros(1))


def test_friction_by_load_takes_no_more_than_half_of_it():
    """Data alone ask for 0.9 of the load: the solver stops at half."""
    problem, load = one_body(np.zeros(10)), FAMILIES.index("load")
    row = np.zeros(problem.gram.shape[-1])
    row[problem.free + [term.family for term in TERMS].index("load")], row[-1] = 1.0, 0.9
    problem = replace(problem, gram=problem.gram + np.outer(row, row))
    choice = Choice(np.eye(len(FAMILIES), dtype=bool)[[load]], np.zeros((1, len(FAMILIES))))
    E = problem.equations(problem.whole)
    found = [
        each(problem, choice, E, 1.0)[problem.free + load] for each in (free_solution, constrained_solution)
    ]
    assert found == pytest.approx([0.9, 0.5], abs=1e-6)


def test_the_nearest_consistent_body_is_scipys():
    """min |y - pull|^2 with 1 + D(y) positive definite has the closed form of clipped eigenvalues; SLSQP
    agrees.
    """
    pull = np.array([-2.0, 0.5, 0.1, 0.3, -1.0, -1.6, 0.2, 0.0, 0.4, 0.3])
    problem = one_body(pull)
    choice = Choice(np.zeros((1, len(FAMILIES)), bool), np.zeros((1, len(FAMILIES))))
    found = constrained_solution(problem, choice, whole(problem), 1e-9)[:10]
    # eigenvalues of 1 + D clipped at the margin: the projection onto the cone in the Frobenius norm
    values, axes = np.linalg.eigh(np.eye(4) + matrix_of(pull))
    projected = coordinates_of((axes * np.maximum(values, fitting.MARGIN)) @ axes.T - np.eye(4))
    np.testing.assert_allclose(found, projected, atol=1e-5)

    def slack(y):
        return np.linalg.eigvalsh(np.eye(4) + matrix_of(y))[0] - fitting.MARGIN

    scipys = minimize(
        lambda y: (y - pull) @ (y - pull), np.zeros(10), method="SLSQP",
        constraints=[{"type": "ineq", "fun": slack}], options={"maxiter": 500},
    )  # fmt: skip
    assert (found - pull) @ (found - pull) <= scipys.fun + 1e-4


def test_total_mass_and_boxes_are_kept(problem):
    known = problem.nominal.inertial
    mass = 0.95 * known[:, 0].sum()
    box = np.array([[-0.01, 0.3, -0.01], [0.01, 0.45, 0.01]])
    asked = replace(problem, constraints=Constraints(mass, ((1, box),)))
    inertial = asked.inertial(constrained_solution(asked, CHOICE, whole(asked), 1.0))
    assert inertial[:, 0].sum() == pytest.approx(mass, rel=1e-6)
    centre = inertial[1, 1:4] / inertial[1, 0]
    assert (centre > box[0] - 1e-6).all()
    assert (centre < box[1] + 1e-6).all()


def test_what_is_fixed_to_a_link_is_never_taken_from_it(problem):
    """Three quarters of the hand are other links: what is left for the hand itself is a body of its own."""
    carried = problem.nominal.inertial.copy()
    carried[:-1] = 0.0
    carried[-1] *= 0.75
    held = replace(problem, nominal=problem.nominal._replace(carried=carried))
    inertial = held.inertial(constrained_solution(held, CHOICE, whole(held), 1e-3))
    assert np.linalg.eigvalsh(pseudo_inertia(inertial - carried)).min() > 0


def test_leaving_a_term_out_is_judged_as_if_it_were_solved_again(problem):
    blocks = [problem.equations(part) for part in problem.folded]
    losses, _ = choosing.removal_losses(problem, CHOICE, whole(problem), blocks, 1.0)
    for column, (j, f) in enumerate(np.argwhere(FREE)[:6]):
        less = FREE.copy()
        less[j, f] = False
        expected = []
        for fold in blocks:
            left = whole(problem) - fold.sum(axis=0)
            with_it = free_solution(problem, CHOICE, left, 1.0)
            without = free_solution(problem, Choice(less, NONE), left, 1.0)
            expected += [power(block, without) - power(block, with_it) for block in fold]
        np.testing.assert_allclose(losses[:, column], expected, rtol=1e-3, atol=1e-3)


def test_folds_are_neighbours_in_time_or_whole_bags():
    one = folds_of(np.zeros(10, int), np.arange(10) < 7)
    assert [len(fold) for fold in one] == [2, 2, 1, 1, 1]
    assert sorted(b for fold in one for b in fold) == list(range(7))
    many = folds_of(np.repeat(np.arange(6), 3), np.ones(18, bool))
    assert all({b // 3 for b in fold} and len(fold) % 3 == 0 for fold in many)


def test_a_velocity_that_is_too_noisy_is_told_from_one_that_is_missing(tmp_path):
    truth = planted(0)
    q, qd, qdd = motion(20.0, 250.0, 0)
    tau = truth.effort(q, qd, qdd)
    qd[:, 0] += np.random.default_rng(1).normal(size=len(qd))
    noisy = write(tmp_path / "noisy", q, qd, tau, 250.0)
    missing = write(tmp_path / "missing", q, None, tau, 250.0)
    with store_of(noisy, missing) as store:
        first, second = store.tracks
        assert JOINTS[0] in first.noisy
        assert first.derived == ()
        assert (second.noisy, second.derived) == ((), tuple(JOINTS))


BASIC = np.arange(len(FAMILIES)) < 6


def changed(problem, joint, column, by):
    """The problem with other products of one joint: ``by`` gives each family's factor, or one for each block.

    Of such columns are the family ``column``'s made then; or, without one, so much more is the effort.
    """
    places = {family: [k for k, t in enumerate(TERMS) if t.family == family] for family in FAMILIES}
    gram = problem.gram.copy()
    T = np.tile(np.eye(gram.shape[-1]), (len(gram), 1, 1))
    for width, to in enumerate([-1] if column is None else problem.free + np.array(places[column])):
        T[:, :, to] *= column is None
        for family, factor in by.items():
            T[:, problem.free + places[family][0 if column is None else width], to] += factor
    gram[:, joint] = T.swapaxes(1, 2) @ gram[:, joint] @ T
    return replace(problem, gram=gram)


@pytest.mark.parametrize(("share", "kept"), [(0.2, True), (0.8, False)])
def test_friction_takes_at_most_half_of_the_load(problem, share, kept):
    """Gears with more could not be turned back: what looks like it is something else."""
    loaded = changed(problem, 1, None, {"load": share})
    chosen = choosing.choose_terms(loaded, Choice(np.tile(BASIC, (N, 1)), NONE), 1.0)
    assert chosen.active[1, FAMILIES.index("load")] == kept
    assert chosen.origin[1, FAMILIES.index("load")] == 0.0


def test_coulomb_friction_does_not_give_way_to_a_load_that_hardly_changes(problem):
    """Both explain it, and by chance Coulomb's part beside the load comes out negative."""
    by_chance = changed(problem, 1, None, {"load": 0.02 * np.tile([0.9, -0.4], 6)})
    steady = changed(by_chance, 1, "load", {"coulomb": 3.0, "load": 0.02})
    chosen = choosing.choose_terms(steady, Choice(np.tile(BASIC, (N, 1)), NONE), 1.0)
    active = dict(zip(FAMILIES, chosen.active[1].tolist(), strict=True))
    assert (active["coulomb"], active["load"]) == (True, False)
