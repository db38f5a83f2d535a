"""What a URDF says beside links and joints: transmissions, ros2_control, mimic joints, sizes of shapes."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kane_dynamics_ros.description.attributes import LARGEST, Reader
from kane_dynamics_ros.description.findings import DescriptionError, NegativeValueError, Notes
from kane_dynamics_ros.description.model import MOVING, Joint, Mimic
from kane_dynamics_ros.description.xml_tree import Element
from kane_dynamics_ros.text import listed

_INERTIA_TAGS = ("drake:rotor_inertia", "rotorInertia", "rotor_inertia", "motorInertia")
_DRAKES_RATIO = "drake:gear_ratio"
_REDUCTION_TAGS = ("mechanicalReduction", "mechanical_reduction")
AGREEING = 1e-8  # relative: rotor inertias that are nearer say the same, in files of nine digits


# What transmissions and ros2_control say of joints


@dataclass(frozen=True)
class MotorInertia:
    """What a transmission clearly says of its joint's rotor: the elements that give J, and the reduction r.

    Several elements say the same number.
    """

    elements: tuple[Element, ...]
    value: float  # J, of the motor's side [kg m^2]
    reduction: float  # motor turns per joint turn

    @property
    def reflected(self) -> float:
        """J r^2, at the joint [kg m^2] or [kg]."""
        return self.value * self.reduction**2


class JointExtras(NamedTuple):
    """What they say of one joint, and what of it cannot be read."""

    rotor_inertias: tuple[float, ...] = ()  # reflected to the joint, J r^2 [kg m^2] or [kg]
    initial_position: float | None = None  # [rad] or [m]
    errors: tuple[DescriptionError, ...] = ()


class Extras(NamedTuple):
    """What they say of all joints, by name."""

    motor_inertias: dict[str, list[MotorInertia]]
    initial_positions: dict[str, float]
    errors: dict[str, list[DescriptionError]]

    def of_joint(self, name: str) -> JointExtras:
        """What they say of joint ``name``."""
        motors, errors = self.motor_inertias.get(name, ()), self.errors.get(name, ())
        rotors = tuple(motor.reflected for motor in motors)
        return JointExtras(rotors, self.initial_positions.get(name), tuple(errors))


def read_extras(root: Element, notes: Notes) -> Extras:
    """Rotor inertias from ``<transmission>`` and initial positions from ``<ros2_control>``."""
    extras = Extras(defaultdict(list), {}, defaultdict(list))
    read_rotor_inertias(root, notes, extras)
    read_initial_positions(root, notes, extras)
    return extras


# Rotor inertias from ``<transmission>``: reflected to the joint, J r^2, once


def read_rotor_inertias(root: Element, notes: Notes, extras: Extras) -> None:
    """For each joint the motor inertias that transmissions give it.

    Clear is a transmission of one joint and one actuator, with one rotor inertia J on the motor's side and
    one reduction r (motor turns per joint turn), not 0. Beside Drake's elements a ``mechanicalReduction`` of
    1 says nothing, as Drake ignores it, and the ratio is 1 where none is given. What is not clear is noted,
    and not used.
    """
    for transmission in transmissions(root):
        name = transmission.attributes.get("name", "")
        reader = Reader(transmission, f"transmission {name!r}", notes)
        joints = [joint.attributes.get("name", "") for joint in transmission.all("joint")]
        try:
            inertia = motor_inertia(reader, len(joints))
        except DescriptionError as error:
            for joint in joints:
                extras.errors[joint].append(error)
            continue
        if inertia is not None:
            extras.motor_inertias[joints[0]].append(inertia)


def motor_inertia(reader: Reader, joints: int) -> MotorInertia | None:
    """J and r of a transmission of so many joints; None where it gives none or is not clear.

    Raises this room's errors about numbers.
    """
    transmission = reader.element
    inertias = values(reader, _INERTIA_TAGS)
    if not inertias:
        return None
    actuators = len(transmission.all("actuator"))
    reductions = values(reader, _REDUCTION_TAGS)
    if any(part.tag.startswith("drake:") for part in parts(transmission)):
        others = [reduction for reduction in reductions if reduction != 1.0]
        reductions = values(reader, (_DRAKES_RATIO,)) + others or [1.0]
    clear = {joints, actuators, len(set(inertias)), len(set(reductions))} == {1}
    if clear and reductions[0] != 0.0:
        elements = tuple(part for part in parts(transmission) if part.tag in _INERTIA_TAGS)
        return MotorInertia(elements, inertias[0], reductions[0])
    message = (
        f"its rotor inertia is not used: {joints} joints, {actuators} actuators, reductions "
        f"{reductions or 'none'}; one of each is clear{', other than 0' if clear else ''}"
    )
    reader.notes.add("KD412", message, *reader.place[1:])
    return None


def stated_rotor_inertias(armature: float, reflected: Sequence[float]) -> list[float]:
    """What counts of ``<dynamics armature>``, 0 where absent, and of transmissions; the first is used."""
    return ([armature] if armature > 0.0 else []) + list(reflected)


def joined_rotor_inertia(joint: Reader, armature: float, reflected: Sequence[float]) -> float:
    """A joint's rotor inertia from ``<dynamics armature>`` and transmissions: the first, never their sum."""
    values = stated_rotor_inertias(armature, reflected)
    if not values:
        return 0.0
    if max(values) - min(values) > AGREEING * max(values):
        message = (
            f"several rotor inertias ({', '.join(map(repr, values))}): the first is used, they are not added"
        )
        joint.notes.add("KD412", message, *joint.place[1:])
    else:
        joint.notes.add("KD411", f"rotor inertia {values[0]!r} reflected to the joint", *joint.place[1:])
    return values[0]


