"""Where the bodies of a chain are at given joint positions, and what holds them there against gravity.

On plain tuples, for the checks of a description; the equations of motion are formulated elsewhere.
"""

from collections.abc import Sequence

from kane_dynamics_ros.algebra import add, apply, cross, dot, scale, subtract
from kane_dynamics_ros.description.geometry import Pose, rotation_about
from kane_dynamics_ros.description.model import GRAVITY, ChainJoint, Vector


def position(joint: ChainJoint, fraction: float) -> float:
    """A position within the limits, or within half a turn or half a metre where they are unknown."""
    half = 0.5 if joint.kind == "prismatic" else 3.14
    upper = half if joint.limits.upper is None else joint.limits.upper
    lower = -half if joint.limits.lower is None else joint.limits.lower
    return lower + fraction * (upper - lower)


def gravity_efforts(
    joints: Sequence[ChainJoint], q: Sequence[float], gravity: Vector = GRAVITY
) -> list[float]:
    """Effort of each coordinate that holds the chain at ``q`` [N m] or [N].

    A joint carries the weight of all bodies beyond it: tau = -a . (c - o) x (m g), or -a . (m g) along its
    axis, for total mass m with centre c, axis a through o, and the free-fall acceleration g, (3,) [m/s^2].
    """
    frames = frames_at(joints, q)
    efforts = [0.0] * (1 + max(joint.coordinate for joint in joints))
    masses = [joint.inertia.mass for joint in joints]  # and those of all bodies beyond, once these are met
    moments = [
        scale(joint.inertia.mass, add(frame.p, apply(frame.R, joint.inertia.com)))  # about the root's origin
        for joint, (frame, _) in zip(joints, frames, strict=True)
    ]
    for k in range(len(joints) - 1, -1, -1):
        joint, (frame, axis), mass, moment = joints[k], frames[k], masses[k], moments[k]
        weight = scale(-1.0, gravity)
        if joint.kind == "prismatic":
            own = mass * dot(axis, weight)
        else:
            own = dot(axis, cross(subtract(moment, scale(mass, frame.p)), weight))
        efforts[joint.coordinate] += joint.multiplier * own
        if joint.parent >= 0:
            masses[joint.parent] += mass
            moments[joint.parent] = add(moments[joint.parent], moment)
    return efforts


def frames_at(joints: Sequence[ChainJoint], q: Sequence[float]) -> list[tuple[Pose, Vector]]:
    """The pose of each body in the root frame at ``q``, and its joint's axis in root axes."""
    frames: list[tuple[Pose, Vector]] = []
    for joint in joints:
        here = frames[joint.parent][0] if joint.parent >= 0 else Pose()
        here = here.then(Pose(joint.R_PJ, joint.p_PoJo_P))
        axis = apply(here.R, joint.axis)
        value = joint.multiplier * q[joint.coordinate] + joint.offset
        if joint.kind == "prismatic":
            here = here.then(Pose(p=scale(value, joint.axis)))
        else:
            here = here.then(Pose(rotation_about(joint.axis, value)))
        frames.append((here, axis))
    return frames
