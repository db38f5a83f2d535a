"""The route of a chain: the moving joints from root to tip, and the ways out and back to their companions.

A companion is a joint off the path that follows a joint of the path (URDF ``<mimic>``), or leads one: it
moves with it, so that its inertia and effort belong to the same coordinate. A serial chain can hold it: from
the body that carries it, the route goes out through its joint to its body, and back through the same joint
with the opposite motion and no mass, before it goes on. The two motions cancel for everything beyond.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from kane_dynamics_ros.description.bodies import Parts, attached_links
from kane_dynamics_ros.description.coordinates import leader_of
from kane_dynamics_ros.description.geometry import Placement, inverse
from kane_dynamics_ros.description.model import Joint
from kane_dynamics_ros.description.rest import Standing, moved_placement


class Segment(NamedTuple):
    """A moving joint and its frame at position 0 in the frame of the body before it.

    ``back``: the joint leads back from a follower, with the opposite motion.
    """

    joint: Joint
    placement: Placement
    back: bool = False


def companions(path: Sequence[Joint], joints: Sequence[Joint], standing: Standing) -> set[str]:
    """The joints off the path that share a leader with a moving joint of the path, the leader included."""
    on_path = {joint.name for joint in path}
    mimics = standing.mimics
    leaders = {leader_of(joint.name, mimics) for joint in path if standing.moves(joint)}
    off_path = (joint for joint in joints if joint.name not in on_path and standing.moves(joint))
    return {joint.name for joint in off_path if leader_of(joint.name, mimics) in leaders}


def route(root: str, path: Sequence[Joint], parts: Parts) -> tuple[list[Segment], Placement]:
    """The segments from the root to the path's end, and the end's frame in the last segment's body."""
    off_path = parts.moving - {joint.name for joint in path}
    segments: list[Segment] = []
    since = out_and_back(root, off_path, parts, Placement(), segments)
    for joint in path:
        if joint.name in parts.moving:
            segments.append(Segment(joint, since.then(Placement(joint.R_PJ, joint.p_PoJo_P))))
            since = out_and_back(joint.child, off_path, parts, Placement(), segments)
        else:
            since = since.then(moved_placement(joint, parts.standing.positions[joint.name]))
    return segments, since


def out_and_back(
    first: str, off_path: Collection[str], parts: Parts, since: Placement, segments: list[Segment]
) -> Placement:
    """Append the ways to the companions that the body of link ``first`` carries, and back.

    ``since`` is the body's frame in the last segment's body; returns it anew after the last way back.
    """
    for link, _, placement in sorted(attached_links(parts, first), key=lambda part: part.link.name):
        for joint in parts.below.get(link.name, ()):
            if joint.name in off_path:
                there = placement.then(Placement(joint.R_PJ, joint.p_PoJo_P))
                segments.append(Segment(joint, since.then(there)))
                beyond = out_and_back(joint.child, off_path, parts, Placement(), segments)
                segments.append(Segment(joint, beyond, back=True))
                since = inverse(there)
    return since
