"""The chain from a robot's root to a tip, or the tree to several: moving joints with their bodies."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from kane_dynamics_ros.description import judgement, model, tree
from kane_dynamics_ros.description.findings import Notes, refusal, too_large
from kane_dynamics_ros.description.geometry import Pose, lump, moved_inertia
from kane_dynamics_ros.text import listed

MAX_MOVING_JOINTS = 500
SLIPS = ("rad", "degrees", math.pi / 180), ("m", "mm", 1e-3)  # of turning and of sliding joints
WHOLE_ROBOT = "all"  # in the place of a tip: every leaf to which a moving joint leads


def serial_chain(
    robot: model.Robot,
    tip: str | Sequence[str] | None = None,
    *,
    root: str | None = None,
    lock: Mapping[str, float] | None = None,
    strict: bool = False,
) -> model.Chain:
    """The moving joints from ``root`` to a tip, or to several, each with the rigid body that it carries.

    ``root``: a link, by default the robot's root. What it does not carry is held still and left out, as the
    mobile base of an arm; gravity is turned into its axes where fixed joints lead to it. ``tip``: a link, by
    default the leaf that the most moving joints lead to; or several, of which the first bears payload and
    wrench where no tip is named; "all" is every leaf that moves, that of the most joints first. ``lock``:
    joints held at the given position [rad] or [m]. Links that do not move are left out; branches off the
    chain are lumped as rigid, their joints at 0 or the limit nearest to 0. What was chosen, lumped, left out
    or deserves a warning is a finding.

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
    notes = Notes(robot.source)
    held = tree.hold(robot, lock, root)
    carried = robot if root is None else tree.below_root(robot, root)
    ends = chosen_tips(carried, tip, held.joints, notes)
    wanted = [joint for end in ends for joint in tree.path_to(robot, end, root)]
    moving = moving_joints(carried, ends[0], wanted, held, notes)
    gravity = tree.gravity_at(robot, carried.root, held, notes)
    still, bodies = take_apart(carried, wanted, moving, held, notes)
    note_held(carried, held, notes)
    note_bodies(still, bodies, held, notes)
    moved = [body.joint for body in bodies]
    names = {joint.name for joint in wanted}
    on_paths = [joint for joint in moved if joint.name in names]  # depth first: the order of the coordinates
    coordinates, followings = assign_coordinates(on_paths, moved, held, notes)
    frames = {
        part.link.name: model.TipFrame(index, part.pose.R, part.pose.p)
        for index, parts in enumerate([still, *(body.links for body in bodies)], -1)
        for part in parts
    }
    chain = model.Chain(
        robot=robot.name,
        root=carried.root,
        tip=ends[0],
        joints=tuple(map(chain_joint, bodies, followings)),
        coordinates=coordinates,
        tip_body=frames[ends[0]].body,
        R_BT=frames[ends[0]].R_BT,
        p_BoTo_B=frames[ends[0]].p_BoTo_B,
        locked=tuple(lock.items()),
        gravity=gravity,
        branches=tuple(ends[1:]),
        branch_frames=tuple(frames[end] for end in ends[1:]),
    )
    judged = judgement.judge(chain, carried, default_tip=tip is None, strict=strict)
    judged.findings = [*carried.findings, *judged.findings, *notes.findings]
    judged.raise_errors()
    return replace(chain, findings=tuple(judged.findings))


# What moves, and what is held


def chosen_tips(
    robot: model.Robot, asked: str | Sequence[str] | None, still: Collection[str], notes: Notes
) -> list[str]:
    """The tips that were asked for, each once; by default one, noted.

    "all", unless a link has that name, stands for the leaves that move.
    """
    if asked is not None:
        tips = list(dict.fromkeys([asked] if isinstance(asked, str) else asked))
        if tips != [WHOLE_ROBOT] or any(link.name == WHOLE_ROBOT for link in robot.links):
            return tips
        return tree.moving_leaves(robot, still) or [tree.default_tip(robot, still)[0]]
    tip, count = tree.default_tip(robot, still)
    message = f"no tip was asked for: {tip!r} was chosen, to which {count} moving joints lead"
    notes.add("KD602", message, None, f"link {tip!r}")
    return [tip]


