"""A trajectory with efforts, dense enough for a consumer that interpolates them linearly.

Between two points of the request the motion is the same polynomial as before; points are added on it
until linear interpolation of the effort is within a stated error of the true effort. Where the effort
itself jumps, because acceleration or velocity do at a point, a second point ``JUMP_NS`` later carries
the effort after the jump. The last effort is the one that holds the arm at rest.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.control.law import Law, efforts_by_term
from kane_dynamics_ros.control.limits import MotionLimits
from kane_dynamics_ros.control.plan import Prepared, Spline, prepare
from kane_dynamics_ros.control.slowing import slowed_to_limits
from kane_dynamics_ros.control.splines import carried, evaluate_many
from kane_dynamics_ros.control.validation import (
    NANOSECOND,
    RequestPoint,
    Rules,
    TrajectoryError,
    TrajectoryRequest,
    unless,
)
from kane_dynamics_ros.friction import last_direction

JUMP_NS = 1000  # [ns]: a thousandth of a fast controller's period, and cubics of it stay well conditioned
CHECKS = np.linspace(0.0, 1.0, 9)[1:-1]  # where each interval is compared with the true effort
MARGIN = 31.0 / 32.0  # of the error: half way between two checks a parabola's bulge is 1/64 higher
FIRST_INTERVALS = 8  # of each segment, so that no bulge is overlooked
SHORTEST_NS = 2 * JUMP_NS  # intervals are not split further
OF_PEAK, OF_LIMIT = 1e-2, 1e-3  # see Accuracy
LOOKS = 65  # at each segment, for the direction in which a joint moved last
FLOOR = 0.1  # of the error that the limit allows, or the most loaded joint: joints at rest need no less


@dataclass(frozen=True)
class Accuracy:
    """Largest error of linear interpolation [N m or N], and how many points at most.

    Without an ``error`` each joint has its own: ``OF_PEAK`` of its largest effort in this motion, or
    ``OF_LIMIT`` of its effort limit where that is less.
    """

    error: float | None
    max_points: int


@dataclass(frozen=True)
class SplinePiece:
    """One segment with what its points carry: 1 positions, 2 velocities too, 3 accelerations too.

    ``before`` (n,): the direction in which each drive moved last before it, 0 where none did.
    """

    start_ns: int
    end_ns: int
    coefficients: Array
    carried: int
    before: Array

    def states(self, times_ns: NDArray[Any]) -> Array:
        """States (N, 3, n) at times from the trajectory's start [ns]."""
        return evaluate_many(self.coefficients, (times_ns - self.start_ns) * NANOSECOND)

    def directions(self, law: Law, times_ns: NDArray[Any]) -> Array:
        """The direction (N, n) in which each drive moved last, at times from the trajectory's start [ns]."""
        looks = np.union1d(np.linspace(self.start_ns, self.end_ns, LOOKS), times_ns)
        qd, C = self.states(looks)[:, 1], law.friction.coupling
        width = law.friction.parameters.coulomb_velocity
        found = last_direction(qd if C is None else qd @ C.T, width, self.before)
        return np.asarray(found[np.searchsorted(looks, times_ns)])


class Row(NamedTuple):
    """One point to be: its time [ns], state (3, n), effort (n,), and what it carries."""

    time_ns: int
    state: Array
    tau: Array
    carried: int


def annotate(
    request: TrajectoryRequest,
    law: Law,
    limits: Array,
    accuracy: Accuracy,
    motion: MotionLimits | None = None,
    abandoned: Callable[[], bool] = lambda: False,
    *,
    retime: bool = False,
) -> TrajectoryRequest:
    """The request with ``effort`` at every point and points added. Raises ``TrajectoryError``.

    ``limits`` (n,) are the largest efforts, ``motion`` the limits on positions and velocities. The terms that
    ``law`` has switched off are left out. The way to a first point that is later than 0 s is not known here
    and gets no effort: over it, joint_trajectory_controller lets the effort rise from 0. With ``retime`` the
    request is given more time where velocities or efforts exceed the limits. Once ``abandoned`` is true, the
    work ends with the code ``abandoned``.
    """
    if not request.points:
        raise TrajectoryError(
            "the trajectory has no points; efforts can be given to one point or more", "no_points"
        )
    if len(request.points) > accuracy.max_points:
        raise _too_many(accuracy)
    joints = law.rigid.joints
    if retime:
        request, _, _ = slowed_to_limits(request, law, Rules(), limits, abandoned=abandoned)
    prepared = prepare(request, joints, Rules(), None if motion is None else motion.check)
    desired = replace(law, mode="feedforward")
    pieces = _pieces(prepared, desired)
    if motion is not None:
        end = pieces[-1]
        motion.check(Spline(np.array([end.end_ns, end.end_ns + JUMP_NS]), end.coefficients[np.newaxis]))
    errors = _allowed(unless(abandoned, pieces), desired, limits, accuracy.error)
    rows: list[Row] = []
    for piece in unless(abandoned, pieces):
        _extend(rows, piece, desired, errors, accuracy)
    _check_efforts(unless(abandoned, rows), limits, law)
    order = [law.rigid.joint_names.index(name) for name in request.names]
    given = {point.time_ns: point for point in request.points}
    points = (_point(row, given.get(row.time_ns), order) for row in unless(abandoned, rows))
    return replace(request, points=tuple(points))


def _too_many(accuracy: Accuracy) -> TrajectoryError:
    within = "a hundredth of each joint's largest" if accuracy.error is None else f"{accuracy.error:g}"
    return TrajectoryError(
        f"linear efforts within {within} of the true ones need more than {accuracy.max_points} points; allow "
        "a larger error, or more points",
        "too_many_points",
        allowed=accuracy.max_points,
    )


