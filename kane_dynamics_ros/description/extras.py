"""What stands beside links and joints in a URDF: transmissions, ros2_control, mimic joints."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kane_dynamics_ros.description.attributes import LARGEST, Reader
from kane_dynamics_ros.description.findings import NegativeValueError, Notes, listed
from kane_dynamics_ros.description.model import MOVING, Joint, Mimic
from kane_dynamics_ros.description.xml_tree import Element

# Rotor inertias from ``<transmission>``: reflected to the joint, J r^2, once.


_INERTIA_TAGS = ("drake:rotor_inertia", "rotorInertia", "rotor_inertia", "motorInertia")
_DRAKES_RATIO = "drake:gear_ratio"
_REDUCTION_TAGS = ("mechanicalReduction", "mechanical_reduction")


def read_rotor_inertias(root: Element, notes: Notes) -> dict[str, list[float]]:
    """For each joint the reflected rotor inertias that transmissions give it [kg m^2] or [kg].

    Clear is a transmission of one joint and one actuator, with one rotor inertia J on the motor's side and
    one reduction r (motor turns per joint turn). Beside Drake's elements a ``mechanicalReduction`` of 1 says
    nothing, as Drake ignores it, and the ratio is 1 where none is given. What is not clear is
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
        if any(part.tag.startswith("drake:") for part in parts(transmission)):
            ratios = values(reader, (_DRAKES_RATIO,))
            reductions = ratios + [r for r in reductions if r != 1.0] or [1.0]
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


# Initial joint positions from ``<ros2_control>``.


def read_initial_positions(root: Element, notes: Notes) -> dict[str, float]:
    """``initial_value`` of the position state interface of each joint that has one [rad] or [m]."""
    positions: dict[str, float] = {}
    for control in root.all("ros2_control"):
        for joint in control.all("joint"):
            for interface in joint.all("state_interface"):
                if interface.attributes.get("name") != "position":
                    continue
                for parameter in interface.all("param"):
                    if parameter.attributes.get("name") == "initial_value":
                        name = joint.attributes.get("name", "")
                        reader = Reader(parameter, f"<ros2_control> joint {name!r} <param>", notes)
                        positions[name] = reader.convert("initial_value", parameter.text.strip())
    return positions


# Joints that follow others: each follower traced to the joint that really leads it.


class Mimics(NamedTuple):
    """Followers with the leader at the end of their line, multiplier and offset composed; and followers whose
    ``<mimic>`` cannot be followed, with the reason.
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
