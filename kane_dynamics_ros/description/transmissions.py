"""Rotor inertias from ``<transmission>``: reflected to the joint, J r^2, once."""

from collections.abc import Iterable, Sequence

from kane_dynamics_ros.description.attributes import Reader
from kane_dynamics_ros.description.notes import Notes
from kane_dynamics_ros.description.value_errors import NegativeValueError
from kane_dynamics_ros.description.xml_tree import Element

_INERTIA_TAGS = ("drake:rotor_inertia", "rotorInertia", "rotor_inertia", "motorInertia")
_REDUCTION_TAGS = ("drake:gear_ratio", "mechanicalReduction", "mechanical_reduction")


def read_rotor_inertias(root: Element, notes: Notes) -> dict[str, list[float]]:
    """For each joint the reflected rotor inertias that transmissions give it [kg m^2] or [kg].

    Clear is a transmission of one joint and one actuator, with one rotor inertia J on the motor's side and
    one reduction r (motor turns per joint turn; Drake's gear ratio is 1 where absent). What is not clear is
    noted, and not used. Raises this room's errors about numbers.
    """
    found: dict[str, list[float]] = {}
    for transmission in transmissions(root):
        name = transmission.attributes.get("name", "")
        reader = Reader(transmission, f"transmission {name!r}", notes)
        inertias = values(reader, _INERTIA_TAGS)
        if not inertias:
            continue
        joints = [joint.attributes.get("name", "") for joint in transmission.all("joint")]
        actuators = transmission.all("actuator")
        reductions = values(reader, _REDUCTION_TAGS)
        if not reductions and any(part.tag == "drake:rotor_inertia" for part in parts(transmission)):
            reductions = [1.0]
        if {len(joints), len(actuators), len(set(inertias)), len(set(reductions))} == {1}:
            found.setdefault(joints[0], []).append(inertias[0] * reductions[0] ** 2)
        else:
            message = (
                f"its rotor inertia is not used: {len(joints)} joints, {len(actuators)} actuators, "
                f"reductions {reductions or 'none'}; one of each is clear"
            )
            notes.add("KD412", message, *reader.place[1:])
    return found


def joined_rotor_inertia(joint: Reader, armature: float, reflected: Sequence[float]) -> float:
    """A joint's rotor inertia from ``<dynamics armature>`` and transmissions: the first, never their sum."""
    values = ([armature] if armature > 0.0 else []) + list(reflected)
    if not values:
        return 0.0
    if len(set(values)) > 1:
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
    """The numbers in elements called ``tags``, from their ``value`` attribute or their text; none is negative
    where it is an inertia.
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
