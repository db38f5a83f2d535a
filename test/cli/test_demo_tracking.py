"""The demonstration's motion, a run read back from a bag, and its figures and verdict."""

import csv

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from kane_dynamics_ros.cli.demo_tracking import (
    DURATION,
    DemonstrationError,
    RecordedRun,
    TrackingError,
    gaps_found,
    read_run,
    reference,
    request,
    shortcomings,
    table,
    tracking_error,
    write_errors,
)

JOINTS = ("gamma_1", "alpha_2", "alpha_3", "beta_4", "gamma_4")
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
    with pytest.raises(DemonstrationError) as caught:
        read_run(tmp_path / "bag", JOINTS, START)
    assert str(caught.value) == (
        f"{tmp_path / 'bag'}: 10 joint states during the motion; at least 100 are needed; see the nodes' "
        "logs beside it, and whether the machine is too busy"
    )


def test_a_bag_without_the_trajectory_is_no_run(tmp_path):
    write_bag(tmp_path / "bag", np.arange(0.0, DURATION, 0.02), with_trajectory=False)
    with pytest.raises(DemonstrationError):
        read_run(tmp_path / "bag", JOINTS, START)


def run_at(times):
    values = np.repeat(times[:, None], 5, axis=1)
    return RecordedRun(times, values, values, values)


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


def test_velocity_and_acceleration_are_the_derivatives_of_the_position():
    h = 1e-4  # central differences err by h^2 q'''/6: below 1e-6 for |q'''| < 30 and, doubled, for q''''
    times = np.linspace(0.01, DURATION - 0.01, 500)
    before, here, after = (reference(times + shift, START) for shift in (-h, 0.0, h))
    np.testing.assert_allclose((after.q - before.q) / (2 * h), here.qd, atol=1e-6)
    np.testing.assert_allclose((after.qd - before.qd) / (2 * h), here.qdd, atol=1e-6)


def test_motion_begins_and_ends_at_rest_where_it_started():
    for motion in (reference([0.0, DURATION], START), reference([-1.0, DURATION + 1.0], START)):
        np.testing.assert_allclose(motion.q, [START, START], atol=1e-12)
        np.testing.assert_allclose(motion.qd, 0.0, atol=1e-12)
        np.testing.assert_allclose(motion.qdd, 0.0, atol=1e-12)


def test_every_joint_moves():
    assert (np.ptp(reference(np.linspace(0.0, DURATION, 200), START).q, axis=0) > 0.5).all()


def test_message_carries_velocity_and_acceleration_at_increasing_times():
    points = request(JOINTS, START).points
    times = np.array([1e-9 * point.time_ns for point in points])
    motion = reference(times, START)
    assert request(JOINTS, START).names == JOINTS
    assert times[0] == 0.0
    assert times[-1] == DURATION
    assert (np.diff(times) > 0.0).all()
    np.testing.assert_allclose([p.positions for p in points], motion.q, atol=1e-7)  # times round to 1 ns
    np.testing.assert_allclose([p.velocities for p in points], motion.qd, atol=1e-7)
    np.testing.assert_allclose([p.accelerations for p in points], motion.qdd, atol=1e-7)


THREE_JOINTS = ("a", "b", "c")


def error_of(*rms):
    return TrackingError(np.array(rms), 2.0 * np.array(rms))


def test_rms_of_a_whole_sine_period_is_its_amplitude_over_root_two():
    times = np.linspace(0.0, 1.0, 1000, endpoint=False)
    amplitudes = np.array([0.5, 2.0])
    position = 1.0 + np.sin(2 * np.pi * times)[:, None] * amplitudes
    found = tracking_error(RecordedRun(times, position, np.ones_like(position), np.zeros_like(position)))
    np.testing.assert_allclose(found.rms, amplitudes / np.sqrt(2), rtol=1e-12)
    np.testing.assert_allclose(found.peak, amplitudes, rtol=1e-12)  # a sample falls on the crest


def test_table_is_in_mrad_with_rms_and_peak_of_each_controller():
    errors = {"PD alone": error_of(0.1, 0.2, 0.3), "computed torque": error_of(1e-3, 2e-3, 3e-3)}
    assert table(THREE_JOINTS, errors).splitlines() == [
        "                    PD alone       computed torque",
        "[mrad]          RMS     peak          RMS     peak",
        "a           100.000  200.000        1.000    2.000",
        "b           200.000  400.000        2.000    4.000",
        "c           300.000  600.000        3.000    6.000",
    ]


def test_good_figures_have_no_shortcomings():
    assert (
        shortcomings(THREE_JOINTS, error_of(1, 1, 1), error_of(1, 0.09, 0.09), error_of(1e-3, 1e-3, 1e-3))
        == []
    )


def test_each_shortcoming_is_named_with_its_figure_and_its_limit():
    found = shortcomings(THREE_JOINTS, error_of(1, 1, 1), error_of(1, 0.5, 0.01), error_of(1e-3, 1e-3, 3e-3))
    assert found == [
        "computed torque tracks c to 3.000 mrad RMS; the limit is 2 mrad",
        "feedforward makes b track 2.0 times better than PD alone; at least 10 times is expected",
    ]


def test_errors_that_are_not_numbers_are_shortcomings():
    found = shortcomings(THREE_JOINTS, error_of(1, 1, 1), error_of(1, np.nan, 0.01), error_of(np.nan, 0, 0))
    assert found == [
        "computed torque tracks a to nan mrad RMS; the limit is 2 mrad",
        "feedforward makes b track nan times better than PD alone; at least 10 times is expected",
    ]


def test_csv_holds_a_row_for_each_controller_and_joint(tmp_path):
    write_errors(tmp_path / "errors.csv", THREE_JOINTS, {"PD alone": error_of(0.1, 0.2, 0.3)})
    with (tmp_path / "errors.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["joint"] for row in rows] == ["a", "b", "c"]
    assert {row["controller"] for row in rows} == {"PD alone"}
    assert [float(row["rms_rad"]) for row in rows] == [0.1, 0.2, 0.3]
    assert [float(row["peak_rad"]) for row in rows] == [0.2, 0.4, 0.6]


def test_missing_states_are_told_of_the_run_that_misses_them():
    times = np.arange(0, 401) * 0.02
    runs = {}
    for label, kept in (("whole", times), ("torn", np.delete(times, [7, 8, 9]))):
        values = np.zeros((len(kept), 3))
        runs[label] = RecordedRun(kept, values, values, values)
    [told] = gaps_found(runs)
    assert told.startswith("torn: 3 of 401 joint states are missing, up to 0.080 s")
