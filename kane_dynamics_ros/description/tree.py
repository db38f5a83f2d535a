"""Links and joints as one tree: whether they form one, the tip, the route to it, its coordinates."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from kane_dynamics_ros.algebra import apply, cross, scale, transpose
from kane_dynamics_ros.description.findings import (
    DescriptionError,
    Notes,
    Place,
    missing,
    refusal,
    unknown_name,
)
from kane_dynamics_ros.description.geometry import Pose, rotation_about
from kane_dynamics_ros.description.model import (
    GRAVITY,
    IDENTITY,
    MOVING,
    ZERO,
    Joint,
    Link,
    Mimic,
    Robot,
    Vector,
)
from kane_dynamics_ros.description.xml_tree import LARGEST
from kane_dynamics_ros.text import listed

LEVEL = 1e-9  # [m/s^2] of gravity: what less it is turned, or sideways, is rounding

# Whether links and joints form one tree


def check_tree(links: Sequence[Link], joints: Sequence[Joint], line: int, notes: Notes) -> str:
    """The root link's name. Raises for what is no tree with a moving joint, at ``line`` of ``<robot>``."""
    robot = notes.place(line, "robot")
    if not links:
        raise missing(robot, "element <link>")
    names = {link.name: link for link in links}
    above: dict[str, Joint] = {}
    for joint in joints:
        place = notes.place(joint.line, f"joint {joint.name!r}")
        for role, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in names:
                found = f"its {role} link {name!r} is not defined"
                raise refusal("KD203", place, found, f"add <link name={name!r}/> or fix the name")
        other = above.setdefault(joint.child, joint)
        if other is not joint:
            where = notes.place(names[joint.child].line, f"link {joint.child!r}")
            found = f"it is the child of several joints: {listed((other.name, joint.name))}"
            remedy = "a link has one parent (closed loops are not URDF): remove the others"
            raise refusal("KD206", where, found, remedy)
    roots = [link.name for link in links if link.name not in above]
    if len(roots) > 1:
        found = f"several links have no parent: {listed(roots)}"
        remedy = "one root is allowed: join the others to it by joints"
        raise refusal("KD204", robot, found, remedy)
    reached = {*roots, *(joint.child for root in roots for joint in reached_from(root, joints))}
    for link in links:
        if link.name not in reached:  # though it has a parent: it hangs on a loop
            raise loop_error(link.name, above, notes)
    if all(joint.kind == "fixed" for joint in joints):
        raise no_moving_joint(robot, "in the whole robot")
    return roots[0]


def children(joints: Iterable[Joint]) -> dict[str, list[Joint]]:
    """The joints below each link, in file order."""
    below: dict[str, list[Joint]] = {}
    for joint in joints:
        below.setdefault(joint.parent, []).append(joint)
    return below


def reached_from(root: str, joints: Iterable[Joint]) -> list[Joint]:
    """The joints that a link leads to, those above before those below."""
    below = children(joints)
    found, waiting = [], [root]
    while waiting:
        for joint in below.get(waiting.pop(), ()):
            found.append(joint)
            waiting.append(joint.child)
    return found


def loop_error(link: str, by_child: dict[str, Joint], notes: Notes) -> DescriptionError:
    """The loop above ``link``: climb until a link comes twice; what lies between is the loop."""
    climbed: dict[str, Joint] = {}
    while link not in climbed:
        climbed[link] = by_child[link]
        link = by_child[link].parent
    joints = list(climbed.values())[list(climbed).index(link) :]
    place = notes.place(joints[0].line, f"joint {joints[0].name!r}")
    found = f"joints form a loop: {listed(joint.name for joint in reversed(joints))}"
    return refusal("KD205", place, found, "a URDF is a tree: remove the joint that closes the loop")


def no_moving_joint(place: Place, path: str) -> DescriptionError:
    """A robot or chain that does not move."""
    remedy = "a chain needs at least one revolute, continuous or prismatic joint that is not locked"
    return refusal("KD207", place, f"no joint moves {path}", f"{remedy}: choose another --tip")


# Joints that follow others: each follower traced to the joint that leads in the end


