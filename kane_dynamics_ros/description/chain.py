"""The serial chain from a robot's root to a tip."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, cast

from kane_dynamics_ros.description.bodies import Parts, attached_links, lumped_body, take_apart
from kane_dynamics_ros.description.coordinates import Following, assign_coordinates
from kane_dynamics_ros.description.errors import MimicError, NoMovingJointError, TooLargeError, listed
from kane_dynamics_ros.description.geometry import Placement
from kane_dynamics_ros.description.gravity_limits import note_weak_limits
from kane_dynamics_ros.description.mimic import trace_mimics
from kane_dynamics_ros.description.model import MOVING, Chain, ChainJoint, Inertia, Joint, Mimic, Robot
from kane_dynamics_ros.description.notes import Notes
from kane_dynamics_ros.description.rest import (
    check_locks,
    moved_placement,
    refuse_loose,
    standing_positions,
)
from kane_dynamics_ros.description.singular import check_resistance
from kane_dynamics_ros.description.tip import default_tip, path_to

MAX_MOVING_JOINTS = 500


class Segment(NamedTuple):
    """A moving joint and its frame at position 0 in the frame of the body before it."""

    joint: Joint
    placement: Placement


def serial_chain(robot: Robot, tip: str | None = None, *, lock: Mapping[str, float] | None = None) -> Chain:
    """The chain of moving joints from the root to link ``tip``, each with the rigid body that it carries.

    ``tip``: default is the leaf that the most moving joints lead to. ``lock``: joints that stand still at the
    given position [rad] or [m]. Links that do not move are left out; branches off the chain are lumped as
    rigid with their joints at 0 or the limit nearest to 0. What was chosen, lumped or left out is a finding.
    Raises ``DescriptionError`` for unknown names, a chain without moving joints, a floating or planar joint
    that is not locked, and a joint that moves no inertia.
    """
    lock = {} if lock is None else {name: float(lock[name]) for name in sorted(lock)}
    notes = Notes(robot.source)
    check_locks(robot, lock)
    mimics, broken = trace_mimics(robot.joints)
    positions = standing_positions(robot, mimics, lock)
    still = set(lock) | {name for name, mimic in mimics.items() if stands(mimic, lock)}
    tip = tip if tip is not None else chosen_tip(robot, still, notes)
    path = path_to(robot, tip)
    refuse_loose(path, lock, notes)
    segments, tip_placement = split(path, still, positions)
    check_number(segments, robot.root, tip, notes)
    refuse_broken_mimics(segments, broken, notes)
    note_standing(robot, still, positions, lock, notes)
    joints, coordinates = chain_joints(robot, segments, mimics, positions, lock, notes)
    check_resistance(joints, {link.name: link.line for link in robot.links}, notes)
    note_weak_limits(joints, coordinates, {joint.name: joint.line for joint in robot.joints}, notes)
    return Chain(
        robot=robot.name,
        root=robot.root,
        tip=tip,
        joints=joints,
        coordinates=coordinates,
        R_BT=tip_placement.R,
        p_BoTo_B=tip_placement.p,
        findings=robot.findings + tuple(notes.findings),
        locked=tuple(lock.items()),
    )


def stands(mimic: Mimic, lock: Mapping[str, float]) -> bool:
    """Whether a follower stands still: its leader is locked, or it follows with multiplier 0."""
    return mimic.leader in lock or mimic.multiplier == 0.0


def chosen_tip(robot: Robot, still: set[str], notes: Notes) -> str:
    tip, count = default_tip(robot, still)
    notes.add(
        "KD602",
        f"no tip was asked for: {tip!r} was chosen, to which {count} moving joints lead",
        None,
        f"link {tip!r}",
    )
    return tip


def refuse_broken_mimics(segments: Sequence[Segment], broken: Mapping[str, str], notes: Notes) -> None:
    for joint, _ in segments:
        if joint.name in broken:
            raise MimicError(notes.place(joint.line, f"joint {joint.name!r}"), broken[joint.name])


def split(
    path: Sequence[Joint], still: set[str], positions: Mapping[str, float]
) -> tuple[list[Segment], Placement]:
    """The moving joints of a path, each placed in the body before it, and the tip in the last body."""
    segments: list[Segment] = []
    since = Placement()
    for joint in path:
        if joint.kind in MOVING and joint.name not in still:
            segments.append(Segment(joint, since.then(Placement(joint.R_PJ, joint.p_PoJo_P))))
            since = Placement()
        else:
            since = since.then(moved_placement(joint, positions[joint.name]))
    return segments, since


def check_number(segments: Sequence[Segment], root: str, tip: str, notes: Notes) -> None:
    """Raises ``NoMovingJointError`` for no moving joint, ``TooLargeError`` for more than any arm has."""
    if not segments:
        raise NoMovingJointError(notes.place(None, None), root, tip)
    if len(segments) > MAX_MOVING_JOINTS:
        raise TooLargeError(notes.place(None, None), "moving joints in the chain", MAX_MOVING_JOINTS)


def note_standing(
    robot: Robot,
    still: set[str],
    positions: Mapping[str, float],
    lock: Mapping[str, float],
    notes: Notes,
) -> None:
    """Note locked joints, and followers that stand because of their leader or a multiplier of 0."""
    for joint in robot.joints:
        if joint.name in still:
            why = "as asked" if joint.name in lock else "as its <mimic> says"
            message = f"locked at {positions[joint.name]!r}, {why}"
            notes.add("KD607", message, joint.line, f"joint {joint.name!r}")


def chain_joints(
    robot: Robot,
    segments: Sequence[Segment],
    mimics: Mapping[str, Mimic],
    positions: Mapping[str, float],
    lock: Mapping[str, float],
    notes: Notes,
) -> tuple[tuple[ChainJoint, ...], tuple[str, ...]]:
    """The chain's joints with their bodies, and the names of the independent coordinates."""
    parts = take_apart(robot, (segment.joint.name for segment in segments), positions, lock)
    note_left_out(parts, robot.root, notes)
    coordinates, following = assign_coordinates([segment.joint for segment in segments], mimics, notes)
    joints = tuple(
        chain_joint(segment, follows, *lumped_body(parts, segment.joint.child, notes))
        for segment, follows in zip(segments, following, strict=True)
    )
    return joints, coordinates


def chain_joint(
    segment: Segment, follows: Following, inertia: Inertia, lumped: tuple[str, ...]
) -> ChainJoint:
    joint = segment.joint
    return ChainJoint(
        name=joint.name,
        kind=cast(Literal["revolute", "continuous", "prismatic"], joint.kind),
        R_PJ=segment.placement.R,
        p_PoJo_P=segment.placement.p,
        axis=joint.axis,
        body=joint.child,
        inertia=inertia,
        coordinate=follows.coordinate,
        multiplier=follows.multiplier,
        offset=follows.offset,
        limits=joint.limits,
        damping=joint.damping,
        friction=joint.friction,
        rotor_inertia=joint.rotor_inertia,
        initial_position=joint.initial_position,
        lumped=lumped,
    )


def note_left_out(parts: Parts, root: str, notes: Notes) -> None:
    """Links that stand with the root: no motion of the chain depends on their inertia."""
    standing = [part.link.name for part in attached_links(parts, root)]
    notes.add("KD606", f"left out, since they do not move with the chain: {listed(standing, most=20)}")
