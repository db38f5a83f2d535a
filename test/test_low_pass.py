"""Velocity from positions, against the filter's step response."""

import math

import numpy as np
import pytest

from kane_dynamics_ros.low_pass import Differentiated, differentiate

CUTOFF = 20.0  # [Hz]


def test_a_ramp_gives_its_slope_after_the_filters_delay():
    last = None
    for i in range(501):
        last = differentiate(last, np.array([0.3 * i * 1e-3]), i * 1e-3, CUTOFF)
        # first-order response to a step of the slope
        assert last.qd[0] == pytest.approx(0.3 * (1.0 - math.exp(-math.tau * CUTOFF * i * 1e-3)), abs=1e-12)


def test_the_first_position_and_a_repeated_time_change_nothing():
    first = differentiate(None, np.array([0.7]), 1.0, CUTOFF)
    assert first.qd[0] == 0.0
    assert differentiate(first, np.array([0.8]), 1.0, CUTOFF).qd[0] == 0.0


def test_a_continuous_joint_is_differentiated_across_half_a_turn():
    plain = wrapped = None
    for i in range(400):
        q = 3.0 + 2.0 * i * 1e-3  # crosses pi
        both = np.array([q, q])
        plain = differentiate(plain, both, i * 1e-3, CUTOFF)
        encoder = np.array([(q + math.pi) % math.tau - math.pi, q])
        wrapped = differentiate(wrapped, encoder, i * 1e-3, CUTOFF, np.array([True, False]))
    np.testing.assert_allclose(wrapped.qd, plain.qd, rtol=1e-9)  # rounding


def test_an_encoder_that_wraps_shows_the_shorter_way_round():
    before = Differentiated(np.array([3.1, 3.1]), np.zeros(2), 5.0)
    found = differentiate(before, np.array([-3.1, -3.1]), 5.01, 1e9, np.array([True, False]))
    np.testing.assert_allclose(found.qd, [(math.tau - 6.2) / 0.01, -6.2 / 0.01], rtol=1e-6)
