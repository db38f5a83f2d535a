"""Annotated trajectories, replayed as a consumer does: its splines, and linear efforts."""

from itertools import pairwise

import closed_form
import numpy as np
import pytest
from joints import SECOND, point, request

from kane_dynamics_ros.control.annotation import Accuracy, annotate
from kane_dynamics_ros.control.law import Law, TermSwitches
from kane_dynamics_ros.control.limits import motion_limits
from kane_dynamics_ros.control.validation import TrajectoryError
from kane_dynamics_ros.friction import ExtraFriction
from kane_dynamics_ros.runtime import load_model

MODEL = load_model("manipulator_5dof")
N = 5
NAMES = MODEL.joint_names
LAW = Law("computed_torque", MODEL, np.zeros(N), np.zeros(N), TermSwitches())
NO_LIMITS = np.full(N, np.inf)
ERROR = 0.05  # [N m]
ACCURACY = Accuracy(ERROR, 20000)
START, END = np.array([0.0, 0.2, 0.3, 0.0, 0.0]), np.array([0.8, 0.9, -0.6, 0.5, 0.4])
SPLINES = {
    1: lambda t, T, a, b, j: closed_form.linear(t, T, a.positions[j], b.positions[j]),
    2: lambda t, T, a, b, j: closed_form.cubic(
        t, T, a.positions[j], a.velocities[j], b.positions[j], b.velocities[j]
    ),
    3: lambda t, T, a, b, j: closed_form.quintic(
        t,
        T,
        (a.positions[j], a.velocities[j], a.accelerations[j]),
        (b.positions[j], b.velocities[j], b.accelerations[j]),
    ),
}
ZERO = (0.0,) * N
TRAJECTORIES = {
    "linear": (point(1.0, START), point(2.0, END), point(3.0, START)),
    "cubic": (point(1.0, START, ZERO), point(2.0, END, (0.5,) * N), point(3.0, START, ZERO)),
    "quintic": (
        point(1.0, START, ZERO, ZERO),
        point(2.0, END, (0.5,) * N, (1.0,) * N),
        point(3.0, START, ZERO, ZERO),
    ),
    "mixed": (point(1.0, START), point(2.0, END, ZERO), point(3.0, START, ZERO)),
}


def annotated(points, accuracy=ACCURACY, limits=NO_LIMITS, law=LAW, names=NAMES):
    return annotate(request(*points, names=names), law, limits, accuracy)


def carried(a, b):
    return min(1 + bool(len(p.velocities)) + bool(len(p.accelerations)) for p in (a, b))


@pytest.mark.parametrize("points", TRAJECTORIES.values(), ids=TRAJECTORIES)
def test_linear_effort_stays_within_the_error_of_the_true_effort(points):  # field report 97
    for a, b in pairwise(annotated(points).points):
        T = (b.time_ns - a.time_ns) / SECOND
        if b.time_ns - a.time_ns <= 1000:
            continue  # the effort itself jumps here
        for share in (0.13, 0.37, 0.5, 0.71, 0.94):
            states = [SPLINES[carried(a, b)](share * T, T, a, b, j) for j in range(N)]
            true = MODEL.inverse_dynamics(*np.array(states).T)
            linear = (1.0 - share) * np.array(a.effort) + share * np.array(b.effort)
            # splines of intervals of some microseconds lose digits of their acceleration: 1e-3 at most
            assert np.abs(linear - true).max() < ERROR * 1.05 + 1e-3


@pytest.mark.parametrize("points", TRAJECTORIES.values(), ids=TRAJECTORIES)
def test_the_motion_is_the_same(points):
    times = {p.time_ns: p for p in annotated(points).points}
    for given in points:
        found = times[given.time_ns]
        np.testing.assert_allclose(found.positions, given.positions, atol=1e-12)  # rounding
        np.testing.assert_allclose(found.velocities, given.velocities, atol=1e-11)
        np.testing.assert_allclose(found.accelerations, given.accelerations, atol=1e-10)


def test_every_point_carries_effort_and_times_increase():
    points = annotated(TRAJECTORIES["cubic"]).points
    assert all(len(p.effort) == N for p in points)
    assert all(a.time_ns < b.time_ns for a, b in pairwise(points))


@pytest.mark.parametrize(("kind", "jumps"), [("quintic", []), ("cubic", [2 * SECOND, 3 * SECOND])])
def test_a_second_point_is_there_only_where_the_effort_jumps(kind, jumps):
    times = [p.time_ns for p in annotated(TRAJECTORIES[kind]).points]
    assert [a for a, b in pairwise(times) if b - a == 1000] == jumps


def test_where_the_effort_stays_the_same_the_ends_are_enough():
    waiting = annotated((point(1.0, START), point(3.0, START), point(4.0, END)))
    assert [p.time_ns for p in waiting.points][:2] == [1 * SECOND, 3 * SECOND]


def test_the_last_effort_holds_the_arm_at_rest():
    last = annotated(TRAJECTORIES["cubic"]).points[-1]
    assert last.time_ns == 3 * SECOND + 1000  # the cubic ends with an acceleration: the effort jumps
    np.testing.assert_allclose(last.effort, MODEL.gravity(START), atol=1e-9)  # rounding


def test_a_smaller_error_needs_more_points():
    counts = [
        len(annotated(TRAJECTORIES["quintic"], Accuracy(error, 20000)).points) for error in (1.0, 0.1, 0.01)
    ]
    assert counts[0] < counts[1] < counts[2]


def test_one_point_gets_the_effort_of_rest():
    points = annotated((point(1.0, START),)).points
    assert len(points) == 1
    np.testing.assert_allclose(points[0].effort, MODEL.gravity(START), atol=1e-9)  # rounding


