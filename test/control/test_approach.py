"""The way to a trajectory's first point is slow enough from wherever the arm may be."""

import numpy as np
import pytest

from kane_dynamics_ros.control.approach import SHARE_OF_SPEED, approach_time, request_after
from kane_dynamics_ros.control.plan import hold_at, replan, sample
from kane_dynamics_ros.control.validation import Rules
from kane_dynamics_ros.runtime import JointInfo, initial_positions, load_model

NOTHING = JointInfo("joint", "revolute", None, None, None, None, 0.0, 0.0, 0.0, None)
MODEL = load_model("manipulator_5dof")


def peak_speed(joints, start, first, approach):
    """Largest speeds (n,) of the controller's own way from rest at ``start`` to ``first``."""
    rest = np.zeros((1, len(first)))
    request = request_after(approach, [joint.name for joint in joints], [0.0], [first[None], rest, rest])
    plan = replan(hold_at(start, 0), request, joints, 0, Rules())
    return np.abs([sample(plan, int(t))[1] for t in np.linspace(0, plan.end_ns, 401)]).max(axis=0)


@pytest.mark.parametrize("first", [(0.3,), (-1.9,), (1.5,)])
def test_approach_from_either_limit_keeps_its_share_of_the_speed(first):
    joint = NOTHING._replace(lower=-2.0, upper=1.6, velocity=0.7)
    approach = approach_time([joint], np.array(first), np.array([0.7]))
    peaks = [peak_speed([joint], np.array([limit]), np.array(first), approach)[0] for limit in (-2.0, 1.6)]
    assert max(peaks) <= SHARE_OF_SPEED * 0.7
    # a second less would be too fast
    assert (
        max(peak_speed([joint], np.array([limit]), np.array(first), approach - 1)[0] for limit in (-2.0, 1.6))
        > SHARE_OF_SPEED * 0.7
    )


def test_approach_counts_an_initial_position_that_is_far_outside_the_limits():
    joint = NOTHING._replace(lower=-1.0, upper=1.0, velocity=1.0, initial_position=9.0)
    first = np.array([0.9])
    approach = approach_time([joint], first, np.ones(1))
    assert peak_speed([joint], np.array([9.0]), first, approach)[0] <= SHARE_OF_SPEED
    assert peak_speed([joint], np.array([9.0]), first, approach - 1)[0] > SHARE_OF_SPEED


def test_approach_of_unlimited_joints_is_finite():
    joints = [NOTHING, NOTHING._replace(kind="continuous")]
    assert 2.0 <= approach_time(joints, np.zeros(2), np.ones(2)) < 60.0
    assert approach_time(joints, np.zeros(2), np.full(2, 1e3)) == 2  # and never hurried


@pytest.mark.parametrize(
    ("lower", "upper", "given", "expected"),
    [
        (-1.0, 1.0, None, 0.0),
        (0.5, 1.0, None, 0.5),
        (-3.0, -0.1, None, -0.1),
        (0.5, None, None, 0.5),
        (None, -0.5, None, -0.5),
        (None, None, None, 0.0),
        (-1.0, 1.0, 0.7, 0.7),
        (-1.0, 1.0, 2.0, 2.0),
    ],
)
def test_arm_starts_where_the_urdf_says_or_nearest_to_zero(lower, upper, given, expected):
    joint = NOTHING._replace(lower=lower, upper=upper, initial_position=given)
    assert initial_positions([joint]) == [expected]


def test_request_is_due_after_the_approach():
    n, times = len(MODEL.joint_names), [0.0, 0.25, 0.5]
    states = np.arange(3.0 * 3 * n).reshape(3, 3, n)
    request = request_after(3, MODEL.joint_names, times, states)
    assert [point.time_ns for point in request.points] == [3_000_000_000, 3_250_000_000, 3_500_000_000]
    for i, point in enumerate(request.points):
        found = (point.positions, point.velocities, point.accelerations)
        np.testing.assert_array_equal(found, states[:, i])
