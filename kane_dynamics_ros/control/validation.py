"""A trajectory as it was asked for, in any joint order, and as checked points in the model's order."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.errors import KaneDynamicsError, unknown_joint
from kane_dynamics_ros.runtime import JointInfo
from kane_dynamics_ros.text import named as named_in_words

NANOSECOND = 1e-9  # [s]
SECOND_NS = 1_000_000_000  # [ns]
FIELDS = ("positions", "velocities", "accelerations", "effort")
END_VELOCITY_TOLERANCE = float(np.finfo(np.float32).eps)  # [rad/s] or [m/s]: joint_trajectory_controller's
Item = TypeVar("Item")

BLOCK = 200  # points or segments at a time: each operation on them is short, and another thread may run then


class TrajectoryError(KaneDynamicsError):
    """A trajectory is refused; ``code`` says why, in every version in the same word.

    Of the points: ``no_points``, ``wrong_length``, ``not_finite``, ``acceleration_without_velocity``,
    ``time_not_increasing``, ``moving_at_the_end``, ``already_past``; ``index`` is the point's, ``field`` and
    ``joint`` say where in it. Of the names: ``duplicate_joint``, ``unknown_joint``, ``missing_joints``. Of
    the motion: ``outside_limits``, ``step``, ``effort_limit``, ``too_many_points``. Of a goal: ``tolerance``,
    ``empty_goal``. Of the node: ``no_state``, ``safe_state``, ``no_effect``, ``gravity_compensation``,
    ``not_active``, ``overtaken``, ``abandoned``. ``fault``: a fault of this package.
    """


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
    """A trajectory as it was asked for, in any joint order.

    ``stamp_ns`` is the start on the caller's clock [ns]; 0 means at reception.

    ``label`` is what the sender wrote beside it, to know the trajectory again.
    """

    names: Sequence[str]
    points: Sequence[RequestPoint]
    stamp_ns: int = 0
    label: str = ""


@dataclass(frozen=True)
class Rules:
    """What is allowed besides what is always required."""

    allow_partial: bool = False
    allow_nonzero_end_velocity: bool = False


@dataclass(frozen=True)
class Waypoints:
    """Checked points in the model's joint order.

    ``times_ns`` (m,) from the start [ns], strictly increasing. Positions, velocities and accelerations
    (m, n): rows of NaN where a point does not carry them. ``named`` (n,) marks the joints that the request
    names; the others have positions and all else 0, to which the way on which they come to rest is added.
    """

    times_ns: NDArray[np.int64]
    q: Array
    qd: Array
    qdd: Array
    named: Mask

    def turns(self, joints: Sequence[JointInfo], q: Array) -> Array:
        """What to add to the positions of continuous joints near a position ``q`` (n,), (n,); else 0.

        The whole turns that bring the first point nearest to it: one shift for the whole trajectory, so that
        the motion itself is kept. Joints that have limits are never shifted.
        """
        continuous = np.array([joint.kind == "continuous" for joint in joints]) & self.named
        return np.where(continuous, np.round((q - self.q[0]) / math.tau) * math.tau, 0.0)


def unless(abandoned: Callable[[], bool], items: Iterable[Item]) -> Iterator[Item]:
    """The items, as long as the work is not abandoned. Raises ``TrajectoryError``."""
    for item in items:
        if abandoned():
            raise TrajectoryError("the node ends", "abandoned")
        yield item


def checked_waypoints(request: TrajectoryRequest, joints: Sequence[JointInfo], rules: Rules) -> Waypoints:
    """The request's points in the model's joint order. Raises ``TrajectoryError``."""
    order = _order(request.names, [joint.name for joint in joints], rules.allow_partial)
    m, n = len(request.points), len(joints)
    times_ns = np.empty(m, dtype=np.int64)
    rows = [np.empty((m, n)) for _ in FIELDS]
    previous = -1  # [ns]
    for start in range(0, m, BLOCK):
        points = request.points[start : start + BLOCK]
        for index, point in enumerate(points, start):
            _check_point(index, point, len(request.names))
            if point.time_ns <= previous:
                allowed = "0 or more" if previous < 0 else f"more than {previous * NANOSECOND:.9f} s"
                raise TrajectoryError(
                    f"point {index}: time_from_start is {point.time_ns * NANOSECOND:.9f} s; allowed is "
                    f"{allowed}, for the times increase from point to point",
                    "time_not_increasing",
                    index=index,
                )
            times_ns[index] = previous = point.time_ns
        for field, target in zip(FIELDS, rows, strict=True):
            values = [getattr(point, field) for point in points]
            _fill(target[start : start + BLOCK], values, order, start, field, request.names)
    named = np.zeros(n, dtype=np.bool_)
    named[order] = True
    if m and not rules.allow_nonzero_end_velocity:
        _check_end(m - 1, request.names, request.points[m - 1].velocities)
    q, qd, qdd, _ = rows
    return Waypoints(times_ns, q, qd, qdd, named)


def _order(names: Sequence[str], known: Sequence[str], allow_partial: bool) -> list[int]:
    """The index in the model of each name of the request."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise TrajectoryError(
                f"joint {name!r} is named twice in joint_names; each may be named once",
                "duplicate_joint",
                joint=name,
            )
        if name not in known:
            raise TrajectoryError(str(unknown_joint(name, known)), "unknown_joint", joint=name)
        seen.add(name)
    missing = [name for name in known if name not in seen]
    if missing and not (allow_partial and names):
        raise TrajectoryError(
            f"{named_in_words('joint', missing)} missing; name every joint, or set "
            "trajectory.allow_partial to true: joints that are not named then come to rest and hold",
            "missing_joints",
            joints=tuple(missing),
        )
    return [list(known).index(name) for name in names]


