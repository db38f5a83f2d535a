"""The identified numbers in the URDF's own text: nothing else of it changes, not a byte.

A moving link's body may be several links of the file, fixed to each other. One of them carries what was
identified (the moving link itself, where it has a mass); the others keep what the file says, so that their
sum is the body. The text is walked by expat, which tells where each element begins; only attribute values are
replaced. What the file has no place for (a friction where there is no ``<dynamics>``) is left out, unless
places may be added.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.parsers import expat

import numpy as np

from kane_dynamics_ros.description import Chain, Robot
from kane_dynamics_ros.description.algebra import transpose
from kane_dynamics_ros.description.bodies import attached_links, take_apart
from kane_dynamics_ros.description.geometry import (
    Pose,
    inverse,
    lump,
    moved_inertia,
    point_mass_tensor,
    rotated_tensor,
    rotation_quaternion,
    rotation_rpy,
)
from kane_dynamics_ros.description.model import Inertia, Vector
from kane_dynamics_ros.description.tree import hold
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.runtime.interface import Array

DIGITS = 9  # significant ones
SAME = 1e-9  # of the largest number of its kind: a change so small leaves the file's digits
INERTIA_TAGS = ("drake:rotor_inertia", "rotorInertia", "rotor_inertia", "motorInertia")
REDUCTION_TAGS = ("drake:gear_ratio", "mechanicalReduction", "mechanical_reduction")
TENSOR = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}


class UrdfTextError(KaneDynamicsError):
    """A number of the URDF that cannot be found in its text."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where}: {what}")


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
    parts = take_apart(
        robot,
        (joint.name for joint in chain.joints if not joint.back),
        hold(robot, dict(chain.locked), chain.root),
    )
    found = []
    for joint in chain.joints:
        heavy = (
            []
            if joint.back
            else [p for p in attached_links(parts, joint.body) if _mass(p.link.inertia) > 0.0]
        )
        if not heavy:
            found.append(Carrier(None, Pose(), np.zeros(10)))
            continue
        own = (
            heavy[0] if heavy[0].link.name == joint.body else max(heavy, key=lambda p: _mass(p.link.inertia))
        )
        rest = lump(moved_inertia(p.pose, p.link.inertia) for p in heavy if p is not own and p.link.inertia)
        found.append(Carrier(own.link.name, own.pose, standard(rest)))
    return found


def _mass(inertia: Inertia | None) -> float:
    return 0.0 if inertia is None else inertia.mass


def standard(inertia: Inertia) -> Array:
    """m, h and J about the frame's origin: (10,)."""
    x, y, z = inertia.com
    about = np.array(inertia.tensor) + np.array(point_mass_tensor(inertia.mass, inertia.com))
    return np.array([inertia.mass, *(inertia.mass * c for c in (x, y, z)), *about[np.triu_indices(3)]])


def central(parameters: Array) -> Inertia:
    """Mass, centre of mass and central tensor of m, h and J (10,)."""
    m = float(parameters[0])
    com = (float(parameters[1] / m), float(parameters[2] / m), float(parameters[3] / m))
    J = np.zeros((3, 3))
    J[np.triu_indices(3)] = parameters[4:]
    J = J + np.triu(J, 1).T - np.array(point_mass_tensor(m, com))
    rows = [(float(row[0]), float(row[1]), float(row[2])) for row in J]
    return Inertia(m, com, (rows[0], rows[1], rows[2]))


@dataclass(frozen=True)
class JointNumbers:
    """What a joint's ``<dynamics>`` and transmission shall say, in SI units, reflected to the joint."""

    damping: float
    friction: float
    rotor_inertia: float


@dataclass
class _Node:
    """An element with the place of its start tag in the text."""

    tag: str
    attributes: dict[str, str]
    start: int
    children: list["_Node"] = field(default_factory=list)

    def first(self, tag: str) -> "_Node | None":
        return next((child for child in self.children if child.tag == tag), None)

    def all(self, tag: str) -> "list[_Node]":
        return [child for child in self.children if child.tag == tag]


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


class Rewritten(NamedTuple):
    """The new text, and in words what it has no place for."""

    text: bytes
    homeless: tuple[str, ...]


