"""Segments against closed forms that are written in closed_form.py."""

import closed_form
import numpy as np
import pytest

from kane_dynamics_ros.control.splines import constant, evaluate, evaluate_many, segments

T = 0.7  # [s]
TIMES = (0.0, 0.1, 0.35, 0.6, T)
ROUNDING = (
    1e-11  # the two ways of computing differ by rounding, amplified by 1 / T^4 and the system's solution
)


def knot(*rows):
    """Position, velocity and acceleration of one joint, NaN where they are not given."""
    return [*rows, *[np.nan] * (3 - len(rows))]


def segments_between(knots, durations):
    q, qd, qdd = np.array(knots).T[..., np.newaxis]
    return segments(q, qd, qdd, durations)


@pytest.mark.parametrize("t", TIMES)
def test_positions_alone_make_a_straight_line(t):
    c = segments_between([knot(1.0), knot(-2.0)], np.array([T]))[0]
    assert evaluate(c, t)[:, 0] == pytest.approx(closed_form.linear(t, T, 1.0, -2.0), abs=ROUNDING)


@pytest.mark.parametrize("t", TIMES)
def test_velocities_at_both_ends_make_a_cubic(t):
    c = segments_between([knot(1.0, 0.5), knot(-2.0, -0.3)], np.array([T]))[0]
    assert evaluate(c, t)[:, 0] == pytest.approx(closed_form.cubic(t, T, 1.0, 0.5, -2.0, -0.3), abs=ROUNDING)


@pytest.mark.parametrize("t", TIMES)
def test_accelerations_at_both_ends_make_a_quintic(t):
    start, end = (1.0, 0.5, 2.0), (-2.0, -0.3, 1.5)
    c = segments_between([knot(*start), knot(*end)], np.array([T]))[0]
    assert evaluate(c, t)[:, 0] == pytest.approx(closed_form.quintic(t, T, start, end), abs=ROUNDING)


def test_rest_to_rest_quintic_is_the_minimum_jerk_motion():
    c = segments_between([knot(0.0, 0.0, 0.0), knot(1.0, 0.0, 0.0)], np.array([1.0]))[0]
    s = 0.3
    assert evaluate(c, s)[0, 0] == pytest.approx(10 * s**3 - 15 * s**4 + 6 * s**5, abs=1e-15)


def test_each_segment_uses_what_both_of_its_ends_carry():
    knots = [knot(0.0), knot(1.0, 0.2), knot(2.0, 0.1, 0.3), knot(1.0, 0.4, 0.5)]
    mixed = segments_between(knots, np.array([T, T, T]))
    expected = (
        closed_form.linear(0.2, T, 0.0, 1.0),
        closed_form.cubic(0.2, T, 1.0, 0.2, 2.0, 0.1),
        closed_form.quintic(0.2, T, (2.0, 0.1, 0.3), (1.0, 0.4, 0.5)),
    )
    for coefficients, states in zip(mixed, expected, strict=True):
        assert evaluate(coefficients, 0.2)[:, 0] == pytest.approx(states, abs=ROUNDING)


def test_many_times_give_the_same_as_one_at_a_time():
    c = segments_between([knot(1.0, 0.5, 2.0), knot(-2.0, -0.3, 1.5)], np.array([T]))[0]
    many = evaluate_many(c, np.array(TIMES))
    for states, t in zip(many, TIMES, strict=True):
        np.testing.assert_allclose(states, evaluate(c, t), rtol=1e-13, atol=1e-13)  # rounding


def test_a_constant_stays_and_does_not_move():
    states = evaluate(constant(np.array([0.4, -0.2])), 123.0)
    np.testing.assert_array_equal(states, [[0.4, -0.2], [0.0, 0.0], [0.0, 0.0]])
