"""Independent coordinates of a chain, and how each of its joints follows one of them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kane_dynamics_ros.description.model import Joint, Mimic
from kane_dynamics_ros.description.notes import Notes


class Following(NamedTuple):
    """A joint's position is ``multiplier * q[coordinate] + offset``."""

    coordinate: int
    multiplier: float = 1.0
    offset: float = 0.0


def assign_coordinates(
    moving: Sequence[Joint], mimics: Mapping[str, Mimic], notes: Notes
) -> tuple[tuple[str, ...], list[Following]]:
    """The names of the independent joints, root to tip, and for each moving joint its place among them.

    A follower whose leader is off the chain leads itself, and others of the same leader follow it.
    """
    on_chain = {joint.name for joint in moving}
    heads = {joint.name: head_of(joint, moving, mimics, on_chain) for joint in moving}
    independent = tuple(joint.name for joint in moving if heads[joint.name] == joint.name)
    following = []
    for joint in moving:
        head = heads[joint.name]
        multiplier, offset = relation(mimics.get(joint.name), mimics.get(head))
        following.append(Following(independent.index(head), multiplier, offset))
        note(joint, mimics, head, following[-1], notes)
    return independent, following


def head_of(joint: Joint, moving: Sequence[Joint], mimics: Mapping[str, Mimic], on_chain: set[str]) -> str:
    """The joint of the chain whose coordinate ``joint`` shares."""
    mimic = mimics.get(joint.name)
    if mimic is None:
        return joint.name
    if mimic.leader in on_chain:
        return mimic.leader
    return next(o.name for o in moving if o.name in mimics and mimics[o.name].leader == mimic.leader)


def relation(own: Mimic | None, head: Mimic | None) -> tuple[float, float]:
    """(m, b) in q = m q_head + b. Where the head is a follower, m = m_own / m_head, b = b_own - m b_head."""
    if own is None or own is head:
        return 1.0, 0.0
    if head is None:
        return own.multiplier, own.offset
    multiplier = own.multiplier / head.multiplier
    return multiplier, own.offset - multiplier * head.offset


def note(joint: Joint, mimics: Mapping[str, Mimic], head: str, following: Following, notes: Notes) -> None:
    if joint.name not in mimics:
        return
    element = f"joint {joint.name!r}"
    if head == joint.name:
        leader = mimics[joint.name].leader
        message = f"it follows {leader!r}, which is not on the chain: it has a coordinate of its own here"
        notes.add("KD608", message, joint.line, element)
    else:
        message = f"follows {head!r}: q = {following.multiplier!r} * q_leader + {following.offset!r}"
        notes.add("KD609", f"{message}; its inertia and effort go to the leader", joint.line, element)
