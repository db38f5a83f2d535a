"""Fourier sums: identities vanish, values are kept."""

import pytest
import sympy
from sympy import cos, pi, sin, sqrt

from kane_dynamics_ros.formulation.symbolic.trigonometry import fourier_sums

q = q_1, q_2 = sympy.symbols("q_1 q_2")
a, b = sympy.symbols("a b")
HALF = sympy.Rational(1, 2)


def test_a_cosine_is_two_conjugate_harmonics():
    assert fourier_sums(a * cos(q_1), q) == {a: {(1, 0): HALF, (-1, 0): HALF}}


def test_identities_leave_nothing():
    assert fourier_sums(sin(q_1) ** 2 + cos(q_1) ** 2 - 1, q) == {}
    product_rule = cos(q_1) * cos(q_2) - sin(q_1) * sin(q_2) - cos(q_1 + q_2)
    assert fourier_sums((a + b) * product_rule, q) == {}


def test_nested_products_need_no_expansion():
    nested = a * (b + a * (b + sin(q_1)))
    assert fourier_sums(nested, q) == {
        a * b: {(0, 0): 1},
        a**2 * b: {(0, 0): 1},
        a**2: {(1, 0): -sympy.I / 2, (-1, 0): sympy.I / 2},
    }


def test_roots_and_angle_offsets_are_exact():
    shifted = cos(q_1 + pi / 4) - (cos(q_1) - sin(q_1)) / sqrt(2)
    assert fourier_sums(shifted, q) == {}
    assert fourier_sums(sqrt(2) * sqrt(2) * a * b, q) == {a * b: {(0, 0): 2}}


def test_multiples_of_an_angle_are_harmonics():
    assert fourier_sums(sin(2 * q_2), q) == {1: {(0, 2): -sympy.I / 2, (0, -2): sympy.I / 2}}


def test_the_coordinate_of_a_slide_stays_a_factor():
    assert fourier_sums(q_1**2 * cos(q_2), q) == {q_1**2: {(0, 1): HALF, (0, -1): HALF}}


def test_other_functions_are_refused():
    with pytest.raises(TypeError) as error:
        fourier_sums(sympy.exp(q_1), q)
    assert str(error.value) == "exp(q_1) is no polynomial in symbols, sines and cosines of the angles"


def test_decimals_stay_what_they_are():
    assert fourier_sums(0.5 * a, q) == {a: {(0, 0): HALF}}
