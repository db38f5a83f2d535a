"""A trajectory in a longer time, so that it keeps the limits on velocities and efforts; its path is kept.

In k times its time, a motion q(t) has the velocities qd / k and the accelerations qdd / k^2, so that of its
efforts

    tau = (M qdd + C(q, qd)) / k^2 + g + f(qd / k)

the rigid bodies' part goes from what it was to gravity alone: what is within the limits at both stays so.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.control import validation
from kane_dynamics_ros.control.approach import PEAK_OVER_MEAN
from kane_dynamics_ros.control.law import Law, efforts_by_term
from kane_dynamics_ros.control.limits import velocity_limits
from kane_dynamics_ros.control.plan import Check, Prepared, prepare
from kane_dynamics_ros.control.splines import evaluate_many

LOOKS, LEAST_LOOKS = 17, 4000  # at each segment, and at the trajectory
SLOWEST = 1000.0
ROUNDING = 1e-6  # of the factor: what is between the looks, and the finite digits of a time
BISECTIONS = 30


def slowed_to_limits(
    request: validation.TrajectoryRequest,
    law: Law,
    rules: validation.Rules,
    limits: Array,
    check: Check | None = None,
    begin: Array | None = None,
    abandoned: Callable[[], bool] = lambda: False,
) -> tuple[validation.TrajectoryRequest, Prepared, float]:
    """The request in as much time as it needs, prepared, and how many times longer that is than asked for.

    ``limits`` (n,) are the largest efforts [N m or N], ``check`` is ``prepare``'s; the rest is
    ``needed_factor``'s. Raises ``TrajectoryError``.
    """
    joints = law.rigid.joints
    prepared = prepare(request, joints, rules, check)
    factor = needed_factor(prepared, law, velocity_limits(joints), limits, begin, abandoned)
    if factor > 1.0:
        request = in_time(request, factor)
        prepared = prepare(request, joints, rules)
    return request, prepared, factor


def needed_factor(
    prepared: Prepared,
    law: Law,
    fastest: Array,
    limits: Array,
    begin: Array | None = None,
    abandoned: Callable[[], bool] = lambda: False,
) -> float:
    """How many times longer a trajectory must take to keep the limits; 1 where it keeps them as it is.

    Args:
        prepared: the trajectory.
        law: whose terms, friction included, make the efforts; its feedback is left out.
        fastest: largest speeds (n,) [rad/s or m/s].
        limits: largest efforts (n,) [N m or N].
        begin: where the arm rests before (n,) [rad or m]: the speed of the way to the first point counts too.
        abandoned: once it is true, the work ends.

    Raises:
        TrajectoryError: ``effort_limit``: gravity alone, or with friction at the lowest speed, is too much;
            ``abandoned``.
    """
    desired = replace(law, mode="feedforward")

    def exceeds(states: Array, factor: float) -> Mask:
        """Which states (N, 3, n) exceed a limit."""
        q, qd, qdd = states[:, 0], states[:, 1] / factor, states[:, 2] / factor**2
        tau = efforts_by_term(desired, np.stack((q, qd, qdd)), q, qd).total
        return np.asarray((np.abs(qd) > fastest).any(axis=1) | (np.abs(tau) > limits).any(axis=1))

    def raised(states: Array, factor: float) -> float:
        """The factor, or the next above it with which none of the states exceeds a limit."""
        beyond = states[exceeds(states, factor)]
        if not len(beyond):
            return factor
        low, factor = factor, 2.0 * factor
        while exceeds(beyond, factor).any():
            low, factor = factor, 2.0 * factor
            if factor > SLOWEST:
                raise _too_heavy(beyond, law, limits)
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + factor)
            low, factor = (middle, factor) if exceeds(beyond, middle).any() else (low, middle)
        return factor * (1.0 + ROUNDING)

    factor = 1.0
    first = float(prepared.waypoints.times_ns[0]) * validation.NANOSECOND
    if begin is not None and first > 0.0:
        way = np.abs(prepared.waypoints.q[0] - begin)
        factor = max(1.0, (1.0 + ROUNDING) * float((PEAK_OVER_MEAN * way / (first * fastest)).max()))
    before = 0.0
    while factor > before:
        before = factor
        for states in validation.unless(abandoned, _looks(prepared)):
            factor = raised(states, factor)
    return factor


def in_time(request: validation.TrajectoryRequest, factor: float) -> validation.TrajectoryRequest:
    """The request in ``factor`` times its time, the way to its first point included; without efforts."""
    points = tuple(
        replace(
            point,
            time_ns=round(point.time_ns * factor),
            velocities=[each / factor for each in point.velocities],
            accelerations=[each / factor**2 for each in point.accelerations],
            effort=(),
        )
        for point in request.points
    )
    return replace(request, points=points)


def _looks(prepared: Prepared) -> Iterator[Array]:
    """States (N, 3, n) along the segments, by blocks of them, and at the end."""
    durations = np.diff(prepared.waypoints.times_ns) * validation.NANOSECOND
    shares = np.linspace(0.0, 1.0, max(LOOKS, LEAST_LOOKS // max(len(durations), 1)))
    yield evaluate_many(prepared.segments[-1], np.zeros(1))  # the end
    for i in range(0, len(durations), validation.BLOCK):
        times = durations[i : i + validation.BLOCK, np.newaxis] * shares
        states = evaluate_many(prepared.segments[:-1][i : i + validation.BLOCK], times)
        yield states.reshape(-1, *states.shape[2:])


def _too_heavy(states: Array, law: Law, limits: Array) -> validation.TrajectoryError:
    holding = np.abs(law.rigid.gravity(np.ascontiguousarray(states[:, 0])))
    row, j = (int(i) for i in np.unravel_index(np.argmax(holding / limits), holding.shape))
    return validation.TrajectoryError(
        f"joint {law.rigid.joint_names[j]!r}: at {states[row, 0, j]:.3g} holding still takes "
        f"{holding[row, j]:.4g} of the limit {limits[j]:.4g}: no slower motion keeps it",
        "effort_limit",
        joint=law.rigid.joint_names[j],
        found=float(holding[row, j]),
    )