def test_the_order_of_joints_is_the_callers():
    turned = tuple(reversed(NAMES))
    plain = annotated(TRAJECTORIES["linear"]).points
    points = annotated(
        tuple(point(p.time_ns / SECOND, p.positions[::-1]) for p in TRAJECTORIES["linear"]), names=turned
    ).points
    np.testing.assert_allclose([p.effort[::-1] for p in points], [p.effort for p in plain])


def test_terms_that_are_switched_off_are_left_out():
    law = Law("computed_torque", MODEL, np.zeros(N), np.zeros(N), TermSwitches(gravity=False))
    np.testing.assert_allclose(annotated((point(1.0, START),), law=law).points[0].effort, ZERO, atol=1e-12)


@pytest.mark.parametrize("coupled", [False, True])
def test_friction_that_stays_at_rest_keeps_the_direction_of_the_last_motion(coupled):
    """Nothing before the arm moves; then up, a pause, down, and the end, by the formula written out."""
    C, coulomb, kept = np.eye(N), np.array([4.0, 6.0, 3.0, 1.0, 0.5]), np.full(N, 0.5)
    if coupled:
        C[4, 3] = -2.0  # the last drive turns the other way
    model = MODEL.with_parameters(coulomb=tuple(coulomb), coupling=C.ravel().tolist() if coupled else ())
    beyond = ExtraFriction.of(N, at_rest=kept, coupling=C if coupled else None)
    law = Law("feedforward", model, np.zeros(N), np.zeros(N), TermSwitches(), beyond)
    low, high = np.zeros(N), np.full(N, 0.6)
    stops = [point(t, q, ZERO) for t, q in ((0.0, low), (1.0, low), (2.0, high), (3.0, high), (4.0, low))]
    points = annotated((*stops, point(5.0, low, ZERO)), law=law).points
    signs = C @ np.ones(N)
    for time, q, direction in ((0.5, low, 0.0), (2.5, high, signs), (4.5, low, -signs)):
        times = np.array([p.time_ns for p in points]) / SECOND
        found = [np.interp(time, times, column) for column in np.transpose([p.effort for p in points])]
        np.testing.assert_allclose(found, MODEL.gravity(q) + (kept * coulomb * direction) @ C, atol=ERROR)
    np.testing.assert_allclose(points[-1].effort, MODEL.gravity(low) - (kept * coulomb * signs) @ C)


REFUSALS = {
    "too much effort": (
        {"points": TRAJECTORIES["quintic"], "limits": np.array([300.0, 10.0, 300.0, 300.0, 300.0])},
        ("effort_limit", f"needs {MODEL.gravity(START)[1]:g} N m at 1.000 s"),
    ),
    "too many points": (
        {"points": TRAJECTORIES["quintic"], "accuracy": Accuracy(1e-9, 100)},
        ("too_many_points", "within 1e-09"),
    ),
    "more points than allowed": (
        {"points": TRAJECTORIES["quintic"], "accuracy": Accuracy(1e9, 2)},
        ("too_many_points", "more than 2 points"),
    ),
    "no points": ({"points": ()}, ("no_points", "no points")),
}


@pytest.mark.parametrize(("given", "reason"), REFUSALS.values(), ids=REFUSALS)
def test_a_trajectory_is_refused_with_the_reason(given, reason):
    with pytest.raises(TrajectoryError) as caught:
        annotated(**given)
    code, value = reason
    assert caught.value.code == code
    assert value in str(caught.value)


def test_without_an_error_each_joint_has_one_that_fits_its_own_effort():
    limits = np.array([np.inf, 200.0, 1e3, np.inf, 0.5])
    points = annotated(TRAJECTORIES["quintic"], Accuracy(None, 20000), NO_LIMITS).points
    peaks = np.abs([p.effort for p in points]).max(axis=0)
    limited = annotated(
        TRAJECTORIES["quintic"], Accuracy(None, 20000), np.maximum(limits, 1.1 * peaks)
    ).points
    assert len(limited) > len(points)  # the limits ask for more
    for found, bound in ((points, 0.01 * peaks.max()), (limited, 0.01 * peaks.max())):
        for a, b in pairwise(found):
            T = (b.time_ns - a.time_ns) / SECOND
            if b.time_ns - a.time_ns <= 1000:
                continue
            states = [SPLINES[carried(a, b)](0.5 * T, T, a, b, j) for j in range(N)]
            true = MODEL.inverse_dynamics(*np.array(states).T)
            error = np.abs(0.5 * (np.array(a.effort) + np.array(b.effort)) - true)
            own = np.maximum(0.01 * peaks, 0.1 * bound)
            assert (error < own * 1.05 + 1e-3).all()


def test_an_arm_that_needs_no_effort_is_annotated_with_none():
    law = Law("computed_torque", MODEL, np.zeros(N), np.zeros(N), TermSwitches(gravity=False))
    points = annotated((point(1.0, START), point(2.0, START)), Accuracy(None, 100), law=law).points
    np.testing.assert_allclose([p.effort for p in points], 0.0, atol=1e-12)  # rounding


@pytest.mark.parametrize("points", [(point(1.0, START), point(2.0, END + 100.0)), (point(1.0, END + 100.0),)])
def test_positions_outside_the_limits_are_refused_as_by_the_node(points):
    limits = motion_limits(MODEL.joints, None)
    with pytest.raises(TrajectoryError) as caught:
        annotate(request(*points, names=NAMES), LAW, NO_LIMITS, ACCURACY, limits)
    assert caught.value.code == "outside_limits"