def rewritten(
    text: bytes,
    links: Mapping[str, Inertia],
    joints: Mapping[str, JointNumbers],
    source: str,
    add: bool = False,
) -> Rewritten:
    """The URDF ``text`` with other inertias (in link frames) and joint numbers.

    ``add``: attributes and ``<dynamics>`` that are missing are added. Raises ``UrdfTextError``.
    """
    root = _parsed(text, source)
    edits: list[_Edit] = []
    homeless: list[str] = []
    for name, inertia in links.items():
        node = next((link for link in root.all("link") if link.attributes.get("name") == name), None)
        inertial = None if node is None else node.first("inertial")
        if inertial is None:
            raise UrdfTextError(f"{source}: link {name!r}", "no <inertial> was found in its text")
        edits += _inertial_edits(text, inertial, inertia)
    for name, numbers in joints.items():
        found = [joint for joint in root.all("joint") if joint.attributes.get("name") == name]
        if found:
            edits += _joint_edits(text, found[0], numbers, root, homeless, add)
    return Rewritten(_applied(text, edits), tuple(homeless))


def _parsed(text: bytes, source: str) -> _Node:
    if b"\x00" in text:
        raise UrdfTextError(source, "its encoding is none of UTF-8, Latin-1 or ASCII; save it as UTF-8")
    parser = expat.ParserCreate()
    parser.buffer_text = True
    stack: list[_Node] = [_Node("", {}, 0)]

    def start(tag: str, attributes: dict[str, str]) -> None:
        node = _Node(tag, attributes, parser.CurrentByteIndex)
        stack[-1].children.append(node)
        stack.append(node)

    def end(tag: str) -> None:
        stack.pop()

    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise UrdfTextError(source, f"it is not XML: {error}") from None
    return stack[0].children[0]


def _tag_end(text: bytes, start: int) -> int:
    """Where a start tag's own characters end: the place of its ``>`` or ``/>``."""
    tag = re.compile(rb"<(?:[^>\"']|\"[^\"]*\"|'[^']*')*?(/?)>").match(text, start)
    if tag is None:
        raise UrdfTextError(f"byte {start}", "an element's tag does not end")
    return tag.end() - 1 - len(tag.group(1))


