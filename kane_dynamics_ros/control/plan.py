"""The reference motion as an immutable plan of polynomial segments on the caller's clock.

``hold_at`` makes the first plan, ``hold_from`` stops, and ``sample`` gives the reference at a time. A new
trajectory is taken in two steps: ``prepare`` does all that takes long and does not depend on the running
plan, block by block, so that another thread may do it; ``joined`` puts the result behind the running plan at
once. The same rules as joint_trajectory_controller's: the move to the first point is interpolated, points
already past are dropped, a future start keeps the old motion until then, and the last point is held after the
end. Unlike there, the reference never steps: not to a first point at time 0 either.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.control.splines import constant, evaluate, segments
from kane_dynamics_ros.control.validation import (
    BLOCK,
    NANOSECOND,
    Rules,
    TrajectoryError,
    TrajectoryRequest,
    Waypoints,
    checked_waypoints,
)
from kane_dynamics_ros.runtime import JointInfo

STOP_KNOTS = 17  # at which a motion that comes to rest is evaluated
REST_TIME = 0.5  # [s] in which joints that a trajectory does not name come to rest
BLEND_TIME = 0.2  # [s] in which a start beside the reference fades into the trajectory
NO_DIFFERENCE = 1e-9  # [rad or m, and per second] rounding of times in nanoseconds


@dataclass(frozen=True)
class Spline:
    """Consecutive segments: the start [ns] of each (m,), and their coefficients (m, 6, n).

    The last segment goes on until the next spline starts. ``offset``, if any, is a motion that adds to it.
    """

    starts_ns: NDArray[np.int64]
    segments: Array
    offset: "Spline | None" = None

    @property
    def end_ns(self) -> int:
        """When the last segment begins, the offset's included [ns]."""
        end = int(self.starts_ns[-1])
        return end if self.offset is None else max(end, self.offset.end_ns)

    def at(self, now_ns: int) -> Array:
        """Position, velocity and acceleration (3, n); before the start, the first state."""
        index = max(bisect_right(self.starts_ns.data, now_ns) - 1, 0)
        since_ns = max(now_ns - int(self.starts_ns[index]), 0)
        state = evaluate(self.segments[index], since_ns * NANOSECOND)
        return state if self.offset is None else state + self.offset.at(now_ns)


@dataclass(frozen=True)
class Plan:
    """Splines in order, of which the last one ends with a hold."""

    splines: tuple[Spline, ...]

    @cached_property
    def end_ns(self) -> int:
        """When the motion ends and the hold begins [ns]."""
        return self.splines[-1].end_ns

    @cached_property
    def hold(self) -> Array:
        """The reference after the end (3, n); never changed."""
        state = self.splines[-1].at(self.end_ns)
        state.flags.writeable = False
        return state


@dataclass(frozen=True)
class Prepared:
    """A checked trajectory, with the segments between its points and the hold at its end (m, 6, n)."""

    waypoints: Waypoints
    segments: Array


Check = Callable[[Spline, Mask], None]  # of a motion and which joints are named; it raises


def hold_at(q: Array, now_ns: int) -> Plan:
    """A plan that stays at positions ``q`` (n,)."""
    return Plan((Spline(np.array([now_ns]), constant(q)[np.newaxis]),))


def sample(plan: Plan, now_ns: int) -> Array:
    """Reference position, velocity and acceleration, (3, n); before the plan's start, its first state."""
    if now_ns >= plan.end_ns:
        return plan.hold
    for spline in reversed(plan.splines):
        if spline.starts_ns[0] <= now_ns:
            return spline.at(now_ns)
    return plan.splines[0].at(now_ns)


def hold_from(plan: Plan, now_ns: int) -> Plan:
    """Stop: hold the reference position of ``now_ns``, and forget the rest."""
    return hold_at(sample(plan, now_ns)[0], now_ns)


