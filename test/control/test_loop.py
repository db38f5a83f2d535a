"""The control loop: each fault with its reaction, recovery, limits, and changes between two steps."""

import math
import re
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from joints import SECOND, point, request

from kane_dynamics_ros.control.goals import ANYWHERE, Tolerances
from kane_dynamics_ros.control.law import Law, TermSwitches
from kane_dynamics_ros.control.limits import position_limits
from kane_dynamics_ros.control.loop import ControlLoop, LoopSettings
from kane_dynamics_ros.control.plan import sample
from kane_dynamics_ros.control.states import (
    FAULT_KINDS,
    Holding,
    Reacting,
    Safety,
)
from kane_dynamics_ros.control.validation import Rules, TrajectoryError, TrajectoryRequest
from kane_dynamics_ros.friction import ExtraFriction
from kane_dynamics_ros.runtime import Payload, load_model
from kane_dynamics_ros.simulation.friction import Friction
from kane_dynamics_ros.simulation.plant import Plant, PlantOptions

N = 5
MODEL = load_model("manipulator_5dof")
Q = np.array([0.1, 0.8, -0.9, 0.2, 0.1])
REST = np.zeros(N)
STEP = 0.001  # [s]


def settings(mode="computed_torque", reactions=None, **changes):
    lower, upper = position_limits(MODEL.joints)
    chosen = (
        dict.fromkeys(FAULT_KINDS, "hold") | {"overrun": "ignore", "saturation": "ignore"} | (reactions or {})
    )
    made = LoopSettings(
        law=Law(mode, MODEL, np.full(N, 100.0), np.full(N, 20.0), TermSwitches()),
        rules=Rules(),
        safety=Safety(reactions=chosen),
        effort_limits=np.full(N, 1e3),
        effort_rate=None,
        lower=lower,
        upper=upper,
        reference_limits="reject",
    )
    return replace(made, **changes)


class Arm:
    """A loop with a clock that goes on by one millisecond for each state."""

    def __init__(self, **options):
        self.loop = ControlLoop(settings(**options))
        self.time = 0.0

    def step(self, q=Q, qd=REST, after=STEP):
        self.time += after
        return self.loop.step(np.array(q), np.array(qd), self.now_ns, self.time)

    def steps(self, seconds, **state):
        return [self.step(**state) for _ in range(round(seconds / STEP))][-1]

    @property
    def now_ns(self):
        return 50 * SECOND + round(self.time * SECOND)


def goal(q, time=1.0):
    names = MODEL.joint_names
    return request(point(time, tuple(q), (0.0,) * N, (0.0,) * N), names=names)


@contextmanager
def refusing(code, match=None):
    with pytest.raises(TrajectoryError, match=match) as caught:
        yield caught
    assert caught.value.code == code


def test_the_first_state_is_held_with_gravity_compensated():
    np.testing.assert_allclose(Arm().step(), MODEL.gravity(Q), atol=1e-9)  # rounding


def test_a_trajectory_without_a_stamp_starts_at_the_next_state():
    arm = Arm()
    arm.step()
    arm.loop.follow(goal(Q + 0.1), arm.now_ns)
    arm.step(after=0.05)
    np.testing.assert_array_equal(arm.loop.last.reference, [Q, REST, REST])
    arm.steps(1.1)
    np.testing.assert_allclose(arm.loop.last.reference, [Q + 0.1, REST, REST], atol=1e-9)  # rounding
    assert isinstance(arm.loop.state, Holding)


def test_a_trajectory_for_later_does_not_hide_one_that_came_just_before():
    arm = Arm()
    arm.step()
    arm.loop.follow(goal(Q + 0.1, time=0.2), arm.now_ns)
    arm.loop.follow(replace(goal(Q), stamp_ns=arm.now_ns + SECOND), arm.now_ns)
    arm.steps(0.5)
    np.testing.assert_allclose(arm.loop.last.reference, [Q + 0.1, REST, REST], atol=1e-9)  # rounding
    arm.steps(2.0)
    np.testing.assert_allclose(arm.loop.last.reference, [Q, REST, REST], atol=1e-9)


def test_replacing_a_trajectory_does_not_jump_in_torque():
    arm = Arm()
    arm.step()
    arm.loop.follow(goal(Q + 0.3), arm.now_ns)
    before = arm.steps(0.4)
    arm.loop.follow(goal(Q - 0.3), arm.now_ns)
    # the reference's acceleration changes by its jerk times one step: here below 50 rad/s^3 x 1 ms, 15 kg m^2
    assert np.abs(arm.step() - before).max() < 1.0


def test_no_trajectory_is_taken_before_the_first_state():
    with refusing("no_state"):
        Arm().loop.follow(goal(Q), 0)


def test_a_trajectory_outside_the_limits_is_rejected_and_the_old_one_goes_on():
    arm = Arm()
    arm.step()
    with refusing("outside_limits"):
        arm.loop.follow(goal(Q + 100.0), arm.now_ns)
    np.testing.assert_allclose(arm.steps(0.1), MODEL.gravity(Q), atol=1e-9)  # rounding


def test_a_reference_outside_the_limits_is_clamped_when_asked():
    arm = Arm(reference_limits="clamp")
    arm.step()
    arm.loop.follow(goal(Q + 100.0), arm.now_ns)
    arm.steps(1.1)
    assert (arm.loop.last.reference[0] <= position_limits(MODEL.joints)[1]).all()


def test_limits_that_begin_to_apply_let_the_reference_stay_outside_them():
    arm = Arm(reference_limits="ignore")
    arm.step()
    beyond = position_limits(MODEL.joints)[1] + 0.2
    arm.loop.follow(goal(beyond), arm.now_ns)
    arm.steps(1.1)
    arm.loop.settings = replace(arm.loop.settings, reference_limits="clamp")
    arm.step()
    np.testing.assert_allclose(arm.loop.last.reference[0], beyond, atol=1e-9)  # rounding


