"""Dual numbers against derivatives known in closed form."""

import math

import numpy as np
import pytest
import sympy

from kane_dynamics_ros.formulation.dual import Dual, column, cos, lanes, sin, skew, transpose


def test_nested_duals_give_the_second_derivative():
    x = Dual(Dual(0.7, 1.0), Dual(1.0, 0.0))
    y = x * sin(x)
    assert y.slope.slope == pytest.approx(2 * math.cos(0.7) - 0.7 * math.sin(0.7), rel=1e-15)


def test_lanes_differentiate_along_every_variable_at_once():
    x, y = lanes([2.0, 0.5])
    f = x * x * cos(y) - x
    assert f.slope.ravel() == pytest.approx([2 * 2.0 * math.cos(0.5) - 1, -4.0 * math.sin(0.5)], rel=1e-15)


def test_lanes_may_be_a_part_of_more_lanes():
    (x,) = lanes([3.0], first=1, count=3)
    assert (x * x).slope.ravel() == pytest.approx([0.0, 6.0, 0.0])


def test_symbols_are_differentiated_exactly():
    a, t = sympy.symbols("a t")
    y = sin(a * Dual(t, 1)) / 2
    assert y.slope - a * sympy.cos(a * t) / 2 == 0


def test_matrix_products_follow_leibniz_from_both_sides():
    A, B = np.arange(9.0).reshape(3, 3), np.eye(3) + 1
    X = Dual(A, B)
    assert np.array_equal((A @ X).slope, A @ B)
    assert np.array_equal((X @ A).slope, B @ A)
    assert np.array_equal((transpose(X) @ X).slope, B.T @ A + A.T @ B)
    assert np.array_equal((1 - X).slope, -B)


def test_skew_is_the_cross_product_for_duals_and_lanes():
    a, b = np.array([1.0, 2.0, 3.0]), np.array([-1.0, 0.5, 2.0])
    lanes_of_a = np.stack([column(b), column(a)])
    product = skew(Dual(column(a), lanes_of_a)) @ column(b)
    assert product.value.ravel() == pytest.approx(np.cross(a, b), rel=1e-15)
    assert product.slope[1].ravel() == pytest.approx(np.cross(a, b), rel=1e-15)
    assert product.slope[0].ravel() == pytest.approx([0, 0, 0])


def test_quotients_of_duals_and_numbers_have_their_slopes():
    x = Dual(0.7, 1.0)
    assert (sin(x) / x).slope == pytest.approx((0.7 * math.cos(0.7) - math.sin(0.7)) / 0.7**2, rel=1e-15)
    assert (2 / x).slope == pytest.approx(-2 / 0.7**2, rel=1e-15)
    assert (x / 4).slope == 0.25
