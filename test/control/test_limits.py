"""Limits on efforts and references."""

import re

import numpy as np
import pytest
from joints import ARM, SECOND, joint, point, request

from kane_dynamics_ros.control.limits import (
    clamp,
    clamp_reference,
    effort_limits,
    far_outside,
    limit_rate,
    motion_limits,
    overloaded_by_gravity,
    position_limits,
)
from kane_dynamics_ros.control.plan import Spline, hold_at, joined, prepare
from kane_dynamics_ros.control.splines import constant
from kane_dynamics_ros.control.validation import Rules, TrajectoryError
from kane_dynamics_ros.runtime import load_model

LIMITED = (joint("shoulder", lower=-1.0, upper=1.0, velocity=3.0, effort=10.0), joint("elbow"))


def check(*points, start=(0.0, 0.0), joints=LIMITED):
    """As the control loop does: the motion between the points, then the move to the first one."""
    limits = motion_limits(joints, np.array(start))
    prepared = prepare(request(*points), joints, Rules(), limits.check)
    found = joined(hold_at(np.array(start), SECOND), prepared, joints, SECOND, SECOND)
    limits.check_start(found, SECOND, everything=True)


def test_an_effort_limit_that_is_not_known_does_not_clamp():  # field report 101
    np.testing.assert_array_equal(clamp(np.array([12.0, 1e9]), effort_limits(LIMITED)), [10.0, 1e9])
    np.testing.assert_array_equal(clamp(np.array([-12.0, 0.0]), effort_limits(LIMITED)), [-10.0, 0.0])


def test_the_rate_limit_bounds_the_step_in_both_directions():
    largest = np.array([0.5, 0.5])
    np.testing.assert_array_equal(
        limit_rate(np.array([3.0, -3.0]), np.array([1.0, 1.0]), largest), [1.5, 0.5]
    )
    np.testing.assert_array_equal(limit_rate(np.array([1.2, 0.9]), np.array([1.0, 1.0]), largest), [1.2, 0.9])


def test_gravity_above_a_limit_is_named():  # field report 102
    model = load_model("manipulator_5dof")
    limits = effort_limits(model.joints)
    assert overloaded_by_gravity(model, limits) == ()
    limits[1] = 10.0
    ((joint, found, limit),) = overloaded_by_gravity(model, limits)
    assert (joint.name, limit) == ("alpha_2", 10.0)
    stretched = abs(model.gravity(np.zeros(5))[1])  # level and straight: the largest there is
    assert 0.9 * stretched < found <= stretched


def test_a_point_outside_the_position_limits_is_refused():  # field report 99
    with pytest.raises(TrajectoryError) as caught:
        check(point(10.0, (1.5, 0.0), (0.0, 0.0)))
    # a cubic passes 2/3 of the way at s with 3 s^2 - 2 s^3 = 2/3; the first of 33 samples after it is 20/32
    reached = 1.5 * (3 * 0.625**2 - 2 * 0.625**3)
    error = caught.value
    assert (error.code, error.quantity, error.joint) == ("outside_limits", "position", "shoulder")
    assert error.found == pytest.approx(reached)
    assert "at 6.250 s" in str(error)


def test_a_bulge_between_points_inside_the_limits_is_refused():
    with pytest.raises(TrajectoryError):
        check(point(2.0, (0.9, 0.0), (1.0, 0.0)), point(4.0, (0.9, 0.0), (0.0, 0.0)))


def test_a_velocity_beyond_the_limit_is_refused():
    with pytest.raises(TrajectoryError) as caught:
        check(point(0.25, (1.0, 0.0)))
    error = caught.value
    assert (error.code, error.quantity, error.joint) == ("outside_limits", "velocity", "shoulder")
    assert error.found == pytest.approx(4.0)


def test_where_and_when_a_quintic_of_any_duration_is_fastest():
    # from rest to rest over 0.75 in 0.5 s: 1.875 times the mean speed, halfway; a slow segment is before it
    rest = (0.0, 0.0)
    points = [point(t, q, rest, rest) for t, q in ((2.0, (0.0, 0.0)), (6.0, (0.25, 0.0)), (6.5, (1.0, 0.0)))]
    fastest = 1.875 * 0.75 / 0.5
    almost = (LIMITED[0]._replace(velocity=0.9999 * fastest), LIMITED[1])
    enough = (LIMITED[0]._replace(velocity=1.0001 * fastest), LIMITED[1])
    check(*points, joints=enough)
    with pytest.raises(TrajectoryError) as caught:
        check(*points, joints=almost)
    assert (caught.value.quantity, caught.value.found) == ("velocity", pytest.approx(fastest))
    assert "at 6.250 s" in str(caught.value)


