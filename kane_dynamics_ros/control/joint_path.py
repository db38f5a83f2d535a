"""The path of a trajectory as curves in joint space, each from one rest to the next, without times.

Where every point carries velocities, the path is the one that the controller plays: cubics or quintics. Else
it is the polyline through the points, within a tolerance: where it turns gently at every point, as a sampled
curve does, the cubic spline through them; otherwise its corners are rounded. The arm comes to rest at both
ends, where the path turns back, and at corners that cannot be rounded.

With unit directions d_1 and d_2 of the lines at a corner, a curve of length L rounds it with, for t from 0
to 1,

    dq/dt = L (d_1 + (d_2 - d_1) (3 t^2 - 2 t^3)),

so that direction and curvature are continuous. Its middle is 3/32 L (d_2 - d_1) from the corner.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.control.limits import LIKELY, TOLERANCE, far_beyond, position_limits
from kane_dynamics_ros.control.plan import prepare
from kane_dynamics_ros.control.splines import evaluate_many
from kane_dynamics_ros.control.validation import (
    NANOSECOND,
    SECOND_NS,
    RequestPoint,
    Rules,
    TrajectoryError,
    TrajectoryRequest,
)
from kane_dynamics_ros.runtime import JointInfo

SAME_POINT = 1e-9  # [rad or m] between two points that are one
AT_REST = 1e-7  # of the largest speed, below which the arm rests; of a corner's turn, below which it is none
SHARPEST = -0.9  # cosine between the directions at a corner, below which the arm stops at it
GENTLE, SPLINE_POINTS = 0.9, 5  # the least such cosine of a sampled curve, and its points
ROOM = 0.45  # of the shorter line at a corner: what the corner takes, so that no line is left very short
JUMP, JUMP_RATIO, MANY_POINTS = 1.0, 30.0, 20  # [rad or m]; times the median distance, in a path of so many
INSIDE = 0.1  # of the first step from a rest: where direction and curvature at the rest are looked up
LOOKS = 17  # at a polynomial, to find where it leaves the limits or turns back
BISECTIONS = 60
END_CELLS = 3  # of the first and of the last piece
BEND_CELLS = 8  # of a piece that is no line, where there are not many pieces: in the middle it is most bent
GAUSS = np.polynomial.legendre.leggauss(5)


class Piece(NamedTuple):
    """A polynomial (6, n) of a parameter from ``begin`` to ``end``, behind a point of the path."""

    coefficients: Array
    begin: float
    end: float
    after: int

    def states(self, parameters: Array) -> Array:
        """Position and its two derivatives by the parameter (N, 3, n)."""
        return evaluate_many(self.coefficients, parameters)

    @property
    def looks(self) -> Array:
        """``LOOKS`` parameters from begin to end."""
        return np.linspace(self.begin, self.end, LOOKS)


Curve = tuple[Piece, ...]  # from rest to rest


@dataclass(frozen=True)
class Grid:
    """A curve divided into N cells by N + 1 nodes.

    ``s`` (N + 1,) is the length along it. ``q``, ``slope`` = dq/ds and ``bend`` = d^2 q/ds^2, each (2, N, n),
    are what they are at the start and at the end of each cell, seen from inside. ``after`` (N,) is the point
    of the path before the cell.
    """

    s: Array
    q: Array
    slope: Array
    bend: Array
    after: NDArray[np.int64]


def curves_of(request: TrajectoryRequest, joints: Sequence[JointInfo], tolerance: float) -> tuple[Curve, ...]:
    """The request's path, cut where the arm rests; its times are ignored.

    ``tolerance`` [rad or m] is how far a rounded corner may be from its point, in each joint; with 0 the arm
    stops at each corner.

    Raises:
        TrajectoryError: ``no_points`` (fewer than two, or none that moves), ``repeated_point``, ``jump``,
            ``outside_limits``, or what is wrong with any trajectory.

    Example:
        >>> from kane_dynamics_ros.runtime import load_model
        >>> joints = load_model("manipulator_5dof").joints
        >>> around = [(0.0, 0.5, 0.0, 0.0, 0.0), (0.5, 0.5, 0.0, 0.0, 0.0), (0.5, 1.0, 0.0, 0.0, 0.0)]
        >>> corner = TrajectoryRequest([joint.name for joint in joints], [RequestPoint(0, q) for q in around])
        >>> len(curves_of(corner, joints, tolerance=0.01)), len(curves_of(corner, joints, tolerance=0.0))
        (1, 2)
    """
    if len(request.points) < 2:
        raise TrajectoryError(f"a path needs two points or more; found {len(request.points)}", "no_points")
    smooth = all(len(point.velocities) for point in request.points)
    points = request.points
    if not smooth:  # the positions, a second apart
        points = [RequestPoint(SECOND_NS * (i + 1), point.positions) for i, point in enumerate(points)]
    prepared = prepare(TrajectoryRequest(request.names, points), joints, Rules())
    if smooth:
        durations = np.diff(prepared.waypoints.times_ns) * NANOSECOND
        pieces = enumerate(zip(prepared.segments[:-1], durations.tolist(), strict=True))
        curves = tuple(_between_rests([Piece(each, 0.0, duration, i) for i, (each, duration) in pieces]))
    else:
        _check_distances(prepared.waypoints.q, joints)
        curves = tuple(_of_points(prepared.waypoints.q, tolerance))
    _check_positions(curves, joints)
    return curves


def _check_positions(curves: Sequence[Curve], joints: Sequence[JointInfo]) -> None:
    lower, upper = position_limits(joints)
    for piece in (piece for curve in curves for piece in curve):
        q = piece.states(piece.looks)[:, 0]
        for row, j in np.argwhere((q < lower - TOLERANCE) | (q > upper + TOLERANCE)).tolist():
            unit, far = joints[j].unit, far_beyond(q, lower, upper, joints)[:, j].any()
            raise TrajectoryError(
                f"joint {joints[j].name!r} reaches {q[row, j]:g} {unit} between the points {piece.after} and "
                f"{piece.after + 1} of the path; the limits are {lower[j]:g} to {upper[j]:g}"
                f"{': ' + LIKELY[unit] if far else ''}",
                "outside_limits",
                quantity="position",
                joint=joints[j].name,
                index=piece.after,
                found=float(q[row, j]),
            )


def _check_distances(q: Array, joints: Sequence[JointInfo]) -> None:
    """Refuse points that are repeated, or far apart in a path of near ones."""
    ways = np.abs(np.diff(q, axis=0))
    longest = ways.max(axis=1)
    for i in np.flatnonzero(longest <= SAME_POINT).tolist():
        raise TrajectoryError(
            f"the points {i} and {i + 1} of the path are the same; give each point once, for the arm does "
            "not wait on a path",
            "repeated_point",
            index=i,
        )
    median = float(np.median(longest))
    jumps = (longest > JUMP) & (longest > JUMP_RATIO * median) & (len(q) >= MANY_POINTS)
    for i in np.flatnonzero(jumps).tolist():
        joint = joints[int(np.argmax(ways[i]))].name
        raise TrajectoryError(
            f"joint {joint!r} jumps by {longest[i]:.3g} between the points {i} and {i + 1} of the path, "
            f"where others are {median:.2g} apart; give points between them, "
            "and positions without whole turns",
            "jump",
            index=i,
            joint=joint,
        )


# Polylines


def _of_points(q: Array, tolerance: float) -> Iterator[Curve]:
    """The curves of a polyline, cut where it turns back."""
    lengths, directions = _lines(q)
    turns_back = (directions[1:] * directions[:-1]).sum(axis=1) < SHARPEST
    ends = [0, *(np.flatnonzero(turns_back) + 1).tolist(), len(lengths)]
    for begin, end in pairwise(ends):
        part = q[begin : end + 1]
        spline = _spline(part, tolerance)
        for curve in _rounded(part, tolerance) if spline is None else (spline,):
            yield tuple(piece._replace(after=piece.after + begin) for piece in curve)


def _lines(q: Array) -> tuple[Array, Array]:
    """Length (N,) and direction (N, n) of each line."""
    ways = np.diff(q, axis=0)
    lengths = np.linalg.norm(ways, axis=1)
    return lengths, ways / lengths[:, np.newaxis]


def _spline(q: Array, tolerance: float) -> Curve | None:
    """The cubic spline by the polyline's length; None where a corner is sharp or the tolerance is left."""
    lengths, directions = _lines(q)
    if len(q) < SPLINE_POINTS or (directions[1:] * directions[:-1]).sum(axis=1).min() < GENTLE:
        return None
    cubics = CubicSpline(np.concatenate((np.zeros(1), np.cumsum(lengths))), q).c[::-1].swapaxes(0, 1)
    coefficients = np.concatenate((cubics, np.zeros((len(lengths), 2, q.shape[1]))), axis=1)
    shares = np.linspace(0.0, 1.0, LOOKS)
    away = evaluate_many(coefficients, lengths[:, np.newaxis] * shares)[:, :, 0]
    away -= q[:-1, np.newaxis] + np.diff(q, axis=0)[:, np.newaxis] * shares[:, np.newaxis]
    if np.abs(away).max() > tolerance:
        return None
    ends = enumerate(zip(coefficients, lengths.tolist(), strict=True))
    return tuple(Piece(each, 0.0, length, i) for i, (each, length) in ends)


