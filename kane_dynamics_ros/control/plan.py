"""The reference motion as an immutable plan of polynomial segments on the caller's clock.

``hold_at`` makes the first plan, ``replace`` answers a new trajectory (in two steps: ``accepted`` and
``continue_with``), ``hold_from`` stops, and ``sample`` gives the reference at a time. The same rules as
joint_trajectory_controller's: the move to the first point is interpolated unless that point's time is 0,
points already past are dropped, a future start keeps the old motion until then, and the last point is held
after the end.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kane_dynamics_ros.control import rejections
from kane_dynamics_ros.control.splines import Array, Knot, constant, evaluate, segments
from kane_dynamics_ros.control.validation import Rules, TrajectoryRequest, Waypoints, checked, near_turns
from kane_dynamics_ros.runtime.interface import JointInfo

NANOSECOND = 1e-9  # [s]


@dataclass(frozen=True)
class Plan:
    """Segments in order: the start [ns] of each, and their coefficients (m, 6, n); the last one holds."""

    starts_ns: tuple[int, ...]
    segments: Array

    @property
    def end_ns(self) -> int:
        """When the motion ends and the hold begins [ns]."""
        return self.starts_ns[-1]


def hold_at(q: Array, now_ns: int) -> Plan:
    """A plan that stays at positions ``q`` (n,)."""
    return Plan((now_ns,), constant(q)[np.newaxis])


def sample(plan: Plan, now_ns: int) -> Array:
    """Reference position, velocity and acceleration, (3, n); before the plan's start, its first state."""
    starts = plan.starts_ns
    if now_ns >= starts[-1]:
        return evaluate(plan.segments[-1], 0.0)
    index = max(bisect_right(starts, now_ns) - 1, 0)
    return evaluate(plan.segments[index], max(now_ns - starts[index], 0) * NANOSECOND)


def hold_from(plan: Plan, now_ns: int) -> Plan:
    """Stop: hold the reference position of ``now_ns``, and forget the rest."""
    return hold_at(sample(plan, now_ns)[0], now_ns)


def shifted(plan: Plan, by_ns: int) -> Plan:
    """The same motion, ``by_ns`` later: what a step of the clock leaves as it was."""
    return Plan(tuple(start + by_ns for start in plan.starts_ns), plan.segments)


def replace(
    plan: Plan, request: TrajectoryRequest, joints: Sequence[JointInfo], now_ns: int, rules: Rules
) -> Plan:
    """The plan that follows ``request`` from its start on. Raises ``TrajectoryError``.

    No points at all means stop.
    """
    if not request.points:
        return hold_from(plan, now_ns)
    start_ns = request.stamp_ns or now_ns
    return continue_with(plan, accepted(plan, request, joints, start_ns, now_ns, rules), start_ns, now_ns)


def accepted(
    plan: Plan,
    request: TrajectoryRequest,
    joints: Sequence[JointInfo],
    start_ns: int,
    now_ns: int,
    rules: Rules,
) -> Waypoints:
    """The request's points, checked, near the reference at its start. Raises ``TrajectoryError``."""
    q = sample(plan, max(start_ns, now_ns))[0]
    return near_turns(checked(request, joints, q, rules), joints, q)


def continue_with(plan: Plan, waypoints: Waypoints, start_ns: int, now_ns: int) -> Plan:
    """The plan that goes on to ``waypoints``. Raises ``AlreadyPastError``.

    The new motion begins at the reference of the running plan, with its velocity and acceleration.
    """
    from_ns = max(start_ns, now_ns)
    ahead = _ahead(waypoints, start_ns, from_ns)
    if not ahead.knots:
        raise rejections.AlreadyPastError(now_ns - start_ns - waypoints.times_ns[-1])
    return _joined(_before(plan, now_ns, from_ns), _motion(sample(plan, from_ns), ahead, from_ns))


def _ahead(waypoints: Waypoints, start_ns: int, from_ns: int) -> Waypoints:
    """The points still to reach, at absolute times [ns]; a first point at time 0 counts as one."""
    arrivals = [start_ns + time_ns for time_ns in waypoints.times_ns]
    first = bisect_right(arrivals, from_ns)
    if arrivals[0] == from_ns:
        first = 0
    return Waypoints(tuple(arrivals[first:]), waypoints.knots[first:])


def _motion(reference: Array, ahead: Waypoints, from_ns: int) -> Plan:
    """The move from ``reference`` (3, n) to the first point, unless that is due now, and all the rest."""
    times, knots = ahead.times_ns, ahead.knots
    if times[0] > from_ns:
        times, knots = (from_ns, *times), (Knot(*reference), *knots)
    hold = constant(knots[-1].q)[np.newaxis]
    if len(knots) == 1:
        return Plan(times, hold)
    durations = np.diff(np.array(times, dtype=np.int64)).astype(np.float64) * NANOSECOND
    return Plan(times, np.concatenate((segments(knots, durations), hold)))


def _before(plan: Plan, now_ns: int, until_ns: int) -> Plan:
    """The part of ``plan`` that is still needed from now until ``until_ns``, empty when that is now."""
    first = max(bisect_right(plan.starts_ns, now_ns) - 1, 0)
    stop = bisect_right(plan.starts_ns, until_ns - 1) if until_ns > now_ns else first
    return Plan(plan.starts_ns[first:stop], plan.segments[first:stop])


def _joined(before: Plan, after: Plan) -> Plan:
    return Plan(before.starts_ns + after.starts_ns, np.concatenate((before.segments, after.segments)))
