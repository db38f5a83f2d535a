"""The velocity problem against a general-purpose optimiser and against its optimality conditions."""

import numpy as np
import pytest
from scipy.optimize import minimize

from kane_dynamics_ros.simulation.friction import LOCKED, _sweep, solve_velocity


def problem(seed: int, n: int = 5) -> tuple[np.ndarray, ...]:
    """An ill-conditioned random problem like a serial arm's: inertias over four decades, coupled."""
    random = np.random.default_rng(seed)
    root = random.standard_normal((n, n)) * 10.0 ** random.uniform(-2, 0, n)
    A = root.T @ root + np.diag(10.0 ** random.uniform(-4, -2, n))
    v = random.standard_normal(n) * random.integers(0, 2, n)
    b = A @ v + 1e-2 * random.standard_normal(n)
    F = 1e-2 * random.uniform(0, 1, n) * random.integers(0, 2, n)
    upper = np.where(random.integers(0, 3, n) == 0, 0.0, np.inf)
    lower = np.where(random.integers(0, 3, n) == 0, 0.0, -np.inf)
    return A, b, F, lower, upper, v


@pytest.mark.parametrize("seed", range(200))
def test_velocities_satisfy_the_optimality_conditions(seed: int) -> None:
    A, b, F, lower, upper, guess = problem(seed)
    v = solve_velocity(A, b, F, lower, upper, guess)
    impulse = A @ v - b  # what friction and stops gave
    # rounding: A is conditioned up to 1e6, entries near 1
    tolerance = 1e-12
    assert (v >= lower).all()
    assert (v <= upper).all()
    moving = (v != 0.0) & (v > lower) & (v < upper)
    np.testing.assert_allclose(impulse[moving], -np.sign(v[moving]) * F[moving], atol=tolerance)
    can_push_up, can_push_down = v == lower, v == upper
    assert (impulse <= np.where(v > 0.0, -F, F) + np.where(can_push_up, np.inf, tolerance)).all()
    assert (impulse >= np.where(v < 0.0, F, -F) - np.where(can_push_down, np.inf, tolerance)).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_minimum_is_not_above_a_general_optimisers(seed: int) -> None:
    A, b, F, lower, upper, guess = problem(seed, n=3)

    def cost(v: np.ndarray) -> float:
        return float(0.5 * v @ A @ v - b @ v + F @ np.abs(v))

    ours = cost(solve_velocity(A, b, F, lower, upper, guess))
    bounds = list(zip(lower, upper, strict=True))
    theirs = min(
        minimize(cost, start, method="Powell", bounds=bounds, options={"xtol": 1e-10}).fun
        for start in (np.zeros(3), np.clip(guess, lower, upper))
    )
    assert ours <= theirs + 1e-12 * abs(theirs)


def test_coordinate_descent_reaches_the_same_minimum() -> None:
    A, b, F, lower, upper, guess = problem(7)
    newton = solve_velocity(A, b, F, lower, upper, guess)
    descent = _sweep(A, b, F, lower, upper, guess)
    # coordinate descent stops when a sweep changes nothing, or after its budget: a few digits short
    np.testing.assert_allclose(descent, newton, rtol=1e-6, atol=1e-9)


def test_a_locked_joint_takes_no_velocity_and_passes_its_impulse_on() -> None:
    A = np.array([[2.0, 1.0], [1.0, 1.0]])
    v = np.array([1.0, -1.0])
    infinite = np.full(2, np.inf)
    result = solve_velocity(A, A @ v, np.array([0.0, LOCKED]), -infinite, infinite, v)
    # momentum of joint 1 is kept: 2 * 1 + 1 * (-1) = 1 = 2 * v1
    np.testing.assert_array_equal(result, [0.5, 0.0])
