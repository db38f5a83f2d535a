"""What a URDF says beside links and joints: rotors in transmissions, ros2_control, the sizes of shapes."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kane_dynamics_ros.description.findings import DescriptionError, Notes
from kane_dynamics_ros.description.xml_tree import Element, Reader

_INERTIA_TAGS = ("drake:rotor_inertia", "rotorInertia", "rotor_inertia", "motorInertia")
_DRAKES_RATIO = "drake:gear_ratio"
_REDUCTION_TAGS = ("mechanicalReduction", "mechanical_reduction")
AGREEING = 1e-8  # relative: rotor inertias that are nearer say the same, in files of nine digits


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


class Extras(NamedTuple):
    """What transmissions and ros2_control say of joints, by name, and what of it cannot be read."""

    motor_inertias: dict[str, list[MotorInertia]]
    initial_positions: dict[str, float]  # [rad] or [m]
    errors: dict[str, list[DescriptionError]]


def read_extras(root: Element, notes: Notes) -> Extras:
    """Rotor inertias from ``<transmission>`` and initial positions from ``<ros2_control>``."""
    extras = Extras(defaultdict(list), {}, defaultdict(list))
    controls = root.all("ros2_control")
    for transmission in (t for place in (root, *controls) for t in place.all("transmission")):
        names = [joint.get("name") or "" for joint in transmission.all("joint")]
        try:
            inertia = motor_inertia(transmission, len(names), notes)
        except DescriptionError as error:
            for name in names:
                extras.errors[name].append(error)
        else:
            if inertia is not None:
                extras.motor_inertias[names[0]].append(inertia)
    for joint in (joint for control in controls for joint in control.all("joint")):
        read_initial_position(joint, notes, extras)
    return extras


# Rotor inertias from ``<transmission>``: reflected to the joint, J r^2, once


def motor_inertia(transmission: Element, joints: int, notes: Notes) -> MotorInertia | None:
    """The motor inertia of a transmission of so many joints; None where it gives none or is not clear.

    Clear is a transmission of one joint and one actuator, with one rotor inertia J on the motor's side and
    one reduction r (motor turns per joint turn), not 0. Beside Drake's elements a ``mechanicalReduction`` of
    1 says nothing, as Drake ignores it, and the ratio is 1 where none is given. What is not clear is noted,
    and not used.
    """
    reader = Reader(transmission, f"transmission {transmission.get('name') or ''!r}", notes)
    parts = []
    for child in transmission.children:
        parts += [child, *(child.children if child.tag in ("joint", "actuator") else ())]
    inertias = values(reader, parts, _INERTIA_TAGS)
    if not inertias:
        return None
    actuators = len(transmission.all("actuator"))
    reductions = values(reader, parts, _REDUCTION_TAGS)
    if any(part.tag.startswith("drake:") for part in parts):
        others = [reduction for reduction in reductions if reduction != 1.0]
        reductions = values(reader, parts, (_DRAKES_RATIO,)) + others or [1.0]
    clear = {joints, actuators, len(set(inertias)), len(set(reductions))} == {1}
    if clear and reductions[0] != 0.0:
        elements = tuple(part for part in parts if part.tag in _INERTIA_TAGS)
        return MotorInertia(elements, inertias[0], reductions[0])
    message = f"{joints} joints, {actuators} actuators, reductions {reductions or 'none'}"
    only = ", other than 0" if clear else ""
    reader.note("KD412", f"its rotor inertia is not used: {message}; one of each is clear{only}")
    return None


def values(transmission: Reader, parts: Iterable[Element], tags: Iterable[str]) -> list[float]:
    """The numbers in the parts called ``tags``, from their ``value`` attribute or their text.

    None is negative where it is an inertia.
    """
    numbers = []
    for part in parts:
        if part.tag in tags:
            reader = transmission.child(part)
            number = reader.convert(part.tag, part.attributes.get("value", part.text).strip())
            numbers.append(reader.not_negative(part.tag, number) if part.tag in _INERTIA_TAGS else number)
    return numbers


def stated_rotor_inertias(armature: float, reflected: Iterable[float]) -> list[float]:
    """What counts of ``<dynamics armature>``, 0 where absent, and of transmissions; the first is used."""
    return ([armature] if armature > 0.0 else []) + list(reflected)


def joined_rotor_inertia(joint: Reader, armature: float, motors: Sequence[MotorInertia]) -> float:
    """A joint's rotor inertia from ``<dynamics armature>`` and transmissions: the first, never their sum."""
    stated = stated_rotor_inertias(armature, (motor.reflected for motor in motors))
    if not stated:
        return 0.0
    if max(stated) - min(stated) > AGREEING * max(stated):
        several = ", ".join(map(repr, stated))
        joint.note("KD412", f"several rotor inertias ({several}): the first is used, they are not added")
    else:
        joint.note("KD411", f"rotor inertia {stated[0]!r} reflected to the joint")
    return stated[0]


# Initial joint positions from ``<ros2_control>``


def read_initial_position(joint: Element, notes: Notes, extras: Extras) -> None:
    """``initial_value`` of the position state interface of a joint, where it has one [rad] or [m]."""
    name = joint.get("name") or ""
    interfaces = (i for i in joint.all("state_interface") if i.attributes.get("name") == "position")
    for parameter in (parameter for interface in interfaces for parameter in interface.all("param")):
        if parameter.attributes.get("name") == "initial_value":
            reader = Reader(parameter, f"<ros2_control> joint {name!r} <param>", notes)
            try:
                extras.initial_positions[name] = reader.convert("initial_value", parameter.text.strip())
            except DescriptionError as error:
                extras.errors[name].append(error)


# How large a link is, as far as the URDF says without its meshes


def shape_size(link: Element) -> tuple[float | None, float | None]:
    """How far a link's primitive shapes reach from its origin [m], and the larger of the volumes [m^3].

    The first is None without any, the second also where there is a mesh.
    """
    reaches, volumes = [], []
    for kind in ("visual", "collision"):
        volume = []
        for shape in link.all(kind):
            origin = shape.first("origin")
            away = 0.0 if origin is None else math.hypot(*numbers(origin, "xyz"))
            for geometry in shape.all("geometry"):
                for solid in geometry.children:
                    half_diagonal, own = size(solid)
                    volume.append(own)
                    reaches += [half_diagonal + away] if half_diagonal > 0.0 else []
        volumes.append(sum(volume))
    largest = max(volumes)
    return max(reaches, default=None), largest if 0.0 < largest < math.inf else None


def size(solid: Element) -> tuple[float, float]:
    """Half of the diagonal [m] and volume [m^3] of a box, cylinder or sphere; 0 and infinity of others."""
    radius, length = (sum(numbers(solid, name)) for name in ("radius", "length"))
    if solid.tag == "box":
        sides = numbers(solid, "size")
        return math.hypot(*sides) / 2, math.prod(sides)
    if solid.tag == "cylinder":
        return math.hypot(radius, length / 2), math.pi * radius**2 * length
    if solid.tag == "sphere":
        return radius, 4 / 3 * math.pi * radius**3
    return 0.0, math.inf


def numbers(element: Element, attribute: str) -> list[float]:
    """The numbers of an attribute; none where they cannot be read: shapes are no part of the motion."""
    try:
        values = [float(word) for word in element.attributes.get(attribute, "").split()]
    except ValueError:
        return []
    return [value for value in values if math.isfinite(value)]
