"""A robot taken apart at the joints that move in a chain: rigid bodies, fixed links lumped into them."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from kane_dynamics_ros.description.findings import Notes
from kane_dynamics_ros.description.geometry import Pose, lump, moved_inertia
from kane_dynamics_ros.description.model import Chain, Inertia, Joint, Link, Robot
from kane_dynamics_ros.description.tree import (
    HeldJoints,
    below_root,
    children,
    hold,
    moved_pose,
    path_to,
    require_connected,
)
from kane_dynamics_ros.text import listed


class Attached(NamedTuple):
    """A link of a body, the joint that fixes it there (None for the first), and its frame in the body's."""

    link: Link
    joint: Joint | None
    pose: Pose


class Body(NamedTuple):
    """A moving joint and the links that move with its child link, that link first.

    ``pose``: the joint's frame at position 0 in body ``parent``, an index; -1 is what stands with the root.
    ``inertia``: of all links, in the frame of the first; summed in order of names, so that the order of the
    file's elements changes no bit.
    """

    joint: Joint
    parent: int
    pose: Pose
    links: tuple[Attached, ...]
    inertia: Inertia

    @property
    def lumped(self) -> tuple[str, ...]:
        """The names of the links beside the first."""
        return tuple(part.link.name for part in self.links[1:])


def take_apart(
    robot: Robot, path: Sequence[Joint], moving: Collection[str], held: HeldJoints, notes: Notes
) -> tuple[tuple[Attached, ...], list[Body]]:
    """What stands with the root, and the bodies, parents first: those off the path before it goes on.

    Raises ``DescriptionError`` where a floating or planar joint is inside a body.
    """
    links, below = {link.name: link for link in robot.links}, children(robot.joints)
    on_path = {joint.name for joint in path}

    def attached_to(first: str) -> tuple[Attached, ...]:
        """The links that move with link ``first``: all below it, up to the moving joints."""
        found = [Attached(links[first], None, Pose())]
        for link, _, pose in found:  # grows while it is walked
            for joint in below.get(link.name, ()):
                if joint.name not in moving:
                    place = pose.then(moved_pose(joint, held.positions[joint.name]))
                    found.append(Attached(links[joint.child], joint, place))
        return tuple(found)

    def carried_by(parts: Sequence[Attached], index: int) -> list[tuple[Joint, int, Pose]]:
        """The moving joints on these links, the last to be taken first."""
        joints = [
            (joint, index, part.pose.then(Pose(joint.R_PJ, joint.p_PoJo_P)))
            for part in sorted(parts, key=lambda part: part.link.name)
            for joint in below.get(part.link.name, ())
            if joint.name in moving
        ]
        of_path = [carried for carried in joints if carried[0].name in on_path]
        return of_path[::-1] + [carried for carried in joints[::-1] if carried[0].name not in on_path]

    still = attached_to(robot.root)
    bodies: list[Body] = []
    waiting = carried_by(still, -1)
    while waiting:
        joint, parent, pose = waiting.pop()
        parts = attached_to(joint.child)
        require_connected((part.joint for part in parts if part.joint is not None), held.lock, notes)
        heavy = [part for part in sorted(parts, key=lambda part: part.link.name) if part.link.inertia]
        inertia = lump(moved_inertia(pose, link.inertia) for link, _, pose in heavy if link.inertia)
        bodies.append(Body(joint, parent, pose, parts, inertia))
        waiting += carried_by(parts, len(bodies) - 1)
    return still, bodies


def bodies_of(robot: Robot, chain: Chain) -> list[Body]:
    """The bodies of ``chain`` in its order, as they are made of the robot's links."""
    held = hold(robot, dict(chain.locked), chain.root)
    moving = {joint.name for joint in chain.joints}
    path = path_to(robot, chain.tip, chain.root)
    return take_apart(below_root(robot, chain.root), path, moving, held, Notes(robot.source))[1]


def placing_joints(still: Sequence[Attached], bodies: Sequence[Body]) -> set[str]:
    """The held joints that place what moves: inside the bodies, and between the root and the first ones."""
    above = {part.link.name: part.joint for part in still}
    found = {part.joint.name for body in bodies for part in body.links if part.joint is not None}
    for body in bodies:
        joint = above.get(body.joint.parent) if body.parent < 0 else None
        while joint is not None and joint.name not in found:
            found.add(joint.name)
            joint = above[joint.parent]
    return found


def note_bodies(still: Sequence[Attached], bodies: Sequence[Body], held: HeldJoints, notes: Notes) -> None:
    """Note the links that stand, those that are lumped, and the joints between them that could move."""
    left_out = listed(part.link.name for part in still)
    notes.add("KD606", f"left out, since they do not move with the chain: {left_out}")
    for body in bodies:
        for _, joint, _ in body.links:
            if joint is not None and held.moves(joint):
                what = "a follower off the chain" if joint.mimic else "off the chain"
                at = f"{held.positions[joint.name]!r} {'m' if joint.kind == 'prismatic' else 'rad'}"
                message = f"{what}: everything from it on is lumped as rigid at {at}"
                notes.add("KD604", message, joint.line, f"joint {joint.name!r}")
        if body.lumped:
            first = body.links[0].link
            message = f"lumped into it: {listed(body.lumped)}"
            notes.add("KD603", message, first.line, f"link {first.name!r}")
