"""URDF text to a Robot: read by ``urdf_parser_py`` from a checked copy, then frozen.

What is wrong with a number of a link or joint is kept with it as a fault: whether it matters is known when a
chain is chosen. Only what leaves no tree at all is refused here.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, get_args

from kane_dynamics_ros.algebra import symmetric
from kane_dynamics_ros.description.attributes import LARGEST, Reader
from kane_dynamics_ros.description.checks import note_names
from kane_dynamics_ros.description.extras import (
    Extras,
    joined_rotor_inertia,
    note_broken_mimics,
    read_extras,
    shape_reach,
)
from kane_dynamics_ros.description.findings import (
    DescriptionError,
    DuplicateNameError,
    InertiaWithoutMassError,
    LimitOrderError,
    MissingError,
    NegativeMassError,
    NegativeValueError,
    Notes,
    NotUrdfError,
    OldXacroError,
    OrientationError,
    UnknownJointTypeError,
    UnrunXacroError,
    ZeroAxisError,
)
from kane_dynamics_ros.description.geometry import (
    ROUNDING,
    Pose,
    principal_moments,
    rotated_tensor,
    rotation_quaternion,
    rotation_rpy,
)
from kane_dynamics_ros.description.model import (
    MOVING,
    ZERO,
    Defect,
    Inertia,
    Joint,
    JointKind,
    Limits,
    Link,
    Mimic,
    Robot,
    Vector,
)
from kane_dynamics_ros.description.tree import check_tree
from kane_dynamics_ros.description.urdf_elements import (
    ROBOT,
    UNREAD,
    Defects,
    UnknownItems,
    checked_copy,
    parse,
)
from kane_dynamics_ros.description.xml_tree import Element, note_text, parse_xml, strip_namespace

KINDS: tuple[JointKind, ...] = get_args(JointKind)
_OLD_XACRO = ("include", "macro", "insert_block")
SHORTEST_AXIS = 1e-6  # shorter has no direction that its author meant
SHORTEST_QUATERNION = 1e-6
MOST_RADIANS = 2 * math.pi * 1.001  # [rad] nobody turns a frame further; 90 and 180 are degrees


def parse_robot(text: str | bytes, source: str | None = None) -> Robot:
    """Read URDF text; ``source`` is the file name for messages.

    Raises ``DescriptionError`` for what is no URDF or no tree. Other faults stay with their link or joint;
    ``serial_chain`` raises those that matter.
    """
    root = parse_xml(text, source)
    notes = Notes(source)
    note_text(text, notes)
    strip_namespace(root, notes)
    check_is_urdf(root, notes)
    unknown = UnknownItems({}, {}, {})
    unknown.look_at(Reader(root, "robot", notes), ROBOT)
    links = [copied(reader, unknown) for reader in named(root.all("link"), "link", notes)]
    joints = [copied(reader, unknown) for reader in named(root.all("joint"), "joint", notes)]
    name = Reader(root, "robot", notes).name().strip() if root.get("name") else "robot"
    copy = Element("robot", {"name": name}, root.line, [part.copy for part in (*links, *joints)])
    parsed = parse(copy, notes)
    extras = read_extras(root, notes)
    made_links = tuple(read_link(part, element) for part, element in zip(links, parsed.links, strict=True))
    made_joints = tuple(
        read_joint(part, element, extras) for part, element in zip(joints, parsed.joints, strict=True)
    )
    root_link = check_tree(made_links, made_joints, root.line, notes)
    unknown.write(notes)
    note_names(made_links, made_joints, notes)
    note_broken_mimics(made_joints, notes)
    notes.findings.sort(key=lambda finding: finding.line or 0)
    return Robot(name, root_link, made_links, made_joints, tuple(notes.findings), source)


# Whether the text is URDF, and not xacro that waits to be expanded


def check_is_urdf(root: Element, notes: Notes) -> None:
    """Raises ``NotUrdfError``, and ``UnrunXacroError`` or ``OldXacroError`` where a tag of xacro was left.

    Such tags are noted where nothing is read anyway, as in ``<gazebo>``.
    """
    if root.tag != "robot":
        raise NotUrdfError(notes.place(root.line, None), root.tag)
    waiting = [(root, False)]
    left_over: list[Element] = []
    while waiting:
        element, unread = waiting.pop()
        if element.tag.startswith("xacro:"):
            if not unread:
                raise UnrunXacroError(notes.place(element.line, None), f"<{element.tag}>")
            left_over.append(element)
        unread = unread or (element.tag in UNREAD and element.tag not in ("transmission", "ros2_control"))
        waiting.extend((child, unread) for child in reversed(element.children))
    for element in root.children:
        if element.tag in _OLD_XACRO:
            raise OldXacroError(notes.place(element.line, None), element.tag)
    if left_over:
        times = f" ({len(left_over)} times)" if len(left_over) > 1 else ""
        message = f"<{left_over[0].tag[:60]}> was left in a block that is not read, and ignored{times}"
        notes.add("KD114", message, left_over[0].line)


# Elements, their checked copies, and what urdf_parser_py made of these


class RobotPart(NamedTuple):
    """A link or joint: its element, the copy that urdf_parser_py reads, and what of it cannot be read."""

    reader: Reader
    copy: Element
    defects: Defects

    def child(self, tag: str) -> Reader:
        """The reader of the child called ``tag``, or of the part itself where there is none."""
        found = self.reader.element.all(tag)
        return self.reader.child(found[0]) if found else self.reader


def named(elements: Iterable[Element], kind: str, notes: Notes) -> Iterator[Reader]:
    """A reader for each element, whose names are checked to be there and unique."""
    lines: dict[str, int] = {}
    for element in elements:
        name = Reader(element, kind, notes).name()
        reader = Reader(element, f"{kind} {name!r}", notes)
        if name in lines:
            raise DuplicateNameError(reader.place, lines[name])
        lines[name] = element.line
        yield reader


def copied(reader: Reader, unknown: UnknownItems) -> RobotPart:
    """The checked copy of a link or joint. Raises where its name, type, parent or child are missing."""
    tag = reader.element.tag
    copy, defects = checked_copy(reader, ROBOT.children[tag], unknown)
    if tag == "joint":
        kind = read_kind(reader)
        copy.attributes["type"] = kind
        for role in ("parent", "child"):
            if not copy.all(role):
                raise MissingError(reader.place, f"element <{role}>")
        if kind not in MOVING:
            for part in ("axis", "limit", "mimic"):
                defects.pop(part, None)
                copy.children = [child for child in copy.children if child.tag != part]
        # An axis without numbers is none, and a <mimic> that cannot be read has no leader.
        without = [child for child in copy.children if child.tag == "axis" and not child.attributes]
        without += copy.all("mimic") if defects["mimic"] else []
        copy.children = [child for child in copy.children if child not in without]
    return RobotPart(reader, copy, defects)


def read_kind(joint: Reader) -> JointKind:
    """The joint's type. Raises ``UnknownJointTypeError``."""
    text = joint.name("type").strip()
    for kind in KINDS:
        if text == kind:
            return kind
    raise UnknownJointTypeError(joint.place, text, KINDS)


