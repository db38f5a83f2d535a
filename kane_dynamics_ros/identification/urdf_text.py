"""The identified numbers in the URDF's own text: nothing else of it changes, not a byte.

A moving link's body may be several links of the file, fixed to each other. One of them carries what was
identified (the moving link itself, where it has a mass); the others keep what the file says, so that their
sum is the body. Only numbers are replaced. A rotor inertia goes to every place that the reader takes it from.
What the file has no place for (a friction where there is no ``<dynamics>``) is left out, unless places may be
added.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array, transpose
from kane_dynamics_ros.description import Chain, Robot
from kane_dynamics_ros.description.chain import bodies_of
from kane_dynamics_ros.description.extras import MotorInertia, read_extras, stated_rotor_inertias
from kane_dynamics_ros.description.findings import Notes, Place
from kane_dynamics_ros.description.geometry import (
    Pose,
    about_origin,
    central_inertia,
    inverse,
    lump,
    moved_inertia,
    rotated_tensor,
    rotation_quaternion,
    rotation_rpy,
)
from kane_dynamics_ros.description.model import Inertia, Vector
from kane_dynamics_ros.description.text_edits import TENSOR_ENTRIES, Edit, UrdfText, parse_text, uneditable
from kane_dynamics_ros.description.xml_tree import Element

DIGITS = 9  # significant ones
SAME = 1e-9  # of the largest number of its kind: a change so small leaves the file's digits


class Carrier(NamedTuple):
    """The link of a body that carries what is identified; None where the body has no mass.

    ``pose``: its frame in the body's. ``others`` (10,): the parameters of the body's other links, in
    the body's frame.
    """

    link: str | None
    pose: Pose
    others: Array


def carriers(robot: Robot, chain: Chain) -> list[Carrier]:
    """The carrier of each body of a chain, root to tip."""
    found = []
    for body in bodies_of(robot, chain):
        heavy = [p for p in body.links if _mass(p.link.inertia) > 0.0]
        if not heavy:
            found.append(Carrier(None, Pose(), np.zeros(10)))
            continue
        own = heavy[0] if heavy[0].joint is None else max(heavy, key=lambda p: _mass(p.link.inertia))
        rest = lump(moved_inertia(p.pose, p.link.inertia) for p in heavy if p is not own and p.link.inertia)
        found.append(Carrier(own.link.name, own.pose, np.array(about_origin(rest))))
    return found


def _mass(inertia: Inertia | None) -> float:
    return 0.0 if inertia is None else inertia.mass


@dataclass(frozen=True)
class JointNumbers:
    """What a joint's ``<dynamics>`` and transmission shall say, in SI units, reflected to the joint."""

    damping: float
    friction: float
    rotor_inertia: float


class Rewritten(NamedTuple):
    """The new text, and in words what it has no place for."""

    text: bytes
    not_written: tuple[str, ...]


def rewritten(
    text: bytes,
    links: Mapping[str, Inertia],
    joints: Mapping[str, JointNumbers],
    source: str,
    add: bool = False,
) -> Rewritten:
    """The URDF ``text`` with other inertias (in link frames) and joint numbers.

    ``add``: attributes and ``<dynamics>`` that are missing are added. Raises ``DescriptionError`` where the
    text cannot be changed in place.
    """
    urdf = parse_text(text, source)
    extras = read_extras(urdf.root, Notes(source))
    edits: list[Edit] = []
    not_written: list[str] = []
    for name, inertia in links.items():
        link = next((link for link in urdf.root.all("link") if link.get("name") == name), None)
        inertial = None if link is None else link.first("inertial")
        if inertial is None:
            raise uneditable(Place(source, None, f"link {name!r}"), "no <inertial> was found in its text")
        edits += _inertial_edits(urdf, inertial, inertia)
    for joint in urdf.root.all("joint"):
        name = joint.attributes.get("name", "")
        if name in joints:
            motors = extras.motor_inertias.get(name, ())
            own, missing = _joint_edits(urdf, joint, joints[name], motors)
            edits += own
            if add:
                edits += _additions(urdf, joint, missing)
            elif missing:
                values = ", ".join(f"{key} {number(value)}" for key, value in missing.items())
                not_written.append(f"joint {name!r}: {values}")
    return Rewritten(urdf.edited(edits), tuple(not_written))


def number(value: float) -> str:
    """A number as the file gets it."""
    return f"{value + 0.0:.{DIGITS}g}"


def _changed(new: Sequence[float], old: Sequence[float], scale: float) -> bool:
    return any(abs(a - b) > SAME * scale for a, b in zip(new, old, strict=True))


def _numbers(text: str | None, count: int) -> list[float]:
    values = [float(word) for word in (text or "").split()]
    return values if len(values) == count else [0.0] * count