@pytest.mark.parametrize(
    ("reaction", "expected"), [("hold", MODEL.gravity(Q)), ("zero", np.zeros(N)), ("stop", None)]
)
def test_missing_states_lead_to_the_chosen_reaction(reaction, expected):  # field report 139
    arm = Arm(reactions={"stale_state": reaction})
    arm.step()
    assert arm.loop.watch(arm.time + 0.05) is None
    found = arm.loop.watch(arm.time + 0.15)
    assert (found is None) if expected is None else found == pytest.approx(expected)
    assert arm.loop.counts["stale_state"] == 1
    assert isinstance(arm.loop.state, Reacting)


def test_an_ignored_fault_is_only_counted():
    arm = Arm(reactions={"stale_state": "ignore"})
    arm.step()
    assert arm.loop.watch(arm.time + 0.15) is None
    assert arm.loop.counts["stale_state"] == 1
    assert isinstance(arm.loop.state, Holding)


def test_control_resumes_at_the_measured_position_after_good_states():
    arm = Arm()
    arm.step()
    arm.loop.follow(goal(Q + 0.3), arm.now_ns)
    arm.steps(0.2)
    arm.loop.watch(arm.time + 0.5)
    moved = Q + 0.05
    arm.step(q=moved, after=0.6)
    assert isinstance(arm.loop.state, Reacting)
    with refusing("safe_state"):
        arm.loop.follow(goal(Q), arm.now_ns)
    arm.steps(0.25, q=moved)
    assert isinstance(arm.loop.state, Holding)
    np.testing.assert_array_equal(arm.loop.last.reference[0], moved)


def test_one_jump_of_position_gives_no_jump_of_torque():
    arm = Arm()
    before = arm.step()
    glitch = Q.copy()
    glitch[1] += 2.0
    np.testing.assert_allclose(arm.step(q=glitch), before, atol=1e-9)  # rounding
    assert arm.loop.counts["position_jump"] == 1
    np.testing.assert_allclose(arm.step(), before, atol=1e-9)


def test_efforts_beyond_the_limit_are_clamped_and_counted():
    limits = np.full(N, 1e3)
    limits[1] = 5.0
    arm = Arm(effort_limits=limits)
    tau = arm.step()
    assert abs(tau[1]) == 5.0
    assert arm.loop.saturation.clamped == {"alpha_2": 1}


def test_lasting_saturation_leads_to_its_reaction():
    limits = np.full(N, 1e3)
    limits[1] = 5.0
    arm = Arm(effort_limits=limits, reactions={"saturation": "zero"})
    arm.steps(0.49)
    assert arm.loop.counts["saturation"] == 0
    arm.steps(0.03)
    assert arm.loop.counts["saturation"] == 1
    np.testing.assert_array_equal(arm.step(), np.zeros(N))


def test_the_effort_changes_no_faster_than_its_rate():
    rate = np.full(N, 100.0)
    arm = Arm(effort_rate=rate)
    before = arm.step()
    moved = Q + np.array([0.0, 0.4, 0.0, 0.0, 0.0])
    after = arm.step(q=moved)
    assert np.abs(after - before).max() == pytest.approx(100.0 * STEP)


def test_a_pause_between_states_is_an_overrun():
    arm = Arm(reactions={"overrun": "zero"})
    arm.step()
    np.testing.assert_array_equal(arm.step(after=0.05), np.zeros(N))
    assert arm.loop.counts["overrun"] == 1


@pytest.mark.filterwarnings("ignore:overflow")  # the point of the test
def test_a_command_that_would_not_be_finite_is_never_given():
    arm = Arm()
    arm.step()
    arm.loop.settings = settings(
        law=replace(arm.loop.settings.law, kp=np.full(N, 1e308), kd=np.full(N, 1e308))
    )
    np.testing.assert_allclose(arm.step(q=Q + 0.4, qd=REST + 1e5), MODEL.gravity(Q + 0.4), atol=1e-9)
    assert arm.loop.counts["non_finite"] == 1


@pytest.mark.parametrize("reaction", ["hold", "zero"])
def test_where_gravity_itself_is_not_finite_no_effort_is_given(reaction):
    arm = Arm(reactions={"non_finite": reaction})
    arm.step()
    payload = Payload(1.0, (1e308, 1e308, 1e308))
    heavy = Law("computed_torque", MODEL.with_parameters(payload=payload), REST, REST, TermSwitches())
    arm.loop.settings = replace(arm.loop.settings, law=heavy)
    np.testing.assert_array_equal(arm.step(), 0.0)
    np.testing.assert_array_equal(arm.loop.safe_effort("hold", arm.time), 0.0)


def test_a_jump_is_seen_over_a_pause_that_nothing_reacted_to():
    arm = Arm()
    arm.step()
    arm.step(Q + 1.0, after=0.12)  # late by less than the period of the watch
    assert arm.loop.counts == {"overrun": 1, "position_jump": 1}


def test_a_jump_is_seen_where_states_never_are_stale():
    arm = Arm()
    arm.loop.settings = replace(
        arm.loop.settings, safety=replace(arm.loop.settings.safety, state_timeout=0.0)
    )
    arm.step()
    arm.step(Q + 1.0)
    assert arm.loop.counts == {"position_jump": 1}


def test_other_settings_take_effect_at_the_next_step():
    arm = Arm()
    arm.step()
    heavier = MODEL.with_parameters(gravity=(0.0, 0.0, -19.62))
    law = replace(arm.loop.settings.law, friction=heavier)
    arm.loop.settings = replace(arm.loop.settings, law=law)
    np.testing.assert_allclose(arm.step(), 2.0 * MODEL.gravity(Q), atol=1e-9)  # rounding


def test_after_a_jump_of_the_clock_the_next_state_is_held():
    arm = Arm()
    arm.step()
    arm.loop.follow(goal(Q + 0.3), arm.now_ns)
    arm.steps(0.3)
    arm.loop.forget("time jumped back")
    assert told(arm)[-1] == (1, "dropped", "time jumped back")
    assert arm.loop.stopped
    tau = arm.loop.step(Q, REST, 0, arm.time + STEP)
    np.testing.assert_allclose(tau, MODEL.gravity(Q), atol=1e-9)  # rounding


def test_hold_leaves_gravity_to_a_robot_that_compensates_it_itself():
    arm = Arm(law=Law("computed_torque", MODEL, REST, REST, TermSwitches(gravity=False)))
    arm.step()
    np.testing.assert_array_equal(arm.loop.safe_effort("hold", arm.time), np.zeros(N))


