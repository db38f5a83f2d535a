"""What is watched beside the reference."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from kane_dynamics_ros.control.law import Law, TermSwitches
from kane_dynamics_ros.control.states import Reacting, Safety, Starting
from kane_dynamics_ros.control.watches import (
    EffectWatch,
    NoEffect,
    RelapseWatch,
    SaturationWatch,
    Seen,
    seen,
)
from kane_dynamics_ros.runtime import load_model

MODEL = load_model("manipulator_5dof")
Q, N = np.array([0.1, 0.8, -0.9, 0.2, 0.1]), 5
LAW = Law("computed_torque", MODEL, np.ones(N), np.ones(N), TermSwitches())
TURNING = replace(LAW)
vars(TURNING)["continuous"] = np.arange(N) == 0  # as if the model's first joint were
SAFETY = Safety()
FIRST = np.eye(N)[0]


def after(moved, gap=0.001, safety=SAFETY, fastest=np.inf, away=False, law=LAW):
    """What a state shows that came ``gap`` [s] after another one."""
    return seen(Seen(Q, Q, 5.0), Q + moved, 5.0 + gap, law, safety, fastest, away)


def test_the_first_state_shows_nothing_and_is_good():
    found, faults = seen(Seen(), Q, 5.0, LAW, SAFETY, np.inf, False)
    assert (found.q is Q, found.good_q is Q, found.time, faults) == (True, True, 5.0, {})


def test_a_state_that_jumped_is_seen_but_not_good():
    found, faults = after(0.6 * FIRST)
    assert tuple(faults) == ("position_jump",)
    np.testing.assert_array_equal(found.q, Q + 0.6 * FIRST)
    np.testing.assert_array_equal(found.good_q, Q)
    assert found.time == 5.001


@pytest.mark.parametrize(
    ("given", "faults"),
    [
        ({"moved": -0.6 * FIRST}, ("position_jump",)),
        ({"moved": 0.49 * FIRST}, ()),
        ({"moved": 0.0, "gap": 0.021}, ("overrun",)),
        ({"moved": 0.0, "gap": 0.019}, ()),
        ({"moved": 0.0, "gap": 99.0, "safety": replace(SAFETY, overrun_period=0.0)}, ()),
        ({"moved": 0.6 * FIRST, "gap": 0.05}, ("overrun", "position_jump")),
        ({"moved": 9.0 * FIRST, "safety": replace(SAFETY, position_jump=0.0)}, ()),
        # an arm that was known to be away may be anywhere, one that was not may not
        ({"moved": 0.6 * FIRST, "gap": 0.101, "away": True}, ("overrun",)),
        ({"moved": 0.6 * FIRST, "gap": 0.099, "away": True}, ("overrun", "position_jump")),
        ({"moved": 0.6 * FIRST, "gap": 0.1, "away": False}, ("overrun", "position_jump")),
        (
            {"moved": 0.6 * FIRST, "gap": 9.0, "away": True, "safety": replace(SAFETY, state_timeout=0.0)},
            ("overrun", "position_jump"),
        ),
        # twice the velocity limit, over the time since the last state and 20 ms of lateness
        ({"moved": 2 * 3.0 * 0.0209 * FIRST, "fastest": np.full(N, 3.0)}, ()),
        ({"moved": 2 * 3.0 * 0.0211 * FIRST, "fastest": np.full(N, 3.0)}, ("position_jump",)),
        ({"moved": 0.6 * FIRST, "gap": 0.019, "fastest": np.full(N, 90.0)}, ("position_jump",)),
        ({"moved": 2 * np.pi * FIRST, "law": TURNING}, ()),
    ],
)
def test_faults_of_a_state(given, faults):
    assert tuple(after(**given)[1]) == faults


@pytest.mark.parametrize(
    ("given", "fault", "figures"),
    [
        ({"moved": 0.61 * FIRST, "gap": 0.002}, "position_jump", ("gamma_1", "0.61 rad", "2 ms", "0.5 rad")),
        (
            {"moved": [0.3, 0.0, 0.0, 0.0, 0.3], "gap": 0.03, "fastest": np.array([9.0, 9.0, 9.0, 9.0, 2.0])},
            "position_jump",
            ("gamma_4", "0.3 rad", "30 ms", "0.2 rad", "velocity limit"),  # 2 (30 ms + 20 ms) 2 rad/s
        ),
        ({"moved": 0.0, "gap": 0.031}, "overrun", ("0.031 s", "0.02 s", "safety.overrun_period")),
    ],
)
def test_a_fault_comes_with_joint_size_and_limit(given, fault, figures):
    why = after(**given)[1][fault]
    assert [figure for figure in figures if figure not in why] == []


def missing(states, span=0.3, noticed=0.05):
    """The last finding over times [s], references and positions of one joint; the other rests."""
    watch = EffectWatch()
    for time, reference, q in states:
        found = watch.missing(TURNING, np.full(N, noticed), span, time, Q + reference * FIRST, Q + q * FIRST)
    return found


def test_a_joint_that_stands_still_while_its_reference_leaves_it_is_named():
    found = missing([(5.0, 0.0, 0.0), (5.1, 0.1, 0.0), (5.31, 0.2, 0.001)])
    assert isinstance(found, NoEffect)
    assert found.joint == 0
    assert (found.time, found.asked) == (pytest.approx(0.31), pytest.approx(0.2))


@pytest.mark.parametrize(
    "states",
    [
        [(5.0, 0.0, 0.0), (5.29, 0.2, 0.0)],  # not for long enough
        [(5.0, 0.0, 0.0), (5.31, 0.04, 0.0)],  # less than what is noticed
        [(5.0, 0.0, 0.0), (5.31, 0.2, 0.01)],  # it moves
        [(5.0, 0.2, 0.0), (5.31, 0.0, 0.0)],  # the reference comes to a joint that rests
        [(5.0, -0.2, 0.0), (5.31, 0.05, 0.0)],  # and a little beyond it
        [(5.0, 0.0, 0.0), (5.31, 2 * np.pi, 0.0)],  # a whole turn is none
        [(5.0, 0.2, 0.0), (5.2, 0.2, 0.0), (5.4, 0.2, 0.0), (5.6, 0.2, 0.0)],  # nothing is asked
    ],
)
def test_a_joint_that_need_not_move_or_does_is_not_accused(states):
    assert missing(states) is None


def test_only_the_span_before_now_counts():
    states = [(5.0, 0.0, 0.0), (5.2, 0.1, 0.1), (5.3, 0.1, 0.1), (5.4, 0.1, 0.1), (5.52, 0.1, 0.1)]
    assert missing(states) is None
    states += [(5.6, 0.2, 0.1), (5.72, 0.3, 0.1)]
    assert missing(states) is None  # the reference rested until 5.52 s
    found = missing([*states, (5.83, 0.4, 0.1)])
    assert (found.time, found.asked) == (pytest.approx(0.31), pytest.approx(0.3))  # since 5.52 s


def test_nothing_is_remembered_while_simulated_time_stands_still():
    watch, q = EffectWatch(), Q.copy()
    for _ in range(1000):
        watch.missing(LAW, np.full(N, 0.05), 0.3, 5.0, Q, q)
    assert sys.getrefcount(q) < 10


def test_without_a_tolerance_nothing_is_noticed():
    assert missing([(5.0, 0.0, 0.0), (5.31, 0.2, 0.0)], noticed=0.0) is None


def test_a_watch_that_forgets_begins_anew():
    watch = EffectWatch()
    watch.missing(LAW, np.full(N, 0.05), 0.3, 5.0, Q, Q)
    watch.forget()
    assert watch.missing(LAW, np.full(N, 0.05), 0.3, 5.4, Q + 1.0, Q) is None


NAMES, BOTH = ("shoulder", "elbow"), np.array([True, True])
SECOND_ONLY, NONE = np.array([False, True]), np.array([False, False])


def test_clamping_without_a_pause_lasts_and_is_counted_by_joint():
    watch = SaturationWatch()
    assert not watch.lasts(BOTH, NAMES, 5.0, 0.5)
    assert not watch.lasts(SECOND_ONLY, NAMES, 5.5, 0.5)
    assert watch.lasts(SECOND_ONLY, NAMES, 5.6, 0.5)
    assert watch.clamped == {"shoulder": 1, "elbow": 3}
    assert not watch.lasts(SECOND_ONLY, NAMES, 6.0, 0.5)  # counted anew
    assert watch.lasts(SECOND_ONLY, NAMES, 6.2, 0.5)


def test_a_pause_of_clamping_and_forgetting_begin_anew_and_zero_is_for_ever():
    watch = SaturationWatch()
    watch.lasts(BOTH, NAMES, 5.0, 0.5)
    assert not watch.lasts(NONE, NAMES, 5.4, 0.5)
    assert not watch.lasts(BOTH, NAMES, 5.6, 0.5)
    watch.forget()
    assert not watch.lasts(BOTH, NAMES, 6.2, 0.5)
    assert not watch.lasts(BOTH, NAMES, 99.0, 0.0)


def test_faults_soon_after_a_recovery_are_relapses_in_a_row():
    watch = RelapseWatch()
    assert watch.count(Starting(), "position_jump", 5.0, 1.0) == 0
    watch.recovered(6.0)
    assert watch.count(Starting(), "position_jump", 6.9, 1.0) == 1
    watch.recovered(8.0)
    assert watch.count(Starting(), "non_finite", 8.1, 1.0) == 2
    assert watch.count(Reacting("non_finite", "hold"), "position_jump", 8.2, 1.0) == 2  # no new one
    assert watch.count(Starting(), "stale_state", 8.3, 1.0) == 2  # commands do not cause it
    watch.recovered(9.0)
    assert watch.count(Starting(), "saturation", 10.1, 1.0) == 0
    watch.recovered(11.0)
    watch.count(Starting(), "saturation", 11.1, 1.0)
    watch.forget()
    assert watch.count(Starting(), "stale_state", 11.15, 1.0) == 0
    assert watch.count(Starting(), "saturation", 11.2, 1.0) == 0
