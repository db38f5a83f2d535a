"""URDF text to a Robot: every element read, checked and accounted for."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple, get_args

from kane_dynamics_ros.description.attributes import Reader, read_origin
from kane_dynamics_ros.description.checks import link_sizes, note_inertias, note_joints, note_names
from kane_dynamics_ros.description.extras import (
    joined_rotor_inertia,
    note_broken_mimics,
    read_initial_positions,
    read_rotor_inertias,
)
from kane_dynamics_ros.description.findings import (
    DuplicateNameError,
    InertiaWithoutMassError,
    LimitOrderError,
    MissingError,
    NegativeMassError,
    NegativeValueError,
    Notes,
    NotUrdfError,
    UnknownJointTypeError,
    UnrunXacroError,
    ZeroAxisError,
)
from kane_dynamics_ros.description.geometry import (
    ROUNDING,
    failed_condition,
    principal_moments,
    rotated_tensor,
    symmetric,
)
from kane_dynamics_ros.description.model import (
    MOVING,
    ZERO,
    Inertia,
    Joint,
    JointKind,
    Limits,
    Link,
    Matrix,
    Mimic,
    Robot,
    Vector,
)
from kane_dynamics_ros.description.tree import check_tree
from kane_dynamics_ros.description.xml_tree import Element, note_text, parse_xml, strip_namespace

# ``<inertial>`` to an Inertia.


def read_inertial(link: Reader) -> Inertia | None:
    """The inertia of a link, expressed in its frame; None where it has no ``<inertial>`` (URDF: massless).

    A tensor that no body has is noted here, and refused where it moves. Raises ``NegativeMassError``,
    ``InertiaWithoutMassError``.
    """
    inertial = link.child("inertial")
    if inertial is None:
        return None
    mass_element, inertia_element = inertial.child("mass"), inertial.child("inertia")
    mass = 0.0 if mass_element is None else mass_element.number("value")
    if mass < 0.0:
        raise NegativeMassError((mass_element or inertial).place, mass)
    I_cm = (ZERO, ZERO, ZERO) if inertia_element is None else read_tensor(inertia_element)
    check_tensor(inertia_element or inertial, mass, I_cm)
    if mass == 0.0:
        return Inertia(0.0, ZERO, (ZERO, ZERO, ZERO))
    R_LI, p_LoLcm_L = read_origin(inertial)
    return Inertia(mass, p_LoLcm_L, rotated_tensor(R_LI, I_cm))


def read_tensor(inertia: Reader) -> Matrix:
    """The tensor about the centre of mass in inertial axes; ixy, ixz, iyz are its entries as written."""
    xx, yy, zz = (inertia.number(name) for name in ("ixx", "iyy", "izz"))
    xy, xz, yz = (inertia.number(name, default=0.0) for name in ("ixy", "ixz", "iyz"))
    return symmetric(xx, yy, zz, xy, xz, yz)


def check_tensor(inertia: Reader, mass: float, tensor: Matrix) -> None:
    """Raises ``InertiaWithoutMassError``; notes a tensor that no body has."""
    moments = principal_moments(tensor)
    if mass == 0.0 and max(abs(moment) for moment in moments) > ROUNDING:
        raise InertiaWithoutMassError(inertia.place, moments)
    failed = failed_condition(tensor)
    if failed:
        message = f"no body has this inertia: {failed}; refused only where it moves with the chain"
        inertia.notes.add("KD406", message, *inertia.place[1:])


# ``<joint>`` to a Joint.


KINDS: tuple[JointKind, ...] = get_args(JointKind)
SHORTEST_AXIS = 1e-6  # shorter has no direction that its author meant


def read_joint(joint: Reader) -> Joint:
    """Read one joint; ``mimic`` is as written. Raises this room's errors about numbers, axis and limits."""
    kind = read_kind(joint)
    placement = read_origin(joint)
    dynamics = joint.child("dynamics")
    moving = kind in MOVING
    return Joint(
        name=joint.name(),
        kind=kind,
        parent=read_end(joint, "parent"),
        child=read_end(joint, "child"),
        R_PJ=placement.R,
        p_PoJo_P=placement.p,
        axis=read_axis(joint) if moving else (1.0, 0.0, 0.0),
        limits=read_limits(joint) if moving else Limits(),
        damping=coefficient(dynamics, "damping"),
        friction=coefficient(dynamics, "friction"),
        rotor_inertia=coefficient(dynamics, "armature"),
        mimic=read_mimic(joint) if moving else None,
        line=joint.element.line,
    )


def coefficient(dynamics: Reader | None, attribute: str) -> float:
    """A number of ``<dynamics>`` that is 0 or more; 0 where it is absent. Raises ``NegativeValueError``."""
    value = 0.0 if dynamics is None else dynamics.number(attribute, 0.0)
    if dynamics is not None and value < 0.0:
        raise NegativeValueError(dynamics.place, attribute, value)
    return value


