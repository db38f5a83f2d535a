"""Bodies as matrices: closed forms, and clouds of points, which are bodies by construction."""

import numpy as np
import pytest

from kane_dynamics_ros.identification.bodies import (
    body_at,
    coordinates_of,
    matrix_of,
    parameters_of,
    pseudo_inertia,
)


def cloud(seed: int, points: int = 6) -> np.ndarray:
    """The ten parameters of point masses, summed one by one."""
    random = np.random.default_rng(seed)
    total = np.zeros(10)
    for mass, (x, y, z) in zip(
        random.uniform(0.1, 2.0, points), random.normal(size=(points, 3)), strict=True
    ):
        J = mass * np.array([y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y])
        total += [mass, mass * x, mass * y, mass * z, *J]
    return total


def test_a_box_has_the_second_moments_of_a_box():
    m, a, b, c = 3.0, 0.2, 0.4, 0.6
    J = m / 12 * np.array([b**2 + c**2, 0, 0, a**2 + c**2, 0, a**2 + b**2])
    P = pseudo_inertia(np.array([m, 0, 0, 0, *J]))
    np.testing.assert_allclose(P, np.diag([m * a**2 / 12, m * b**2 / 12, m * c**2 / 12, m]), atol=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_masses_have_a_positive_definite_matrix_and_come_back_from_it(seed):
    parameters = cloud(seed)
    P = pseudo_inertia(parameters)
    assert np.linalg.eigvalsh(P).min() > 0
    np.testing.assert_allclose(parameters_of(P), parameters, rtol=1e-12, atol=1e-12)


def test_a_negative_mass_or_an_impossible_inertia_has_not():
    ball = np.array([1.0, 0, 0, 0, 0.1, 0, 0, 0.1, 0, 0.1])
    assert np.linalg.eigvalsh(pseudo_inertia(-ball)).min() < 0
    stick = ball.copy()
    stick[4] = 0.3  # more than the other two together
    assert np.linalg.eigvalsh(pseudo_inertia(stick)).min() < 0


def test_coordinates_measure_the_pull_back_distance_in_any_frame():
    """|y|^2 = tr((P0^-1 dP)^2), computed here without the factorisation; and the same after a rigid
    motion.
    """
    first, second = cloud(1), cloud(1) + 0.05 * cloud(2)
    distances = []
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    for move in (np.eye(4), np.block([[turn, np.array([[0.3], [-1.0], [2.0]])], [np.zeros((1, 3)), 1.0]])):
        P0, P = (move @ pseudo_inertia(x) @ move.T for x in (first, second))
        body = body_at(parameters_of(P0), 10.0)
        y = np.linalg.solve(body.basis, parameters_of(P) - body.origin)
        X = np.linalg.solve(P0, P - P0)
        assert y @ y == pytest.approx(np.trace(X @ X), rel=1e-8)
        distances.append(y @ y)
    assert distances[0] == pytest.approx(distances[1], rel=1e-8)


def test_coordinates_and_matrix_are_inverse():
    y = np.random.default_rng(3).normal(size=(4, 10))
    np.testing.assert_allclose(coordinates_of(matrix_of(y)), y, atol=1e-15)
    np.testing.assert_allclose((matrix_of(y) ** 2).sum(axis=(1, 2)), (y**2).sum(axis=1))


def test_an_inertia_that_no_body_can_have_gets_a_body_to_start_from():
    impossible = np.array([2.0, 0, 0, 0.2, 0.5, 0, 0, 0.1, 0, 0.1])
    body = body_at(impossible, 5.0)
    assert np.linalg.eigvalsh(pseudo_inertia(body.origin)).min() > 0
    assert body.origin[:4] == pytest.approx(impossible[:4])  # its mass and its centre stay


def test_a_frame_without_mass_stays_one():
    assert not body_at(np.zeros(10), 5.0).basis.any()
