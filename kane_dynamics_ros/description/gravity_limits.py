"""Whether the effort limits of a chain can hold it against gravity."""

import random
from collections.abc import Mapping, Sequence

from kane_dynamics_ros.description.geometry import (
    Placement,
    add,
    apply,
    cross,
    dot,
    rotation_about,
    scale,
    subtract,
)
from kane_dynamics_ros.description.model import ZERO, ChainJoint, Vector
from kane_dynamics_ros.description.notes import Notes

G = 9.81  # [m/s^2], downwards along z of the root frame
POSES = 30


def note_weak_limits(
    joints: Sequence[ChainJoint], coordinates: Sequence[str], lines: Mapping[str, int | None], notes: Notes
) -> None:
    """Note joints whose effort limit is below what gravity alone asks at some pose within their range.

    Tries the zero pose and ``POSES`` others, the same in every run.
    """
    by_name = {joint.name: joint for joint in joints}
    leaders = [by_name[name] for name in coordinates]
    generator = random.Random(0)
    worst = [0.0] * len(leaders)
    for pose in range(POSES + 1):
        q = [0.0 if pose == 0 else position(joint, generator.random()) for joint in leaders]
        for index, effort in enumerate(gravity_efforts(joints, q)):
            worst[index] = max(worst[index], abs(effort))
    for joint in leaders:
        limit, needed = joint.limits.effort, worst[joint.coordinate]
        if limit is not None and needed > limit:
            unit = "N" if joint.kind == "prismatic" else "N m"
            message = (
                f"its effort limit is {limit:.6g} {unit}, but gravity alone asks for {needed:.4g} {unit}"
            )
            notes.add("KD505", message, lines[joint.name], f"joint {joint.name!r}")


def position(joint: ChainJoint, fraction: float) -> float:
    """A position within the limits, or within half a turn or half a metre where they are unknown."""
    half = 0.5 if joint.kind == "prismatic" else 3.14
    upper = half if joint.limits.upper is None else joint.limits.upper
    lower = -half if joint.limits.lower is None else joint.limits.lower
    return lower + fraction * (upper - lower)


def gravity_efforts(joints: Sequence[ChainJoint], q: Sequence[float]) -> list[float]:
    """Effort of each coordinate that holds the chain at ``q`` [N m] or [N].

    A joint carries the weight of all bodies after it: tau = a . (c - o) x (m g up), or a . (m g up) along
    its axis, for total mass m with centre c, axis a through o.
    """
    frames: list[tuple[Placement, Vector]] = []
    here = Placement()
    for joint in joints:
        here = here.then(Placement(joint.R_PJ, joint.p_PoJo_P))
        axis = apply(here.R, joint.axis)
        value = joint.multiplier * q[joint.coordinate] + joint.offset
        if joint.kind == "prismatic":
            here = here.then(Placement(p=scale(value, joint.axis)))
        else:
            here = here.then(Placement(rotation_about(joint.axis, value)))
        frames.append((here, axis))
    efforts = [0.0] * (1 + max(joint.coordinate for joint in joints))
    mass, moment = 0.0, ZERO  # of all bodies so far, about the root's origin
    for joint, (frame, axis) in zip(reversed(joints), reversed(frames), strict=True):
        mass += joint.inertia.mass
        moment = add(moment, scale(joint.inertia.mass, add(frame.p, apply(frame.R, joint.inertia.com))))
        weight = (0.0, 0.0, G)
        if joint.kind == "prismatic":
            own = mass * dot(axis, weight)
        else:
            own = dot(axis, cross(subtract(moment, scale(mass, frame.p)), weight))
        efforts[joint.coordinate] += joint.multiplier * own
    return efforts