def _rounded(q: Array, tolerance: float) -> Iterator[Curve]:
    """Lines and rounded corners, between rests."""
    lengths, directions = _lines(q)
    pieces: list[Piece] = []
    begin = 0.0  # where the line begins, after what the corner before it has taken
    for i, (length, direction) in enumerate(zip(lengths.tolist(), directions, strict=True)):
        half, stops = 0.0, True  # of the corner at the end of this line
        if i + 1 < len(directions):
            turn = directions[i + 1] - direction
            size = float(np.abs(turn).max())
            half = min(
                ROOM * length, ROOM * float(lengths[i + 1]), 16.0 / 3.0 * tolerance / max(size, AT_REST)
            )
            stops = size > AT_REST and (half == 0.0 or float(direction @ directions[i + 1]) < SHARPEST)
            half = 0.0 if stops or size <= AT_REST else half
        line = np.zeros((6, len(direction)))
        line[0], line[1] = q[i], direction
        if length - half - begin > SAME_POINT:
            pieces.append(Piece(line, begin, length - half, i))
        if half:
            pieces.append(Piece(_corner(q[i + 1], direction, turn, 2.0 * half), 0.0, 2.0 * half, i))
        begin = half
        if stops:
            yield tuple(pieces)
            pieces = []


def _corner(corner: Array, direction: Array, turn: Array, length: float) -> Array:
    """The curve around a corner, as a polynomial of its parameter L t."""
    curve = np.zeros((6, len(corner)))
    curve[0], curve[1] = corner - 0.5 * length * direction, direction
    curve[3], curve[4] = turn / length**2, -0.5 * turn / length**3
    return curve