# ``<link>``: its inertia about the centre of mass, in link axes


def read_link(part: RobotPart, parsed: Any) -> Link:
    """A link. Its inertia is None where it has no ``<inertial>`` (URDF: massless)."""
    errors = [error for found in part.defects.values() for error in found]
    inertia = None
    if parsed.inertial is not None and not errors:
        try:
            inertia = read_inertial(part, parsed.inertial)
        except DescriptionError as error:
            errors.append(error)
    element = part.reader.element
    defects = tuple(Defect("inertia", error) for error in errors)
    return Link(parsed.name, inertia, element.line, shape_reach(element), defects)


def read_inertial(part: RobotPart, parsed: Any) -> Inertia:
    """The inertia of a link in its frame. Raises ``NegativeMassError``, ``InertiaWithoutMassError``."""
    inertial = part.child("inertial")
    mass = parsed.mass + 0.0
    elements = {child.tag: child for child in reversed(inertial.element.children)}
    if mass < 0.0:
        raise NegativeMassError(inertial.child(elements["mass"]).place, mass)
    J = parsed.inertia
    I_cm = (ZERO, ZERO, ZERO) if J is None else symmetric((J.ixx, J.ixy, J.ixz, J.iyy, J.iyz, J.izz))
    if mass == 0.0:
        moments = principal_moments(I_cm)
        if max(abs(moment) for moment in moments) > ROUNDING:
            raise InertiaWithoutMassError(inertial.child(elements["inertia"]).place, moments)
        if "mass" not in elements and "inertia" not in elements:
            message = "it gives neither <mass> nor <inertia>: the link is taken as massless"
            inertial.notes.add("KD413", message, *inertial.place[1:])
        return Inertia(0.0, ZERO, (ZERO, ZERO, ZERO))
    R_LI, p_LoLcm_L = read_pose(inertial, parsed.origin)
    return Inertia(mass, p_LoLcm_L, rotated_tensor(R_LI, I_cm))


# ``<joint>``: placement, axis, limits, coefficients, and what it follows


class JointParts:
    """Reads parts of a joint one by one; a part that cannot be read is a fault, and stands at its default."""

    def __init__(self, part: RobotPart) -> None:
        aspects: dict[str, Literal["placement", "axis"]] = {"origin": "placement", "axis": "axis"}
        self.defects = [
            Defect(aspects.get(tag, "motion"), error)
            for tag, errors in part.defects.items()
            for error in errors
        ]

    def add(self, aspect: Literal["placement", "axis", "motion"], error: DescriptionError) -> None:
        self.defects.append(Defect(aspect, error))