def _value_span(text: bytes, node: _Node, attribute: str) -> tuple[int, int] | None:
    """Where an attribute's value lies, without its quotes."""
    pattern = re.compile(rb"[\s]" + re.escape(attribute.encode()) + rb"\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
    found = pattern.search(text, node.start, _tag_end(text, node.start))
    if found is None:
        return None
    return found.span(1) if found.group(1) is not None else found.span(2)


def _attribute(text: bytes, node: _Node, attribute: str, value: str) -> _Edit:
    """Replace an attribute's value, or add the attribute behind the others."""
    span = _value_span(text, node, attribute)
    if span is not None:
        return _Edit(*span, value)
    end = _tag_end(text, node.start)
    while text[end - 1 : end].isspace():
        end -= 1
    return _Edit(end, end, f' {attribute}="{value}"')


def number(value: float) -> str:
    """A number as the file gets it."""
    return f"{value + 0.0:.{DIGITS}g}"


def _changed(new: Sequence[float], old: Sequence[float], scale: float) -> bool:
    return any(abs(a - b) > SAME * scale for a, b in zip(new, old, strict=True))


def _numbers(text: str | None, count: int) -> list[float]:
    values = [float(word) for word in (text or "").split()]
    return values if len(values) == count else [0.0] * count


def _inertial_edits(text: bytes, inertial: _Node, inertia: Inertia) -> Iterator[_Edit]:
    """Edits of mass, centre and tensor; the orientation of the inertial frame stays.

    The tensor is turned into it.
    """
    origin, mass, tensor = inertial.first("origin"), inertial.first("mass"), inertial.first("inertia")
    if mass is None or tensor is None:
        raise UrdfTextError(
            f"byte {inertial.start}", "an <inertial> without <mass> or <inertia> cannot be filled in"
        )
    old_mass = float(mass.attributes.get("value", "0"))
    if _changed([inertia.mass], [old_mass], max(inertia.mass, old_mass)):
        yield _attribute(text, mass, "value", number(inertia.mass))
    old_com = _numbers(origin.attributes.get("xyz"), 3) if origin else [0.0, 0.0, 0.0]
    if _changed(inertia.com, old_com, 1.0):
        values = " ".join(number(c) for c in inertia.com)
        if origin is not None:
            yield _attribute(text, origin, "xyz", values)
        else:
            after = _tag_end(text, inertial.start) + 1
            yield _Edit(after, after, f'<origin xyz="{values}"/>')
    I_I = rotated_tensor(transpose(_orientation(origin)), inertia.tensor)
    old = [float(tensor.attributes.get(name, "0")) for name in TENSOR]
    new = [I_I[i][j] for i, j in TENSOR.values()]
    if _changed(new, old, max(map(abs, [*old, *new]))):
        for name, value in zip(TENSOR, new, strict=True):
            yield _attribute(text, tensor, name, number(value))


def _orientation(origin: _Node | None) -> tuple[Vector, Vector, Vector]:
    if origin is None:
        return rotation_rpy(0.0, 0.0, 0.0)
    if "quat_xyzw" in origin.attributes:
        x, y, z, w = _numbers(origin.attributes["quat_xyzw"], 4)
        return rotation_quaternion(x, y, z, w)
    roll, pitch, yaw = _numbers(origin.attributes.get("rpy"), 3)
    return rotation_rpy(roll, pitch, yaw)


def _joint_edits(
    text: bytes, joint: _Node, numbers: JointNumbers, root: _Node, homeless: list[str], add: bool
) -> Iterator[_Edit]:
    """Damping, friction and rotor inertia where the file has them."""
    name = joint.attributes["name"]
    dynamics = joint.first("dynamics")
    transmission = _rotor_edits(text, root, name, numbers.rotor_inertia)
    wanted = {"damping": numbers.damping, "friction": numbers.friction}
    if transmission is None:
        wanted["armature"] = numbers.rotor_inertia
    else:
        yield from transmission
    missing: dict[str, float] = {}
    for attribute, value in wanted.items():
        written = None if dynamics is None else dynamics.attributes.get(attribute)
        if dynamics is not None and written is not None:
            if _changed([value], [float(written)], max(abs(value), abs(float(written)))):
                yield _attribute(text, dynamics, attribute, number(value))
        elif value != 0.0:
            missing[attribute] = value
    if not missing:
        return
    if not add:
        values = ", ".join(f"{key} {number(value)}" for key, value in missing.items())
        homeless.append(f"joint {name!r}: {values}")
    elif dynamics is not None:
        # one edit, for they share their place
        end = _tag_end(text, dynamics.start)
        while text[end - 1 : end].isspace():
            end -= 1
        yield _Edit(end, end, "".join(f' {key}="{number(value)}"' for key, value in missing.items()))
    else:
        after = _tag_end(text, joint.start) + 1
        inside = "".join(f' {key}="{number(value)}"' for key, value in missing.items())
        yield _Edit(after, after, f"<dynamics{inside}/>")


def _rotor_edits(text: bytes, root: _Node, joint: str, reflected: float) -> list[_Edit] | None:
    """The motor-side inertia J of the joint's transmission; None where it has none.

    J r^2 is the reflected one.
    """
    blocks = [
        *root.all("transmission"),
        *(t for c in root.all("ros2_control") for t in c.all("transmission")),
    ]
    for block in blocks:
        names = [each.attributes.get("name") for each in block.all("joint")]
        if names != [joint]:
            continue
        inner = [part for child in block.children for part in (child, *child.children)]
        inertias = [part for part in inner if part.tag in INERTIA_TAGS]
        reductions = {_element_number(text, part) for part in inner if part.tag in REDUCTION_TAGS} or {1.0}
        span = _number_span(text, inertias[0]) if len(inertias) == 1 and len(reductions) == 1 else None
        ratio = reductions.pop()
        if span is None or ratio == 0.0:
            continue
        written = _element_number(text, inertias[0]) * ratio**2
        same = math.isclose(written, reflected, rel_tol=SAME)
        return [] if same else [_Edit(*span, number(reflected / ratio**2))]
    return None


def _number_span(text: bytes, node: _Node) -> tuple[int, int] | None:
    """Where an element's number lies: its ``value``, or its text."""
    span = _value_span(text, node, "value")
    if span is not None:
        return span
    start = _tag_end(text, node.start) + 1
    found = re.compile(rb"\s*([^\s<]+)\s*<").match(text, start)
    return None if found is None else found.span(1)


def _element_number(text: bytes, node: _Node) -> float:
    span = _number_span(text, node)
    return 0.0 if span is None else float(text[slice(*span)])


def _applied(text: bytes, edits: Iterable[_Edit]) -> bytes:
    """All edits at once, from the end on, so that places before stay what they are."""
    merged: dict[tuple[int, int], str] = {}
    for edit in edits:
        key = (edit.start, edit.end)
        merged[key] = merged.get(key, "") + edit.text if edit.start == edit.end else edit.text
    for (start, end), new in sorted(merged.items(), reverse=True):
        text = text[:start] + new.encode() + text[end:]
    return text


def carrier_inertia(parameters: Array, carrier: Carrier) -> Inertia:
    """What the carrier of a body with ``parameters`` (10,) must say, in its own link's frame."""
    own = central(parameters - carrier.others)
    return moved_inertia(inverse(carrier.pose), own)
