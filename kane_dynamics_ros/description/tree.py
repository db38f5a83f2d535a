"""Links and joints as one tree: whether they form one, what is held where, the tip, the route to it."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from kane_dynamics_ros.algebra import apply, cross, scale, transpose
from kane_dynamics_ros.description.findings import Notes, Place, missing, refusal, unknown_name
from kane_dynamics_ros.description.geometry import Pose, rotation_about
from kane_dynamics_ros.description.model import (
    GRAVITY,
    MOVING,
    Joint,
    Link,
    Mimic,
    Robot,
    Vector,
    joints_below,
)
from kane_dynamics_ros.description.xml_tree import LARGEST
from kane_dynamics_ros.text import listed

LEVEL = 1e-9  # [m/s^2] of gravity: what less it is turned, or sideways, is rounding
NO_MOVEMENT = (
    "a chain needs at least one revolute, continuous or prismatic joint that is not locked: choose another "
    "--tip"
)

# Whether links and joints form one tree


def check_tree(links: Sequence[Link], joints: Sequence[Joint], line: int, notes: Notes) -> str:
    """The root link's name. Raises for what is no tree with a moving joint, at ``line`` of ``<robot>``."""
    robot = notes.place(line, "robot")
    if not links:
        raise missing(robot, "element <link>")
    lines = {link.name: link.line for link in links}
    above: dict[str, Joint] = {}
    for joint in joints:
        for role, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in lines:
                place = notes.place(*joint.at)
                found = f"its {role} link {name!r} is not defined"
                raise refusal("KD203", place, found, f"add <link name={name!r}/> or fix the name")
        other = above.setdefault(joint.child, joint)
        if other is not joint:
            place = notes.place(lines[joint.child], f"link {joint.child!r}")
            found = f"it is the child of several joints: {listed((other.name, joint.name))}"
            remedy = "a link has one parent (closed loops are not URDF): remove the others"
            raise refusal("KD206", place, found, remedy)
    roots = [link.name for link in links if link.name not in above]
    if len(roots) > 1:
        found = f"several links have no parent: {listed(roots)}"
        remedy = "one root is allowed: join the others to it by joints"
        raise refusal("KD204", robot, found, remedy)
    below = joints_below(joints)
    reached = {*roots, *(joint.child for root in roots for joint in reached_from(root, below))}
    for link in links:
        if link.name not in reached:  # it hangs on a loop: climb until a link comes twice
            name, climbed = link.name, dict[str, Joint]()
            while name not in climbed:
                climbed[name] = above[name]
                name = above[name].parent
            loop = list(climbed.values())[list(climbed).index(name) :]
            place = notes.place(*loop[0].at)
            found = f"joints form a loop: {listed(joint.name for joint in reversed(loop))}"
            raise refusal("KD205", place, found, "a URDF is a tree: remove the joint that closes the loop")
    if all(joint.kind == "fixed" for joint in joints):
        raise refusal("KD207", robot, "no joint moves in the whole robot", NO_MOVEMENT)
    return roots[0]


def reached_from(root: str, below: Mapping[str, Sequence[Joint]]) -> list[Joint]:
    """The joints that a link leads to, those above before those below."""
    found, waiting = [], [root]
    while waiting:
        for joint in below.get(waiting.pop(), ()):
            found.append(joint)
            waiting.append(joint.child)
    return found


# Joints that follow others: each follower traced to the joint that leads in the end


def trace_mimics(joints: Sequence[Joint]) -> tuple[dict[str, Mimic], dict[str, str]]:
    """Trace each follower of a robot: climb to a joint that follows none, then compose on the way back.

    q = m (m' q_leader + b') + b, where the leader itself follows with m' and b'. Returns the followers with
    the leader at the end of their line, and those whose ``<mimic>`` cannot be followed, with the reason.
    """
    by_name = {joint.name: joint for joint in joints}
    traced: dict[str, Mimic] = {}
    broken: dict[str, str] = {}
    for joint in joints:
        line: dict[str, Mimic] = {}
        while joint.mimic is not None and not any(joint.name in known for known in (line, traced, broken)):
            line[joint.name] = joint.mimic
            joint = by_name.get(joint.mimic.leader, joint)
        reason = broken.get(joint.name)
        if missing := [mimic.leader for mimic in line.values() if mimic.leader not in by_name]:
            reason = f"there is no joint {missing[0]!r}"
        elif joint.name in line:
            reason = f"followers in a ring: {listed(line)}"
        elif joint.kind not in MOVING:
            reason = f"its leader {joint.name!r} is a {joint.kind} joint"
        for name, own in reversed(line.items()):
            head = traced.get(own.leader, Mimic(own.leader))
            m, b = own.multiplier, own.offset
            composed = Mimic(head.leader, m * head.multiplier, m * head.offset + b)
            if reason is None and max(abs(composed.multiplier), abs(composed.offset)) > LARGEST:
                reason = "multiplier or offset too large along the line of its leaders"
            if reason is None:
                traced[name] = composed
            else:
                broken[name] = reason
    return traced, broken


