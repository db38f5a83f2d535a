"""The rigid bodies of a chain: fixed links lumped, and whether every joint moves some inertia."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kane_dynamics_ros.description.findings import NoInertiaMovedError, Notes, UnphysicalInertiaError, listed
from kane_dynamics_ros.description.geometry import (
    Placement,
    failed_condition,
    lump,
    moment_about,
    moved_inertia,
)
from kane_dynamics_ros.description.model import MOVING, ChainJoint, Inertia, Joint, Link, Robot
from kane_dynamics_ros.description.tree import HeldJoints, children, moved_placement, refuse_loose

# The rigid bodies of a chain: each moving joint's link with everything that is fixed to it.


class Parts(NamedTuple):
    """A robot taken apart at the ``moving`` joints of a chain: links and joints looked up by name."""

    links: dict[str, Link]
    joints: frozenset[str]
    below: dict[str, list[Joint]]
    moving: frozenset[str]
    held: HeldJoints


class Attached(NamedTuple):
    """A link of a body, the joint that fixes it there (None for the first), and its frame in the body's."""

    link: Link
    joint: Joint | None
    placement: Placement


def take_apart(robot: Robot, moving: Iterable[str], held: HeldJoints) -> Parts:
    """The parts of a robot at its ``moving`` joints."""
    links = {link.name: link for link in robot.links}
    names = frozenset(joint.name for joint in robot.joints)
    return Parts(links, names, children(robot.joints), frozenset(moving), held)


def attached_links(parts: Parts, first: str) -> list[Attached]:
    """The links that move with link ``first``: all below it, up to the moving joints of the chain."""
    body = [Attached(parts.links[first], None, Placement())]
    for link, _, placement in body:  # grows while it is walked
        for joint in parts.below.get(link.name, ()):
            if joint.name not in parts.moving:
                place = placement.then(moved_placement(joint, parts.held.positions[joint.name]))
                body.append(Attached(parts.links[joint.child], joint, place))
    return body


def lumped_body(parts: Parts, first: str, notes: Notes) -> tuple[Inertia, tuple[str, ...]]:
    """One body's inertia in the frame of link ``first``, and the names of the links lumped into it.

    Summed in order of names, so that the order of the file's elements changes no bit. Raises
    ``UnsupportedJointError``, ``UnphysicalInertiaError``.
    """
    body = attached_links(parts, first)
    refuse_loose((part.joint for part in body if part.joint is not None), parts.held.lock, notes)
    note_branches(body, parts, notes)
    lumped = tuple(part.link.name for part in body[1:])
    if lumped:
        notes.add("KD603", f"lumped into it: {listed(lumped, most=20)}", body[0].link.line, f"link {first!r}")
    ordered = sorted(body, key=lambda part: part.link.name)
    whole = lump(moved_inertia(part.placement, part.link.inertia) for part in ordered if part.link.inertia)
    refuse_unphysical(whole, body, notes)
    return whole, lumped


def note_branches(body: Iterable[Attached], parts: Parts, notes: Notes) -> None:
    """Note the joints that could move, but are lumped."""
    for _, joint, _ in body:
        if joint is not None and joint.kind in MOVING and joint.name not in parts.held.lock:
            what = "a follower off the chain" if joint.mimic else "off the chain"
            unit = "m" if joint.kind == "prismatic" else "rad"
            position = parts.held.positions[joint.name]
            message = f"{what}: everything from it on is lumped as rigid at {position!r} {unit}"
            notes.add("KD604", message, joint.line, f"joint {joint.name!r}")


def refuse_unphysical(whole: Inertia, body: Sequence[Attached], notes: Notes) -> None:
    """Raises ``UnphysicalInertiaError`` for the link whose tensor makes the whole body's one impossible.

    A link with an impossible tensor in a body whose sum is possible is noted elsewhere, and goes.
    """
    if failed_condition(whole.tensor) is None:
        return
    for part in body:
        failed = None if part.link.inertia is None else failed_condition(part.link.inertia.tensor)
        if failed is not None:
            place = notes.place(part.link.line, f"link {part.link.name!r}")
            raise UnphysicalInertiaError(place, failed)


# Joints that nothing resists: the mass matrix would be singular at every pose.


def check_resistance(joints: Sequence[ChainJoint], lines: Mapping[str, int | None], notes: Notes) -> None:
    """Raises ``NoInertiaMovedError`` for the joint nearest to the tip that moves no inertia.

    Only joints from the last heavy body on can be such; a massless body before it is harmless. A follower
    and its leader are one coordinate, which moves when either meets inertia.
    """
    idle = idle_joints(joints)
    busy = {joint.coordinate for joint in joints if joint not in idle}
    for joint in idle:
        if joint.coordinate not in busy:
            place = notes.place(lines.get(joint.body), f"link {joint.body!r}")
            raise NoInertiaMovedError(place, joint.name, (joint.body, *joint.lumped))


def idle_joints(joints: Sequence[ChainJoint]) -> list[ChainJoint]:
    """Joints without rotor inertia that move no inertia about or along their axis, from the tip on."""
    idle = []
    for joint in reversed(joints):
        if joint.rotor_inertia == 0.0 and not resists(joint):
            idle.append(joint)
        if joint.inertia.mass > 0.0:
            break
    return idle


def resists(joint: ChainJoint) -> bool:
    """Whether the joint's own body resists its motion."""
    if joint.kind == "prismatic":
        return joint.inertia.mass > 0.0
    return moment_about(joint.inertia, joint.axis) > 0.0