def moving_joints(
    robot: model.Robot, tip: str, path: Sequence[model.Joint], held: tree.HeldJoints, notes: Notes
) -> set[str]:
    """The joints that move in the chain: those of the path, and their companions.

    A companion follows a joint of the path (URDF ``<mimic>``), or leads one: it moves with it, so that its
    inertia and effort belong to the same coordinate. Off the path, it is a branch of the chain. Raises
    ``DescriptionError`` where none moves, or too many, or one cannot follow its leader.
    """
    tree.require_connected(path, held.lock, notes)
    on_path = [joint for joint in path if held.moves(joint)]
    if not on_path:
        found = f"no joint moves between the root {robot.root!r} and the tip {tip!r}"
        raise refusal("KD207", notes.place(), found, tree.NO_MOVEMENT)
    for joint in on_path:
        if joint.name in held.broken:
            place = notes.place(*joint.at)
            found = f"its <mimic> cannot be followed: {held.broken[joint.name]}"
            raise refusal("KD213", place, found, "fix or remove the <mimic>")
    leaders = {held.leader(joint) for joint in on_path}
    moving = {joint.name for joint in robot.joints if held.moves(joint) and held.leader(joint) in leaders}
    if len(moving) > MAX_MOVING_JOINTS:
        raise too_large(notes.place(), MAX_MOVING_JOINTS, "moving joints in the chain")
    return moving


def note_held(robot: model.Robot, held: tree.HeldJoints, notes: Notes) -> None:
    """Note locked joints, and followers that stand because of their leader or a multiplier of 0."""
    for joint in robot.joints:
        if joint.name in held.joints:
            position, lower, upper = held.positions[joint.name], joint.limits.lower, joint.limits.upper
            low, high = -math.inf if lower is None else lower, math.inf if upper is None else upper
            why = "as asked" if joint.name in held.lock else "as its <mimic> says"
            notes.add("KD607", f"locked at {position!r}, {why}", *joint.at)
            if not low <= position <= high:
                unit, other, one = SLIPS[joint.kind == "prismatic"]
                found = f"locked at {position:g} {unit}, outside its limits ({low:g} to {high:g})"
                if low <= position * one <= high:
                    found += f": {other} written for {unit}? {position:g} {other} are {position * one:.4g}"
                notes.add("KD614", found, *joint.at)


# Independent coordinates of a chain, and how each of its joints follows one of them


class Following(NamedTuple):
    """A joint's position is ``multiplier * q[coordinate] + offset``."""

    coordinate: int
    multiplier: float = 1.0
    offset: float = 0.0


def assign_coordinates(
    path: Sequence[model.Joint], moving: Sequence[model.Joint], held: tree.HeldJoints, notes: Notes
) -> tuple[tuple[str, ...], list[Following]]:
    """The names of the independent joints in the order of the path, and what each ``moving`` joint follows.

    ``path``: the moving joints on the paths to the tips. Joints that share a leader share a coordinate: the
    leader's where it is on the path, else that of the first of them on the path.
    """
    heads: dict[str, str] = {}  # of each leader, the joint whose coordinate stands for it
    for joint in path:
        leader = held.leader(joint)
        if leader == joint.name or leader not in heads:
            heads[leader] = joint.name
    independent = tuple(joint.name for joint in path if joint.name in heads.values())
    followings = []
    for joint in moving:
        # q = m q_l + b and q_head = m_h q_l + b_h: q = m / m_h q_head + b - m / m_h b_h
        leader = held.leader(joint)
        head, element = heads[leader], f"joint {joint.name!r}"
        own, other = (held.mimics.get(name, model.Mimic(name)) for name in (joint.name, head))
        multiplier = own.multiplier / other.multiplier
        offset = own.offset - multiplier * other.offset
        followings.append(Following(independent.index(head), multiplier, offset))
        if head != joint.name:
            law = f"q = {multiplier!r} * its position + {offset!r}"
            message = f"moves with {head!r}: {law}; its inertia and effort go to that coordinate"
            notes.add("KD609", message, joint.line, element)
        elif joint.name in held.mimics:
            place = f"{leader!r}, which is off the path to the tip"
            message = f"it follows {place}: the coordinate is its own, and {leader!r} moves with it"
            notes.add("KD608", message, joint.line, element)
    return independent, followings


