"""The limits of joints: on efforts, on their rate of change, and on references.

Limits that the URDF does not give are infinite.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.control.plan import Joined, Spline, sample
from kane_dynamics_ros.control.splines import evaluate_many
from kane_dynamics_ros.control.validation import NANOSECOND, TrajectoryError
from kane_dynamics_ros.runtime import DynamicsModel, JointInfo

SAMPLES_PER_SEGMENT = 17  # misses at most 1/1024 of a cubic's bulge between samples
ENTRY_SAMPLES = 33  # of the way into a trajectory, likewise 1/4096
STEP_TIME = 0.02  # [s] of the velocity limit, by which a first point at time 0 may be beside the reference
GRAVITY_POSTURES = 500  # find 90 % or more of the largest gravity effort of 300,000, on three arms
TOLERANCE = 1e-6  # [rad] or [m], and per second: a planner's rounding, not a violation
FAR = {"rad": 0.2, "m": 1.0}  # of the range between the limits: further outside than any arm is pushed
LIKELY = {"rad": "degrees written for radians?", "m": "millimetres written for metres?"}  # so far outside


def effort_limits(joints: Sequence[JointInfo]) -> Array:
    """Largest magnitude of each joint's effort (n,) [N m or N]; infinite where the URDF gives none."""
    return np.array([math.inf if joint.effort is None else joint.effort for joint in joints])


def position_limits(joints: Sequence[JointInfo]) -> tuple[Array, Array]:
    """Lower and upper positions (n,); infinite where there is no limit, and on continuous joints."""
    bounded = [joint if joint.kind != "continuous" else None for joint in joints]
    lower = [-math.inf if joint is None or joint.lower is None else joint.lower for joint in bounded]
    upper = [math.inf if joint is None or joint.upper is None else joint.upper for joint in bounded]
    return np.array(lower), np.array(upper)


def velocity_limits(joints: Sequence[JointInfo]) -> Array:
    """Largest speeds (n,); infinite where there is no limit."""
    return np.array([math.inf if joint.velocity is None else joint.velocity for joint in joints])


def far_outside(q: Array, joints: Sequence[JointInfo]) -> tuple[str, ...]:
    """One phrase for each joint whose position is far outside its limits, as degrees for radians are."""
    lower, upper = position_limits(joints)
    return tuple(
        f"{joints[j].name} is at {q[j]:g} {joints[j].unit}, its limits are {lower[j]:g} to {upper[j]:g}: "
        f"{LIKELY[joints[j].unit]}"
        for j in np.flatnonzero(far_beyond(q, lower, upper, joints)).tolist()
    )


def far_beyond(q: Array, lower: Array, upper: Array, joints: Sequence[JointInfo]) -> Mask:
    """Which positions (..., n) are so far outside the limits (n,)."""
    share = np.array([FAR[joint.unit] for joint in joints])
    margin = np.where(np.isfinite(upper - lower), share * (upper - lower), math.pi)
    return np.asarray((q < lower - margin) | (q > upper + margin))


# Efforts


def clamp(tau: Array, limits: Array) -> Array:
    """Efforts clamped to plus or minus ``limits`` (n,)."""
    return np.asarray(np.minimum(np.maximum(tau, -limits), limits))


def limit_rate(tau: Array, previous: Array, largest_step: Array) -> Array:
    """Efforts that differ from ``previous`` by at most ``largest_step`` (n,) [N m or N]."""
    limited: Array = previous + np.minimum(np.maximum(tau - previous, -largest_step), largest_step)
    return limited


def overloaded_by_gravity(
    model: DynamicsModel, limits: Array, q: Array | None = None
) -> tuple[tuple[JointInfo, float, float], ...]:
    """Joints that gravity alone can overload, with the largest effort found and the limit of ``limits`` (n,).

    At ``q`` (n,), by default at ``GRAVITY_POSTURES`` random positions within the joints' limits, the same at
    every call: a limit that is exceeded by less than a tenth may be missed there.
    """
    lower, upper = (np.clip(bound, -math.pi, math.pi) for bound in position_limits(model.joints))
    random = np.random.default_rng(0)
    postures = random.uniform(lower, upper, (GRAVITY_POSTURES, len(limits))) if q is None else q[np.newaxis]
    largest = np.abs(model.gravity(postures)).max(axis=0)
    return tuple(
        (joint, float(found), float(limit))
        for joint, found, limit in zip(model.joints, largest, limits, strict=True)
        if found > limit
    )


# References


