"""The chain from a robot's root to a tip, or the tree to several: moving joints with their bodies."""

from collections.abc import Collection, Mapping, Sequence
from typing import cast

from kane_dynamics_ros.description import checks, judgement
from kane_dynamics_ros.description.bodies import Body, note_bodies, placing_joints, take_apart
from kane_dynamics_ros.description.findings import Notes, refusal, too_large
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
    moving_leaves,
    no_moving_joint,
    path_to,
    require_connected,
)

MAX_MOVING_JOINTS = 500
WHOLE_ROBOT = "all"  # in the place of a tip: every leaf to which a moving joint leads


def serial_chain(
    robot: Robot,
    tip: str | Sequence[str] | None = None,
    *,
    root: str | None = None,
    lock: Mapping[str, float] | None = None,
    strict: bool = False,
) -> Chain:
    """The moving joints from ``root`` to a tip, or to several, each with the rigid body that it carries.

    ``root``: a link, by default the robot's root. What it does not carry is held still and left out, as the
    mobile base of an arm; gravity is turned into its axes where fixed joints lead to it. ``tip``: a link, by
    default the leaf that the most moving joints lead to; or several, of which the first bears payload and
    wrench; "all" is every leaf that moves, that of the most joints first. ``lock``: joints held at the given
    position [rad] or [m]. Links that do not move are left out; branches off the chain are lumped as rigid,
    their joints at 0 or the limit nearest to 0. What was chosen, lumped, left out or deserves a warning is a
    finding.

    Raises ``DescriptionError`` for unknown names, a chain without moving joints, a floating or planar joint
    that is not locked, and, all together, for what is wrong with the numbers that the chain's motion depends
    on. ``strict`` refuses what else is a serious warning: an impossible inertia (KD403), a joint that
    moves no inertia (KD404).

    >>> from kane_dynamics_ros.description import load_robot
    >>> from kane_dynamics_ros.share import share_directory
    >>> robot = load_robot(share_directory() / "urdf" / "manipulator_5dof.urdf")
    >>> serial_chain(robot, "tool", lock={"beta_4": 0.5}).coordinates
    ('gamma_1', 'alpha_2', 'alpha_3', 'gamma_4')
    """
    lock = {} if lock is None else {name: float(lock[name]) for name in sorted(lock)}
    notes = Notes(robot.source, strict=strict)
    held = hold(robot, lock, root)
    carried = robot if root is None else below_root(robot, root)
    default_tip = tip is None
    tip, *branches = chosen_tips(carried, tip, held.joints, notes)
    wanted = [joint for end in (tip, *branches) for joint in path_to(robot, end, root)]
    moving = moving_joints(carried, tip, wanted, held, notes)
    gravity = gravity_at(robot, carried.root, held, notes)
    still, bodies = take_apart(carried, wanted, moving, held, notes)
    note_held(carried, held, notes)
    note_bodies(still, bodies, held, notes)
    moved = [body.joint for body in bodies]
    names = {joint.name for joint in wanted}
    on_paths = [joint for joint in moved if joint.name in names]  # depth first: the order of the coordinates
    coordinates, followings = assign_coordinates(on_paths, moved, held.mimics, notes)
    joints = tuple(chain_joint(body, followings[body.joint.name]) for body in bodies)
    judged = Notes(robot.source, strict=strict)
    judgement.judge_defects(bodies, placing_joints(still, bodies), carried, judged)
    lines = {joint.name: joint.line for joint in robot.joints}
    if not judged.errors:  # else there are no numbers to judge
        judgement.judge_resistance(joints, default_tip, carried, judged)
        judgement.note_weak_limits(joints, coordinates, gravity, lines, judged)
    judgement.judge_inertias(bodies, joints, default_tip, carried, judged)
    parts = [part for body in bodies for part in body.links]
    checks.note_joints([body.joint for body in bodies], [p.joint for p in parts if p.joint], judged)
    checks.note_inertias([part.link for part in parts], carried, judged)
    judged.findings.sort(key=lambda finding: finding.line or 0)
    judged.findings = [*carried.findings, *judged.findings, *notes.findings]
    judged.raise_errors()
    tip_body, tip_pose = next(
        (index, part.pose)
        for index, body in enumerate(bodies)
        for part in body.links
        if part.link.name == tip
    )
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
        branches=tuple(branches),
    )


# What moves, and what is held


def chosen_tips(
    robot: Robot, asked: str | Sequence[str] | None, still: Collection[str], notes: Notes
) -> list[str]:
    """The tips that were asked for, each once; by default one, noted.

    "all", unless a link has that name, stands for the leaves that move.
    """
    if asked is not None:
        tips = list(dict.fromkeys([asked] if isinstance(asked, str) else asked))
        if tips != [WHOLE_ROBOT] or any(link.name == WHOLE_ROBOT for link in robot.links):
            return tips
        return moving_leaves(robot, still) or [default_tip(robot, still)[0]]
    tip, count = default_tip(robot, still)
    notes.add(
        "KD602",
        f"no tip was asked for: {tip!r} was chosen, to which {count} moving joints lead",
        None,
        f"link {tip!r}",
    )
    return [tip]


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


def companions(path: Sequence[Joint], joints: Sequence[Joint], held: HeldJoints) -> set[str]:
    """The joints off the path that share a leader with a moving joint of the path, the leader included.

    A companion follows a joint of the path (URDF ``<mimic>``), or leads one: it moves with it, so that its
    inertia and effort belong to the same coordinate. It is a branch of the chain.
    """
    on_path = {joint.name for joint in path}
    mimics = held.mimics
    leaders = {leader_of(joint.name, mimics) for joint in path if held.moves(joint)}
    off_path = (joint for joint in joints if joint.name not in on_path and held.moves(joint))
    return {joint.name for joint in off_path if leader_of(joint.name, mimics) in leaders}


def chain_joint(body: Body, follows: Following) -> ChainJoint:
    """A joint of the robot with the body that it carries."""
    joint = body.joint
    return ChainJoint(
        name=joint.name,
        kind=cast(MovingKind, joint.kind),
        R_PJ=body.pose.R,
        p_PoJo_P=body.pose.p,
        axis=joint.axis,
        body=joint.child,
        inertia=body.inertia,
        coordinate=follows.coordinate,
        parent=body.parent,
        multiplier=follows.multiplier,
        offset=follows.offset,
        limits=joint.limits,
        damping=joint.damping,
        friction=joint.friction,
        rotor_inertia=joint.rotor_inertia,
        initial_position=joint.initial_position,
        lumped=body.lumped,
    )
