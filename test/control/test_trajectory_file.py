"""Trajectories from files: what is read, and what is said of files that are none."""

import pytest

from kane_dynamics_ros.control.trajectory_file import TrajectoryFileError, read_trajectory, trajectory_text
from kane_dynamics_ros.control.validation import RequestPoint, TrajectoryRequest


def test_fields_of_the_message_are_read(tmp_path):
    path = tmp_path / "trajectory.yaml"
    path.write_text(
        "header: {stamp: {sec: 7, nanosec: 5}}\n"
        "joint_names: [a, b]\n"
        "points:\n"
        "- {positions: [0, 1], velocities: [0.5, 0], time_from_start: {sec: 1, nanosec: 500000000}}\n"
        "- {positions: [1, 2], effort: [3, 4], time_from_start: {sec: 2}}\n"
        "- {positions: [2, 3], time_from_start: 2.75}\n"  # by hand, in seconds
    )
    assert read_trajectory(path) == TrajectoryRequest(
        ("a", "b"),
        (
            RequestPoint(1_500_000_000, (0.0, 1.0), (0.5, 0.0)),
            RequestPoint(2_000_000_000, (1.0, 2.0), effort=(3.0, 4.0)),
            RequestPoint(2_750_000_000, (2.0, 3.0)),
        ),
        7_000_000_005,
    )


@pytest.mark.parametrize("as_json", [False, True])
def test_a_trajectory_is_read_as_it_was_written(tmp_path, as_json):
    points = (
        RequestPoint(1_500_000_000, (0.1, -1e-17), (0.5, 0.0), (1.0, 2.0), (3.0, 4.0)),
        RequestPoint(2_000_000_001, (1.0, 2.0)),
    )
    written = TrajectoryRequest(("a", "b"), points, -(2**31) * 10**9 + 5)
    text = trajectory_text(written, as_json)
    assert text.startswith("{") == as_json
    path = tmp_path / "trajectory.yaml"
    path.write_text(text)
    assert read_trajectory(path) == written


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("points: []", "joint_names: found NoneType; allowed: a list"),
        ("joint_names: [a]", "points: found NoneType; allowed: a list"),
        (
            "joint_names: [a]\npoints: [{positions: [0]}]",
            "points[0].time_from_start: found NoneType; allowed: a mapping",
        ),
        ("[1, 2]", "the file: found list; allowed: a mapping"),
        (
            "joint_names: [a]\npoints: [{positions: [x], time_from_start: {sec: 1}}]",
            "points[0].positions: found 'x'; allowed: numbers",
        ),
    ],
)
def test_file_of_another_form_is_refused_with_its_fault(tmp_path, text, fault):
    path = tmp_path / "trajectory.yaml"
    path.write_text(text)
    with pytest.raises(TrajectoryFileError) as caught:
        read_trajectory(path)
    assert str(caught.value) == f"{path}: {fault}"


def test_missing_file_is_named(tmp_path):
    path = tmp_path / "absent.yaml"
    with pytest.raises(TrajectoryFileError) as caught:
        read_trajectory(path)
    assert str(caught.value) == (
        f"{path}: cannot be read: No such file or directory; give the path of a trajectory file"
    )


@pytest.mark.parametrize(
    ("time", "found"),
    [
        ("3000000000.0", "3000000000.0"),
        ("-2147483649", "-2147483649"),
        ("0x" + "f" * 5000, "thousands of digits"),
    ],
)
def test_a_time_that_no_message_carries_is_refused(tmp_path, time, found):
    path = tmp_path / "trajectory.json"
    path.write_text(f'{{"joint_names": ["a"], "points": [{{"positions": [0], "time_from_start": {time}}}]}}')
    with pytest.raises(TrajectoryFileError, match=found) as caught:
        read_trajectory(path)
    assert caught.value.path == path
