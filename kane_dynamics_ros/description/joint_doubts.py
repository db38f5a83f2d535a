"""Doubts about joints: limits that are not there, and numbers in other units than URDF's."""

import math
from collections.abc import Callable, Iterable, Sequence

from kane_dynamics_ros.description.errors import listed
from kane_dynamics_ros.description.model import MOVING, Joint
from kane_dynamics_ros.description.notes import Notes

MOST_TURNS = 5 * 2 * math.pi  # [rad] a joint limit beyond it is rather written in degrees
FASTEST = 100.0  # [rad/s] a velocity limit beyond it is rather written in degrees/s
FARTHEST = 10.0  # [m] an arm's joints are nearer to each other: beyond it rather millimetres


def note_joints(joints: Sequence[Joint], notes: Notes) -> None:
    """Note what is doubtful about limits and placements of moving joints."""
    moving = [joint for joint in joints if joint.kind in MOVING]
    note_unknown_limits(moving, notes)
    for joint in moving:
        element = f"joint {joint.name!r}"
        for message in degrees_for_radians(joint):
            notes.add("KD506", message, joint.line, element)
    for joint in joints:
        length = math.hypot(*joint.p_PoJo_P)
        if length > FARTHEST:
            message = f"its origin is {length:.6g} m from the parent's: millimetres written for metres?"
            notes.add("KD508", message, joint.line, f"joint {joint.name!r}")


def note_unknown_limits(moving: Iterable[Joint], notes: Notes) -> None:
    """One finding for each kind of limit that joints lack, so that a file without limits says so once."""
    kinds: tuple[tuple[str, str, Callable[[Joint], bool]], ...] = (
        ("KD501", "position limits", lambda joint: joint.kind != "continuous" and has_no_range(joint)),
        ("KD502", "effort limit", lambda joint: joint.limits.effort is None),
        ("KD503", "velocity limit", lambda joint: joint.limits.velocity is None),
    )
    for code, what, lacks in kinds:
        lacking = [joint for joint in moving if lacks(joint) and joint.mimic is None]
        if lacking:
            names = listed(joint.name for joint in lacking)
            message = f"{what} absent or 0, taken as unknown (nothing is clamped), for {names}"
            notes.add(code, message, lacking[0].line, f"joint {lacking[0].name!r}")


def has_no_range(joint: Joint) -> bool:
    """Whether neither position limit is known."""
    return joint.limits.lower is None and joint.limits.upper is None


def degrees_for_radians(joint: Joint) -> Iterable[str]:
    """Messages for limits of a turning joint that look like degrees."""
    if joint.kind == "prismatic":
        return
    for name, limit in (("lower", joint.limits.lower), ("upper", joint.limits.upper)):
        if limit is not None and abs(limit) > MOST_TURNS and abs(limit) <= 720.0:
            yield f"its {name} limit is {limit!r} rad: degrees written for radians?"
    velocity = joint.limits.velocity
    if velocity is not None and FASTEST < velocity < 1000.0:
        yield f"its velocity limit is {velocity!r} rad/s: degrees per second written for rad/s?"