# Which joints of a robot are held, and where: locked ones, followers of these, and branches


class HeldJoints(NamedTuple):
    """Which joints of a robot are held; ``mimics`` and ``broken`` are those of ``trace_mimics``."""

    lock: Mapping[str, float]
    joints: frozenset[str]  # locked, not below the root, and followers of such or with multiplier 0
    positions: dict[str, float]  # of every joint when it is held [rad] or [m]
    mimics: Mapping[str, Mimic]
    broken: Mapping[str, str]

    def moves(self, joint: Joint) -> bool:
        """Whether the joint is free to move."""
        return joint.kind in MOVING and joint.name not in self.joints

    def leader(self, joint: Joint) -> str:
        """The joint that leads in the end; a joint that follows none leads itself."""
        return self.mimics.get(joint.name, Mimic(joint.name)).leader


def hold(robot: Robot, lock: Mapping[str, float], root: str | None = None) -> HeldJoints:
    """Which joints are held, and where each is when held.

    A held joint is where it is locked, where its leader says, or at 0 or the limit nearest to it. Joints that
    are not below link ``root`` are held. Raises ``DescriptionError`` for a joint that cannot be locked so.
    """
    joints = robot.joint_named
    for name, value in lock.items():
        if name not in joints:
            raise unknown_name(Place(robot.source), "joint", name, joints)
        joint, reason = joints[name], None
        if not abs(value) <= LARGEST:
            reason = f"a finite position of at most {LARGEST:g} is needed"
        elif joint.kind == "fixed":
            reason = "it is fixed already: leave it out"
        elif joint.kind not in MOVING and value != 0.0:
            reason = f"a {joint.kind} joint can be locked at its origin only: give 0"
        elif joint.mimic is not None:
            reason = f"it follows joint {joint.mimic.leader!r}: lock that one"
        if reason is not None:
            place = Place(robot.source, *joint.at)
            raise refusal("KD610", place, f"it cannot be locked at {value!r}", reason)
    mimics, broken = trace_mimics(robot.joints)
    positions = {joint.name: lock.get(joint.name, nearest_to_zero(joint)) for joint in robot.joints}
    for name, mimic in mimics.items():
        positions[name] = mimic.multiplier * positions[mimic.leader] + mimic.offset
    free = joints.keys() - lock.keys()
    if root is not None:
        free &= {joint.name for joint in below_root(robot, root).joints}
    followers = {name for name, m in mimics.items() if m.leader not in free or m.multiplier == 0.0}
    return HeldJoints(lock, frozenset(joints.keys() - free | followers), positions, mimics, broken)


def nearest_to_zero(joint: Joint) -> float:
    """0, or the limit nearest to it."""
    lower, upper = joint.limits.lower, joint.limits.upper
    if lower is not None and lower > 0.0:
        return lower
    return upper if upper is not None and upper < 0.0 else 0.0


def moved_pose(joint: Joint, position: float) -> Pose:
    """The child link's frame in the parent's, at ``position`` [rad] or [m]."""
    motion = Pose()
    if joint.kind == "prismatic":
        motion = Pose(p=scale(position, joint.axis))
    elif joint.kind in MOVING and position:
        motion = Pose(rotation_about(joint.axis, position))
    return Pose(joint.R_PJ, joint.p_PoJo_P).then(motion)


# The part that another root carries, and how it stands


def below_root(robot: Robot, root: str) -> Robot:
    """The part of the robot that link ``root`` carries, and the findings about it.

    Raises ``DescriptionError`` where there is no such link.
    """
    if root not in robot.link_named:
        raise unknown_name(Place(robot.source), "link", root, robot.link_named)
    carried = reached_from(root, robot.below)
    joints = {joint.name for joint in carried}
    links = {root, *(joint.child for joint in carried)}
    left_out = [f"link {name!r}" for name in robot.link_named if name not in links]
    left_out += [f"joint {joint.name!r}" for joint in robot.joints if joint.name not in joints]
    beginnings = tuple(f"{element} " for element in left_out)
    return replace(
        robot,
        root=root,
        links=tuple(link for link in robot.links if link.name in links),
        joints=tuple(joint for joint in robot.joints if joint.name in joints),
        findings=tuple(f for f in robot.findings if not f"{f.element} ".startswith(beginnings)),
    )