def _check_point(index: int, point: RequestPoint, joints: int) -> None:
    """Lengths of one point."""
    for field in FIELDS:
        found = len(getattr(point, field))
        if found != joints and (found or field == "positions"):
            allowed = f"{joints}" if field == "positions" else f"0 or {joints}"
            raise TrajectoryError(
                f"point {index}: {field} has {found} values; allowed are {allowed}, one for each name in "
                "joint_names",
                "wrong_length",
                index=index,
                field=field,
            )
    if len(point.accelerations) and not len(point.velocities):
        raise TrajectoryError(
            f"point {index}: accelerations without velocities; give both, or neither",
            "acceleration_without_velocity",
            index=index,
        )


def _fill(
    rows: Array,
    values: Sequence[Sequence[float]],
    order: list[int],
    start: int,
    field: str,
    names: Sequence[str],
) -> None:
    """Put the values of one field into ``rows`` (m, n), NaN where a point has none."""
    given = [i for i, each in enumerate(values) if len(each)]
    rows[:] = np.nan
    if not given:
        return
    array = np.array([values[i] for i in given], dtype=np.float64)
    if not np.isfinite(array).all():
        row, column = (int(index) for index in np.argwhere(~np.isfinite(array))[0])
        index, joint = start + given[row], names[column]
        raise TrajectoryError(
            f"point {index}: {field} of joint {joint!r} is not finite",
            "not_finite",
            index=index,
            field=field,
            joint=joint,
        )
    rows[given] = 0.0
    rows[np.ix_(given, order)] = array


def _check_end(index: int, names: Sequence[str], velocities: Sequence[float]) -> None:
    for name, velocity in zip(names, velocities, strict=False):
        if abs(velocity) > END_VELOCITY_TOLERANCE:
            raise TrajectoryError(
                f"point {index}, the last: velocity of joint {name!r} is {velocity:g}; allowed is 0, unless "
                "trajectory.allow_nonzero_end_velocity is true",
                "moving_at_the_end",
                index=index,
                joint=name,
            )
