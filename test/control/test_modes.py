"""Wherever the arm was not tracked, tracking begins at the measured position: all modes and pauses."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from test_loop import MODEL, REST, TOLERANCES, Arm, N, Q, goal, refusing, settings, told

from kane_dynamics_ros.control.law import MODES
from kane_dynamics_ros.control.states import Holding, Moving, Starting, Tracking

LED = np.linspace(0.0, 0.4, 1000)  # [rad] by which the first joint is led by hand, in a second
FIRST = np.eye(N)[0]


def lead(arm):
    """Move the first joint by hand, whatever is commanded; where it is then."""
    for way in LED:
        arm.step(q=Q + way * FIRST)
    return Q + LED[-1] * FIRST


@pytest.mark.parametrize(("before", "after"), list(product(MODES, MODES)))
def test_a_mode_that_is_entered_never_pulls_the_arm_to_where_it_was(before, after):
    arm = Arm(mode=before)
    arm.step()
    away = lead(arm)
    commanded = arm.step(q=away)
    arm.loop.settings = settings(after)
    tau = arm.step(q=away)
    if before in ("feedforward_pd", "computed_torque") and after in ("feedforward_pd", "computed_torque"):
        np.testing.assert_array_equal(arm.loop.last.reference[0], Q)  # it held all the time, and holds on
        assert np.sign(tau[0]) == np.sign(commanded[0])
    elif after == "feedforward":
        np.testing.assert_allclose(tau, MODEL.gravity(arm.loop.last.reference[0]), atol=1e-9)  # rounding
    else:
        np.testing.assert_allclose(tau, MODEL.gravity(away), atol=1e-9)
        np.testing.assert_array_equal(arm.loop.last.reference, [away, REST, REST])


PAUSES = {
    "suspended": (lambda arm: arm.loop.suspend("off"), lambda arm: arm.loop.suspend(None)),
    "collided": (lambda arm: arm.loop.collide("gamma_1"), lambda arm: arm.loop.reset_collision()),
    "suspended and collided": (
        lambda arm: (arm.loop.suspend("off"), arm.loop.collide("gamma_1")),
        lambda arm: (arm.loop.reset_collision(), arm.loop.suspend(None)),
    ),
    "a fault": (lambda arm: arm.loop.watch(arm.time + 0.2), lambda arm: None),
    "a jump of the clock": (lambda arm: arm.loop.forget("time jumped back"), lambda arm: None),
}


CODES = ("no_effect", "collision", "no_effect", "stale_state", "clock")  # of what each pause drops


@pytest.mark.parametrize(("pause", "code"), list(zip(PAUSES.values(), CODES, strict=True)), ids=PAUSES)
def test_a_motion_that_a_pause_ends_is_dropped_with_the_kind_of_reason(pause, code):
    arm = Arm(mode="computed_torque", reactions={"collision": "comply"})
    arm.step()
    arm.loop.follow(goal(Q + 0.1), arm.now_ns)
    arm.steps(0.3)
    pause[0](arm)
    *_, (state, cause) = [(each.state, each.cause) for each in arm.loop.goals.pop_outcomes()]
    assert (state, cause) == ("dropped", code)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize(("pause", "resume"), PAUSES.values(), ids=PAUSES)
def test_after_every_pause_the_measured_position_is_held(mode, moving, pause, resume):
    arm = Arm(mode=mode, reactions={"collision": "comply"})
    arm.step()
    if moving and mode != "gravity_compensation":
        arm.loop.follow(goal(Q + 0.1), arm.now_ns)
    arm.steps(0.3)
    pause(arm)
    assert not isinstance(arm.loop.state, Tracking)
    away = lead(arm)
    resume(arm)
    arm.step(q=away)
    reference = arm.loop.last.reference
    if pause is PAUSES["a fault"][0] or pause is PAUSES["a jump of the clock"][0]:
        away = reference[0]  # it resumed while the arm was led, and holds on from there
        assert mode == "gravity_compensation" or Q[0] <= away[0] < Q[0] + 0.4
        away = arm.step(q=away) * 0 + away
    np.testing.assert_array_equal(arm.loop.last.reference, [away, REST, REST])
    np.testing.assert_allclose(arm.step(q=away), MODEL.gravity(away), atol=1e-9)  # rounding


def test_leaving_gravity_compensation_in_the_issues_figures():
    arm = Arm(mode="gravity_compensation")
    arm.step()
    away = lead(arm)
    arm.loop.settings = settings("computed_torque")
    np.testing.assert_allclose(arm.step(q=away)[0], 0.0, atol=1e-9)  # about a vertical axis; it was -443 N m


def test_entering_gravity_compensation_drops_the_motion_and_says_so():
    arm = Arm()
    arm.step()
    arm.loop.follow(goal(Q + 0.4), arm.now_ns)
    arm.steps(0.2)
    arm.loop.settings = settings("gravity_compensation")
    np.testing.assert_allclose(arm.step(), MODEL.gravity(Q), atol=1e-9)
    (_, state, reason) = told(arm)[-1]
    assert state == "dropped"
    assert "gravity_compensation" in reason
    assert arm.loop.state == Starting()
    with refusing("gravity_compensation"):
        arm.loop.follow(goal(Q + 0.4), arm.now_ns, 2)
    assert [each[1] for each in told(arm)] == ["refused"]


def test_gains_that_get_a_stiffness_they_did_not_have_begin_at_the_measured_position():
    arm = Arm()
    soft = settings().law
    arm.loop.settings = settings(law=replace(soft, kp=np.zeros(N)))
    arm.step()
    away = lead(arm)
    arm.loop.settings = settings()
    np.testing.assert_allclose(arm.step(q=away), MODEL.gravity(away), atol=1e-9)


def test_other_gains_and_parameters_leave_the_motion_as_it_is():
    arm = Arm(tolerances=TOLERANCES)
    arm.step()
    arm.loop.follow(goal(Q + 0.05), arm.now_ns)
    arm.steps(0.2)
    before = arm.loop.last.reference
    arm.loop.settings = settings(law=replace(settings().law, kp=np.full(N, 50.0)))
    arm.step()
    assert isinstance(arm.loop.state, Moving)
    assert 0.0 < np.abs(arm.loop.last.reference[0] - before[0]).max() < 1e-3
    assert told(arm)[-1][1] == "accepted"


def test_a_reference_is_not_clamped_into_limits_at_once():
    """An arm that was held outside its limits stays there, whatever trajectory.limits becomes."""
    outside = Q.copy()
    outside[1] = settings().upper[1] + 0.3
    for limits in ("reject", "clamp", "ignore"):
        arm = Arm(reference_limits=limits)
        np.testing.assert_allclose(arm.step(q=outside), MODEL.gravity(outside), atol=1e-9)
        arm.loop.settings = settings(reference_limits="clamp")
        np.testing.assert_allclose(arm.step(q=outside), MODEL.gravity(outside), atol=1e-9)
        assert isinstance(arm.loop.state, Holding)
