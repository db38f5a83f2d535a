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
    ("text", "where", "found"),
    [
        ("points: []", "joint_names", "nothing"),
        ("joint_names: [a]", "points", "nothing"),
        ("joint_names: [a]\npoints: [{positions: [0]}]", "points[0].time_from_start", "nothing"),
        ("[1, 2]", "the file", "[1, 2]"),
        (
            "joint_names: [a]\npoints: [{positions: [0], time_from_start: soon}]",
            "points[0].time_from_start",
            "'soon'",
        ),
        ("joint_names: [[a]]\npoints: []", "joint_names", "['a']"),
        ("joint_names: [a]\npoints: 4", "points", "4"),
        (
            "joint_names: [a]\npoints: [{positions: [x], time_from_start: {sec: 1}}]",
            "points[0].positions",
            "'x'",
        ),
    ],
)
def test_file_of_another_form_is_refused_with_its_fault(tmp_path, text, where, found):
    path = tmp_path / "trajectory.yaml"
    path.write_text(text)
    with pytest.raises(TrajectoryFileError) as caught:
        read_trajectory(path)
    assert caught.value.where == where
    assert str(caught.value).startswith(f"{path}: {where}: found {found}; allowed: ")
    assert ("allowed: seconds" in str(caught.value)) == where.endswith("time_from_start")


POINT = "{positions: [0.0], time_from_start: {sec: 1}}"


@pytest.mark.parametrize(
    ("key", "text", "where", "meant"),
    [
        ("joints", f"joints: [a]\npoints: [{POINT}]", "the file", "joint_names"),
        ("velocity", POINT.replace("}}", "}, velocity: [0.0]}"), "points[0]", "velocities"),
        ("position", POINT.replace("positions", "position"), "points[0]", "positions"),
        ("time", "{positions: [0.0], time: 4.0}", "points[0]", "time_from_start"),
        ("secs", POINT.replace("sec: 1", "secs: 2, nsecs: 0"), "points[0].time_from_start", "sec"),
        ("nsecs", POINT.replace("sec: 1", "sec: 2, nsecs: 5"), "points[0].time_from_start", "nanosec"),
        ("stmp", f"header: {{stmp: 2.0}}\njoint_names: [a]\npoints: [{POINT}]", "header", "stamp"),
        ("1", f"1: 2\njoint_names: [a]\npoints: [{POINT}]", "the file", None),
    ],
)
def test_a_key_that_no_message_has_is_refused_with_the_one_that_was_meant(tmp_path, key, text, where, meant):
    path = tmp_path / "trajectory.yaml"
    path.write_text(f"joint_names: [a]\npoints: [{text}]" if text.startswith("{") else text)
    with pytest.raises(TrajectoryFileError) as caught:
        read_trajectory(path)
    assert caught.value.where == where
    assert key in str(caught.value)
    assert (f"did you mean {meant!r}?" in str(caught.value)) == (meant is not None)


ECHOED = """header:
  stamp:
    sec: 7
    nanosec: 0
  frame_id: base
joint_names:
- a
points:
- positions:
  - 0.5
  velocities: []
  accelerations: []
  effort:
  - 2.0
  time_from_start:
    sec: 0
    nanosec: 5
---
"""


def test_a_message_as_ros2_topic_echo_prints_it_is_read(tmp_path):
    path = tmp_path / "trajectory.yaml"
    path.write_text(ECHOED)
    point = RequestPoint(5, (0.5,), effort=(2.0,))
    assert read_trajectory(path) == TrajectoryRequest(("a",), (point,), 7_000_000_000)


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
