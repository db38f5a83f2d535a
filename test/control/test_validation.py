"""Every rejection of a request, with its code and where it is."""

import math

import numpy as np
import pytest
from joints import ARM, point, request

from kane_dynamics_ros.control.validation import Rules, TrajectoryError, checked_waypoints

FINE = point(1.0, (0.0, 0.0))
CASES = {
    "unknown joint": (
        request(FINE, names=("shoulder", "elbw")),
        ("unknown_joint", {"joint": "elbw"}),
    ),
    "joint named twice": (
        request(FINE, names=("elbow", "elbow")),
        ("duplicate_joint", {"joint": "elbow"}),
    ),
    "missing joint": (
        request(point(1.0, (0.0,)), names=("elbow",)),
        ("missing_joints", {"joints": ("shoulder",)}),
    ),
    "no positions": (
        request(point(1.0, (), (0.0, 0.0))),
        ("wrong_length", {"index": 0, "field": "positions"}),
    ),
    "velocities of the wrong length": (
        request(FINE, point(2.0, (0.0, 0.0), (0.05,))),
        ("wrong_length", {"index": 1, "field": "velocities"}),
    ),
    "accelerations of the wrong length": (
        request(point(1.0, (0.0, 0.0), (0.0, 0.0), (0.0, 0.0, 0.0))),
        ("wrong_length", {"index": 0, "field": "accelerations"}),
    ),
    "effort of the wrong length": (
        request(point(1.0, (0.0, 0.0), effort=(1.0,))),
        ("wrong_length", {"index": 0, "field": "effort"}),
    ),
    "NaN": (
        request(FINE, point(2.0, (0.0, math.nan))),
        ("not_finite", {"index": 1, "field": "positions", "joint": "elbow"}),
    ),
    "infinity": (
        request(point(1.0, (0.0, 0.0), (math.inf, 0.0))),
        ("not_finite", {"index": 0, "field": "velocities", "joint": "shoulder"}),
    ),
    "accelerations without velocities": (
        request(point(1.0, (0.0, 0.0), (), (1.0, 1.0))),
        ("acceleration_without_velocity", {"index": 0}),
    ),
    "negative time": (
        request(point(-0.5, (0.0, 0.0))),
        ("time_not_increasing", {"index": 0}),
    ),
    "equal times": (
        request(point(0.372734245, (0.0, 0.0)), point(0.372734245, (0.0, 0.0))),
        ("time_not_increasing", {"index": 1}),
    ),
    "decreasing times": (
        request(FINE, point(2.0, (0.0, 0.0)), point(1.5, (0.0, 0.0))),
        ("time_not_increasing", {"index": 2}),
    ),
    "moving at the end": (
        request(point(1.0, (0.0, 0.0), (0.0, 0.3))),
        ("moving_at_the_end", {"index": 0, "joint": "elbow"}),
    ),
}


@pytest.mark.parametrize(("given", "reason"), CASES.values(), ids=CASES)
def test_a_bad_trajectory_is_rejected_with_the_reason(given, reason):  # field reports 82, 89, 94, 96
    with pytest.raises(TrajectoryError) as caught:
        checked_waypoints(given, ARM, Rules())
    code, values = reason
    assert caught.value.code == code
    assert {name: getattr(caught.value, name) for name in values} == values
    assert all(str(value) in str(caught.value) for value in values.values() if isinstance(value, (int, str)))


@pytest.mark.parametrize(("velocity", "accepted"), [(5e-8, True), (-1.19e-7, True), (1.3e-7, False)])
def test_the_last_velocity_is_rounding_below_the_float32_epsilon_of_joint_trajectory_controller(
    velocity, accepted
):
    given = request(point(1.0, (0.0, 0.0), (0.0, velocity)))
    if accepted:
        assert checked_waypoints(given, ARM, Rules()).qd[0, 1] == velocity
    else:
        with pytest.raises(TrajectoryError):
            checked_waypoints(given, ARM, Rules())


def test_a_moving_end_is_accepted_when_allowed():
    waypoints = checked_waypoints(
        request(point(1.0, (0.0, 0.0), (0.0, 0.3))), ARM, Rules(allow_nonzero_end_velocity=True)
    )
    np.testing.assert_array_equal(waypoints.qd[0], [0.0, 0.3])


def test_a_partial_goal_without_any_name_is_rejected():
    with pytest.raises(TrajectoryError):
        checked_waypoints(request(point(1.0, ()), names=()), ARM, Rules(allow_partial=True))