def read_joint(part: RobotPart, parsed: Any, extras: Extras) -> Joint:
    """A joint; ``mimic`` is as written."""
    parts = JointParts(part)
    joint, moving = part.reader, parsed.type in MOVING
    try:
        pose = read_pose(joint, parsed.origin)
    except DescriptionError as error:
        parts.add("placement", error)
        pose = Pose()
    coefficients = read_coefficients(part, parsed.dynamics, parts)
    found = extras.of_joint(parsed.name)
    for defect in found.errors:
        parts.add("motion", defect)
    return Joint(
        name=parsed.name,
        kind=parsed.type,
        parent=parsed.parent,
        child=parsed.child,
        R_PJ=pose.R,
        p_PoJo_P=pose.p,
        axis=read_axis(part, parsed.axis, parts) if moving else (1.0, 0.0, 0.0),
        limits=read_limits(part, parsed, parts) if moving else Limits(),
        damping=coefficients["damping"],
        friction=coefficients["friction"],
        rotor_inertia=joined_rotor_inertia(joint, coefficients["armature"], found.rotor_inertias),
        mimic=read_mimic(parsed.mimic) if moving else None,
        initial_position=found.initial_position,
        line=joint.element.line,
        defects=tuple(parts.defects),
    )


def read_coefficients(part: RobotPart, parsed: Any, parts: JointParts) -> dict[str, float]:
    """Damping, friction and armature from ``<dynamics>``: 0 or more, 0 where absent."""
    values = dict.fromkeys(("damping", "friction", "armature"), 0.0)
    if parsed is None:
        return values
    dynamics = part.child("dynamics")
    try:
        given = {"damping": parsed.damping, "friction": parsed.friction}
        if dynamics.has("armature"):  # of MuJoCo and Isaac; urdf_parser_py does not know it
            given["armature"] = dynamics.number("armature")
        for name, value in given.items():
            if value is not None and value < 0.0:
                raise NegativeValueError(dynamics.place, name, value)
            values[name] = value or 0.0
    except DescriptionError as error:
        parts.add("motion", error)
    return values


def read_axis(part: RobotPart, parsed: list[float] | None, parts: JointParts) -> Vector:
    """The unit vector along the axis; 1 0 0 where none is given."""
    axis = part.child("axis")
    if parsed is None:
        axis.notes.add("KD306", "no <axis>: it is 1 0 0, as URDF says", *part.reader.place[1:])
        return (1.0, 0.0, 0.0)
    x, y, z = parsed
    length = math.hypot(x, y, z)
    if length < SHORTEST_AXIS:
        parts.add("axis", ZeroAxisError(axis.place, (x, y, z)))
        return (1.0, 0.0, 0.0)
    if abs(length - 1.0) > 1e-3:
        axis.notes.add("KD305", f"the axis has length {length:.6g}: made 1", *axis.place[1:])
    return (x / length, y / length, z / length)


def read_limits(part: RobotPart, parsed: Any, parts: JointParts) -> Limits:
    """Limits; 0 means unknown for effort, velocity, and for both positions; a continuous joint has none."""
    limit = parsed.limit
    if limit is None:
        return Limits()
    lower, upper = finite(limit.lower), finite(limit.upper)
    if parsed.type == "continuous" or lower == upper == 0.0:
        lower = upper = None
    if lower is not None and upper is not None and lower > upper:
        parts.add("motion", LimitOrderError(part.child("limit").place, lower, upper))
        lower = upper = None
    return Limits(lower, upper, positive(finite(limit.velocity)), positive(finite(limit.effort)))


def finite(value: float) -> float | None:
    """``value``, or None where it is infinite, which means no limit."""
    return value if abs(value) <= LARGEST else None


def positive(value: float | None) -> float | None:
    """``value``, or None where it is 0, negative or unknown."""
    return value if value is not None and value > 0.0 else None


def read_mimic(parsed: Any) -> Mimic | None:
    """``<mimic>`` as written; None where there is none."""
    if parsed is None:
        return None
    multiplier = 1.0 if parsed.multiplier is None else parsed.multiplier
    return Mimic(parsed.joint, multiplier, parsed.offset or 0.0)


# ``<origin>`` to a Pose


def read_pose(owner: Reader, parsed: Any) -> Pose:
    """``<origin xyz rpy>``: position, and turns about the parent's fixed axes X, Y, Z; absent means 0.

    Newer URDFs may give ``quat_xyzw`` in place of ``rpy``. Raises ``OrientationError``, and as ``numbers``.
    """
    if parsed is None:
        return Pose()
    origin = owner.child(owner.element.all("origin")[0])
    x, y, z = parsed.xyz
    if "quat_xyzw" in origin.element.attributes:
        if "rpy" in origin.element.attributes:
            raise OrientationError(origin.place, "both rpy and quat_xyzw are given")
        quaternion = origin.numbers("quat_xyzw", 4)
        if math.hypot(*quaternion) < SHORTEST_QUATERNION:
            raise OrientationError(origin.place, "quat_xyzw is 0")
        return Pose(rotation_quaternion(*quaternion), (x, y, z))
    roll, pitch, yaw = parsed.rpy
    if max(abs(roll), abs(pitch), abs(yaw)) > MOST_RADIANS:
        written = " ".join(map(repr, parsed.rpy))
        origin.notes.add("KD507", f"rpy is {written} rad: degrees written for radians?", *origin.place[1:])
    return Pose(rotation_rpy(roll, pitch, yaw), (x, y, z))
