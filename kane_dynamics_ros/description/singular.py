"""Joints that nothing resists: the mass matrix would be singular at every pose."""

from collections.abc import Mapping, Sequence

from kane_dynamics_ros.description.geometry import moment_about
from kane_dynamics_ros.description.model import ChainJoint
from kane_dynamics_ros.description.notes import Notes
from kane_dynamics_ros.description.value_errors import NoInertiaMovedError


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
