"""Plans: what joint_trajectory_controller does with stamps, first points, replacement and the end."""

import math
from itertools import pairwise

import closed_form
import numpy as np
import pytest
from joints import ARM, SECOND, joint, point, request

from kane_dynamics_ros.control.plan import (
    hold_at,
    hold_from,
    replan,
    sample,
    slowed,
    without_motion_from,
)
from kane_dynamics_ros.control.validation import Rules, TrajectoryError

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


def test_a_first_point_at_time_zero_starts_the_motion_at_once_without_a_step():  # field report 87
    points = point(0.0, (0.5, 0.5), (0.3, 0.0)), point(1.0, (1.5, 0.5), (0.0, 0.0))
    plan = follow(*points)
    np.testing.assert_allclose(at(plan, 0.0)[:2], [START, [0.3, 0.0]], atol=ROUNDING)
    for time in (0.2, 0.6, 0.999):  # after 0.2 s nothing is left of the difference
        expected = closed_form.cubic(time, 1.0, 0.5, 0.3, 1.5, 0.0)
        assert at(plan, time)[:, 0] == pytest.approx(expected, abs=ROUNDING)
    fade = closed_form.quintic(0.05, 0.2, (START[0] - 0.5, 0.0, 0.0), (0.0, 0.0, 0.0))
    expected = np.add(closed_form.cubic(0.05, 1.0, 0.5, 0.3, 1.5, 0.0), fade)
    assert at(plan, 0.05)[:, 0] == pytest.approx(expected, abs=ROUNDING)


def test_a_first_point_at_time_zero_where_the_reference_is_begins_the_motion_itself():
    plan = follow(
        point(0.0, tuple(START), (0.0, 0.0), (2.0, 0.0)), point(1.0, (1.5, 0.5), (0.0, 0.0), (0.0, 0.0))
    )
    expected = closed_form.quintic(0.05, 1.0, (START[0], 0.0, 2.0), (1.5, 0.0, 0.0))
    assert at(plan, 0.05)[:, 0] == pytest.approx(expected, abs=ROUNDING)
    assert plan.end_ns == NOW + SECOND


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
    with pytest.raises(TrajectoryError, match=r"9\.000 s in the past") as caught:
        follow(point(1.0, (0.0, 0.0)), stamp=90.0)
    assert (caught.value.code, caught.value.age) == ("already_past", 9.0)


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


def test_joints_of_a_partial_goal_that_are_not_named_come_to_rest_on_their_way():
    running = follow(point(4.0, (1.7, 0.6), (0.0, 0.0)))
    for named in (point(1.0, (0.7,), (0.0,)), point(0.3, (0.3,))):
        now = NOW + SECOND
        plan = follow(named, plan=running, now=now, names=("elbow",), rules=Rules(allow_partial=True))
        before, after = at(running, 1.0)[:, 0], sample(plan, now + 1)[:, 0]
        assert before[1] > 0.2  # [rad/s], and no less a nanosecond later
        np.testing.assert_allclose(after[:2], before[:2], atol=1e-8)
        rest = at(plan, 1.5)[:, 0]  # half a second later it rests, where it would have been half way
        np.testing.assert_allclose(rest, [at(running, 1.25)[0, 0], 0.0, 0.0], atol=1e-6)
        np.testing.assert_allclose(at(plan, 9.0)[0], [rest[0], named.positions[0]], atol=ROUNDING)


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


RUNNING = point(1.0, (0.6, 0.3), (0.4, -0.3), (0.2, 0.1)), point(2.5, (1.0, -0.5), (0.0, 0.0), (0.0, 0.0))
MIDDLE = NOW + round(0.8 * SECOND)  # while it moves, with velocity and acceleration
TURNING = (joint("shoulder", "continuous"), joint("elbow"))
PARTIAL = {"names": ("elbow",), "rules": Rules(allow_partial=True)}


def changed(*points, **more):
    """What follows a running motion in its midst."""
    return follow(*points, plan=follow(*RUNNING), now=MIDDLE, **more)


