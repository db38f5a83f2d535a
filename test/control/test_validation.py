"""Every rejection, with its whole message."""

import math

import numpy as np
import pytest
from joints import ARM, point, request

from kane_dynamics_ros.control.rejections import TrajectoryError
from kane_dynamics_ros.control.validation import Rules, checked_waypoints

CASES = {
    "unknown joint": (
        request(point(1.0, (0.0, 0.0)), names=("shoulder", "elbw")),
        "unknown joint 'elbw'; the model's joints are 'shoulder', 'elbow'",
    ),
    "joint named twice": (
        request(point(1.0, (0.0, 0.0)), names=("elbow", "elbow")),
        "joint 'elbow' is named twice in joint_names; each may be named once",
    ),
    "missing joint": (
        request(point(1.0, (0.0,)), names=("elbow",)),
        "joint 'shoulder' missing; name every joint, or set trajectory.allow_partial to true: joints that "
        "are not named then hold their position",
    ),
    "no positions": (
        request(point(1.0, (), (0.0, 0.0))),
        "point 0: positions has 0 values; allowed are 2, one for each name in joint_names",
    ),
    "velocities of the wrong length": (
        request(point(1.0, (0.0, 0.0)), point(2.0, (0.0, 0.0), (0.05,))),
        "point 1: velocities has 1 values; allowed are 0 or 2, one for each name in joint_names",
    ),
    "accelerations of the wrong length": (
        request(point(1.0, (0.0, 0.0), (0.0, 0.0), (0.0, 0.0, 0.0))),
        "point 0: accelerations has 3 values; allowed are 0 or 2, one for each name in joint_names",
    ),
    "effort of the wrong length": (
        request(point(1.0, (0.0, 0.0), effort=(1.0,))),
        "point 0: effort has 1 values; allowed are 0 or 2, one for each name in joint_names",
    ),
    "NaN": (
        request(point(1.0, (0.0, math.nan))),
        "point 0: positions of joint 'elbow' is not finite",
    ),
    "infinity": (
        request(point(1.0, (0.0, 0.0), (math.inf, 0.0))),
        "point 0: velocities of joint 'shoulder' is not finite",
    ),
    "accelerations without velocities": (
        request(point(1.0, (0.0, 0.0), (), (1.0, 1.0))),
        "point 0: accelerations without velocities; give both, or neither",
    ),
    "negative time": (
        request(point(-0.5, (0.0, 0.0))),
        "point 0: time_from_start is -0.500000000 s; allowed is 0 or more",
    ),
    "equal times": (
        request(point(0.372734245, (0.0, 0.0)), point(0.372734245, (0.0, 0.0))),
        "point 1: time_from_start is 0.372734245 s; allowed is more than 0.372734245 s (point before)",
    ),
    "decreasing times": (
        request(point(1.0, (0.0, 0.0)), point(2.0, (0.0, 0.0)), point(1.5, (0.0, 0.0))),
        "point 2: time_from_start is 1.500000000 s; allowed is more than 2.000000000 s (point before)",
    ),
    "moving at the end": (
        request(point(1.0, (0.0, 0.0), (0.0, 0.3))),
        "point 0, the last: velocity of joint 'elbow' is 0.3; allowed is 0, unless "
        "trajectory.allow_nonzero_end_velocity is true",
    ),
}


@pytest.mark.parametrize(("given", "message"), CASES.values(), ids=CASES)
def test_a_bad_trajectory_is_rejected_with_the_reason(given, message):  # field reports 82, 89, 94, 96
    with pytest.raises(TrajectoryError) as caught:
        checked_waypoints(given, ARM, Rules())
    assert str(caught.value) == message


def test_a_moving_end_is_accepted_when_allowed():
    waypoints = checked_waypoints(
        request(point(1.0, (0.0, 0.0), (0.0, 0.3))), ARM, Rules(allow_nonzero_end_velocity=True)
    )
    np.testing.assert_array_equal(waypoints.qd[0], [0.0, 0.3])


def test_a_partial_goal_without_any_name_is_rejected():
    with pytest.raises(TrajectoryError):
        checked_waypoints(request(point(1.0, ()), names=()), ARM, Rules(allow_partial=True))