# Curves through points that carry velocities


def _between_rests(pieces: Sequence[Piece]) -> Iterator[Curve]:
    """The pieces in which something moves, cut where the arm is at rest or turns back."""
    rest = AT_REST * max(float(np.abs(piece.states(piece.looks)[:, 1]).max()) for piece in pieces)
    if not rest:
        raise TrajectoryError("the arm stands still at all points; a path is needed", "no_points")
    found: list[Piece] = []
    for part in (part for piece in pieces for part in _between_turns(piece)):
        speeds = np.abs(part.states(part.looks)[:, 1]).max(axis=1)
        if speeds.max() > rest:
            found.append(part)
        if found and speeds[-1] <= rest:
            yield tuple(found)
            found = []
    if found:
        yield tuple(found)


def _between_turns(piece: Piece) -> Iterator[Piece]:
    """The parts of a piece between the places where its direction turns back.

    At such a place the speed is lowest: qd . qdd changes its sign.
    """
    looks = piece.looks
    qd = piece.states(looks)[:, 1]
    for k in np.flatnonzero((qd[1:] * qd[:-1]).sum(axis=1) < 0.0).tolist():
        low, high = float(looks[k]), float(looks[k + 1])
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            _, speed, change = piece.states(np.array([middle]))[0]
            low, high = (middle, high) if speed @ change < 0.0 else (low, middle)
        yield piece._replace(end=low)
        piece = piece._replace(begin=low)
    yield piece


