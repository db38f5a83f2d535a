"""The matrices of [WindPump] eq. (18) as functions, and proportional damping."""

import numpy as np
import pytest

from kane_dynamics_ros.elastic.body import clamped, straight_beam
from kane_dynamics_ros.elastic.equations import (
    RigidMotion,
    coefficients,
    gyroscopic_frequencies,
    integral_NWN,
    integral_NWr,
    mass,
    proportional_damping,
    skew,
)
from kane_dynamics_ros.elastic.link import Material, beam_rates, tube

RATES = beam_rates(Material(E=7e10, G=2.7e10, density=2700.0), tube(0.03, 0.02), rotary_inertia=True)
BODY = clamped(straight_beam("space", RATES, 0.7, 3, x0=0.2))
RNG = np.random.default_rng(3)
A_O, OMEGA, EPSILON = RNG.normal(size=(3, 3))


def test_coefficients_are_the_sum_of_the_paper_s_matrices():
    found = coefficients(BODY, RigidMotion(A_O, OMEGA, EPSILON))
    np.testing.assert_allclose(found.m, mass(BODY), rtol=1e-15)
    np.testing.assert_allclose(found.c, integral_NWN(BODY, 2 * skew(OMEGA)), rtol=1e-15)
    stiffness = BODY.k + integral_NWN(BODY, skew(EPSILON)) + integral_NWN(BODY, skew(OMEGA) @ skew(OMEGA))
    np.testing.assert_allclose(found.k, stiffness, rtol=1e-12, atol=1e-12 * abs(BODY.k).max())
    load = (
        -(BODY.m_O.T @ A_O)
        - integral_NWr(BODY, skew(EPSILON))
        - integral_NWr(BODY, skew(OMEGA) @ skew(OMEGA))
    )
    np.testing.assert_allclose(found.Q, load, rtol=1e-12, atol=1e-14)


def test_gyroscopic_and_euler_terms_are_skew_and_the_centrifugal_one_softens():
    for skew_matrix in (integral_NWN(BODY, 2 * skew(OMEGA)), integral_NWN(BODY, skew(EPSILON))):
        np.testing.assert_allclose(skew_matrix, -skew_matrix.T, atol=1e-15)
    softening = integral_NWN(BODY, skew(OMEGA) @ skew(OMEGA))
    np.testing.assert_allclose(softening, softening.T, atol=1e-15)
    assert np.linalg.eigvalsh(softening).max() < 1e-12  # never positive


def test_a_rigid_turn_of_the_whole_beam_costs_what_its_inertia_says():
    """Nodes moved as by a unit rotation about each axis: delta^T m delta is the moment of inertia."""
    body = straight_beam("space", RATES, 0.7, 3, x0=0.2)
    J = np.trace(body.R2) * np.eye(3) - body.R2
    for axis in range(3):
        theta = np.eye(3)[axis]
        nodes = [[*np.cross(theta, [0.2 + 0.7 / 3 * i, 0.0, 0.0]), *theta] for i in range(4)]
        delta = np.ravel(nodes)
        assert delta @ mass(body) @ delta == pytest.approx(J[axis, axis], rel=1e-12)
        np.testing.assert_allclose(integral_NWr(body, skew(theta)) @ delta, J[axis, axis], rtol=1e-12)


def test_skew_is_the_cross_product():
    a, b = RNG.normal(size=(2, 3))
    np.testing.assert_allclose(skew(a) @ b, np.cross(a, b), rtol=1e-15)


def test_proportional_damping_gives_the_wanted_decay():
    """One coordinate of 1 kg: eigenvalues - ratio w +- i w sqrt(1 - ratio^2), at both frequencies."""
    ratios, frequencies = (0.02, 0.05), (30.0, 400.0)
    a, b = proportional_damping(ratios, frequencies)
    for ratio, w in zip(ratios, frequencies, strict=True):
        system = coefficients(BODY, RigidMotion(A_O, OMEGA, EPSILON))._replace(
            m=np.eye(1), c=np.array([[a + b * w**2]]), k=np.array([[w**2]])
        )
        assert gyroscopic_frequencies(system)[0] == pytest.approx(w * np.sqrt(1 - ratio**2), rel=1e-12)