def slowed(plan: Plan, now_ns: int, duration: float) -> Plan:
    """The plan that comes to rest on its own path within ``duration`` [s], without a jump in acceleration.

    With s from 0 to 1 over the duration T, the time along the path is sigma = T (s - s^3 + s^4 / 2), whose
    rate falls from 1 to 0 with no slope at either end: half of what would be covered in T is covered.
    """
    s = np.linspace(0.0, 1.0, STOP_KNOTS)
    sigma = duration * (s - s**3 + 0.5 * s**4)
    rate = 1.0 - 3.0 * s**2 + 2.0 * s**3
    slope = (6.0 * s**2 - 6.0 * s) / duration
    path = np.array([sample(plan, now_ns + round(t / NANOSECOND)) for t in sigma])
    q, qd = path[:, 0], path[:, 1] * rate[:, np.newaxis]
    qdd = path[:, 2] * rate[:, np.newaxis] ** 2 + path[:, 1] * slope[:, np.newaxis]
    times_ns = now_ns + np.round(duration / NANOSECOND * s).astype(np.int64)
    between = segments(q, qd, qdd, np.diff(times_ns) * NANOSECOND)
    return Plan((Spline(times_ns, np.concatenate((between, constant(q[-1])[np.newaxis]))),))


def prepare(
    request: TrajectoryRequest,
    joints: Sequence[JointInfo],
    rules: Rules,
    check: Check | None = None,
) -> Prepared:
    """A request with one point or more, checked and interpolated. Raises ``TrajectoryError``.

    ``check`` looks at the segments between the points, at times from the trajectory's start, block by block;
    it is told which joints are named.
    """
    waypoints = checked_waypoints(request, joints, rules)
    m, n = waypoints.q.shape
    coefficients = np.empty((m, 6, n))
    for i in range(0, m - 1, BLOCK):
        ends = slice(i, min(i + BLOCK, m - 1) + 1)
        between = slice(i, ends.stop - 1)
        durations = np.diff(waypoints.times_ns[ends]) * NANOSECOND
        q, qd, qdd = waypoints.q[ends], waypoints.qd[ends], waypoints.qdd[ends]
        coefficients[between] = segments(q, qd, qdd, durations)
        if check is not None:
            check(Spline(waypoints.times_ns[ends], coefficients[between]), waypoints.named)
    coefficients[-1] = constant(waypoints.q[-1])
    return Prepared(waypoints, coefficients)


class Joined(NamedTuple):
    """A plan that goes on to a trajectory, and what of it is not checked yet.

    The way into the trajectory lasts from ``begin_ns`` to ``entered_ns``. ``step`` (n,) is how far the first
    position is from the reference where it is due at once, else 0.
    """

    plan: Plan
    begin_ns: int
    entered_ns: int
    step: Array


def joined(plan: Plan, prepared: Prepared, joints: Sequence[JointInfo], start_ns: int, now_ns: int) -> Joined:
    """The plan that goes on to a trajectory from ``start_ns`` on. Raises ``TrajectoryError``, "already_past".

    The reference never steps. The new motion begins at the running plan's position, with its velocity and
    acceleration where the first point carries them. Where the first point is due at once, the motion is the
    trajectory's own, and what lies between its position and the reference fades within ``BLEND_TIME``.
    Joints that the trajectory does not name come to rest on the way they are on, within ``REST_TIME``.
    """
    points, from_ns = prepared.waypoints, max(start_ns, now_ns)
    arrivals = points.times_ns + start_ns
    first = 0 if arrivals[0] == from_ns else int(np.searchsorted(arrivals, from_ns, side="right"))
    if first == len(arrivals):
        age = (from_ns - int(arrivals[-1])) * NANOSECOND
        raise TrajectoryError(
            f"the last point's time is {age:.3f} s in the past; stamp the header with a later start, or with "
            "0 to start at reception",
            "already_past",
            age=age,
        )
    reference = sample(plan, from_ns)
    offset = _offset(plan, points, joints, reference, from_ns)
    begin = reference if offset is None else reference - offset.at(from_ns)
    at_first = np.stack((points.q[first], points.qd[first], points.qdd[first]))
    before = _needed_until(plan, now_ns, from_ns)
    step = np.zeros(len(joints))
    if arrivals[first] == from_ns:
        step = begin[0] - at_first[0]
        if np.abs(step).max() > NO_DIFFERENCE:
            offset = _fading(step, from_ns, offset)
    else:
        duration = np.array([(int(arrivals[first]) - from_ns) * NANOSECOND])
        ends = np.stack((begin, at_first), axis=1)
        move = segments(ends[0], ends[1], ends[2], duration)
        before.append(Spline(np.array([from_ns]), move, offset))
    motion = Spline(arrivals[first:], prepared.segments[first:], offset)
    entered_ns = max(int(arrivals[first]), from_ns if offset is None else offset.end_ns)
    return Joined(Plan((*before, motion)), from_ns, entered_ns, step)


