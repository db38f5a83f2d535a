"""The committed element matrices are what the derivation writes, and what a quadrature gives."""

import inspect

import numpy as np
import pytest
import sympy as sp

from kane_dynamics_ros.elastic.body import element_arrays
from kane_dynamics_ros.elastic.derivation import integrals
from kane_dynamics_ros.elastic.derivation.emit import module_text
from kane_dynamics_ros.elastic.generated import beam_elements
from kane_dynamics_ros.elastic.link import BeamRates

RATES = BeamRates(m=2.3, my=0.4, mz=0.7, ry=0.4, rz=0.7, EA=50.0, GJ=3.0, EIy=7.0, EIz=11.0)
LENGTH = 0.6


def test_generating_again_gives_the_same_bytes():
    assert module_text() == inspect.getsource(beam_elements)


def quadrature(kind):
    """N at Gauss points of the axis (5) times points of a section with the moments of RATES."""
    shape = getattr(integrals, kind)()
    N = sp.lambdify(
        (integrals.x, integrals.y, integrals.z), (shape.N_rest + shape.N_bending).subs(integrals.L, LENGTH)
    )
    nodes, weights = np.polynomial.legendre.leggauss(5)
    # Four points at (+-b, 0) and (0, +-c), each a quarter of the mass, have these second moments.
    b, c = np.sqrt(2 * RATES.my / RATES.m), np.sqrt(2 * RATES.mz / RATES.m)
    for s, weight in zip((nodes + 1) * LENGTH / 2, weights * LENGTH / 2, strict=True):
        for y, z in ((b, 0.0), (-b, 0.0), (0.0, c), (0.0, -c)):
            yield np.asarray(N(s, y, z), dtype=float), np.array([s, y, z]), weight * RATES.m / 4


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