def transmissions(root: Element) -> Iterable[Element]:
    """Those of the robot, and those of its ``<ros2_control>`` blocks."""
    yield from root.all("transmission")
    for control in root.all("ros2_control"):
        yield from control.all("transmission")


def parts(transmission: Element) -> Iterable[Element]:
    """The children of a transmission and of its joints and actuators."""
    for child in transmission.children:
        yield child
        if child.tag in ("joint", "actuator"):
            yield from child.children


def values(transmission: Reader, tags: Iterable[str]) -> list[float]:
    """The numbers in elements called ``tags``, from their ``value`` attribute or their text.

    None is negative where it is an inertia.
    """
    numbers = []
    for part in parts(transmission.element):
        if part.tag in tags:
            reader = Reader(part, f"{transmission.label} <{part.tag}>", transmission.notes)
            text = part.attributes.get("value", part.text).strip()
            numbers.append(reader.convert(part.tag, text))
            if part.tag in _INERTIA_TAGS and numbers[-1] < 0.0:
                raise NegativeValueError(reader.place, part.tag, numbers[-1])
    return numbers


# Initial joint positions from ``<ros2_control>``


def read_initial_positions(root: Element, notes: Notes, extras: Extras) -> None:
    """``initial_value`` of the position state interface of each joint that has one [rad] or [m]."""
    for control in root.all("ros2_control"):
        for joint in control.all("joint"):
            name = joint.attributes.get("name", "")
            for interface in joint.all("state_interface"):
                if interface.attributes.get("name") != "position":
                    continue
                for parameter in interface.all("param"):
                    if parameter.attributes.get("name") == "initial_value":
                        reader = Reader(parameter, f"<ros2_control> joint {name!r} <param>", notes)
                        try:
                            position = reader.convert("initial_value", parameter.text.strip())
                            extras.initial_positions[name] = position
                        except DescriptionError as error:
                            extras.errors[name].append(error)


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
    """Climb from ``follower`` to a joint that follows none, then compose on the way back."""
    line: dict[str, Mimic] = {}
    joint, reason = follower, None
    while joint.mimic is not None and joint.name not in mimics.traced and reason is None:
        if joint.name in line:
            reason = f"followers in a ring: {listed(line)}"
        line[joint.name] = joint.mimic
        reason = reason or mimics.broken.get(joint.name) or broken_leader(joint.mimic.leader, by_name)
        joint = by_name.get(joint.mimic.leader, joint)
    for name, mimic in reversed(line.items()):
        if reason is not None:
            mimics.broken[name] = reason
        else:
            traced = composed(mimic, mimics.traced.get(mimic.leader))
            if max(abs(traced.multiplier), abs(traced.offset)) <= LARGEST:
                mimics.traced[name] = traced
            else:
                reason = mimics.broken[name] = "multiplier or offset too large along the line of its leaders"


def composed(own: Mimic, above: Mimic | None) -> Mimic:
    """q = m (m' q_leader + b') + b, where the leader itself follows with m' and b'."""
    if above is None:
        return own
    return Mimic(above.leader, own.multiplier * above.multiplier, own.multiplier * above.offset + own.offset)


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


# How large a link is, as far as the URDF says without its meshes


def shape_reach(link: Element) -> float | None:
    """How far the link's primitive shapes reach from its origin, at most [m]; None without any."""
    reaches = []
    for shape in (*link.all("visual"), *link.all("collision")):
        solids = [solid for geometry in shape.all("geometry") for solid in geometry.children]
        reach = max((half_diagonal(solid) for solid in solids), default=0.0)
        if reach > 0.0:
            reaches.append(
                reach + sum(math.hypot(*numbers(origin, "xyz")) for origin in shape.all("origin")[:1])
            )
    return max(reaches, default=None)


def half_diagonal(solid: Element) -> float:
    """Half of the diagonal of a box, cylinder or sphere [m]; 0 of anything else."""
    if solid.tag == "box":
        return math.hypot(*numbers(solid, "size")) / 2
    if solid.tag in ("cylinder", "sphere"):
        radius, length = (sum(numbers(solid, name)) for name in ("radius", "length"))
        return math.hypot(radius, length / 2)
    return 0.0


def numbers(element: Element, attribute: str) -> list[float]:
    """The numbers of an attribute; none where they cannot be read: shapes are no part of the motion."""
    try:
        values = [float(word) for word in element.attributes.get(attribute, "").split()]
    except ValueError:
        return []
    return [value for value in values if math.isfinite(value)]
