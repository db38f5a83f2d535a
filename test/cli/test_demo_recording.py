"""A run read back from a bag that was written by hand."""

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from kane_dynamics_ros.cli.demo.recording import (
    DURATION,
    NoTrajectoryError,
    RecordingTooShortError,
    Run,
    read_run,
    reference,
)

JOINTS = ("a", "b", "c", "d", "e")
START = np.array([0.0, 0.9, -1.2, 0.3, 0.5])
BEGINNING = 1_000  # [s] when the trajectory starts
STORE = get_typestore(Stores.ROS2_JAZZY)


def header(seconds):
    time = STORE.types["builtin_interfaces/msg/Time"](int(seconds), round(1e9 * (seconds % 1.0)))
    return STORE.types["std_msgs/msg/Header"](time, "")


def write_bag(path, times, with_trajectory=True):
    """A trajectory, and states that are 1 mrad off the reference, with the time as every effort."""
    kinds = ("trajectory_msgs/msg/JointTrajectory", "sensor_msgs/msg/JointState")
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        trajectory, states = (
            writer.add_connection(topic, kind, typestore=STORE)
            for topic, kind in zip(("/joint_trajectory", "/joint_states"), kinds, strict=True)
        )
        message = STORE.types[kinds[0]](header(BEGINNING), list(JOINTS), [])
        if with_trajectory:
            writer.write(trajectory, BEGINNING * 10**9, STORE.serialize_cdr(message, kinds[0]))
        for t, q in zip(times, reference(times, START).q, strict=True):
            message = STORE.types[kinds[1]](
                header(BEGINNING + t), list(JOINTS), q + 1e-3, np.array([]), np.full(5, t)
            )
            writer.write(states, round(1e9 * (BEGINNING + t)), STORE.serialize_cdr(message, kinds[1]))


def test_run_is_the_time_of_the_motion_alone(tmp_path):
    times = np.arange(-0.5, DURATION + 0.5, 0.02)
    write_bag(tmp_path / "bag", times)
    run = read_run(tmp_path / "bag", JOINTS, START)
    inside = times[(times > -1e-9) & (times < DURATION + 1e-9)]
    np.testing.assert_allclose(run.times, inside, atol=1e-6)  # stamps of 1000 s in double precision
    np.testing.assert_allclose(run.error, 1e-3, atol=1e-6)
    np.testing.assert_allclose(run.effort, np.repeat(inside[:, None], 5, axis=1), atol=1e-6)


def test_too_few_states_are_no_run(tmp_path):
    write_bag(tmp_path / "bag", np.arange(0.0, 1.0, 0.1))
    with pytest.raises(RecordingTooShortError) as caught:
        read_run(tmp_path / "bag", JOINTS, START)
    assert str(caught.value) == (
        f"{tmp_path / 'bag'}: 10 joint states during the motion; at least 100 are needed; see the nodes' "
        "logs beside it, and whether the machine is too busy"
    )


def test_a_bag_without_the_trajectory_is_no_run(tmp_path):
    write_bag(tmp_path / "bag", np.arange(0.0, DURATION, 0.02), with_trajectory=False)
    with pytest.raises(NoTrajectoryError):
        read_run(tmp_path / "bag", JOINTS, START)


def run_at(times):
    values = np.repeat(times[:, None], 5, axis=1)
    return Run(times, values, values, values)


def test_gaps_are_counted_from_the_motions_start_to_its_end():
    times = np.arange(0, 401) * 0.02
    assert run_at(times).gaps.missing == 0
    jittered = times + 0.002 * np.sin(np.arange(401))
    assert run_at(np.clip(jittered, 0.0, DURATION)).gaps.missing == 0
    kept = np.delete(times, [0, 1, 50, 200, 201, 202, 400])
    gaps = run_at(kept).gaps
    assert (gaps.missing, gaps.expected) == (7, 401)
    assert gaps.longest == pytest.approx(0.08)


def test_lines_are_broken_where_states_are_missing():
    times = np.arange(0, 401) * 0.02
    kept = np.delete(times, [50, 200, 201])
    run = run_at(kept)
    drawn, values = run.broken(run.position)
    assert np.isnan(drawn).sum() == 2
    np.testing.assert_array_equal(np.isnan(values).all(axis=1), np.isnan(drawn))
    np.testing.assert_array_equal(drawn[~np.isnan(drawn)], kept)
