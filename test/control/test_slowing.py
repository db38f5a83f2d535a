"""Trajectories that are slowed to their limits: no more than needed, on the same path."""

from dataclasses import replace

import numpy as np
import pytest
from joints import point, request
from scipy.optimize import brentq

from kane_dynamics_ros.control.annotation import Accuracy, annotate
from kane_dynamics_ros.control.law import Law, TermSwitches
from kane_dynamics_ros.control.limits import effort_limits, motion_limits, position_limits, velocity_limits
from kane_dynamics_ros.control.loop import ControlLoop, LoopSettings
from kane_dynamics_ros.control.plan import Rules, hold_at, prepare, replan, sample
from kane_dynamics_ros.control.slowing import in_time, needed_factor
from kane_dynamics_ros.control.states import FAULT_KINDS, Safety
from kane_dynamics_ros.control.validation import SECOND_NS, TrajectoryError
from kane_dynamics_ros.runtime import Payload, load_model

ARM = load_model("manipulator_5dof").with_urdf_friction()
LAW = Law("computed_torque", ARM, np.full(5, 400.0), np.full(5, 40.0), TermSwitches())
STILL = (0.0,) * 5
START, END = np.array([0.0, 0.9, -1.2, 0.3, 0.5]), np.array([1.5, 0.4, -0.8, 0.0, 0.0])
SPEEDS, EFFORTS = velocity_limits(ARM.joints), effort_limits(ARM.joints)


def swing(seconds):
    return request(
        point(1.0, START, STILL, STILL), point(1.0 + seconds, END, STILL, STILL), names=ARM.joint_names
    )


def factor(wanted, law=LAW, efforts=EFFORTS, speeds=SPEEDS):
    return needed_factor(prepare(wanted, ARM.joints, Rules()), law, speeds, efforts)


def states(wanted, count=2001):
    """Along the trajectory, from its first point on."""
    plan = replan(hold_at(START, 0), wanted, ARM.joints, 0, Rules())
    begin, end = wanted.points[0].time_ns, wanted.points[-1].time_ns
    found = np.array([sample(plan, int(t)) for t in np.linspace(begin, end, count)])
    return [np.ascontiguousarray(found[:, k]) for k in range(3)]


def test_a_trajectory_within_its_limits_keeps_its_time():
    assert factor(swing(4.0)) == 1.0


def test_a_velocity_limit_stretches_the_time_in_proportion():
    """A quintic's peak is 1.875 times its mean: 1.5 rad in 1.25 s against 2 rad/s."""
    assert factor(swing(1.25)) == pytest.approx(1.875 * 1.5 / 1.25 / SPEEDS[0], rel=1e-5)


def test_an_effort_limit_stretches_the_time_until_the_largest_effort_is_at_it():
    weak = 0.3 * EFFORTS
    wanted = swing(1.0)

    def excess(k):
        q, qd, qdd = states(wanted)
        return (np.abs(ARM.inverse_dynamics(q, qd / k, qdd / k**2)) / weak).max() - 1.0

    assert excess(1.0) > 0.0
    found = factor(wanted, efforts=weak, speeds=np.full(5, np.inf))
    assert found == pytest.approx(brentq(excess, 1.0, 10.0), rel=1e-3)
    q, qd, qdd = states(in_time(wanted, found))
    assert (np.abs(ARM.inverse_dynamics(q, qd, qdd)) <= weak * (1 + 1e-3)).all()


def test_the_slower_trajectory_is_on_the_same_path():
    wanted = swing(1.0)
    slower = in_time(wanted, 1.7)
    assert slower.points[0].time_ns == round(1.7 * SECOND_NS)
    np.testing.assert_allclose(states(slower)[0], states(wanted)[0], atol=1e-8)