def _offset(
    plan: Plan, points: Waypoints, joints: Sequence[JointInfo], reference: Array, from_ns: int
) -> Spline | None:
    """What adds to a trajectory: whole turns, and how joints that it does not name come to rest.

    None where it is nothing.
    """
    turns, others = points.turns(joints, reference[0]), ~points.named
    if np.abs(reference[1:, others]).max(initial=0.0) > NO_DIFFERENCE:
        rest = slowed(plan, from_ns, REST_TIME).splines[0]
        segments_of_others = np.where(others, rest.segments, 0.0)
        segments_of_others[:, 0] += turns
        return Spline(rest.starts_ns, segments_of_others)
    added = np.where(others, reference[0], turns)
    return Spline(np.array([from_ns]), constant(added)[np.newaxis]) if added.any() else None


def _fading(step: Array, from_ns: int, offset: Spline | None) -> Spline:
    """Positions ``step`` (n,) that go to 0 within ``BLEND_TIME``, from rest to rest."""
    q, rest = np.stack((step, np.zeros_like(step))), np.zeros((2, len(step)))
    fade = segments(q, rest, rest, np.array([BLEND_TIME]))
    starts = np.array([from_ns, from_ns + round(BLEND_TIME / NANOSECOND)])
    return Spline(starts, np.concatenate((fade, np.zeros_like(fade))), offset)


def without_motion_from(plan: Plan, from_ns: int, now_ns: int) -> Plan:
    """The plan until a trajectory's start at ``from_ns``, then at rest; at once where it would move there."""
    kept = _needed_until(plan, now_ns, from_ns)
    state = kept[-1].at(from_ns) if kept else sample(plan, now_ns)
    if not kept or np.abs(state[1]).max() > NO_DIFFERENCE:
        return hold_from(plan, now_ns)
    return Plan((*kept, Spline(np.array([from_ns]), constant(state[0])[np.newaxis])))


def replan(
    plan: Plan, request: TrajectoryRequest, joints: Sequence[JointInfo], now_ns: int, rules: Rules
) -> Plan:
    """The plan that follows ``request`` from its start on. Raises ``TrajectoryError``.

    No points at all means stop.
    """
    if not request.points:
        return hold_from(plan, now_ns)
    start_ns = request.stamp_ns or now_ns
    return joined(plan, prepare(request, joints, rules), joints, start_ns, now_ns).plan


def _needed_until(plan: Plan, now_ns: int, until_ns: int) -> list[Spline]:
    """The part of ``plan`` that is still needed from now until ``until_ns``, empty when that is now."""
    needed: list[Spline] = []
    if until_ns <= now_ns:
        return needed
    for k, spline in enumerate(plan.splines):
        starts = spline.starts_ns
        later = plan.splines[k + 1].starts_ns[0] if k + 1 < len(plan.splines) else None
        if starts[0] >= until_ns or (later is not None and later <= now_ns):
            continue
        kept = slice(max(bisect_right(starts.data, now_ns) - 1, 0), bisect_right(starts.data, until_ns - 1))
        needed.append(Spline(starts[kept], spline.segments[kept], spline.offset))
    return needed