def read_kind(joint: Reader) -> JointKind:
    """The joint's type. Raises ``UnknownJointTypeError``."""
    text = joint.name("type").strip()
    for kind in KINDS:
        if text == kind:
            return kind
    raise UnknownJointTypeError(joint.place, text, KINDS)


def read_end(joint: Reader, role: str) -> str:
    """The name of the parent or child link."""
    end = joint.child(role)
    if end is None:
        raise MissingError(joint.place, f"element <{role}>")
    return end.name("link")


def read_axis(joint: Reader) -> Vector:
    """The unit vector along the axis; 1 0 0 where none is given. Raises ``ZeroAxisError``."""
    axis = joint.child("axis")
    if axis is None or "xyz" not in axis.element.attributes:
        joint.notes.add("KD306", "no <axis>: it is 1 0 0, as URDF says", *joint.place[1:])
        return (1.0, 0.0, 0.0)
    x, y, z = axis.vector("xyz")
    length = math.hypot(x, y, z)
    if length < SHORTEST_AXIS:
        raise ZeroAxisError(axis.place, (x, y, z))
    if abs(length - 1.0) > 1e-3:
        axis.notes.add("KD305", f"the axis has length {length:.6g}: made 1", *axis.place[1:])
    return (x / length, y / length, z / length)


def read_limits(joint: Reader) -> Limits:
    """Limits; 0 means unknown for effort, velocity, and for both positions; a continuous joint has none."""
    limit = joint.child("limit")
    if limit is None:
        return Limits()
    velocity, effort, lower, upper = (limit.bound(name) for name in ("velocity", "effort", "lower", "upper"))
    if joint.element.attributes["type"].strip() == "continuous" or lower == upper == 0.0:
        lower = upper = None
    if lower is not None and upper is not None and lower > upper:
        raise LimitOrderError(limit.place, lower, upper)
    return Limits(lower, upper, positive(velocity), positive(effort))


def positive(value: float | None) -> float | None:
    """``value``, or None where it is 0, negative or unknown."""
    return value if value is not None and value > 0.0 else None


def read_mimic(joint: Reader) -> Mimic | None:
    """``<mimic>`` as written; None where there is none."""
    mimic = joint.child("mimic")
    if mimic is None:
        return None
    return Mimic(mimic.name("joint"), mimic.number("multiplier", 1.0), mimic.number("offset", 0.0))


# What URDF elements may hold, so that nothing is ignored in silence.


class Allowed(NamedTuple):
    """Attributes and child elements that URDF or its common extensions know for one element."""

    attributes: frozenset[str] = frozenset()
    children: Mapping[str, "Allowed"] = {}


# Known elements that are not looked into here; each is counted in one finding that says what is read of it.
_NO_PART = (
    "visual collision contact self_collision_checking collision_checking gazebo material sensor mujoco "
    "safety_controller calibration"
)
UNREAD = {
    **dict.fromkeys(_NO_PART.split(), "{} has no part in the motion and is not read"),
    "ros2_control": "of {} only initial positions and rotor inertias are read",
    "elastic": "{} bends the simulated arm, where asked for; the model takes the link as rigid",
    "transmission": "of {} only rotor inertias are read",
}
MOST_KINDS = 100
FOREIGN = "{} is foreign to URDF and not read"


def allowed(attributes: str = "", **children: Allowed) -> Allowed:
    """What an element may hold: attribute names in one string, child elements by name."""
    return Allowed(frozenset(attributes.split()), children)


_ORIGIN = allowed("xyz rpy quat_xyzw")
_INERTIAL = allowed(origin=_ORIGIN, mass=allowed("value"), inertia=allowed("ixx ixy ixz iyy iyz izz"))
_JOINT = allowed(
    "name type",
    origin=_ORIGIN,
    parent=allowed("link"),
    child=allowed("link"),
    axis=allowed("xyz"),
    limit=allowed("lower upper effort velocity acceleration deceleration jerk"),
    dynamics=allowed("damping friction armature"),
    mimic=allowed("joint multiplier offset"),
)
ROBOT = allowed("name version", link=allowed("name type", inertial=_INERTIAL), joint=_JOINT)


def note_unknown(root: Element, notes: Notes) -> None:
    """Note what the reader does not read: unknown tags and attributes, foreign blocks, known but unread ones.

    Equal ones are noted once, at the first, with their number.
    """
    strangers = Strangers({}, {}, {})
    waiting = [(Reader(root, "robot", notes), ROBOT)]
    for reader, known in waiting:  # grows while it is walked
        strangers.look_at(reader, known)
        for child in reader.element.children:
            if child.tag in known.children:
                name = child.attributes.get("name")
                label = f"{child.tag} {name!r}" if known is ROBOT else f"{reader.label} <{child.tag}>"
                waiting.append((Reader(child, label, notes), known.children[child.tag]))
    strangers.write(notes)


