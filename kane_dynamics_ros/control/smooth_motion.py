"""A smooth motion within all limits, from rest to rest: to drive, record and test an arm with."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.control.approach import POINT_SPACING, request_after
from kane_dynamics_ros.control.limits import effort_limits, position_limits
from kane_dynamics_ros.control.validation import SECOND_NS
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.runtime import DynamicsModel, initial_positions

PART = 0.8  # of a limit that is used
WIDEST = 0.6  # [rad or m] to each side
UNKNOWN_SPEED = 1.0  # [rad/s or m/s] where the URDF gives no velocity limit
SWINGS = (1, 2, 3)  # in one duration, joint after joint
SHRINK = 0.8
LEAST = 1e-3  # of the first amplitude that is worth a motion
PROBE = 0.05  # [rad or m] from the start, to see whether a joint lowers the arm on that side
ROUNDING = 1e-9  # [m]


class MotionError(KaneDynamicsError):
    """There is no motion as asked for. Codes: ``too_heavy`` (``joint``), ``floor``."""


class SampledMotion(NamedTuple):
    """Positions, velocities and accelerations, each (N, n), at times (N,) [s] from rest to rest."""

    times: Array
    q: Array
    qd: Array
    qdd: Array


def speeds(model: DynamicsModel) -> Array:
    """The velocity limits (n,), or what is assumed without one [rad/s or m/s]."""
    return np.array([joint.velocity or UNKNOWN_SPEED for joint in model.joints])


def smooth_motion(
    model: DynamicsModel,
    moving: Sequence[bool],
    duration: float,
    height: Callable[[Array], Array],
    floor: float | None,
) -> SampledMotion:
    """A motion of the joints that are ``moving``, from rest to rest, with ``PART`` of every limit at most.

    Of effort limits it uses ``PART`` of what holding the start leaves. A joint that moves and for which the
    URDF has no start begins within ``PART`` of its range.

    ``height`` gives the lowest point of the arm (N,) [m] at positions (N, n); it stays above ``floor``, by
    default 0 or where it is at the start. Raises ``MotionError`` where not even standing still keeps the
    effort limits, or the floor.
    """
    times = np.linspace(0.0, duration, round(duration / POINT_SPACING) + 1)
    lower, upper = position_limits(model.joints)
    start = np.clip(initial_positions(model.joints), lower, upper)
    margin = np.nan_to_num((1.0 - PART) / 2.0 * (upper - lower), posinf=0.0)
    lower, upper = lower + margin, upper - margin
    free = [move and joint.initial_position is None for move, joint in zip(moving, model.joints, strict=True)]
    start = np.where(free, np.clip(start, lower, upper), start)
    standing = float(height(start[None])[0])
    if floor is None:
        floor = min(0.0, standing)
    if standing < floor:
        message = f"the arm starts {floor - standing:.3f} m below the floor; lower the floor, or set none"
        raise MotionError(message, "floor")
    sides = PROBE * np.eye(len(start))
    free_below, free_above = (height(start + side) >= floor - ROUNDING for side in (-sides, sides))
    below = np.where(free_below, np.maximum(start - lower, 0.0), 0.0)
    above = np.where(free_above, np.maximum(upper - start, 0.0), 0.0)
    fastest = PART * speeds(model)
    unit = np.zeros((len(moving), 3, len(times)))
    for i in np.flatnonzero(moving):
        unit[i] = swing(below[i], above[i], fastest[i], SWINGS[i % len(SWINGS)], times)
    q, qd, qdd = np.moveaxis(unit, 0, -1)  # (3, N, n), in full amplitude
    allowed = allowed_efforts(model, start)
    scale = 1.0
    while scale >= LEAST:
        motion = SampledMotion(times, start + scale * q, scale * qd, scale * qdd)
        efforts = np.abs(model.inverse_dynamics(*motion[1:])).max(axis=0)
        over_floor = height(motion.q).min() >= floor - ROUNDING
        if (efforts <= allowed).all() and over_floor:
            return motion
        scale *= SHRINK
    if not over_floor:
        raise MotionError("every motion goes below the floor; lower the floor, or set none", "floor")
    worst = int(np.argmax(efforts / allowed))
    joint = model.joints[worst]
    raise MotionError(
        f"joint {joint.name!r}: holding the start alone takes {efforts[worst]:.3g} of its {joint.effort:.3g} "
        f"{joint.effort_unit}; correct the effort limit, or give another start (initial_value of the "
        "position's state interface in <ros2_control>)",
        "too_heavy",
        joint=joint.name,
    )


def allowed_efforts(model: DynamicsModel, start: Array) -> Array:
    """What holding the start takes, and ``PART`` of what that leaves of the limits (n,) [N m or N]."""
    holding = np.abs(model.gravity(start))
    return np.asarray(holding + PART * (effort_limits(model.joints) - holding))


def swing(below: float, above: float, fastest: float, n: int, times: Array) -> Array:
    """Displacement of a joint and its first two derivatives (3, N), as wide as its limits allow.

    ``below`` and ``above`` [rad or m]: the room on both sides, 0 on a side that goes below the floor;
    ``fastest`` [rad/s or m/s]. To both sides, or to one where the other has little room.
    """
    below, above = min(below, WIDEST), min(above, WIDEST)
    one_sided = min(below, above) < 0.25 * max(below, above)
    amplitude = (above if above > below else -below) if one_sided else min(below, above)
    unit = windowed(n, times, times[-1], one_sided)
    speed = abs(amplitude) * np.abs(unit[1]).max()
    return amplitude * min(1.0, fastest / speed if speed else 1.0) * unit


def windowed(n: int, times: Array, duration: float, one_sided: bool = False) -> Array:
    """n swings of size 1 under a window, and their first two derivatives: (3, N) at times (N,) [s].

    With T the duration, to both sides or to one:

        sin^2(pi t / T) sin(2 pi n t / T)    or    sin^2(pi t / T) (1 - cos(2 pi n t / T)) / 2

    Velocity and acceleration are 0 at t = 0 and t = T, of the Fourier series of these products.
    """
    # the series: (weight, cycles in the duration, phase over pi)
    terms = [(0.5, n, 0.0), (-0.25, n + 1, 0.0), (-0.25, n - 1, 0.0)]
    if one_sided:
        terms = [(0.25, 0, 0.5), (-0.25, 1, 0.5), (-0.25, n, 0.5), (0.125, n + 1, 0.5), (0.125, n - 1, 0.5)]
    found = np.zeros((3, len(times)))
    for weight, cycles, phase in terms:
        omega = 2.0 * np.pi * cycles / duration
        for order in range(3):
            found[order] += weight * omega**order * np.sin(omega * times + (phase + order / 2) * np.pi)
    return found


def fastest_motion(model: DynamicsModel, motion: SampledMotion) -> SampledMotion:
    """The path of a motion in the least time; see ``control.retiming``. Raises ``TrajectoryError``."""
    from kane_dynamics_ros.control import joint_path, retiming  # only this needs toppra

    limits = replace(
        retiming.urdf_limits(model.joints),
        velocity=PART * speeds(model),
        effort=allowed_efforts(model, motion.q[0]),
    )
    path = request_after(0.0, model.joint_names, motion.times, motion[1:])
    fast = retiming.fastest(joint_path.curves_of(path, model.joints, tolerance=0.0), [model], limits)
    return SampledMotion(fast.times_ns / SECOND_NS, fast.q, fast.qd, fast.accelerations)