def test_a_step_of_the_clock_does_not_disturb_a_motion_without_a_stamp():  # field report 109
    arm = Arm()
    arm.step()
    arm.loop.follow(goal(Q + 0.3), arm.now_ns)
    arm.steps(0.4)
    hour = 3600 * SECOND
    before = arm.loop.last.reference
    assert not arm.loop.shift_clock(-hour, arm.now_ns - hour)
    arm.loop.step(Q, REST, arm.now_ns - hour, arm.time + STEP)
    np.testing.assert_array_equal(arm.loop.last.reference, before)
    for _ in range(700):
        arm.time += STEP
        arm.loop.step(Q, REST, arm.now_ns - hour, arm.time)
    assert [state for _, state, _ in told(arm)] == ["accepted", "finished"]


def test_a_step_of_the_clock_drops_a_motion_with_a_stamp():
    arm = Arm()
    arm.step()
    stamped = replace(goal(Q + 0.3), stamp_ns=arm.now_ns)
    arm.loop.follow(stamped, arm.now_ns)
    arm.steps(0.4)
    before = arm.loop.last.reference[0]
    assert arm.loop.shift_clock(SECOND, arm.now_ns + SECOND)
    assert told(arm)[-1] == (1, "dropped", "the clock was stepped by 1.000 s")
    arm.loop.step(Q, REST, arm.now_ns + SECOND, arm.time + STEP)
    np.testing.assert_allclose(arm.loop.last.reference, [before, REST, REST], atol=1e-12)  # rounding


def test_a_small_step_of_the_clock_leaves_a_motion_with_a_stamp_undisturbed():
    arm = Arm()
    arm.step()
    arm.loop.follow(replace(goal(Q + 0.3), stamp_ns=arm.now_ns), arm.now_ns)
    arm.steps(0.4)
    before, small = arm.loop.last.reference, SECOND // 50
    assert not arm.loop.shift_clock(small, arm.now_ns + small, drops=False)
    arm.loop.step(Q, REST, arm.now_ns + small, arm.time + STEP)
    np.testing.assert_array_equal(arm.loop.last.reference, before)
    assert [state for _, state, _ in told(arm)] == ["accepted"]


def told(arm):
    """States and reasons that the loop has to report."""
    return [(each.ticket.number, each.state, each.reason) for each in arm.loop.goals.pop_outcomes()]


@pytest.mark.parametrize(
    ("ahead", "says", "asks"), [(0, False, False), (90, True, False), (10**8, True, True)]
)
def test_a_trajectory_that_starts_later_is_accepted_with_the_time_until_then(ahead, says, asks):
    """From a stamp years ahead rather a wrong clock is to be guessed than a plan."""
    arm = Arm()
    arm.step()
    arm.loop.follow(replace(goal(Q + 0.1, time=0.2), stamp_ns=arm.now_ns + ahead * SECOND), arm.now_ns)
    ((_, state, reason),) = told(arm)
    assert state == "accepted"
    assert (f"starts in {ahead:.3f} s" in reason) == says
    assert ("clock" in reason) == asks


def test_a_trajectory_is_reported_accepted_and_finished():
    arm = Arm()
    arm.step()
    arm.loop.follow(goal(Q + 0.1, time=0.2), arm.now_ns, 4)
    assert told(arm) == [(4, "accepted", "takes 0.200 s")]
    arm.steps(0.19)
    assert told(arm) == []
    arm.steps(0.02)
    ((number, state, reason),) = told(arm)
    assert (number, state) == (4, "finished")
    assert "no goal tolerance" in reason


def test_a_stop_is_reported_as_one():
    arm = Arm()
    arm.step()
    arm.loop.follow(TrajectoryRequest(MODEL.joint_names, ()), arm.now_ns, 5)
    arm.steps(0.02)
    asked = "a request to stop: the position is held"
    assert told(arm) == [(5, "accepted", asked), (5, "finished", asked)]


def test_a_stop_ends_the_motion_at_once_where_the_reference_is():
    arm = Arm()
    arm.step()
    arm.loop.follow(goal(Q + 0.3), arm.now_ns, 1)
    arm.steps(0.5)
    arm.loop.follow(request(names=MODEL.joint_names), arm.now_ns, 2)
    there = arm.loop.last.reference[0]
    arm.steps(0.6)
    np.testing.assert_allclose(arm.loop.last.reference, [there, REST, REST], atol=1e-12)  # rounding
    assert (1, "dropped", "stopped by trajectory 2, which has no points") in told(arm)


def test_an_arm_outside_its_limits_is_taken_back_and_no_further_out():
    lower, _ = position_limits(MODEL.joints)
    outside = np.where(np.arange(N) == 1, lower - 0.1, Q)
    for limits in ("reject", "retime"):
        arm = Arm(reference_limits=limits)
        arm.step(q=outside)
        with refusing("outside_limits"):
            arm.loop.follow(goal(outside - 0.1 * (np.arange(N) == 1)), arm.now_ns)
        arm.loop.follow(goal(Q, time=4.0), arm.now_ns, 2)
        arm.step(q=outside)
        assert told(arm)[-1][:2] == (2, "accepted")


def test_the_sender_of_a_refused_trajectory_learns_the_reason():
    arm = Arm()
    arm.step()
    with refusing("outside_limits") as caught:
        arm.loop.follow(goal(Q + 100.0), arm.now_ns, 2)
    assert told(arm) == [(2, "refused", str(caught.value))]


def test_what_was_found_wrong_in_preparation_is_raised_and_reported_when_the_trajectory_is_taken():
    arm = Arm()
    arm.step()
    for code, wrong in (
        ("unknown_joint", request(point(1.0, tuple(Q)), names=(*MODEL.joint_names[:4], "wheel"))),
        (
            "outside_limits",
            request(point(1.0, tuple(Q)), point(1.1, tuple(Q + 9.0)), names=MODEL.joint_names),
        ),
    ):
        candidate = arm.loop.prepare(wrong, arm.now_ns, 7)
        assert candidate.ticket.number == 7
        assert told(arm) == []
        with refusing(code):
            arm.loop.accept(candidate, arm.now_ns)
        ((number, state, _),) = told(arm)
        assert (number, state) == (7, "refused")