# The robot taken apart at the joints that move: rigid bodies, fixed links lumped into them


class Attached(NamedTuple):
    """A link of a body, the joint that fixes it there (None for the first), and its frame in the body's."""

    link: model.Link
    joint: model.Joint | None
    pose: Pose


class Body(NamedTuple):
    """A moving joint and the links that move with its child link, that link first.

    ``pose``: the joint's frame at position 0 in body ``parent``, an index; -1 is what stands with the root.
    ``inertia``: of all links, in the frame of the first; summed in order of names, so that the order of the
    file's elements changes no bit.
    """

    joint: model.Joint
    parent: int
    pose: Pose
    links: tuple[Attached, ...]
    inertia: model.Inertia


def chain_joint(body: Body, follows: Following) -> model.ChainJoint:
    """The joint of a body as the chain states it."""
    joint = body.joint
    return model.ChainJoint(
        name=joint.name,
        kind=cast(model.MovingKind, joint.kind),
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
        lumped=tuple(part.link.name for part in body.links[1:]),
    )


def take_apart(
    robot: model.Robot,
    path: Sequence[model.Joint],
    moving: Collection[str],
    held: tree.HeldJoints,
    notes: Notes,
) -> tuple[tuple[Attached, ...], list[Body]]:
    """What stands with the root, and the bodies, parents first: those off the path before it goes on.

    Raises ``DescriptionError`` where a floating or planar joint is inside a body.
    """
    links, on_path = robot.link_named, {joint.name for joint in path}

    def attached_to(first: str) -> tuple[Attached, ...]:
        """The links that move with link ``first``: all below it, up to the moving joints."""
        found = [Attached(links[first], None, Pose())]
        for link, _, pose in found:  # grows while it is walked
            for joint in robot.below.get(link.name, ()):
                if joint.name not in moving:
                    place = pose.then(tree.moved_pose(joint, held.positions[joint.name]))
                    found.append(Attached(links[joint.child], joint, place))
        return tuple(found)

    def carried_by(parts: Sequence[Attached], index: int) -> list[tuple[model.Joint, int, Pose]]:
        """The moving joints on these links, the last to be taken first."""
        joints = [
            (joint, index, part.pose.then(Pose(joint.R_PJ, joint.p_PoJo_P)))
            for part in sorted(parts, key=lambda part: part.link.name)
            for joint in robot.below.get(part.link.name, ())
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
        tree.require_connected((part.joint for part in parts if part.joint is not None), held.lock, notes)
        heavy = [part for part in sorted(parts, key=lambda part: part.link.name) if part.link.inertia]
        inertia = lump(moved_inertia(pose, link.inertia) for link, _, pose in heavy if link.inertia)
        bodies.append(Body(joint, parent, pose, parts, inertia))
        waiting += carried_by(parts, len(bodies) - 1)
    return still, bodies


def bodies_of(robot: model.Robot, chain: model.Chain) -> list[Body]:
    """The bodies of ``chain`` in its order, as they are made of the robot's links."""
    held = tree.hold(robot, dict(chain.locked), chain.root)
    moving = {joint.name for joint in chain.joints}
    path = tree.path_to(robot, chain.tip, chain.root)
    return take_apart(tree.below_root(robot, chain.root), path, moving, held, Notes(robot.source))[1]


def note_bodies(
    still: Sequence[Attached], bodies: Sequence[Body], held: tree.HeldJoints, notes: Notes
) -> None:
    """Note the links that stand, those that are lumped, and the joints between them that could move."""
    left_out = listed(part.link.name for part in still)
    notes.add("KD606", f"left out, since they do not move with the chain: {left_out}")
    for body in bodies:
        for _, joint, _ in body.links:
            if joint is not None and held.moves(joint):
                what = "a follower off the chain" if joint.mimic else "off the chain"
                at = f"{held.positions[joint.name]!r} {'m' if joint.kind == 'prismatic' else 'rad'}"
                message = f"{what}: everything from it on is lumped as rigid at {at}"
                notes.add("KD604", message, *joint.at)
        first, *lumped = [part.link for part in body.links]
        if lumped:
            message = f"lumped into it: {listed(link.name for link in lumped)}"
            notes.add("KD603", message, *first.at)
