"""Estimated motion against closed forms, whatever the recording's clock did."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from replay_bags import START, motion
from scipy.signal import resample_poly

from kane_dynamics_ros.replay.errors import TooShortError
from kane_dynamics_ros.replay.messages import JointStates
from kane_dynamics_ros.replay.motion import Motion, decimated, estimate, unwrapped
from kane_dynamics_ros.replay.recording import Recording

RATE = 500.0
Q, QD, QDD = motion(20.0, RATE, 2)
EFFORT = np.stack([np.sin(Q[:, 0]), Q[:, 1] ** 2], axis=1)


def states(velocity: bool = True) -> JointStates:
    stamps = START + np.rint(np.arange(len(Q)) * (1e9 / RATE)).astype(np.int64)
    qd = QD.copy() if velocity else np.full_like(QD, np.nan)
    return JointStates(("a", "b"), stamps, stamps.copy(), Q.copy(), qd, EFFORT.copy(), ("a", "b"), 0, 0)


def chosen(source: JointStates, rows: NDArray[np.int64]) -> JointStates:
    arrays = ("stamps", "received", "position", "velocity", "effort")
    return replace(source, **{name: getattr(source, name)[rows] for name in arrays})


def recording(source: JointStates) -> Recording:
    return Recording(Path("bag"), "/joint_states", source, None, None, (), (), 1.0)


def truth_at(times: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The exact signal at other times: cubic through samples 1/300 of its shortest period apart."""
    grid = np.arange(len(values)) / RATE
    return np.stack([np.interp(times, grid, column) for column in values.T], axis=1)


def assert_true(found: Motion, tolerance: float, joined: bool = False) -> None:
    """Position, velocity, acceleration and effort, relative to their size, away from the filters' ends.

    The low-pass takes less than 1e-6 of a 1.5 Hz motion at 30 Hz; linear interpolation of the truth adds
    (omega h)^2 / 8 = 4e-5.
    """
    for interval in found.intervals:
        inner = slice(found.edge, -found.edge)
        times = interval.time[inner] % (len(Q) / RATE) if joined else interval.time[inner]
        pairs = ((interval.q, Q), (interval.qd, QD), (interval.qdd, QDD), (interval.effort, EFFORT))
        for estimated, exact in pairs:
            error = estimated[inner] - truth_at(times, exact)
            assert np.abs(error).max() < tolerance * np.abs(exact).max()


@pytest.mark.parametrize("velocity", [True, False])
def test_a_clean_recording_gives_the_exact_motion(velocity: bool) -> None:
    found = estimate(recording(states(velocity)))
    assert found.cutoff == 30.0  # nothing but rounding lies above the motion: the highest allowed
    assert found.sampled == pytest.approx(RATE, rel=1e-9)
    assert found.derived == (() if velocity else ("a", "b"))
    assert len(found.intervals) == 1
    assert_true(found, 1e-3 if velocity else 2e-3)  # twice through the filter's ends


def test_the_cutoff_lies_between_motion_and_noise() -> None:
    """Encoder noise of 1e-4 rad: the motion, up to 1.5 Hz, ends before 10 Hz."""
    noisy = states()
    noisy.position[:] += 1e-4 * np.random.default_rng(1).standard_normal(Q.shape)
    found = estimate(recording(noisy))
    assert 2.0 < found.cutoff < 12.0
    assert found.rate >= 8 * found.cutoff


def test_a_given_cutoff_is_kept() -> None:
    assert estimate(recording(states()), cutoff=7.5).cutoff == 7.5


@pytest.mark.parametrize("factor", [1, 3, 8])
def test_decimation_is_that_of_scipy(factor: int) -> None:
    """To rounding, at the ends of a column that does not begin and end at rest, too."""
    values = np.random.default_rng(6).normal(size=(1000, 3)).cumsum(axis=0)
    expected = resample_poly(values, 1, factor, window=("kaiser", 8.0), padtype="line")
    np.testing.assert_allclose(decimated(values, factor), expected, atol=1e-12 * np.abs(values).max())