def gravity_at(robot: Robot, root: str, held: HeldJoints, notes: Notes) -> Vector:
    """Free-fall acceleration in the axes of link ``root``, where the robot's own root stands upright [m/s^2].

    Fixed and locked joints above ``root`` turn it by a known angle, prismatic joints and those about the
    vertical not at all. Where another joint may tilt ``root``, it is taken along -z of ``root``, and noted.
    """
    gravity = GRAVITY
    for joint in path_to(robot, root):
        R_PJ = joint.R_PJ
        if joint.name in held.lock:
            R_PJ = moved_pose(joint, held.lock[joint.name]).R
        elif joint.kind not in ("fixed", "prismatic"):
            tilt = math.hypot(*cross(apply(transpose(R_PJ), gravity), joint.axis))
            if joint.kind == "floating" or tilt > LEVEL:
                message = (
                    f"joint {joint.name!r} above it is {joint.kind} and may tilt it: gravity is taken along "
                    f"-z of {root!r}; lock that joint (--lock {joint.name}=VALUE), or give gravity"
                )
                notes.add("KD613", message, joint.line, f"link {root!r}")
                return GRAVITY
        gravity = apply(transpose(R_PJ), gravity)
    if math.dist(gravity, GRAVITY) <= LEVEL:
        return GRAVITY
    x, y, z = (entry + 0.0 for entry in gravity)  # no -0
    message = f"turned by the joints above it: gravity is {x:.6g} {y:.6g} {z:.6g} m/s^2 in its axes"
    notes.add("KD612", message, None, f"link {root!r}")
    return (x, y, z)


# Which link a chain ends at, and the joints that lead to it


def default_tip(robot: Robot, locked: Collection[str]) -> tuple[str, int]:
    """The leaf that the most moving joints lead to (of several the first in the file), and their number."""
    counts = {robot.root: 0}
    for joint in reached_from(robot.root, robot.below):
        counts[joint.child] = counts[joint.parent] + (joint.kind in MOVING and joint.name not in locked)
    leaves = [link.name for link in robot.links if link.name not in robot.below]
    tip = max(leaves, key=counts.__getitem__)
    return tip, counts[tip]


def moving_leaves(robot: Robot, locked: Collection[str]) -> list[str]:
    """A leaf beyond each moving joint that leads to no other moving one; that of ``default_tip`` first."""
    first, _ = default_tip(robot, locked)
    leaves: dict[str, str] = {}  # by their last moving joint
    inner: set[str] = set()
    for leaf in [first, *(link.name for link in robot.links if link.name not in robot.below)]:
        path = [j.name for j in path_to(robot, leaf) if j.kind in MOVING and j.name not in locked]
        if path:
            leaves.setdefault(path[-1], leaf)
            inner.update(path[:-1])
    return [leaf for last, leaf in leaves.items() if last not in inner]


def path_to(robot: Robot, tip: str, root: str | None = None) -> list[Joint]:
    """The joints from ``root``, by default the robot's, to ``tip``.

    Raises ``DescriptionError`` for an unknown tip and for one that the root does not carry.
    """
    if tip not in robot.link_named:
        raise unknown_name(Place(robot.source), "link", tip, robot.link_named)
    path: list[Joint] = []
    link = tip
    while link in robot.above and link != root:
        path.append(robot.above[link])
        link = robot.above[link].parent
    if root not in (None, link):
        found = f"no path leads from the root {root!r} to the tip {tip!r}"
        remedy = "choose a --tip that the --root carries, or another --root"
        raise refusal("KD611", Place(robot.source), found, remedy)
    return path[::-1]


def require_connected(joints: Iterable[Joint], lock: Collection[str], notes: Notes) -> None:
    """A floating or planar joint fixes nothing: it is refused unless it is locked."""
    for joint in joints:
        if joint.kind in ("floating", "planar") and joint.name not in lock:
            place = notes.place(*joint.at)
            remedy = (
                "begin the chain behind it (--root LINK, as for an arm on a mobile base), choose a --tip "
                f"whose chain avoids it, or lock it at its origin (--lock {joint.name}=0)"
            )
            raise refusal("KD605", place, f"{joint.kind} joints are not part of a serial chain", remedy)
