"""Plans: what joint_trajectory_controller does with stamps, first points, replacement and the end."""

import math

import closed_form
import numpy as np
import pytest
from joints import ARM, SECOND, joint, point, request

from kane_dynamics_ros.control.plan import hold_at, hold_from, replan, sample
from kane_dynamics_ros.control.rejections import AlreadyPastError
from kane_dynamics_ros.control.validation import Rules

NOW = 100 * SECOND
START = np.array([0.1, -0.2])
STRICT = Rules()
ROUNDING = 1e-9  # nanoseconds in the times, times velocities and accelerations of a few rad/s and rad/s^2


def follow(*points, plan=None, now=NOW, joints=ARM, rules=STRICT, **more):
    return replan(plan or hold_at(START, NOW), request(*points, **more), joints, now, rules)


def at(plan, seconds):
    """Reference (3, 2) at a time [s] after NOW."""
    return sample(plan, NOW + round(seconds * SECOND))


def test_holding_gives_the_position_at_rest():
    np.testing.assert_array_equal(at(hold_at(START, NOW), 5.0), [START, [0, 0], [0, 0]])


def test_the_move_to_the_first_point_starts_at_the_present_reference():
    plan = follow(point(2.0, (1.1, -0.2), (0.0, 0.0)))
    expected = closed_form.cubic(0.5, 2.0, 0.1, 0.0, 1.1, 0.0)
    assert at(plan, 0.5)[:, 0] == pytest.approx(expected, abs=ROUNDING)


def test_a_first_point_at_time_zero_is_taken_at_once():  # field report 87
    plan = follow(point(0.0, (0.5, 0.5)), point(1.0, (1.5, 0.5)))
    np.testing.assert_allclose(at(plan, 0.0), [[0.5, 0.5], [1.0, 0.0], [0.0, 0.0]], atol=ROUNDING)


def test_positions_alone_give_velocity_steps_and_no_acceleration():  # field report 92
    plan = follow(*(point(1.0 + i, (0.1 * i, -0.2)) for i in range(5)))
    for time in np.linspace(0.0, 6.0, 61):
        reference = at(plan, time)
        assert np.isfinite(reference).all()
        assert (reference[2] == 0.0).all()
    assert at(plan, 2.5)[1, 0] == pytest.approx(0.1, abs=ROUNDING)


def test_missing_accelerations_come_from_the_spline():  # field report 91
    plan = follow(point(1.0, (1.1, -0.2), (0.0, 0.0)))
    # a cubic from rest to rest over 1 s and 1 rad begins with 6 rad/s^2
    assert at(plan, 0.0)[2, 0] == pytest.approx(6.0, abs=ROUNDING)


def test_the_last_point_is_held_after_the_end():
    plan = follow(point(1.0, (1.1, 0.3), (0.0, 0.0)))
    np.testing.assert_allclose(at(plan, 50.0), [[1.1, 0.3], [0.0, 0.0], [0.0, 0.0]], atol=ROUNDING)


def test_a_new_trajectory_continues_position_velocity_and_acceleration():
    running = follow(point(2.0, (1.0, 1.0), (0.0, 0.0), (0.0, 0.0)))
    before = at(running, 0.7)
    replaced = follow(
        point(1.5, (-1.0, 0.5), (0.0, 0.0), (0.0, 0.0)), plan=running, now=NOW + round(0.7 * SECOND)
    )
    np.testing.assert_allclose(at(replaced, 0.7), before, atol=ROUNDING)
    expected = closed_form.quintic(0.4, 1.5, before[:, 0], (-1.0, 0.0, 0.0))
    assert at(replaced, 1.1)[:, 0] == pytest.approx(expected, abs=ROUNDING)


def test_a_future_stamp_keeps_the_old_motion_until_then():
    running = follow(point(4.0, (1.0, 1.0), (0.0, 0.0)))
    later = follow(point(1.0, (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)), plan=running, stamp=102.0)
    for time in (0.0, 1.0, 1.999, 2.0):
        np.testing.assert_allclose(at(later, time), at(running, time), atol=ROUNDING)
    expected = closed_form.quintic(0.5, 1.0, at(running, 2.0)[:, 0], (0.0, 0.0, 0.0))
    assert at(later, 2.5)[:, 0] == pytest.approx(expected, abs=ROUNDING)


