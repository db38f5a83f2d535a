"""The rigid bodies of a chain: each moving joint's link with everything that is fixed to it."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from kane_dynamics_ros.description.geometry import Placement, lump, moved_inertia
from kane_dynamics_ros.description.mimic import MOVING
from kane_dynamics_ros.description.model import Inertia, Joint, Link, Robot
from kane_dynamics_ros.description.notes import Notes
from kane_dynamics_ros.description.physical import failed_condition
from kane_dynamics_ros.description.rest import moved_placement
from kane_dynamics_ros.description.tree import children
from kane_dynamics_ros.description.value_errors import UnphysicalInertiaError, UnsupportedJointError


class Attached(NamedTuple):
    """A link of a body, the joint that fixes it there (None for the first), and its frame in the body's."""

    link: str
    joint: Joint | None
    placement: Placement


def attached_links(
    first: str, below: Mapping[str, list[Joint]], moving: Collection[str], positions: Mapping[str, float]
) -> list[Attached]:
    """The links that move with link ``first``: all below it, up to the ``moving`` joints of the chain."""
    body = [Attached(first, None, Placement())]
    for link, _, placement in body:  # grows while it is walked
        for joint in below.get(link, ()):
            if joint.name not in moving:
                place = placement.then(moved_placement(joint, positions[joint.name]))
                body.append(Attached(joint.child, joint, place))
    return body


def lumped_body(
    robot: Robot,
    first: str,
    moving: Collection[str],
    positions: Mapping[str, float],
    lock: Collection[str],
    notes: Notes,
) -> tuple[Inertia, tuple[str, ...]]:
    """One body's inertia in the frame of link ``first``, and the names of the links lumped into it.

    Summed in order of names, so that the order of the file's elements changes no bit.
    """
    body = attached_links(first, children(robot.joints), moving, positions)
    refuse_loose(body, lock, notes)
    note_branches(body, positions, lock, notes)
    inertias = {link.name: link.inertia for link in robot.links}
    parts = [(part.placement, inertias[part.link]) for part in sorted(body, key=lambda part: part.link)]
    lumped = tuple(part.link for part in body[1:])
    if lumped:
        notes.add(
            "KD603",
            f"into link {first!r} were lumped {', '.join(map(repr, lumped))}",
            None,
            f"link {first!r}",
        )
    whole = lump(moved_inertia(place, inertia) for place, inertia in parts if inertia is not None)
    refuse_unphysical(whole, [link for link in robot.links if link.name in (first, *lumped)], notes)
    return whole, lumped


def refuse_unphysical(whole: Inertia, links: Iterable[Link], notes: Notes) -> None:
    """Raises ``UnphysicalInertiaError`` for the link whose tensor makes the whole body's one impossible.

    A link with an impossible tensor in a body whose sum is possible is noted elsewhere, and goes.
    """
    if failed_condition(whole.tensor) is None:
        return
    for link in links:
        failed = None if link.inertia is None else failed_condition(link.inertia.tensor)
        if failed is not None:
            raise UnphysicalInertiaError(notes.place(link.line, f"link {link.name!r}"), failed)


def refuse_loose(body: Iterable[Attached], lock: Collection[str], notes: Notes) -> None:
    """A floating or planar joint fixes nothing. Raises ``UnsupportedJointError`` unless it is locked."""
    for _, joint, _ in body:
        if joint is not None and joint.kind in ("floating", "planar") and joint.name not in lock:
            place = notes.place(joint.line, f"joint {joint.name!r}")
            raise UnsupportedJointError(place, joint.kind, joint.name)


def note_branches(
    body: Iterable[Attached], positions: Mapping[str, float], lock: Collection[str], notes: Notes
) -> None:
    for _, joint, _ in body:
        if joint is not None and joint.kind in MOVING and joint.name not in lock:
            what = "a follower off the chain" if joint.mimic else "off the chain"
            unit = "m" if joint.kind == "prismatic" else "rad"
            message = f"{what}: everything from it on is lumped as rigid at {positions[joint.name]!r} {unit}"
            notes.add("KD604", message, joint.line, f"joint {joint.name!r}")
