"""The chain from a robot's root to a tip."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, cast

from kane_dynamics_ros.description.bodies import (
    Body,
    Judge,
    Parts,
    attached_links,
    body_of,
    judge_defects,
    judge_inertias,
    judge_resistance,
    note_lumped,
    take_apart,
)
from kane_dynamics_ros.description.checks import note_inertias, note_joints, note_weak_limits
from kane_dynamics_ros.description.findings import Notes, refusal, too_large
from kane_dynamics_ros.description.geometry import Pose
from kane_dynamics_ros.description.model import Chain, ChainJoint, Joint, MovingKind, Robot
from kane_dynamics_ros.description.tree import (
    Following,
    HeldJoints,
    assign_coordinates,
    below_root,
    default_tip,
    gravity_at,
    hold,
    leader_of,
    moved_pose,
    no_moving_joint,
    path_to,
    require_connected,
)
from kane_dynamics_ros.text import listed

MAX_MOVING_JOINTS = 500


def serial_chain(
    robot: Robot,
    tip: str | None = None,
    *,
    root: str | None = None,
    lock: Mapping[str, float] | None = None,
    strict: bool = False,
) -> Chain:
    """The chain of moving joints from ``root`` to ``tip``, each with the rigid body that it carries.

    ``root``: a link, by default the robot's root. What it does not carry is held still and left out, as the
    mobile base of an arm; gravity is turned into its axes where fixed joints lead to it. ``tip``: a link, by
    default the leaf that the most moving joints lead to. ``lock``: joints held at the given position [rad] or
    [m]. Links that do not move are left out; branches off the chain are lumped as rigid, their joints at 0 or
    the limit nearest to 0. What was chosen, lumped, left out or deserves a warning is a finding.

    Raises ``DescriptionError`` for unknown names, a chain without moving joints, a floating or planar joint
    that is not locked, and, all together, for what is wrong with the numbers that the chain's motion depends
    on. ``strict`` refuses what else is a serious warning: an impossible inertia (KD403), a joint that
    moves no inertia (KD404).
    """
    lock = {} if lock is None else {name: float(lock[name]) for name in sorted(lock)}
    notes = Notes(robot.source, strict=strict)
    held = hold(robot, lock, root)
    carried = robot if root is None else below_root(robot, root)
    default_tip = tip is None
    tip = chosen_tip(carried, held.joints, notes) if tip is None else tip
    path = path_to(robot, tip, root)
    moving = moving_joints(carried, tip, path, held, notes)
    gravity = gravity_at(robot, carried.root, held, notes)
    parts = take_apart(carried, moving, held)
    note_held(carried, held, notes)
    note_left_out(parts, carried.root, notes)
    steps, tip_body, tip_pose = moving_steps(carried.root, path, parts)
    bodies = [body_of(parts, step.joint, notes) for step in steps]
    for body in bodies:
        note_lumped(body, parts, notes)
    coordinates, joints = chain_joints(steps, bodies, path, parts, notes)
    judged = Notes(robot.source, strict=strict)
    judge_defects(bodies, fixing_joints(carried, path, parts), carried, judged)
    judge = Judge(joints, default_tip)
    lines = {joint.name: joint.line for joint in robot.joints}
    if not judged.errors:  # else there are no numbers to judge
        judge_resistance(joints, carried, judge, judged)
        note_weak_limits(joints, coordinates, gravity, lines, judged)
    judge_inertias(bodies, carried, judge, judged)
    note_warnings(bodies, carried, judged)
    judged.findings.sort(key=lambda finding: finding.line or 0)
    judged.findings = [*carried.findings, *judged.findings, *notes.findings]
    judged.raise_errors()
    return Chain(
        robot=robot.name,
        root=carried.root,
        tip=tip,
        joints=joints,
        coordinates=coordinates,
        tip_body=tip_body,
        R_BT=tip_pose.R,
        p_BoTo_B=tip_pose.p,
        findings=tuple(judged.findings),
        locked=tuple(lock.items()),
        gravity=gravity,
    )


# What moves, what is held, what is left out


def chosen_tip(robot: Robot, still: Collection[str], notes: Notes) -> str:
    """The default tip, noted."""
    tip, count = default_tip(robot, still)
    notes.add(
        "KD602",
        f"no tip was asked for: {tip!r} was chosen, to which {count} moving joints lead",
        None,
        f"link {tip!r}",
    )
    return tip


def moving_joints(robot: Robot, tip: str, path: Sequence[Joint], held: HeldJoints, notes: Notes) -> set[str]:
    """The joints that move in the chain: those of the path, and their companions.

    Raises ``DescriptionError`` where none moves, or too many, or one cannot follow its leader.
    """
    require_connected(path, held.lock, notes)
    moving = {joint.name for joint in path if held.moves(joint)}
    if not moving:
        raise no_moving_joint(notes.place(), f"between the root {robot.root!r} and the tip {tip!r}")
    for joint in path:
        if joint.name in moving and joint.name in held.broken:
            place = notes.place(joint.line, f"joint {joint.name!r}")
            found = f"its <mimic> cannot be followed: {held.broken[joint.name]}"
            raise refusal("KD213", place, found, "fix or remove the <mimic>")
    moving |= companions(path, robot.joints, held)
    if len(moving) > MAX_MOVING_JOINTS:
        raise too_large(notes.place(), MAX_MOVING_JOINTS, "moving joints in the chain")
    return moving


def note_held(robot: Robot, held: HeldJoints, notes: Notes) -> None:
    """Note locked joints, and followers that stand because of their leader or a multiplier of 0."""
    for joint in robot.joints:
        if joint.name in held.joints:
            why = "as asked" if joint.name in held.lock else "as its <mimic> says"
            message = f"locked at {held.positions[joint.name]!r}, {why}{_beyond(joint, held)}"
            notes.add("KD607", message, joint.line, f"joint {joint.name!r}")


def _beyond(joint: Joint, held: HeldJoints) -> str:
    """What to say of a joint that is held outside its limits; empty within them."""
    lower, upper, position = joint.limits.lower, joint.limits.upper, held.positions[joint.name]
    if (lower is None or position >= lower) and (upper is None or position <= upper):
        return ""
    return f", which is outside its limits ({lower} to {upper})"


def note_left_out(parts: Parts, root: str, notes: Notes) -> None:
    """Links that are fixed to the root: no motion of the chain depends on their inertia."""
    still = [part.link.name for part in attached_links(parts, root)]
    notes.add("KD606", f"left out, since they do not move with the chain: {listed(still)}")


# The moving joints of a chain in order, each with the body that carries it
#
# A companion is a joint off the path that follows a joint of the path (URDF ``<mimic>``), or leads one: it
# moves with it, so that its inertia and effort belong to the same coordinate. It is a branch of the chain.


class Step(NamedTuple):
    """A moving joint, its frame at position 0 in the body that carries it, and that body's step; -1: root."""

    joint: Joint
    pose: Pose
    parent: int