class Mimics(NamedTuple):
    """Followers with the leader at the end of their line, multiplier and offset composed.

    Then the followers whose ``<mimic>`` cannot be followed, with the reason.
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
    """Climb from ``follower`` to a joint that follows none, then compose on the way back.

    q = m (m' q_leader + b') + b, where the leader itself follows with m' and b'.
    """
    line: dict[str, Mimic] = {}
    joint, reason = follower, None
    while joint.mimic is not None and joint.name not in mimics.traced and reason is None:
        if joint.name in line:
            reason = f"followers in a ring: {listed(line)}"
        line[joint.name] = joint.mimic
        reason = reason or mimics.broken.get(joint.name) or broken_leader(joint.mimic.leader, by_name)
        joint = by_name.get(joint.mimic.leader, joint)
    for name, (leader, m, b) in ((n, (o.leader, o.multiplier, o.offset)) for n, o in reversed(line.items())):
        above = mimics.traced.get(leader)
        if reason is None and above is not None:
            leader, m, b = above.leader, m * above.multiplier, m * above.offset + b
        if reason is None and max(abs(m), abs(b)) > LARGEST:
            reason = "multiplier or offset too large along the line of its leaders"
        if reason is None:
            mimics.traced[name] = Mimic(leader, m, b)
        else:
            mimics.broken[name] = reason


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


# Which joints of a robot are held, and where: locked ones, followers of these, and branches


def check_locks(robot: Robot, lock: Mapping[str, float]) -> None:
    """Raises ``DescriptionError`` for a joint that is not there or cannot be locked so."""
    joints = {joint.name: joint for joint in robot.joints}
    for name, value in lock.items():
        if name not in joints:
            raise unknown_name(Place(robot.source), "joint", name, joints)
        joint = joints[name]
        reason = None
        if not abs(value) <= LARGEST:
            reason = f"a finite position of at most {LARGEST:g} is needed"
        elif joint.kind == "fixed":
            reason = "it is fixed already: leave it out"
        elif joint.kind not in MOVING and value != 0.0:
            reason = f"a {joint.kind} joint can be locked at its origin only: give 0"
        elif joint.mimic is not None:
            reason = f"it follows joint {joint.mimic.leader!r}: lock that one"
        if reason is not None:
            place = Place(robot.source, joint.line, f"joint {name!r}")
            raise refusal("KD610", place, f"it cannot be locked at {value!r}", reason)


def require_connected(joints: Iterable[Joint], lock: Collection[str], notes: Notes) -> None:
    """A floating or planar joint fixes nothing: it is refused unless it is locked."""
    for joint in joints:
        if joint.kind in ("floating", "planar") and joint.name not in lock:
            place = notes.place(joint.line, f"joint {joint.name!r}")
            remedy = (
                "begin the chain behind it (--root LINK, as for an arm on a mobile base), choose a --tip "
                f"whose chain avoids it, or lock it at its origin (--lock {joint.name}=0)"
            )
            raise refusal("KD605", place, f"{joint.kind} joints are not part of a serial chain", remedy)


class HeldJoints(NamedTuple):
    """Which joints of a robot are held; ``mimics`` and ``broken`` are those of ``Mimics``."""

    lock: Mapping[str, float]
    joints: frozenset[str]  # locked, not below the root, and followers of such or with multiplier 0
    positions: dict[str, float]  # of every joint when it is held [rad] or [m]
    mimics: Mapping[str, Mimic]
    broken: Mapping[str, str]

    def moves(self, joint: Joint) -> bool:
        """Whether the joint is free to move."""
        return joint.kind in MOVING and joint.name not in self.joints


def hold(robot: Robot, lock: Mapping[str, float], root: str | None = None) -> HeldJoints:
    """Which joints are held, and where each is when held.

    A held joint is where it is locked, where its leader says, or at 0 or the limit nearest to it. Joints that
    are not below link ``root`` are held. Raises as ``check_locks``.
    """
    check_locks(robot, lock)
    mimics, broken = trace_mimics(robot.joints)
    positions = {joint.name: lock.get(joint.name, nearest_to_zero(joint)) for joint in robot.joints}
    for name, mimic in mimics.items():
        positions[name] = mimic.multiplier * positions[mimic.leader] + mimic.offset
    inside = {joint.name for joint in joints_below(robot, robot.root if root is None else root)}
    held = {*lock, *(joint.name for joint in robot.joints if joint.name not in inside)}
    followers = (name for name, m in mimics.items() if m.leader in held or m.multiplier == 0.0)
    return HeldJoints(lock, frozenset((*held, *followers)), positions, mimics, broken)


def joints_below(robot: Robot, root: str) -> list[Joint]:
    """The joints that link ``root`` leads to. Raises ``DescriptionError`` where there is no such link."""
    names = [link.name for link in robot.links]
    if root not in names:
        raise unknown_name(Place(robot.source), "link", root, names)
    return reached_from(root, robot.joints)


def below_root(robot: Robot, root: str) -> Robot:
    """The part of the robot that link ``root`` carries, and the findings about it."""
    joints = {joint.name for joint in joints_below(robot, root)}
    links = {root, *(joint.child for joint in robot.joints if joint.name in joints)}
    left_out = [f"link {link.name!r}" for link in robot.links if link.name not in links]
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


def nearest_to_zero(joint: Joint) -> float:
    """0, or the limit nearest to it."""
    lower, upper = joint.limits.lower, joint.limits.upper
    if lower is not None and lower > 0.0:
        return lower
    return upper if upper is not None and upper < 0.0 else 0.0


def moved_pose(joint: Joint, position: float) -> Pose:
    """The child link's frame in the parent's, at ``position`` [rad] or [m]."""
    motion = Pose()
    if joint.kind in ("revolute", "continuous"):
        motion = Pose(rotation_about(joint.axis, position), ZERO) if position else motion
    elif joint.kind == "prismatic":
        motion = Pose(IDENTITY, scale(position, joint.axis))
    return Pose(joint.R_PJ, joint.p_PoJo_P).then(motion)


# Which link a chain ends at, and the joints that lead to it


def default_tip(robot: Robot, locked: Collection[str]) -> tuple[str, int]:
    """The leaf that the most moving joints lead to (of several the first in the file), and their number."""
    below = children(robot.joints)
    counts = {robot.root: 0}
    for joint in reached_from(robot.root, robot.joints):
        counts[joint.child] = counts[joint.parent] + (joint.kind in MOVING and joint.name not in locked)
    leaves = [link.name for link in robot.links if link.name not in below]
    tip = max(leaves, key=counts.__getitem__)
    return tip, counts[tip]


def moving_leaves(robot: Robot, locked: Collection[str]) -> list[str]:
    """A leaf beyond each moving joint that leads to no other moving one; that of ``default_tip`` first."""
    above = {joint.child: joint for joint in robot.joints}
    below = children(robot.joints)
    first, _ = default_tip(robot, locked)
    leaves: dict[str, str] = {}  # by their last moving joint
    inner: set[str] = set()
    for leaf in [first, *(link.name for link in robot.links if link.name not in below)]:
        link, last = leaf, ""
        while link in above:
            joint = above[link]
            if joint.kind in MOVING and joint.name not in locked:
                inner |= {joint.name} if last else set()
                last = last or joint.name
            link = joint.parent
        leaves.setdefault(last, leaf)
    return [leaf for last, leaf in leaves.items() if last and last not in inner]


def path_to(robot: Robot, tip: str, root: str | None = None) -> list[Joint]:
    """The joints from ``root``, by default the robot's, to ``tip``.

    Raises ``DescriptionError`` for an unknown tip and for one that the root does not carry.
    """
    names = [link.name for link in robot.links]
    if tip not in names:
        raise unknown_name(Place(robot.source), "link", tip, names)
    above = {joint.child: joint for joint in robot.joints}
    path: list[Joint] = []
    link = tip
    while link in above and link != root:
        path.append(above[link])
        link = above[link].parent
    if root not in (None, link):
        found = f"no path leads from the root {root!r} to the tip {tip!r}"
        remedy = "choose a --tip that the --root carries, or another --root"
        raise refusal("KD611", Place(robot.source), found, remedy)
    return path[::-1]


# Independent coordinates of a chain, and how each of its joints follows one of them


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
        # q = m q_l + b and q_head = m_h q_l + b_h: q = m / m_h q_head + b - m / m_h b_h
        head = heads[leader_of(joint.name, mimics)]
        own, other = (mimics.get(name, Mimic(name)) for name in (joint.name, head))
        multiplier = own.multiplier / other.multiplier
        offset = own.offset - multiplier * other.offset
        followings[joint.name] = Following(independent.index(head), multiplier, offset)
        note_following(joint, mimics, head, followings[joint.name], notes)
    return independent, followings


def leader_of(name: str, mimics: Mapping[str, Mimic]) -> str:
    """The joint that leads in the end; a joint that follows none leads itself."""
    return mimics.get(name, Mimic(name)).leader


def note_following(
    joint: Joint, mimics: Mapping[str, Mimic], head: str, following: Following, notes: Notes
) -> None:
    """Note a joint that shares another's coordinate, or leads though it follows."""
    element = f"joint {joint.name!r}"
    if head != joint.name:
        message = f"moves with {head!r}: q = {following.multiplier!r} * its position + {following.offset!r}"
        notes.add("KD609", f"{message}; its inertia and effort go to that coordinate", joint.line, element)
    elif joint.name in mimics:
        leader = mimics[joint.name].leader
        message = f"it follows {leader!r}, which is off the path to the tip: the coordinate is its own"
        notes.add("KD608", f"{message}, and {leader!r} moves with it", joint.line, element)