def test_jitter_of_the_stamps_is_resampled() -> None:
    """Stamps 0.5 ms off a 2 ms grid, values taken at those times."""
    jittered = states()
    late = np.random.default_rng(2).uniform(-5e-4, 5e-4, len(Q))
    jittered.stamps[:] += np.rint(late * 1e9).astype(np.int64)
    jittered.position[:] += QD * late[:, None] + QDD * late[:, None] ** 2 / 2
    jittered.velocity[:] += QDD * late[:, None]
    found = estimate(recording(jittered), cutoff=10.0)
    assert_true(found, 5e-3)


def test_messages_in_another_order_are_sorted_by_stamp_and_counted() -> None:
    rows = np.arange(len(Q))
    rows[1000:1003] = rows[[1002, 1000, 1001]]
    rows[3000:3002] = rows[[3001, 3000]]
    found = estimate(recording(chosen(states(), rows)))
    assert found.reordered == 2
    assert found.passes == 1
    assert_true(found, 1e-3)


def test_repeated_stamps_are_used_once() -> None:
    rows = np.sort(np.concatenate([np.arange(len(Q)), np.arange(0, len(Q), 7)]))
    twice = chosen(states(), rows)
    twice.position[1 + np.flatnonzero(np.diff(twice.stamps) == 0)] += 1.0  # the second one differs
    found = estimate(recording(twice))
    assert found.repeated == len(range(0, len(Q), 7))
    assert_true(found, 1e-3)


def test_single_lost_messages_are_bridged_and_gaps_are_not() -> None:
    lost = np.concatenate([np.arange(97, 4000, 97), np.arange(5000, 5500)])
    found = estimate(recording(chosen(states(), np.setdiff1d(np.arange(len(Q)), lost))))
    assert len(found.intervals) == 2
    assert found.gaps == (pytest.approx(501 / RATE),)
    assert found.intervals[0].time[-1] < 5000 / RATE < found.intervals[1].time[0]
    assert_true(found, 2e-3)


def test_the_passes_of_a_looped_bag_follow_each_other() -> None:
    rows = np.concatenate([np.arange(len(Q)), np.arange(len(Q))])
    found = estimate(recording(chosen(states(), rows)))
    assert found.passes == 2
    assert [round(interval.time[0]) for interval in found.intervals] == [0, 20]
    assert [interval.stamp for interval in found.intervals] == [START, START]
    assert_true(found, 1e-3, joined=True)


def test_two_publishers_each_with_a_part_of_the_joints() -> None:
    """Odd messages tell joint a, even ones joint b."""
    rows = np.repeat(np.arange(len(Q)), 2)
    parts = chosen(states(), rows)
    parts.stamps[1::2] += 700_000  # the second publisher's clock ticks between
    for values, exact in ((parts.position, QD), (parts.velocity, QDD)):
        values[1::2] += exact * 7e-4
        values[::2, 1] = np.nan
        values[1::2, 0] = np.nan
    parts.effort[::2, 1] = np.nan
    parts.effort[1::2, 0] = np.nan
    found = estimate(recording(parts), cutoff=10.0)
    assert found.sampled == pytest.approx(RATE, rel=1e-4)
    assert len(found.intervals) == 1
    assert_true(found, 1e-2)


def test_nan_in_velocity_alone_is_bridged() -> None:
    holes = states()
    holes.velocity[::50] = np.nan
    assert_true(estimate(recording(holes)), 1e-3)


def test_a_recording_of_gaps_alone_is_refused() -> None:
    rows = np.flatnonzero(np.arange(len(Q)) % 500 < 250)  # half a second on, half a second off
    with pytest.raises(TooShortError) as refused:
        estimate(recording(chosen(states(), rows)))
    assert refused.value.longest == pytest.approx(0.498)
    assert refused.value.needed == 1.0


def test_a_joint_may_turn_far_in_a_gap() -> None:
    """By 3.6 rad while nothing was recorded: no angle modulo 2 pi, whose jumps are within a sample."""
    stamps = np.concatenate([np.arange(5), 5000 + np.arange(5)]) * 2_000_000
    far = np.array([[2.0] * 5 + [-1.6] * 5, [3.1, 3.12, 3.14, -3.12, -3.1] + [-3.08] * 5]).T
    expected = far.copy()
    expected[3:, 1] += 2 * np.pi
    np.testing.assert_allclose(unwrapped(stamps, far, [0, 1]), expected, atol=1e-12)
