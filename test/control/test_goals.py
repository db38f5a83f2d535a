"""Tolerances of goals, and what becomes of trajectories."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from kane_dynamics_ros.control.goals import Tolerances, own_tolerances
from kane_dynamics_ros.control.validation import TrajectoryError

JOINTS = ("shoulder", "elbow")
DEFAULTS = Tolerances(np.array([0.5, 0.5]), np.array([0.1, 0.1]), goal_time=2.0, stopped_velocity=0.1)


def tolerance(name, position=0.0, velocity=0.0, acceleration=0.0):
    return SimpleNamespace(name=name, position=position, velocity=velocity, acceleration=acceleration)


def goal(path=(), at_goal=(), time=0.0):
    seconds = int(time // 1)
    return SimpleNamespace(
        path_tolerance=path,
        goal_tolerance=at_goal,
        goal_time_tolerance=SimpleNamespace(sec=seconds, nanosec=round((time - seconds) * 1e9)),
    )


def test_tolerances_of_a_goal_replace_the_parameters_joint_by_joint():
    asked = goal(path=[tolerance("elbow", 0.2)], at_goal=[tolerance("shoulder", -1.0)], time=0.5)
    found = own_tolerances(asked, JOINTS, DEFAULTS)
    np.testing.assert_array_equal(found.trajectory, [0.5, 0.2])
    np.testing.assert_array_equal(found.goal, [0.0, 0.1])  # negative: none
    assert found.goal_time == pytest.approx(0.5)
    assert found.stopped_velocity == 0.1
    np.testing.assert_array_equal(DEFAULTS.trajectory, [0.5, 0.5])


def test_tolerances_that_are_not_given_are_the_parameters():
    found = own_tolerances(goal(path=[tolerance("elbow")]), JOINTS, DEFAULTS)
    np.testing.assert_array_equal(found.trajectory, DEFAULTS.trajectory)
    assert found.goal_time == 2.0
    assert own_tolerances(goal(time=-1.0), JOINTS, DEFAULTS).goal_time == 0.0  # for ever


def test_velocities_of_a_goal_are_tolerated_as_far_as_it_says():
    asked = goal(path=[tolerance("elbow", velocity=0.3)], at_goal=[tolerance("shoulder", velocity=0.02)])
    found = own_tolerances(asked, JOINTS, DEFAULTS)
    error, reference, still = np.zeros(2), np.zeros((3, 2)), np.zeros(2)
    assert found.violated(error, reference, np.array([9.0, -0.29])) is None
    assert found.violated(error, reference, np.array([0.0, -0.31])) == 1
    reference[1, 1] = 0.31
    assert found.violated(error, reference, still) == 1
    assert found.missed(error, np.array([0.019, 0.09])) is None
    assert found.missed(error, np.array([0.021, 0.0])) == 0
    assert found.missed(error, np.array([0.0, 0.11])) == 1  # of the parameters: has it stopped?
    erased = own_tolerances(goal(path=[tolerance("elbow", velocity=-1.0)]), JOINTS, DEFAULTS)
    assert erased.violated(error, reference, np.array([9.0, 9.0])) is None


@pytest.mark.parametrize(
    "bad",
    [
        tolerance("wheel", 0.1),
        tolerance("elbow", math.nan),
        tolerance("elbow", 0.1, velocity=math.nan),
        tolerance("elbow", 0.1, acceleration=math.inf),
        tolerance("elbow", 0.1, acceleration=0.5),  # which nobody measures
    ],
)
@pytest.mark.parametrize("where", ["path", "at_goal"])
def test_a_tolerance_that_cannot_be_checked_is_refused(bad, where):
    with pytest.raises(TrajectoryError, match=bad.name) as caught:
        own_tolerances(goal(**{where: [bad]}), JOINTS, DEFAULTS)
    assert (caught.value.code, caught.value.joint) == ("tolerance", bad.name)


def test_acceleration_tolerances_that_ask_for_nothing_are_accepted():
    asked = [tolerance("elbow", 0.3, acceleration=-1.0), tolerance("shoulder", 0.2, acceleration=0.0)]
    np.testing.assert_array_equal(own_tolerances(goal(path=asked), JOINTS, DEFAULTS).trajectory, [0.2, 0.3])


def test_the_worst_joint_is_named_and_the_limit_itself_is_allowed():
    tolerances = Tolerances(np.array([0.5, 0.0]), np.array([0.1, 0.2]), stopped_velocity=0.1)
    reference, still = np.zeros((3, 2)), np.zeros(2)
    assert tolerances.violated(np.array([0.5, 9.0]), reference, still) is None  # 0: not checked
    assert tolerances.violated(np.array([-0.51, 0.0]), reference, still) == 0
    assert tolerances.missed(np.array([0.11, -0.3]), still) == 1
    assert tolerances.missed(np.array([0.09, 0.19]), still) is None
    assert tolerances.missed(still, np.array([-0.11, 0.0])) == 0


@pytest.mark.parametrize(
    ("tolerances", "measures"),
    [
        (Tolerances(np.ones(2), np.zeros(2)), False),
        (Tolerances(np.ones(2), np.array([0.0, 0.1])), True),
        (Tolerances(np.ones(2), np.zeros(2), stopped_velocity=0.1), True),
        (Tolerances(np.ones(2), np.zeros(2), goal_velocity=np.zeros(2)), False),
        (Tolerances(np.ones(2), np.zeros(2), goal_velocity=np.array([0.1, 0.0])), True),
    ],
)
def test_success_is_measured_where_something_is_asked_of_the_arm_at_its_goal(tolerances, measures):
    assert tolerances.measures is measures
