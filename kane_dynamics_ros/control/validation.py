"""A trajectory as it was asked for, in any joint order, and as checked points in the model's order."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kane_dynamics_ros.control import rejections
from kane_dynamics_ros.control.splines import Array, Knot
from kane_dynamics_ros.runtime.interface import JointInfo

# A trajectory as it was asked for: joints in any order, nothing checked yet.


@dataclass(frozen=True)
class RequestPoint:
    """One point; an empty sequence means that the point does not carry the field.

    ``time_ns`` is the time from the trajectory's start [ns].
    """

    time_ns: int
    positions: Sequence[float] = ()
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()
    effort: Sequence[float] = ()


@dataclass(frozen=True)
class TrajectoryRequest:
    """``stamp_ns`` is the start on the caller's clock [ns]; 0 means at reception.

    ``label`` is what the sender wrote beside it, to know the trajectory again.
    """

    names: Sequence[str]
    points: Sequence[RequestPoint]
    stamp_ns: int = 0
    label: str = ""


# From a request in any joint order to checked points in the model's order.


END_VELOCITY_TOLERANCE = 1e-9  # [rad/s] or [m/s]: above a planner's rounding, below any motion


@dataclass(frozen=True)
class Rules:
    """What is allowed besides what is always required."""

    allow_partial: bool = False
    allow_nonzero_end_velocity: bool = False


@dataclass(frozen=True)
class Waypoints:
    """Checked points: times from the start [ns], strictly increasing, and knots in model order."""

    times_ns: tuple[int, ...]
    knots: tuple[Knot, ...]


def checked(request: TrajectoryRequest, joints: Sequence[JointInfo], hold: Array, rules: Rules) -> Waypoints:
    """The request's points in the model's joint order. Raises ``TrajectoryError``.

    ``hold`` (n,) are the positions that joints keep when a partial goal does not name them.
    """
    order = _order(request.names, [joint.name for joint in joints], rules.allow_partial)
    _check_times(request.points)
    for index, point in enumerate(request.points):
        _check_point(index, point, request.names)
    if not rules.allow_nonzero_end_velocity and request.points:
        _check_end(len(request.points) - 1, request)
    return Waypoints(tuple(point.time_ns for point in request.points), _knots(request.points, order, hold))


def near_turns(waypoints: Waypoints, joints: Sequence[JointInfo], state: Array) -> Waypoints:
    """The waypoints with continuous joints shifted by the whole turns that bring them nearest ``state``.

    One shift for the whole trajectory, chosen at its first point, so that the motion itself is kept.
    Joints that have limits are never shifted.
    """
    continuous = np.array([joint.kind == "continuous" for joint in joints])
    if not waypoints.knots or not continuous.any():
        return waypoints
    turns = np.round((state - waypoints.knots[0].q) / math.tau)
    shift = np.where(continuous, turns, 0.0) * math.tau
    knots = tuple(Knot(knot.q + shift, knot.qd, knot.qdd) for knot in waypoints.knots)
    return Waypoints(waypoints.times_ns, knots)


def _order(names: Sequence[str], known: Sequence[str], allow_partial: bool) -> list[int]:
    """For each name of the request, its index in the model."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise rejections.DuplicateJointError(name)
        if name not in known:
            raise rejections.UnknownTrajectoryJointError(name, known)
        seen.add(name)
    missing = [name for name in known if name not in seen]
    if missing and not (allow_partial and names):
        raise rejections.MissingJointsError(missing)
    return [list(known).index(name) for name in names]


def _check_times(points: Sequence[RequestPoint]) -> None:
    previous: int | None = None
    for index, point in enumerate(points):
        if point.time_ns < 0 or (previous is not None and point.time_ns <= previous):
            raise rejections.TimeNotIncreasingError(index, point.time_ns, previous)
        previous = point.time_ns


def _check_point(index: int, point: RequestPoint, names: Sequence[str]) -> None:
    """Lengths and finite values of one point."""
    n = len(names)
    for field in ("positions", "velocities", "accelerations", "effort"):
        values: Sequence[float] = getattr(point, field)
        if len(values) != n and (len(values) != 0 or field == "positions"):
            raise rejections.WrongLengthError(index, field, len(values), n)
        for name, value in zip(names, values, strict=False):
            if not math.isfinite(value):
                raise rejections.NotFiniteError(index, field, name)
    if len(point.accelerations) and not len(point.velocities):
        raise rejections.AccelerationWithoutVelocityError(index)


def _check_end(index: int, request: TrajectoryRequest) -> None:
    for name, velocity in zip(request.names, request.points[index].velocities, strict=False):
        if abs(velocity) > END_VELOCITY_TOLERANCE:
            raise rejections.MovingAtTheEndError(index, name, velocity)


def _knots(points: Sequence[RequestPoint], order: list[int], hold: Array) -> tuple[Knot, ...]:
    """The points in the model's order; joints that are not named stay at ``hold``, at rest.

    All points in one pass: a trajectory of a thousand points must not hold up a control loop.
    """
    rest = np.zeros_like(hold)
    q = _rows([point.positions for point in points], order, hold)
    qd = _rows([point.velocities for point in points], order, rest)
    qdd = _rows([point.accelerations for point in points], order, rest)
    return tuple(
        Knot(q[i], qd[i] if len(point.velocities) else None, qdd[i] if len(point.accelerations) else None)
        for i, point in enumerate(points)
    )


def _rows(values: Sequence[Sequence[float]], order: list[int], base: Array) -> Array:
    """``base`` (n,) repeated for each of the values, with those that are not empty filled in, (m, n)."""
    rows = np.tile(base, (len(values), 1))
    given = [i for i, each in enumerate(values) if len(each)]
    if given:
        rows[np.ix_(given, order)] = np.array([values[i] for i in given])
    return rows
