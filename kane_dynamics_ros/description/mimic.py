"""Joints that follow others: each follower traced to the joint that really leads it."""

from collections.abc import Sequence

from kane_dynamics_ros.description.errors import MimicError, Place, listed
from kane_dynamics_ros.description.model import Joint, Mimic
from kane_dynamics_ros.description.notes import Notes

MOVING = ("revolute", "continuous", "prismatic")


def traced_mimics(joints: Sequence[Joint], notes: Notes) -> dict[str, Mimic]:
    """For each follower, the joint that leads it in the end, with multiplier and offset composed.

    Raises ``MimicError`` for a leader that is missing, cannot move, or follows its own follower.
    """
    by_name = {joint.name: joint for joint in joints}
    traced: dict[str, Mimic] = {}
    for joint in joints:
        if joint.mimic is not None:
            trace(joint, by_name, traced, notes)
    return traced


def trace(follower: Joint, by_name: dict[str, Joint], traced: dict[str, Mimic], notes: Notes) -> None:
    """Climb from ``follower`` to a joint that follows none, then compose on the way back."""
    line: list[Joint] = []
    joint = follower
    while joint.mimic is not None and joint.name not in traced:
        if joint in line:
            raise MimicError(
                place_of(follower, notes), f"followers in a ring: {listed(j.name for j in line)}"
            )
        line.append(joint)
        joint = leader_of(joint, joint.mimic.leader, by_name, notes)
    for joint in reversed(line):
        assert joint.mimic is not None  # for the type checker: only followers entered the line
        above = traced.get(joint.mimic.leader)
        traced[joint.name] = joint.mimic if above is None else composed(joint.mimic, above)


def composed(own: Mimic, above: Mimic) -> Mimic:
    """q = m (m' q_leader + b') + b."""
    return Mimic(above.leader, own.multiplier * above.multiplier, own.multiplier * above.offset + own.offset)


def leader_of(joint: Joint, leader: str, by_name: dict[str, Joint], notes: Notes) -> Joint:
    if leader not in by_name:
        raise MimicError(place_of(joint, notes), f"there is no joint {leader!r}")
    if by_name[leader].kind not in MOVING:
        raise MimicError(place_of(joint, notes), f"its leader {leader!r} is a {by_name[leader].kind} joint")
    return by_name[leader]


def place_of(joint: Joint, notes: Notes) -> Place:
    return notes.place(joint.line, f"joint {joint.name!r}")
