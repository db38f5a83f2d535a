"""The demonstration's figures against closed forms, and how it judges them."""

import csv

import numpy as np

from kane_dynamics_ros.cli.demo.errors import (
    TrackingError,
    gaps_found,
    shortcomings,
    table,
    tracking_error,
    write_errors,
)
from kane_dynamics_ros.cli.demo.recording import Run

JOINTS = ("a", "b", "c")


def error_of(*rms):
    return TrackingError(np.array(rms), 2.0 * np.array(rms))


def test_rms_of_a_whole_sine_period_is_its_amplitude_over_root_two():
    times = np.linspace(0.0, 1.0, 1000, endpoint=False)
    amplitudes = np.array([0.5, 2.0])
    position = 1.0 + np.sin(2 * np.pi * times)[:, None] * amplitudes
    found = tracking_error(Run(times, position, np.ones_like(position), np.zeros_like(position)))
    np.testing.assert_allclose(found.rms, amplitudes / np.sqrt(2), rtol=1e-12)
    np.testing.assert_allclose(found.peak, amplitudes, rtol=1e-12)  # a sample falls on the crest


def test_table_is_in_mrad_with_rms_and_peak_of_each_controller():
    errors = {"PD alone": error_of(0.1, 0.2, 0.3), "computed torque": error_of(1e-3, 2e-3, 3e-3)}
    assert table(JOINTS, errors).splitlines() == [
        "                    PD alone       computed torque",
        "[mrad]          RMS     peak          RMS     peak",
        "a           100.000  200.000        1.000    2.000",
        "b           200.000  400.000        2.000    4.000",
        "c           300.000  600.000        3.000    6.000",
    ]


def test_good_figures_have_no_shortcomings():
    assert shortcomings(JOINTS, error_of(1, 1, 1), error_of(1, 0.09, 0.09), error_of(1e-3, 1e-3, 1e-3)) == []


def test_each_shortcoming_is_named_with_its_figure_and_its_limit():
    found = shortcomings(JOINTS, error_of(1, 1, 1), error_of(1, 0.5, 0.01), error_of(1e-3, 1e-3, 3e-3))
    assert found == [
        "computed torque tracks c to 3.000 mrad RMS; the limit is 2 mrad",
        "feedforward makes b track 2.0 times better than PD alone; at least 10 times is expected",
    ]


def test_errors_that_are_not_numbers_are_shortcomings():
    found = shortcomings(JOINTS, error_of(1, 1, 1), error_of(1, np.nan, 0.01), error_of(np.nan, 0, 0))
    assert found == [
        "computed torque tracks a to nan mrad RMS; the limit is 2 mrad",
        "feedforward makes b track nan times better than PD alone; at least 10 times is expected",
    ]


def test_csv_holds_a_row_for_each_controller_and_joint(tmp_path):
    write_errors(tmp_path / "errors.csv", JOINTS, {"PD alone": error_of(0.1, 0.2, 0.3)})
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
        runs[label] = Run(kept, values, values, values)
    [told] = gaps_found(runs)
    assert told.startswith("torn: 3 of 401 joint states are missing, up to 0.080 s")
