"""A trajectory from a file: YAML (or JSON, which is YAML) whose keys are JointTrajectory's fields."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from kane_dynamics_ros.control.request import RequestPoint, TrajectoryRequest
from kane_dynamics_ros.errors import KaneDynamicsError

NANOSECONDS = 1_000_000_000
FIELDS = ("positions", "velocities", "accelerations", "effort")


class TrajectoryFileError(KaneDynamicsError):
    """The file cannot be read as a JointTrajectory."""

    def __init__(self, path: Path, cause: Exception) -> None:
        self.path = path
        if isinstance(cause, OSError):
            super().__init__(f"{path}: cannot be read: {cause.strerror}; give the path of a trajectory file")
            return
        super().__init__(
            f"{path}: not a JointTrajectory ({type(cause).__name__}: {cause}); it must be YAML with "
            "joint_names and points, each with time_from_start {sec, nanosec} and positions, velocities, "
            "accelerations"
        )


def read_trajectory_file(path: Path) -> TrajectoryRequest:
    """The trajectory as it is asked for, unchecked but for its form. Raises ``TrajectoryFileError``."""
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        points = tuple(_point(fields) for fields in document["points"])
        stamp = document.get("header", {}).get("stamp", {})
        return TrajectoryRequest(tuple(map(str, document["joint_names"])), points, _nanoseconds(stamp))
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise TrajectoryFileError(path, error) from error


def _point(fields: Mapping[str, Any]) -> RequestPoint:
    values = {name: tuple(map(float, fields.get(name, ()))) for name in FIELDS}
    return RequestPoint(_nanoseconds(fields["time_from_start"]), **values)


def _nanoseconds(time: Mapping[str, Any]) -> int:
    """A ROS time or duration; a field that is missing is 0, as in messages."""
    return int(time.get("sec", 0)) * NANOSECONDS + int(time.get("nanosec", 0))