def _inertial_edits(urdf: UrdfText, inertial: Element, inertia: Inertia) -> Iterator[Edit]:
    """Mass, centre and tensor; the inertial frame keeps its orientation, and the tensor is turned into it."""
    origin, mass, tensor = (inertial.first(tag) for tag in ("origin", "mass", "inertia"))
    if mass is None or tensor is None:
        place = Place(urdf.source, inertial.line)
        raise uneditable(place, "an <inertial> without <mass> or <inertia> cannot be filled in")
    old_mass = float(mass.attributes.get("value", "0"))
    if _changed([inertia.mass], [old_mass], max(inertia.mass, old_mass)):
        yield urdf.attribute(mass, "value", number(inertia.mass))
    old_com = _numbers(origin.get("xyz"), 3) if origin else [0.0, 0.0, 0.0]
    if _changed(inertia.com, old_com, 1.0):
        values = " ".join(number(c) for c in inertia.com)
        if origin is not None:
            yield urdf.attribute(origin, "xyz", values)
        else:
            yield urdf.first_child(inertial, f'<origin xyz="{values}"/>')
    I_I = rotated_tensor(transpose(_orientation(origin)), inertia.tensor)
    old = [float(tensor.attributes.get(name, "0")) for name in TENSOR_ENTRIES]
    new = [I_I[i][j] for i, j in TENSOR_ENTRIES.values()]
    if _changed(new, old, max(map(abs, [*old, *new]))):
        for name, value in zip(TENSOR_ENTRIES, new, strict=True):
            yield urdf.attribute(tensor, name, number(value))


def _orientation(origin: Element | None) -> tuple[Vector, Vector, Vector]:
    if origin is None:
        return rotation_rpy(0.0, 0.0, 0.0)
    if "quat_xyzw" in origin.attributes:
        x, y, z, w = _numbers(origin.attributes["quat_xyzw"], 4)
        return rotation_quaternion(x, y, z, w)
    roll, pitch, yaw = _numbers(origin.get("rpy"), 3)
    return rotation_rpy(roll, pitch, yaw)


def _joint_edits(
    urdf: UrdfText, joint: Element, numbers: JointNumbers, motors: Sequence[MotorInertia]
) -> tuple[list[Edit], dict[str, float]]:
    """Damping, friction and rotor inertia where the file has them, and the attributes that it lacks."""
    dynamics = joint.first("dynamics")
    edits, missing = [], {}
    for name, value in (("damping", numbers.damping), ("friction", numbers.friction)):
        old = _written(dynamics, name)
        if _changed([value], [old], max(value, old)):
            if dynamics is not None and name in dynamics.attributes:
                edits.append(urdf.attribute(dynamics, name, number(value)))
            else:
                missing[name] = value
    rotor = _rotor_edits(urdf, dynamics, motors, numbers.rotor_inertia)
    if rotor is None:
        missing["armature"] = numbers.rotor_inertia
    return edits + (rotor or []), missing


def _rotor_edits(
    urdf: UrdfText, dynamics: Element | None, motors: Sequence[MotorInertia], wanted: float
) -> list[Edit] | None:
    """The rotor inertia in every place that states it, so that they agree; None where there is none.

    On the motor's side J = I / r^2, I being the one at the joint. An armature of 0 states nothing beside a
    transmission, and stays.
    """
    armature = _written(dynamics, "armature")
    stated = stated_rotor_inertias(armature, [motor.reflected for motor in motors])
    now = stated[0] if stated else 0.0
    if not _changed([wanted], [now], max(wanted, now)):
        return []
    edits = [
        urdf.content(element, number(wanted / motor.reduction**2))
        for motor in motors
        for element in motor.elements
    ]
    if dynamics is not None and "armature" in dynamics.attributes and (armature > 0.0 or not motors):
        edits.append(urdf.attribute(dynamics, "armature", number(wanted)))
    return edits or None


def _written(dynamics: Element | None, name: str) -> float:
    """A number of ``<dynamics>``; 0 where it is absent or blank, as the reader takes it."""
    return 0.0 if dynamics is None else float(dynamics.attributes.get(name, "").strip() or 0.0)


def _additions(urdf: UrdfText, joint: Element, missing: Mapping[str, float]) -> Iterator[Edit]:
    """The attributes of ``<dynamics>`` that a joint lacks, and the element itself."""
    dynamics = joint.first("dynamics")
    if dynamics is not None:
        yield from (urdf.attribute(dynamics, name, number(value)) for name, value in missing.items())
    elif missing:
        inside = "".join(f' {name}="{number(value)}"' for name, value in missing.items())
        yield urdf.first_child(joint, f"<dynamics{inside}/>")


def carrier_inertia(parameters: Array, carrier: Carrier) -> Inertia:
    """What the carrier of a body with ``parameters`` (10,) must say, in its own link's frame."""
    own = central_inertia(parameters - carrier.others)
    return moved_inertia(inverse(carrier.pose), own)
