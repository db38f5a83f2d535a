"""Joints that follow others: each follower traced to the joint that really leads it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kane_dynamics_ros.description.attributes import LARGEST
from kane_dynamics_ros.description.errors import listed
from kane_dynamics_ros.description.model import MOVING, Joint, Mimic
from kane_dynamics_ros.description.notes import Notes


class Mimics(NamedTuple):
    """Followers with the leader at the end of their line, multiplier and offset composed; and followers whose
    ``<mimic>`` cannot be followed, with the reason.
    """

    traced: dict[str, Mimic]
    broken: dict[str, str]


def trace_mimics(joints: Sequence[Joint]) -> Mimics:
    """Trace each follower of a robot."""
    by_name = {joint.name: joint for joint in joints}
    mimics = Mimics({}, {})
    for joint in joints:
        trace(joint, by_name, mimics)
    return mimics


def trace(follower: Joint, by_name: Mapping[str, Joint], mimics: Mimics) -> None:
    """Climb from ``follower`` to a joint that follows none, then compose on the way back."""
    line: dict[str, Mimic] = {}
    joint, reason = follower, None
    while joint.mimic is not None and joint.name not in mimics.traced and reason is None:
        if joint.name in line:
            reason = f"followers in a ring: {listed(line)}"
        line[joint.name] = joint.mimic
        reason = reason or mimics.broken.get(joint.name) or broken_leader(joint.mimic.leader, by_name)
        joint = by_name.get(joint.mimic.leader, joint)
    for name, mimic in reversed(line.items()):
        if reason is not None:
            mimics.broken[name] = reason
        else:
            traced = composed(mimic, mimics.traced.get(mimic.leader))
            if max(abs(traced.multiplier), abs(traced.offset)) <= LARGEST:
                mimics.traced[name] = traced
            else:
                reason = mimics.broken[name] = "multiplier or offset too large along the line of its leaders"


def composed(own: Mimic, above: Mimic | None) -> Mimic:
    """q = m (m' q_leader + b') + b, where the leader itself follows with m' and b'."""
    if above is None:
        return own
    return Mimic(above.leader, own.multiplier * above.multiplier, own.multiplier * above.offset + own.offset)


def broken_leader(leader: str, by_name: Mapping[str, Joint]) -> str | None:
    """Why ``leader`` cannot lead; None when it can."""
    if leader not in by_name:
        return f"there is no joint {leader!r}"
    kind = by_name[leader].kind
    return None if kind in MOVING else f"its leader {leader!r} is a {kind} joint"


def note_broken_mimics(joints: Sequence[Joint], notes: Notes) -> None:
    """Note followers that cannot follow; they are refused only where they move with a chain."""
    broken = trace_mimics(joints).broken
    for joint in joints:
        if joint.name in broken:
            message = (
                f"its <mimic> cannot be followed: {broken[joint.name]}; refused where it moves in a chain"
            )
            notes.add("KD216", message, joint.line, f"joint {joint.name!r}")