PLANS = {
    "quintic": follow(*RUNNING),
    "cubic": follow(point(1.0, (0.6, 0.3), (0.4, -0.3)), point(2.5, (1.0, -0.5), (0.0, 0.0))),
    "linear": follow(point(1.0, (0.6, 0.3)), point(2.5, (1.0, -0.5))),
    "replaced": changed(point(1.0, (0.0, 0.0), (0.0, 0.0), (0.0, 0.0))),
    "for later": changed(point(1.0, (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)), stamp=101.5),
    "begun": changed(*RUNNING, stamp=100.1),
    "at once": changed(point(0.0, (0.5, 0.2), (0.3, 0.1), (0.0, 0.1)), *RUNNING),
    "at once, one point": changed(point(0.0, (0.5, 0.2), (0.0, 0.0), (0.0, 0.0))),
    "at once, cubic": changed(point(0.0, (0.5, 0.2), (0.3, 0.1)), *RUNNING),
    "at once, linear": changed(point(0.0, (0.5, 0.2)), point(1.0, (0.7, 0.2))),
    "turned": follow(*RUNNING, plan=hold_at(np.array([6.5, 0.0]), NOW), joints=TURNING),
    "turned, at once": follow(
        point(0.0, (0.3, 0.0)), *RUNNING, plan=hold_at(np.array([6.5, 0.0]), NOW), joints=TURNING
    ),
    "partial": changed(point(1.0, (0.7,), (0.0,)), **PARTIAL),
    "partial, at once": changed(point(0.0, (0.1,), (0.0,)), point(1.0, (0.7,), (0.0,)), **PARTIAL),
    "slowed": slowed(follow(*RUNNING), MIDDLE, 0.5),
    "slowed, at once": slowed(changed(point(0.0, (0.5, 0.2), (0.3, 0.1)), *RUNNING), MIDDLE, 0.5),
    "cancelled": without_motion_from(changed(point(1.0, (0.0, 0.0)), stamp=103.0), NOW + 3 * SECOND, MIDDLE),
    "stopped": hold_from(follow(*RUNNING), MIDDLE),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_velocity_and_acceleration_are_the_derivatives_of_position_along_the_whole_plan(plan):
    """By central differences between the knots, where the derivatives may jump."""
    h = 1e-4  # [s]: the error of the differences is h^2 / 6 times a third derivative below 1e3 per s^3
    first = (int(plan.splines[0].starts_ns[0]) - NOW) / SECOND
    knots = {first, first + 9.0}
    splines = list(plan.splines)
    while splines:
        spline = splines.pop()
        knots |= {(int(start) - NOW) / SECOND for start in spline.starts_ns}
        splines += [] if spline.offset is None else [spline.offset]
    for begin, end in pairwise(sorted(knots)):
        if begin >= first and end - begin > 5.0 * h:
            for time in np.linspace(begin + 2.0 * h, end - 2.0 * h, 7):
                before, here, after = at(plan, time - h), at(plan, time), at(plan, time + h)
                np.testing.assert_allclose(here[1], (after[0] - before[0]) / (2.0 * h), atol=1e-5)
                np.testing.assert_allclose(here[2], (after[1] - before[1]) / (2.0 * h), atol=1e-4)


@pytest.mark.parametrize("name", [name for name in PLANS if not name.startswith("turned")])
def test_the_reference_never_steps(name):
    """No faster than its own velocity between any two times a millisecond apart."""
    plan = PLANS[name]
    times = np.arange(0.8, 4.0, 0.001)
    states = np.array([at(plan, time) for time in times])
    steps = np.abs(np.diff(states[:, 0], axis=0))
    fastest = np.maximum(np.abs(states[1:, 1]), np.abs(states[:-1, 1]))
    assert (steps <= 0.001 * fastest + 1e-5).all()  # and half an acceleration of 20 rad/s^2 times (1 ms)^2


def test_a_motion_that_is_slowed_has_the_accelerations_of_its_path():
    """Of a straight line at constant velocity v: at most 3/2 v / T, that of s - s^3 + s^4 / 2."""
    plan = follow(point(10.0, (1.1, -0.2)))
    slow = slowed(plan, NOW + SECOND, 0.5)
    found = np.array([sample(slow, NOW + SECOND + k * SECOND // 200) for k in range(101)])
    assert np.abs(found[:, 2, 0]).max() == pytest.approx(1.5 * 0.1 / 0.5, rel=1e-3)
    np.testing.assert_allclose(found[0], at(plan, 1.0), atol=ROUNDING)
    np.testing.assert_allclose(found[-1][:, 0], [0.2 + 0.1 * 0.25, 0.0, 0.0], atol=1e-6)
    assert slow.end_ns == NOW + SECOND + SECOND // 2


def test_a_motion_that_waits_is_taken_out_of_the_plan_and_nothing_else():
    running = follow(*RUNNING)
    queued = follow(point(1.0, (0.0, 0.0)), plan=running, now=MIDDLE, stamp=103.0)
    left = without_motion_from(queued, NOW + 3 * SECOND, MIDDLE)
    for time in (0.8, 1.7, 2.5, 3.0, 3.5, 9.0):
        np.testing.assert_allclose(at(left, time), at(running, time), atol=ROUNDING)
    overlapping = follow(point(1.0, (0.0, 0.0)), plan=running, now=MIDDLE, stamp=101.0)
    left = without_motion_from(overlapping, NOW + SECOND, MIDDLE)  # of the first nothing else is known
    np.testing.assert_allclose(at(left, 9.0), [at(running, 0.8)[0], [0, 0], [0, 0]], atol=ROUNDING)


def test_a_partial_goal_in_motion_turns_the_joint_that_it_names_and_slows_the_other():
    """A continuous joint a turn away from zero, while the other one moves."""
    running = follow(
        point(2.0, (6.5, 1.0), (0.0, 0.0)), plan=hold_at(np.array([6.5, 0.0]), NOW), joints=TURNING
    )
    partial = {"names": ("shoulder",), "rules": Rules(allow_partial=True)}
    plan = follow(point(1.0, (0.5,), (0.0,)), plan=running, now=NOW + SECOND, joints=TURNING, **partial)
    assert at(plan, 9.0)[0, 0] == pytest.approx(0.5 + math.tau)
    assert at(plan, 9.0)[0, 1] == pytest.approx(at(running, 1.25)[0, 1], abs=1e-6)