def test_a_place_that_cannot_be_held_is_named():
    heavy = Law(
        "feedforward", ARM.with_parameters(payload=Payload(60.0)), np.zeros(5), np.zeros(5), TermSwitches()
    )
    with pytest.raises(TrajectoryError) as caught:
        factor(swing(4.0), law=heavy)
    assert caught.value.code == "effort_limit"
    holding = np.abs(heavy.rigid.gravity(np.linspace(START, END, 101)))
    assert holding.max(axis=0)[ARM.joint_names.index(caught.value.joint)] > caught.value.found * 0.99


def loop(**changes):
    law = Law("computed_torque", ARM, np.full(5, 100.0), np.full(5, 20.0), TermSwitches())
    lower, upper = position_limits(ARM.joints)
    safety = Safety(reactions=dict.fromkeys(FAULT_KINDS, "hold"))
    made = ControlLoop(LoopSettings(law, Rules(), safety, EFFORTS, None, lower, upper, "retime"))
    made.settings = replace(made.settings, **changes)
    made.step(START, np.zeros(5), SECOND_NS, 0.0)
    return made


def accepted(made, wanted, now_ns=2 * SECOND_NS):
    """What the loop says of a trajectory that it takes."""
    made.follow(wanted, now_ns)
    (outcome,) = made.goals.pop_outcomes()
    return outcome


def test_the_loop_slows_what_it_would_reject_and_says_by_how_much():
    made = loop()
    with pytest.raises(TrajectoryError) as caught:
        loop(reference_limits="reject").follow(swing(1.25), 2 * SECOND_NS)
    assert caught.value.code == "outside_limits"
    outcome = accepted(made, swing(1.25))
    slower = 1.875 * 1.5 / 1.25 / SPEEDS[0]
    assert outcome.state == "accepted"
    assert f"{slower:.3f} times as long" in outcome.reason
    (taken,) = made.goals.open
    assert taken.end_ns - taken.start_ns == pytest.approx(2.25 * slower * SECOND_NS, rel=1e-5)


def test_the_loop_keeps_the_time_of_what_is_within_the_limits():
    outcome = accepted(loop(), swing(4.0))
    assert "times as long" not in outcome.reason


def test_the_way_to_the_first_point_counts_too():
    wanted = request(point(0.15, END, STILL, STILL), point(5.0, END, STILL, STILL), names=ARM.joint_names)
    made = loop()
    accepted(made, wanted)
    assert made.goals.open[0].slowed == pytest.approx(1.875 * 1.5 / 0.15 / SPEEDS[0], rel=1e-5)


def test_a_position_outside_the_limits_is_still_refused():
    beyond = request(point(4.0, (0.0, 5.0, 0.0, 0.0, 0.0), STILL, STILL), names=ARM.joint_names)
    with pytest.raises(TrajectoryError) as caught:
        loop().follow(beyond, 2 * SECOND_NS)
    assert (caught.value.code, caught.value.quantity) == ("outside_limits", "position")


def annotated(wanted, **options):
    return annotate(wanted, LAW, EFFORTS, Accuracy(None, 2000), motion_limits(ARM.joints, None), **options)


def test_an_annotation_gives_more_time_instead_of_refusing():
    with pytest.raises(TrajectoryError) as caught:
        annotated(swing(1.25))
    assert caught.value.code == "outside_limits"
    slower = annotated(swing(1.25), retime=True)
    assert slower.points[-1].time_ns == pytest.approx(2.25 * factor(swing(1.25)) * SECOND_NS, rel=1e-9)
    assert (np.abs([each.effort for each in slower.points]) <= EFFORTS).all()


def test_too_many_points_are_refused_before_they_are_given_more_time():
    many = [point(1.0 + 1e-3 * i, START + 1e-4 * i) for i in range(2001)]
    with pytest.raises(TrajectoryError) as caught:
        annotated(request(*many, names=ARM.joint_names), retime=True, abandoned=lambda: True)
    assert caught.value.code == "too_many_points"


def test_the_search_for_the_time_is_given_up_with_the_annotation():
    with pytest.raises(TrajectoryError) as caught:
        needed_factor(prepare(swing(1.25), ARM.joints, Rules()), LAW, SPEEDS, EFFORTS, abandoned=lambda: True)
    assert caught.value.code == "abandoned"