def test_a_joint_that_a_trajectory_leaves_out_may_be_outside_its_positions():
    limits = motion_limits(LIMITED, None)
    beyond = request(point(1.0, (1.5, 0.0)), point(2.0, (1.5, 0.5)))
    motion = Spline(np.array([0, SECOND]), np.stack([constant(np.array([1.5, 0.0]))]))
    limits.check(motion, np.array([False, True]))
    with pytest.raises(TrajectoryError):
        limits.check(motion, np.array([True, False]))
    with pytest.raises(TrajectoryError):
        prepare(beyond, LIMITED, Rules(), limits.check)


def test_the_joint_that_steps_furthest_beyond_its_limit_is_named():
    joints = (joint("shoulder", velocity=100.0), joint("elbow", velocity=1.0))
    with pytest.raises(TrajectoryError) as caught:  # 2 and 0.02 are allowed
        check(point(0.0, (2.1, 0.5)), point(1.0, (2.1, 0.5)), joints=joints)
    assert (caught.value.code, caught.value.joint, caught.value.found) == ("step", "elbow", 0.5)


def test_a_refusal_of_velocity_says_how_much_slower_the_motion_is_allowed():
    joints, rest = (joint("shoulder", velocity=2.5), joint("elbow")), (0.0, 0.0)
    with pytest.raises(TrajectoryError) as caught:
        check(point(0.2, (0.4, 0.0), rest), joints=joints)
    factor = float(re.search(r"at least (\S+) times as long", str(caught.value))[1])
    assert factor == pytest.approx(1.5 * 0.4 / 0.2 / 2.5, abs=0.02)  # a cubic's peak, 1.5 times the mean
    check(point(0.2 * factor, (0.4, 0.0), rest), joints=joints)
    assert " rad/s at " in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "position", "unit", "asked"),
    [
        ("revolute", 1.2, "rad", ""),
        ("revolute", 76.8, "rad", "degrees"),
        ("prismatic", 1.6, "m", ""),  # a slide may be a few millimetres long
        ("prismatic", 76.8, "m", "millimetres"),
    ],
)
def test_a_refusal_of_a_position_asks_for_the_unit_where_it_is_far_outside(kind, position, unit, asked):
    joints = (joint("shoulder", kind, lower=-1.0, upper=1.0), joint("elbow"))
    with pytest.raises(TrajectoryError) as caught:
        check(point(100.0, (position, 0.0)), joints=joints)
    for word in ("degrees", "millimetres"):
        assert (word in str(caught.value)) == (word == asked)
    assert f" {unit} at " in str(caught.value)


def test_an_arm_outside_its_limits_may_move_back_in():
    check(point(2.0, (0.5, 0.0), (0.0, 0.0)), start=(1.2, 0.0))


def test_a_clamped_reference_rests_at_the_limit():
    lower, upper = position_limits((*LIMITED, joint("wrist", "continuous", lower=-1.0, upper=1.0)))
    reference = np.array([[1.5, 9.0, 9.0], [2.0, 2.0, 2.0], [3.0, 3.0, 3.0]])
    expected = [[1.0, 9.0, 9.0], [0.0, 2.0, 2.0], [0.0, 3.0, 3.0]]
    np.testing.assert_array_equal(clamp_reference(reference, lower, upper), expected)


def test_joints_of_the_arm_without_limits_accept_everything():
    check(point(0.1, (90.0, -90.0)), joints=ARM)


def test_positions_in_degrees_are_far_outside_the_limits_and_a_push_is_not():
    joints = (*LIMITED, joint("wrist", "continuous"))
    assert far_outside(np.array([1.1, 500.0, 500.0]), joints) == ()
    (phrase,) = far_outside(np.array([76.8, 0.0, 0.0]), joints)
    assert phrase.startswith("shoulder is at 76.8 rad, its limits are -1 to 1")
    far = np.array([-1.0 - 0.2 * 2.0, 0.0, 0.0])
    assert far_outside(far + 1e-9, joints) == () != far_outside(far - 1e-9, joints)