@dataclass(frozen=True)
class MotionLimits:
    """Position limits (n,) and velocity limits (n,) of a reference; infinite where there is none."""

    joints: tuple[JointInfo, ...]
    lower: Array
    upper: Array
    fastest: Array

    def check(self, spline: Spline, named: Mask | bool = True) -> None:
        """Refuse a motion that leaves the limits: a ``TrajectoryError``, ``outside_limits``.

        ``spline`` has one start more than segments: the end of the last one. Points and the motion between
        them are checked; of the positions only those of joints that are ``named`` (n,).
        """
        durations = np.diff(spline.starts_ns) * NANOSECOND
        since = durations[:, np.newaxis] * np.linspace(0.0, 1.0, SAMPLES_PER_SEGMENT)
        q, qd = evaluate_many(spline.segments, since, 2).reshape(-1, 2, len(self.joints)).swapaxes(0, 1)
        times = (spline.starts_ns[:-1, np.newaxis] * NANOSECOND + since).ravel()
        lower, upper = np.where(named, self.lower, -math.inf), np.where(named, self.upper, math.inf)
        self._check("position", q, times, lower, upper)
        self._check("velocity", qd, times, -self.fastest, self.fastest)

    def check_start(self, found: Joined, start_ns: int, everything: bool) -> None:
        """Refuse a trajectory that begins with a step. Raises ``TrajectoryError``.

        A step is a first point due at once that is further from the reference than the velocity limits cover
        in ``STEP_TIME``. ``start_ns`` is when the trajectory's time is 0. With ``everything``, the way into
        the trajectory is checked too, as ``check`` does.
        """
        step, allowed = np.abs(found.step), self.fastest * STEP_TIME
        if (step > allowed + TOLERANCE).any():
            j = int(np.argmax(step - allowed))
            name, unit = self.joints[j].name, self.joints[j].unit
            raise TrajectoryError(
                f"the first point is due at once, {step[j]:.3g} {unit} from the reference of joint {name!r}: "
                f"a step; allowed is {allowed[j]:.3g} {unit}, what its velocity limit covers in "
                f"{STEP_TIME:g} s; give the first point a later time",
                "step",
                joint=name,
                found=float(step[j]),
            )
        if everything and found.entered_ns > found.begin_ns:
            times = np.linspace(found.begin_ns, found.entered_ns, ENTRY_SAMPLES).round().astype(np.int64)
            states = np.array([sample(found.plan, time) for time in times.tolist()])
            since = (times - start_ns) * NANOSECOND
            self._check("position", states[:, 0], since, self.lower, self.upper)
            self._check("velocity", states[:, 1], since, -self.fastest, self.fastest)

    def _check(self, quantity: str, values: Array, times: Array, lower: Array, upper: Array) -> None:
        """Raise for the first value (N, n) outside its joint's limits."""
        outside = np.argwhere((values < lower - TOLERANCE) | (values > upper + TOLERANCE))
        if outside.size:
            row, j = (int(index) for index in outside[0])
            name, unit, advice = self.joints[j].name, self.joints[j].unit, ""
            if quantity == "velocity":
                slower = np.ceil(100 * (np.abs(values) / upper).max()) / 100
                unit, advice = f"{unit}/s", f"; all times must be at least {slower:g} times as long"
            elif far_beyond(values, lower, upper, self.joints)[:, j].any():
                advice = f": {LIKELY[unit]}"
            seconds = round(float(times[row]), 3) + 0.0  # no minus before a zero
            raise TrajectoryError(
                f"{quantity} of joint {name!r} reaches {values[row, j]:g} {unit} at {seconds:.3f} s from the "
                f"start; the limits are {lower[j]:g} to {upper[j]:g}{advice}",
                "outside_limits",
                quantity=quantity,
                joint=name,
                found=float(values[row, j]),
            )


def motion_limits(joints: Sequence[JointInfo], begin: Array | None) -> MotionLimits:
    """The URDF's limits, widened to take in ``begin`` (n,), where the motion begins.

    So an arm that was pushed outside its limits may move back in.
    """
    lower, upper = position_limits(joints)
    if begin is not None:
        lower, upper = np.minimum(lower, begin), np.maximum(upper, begin)
    return MotionLimits(tuple(joints), lower, upper, velocity_limits(joints))


def clamp_reference(reference: Array, lower: Array, upper: Array) -> Array:
    """The reference (3, n) kept inside position limits; a joint at its limit is at rest there."""
    q = np.minimum(np.maximum(reference[0], lower), upper)
    inside = q == reference[0]
    return np.stack((q, np.where(inside, reference[1], 0.0), np.where(inside, reference[2], 0.0)))