def test_a_trajectory_that_is_replaced_or_stopped_is_dropped_by_its_sender():
    arm = Arm()
    arm.step()
    arm.loop.follow(goal(Q + 0.1), arm.now_ns, 1)
    arm.steps(0.1)
    arm.loop.follow(goal(Q), arm.now_ns, 2)
    arm.steps(0.1)
    arm.loop.follow(request(names=MODEL.joint_names), arm.now_ns, 3)
    arm.steps(0.1)
    outcomes = list(arm.loop.goals.pop_outcomes())
    assert [(each.ticket.number, each.state, each.by_sender) for each in outcomes] == [
        (1, "accepted", False),
        (1, "dropped", True),
        (2, "accepted", False),
        (2, "dropped", True),
        (3, "accepted", False),
        (3, "finished", False),
    ]


def test_stamped_trajectories_one_after_the_other_all_finish():
    arm = Arm()
    arm.step()
    first = replace(goal(Q + 0.1, time=0.1), stamp_ns=arm.now_ns + SECOND // 10)
    second = replace(goal(Q, time=0.1), stamp_ns=arm.now_ns + SECOND // 5)
    arm.loop.follow(first, arm.now_ns, 1)
    arm.loop.follow(second, arm.now_ns, 2)
    arm.steps(0.5)
    assert [(number, state) for number, state, _ in told(arm)] == [
        (1, "accepted"),
        (2, "accepted"),
        (1, "finished"),
        (2, "finished"),
    ]


def test_a_fault_drops_the_trajectory_and_says_why():
    arm = Arm()
    arm.step()
    arm.loop.follow(goal(Q + 0.3), arm.now_ns)
    arm.steps(0.2)
    arm.loop.watch(arm.time + 0.5)
    *_, outcome = arm.loop.goals.pop_outcomes()
    assert (outcome.ticket.number, outcome.state, outcome.cause) == (1, "dropped", "stale_state")
    assert [part for part in ("0.5 s", "0.1 s", "hold") if part not in outcome.reason] == []


# The arm does not follow: a controller or its hardware was deactivated, or something is in the way.

TOLERANCES = Tolerances(np.full(N, 0.2), np.full(N, 0.05), goal_time=0.3, stopped_velocity=0.1)


def moving_arm(tolerances=TOLERANCES, **options):
    """An arm that was asked for a motion of 0.5 rad in a second, and gives it its reports."""
    arm = Arm(tolerances=tolerances, **options)
    arm.step()
    arm.loop.follow(goal(Q + 0.5), arm.now_ns)
    list(arm.loop.goals.pop_outcomes())
    return arm


def test_an_arm_that_stands_still_never_winds_the_command_up():
    arm = moving_arm()
    largest = max(np.abs(arm.step() - MODEL.gravity(Q)).max() for _ in range(2000))
    # Kp times the tolerance, through the mass matrix, and the rest of the law at 1 rad/s and 3 rad/s^2
    stiffness = np.abs(MODEL.mass_matrix(Q)) @ np.full(N, 100.0 * 0.2 + 20.0 * 1.0 + 3.0)
    assert largest < 1.2 * stiffness.max()
    np.testing.assert_array_equal(arm.loop.last.reference, [Q, REST, REST])
    np.testing.assert_allclose(arm.step(), MODEL.gravity(Q), atol=1e-9)  # it returns without a jump
    ((_, state, reason),) = told(arm)
    assert state == "dropped"
    assert "is 0.201 rad from its reference; allowed is 0.2 rad" in reason
    assert arm.loop.counts["tracking_error"] == 1


def test_an_arm_that_sinks_while_it_is_off_comes_back_without_a_jump_beyond_the_tolerance():
    arm = Arm(tolerances=TOLERANCES)
    arm.step()
    for k in range(2000):  # 1 rad in 2 s, whatever is commanded
        q = Q + 0.0005 * k
        arm.step(q=q)
        assert np.abs(arm.loop.last.reference[0] - q).max() <= 0.2
    assert arm.loop.counts["tracking_error"] == 5 - 1


@pytest.mark.parametrize(("reaction", "expected"), [("zero", np.zeros(N)), ("stop", None)])
def test_another_reaction_to_an_arm_that_does_not_follow(reaction, expected):
    arm = moving_arm(reactions={"tracking_error": reaction})
    found = [arm.step() for _ in range(600)]
    index = next(k for k, tau in enumerate(found) if tau is None or not tau.any())
    assert (found[index] is None) if expected is None else (found[index] == expected).all()
    assert arm.loop.counts["tracking_error"] > 0


def test_a_tracking_error_that_is_ignored_is_counted_and_the_motion_goes_on():
    arm = moving_arm(reactions={"tracking_error": "ignore"})
    arm.steps(1.5)
    np.testing.assert_allclose(arm.loop.last.reference[0], Q + 0.5)
    assert arm.loop.counts["tracking_error"] > 100
    (outcome,) = arm.loop.goals.pop_outcomes()  # it never arrived, so that nobody is told it had
    assert (outcome.state, outcome.cause) == ("dropped", "goal_tolerance")


def test_an_arm_that_is_too_slow_is_told_with_both_speeds_and_what_they_may_differ_by():
    arm = moving_arm(tolerances=Tolerances(REST, REST, trajectory_velocity=np.full(N, 0.5)))
    arm.steps(0.5)
    ((_, _, reason),) = told(arm)
    assert re.search(r"moves at 0 rad/s, its reference at 0\.5\d*; they may differ by 0\.5 rad/s$", reason)


def test_tolerances_of_zero_are_not_checked():
    arm = moving_arm(tolerances=Tolerances(REST, REST))
    arm.steps(1.5)
    np.testing.assert_allclose(arm.loop.last.reference[0], Q + 0.5)
    assert arm.loop.counts["tracking_error"] == 0


def test_gravity_compensation_follows_nothing_but_the_arm():
    arm = Arm(mode="gravity_compensation", tolerances=TOLERANCES)
    for k in range(500):
        q = Q + 0.001 * k
        np.testing.assert_allclose(arm.step(q=q, qd=np.ones(N)), MODEL.gravity(q), atol=1e-9)  # rounding
        np.testing.assert_array_equal(arm.loop.last.reference, [q, REST, REST])
    with refusing("gravity_compensation"):
        arm.loop.follow(goal(q), arm.now_ns)
    with refusing("gravity_compensation"):
        arm.loop.follow(TrajectoryRequest(MODEL.joint_names, ()), arm.now_ns)
    assert arm.loop.counts.total() == 0


def follow_with(arm, seconds, lag=0.0, stop=None):
    """States that follow the reference of ``lag`` [s] before, up to a position of the first joint."""
    for _ in range(round(seconds / STEP)):
        q, qd, _ = sample(arm.loop.state.plan, arm.now_ns - round(lag * SECOND))
        if stop is not None:
            q = np.where(np.arange(N) == 0, np.minimum(q, stop), q)
        arm.step(q=q, qd=qd)


def test_a_trajectory_is_finished_when_the_arm_is_at_its_goal_and_rests():
    arm = moving_arm()
    follow_with(arm, 0.999, lag=0.1)
    assert told(arm) == []
    follow_with(arm, 0.2, lag=0.1)
    assert [state for _, state, _ in told(arm)] == ["finished"]


def test_an_arm_that_does_not_reach_its_goal_in_time_is_reported():
    arm = moving_arm()
    follow_with(arm, 1.25, stop=Q[0] + 0.4)
    assert told(arm) == []
    follow_with(arm, 0.1, stop=Q[0] + 0.4)
    (outcome,) = arm.loop.goals.pop_outcomes()
    assert (outcome.state, outcome.cause) == ("dropped", "goal_tolerance")
    assert outcome.reason.startswith("tracking_error: joint 'gamma_1' is 0.1 rad from its goal, at 0 rad/s")
    assert arm.loop.last.reference[0][0] == Q[0] + 0.4  # held where it is


def watched(arm, seconds, **state):
    """States at 1 kHz and watches at 20 Hz."""
    for k in range(round(seconds / STEP)):
        arm.step(**state)
        if k % 50 == 0:
            arm.loop.watch(arm.time)


def test_commands_without_effect_are_reported_before_the_error_is_large():
    arm = moving_arm(tolerances=Tolerances(np.full(N, 0.5), REST))
    watched(arm, 1.0)
    (outcome,) = arm.loop.goals.pop_outcomes()
    assert (outcome.state, outcome.cause) == ("dropped", "path_tolerance")
    assert "a brake or friction holds it" in outcome.reason
    asked, most = re.search(r"(\S+) N m of at most (\S+) N m:", outcome.reason).groups()
    assert "no feedback" not in outcome.reason
    assert 10.0 < float(asked) < float(most) == arm.loop.settings.effort_limits[0]


def test_a_joint_stands_for_as_long_as_is_told_before_its_commands_are_said_to_have_no_effect():
    """The arm rested before, and the reference passes what is noticed in 0.15 s."""
    arm = Arm(mode="feedforward", tolerances=Tolerances(np.full(N, 0.5), REST))
    watched(arm, 0.5)
    arm.loop.follow(goal(Q + 0.5, time=0.6), arm.now_ns)
    started, reports = arm.time, []
    while len(reports) < 2:  # the first is that it was accepted
        watched(arm, 0.05)
        reports += arm.loop.goals.pop_outcomes()
    assert reports[1].cause == "path_tolerance"
    span = arm.loop.settings.safety.no_effect_time
    assert span <= arm.time - started < span + 0.1 + STEP  # two periods of the watch
    assert "mode feedforward has no feedback" in reports[1].reason


def test_friction_that_stays_at_rest_has_no_direction_once_something_else_moved_the_arm():
    """It would push into the direction of a motion that is long over."""
    rubbing = MODEL.with_parameters(coulomb=(20.0,) * N)
    beyond = ExtraFriction.of(N, at_rest=np.full(N, 0.5))
    arm = Arm(law=Law("feedforward", rubbing, REST, REST, TermSwitches(), beyond))
    arm.step()
    arm.loop.follow(goal(Q + 0.1), arm.now_ns)
    tau = arm.steps(1.1, q=Q + 0.1)
    np.testing.assert_allclose(tau - MODEL.gravity(Q + 0.1), 10.0, atol=1e-6)
    arm.loop.suspend("hardware 'arm' is inactive")
    arm.step(q=Q)
    arm.loop.suspend(None)
    np.testing.assert_allclose(arm.step(q=Q), MODEL.gravity(Q), atol=1e-9)


def test_an_arm_that_lags_or_rests_has_its_commands_take_effect():
    arm = moving_arm(tolerances=Tolerances(np.full(N, 0.5), REST))
    for k in range(1500):
        follow_with(arm, STEP, lag=0.2)
        if k % 50 == 0:
            arm.loop.watch(arm.time)
    assert arm.loop.counts["tracking_error"] == 0


def test_while_commands_cannot_reach_the_arm_it_is_held_where_it_is():
    arm = moving_arm()
    arm.steps(0.1)
    arm.loop.suspend("hardware 'arm' is inactive")
    assert told(arm) == [(1, "dropped", "hardware 'arm' is inactive")]
    for k in range(1500):  # it sinks
        tau = arm.step(q=Q - 0.0004 * k)
        np.testing.assert_allclose(tau, MODEL.gravity(Q - 0.0004 * k), atol=1e-9)
    with refusing("no_effect"):
        arm.loop.follow(goal(Q), arm.now_ns, 2)
    arm.loop.suspend(None)
    sunk = Q - 0.0004 * 1499
    np.testing.assert_allclose(arm.step(q=sunk), MODEL.gravity(sunk), atol=1e-9)
    np.testing.assert_array_equal(arm.loop.last.reference, [sunk, REST, REST])


def test_two_robots_that_send_states_in_turn_never_move_the_command():
    arm = Arm(fastest=np.full(N, 2.0))
    before = arm.step()
    for k in range(200):
        tau = arm.step(q=Q + 0.3 * (k % 2))
        np.testing.assert_allclose(tau, before, atol=1e-9)
    assert arm.loop.counts["position_jump"] > 100


def test_a_late_state_of_a_fast_arm_is_no_jump():
    arm = Arm(fastest=np.full(N, 2.0))
    arm.step()
    arm.step(q=Q + 2.0 * 0.019, after=STEP)  # the motion of 19 ms, of which 18 were spent in a queue
    assert arm.loop.counts["position_jump"] == 0


def test_no_effort_is_reached_no_faster_than_the_rate_allows():
    arm = Arm(effort_rate=np.full(N, 100.0), reactions={"stale_state": "zero"})
    before = arm.step()
    after = arm.loop.watch(arm.time + 0.2)
    assert np.abs(after - before).max() == pytest.approx(100.0 * 0.2)
    np.testing.assert_array_equal(arm.loop.last_effort("zero"), REST)


# A stop on the way.


def test_a_stop_comes_to_rest_on_the_path_without_a_jump_and_within_the_effort_limits():
    limits = np.full(N, 1e3)
    arm = moving_arm(tolerances=ANYWHERE, effort_limits=limits)
    arm.steps(0.5)
    before, path = arm.loop.last, arm.loop.state.plan
    seconds = arm.loop.stop(arm.now_ns, 0.8)
    assert seconds == 0.8 / 16  # nothing but the limits keeps it from the shortest
    stopped = [(arm.step(), arm.loop.last)[1] for _ in range(round(seconds / STEP) + 5)]
    # a step of the motion: 1 rad/s, 3 rad/s^2, and of the stop, whose jerk is 6 v / T^2
    jerk = 6.0 * 1.0 / seconds**2
    change = np.abs(stopped[0].reference - before.reference).max(axis=1)
    assert change[0] < STEP * 1.0
    assert change[1] < STEP * 50.0
    assert change[2] < STEP * jerk
    np.testing.assert_allclose(stopped[-1].reference[1:], 0.0, atol=1e-9)
    direction = sample(path, path.end_ns)[0] - Q
    for step in stopped:
        moved = step.reference[0] - Q
        np.testing.assert_allclose(
            moved, direction * (moved @ direction) / (direction @ direction), atol=1e-6
        )
    arm.steps(0.005, q=stopped[-1].reference[0])
    assert arm.loop.stopped


def test_a_stop_is_slow_where_an_effort_limit_is_not_known():
    arm = moving_arm(tolerances=ANYWHERE, effort_limits=np.array([1e3, 1e3, np.inf, 1e3, 1e3]))
    arm.steps(0.5)
    assert arm.loop.stop(arm.now_ns, 0.8) == 0.8


def test_a_stop_takes_longer_where_the_effort_limits_ask_for_it():
    arm = moving_arm(tolerances=ANYWHERE)
    arm.steps(0.5)
    limits = np.abs(MODEL.inverse_dynamics(*arm.loop.last.reference)) + 20.0
    arm.loop.settings = replace(arm.loop.settings, effort_limits=limits)
    seconds = arm.loop.stop(arm.now_ns, 0.8)
    assert seconds > 0.8 / 16
    law = replace(arm.loop.settings.law, mode="feedforward")
    for share in np.linspace(0.0, 1.0, 50):
        q, qd, qdd = sample(arm.loop.state.plan, arm.now_ns + round(share * seconds * SECOND))
        assert (np.abs(law.rigid.inverse_dynamics(q, qd, qdd)) <= limits * 1.001).all()


def test_a_trajectory_that_waits_for_the_next_state_does_not_begin_in_a_stop():
    arm = Arm()
    arm.step()
    arm.loop.follow(goal(Q + 0.5), arm.now_ns)
    assert arm.loop.stop(arm.now_ns, 0.8) == 0.0
    arm.steps(0.3)
    np.testing.assert_array_equal(arm.loop.last.reference, [Q, REST, REST])


def test_there_is_nothing_to_stop_at_rest_or_after_a_fault():
    arm = Arm()
    arm.step()
    assert arm.loop.stop(arm.now_ns, 0.8) == 0.0
    assert arm.loop.stopped  # no state need come to show that
    arm.step(qd=np.full(N, 0.02))
    assert arm.loop.stop(arm.now_ns, 0.8) == 0.0
    assert not arm.loop.stopped  # it still swings
    arm.loop.follow(goal(Q + 0.5), arm.now_ns)
    arm.steps(0.2)
    arm.loop.watch(arm.time + 0.5)
    assert arm.loop.stop(arm.now_ns, 0.8) == 0.0


@pytest.mark.parametrize("reaction", ["comply", "hold", "zero", "stop"])
def test_the_reaction_to_a_collision_lasts_until_it_is_reset(reaction):
    arm = Arm(reactions={"collision": reaction})
    arm.step()
    arm.loop.follow(goal(Q + 0.1), arm.now_ns)
    arm.loop.collide("gamma_1")
    assert told(arm)[-1] == (1, "dropped", f"collision at joint gamma_1: reaction is {reaction}")
    away, qd = Q + 0.1, np.full(N, 0.2)
    gravity = MODEL.gravity(away)
    expected = {
        "comply": gravity - 5.0 * MODEL.mass_matrix(away) @ qd,
        "hold": gravity,
        "zero": REST,
        "stop": None,
    }[reaction]
    for _ in range(1000):  # far beyond the recovery time
        found = arm.step(away, qd)
    if expected is None:
        assert found is None
    else:
        np.testing.assert_allclose(found, expected, atol=1e-12)
    with refusing("safe_state", match="~/reset_collision"):
        arm.loop.follow(TrajectoryRequest(tuple(MODEL.joint_names), (), 0), 0)
    arm.loop.reset_collision()
    np.testing.assert_allclose(arm.step(away), gravity, atol=1e-9)  # held where it is
    assert arm.loop.counts["collision"] == 1


def test_a_collision_that_is_ignored_is_counted_alone():
    arm = Arm(reactions={"collision": "ignore"})
    arm.step()
    before = arm.loop.state.plan
    arm.loop.collide("gamma_1")
    arm.step()
    assert arm.loop.state.plan is before
    assert arm.loop.counts["collision"] == 1


def test_an_arm_that_complies_loses_its_momentum_at_the_rate_asked_for():
    """p decays as exp(-d t): free of friction, gravity compensated, nothing else acts."""
    arm = Arm(reactions={"collision": "comply"}, comply_damping=8.0)
    plant = Plant(MODEL, PlantOptions(friction=Friction.none(N), hard_stops=False))
    plant.reset(Q, np.array([0.3, -0.2, 0.2, 0.1, 0.1]))
    arm.step(plant.q.copy(), plant.qd.copy())
    arm.loop.collide("gamma_1")
    energy = [plant.qd @ MODEL.mass_matrix(plant.q) @ plant.qd]
    for _ in range(250):
        plant.step(arm.step(plant.q.copy(), plant.qd.copy()))
        energy.append(plant.qd @ MODEL.mass_matrix(plant.q) @ plant.qd)
    # the energy's rate is qd . (-d M qd), twice the momentum's; the command lasts a millisecond
    np.testing.assert_allclose(energy[-1] / energy[0], math.exp(-2 * 8.0 * 0.25), rtol=0.02)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")  # the point of the test
def test_an_arm_that_complies_and_cannot_be_braked_in_numbers_gets_gravitys_effort():
    arm = Arm(reactions={"collision": "comply", "jump": "ignore"}, comply_damping=8.0)
    arm.step()
    arm.loop.collide("gamma_1")
    np.testing.assert_allclose(arm.step(qd=np.full(N, 1e308)), MODEL.gravity(Q), atol=1e-9)  # rounding


# A start that would be a step, goals that were not reached, and goals that are cancelled.

SOON = 0.02  # [s] of the velocity limit


def fastest():
    return np.array([joint.velocity for joint in MODEL.joints])


def at_once(*positions):
    """Points from time 0 on, a second apart."""
    points = [point(k, tuple(q), (0.0,) * N, (0.0,) * N) for k, q in enumerate(positions)]
    return request(*points, names=MODEL.joint_names)


@pytest.mark.parametrize("limits", ["reject", "clamp", "ignore"])
@pytest.mark.parametrize("stamp", [0.0, 1.5])
@pytest.mark.parametrize("points", [(Q + 0.4,), (Q + 0.45, Q + 0.45), (Q + 0.3, Q + 0.3)])
def test_a_first_point_at_time_0_far_from_the_reference_is_refused(points, stamp, limits):
    arm = Arm(reference_limits=limits)
    arm.step()
    wanted = at_once(*points)
    if stamp:
        wanted = replace(wanted, stamp_ns=arm.now_ns + round(stamp * SECOND))
    with refusing("step") as caught:
        arm.loop.follow(wanted, arm.now_ns)
    assert caught.value.found == pytest.approx(points[0][0] - Q[0])
    for _ in range(2000):
        np.testing.assert_allclose(arm.step(), MODEL.gravity(Q), atol=1e-9)  # rounding


@pytest.mark.parametrize("stamp", [0.0, 0.5])
@pytest.mark.parametrize("points", [1, 2])
def test_a_first_point_at_time_0_beside_the_reference_is_approached_and_called_a_motion(points, stamp):
    arm = Arm()
    arm.step()
    goals = [Q + 0.9 * SOON * fastest()] * points
    wanted = at_once(*goals)
    if stamp:
        wanted = replace(wanted, stamp_ns=arm.now_ns + round(stamp * SECOND))
    arm.loop.follow(wanted, arm.now_ns)
    ((_, _, reason),) = told(arm)
    assert "stop" not in reason
    last = Q
    for _ in range(1700):
        arm.step()
        reference = arm.loop.last.reference[0]
        assert (np.abs(reference - last) <= STEP * fastest()).all()
        last = reference
    np.testing.assert_allclose(last, goals[-1], atol=1e-9)
    assert told(arm)[-1][1] == "finished"


def test_the_way_into_a_trajectory_that_begins_at_once_keeps_the_velocity_limits():
    arm = Arm()
    arm.step()
    speed = fastest()
    points = [
        point(time, tuple(Q + 0.95 * SOON * speed + 0.99 * speed * time), tuple(0.99 * speed))
        for time in (0.0, 0.1)
    ]
    wanted = request(*points, point(0.5, points[-1].positions, (0.0,) * N), names=MODEL.joint_names)
    with refusing("outside_limits"):
        arm.loop.follow(wanted, arm.now_ns)


def test_an_arm_that_never_moved_has_not_reached_its_goal_whatever_the_reaction():
    """A locked arm, on_tracking_error ignore, a goal tolerance of 0.01: it was told SUCCEEDED."""
    close = Tolerances(np.full(N, 0.5), np.full(N, 0.01), goal_time=0.3, stopped_velocity=0.1)
    for reaction in ("ignore", "hold", "zero", "stop"):
        arm = moving_arm(tolerances=close, reactions={"tracking_error": reaction})
        arm.loop.settings = replace(
            arm.loop.settings, safety=replace(arm.loop.settings.safety, no_effect_time=0.0)
        )
        arm.steps(1.5)
        (outcome,) = arm.loop.goals.pop_outcomes()
        assert outcome.state == "dropped"
        assert outcome.cause in ("goal_tolerance", "path_tolerance")


def test_a_missed_goal_that_is_ignored_does_not_drop_what_comes_after_it():
    arm = moving_arm(reactions={"tracking_error": "ignore"})
    arm.loop.follow(replace(goal(Q), stamp_ns=arm.now_ns + 2 * SECOND), arm.now_ns, 2)
    arm.steps(3.5)
    ends = [(each.ticket.number, each.state, each.cause) for each in arm.loop.goals.pop_outcomes()]
    assert ends == [(2, "accepted", ""), (1, "dropped", "goal_tolerance"), (2, "finished", "")]


@pytest.mark.parametrize(("off", "state"), [(0.06, "finished"), (0.25, "dropped")])
def test_after_the_end_the_goal_tolerance_alone_decides(off, state):
    """As with joint_trajectory_controller: 0.06 rad off with a path tolerance of 0.05 and a goal's of 0.2."""
    arm = moving_arm(tolerances=Tolerances(np.full(N, 0.05), np.full(N, 0.2), 0.3, 0.1))
    follow_with(arm, 1.0)
    arm.steps(0.6, q=Q + 0.5 - off)
    (outcome,) = arm.loop.goals.pop_outcomes()
    assert outcome.state == state
    assert outcome.cause == ("" if state == "finished" else "goal_tolerance")


def test_an_arm_that_is_held_and_pushed_beyond_the_path_tolerance_is_held_where_it_is():
    arm = Arm(tolerances=TOLERANCES)
    arm.step()
    arm.step(q=Q + 0.19)
    np.testing.assert_array_equal(arm.loop.last.reference[0], Q)
    arm.step(q=Q + 0.21)
    np.testing.assert_array_equal(arm.loop.last.reference[0], Q + 0.21)


def test_a_queued_trajectory_that_is_cancelled_does_not_stop_the_one_that_runs():
    arm = Arm()
    arm.step()
    arm.loop.follow(goal(Q + 0.1), arm.now_ns, 1)
    arm.step()
    arm.loop.follow(replace(goal(Q), stamp_ns=arm.now_ns + 2 * SECOND), arm.now_ns, 2)
    arm.steps(0.3)
    arm.loop.cancel(2, arm.now_ns)
    arm.steps(4.0)
    np.testing.assert_allclose(arm.loop.last.reference, [Q + 0.1, REST, REST], atol=1e-9)
    ends = [(each.ticket.number, each.state, each.by_sender) for each in arm.loop.goals.pop_outcomes()][2:]
    assert ends == [(2, "dropped", True), (1, "finished", False)]


def test_a_running_trajectory_that_is_cancelled_stops_and_takes_with_it_what_waits():
    arm = Arm()
    arm.step()
    arm.loop.follow(goal(Q + 0.1), arm.now_ns, 1)
    arm.step()
    arm.loop.follow(replace(goal(Q), stamp_ns=arm.now_ns + 2 * SECOND), arm.now_ns, 2)
    arm.steps(0.3)
    arm.loop.cancel(1, arm.now_ns)
    here = arm.loop.last.reference[0]
    arm.steps(4.0)
    np.testing.assert_allclose(arm.loop.last.reference[1:], 0.0)
    assert np.abs(arm.loop.last.reference[0] - here).max() < 0.001
    assert {(each[0], each[1]) for each in told(arm)} >= {(1, "dropped"), (2, "dropped")}
    arm.loop.cancel(1, arm.now_ns)  # once more: nothing is left of it
    arm.loop.cancel(99, arm.now_ns)
    assert told(arm) == []


def test_a_trajectory_that_waits_for_the_next_state_is_cancelled_before_it_begins():
    arm = Arm()
    arm.step()
    arm.loop.follow(goal(Q + 0.1), arm.now_ns, 1)
    arm.loop.cancel(1, arm.now_ns)
    arm.steps(0.5)
    np.testing.assert_array_equal(arm.loop.last.reference, [Q, REST, REST])


# Faults that come back.


def test_a_fault_that_comes_back_after_every_recovery_lasts_until_something_is_changed():
    arm = Arm(fastest=np.full(N, 2.0))
    arm.step()
    for k in range(1, 9):
        arm.step(q=Q + 0.3)  # a jump
        arm.steps(0.3, q=Q)
        lasting = isinstance(arm.loop.state, Reacting)
        assert lasting == (k > 5)  # the first fault, and five relapses
    arm.steps(30.0)
    assert arm.loop.state.lasting
    with refusing("safe_state"):
        arm.loop.follow(goal(Q), arm.now_ns)
    for _ in range(2):
        arm.loop.settings = replace(arm.loop.settings)  # other parameters: it tries again, and counts anew
        arm.steps(0.3)
        assert isinstance(arm.loop.state, Holding)
        for _ in range(4):
            arm.step(q=Q + 0.3)
            arm.steps(0.3)
            assert isinstance(arm.loop.state, Holding)


@pytest.mark.parametrize("reaction", ["zero", "stop"])
def test_an_arm_that_is_lost_after_every_recovery_is_left_alone(reaction):
    arm = Arm(tolerances=TOLERANCES, reactions={"tracking_error": reaction})
    arm.step()
    for k in range(1, 9):
        away = Q + 0.3 * (k % 2)
        arm.steps(0.3, q=away)
        assert arm.loop.counts["tracking_error"] == min(k, 6)
        assert isinstance(arm.loop.state, Reacting) == (k > 5)  # the first fault, and five relapses
    assert (arm.loop.state.fault, arm.loop.state.lasting) == ("tracking_error", True)


def test_an_activation_ends_a_lasting_reaction_and_rare_faults_never_last():
    arm = Arm(fastest=np.full(N, 2.0))
    arm.step()
    for _ in range(8):
        arm.step(q=Q + 0.3)
        arm.steps(0.3)
    arm.loop.forget("the node was activated again")
    arm.step()
    assert isinstance(arm.loop.state, Holding)
    for _ in range(8):
        arm.step(q=Q + 0.3)
        arm.steps(1.4)
        assert isinstance(arm.loop.state, Holding)
    for _ in range(8):  # missing states are nothing that commands do
        arm.loop.watch(arm.time + 0.2)
        arm.steps(0.3)
        assert isinstance(arm.loop.state, Holding)


def test_a_stop_takes_some_periods_of_the_states():
    arm = moving_arm(tolerances=ANYWHERE)
    arm.steps(0.5)
    assert arm.loop.stop(arm.now_ns, 0.8, period=0.005) == 0.8 / 8
    arm = moving_arm(tolerances=ANYWHERE)
    arm.steps(0.5)
    assert arm.loop.stop(arm.now_ns, 0.8, period=0.1) == 0.8


def test_an_arm_has_stopped_when_it_rests_itself():
    arm = moving_arm(tolerances=ANYWHERE)
    arm.steps(0.5)
    seconds = arm.loop.stop(arm.now_ns, 0.8)
    assert not arm.loop.stopped
    arm.steps(seconds + 0.01, qd=np.full(N, 0.02))
    assert not arm.loop.stopped
    arm.steps(0.004, qd=np.full(N, 0.005))
    assert not arm.loop.stopped  # it may be about to turn
    arm.step(qd=np.full(N, -0.02))
    arm.steps(0.005, qd=np.full(N, -0.005))
    assert arm.loop.stopped
