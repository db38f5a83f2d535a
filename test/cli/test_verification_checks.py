"""How ``verify`` measures a difference."""

import numpy as np
import pytest

from kane_dynamics_ros.cli.verify import relative


@pytest.mark.parametrize(
    ("found", "expected", "difference"),
    [
        ([100.0, 1.0], [100.0, 1.0], 0.0),
        ([101.0, 1.0], [100.0, 1.0], 0.01),
        ([100.0, 1.01], [100.0, 1.0], 0.01),  # a small joint is measured by its own torque
        ([100.0, 0.001], [100.0, 0.0], 0.01),  # and one that vanishes by a thousandth of the largest
        ([[1.0, 2.0], [3.0, 5.0]], [[1.0, 2.0], [3.0, 4.0]], 0.25),
        (2.0, 1.0, 1.0),
        ([0.0], [0.0], 0.0),
    ],
)
def test_difference_relative_to_each_entry(found, expected, difference):
    assert relative(found, expected) == pytest.approx(difference, rel=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_infinitely_wrong(bad):
    assert relative([1.0, bad], [1.0, 1.0]) == np.inf
    assert relative([1.0, 1.0], [1.0, bad]) == np.inf
