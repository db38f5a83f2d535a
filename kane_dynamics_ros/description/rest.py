"""Which joints of a robot stand still, and where: locked ones, followers of these, and branches."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from kane_dynamics_ros.description.attributes import LARGEST
from kane_dynamics_ros.description.errors import Place
from kane_dynamics_ros.description.geometry import Placement, rotation_about, scale
from kane_dynamics_ros.description.mimic import trace_mimics
from kane_dynamics_ros.description.model import IDENTITY, MOVING, ZERO, Joint, Mimic, Robot
from kane_dynamics_ros.description.notes import Notes
from kane_dynamics_ros.description.value_errors import LockError, UnknownNameError, UnsupportedJointError


def check_locks(robot: Robot, lock: Mapping[str, float]) -> None:
    """Raises ``UnknownNameError`` and ``LockError`` for a joint that is not there or cannot be locked so."""
    joints = {joint.name: joint for joint in robot.joints}
    for name, value in lock.items():
        if name not in joints:
            raise UnknownNameError(Place(robot.source), "joint", name, joints)
        joint = joints[name]
        place = Place(robot.source, joint.line, f"joint {name!r}")
        if not abs(value) <= LARGEST:
            raise LockError(place, value, f"a finite position of at most {LARGEST:g} is needed")
        if joint.kind == "fixed":
            raise LockError(place, value, "it is fixed already: leave it out")
        if joint.kind not in MOVING and value != 0.0:
            raise LockError(place, value, f"a {joint.kind} joint can be locked at its origin only: give 0")
        if joint.mimic is not None:
            raise LockError(place, value, f"it follows joint {joint.mimic.leader!r}: lock that one")


def refuse_loose(joints: Iterable[Joint], lock: Collection[str], notes: Notes) -> None:
    """A floating or planar joint fixes nothing. Raises ``UnsupportedJointError`` unless it is locked."""
    for joint in joints:
        if joint.kind in ("floating", "planar") and joint.name not in lock:
            place = notes.place(joint.line, f"joint {joint.name!r}")
            raise UnsupportedJointError(place, joint.kind, joint.name)


class Standing(NamedTuple):
    """What of a robot stands still; ``mimics`` and ``broken`` are those of ``Mimics``."""

    lock: Mapping[str, float]
    joints: frozenset[str]  # locked ones, and followers of locked ones or with multiplier 0
    positions: dict[str, float]  # of every joint when it stands still [rad] or [m]
    mimics: Mapping[str, Mimic]
    broken: Mapping[str, str]

    def moves(self, joint: Joint) -> bool:
        """Whether the joint is free to move."""
        return joint.kind in MOVING and joint.name not in self.joints


def stand(robot: Robot, lock: Mapping[str, float]) -> Standing:
    """Which joints stand still, and where each stands when it does: as locked, as its leader says, or at 0 or
    the limit nearest to it. Raises as ``check_locks``.
    """
    check_locks(robot, lock)
    mimics, broken = trace_mimics(robot.joints)
    positions = {joint.name: lock.get(joint.name, nearest_to_zero(joint)) for joint in robot.joints}
    for name, mimic in mimics.items():
        positions[name] = mimic.multiplier * positions[mimic.leader] + mimic.offset
    followers = (name for name, m in mimics.items() if m.leader in lock or m.multiplier == 0.0)
    return Standing(lock, frozenset((*lock, *followers)), positions, mimics, broken)


def nearest_to_zero(joint: Joint) -> float:
    """0, or the limit nearest to it."""
    lower, upper = joint.limits.lower, joint.limits.upper
    if lower is not None and lower > 0.0:
        return lower
    return upper if upper is not None and upper < 0.0 else 0.0


def moved_placement(joint: Joint, position: float) -> Placement:
    """The child link's frame in the parent's, at ``position`` [rad] or [m]."""
    motion = Placement()
    if joint.kind in ("revolute", "continuous"):
        motion = Placement(rotation_about(joint.axis, position), ZERO) if position else motion
    elif joint.kind == "prismatic":
        motion = Placement(IDENTITY, scale(position, joint.axis))
    return Placement(joint.R_PJ, joint.p_PoJo_P).then(motion)