def test_an_earlier_start_replaces_a_motion_that_waits_for_a_later_one():
    waiting = follow(point(1.0, (9.0, 9.0)), stamp=110.0)
    sooner = follow(point(1.0, (2.0, 2.0)), plan=waiting, stamp=105.0)
    np.testing.assert_allclose(at(sooner, 60.0)[0], [2.0, 2.0])


def test_points_already_past_are_dropped_without_a_jump():
    points = [point(i, (0.1 + 0.2 * i, -0.2), (0.2, 0.0)) for i in range(1, 5)] + [
        point(5.0, (1.1, -0.2), (0.0, 0.0))
    ]
    plan = follow(*points, stamp=97.5)
    np.testing.assert_allclose(at(plan, 0.0), [START, [0, 0], [6 * 0.6 / 0.25 - 2 * 0.2 / 0.5, 0]], atol=1e-6)
    np.testing.assert_allclose(at(plan, 0.5)[:2], [[0.7, -0.2], [0.2, 0.0]], atol=1e-6)


def test_a_trajectory_whose_end_is_past_is_rejected_with_its_age():
    with pytest.raises(AlreadyPastError) as caught:
        follow(point(1.0, (0.0, 0.0)), stamp=90.0)
    assert str(caught.value) == (
        "the last point's time is 9.000 s in the past; stamp the header with a later start, or with 0 to "
        "start at reception"
    )


def test_an_empty_trajectory_stops_at_the_present_reference():
    running = follow(point(2.0, (1.0, 1.0), (0.0, 0.0)))
    now = NOW + SECOND
    stopped = replan(running, request(), ARM, now, Rules())
    np.testing.assert_array_equal(sample(stopped, now + SECOND)[0], sample(running, now)[0])
    np.testing.assert_array_equal(sample(stopped, now + SECOND)[1:], np.zeros((2, 2)))
    assert sample(hold_from(running, now), now)[0] == pytest.approx(sample(running, now)[0])


def test_continuous_joints_are_shifted_once_by_whole_turns():
    joints = (joint("shoulder", "continuous"), joint("elbow"))
    plan = hold_at(np.array([6.5, 0.0]), NOW)
    plan = follow(point(1.0, (0.2, 0.0)), point(2.0, (20.0, 0.0)), plan=plan, joints=joints)
    assert at(plan, 1.0)[0, 0] == pytest.approx(0.2 + math.tau)
    assert at(plan, 9.0)[0, 0] == pytest.approx(20.0 + math.tau)  # the turns inside the motion stay


def test_joints_with_limits_are_never_wrapped():  # field report 99
    plan = follow(point(1.0, (10.0, 0.0)), plan=hold_at(np.array([10.0 - math.tau, 0.0]), NOW))
    assert at(plan, 9.0)[0, 0] == 10.0


def test_joints_of_a_partial_goal_that_are_not_named_hold():  # field report 96
    plan = follow(point(1.0, (0.7,), (0.0,)), names=("elbow",), rules=Rules(allow_partial=True))
    np.testing.assert_allclose(at(plan, 9.0)[0], [0.1, 0.7])
    np.testing.assert_allclose(at(plan, 0.5)[:, 0], [0.1, 0.0, 0.0], atol=ROUNDING)


def test_order_of_names_does_not_matter():  # field report 77
    plan = follow(point(1.0, (0.7, 0.3)), names=("elbow", "shoulder"))
    np.testing.assert_allclose(at(plan, 9.0)[0], [0.3, 0.7])


def test_the_past_of_a_plan_is_not_kept():
    plan = hold_at(START, NOW)
    for i in range(200):
        now = NOW + i * SECOND
        plan = follow(
            point(5.0, (0.1 * (i % 7), 0.0), (0.0, 0.0)), plan=plan, now=now, stamp=(now / SECOND) + 0.5
        )
    assert sum(len(spline.starts_ns) for spline in plan.splines) < 5
