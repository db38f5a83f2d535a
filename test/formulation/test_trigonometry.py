"""Compact trigonometric forms: the usual abbreviations, and nothing lost."""

import pytest
import sympy
from sympy import cos, sin

from kane_dynamics_ros.formulation.symbolic.trigonometry import compact, definitions, fourier_sums

q = q_1, q_2, q_3 = sympy.symbols("q_1:4")
u = u_1, u_2, u_3 = sympy.symbols("u_1:4")
a, b = sympy.symbols("a b")


def spread(expression):
    """What matrix products leave: sines and cosines of single angles, expanded."""
    return sympy.expand(sympy.expand_trig(expression))


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (cos(q_1 + q_2), "c_12"),
        (sin(q_1 + q_2 + q_3), "s_123"),
        (cos(q_2 + q_3) * cos(q_2), "c_2*c_23"),
        (sin(q_2 + q_3) * cos(q_2), "c_2*s_23"),
        (cos(q_2 + q_3) * sin(q_2), "c_23*s_2"),
        (sin(q_2) * sin(q_2 + q_3), "s_2*s_23"),
        (cos(q_2 + q_3) ** 2, "c_23**2"),
        (sin(q_2) ** 2, "s_2**2"),
        (sin(2 * q_2 + q_3), "s_223"),
        (sin(2 * q_2), "2*c_2*s_2"),
        (cos(q_1 - q_2), "cos(q_1 - q_2)"),
        (-sin(q_1), "-s_1"),
        (a * sin(q_1) + b * sin(q_1), "s_1*(a + b)"),
        (a + b, "a + b"),
        (sympy.Integer(0), "0"),
    ],
)
def test_sines_and_cosines_of_sums_are_written_with_indices(expression, text):
    assert str(compact(spread(expression), q)) == text


def test_terms_are_grouped_by_products_of_rates():
    expression = u_1 * u_2 * (a * cos(q_3) + b) + u_3**2 * a * sin(q_1)
    assert str(compact(spread(expression), q, u)) == "a*s_1*u_3**2 + u_1*u_2*(a*c_3 + b)"


def test_definitions_restore_the_expression():
    expression = a * sin(q_2 + q_3) * cos(q_2) * u_1 + b * cos(2 * q_1 + q_3) + sin(q_1 - q_3) ** 2
    short = compact(spread(expression), q, u)
    assert fourier_sums(short.subs(definitions(short, q)) - expression, q) == {}


def test_definitions_name_each_abbreviation():
    short = compact(cos(q_1 + q_2) + a * sin(2 * q_2 + q_3), q)
    meanings = {str(symbol): meaning for symbol, meaning in definitions(short, q).items()}
    assert meanings == {"c_12": cos(q_1 + q_2), "s_223": sin(2 * q_2 + q_3)}


def test_angles_of_different_groups_are_not_added_up():
    """q_1, q_2 about parallel axes, q_3 about another: products across the groups stay products."""
    expression = cos(q_1 + q_2) * sin(q_3) * cos(q_3) - sin(q_1 + q_2) * cos(q_3) ** 2
    short = compact(spread(expression), q, (), ((0, 1), (2,)))
    assert str(short) == "c_12*c_3*s_3 - c_3**2*s_12"
    assert fourier_sums(short.subs(definitions(short, q)) - expression, q) == {}


def test_groups_lose_nothing():
    expression = (a * cos(q_1) + b * sin(q_1 + q_2)) * (cos(q_3) - 2 * sin(q_2)) ** 2 + a * b
    for groups in (((0, 1, 2),), ((0, 1), (2,)), ((0,), (1,), (2,))):
        short = compact(spread(expression), q, (), groups)
        assert fourier_sums(short.subs(definitions(short, q)) - expression, q) == {}