class Strangers(NamedTuple):
    """What was met and not read: for each kind its first reader and its number."""

    tags: dict[str, list[Reader]]
    attributes: dict[str, list[Reader]]
    foreign: dict[str, list[Reader]]

    def look_at(self, reader: Reader, known: Allowed) -> None:
        """Sort what one element holds and URDF does not know."""
        for child in reader.element.children:
            kind = f"<{child.tag[:60]}> in <{reader.element.tag}>"
            where = Reader(child, reader.label, reader.notes)
            if child.tag in known.children:
                continue
            if child.tag in UNREAD or ":" in child.tag:
                self.foreign.setdefault(f"<{child.tag[:60]}>", []).append(where)
            else:
                self.tags.setdefault(kind, []).append(where)
        for name in reader.element.attributes:
            if name in known.attributes or name == "xmlns" or name.startswith("xmlns:"):
                continue
            kind = f"{name[:60]!r} of <{reader.element.tag}>"
            (self.foreign if ":" in name else self.attributes).setdefault(kind, []).append(reader)

    def write(self, notes: Notes) -> None:
        """Write down each kind once."""
        note_kinds("KD209", self.tags, lambda kind: f"unknown element {kind} was not read", notes)
        note_kinds("KD210", self.attributes, lambda kind: f"unknown attribute {kind} was not read", notes)
        note_kinds(
            "KD212", self.foreign, lambda kind: UNREAD.get(kind.strip("<>"), FOREIGN).format(kind), notes
        )


def note_kinds(
    code: str, kinds: Mapping[str, list[Reader]], message: Callable[[str], str], notes: Notes
) -> None:
    """Note each kind, but of very many only the first."""
    for kind, readers in list(kinds.items())[:MOST_KINDS]:
        note_kind(code, message(kind), readers, notes)
    if len(kinds) > MOST_KINDS:
        line = list(kinds.values())[MOST_KINDS][0].element.line
        notes.add(code, f"{len(kinds) - MOST_KINDS} other kinds of them were not read either", line)


def note_kind(code: str, message: str, readers: Iterable[Reader], notes: Notes) -> None:
    """One finding for all elements of a kind, at the first."""
    first, *others = readers
    times = f" ({len(others) + 1} times)" if others else ""
    notes.add(code, message + times, *first.place[1:])


# URDF text to a Robot.


def parse_robot(text: str | bytes, source: str | None = None) -> Robot:
    """Read URDF text; ``source`` is the file name for messages.

    Raises ``DescriptionError``: one clear message with file, line, element and what to do.
    """
    root = parse_xml(text, source)
    notes = Notes(source)
    note_text(text, notes)
    strip_namespace(root, notes)
    check_is_urdf(root, notes)
    links = tuple(read_links(root, notes))
    joints = tuple(read_joints(root, notes))
    root_link = check_tree(links, joints, root.line, notes)
    note_unknown(root, notes)
    note_names(links, joints, notes)
    note_joints(joints, notes)
    note_inertias(links, joints, link_sizes(root.all("link"), joints), notes)
    note_broken_mimics(joints, notes)
    notes.findings.sort(key=lambda finding: finding.line or 0)
    robot = Reader(root, "robot", notes)
    name = robot.name().strip() if robot.has("name") else "robot"
    return Robot(name, root_link, links, joints, tuple(notes.findings), source)


def check_is_urdf(root: Element, notes: Notes) -> None:
    """Raises ``NotUrdfError``, and ``UnrunXacroError`` where a xacro tag was left."""
    if root.tag != "robot":
        raise NotUrdfError(notes.place(root.line, None), root.tag)
    for element in walk(root):
        if element.tag.startswith("xacro:"):
            raise UnrunXacroError(notes.place(element.line, None), f"<{element.tag}>")


def walk(root: Element) -> Iterable[Element]:
    """The element and everything in it, in document order."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        yield element
        waiting.extend(reversed(element.children))


def read_links(root: Element, notes: Notes) -> Iterable[Link]:
    """The links, in the order of the file."""
    for link in named(root.all("link"), "link", notes):
        yield Link(link.name(), read_inertial(link), link.element.line)


def read_joints(root: Element, notes: Notes) -> Iterable[Joint]:
    """The joints in the order of the file, with what other elements say of them."""
    initial = read_initial_positions(root, notes)
    rotors = read_rotor_inertias(root, notes)
    for joint in named(root.all("joint"), "joint", notes):
        read = read_joint(joint)
        rotor = joined_rotor_inertia(joint, read.rotor_inertia, rotors.get(read.name, []))
        yield replace(read, initial_position=initial.get(read.name), rotor_inertia=rotor)


def named(elements: Iterable[Element], kind: str, notes: Notes) -> Iterable[Reader]:
    """A reader for each element, whose names are checked to be there and unique."""
    lines: dict[str, int] = {}
    for element in elements:
        name = Reader(element, kind, notes).name()
        reader = Reader(element, f"{kind} {name!r}", notes)
        if name in lines:
            raise DuplicateNameError(reader.place, lines[name])
        lines[name] = element.line
        yield reader