def companions(path: Sequence[Joint], joints: Sequence[Joint], held: HeldJoints) -> set[str]:
    """The joints off the path that share a leader with a moving joint of the path, the leader included."""
    on_path = {joint.name for joint in path}
    mimics = held.mimics
    leaders = {leader_of(joint.name, mimics) for joint in path if held.moves(joint)}
    off_path = (joint for joint in joints if joint.name not in on_path and held.moves(joint))
    return {joint.name for joint in off_path if leader_of(joint.name, mimics) in leaders}


def moving_steps(root: str, path: Sequence[Joint], parts: Parts) -> tuple[list[Step], int, Pose]:
    """The steps, parents first; the step whose body the path ends in, and the end's frame in that body."""
    off_path = parts.moving - {joint.name for joint in path}
    steps: list[Step] = []
    add_branches(root, -1, off_path, parts, steps)
    body, since = -1, Pose()
    for joint in path:
        if joint.name in parts.moving:
            steps.append(Step(joint, since.then(Pose(joint.R_PJ, joint.p_PoJo_P)), body))
            body, since = len(steps) - 1, Pose()
            add_branches(joint.child, body, off_path, parts, steps)
        else:
            since = since.then(moved_pose(joint, parts.held.positions[joint.name]))
    return steps, body, since


def add_branches(link: str, body: int, off_path: Collection[str], parts: Parts, steps: list[Step]) -> None:
    """Append the companions that step ``body``'s body, of the given link, carries, and what these carry."""
    for attached, _, pose in sorted(attached_links(parts, link), key=lambda part: part.link.name):
        for joint in parts.below.get(attached.name, ()):
            if joint.name in off_path:
                steps.append(Step(joint, pose.then(Pose(joint.R_PJ, joint.p_PoJo_P)), body))
                add_branches(joint.child, len(steps) - 1, off_path, parts, steps)


# The joints of the chain, with their coordinates and bodies


def chain_joints(
    steps: Sequence[Step], bodies: Sequence[Body], path: Sequence[Joint], parts: Parts, notes: Notes
) -> tuple[tuple[str, ...], tuple[ChainJoint, ...]]:
    """The names of the independent coordinates, and the chain's joints with their bodies."""
    moving = [step.joint for step in steps]
    coordinates, followings = assign_coordinates(path, moving, parts.held.mimics, notes)
    joints = tuple(
        chain_joint(step, followings[step.joint.name], body) for step, body in zip(steps, bodies, strict=True)
    )
    return coordinates, joints


def chain_joint(step: Step, follows: Following, body: Body) -> ChainJoint:
    """A joint of the robot with the body that it carries."""
    joint = step.joint
    return ChainJoint(
        name=joint.name,
        kind=cast(MovingKind, joint.kind),
        R_PJ=step.pose.R,
        p_PoJo_P=step.pose.p,
        axis=joint.axis,
        body=joint.child,
        inertia=body.inertia,
        coordinate=follows.coordinate,
        parent=step.parent,
        multiplier=follows.multiplier,
        offset=follows.offset,
        limits=joint.limits,
        damping=joint.damping,
        friction=joint.friction,
        rotor_inertia=joint.rotor_inertia,
        initial_position=joint.initial_position,
        lumped=body.lumped,
    )


# What is judged of them


def fixing_joints(robot: Robot, path: Sequence[Joint], parts: Parts) -> list[Joint]:
    """The held joints between the root and the moving ones: these are placed by them."""
    above = {joint.child: joint for joint in robot.joints}
    found: dict[str, Joint] = {}
    for joint in (*path, *(joint for joint in robot.joints if joint.name in parts.moving)):
        link: str | None = joint.parent if joint.name in parts.moving else joint.child
        while link in above and above[link].name not in parts.moving and above[link].name not in found:
            found[above[link].name] = above[link]
            link = above[link].parent
    return list(found.values())


def note_warnings(bodies: Sequence[Body], robot: Robot, notes: Notes) -> None:
    """Warn of suspect limits, placements, masses and inertias of what moves."""
    attached = [part for body in bodies for part in body.links]
    note_joints([body.joint for body in bodies], [part.joint for part in attached if part.joint], notes)
    note_inertias([part.link for part in attached], robot, notes)
