"""Small joint tables and trajectory requests for the tests of the control room."""

from kane_dynamics_ros.control.validation import RequestPoint, TrajectoryRequest
from kane_dynamics_ros.runtime import JointInfo

SECOND = 1_000_000_000


def joint(name, kind="revolute", lower=None, upper=None, velocity=None, effort=None):
    return JointInfo(name, kind, lower, upper, velocity, effort, 0.0, 0.0, 0.0, None)


ARM = (joint("shoulder"), joint("elbow"))


def point(time, positions, velocities=(), accelerations=(), effort=()):
    """A point at ``time`` [s]."""
    return RequestPoint(round(time * SECOND), positions, velocities, accelerations, effort)


def request(*points, names=("shoulder", "elbow"), stamp=0.0):
    return TrajectoryRequest(names, points, round(stamp * SECOND))