# Division


def divided(curve: Curve, cells: int) -> Grid:
    """The curve in about ``cells`` cells, shorter ones towards its ends, where the arm is slow.

    Every end of a piece is a node. The length of a cell is integrated by Gauss's rule; with the parameter p
    of a piece, and e = dq/dp / |dq/dp|,

        dq/ds = e,        d^2 q/ds^2 = (d^2 q/dp^2 - e (e . d^2 q/dp^2)) / |dq/dp|^2.

    At a rest, where e is 0 / 0, both are taken a little inside.
    """
    lengths = [_length(piece, np.array([piece.begin, piece.end])).sum() for piece in curve]
    least = min(max(cells // (2 * len(curve)), 1), BEND_CELLS)
    s, after = [np.zeros(1)], []
    ends: list[Array] = []  # q, slope and bend at both ends of each cell, (3, 2, cells, n)
    for k, (piece, length) in enumerate(zip(curve, lengths, strict=True)):
        bent = bool(piece.coefficients[2:].any())
        count = max(round(cells * length / sum(lengths)), least if bent else 1)
        count = max(count, END_CELLS) if k in (0, len(curve) - 1) else count
        nodes = piece.begin + (piece.end - piece.begin) * _shares(count, k == 0, k == len(curve) - 1)
        s.append(s[-1][-1] + np.cumsum(_length(piece, nodes)))
        inside = nodes.copy()
        inside[0] += INSIDE * (nodes[1] - nodes[0]) * (k == 0)
        inside[-1] -= INSIDE * (nodes[-1] - nodes[-2]) * (k == len(curve) - 1)
        _, by_p, by_pp = piece.states(inside).swapaxes(0, 1)
        speed = np.linalg.norm(by_p, axis=1, keepdims=True)
        e = by_p / speed
        curvature = (by_pp - e * (e * by_pp).sum(axis=1, keepdims=True)) / speed**2
        at_nodes = np.stack((piece.states(nodes)[:, 0], e, curvature))
        ends.append(np.stack((at_nodes[:, :-1], at_nodes[:, 1:]), axis=1))
        after.append(np.full(count, piece.after))
    q, slope, bend = np.concatenate(ends, axis=2)
    return Grid(np.concatenate(s), q, slope, bend, np.concatenate(after))


def _length(piece: Piece, nodes: Array) -> Array:
    """The length of the curve between nodes (N + 1,), (N,)."""
    x, weights = GAUSS
    middle, half = 0.5 * (nodes[1:] + nodes[:-1]), 0.5 * np.diff(nodes)
    speeds = np.linalg.norm(piece.states(middle[:, np.newaxis] + half[:, np.newaxis] * x)[..., 1, :], axis=-1)
    return np.asarray(half * (speeds @ weights))


def _shares(count: int, first: bool, last: bool) -> Array:
    """Nodes (count + 1,) from 0 to 1, nearer to each other towards an end at which the arm rests."""
    even = np.linspace(0.0, 1.0, count + 1)
    if first and last:
        return np.asarray(np.sin(0.5 * np.pi * even) ** 2)
    if first:
        return np.asarray(even**2)
    return 1.0 - (1.0 - even) ** 2 if last else even
