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
    path: Sequence[Joint], moving: Sequence[Joint], mimics: Mapping[str, Mimic], notes: Notes
) -> tuple[tuple[str, ...], dict[str, Following]]:
    """The names of the independent joints in the order of the path, and what each ``moving`` joint follows.

    Joints that share a leader share a coordinate: the leader's where it is on the path, else that of the
    first of them on the path.
    """
    movers = {joint.name for joint in moving}
    heads: dict[str, str] = {}  # of each leader, the joint whose coordinate stands for it
    for joint in path:
        if joint.name in movers:
            leader = leader_of(joint.name, mimics)
            if leader == joint.name or leader not in heads:
                heads[leader] = joint.name
    independent = tuple(joint.name for joint in path if joint.name in heads.values())
    followings = {}
    for joint in moving:
        head = heads[leader_of(joint.name, mimics)]
        multiplier, offset = relation(mimics.get(joint.name), mimics.get(head))
        followings[joint.name] = Following(independent.index(head), multiplier, offset)
        note(joint, mimics, head, followings[joint.name], notes)
    return independent, followings


def leader_of(name: str, mimics: Mapping[str, Mimic]) -> str:
    """The joint that leads in the end; a joint that follows none leads itself."""
    return mimics[name].leader if name in mimics else name


def relation(own: Mimic | None, head: Mimic | None) -> tuple[float, float]:
    """(m, b) in q = m q_head + b, for q = m_own q_l + b_own, q_head = m_h q_l + b_h.

    Then m = m_own / m_h and b = b_own - m b_h; the leader itself has 1 and 0.
    """
    if own is head:
        return 1.0, 0.0
    m_own, b_own = (1.0, 0.0) if own is None else (own.multiplier, own.offset)
    m_head, b_head = (1.0, 0.0) if head is None else (head.multiplier, head.offset)
    multiplier = m_own / m_head
    return multiplier, b_own - multiplier * b_head


def note(joint: Joint, mimics: Mapping[str, Mimic], head: str, following: Following, notes: Notes) -> None:
    """Note a joint that shares another's coordinate, or leads though it follows."""
    element = f"joint {joint.name!r}"
    if head != joint.name:
        message = f"moves with {head!r}: q = {following.multiplier!r} * its position + {following.offset!r}"
        notes.add("KD609", f"{message}; its inertia and effort go to that coordinate", joint.line, element)
    elif joint.name in mimics:
        leader = mimics[joint.name].leader
        message = f"it follows {leader!r}, which is off the path to the tip: the coordinate is its own"
        notes.add("KD608", f"{message}, and {leader!r} moves with it", joint.line, element)
