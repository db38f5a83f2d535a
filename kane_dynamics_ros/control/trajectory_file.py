"""Trajectory files: a trajectory_msgs/JointTrajectory in YAML or JSON, as ``ros2 topic echo`` prints it.

By hand, a number of seconds does for ``time_from_start``, and what a point does not carry is left out::

    joint_names: [shoulder, elbow]
    points:
    - {time_from_start: 2.0, positions: [0.0, 0.5]}
    - {time_from_start: 3.5, positions: [0.4, 0.1]}
"""

import json
import math
import reprlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from kane_dynamics_ros.control.validation import FIELDS, SECOND_NS, RequestPoint, TrajectoryRequest
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.text import did_you_mean
from kane_dynamics_ros.yaml_text import load_yaml

SECONDS = range(-(2**31), 2**31)  # what builtin_interfaces/Time and Duration can carry, which a message does
RESTS = range(2**32)  # [ns]
SLIPS = {"joints": "joint_names", "time": "time_from_start", "nsecs": "nanosec"}  # nearer to other keys
WIDTH = 1000  # characters: a list of numbers on one line


class TrajectoryFileError(KaneDynamicsError):
    """A trajectory file cannot be read: ``path``, and ``where`` in it, empty for the whole."""


def read_trajectory(path: Path) -> TrajectoryRequest:
    """The trajectory in a file. Raises ``TrajectoryFileError``; whether it makes sense is not checked.

    Example:
        >>> path = Path("trajectory.yaml")
        >>> point = {"time_from_start": 2.0, "positions": [0.5]}
        >>> _ = path.write_text(json.dumps({"joint_names": ["elbow"], "points": [point]}))
        >>> read_trajectory(path).points[0].time_ns
        2000000000
    """
    where = ""
    try:
        text = path.read_text(encoding="utf-8").rstrip().removesuffix("\n---")  # ros2 topic echo ends so
        return _request(load_yaml(text))  # JSON is YAML too
    except OSError as error:
        what = f"cannot be read: {error.strerror}; give the path of a trajectory file"
    except UnicodeDecodeError as error:
        what = f"cannot be read: {error}"
    except yaml.YAMLError as error:
        what = f"not YAML: {' '.join(str(error).split())}"
    except _UnexpectedError as error:
        where, found, allowed = error.args
        what = f"{where}: found {found}; allowed: {allowed}"
    raise TrajectoryFileError(f"{path}: {what}", path=path, where=where)


def trajectory_text(request: TrajectoryRequest, as_json: bool) -> str:
    """The file's text."""
    content = {
        "header": {"stamp": _time(request.stamp_ns), "frame_id": ""},
        "joint_names": list(request.names),
        "points": [
            {"time_from_start": _time(point.time_ns)}
            | {field: list(getattr(point, field)) for field in FIELDS if len(getattr(point, field))}
            for point in request.points
        ],
    }
    if as_json:
        return json.dumps(content, indent=1) + "\n"
    return yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=WIDTH)


def _time(nanoseconds: int) -> dict[str, int]:
    seconds, rest = divmod(nanoseconds, SECOND_NS)
    return {"sec": seconds, "nanosec": rest}


def _described(value: Any) -> str:
    """A value in a few words: lists may hold each other a billion times, an integer thousands of digits."""
    if value is None:
        return "nothing"
    short = reprlib.Repr()
    short.maxlevel = 2
    try:
        return short.repr(value)
    except ValueError:  # what Python says of such an integer
        return "an integer of thousands of digits"


class _UnexpectedError(Exception):
    """Where in the content, what was found, and what is allowed."""


def _request(content: Any) -> TrajectoryRequest:
    message = _mapping(content, "the file", "header", "joint_names", "points")
    names = _list(message.get("joint_names"), "joint_names")
    header = _mapping(message.get("header", {}), "header", "stamp", "frame_id")
    points = _list(message.get("points"), "points")
    return TrajectoryRequest(
        tuple(_name(name) for name in names),
        tuple(_point(point, f"points[{i}]") for i, point in enumerate(points)),
        _nanoseconds(header.get("stamp", {}), "header.stamp"),
    )


def _point(content: Any, where: str) -> RequestPoint:
    point = _mapping(content, where, *FIELDS, "time_from_start")
    values = [_numbers(point.get(field, []), f"{where}.{field}") for field in FIELDS]
    return RequestPoint(_nanoseconds(point.get("time_from_start"), f"{where}.time_from_start"), *values)


def _name(content: Any) -> str:
    if isinstance(content, (list, dict)):
        raise _UnexpectedError("joint_names", _described(content), "names")
    return content if isinstance(content, str) else _described(content)  # 1 and yes are names too


def _nanoseconds(content: Any, where: str) -> int:
    if type(content) is int or (type(content) is float and math.isfinite(content)):
        if not SECONDS[0] <= content <= SECONDS[-1]:
            raise _UnexpectedError(where, _described(content), f"seconds from {SECONDS[0]} to {SECONDS[-1]}")
        return round(content * SECOND_NS)
    if not isinstance(content, dict):
        raise _UnexpectedError(where, _described(content), "seconds, or integers sec and nanosec")
    time = _mapping(content, where, "sec", "nanosec")
    seconds, rest = time.get("sec", 0), time.get("nanosec", 0)
    if type(seconds) is not int or type(rest) is not int or seconds not in SECONDS or rest not in RESTS:
        raise _UnexpectedError(where, _described(time), "integers sec and nanosec")
    return seconds * SECOND_NS + rest


def _numbers(content: Any, where: str) -> Sequence[float]:
    values = _list(content, where)
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise _UnexpectedError(where, _described(value), "numbers")
    try:
        return tuple(float(value) for value in values)
    except OverflowError:
        raise _UnexpectedError(where, "an integer of hundreds of digits", "numbers of a double") from None


def _list(content: Any, where: str) -> list[Any]:
    if not isinstance(content, list):
        raise _UnexpectedError(where, _described(content), "a list")
    return content


def _mapping(content: Any, where: str, *keys: str) -> dict[str, Any]:
    """The content, if it has no other keys: what is misspelt would be missing without a word."""
    allowed = ", ".join(keys)
    if not isinstance(content, dict):
        raise _UnexpectedError(where, _described(content), f"a mapping with {allowed}")
    for key in content:
        if key not in keys:
            hint = did_you_mean(SLIPS.get(key, str(key)), keys).rstrip()
            raise _UnexpectedError(where, f"the key {_described(key)}", f"{allowed}{hint and '; ' + hint}")
    return content