def _pieces(prepared: Prepared, law: Law) -> list[SplinePiece]:
    """The segments between the points of the request, and the hold at the end as one without duration."""
    times = prepared.waypoints.times_ns.tolist()
    carry = carried(prepared.waypoints.qd, prepared.waypoints.qdd)
    both = np.append(np.minimum(carry[:-1], carry[1:]), carry[-1])
    ends = zip(times, (*times[1:], times[-1]), strict=True)
    found, before = [], np.zeros(len(law.rigid.joints))
    for end, c, k in zip(ends, prepared.segments, both, strict=True):
        found.append(SplinePiece(*end, c, int(k), before))
        if law.keeps_friction:
            before = found[-1].directions(law, np.array(end[1:]))[0]
    return found


def _allowed(pieces: Iterable[SplinePiece], law: Law, limits: Array, error: float | None) -> Array:
    """The largest error of each joint (n,)."""
    if error is not None:
        return np.full(len(limits), error)
    peak = np.zeros(len(limits))
    for piece in pieces:
        times = np.linspace(piece.start_ns, piece.end_ns, FIRST_INTERVALS + 1).astype(np.int64)
        peak = np.maximum(peak, np.abs(_efforts(law, piece, times)).max(axis=0))
    of_limit = np.where(np.isfinite(limits), OF_LIMIT * limits, OF_PEAK * peak.max())
    allowed: Array = np.maximum(np.minimum(OF_PEAK * peak, of_limit), FLOOR * of_limit)
    least: Array = np.maximum(allowed, np.finfo(np.float64).tiny)  # an arm that needs no effort at all
    return least


def _extend(rows: list[Row], piece: SplinePiece, law: Law, errors: Array, accuracy: Accuracy) -> None:
    """Append a piece's points; a second one at its start only where the effort jumps there."""
    times = _refined(piece, law, errors, accuracy)
    if rows:
        at_start = _efforts(law, piece, times[:1])[0]
        jumps = (np.abs(at_start - rows[-1].tau) > errors).any()
        times = np.concatenate((times[:1] + JUMP_NS, times[1:])) if jumps else times[1:]
    if not len(times):
        return
    efforts = _efforts(law, piece, times)
    for time_ns, state, tau in zip(times, piece.states(times), efforts, strict=True):
        rows.append(Row(int(time_ns), state, tau, piece.carried))
    if len(rows) > accuracy.max_points:
        raise _too_many(accuracy)


def _refined(piece: SplinePiece, law: Law, errors: Array, accuracy: Accuracy) -> NDArray[Any]:
    """Times [ns] at which the piece's effort is to be given."""
    if piece.end_ns == piece.start_ns:
        return np.array([piece.start_ns], dtype=np.int64)
    times = np.unique(np.linspace(piece.start_ns, piece.end_ns, FIRST_INTERVALS + 1).astype(np.int64))
    while True:
        begin, length = times[:-1], np.diff(times)
        split = (_shares(piece, law, times, errors) > MARGIN) & (length > SHORTEST_NS)
        if not split.any():
            ends = times[[0, -1]]  # without the first division where the whole piece is straight
            straight = len(times) == FIRST_INTERVALS + 1 and _shares(piece, law, ends, errors).max() <= MARGIN
            return ends if straight else times
        times = np.sort(np.concatenate((times, (begin + length // 2)[split])))
        if len(times) > accuracy.max_points:
            raise _too_many(accuracy)


def _shares(piece: SplinePiece, law: Law, times: NDArray[Any], errors: Array) -> Array:
    """Largest error of linear interpolation over each interval (N - 1,), as a share of ``errors`` (n,)."""
    inner = times[:-1, np.newaxis] + np.diff(times)[:, np.newaxis] * CHECKS
    ends = _efforts(law, piece, times)
    true = _efforts(law, piece, inner.ravel()).reshape(*inner.shape, -1)
    share = CHECKS[:, np.newaxis]
    linear = ends[:-1, np.newaxis] * (1.0 - share) + ends[1:, np.newaxis] * share
    shares: Array = (np.abs(linear - true) / errors).max(axis=(1, 2))
    return shares


def _efforts(law: Law, piece: SplinePiece, times: NDArray[Any]) -> Array:
    """Efforts (N, n) at times from the trajectory's start [ns]."""
    reference = np.ascontiguousarray(piece.states(times).swapaxes(0, 1))
    direction = piece.directions(law, times) if law.keeps_friction else None
    return efforts_by_term(law, reference, reference[0], reference[1], direction).total


def _check_efforts(rows: Iterable[Row], limits: Array, law: Law) -> None:
    for row in rows:
        for joint, effort, limit in zip(law.rigid.joints, row.tau, limits, strict=True):
            if abs(effort) > limit:
                raise TrajectoryError(
                    f"joint {joint.name!r} needs {effort:g} {joint.effort_unit} at "
                    f"{row.time_ns * NANOSECOND:.3f} s from the start; the limit is {limit:g}; move more "
                    "slowly",
                    "effort_limit",
                    joint=joint.name,
                    found=float(effort),
                )


def _point(row: Row, given: RequestPoint | None, order: list[int]) -> RequestPoint:
    """One row as a point in the request's joint order; a ``given`` point keeps what it carried."""
    effort = row.tau[order].tolist()
    if given is not None:
        return replace(given, effort=effort)
    q, qd, qdd = (each[order].tolist() if k < row.carried else [] for k, each in enumerate(row.state))
    return RequestPoint(row.time_ns, q, qd, qdd, effort)
