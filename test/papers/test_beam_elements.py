"""The elements' matrices are what a quadrature and the closed forms of beams give."""

from dataclasses import replace

import numpy as np
import pytest

from kane_dynamics_ros.elastic.body import element_arrays
from kane_dynamics_ros.elastic.link import BeamRates

RATES = BeamRates(m=2.3, my=0.4, mz=0.7, ry=0.4, rz=0.7, EA=50.0, GJ=3.0, EIy=7.0, EIz=11.0)
LENGTH = 0.6


def displacement(x, y, z, L, kind):
    """N (3, n): the axis by linear and cubic interpolation, the section square to the axis, turned by phi."""
    a, b = 1 - x / L, x / L
    h1, h2, h3, h4 = (
        1 - 3 * b**2 + 2 * b**3,
        L * (b - 2 * b**2 + b**3),
        3 * b**2 - 2 * b**3,
        L * (b**3 - b**2),
    )
    d1, d2 = 6 * (b**2 - b) / L, 1 - 4 * b + 3 * b**2
    d3, d4 = -d1, 3 * b**2 - 2 * b
    if kind == "plane":
        return np.array([[a, -y * d1, -y * d2, b, -y * d3, -y * d4], [0, h1, h2, 0, h3, h4], [0] * 6])
    return np.array(
        [
            [a, -y * d1, -z * d1, 0, z * d2, -y * d2, b, -y * d3, -z * d3, 0, z * d4, -y * d4],
            [0, h1, 0, -z * a, 0, h2, 0, h3, 0, -z * b, 0, h4],
            [0, 0, h1, y * a, -h2, 0, 0, 0, h3, y * b, -h4, 0],
        ]
    )


def quadrature(kind):
    """N at Gauss points of the axis (5) times points of a section with the moments of RATES."""
    nodes, weights = np.polynomial.legendre.leggauss(5)
    # Four points at (+-b, 0) and (0, +-c), each a quarter of the mass, have these second moments.
    b, c = np.sqrt(2 * RATES.my / RATES.m), np.sqrt(2 * RATES.mz / RATES.m)
    for s, weight in zip((nodes + 1) * LENGTH / 2, weights * LENGTH / 2, strict=True):
        for y, z in ((b, 0.0), (-b, 0.0), (0.0, c), (0.0, -c)):
            yield displacement(s, y, z, LENGTH, kind), np.array([s, y, z]), weight * RATES.m / 4


@pytest.mark.parametrize("kind", ["plane", "space"])
def test_inertia_integrals_agree_with_a_quadrature(kind):
    arrays = element_arrays(kind, LENGTH, RATES)
    D, E, m_O = (np.zeros_like(array) for array in (arrays.D, arrays.E, arrays.m_O))
    for N, r, dm in quadrature(kind):
        D += dm * np.einsum("ai,bj->abij", N, N)
        E += dm * np.einsum("ai,b->abi", N, r)
        m_O += dm * N
    # Gauss's rule is exact for these polynomials (degree 6): round-off only.
    np.testing.assert_allclose(arrays.D, D, atol=1e-13)
    np.testing.assert_allclose(arrays.E, E, atol=1e-13)
    np.testing.assert_allclose(arrays.m_O, m_O, atol=1e-13)


def test_without_rotary_inertia_bending_moves_no_mass_along_the_axis():
    """The same quadrature with all mass on the axis, but for the torsion's moment of inertia."""
    slender = replace(RATES, ry=0.0, rz=0.0)
    arrays = element_arrays("space", LENGTH, slender)
    nodes, weights = np.polynomial.legendre.leggauss(5)
    D = np.zeros_like(arrays.D[0, 0])
    for s, weight in zip((nodes + 1) * LENGTH / 2, weights * LENGTH / 2, strict=True):
        N = displacement(s, 0.0, 0.0, LENGTH, "space")[0]
        D += weight * RATES.m * np.outer(N, N)
    np.testing.assert_allclose(arrays.D[0, 0], D, atol=1e-13)


def test_stiffness_gives_the_tip_of_a_loaded_cantilever():
    """Closed forms F L / EA, F L^3 / 3 EI, M L / GJ; one element is exact for end loads."""
    flexibility = np.linalg.inv(element_arrays("space", LENGTH, RATES).k[6:, 6:])
    expected = [
        LENGTH / RATES.EA,
        LENGTH**3 / (3 * RATES.EIz),
        LENGTH**3 / (3 * RATES.EIy),
        LENGTH / RATES.GJ,
        LENGTH / RATES.EIy,
        LENGTH / RATES.EIz,
    ]
    np.testing.assert_allclose(np.diag(flexibility), expected, rtol=1e-12)
    assert flexibility[2, 4] == pytest.approx(-(LENGTH**2) / (2 * RATES.EIy), rel=1e-12)  # theta_y = -w'


def test_axial_load_reaches_the_buckling_load_of_euler():
    """A pinned column buckles at pi^2 EI / L^2: k + P k_G is singular there."""
    elements = 8
    arrays = element_arrays("plane", LENGTH / elements, RATES)
    n = 3 * (elements + 1)
    k, k_G = np.zeros((n, n)), np.zeros((n, n))
    for j in range(elements):
        part = slice(3 * j, 3 * j + 6)
        k[part, part] += arrays.k
        k_G[part, part] += arrays.k_G.sum(axis=0)
    free = [i for i in range(n) if i % 3 and i not in (1, n - 2)]
    square = np.ix_(free, free)
    smallest = min(np.linalg.eigvals(np.linalg.solve(k_G[square], k[square])).real)
    exact = np.pi**2 * RATES.EIz / LENGTH**2
    assert smallest == pytest.approx(exact, rel=4e-5)  # order 4: (pi / 8)^4 / 720
