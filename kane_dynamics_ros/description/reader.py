"""URDF text to a Robot: one guarded parse, read by ``urdf_parser_py``, checked and frozen.

``urdf_parser_py`` is given the links and joints with what moves them alone, and each number in a form that
its ``float()`` takes as URDF means it: it would stop at the first fault of any part, refuse files without
what it requires and URDF does not, and take ``nan`` and ``1_0``. The tree itself says what its objects
cannot: lines, armature, quaternions, shapes, transmissions and ros2_control.

What is wrong with a number of a link or joint is kept with it as a defect: whether it matters is known when a
chain is chosen. Only what leaves no tree at all is refused here.
"""

import math
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from urdf_parser_py import urdf
from urdf_parser_py.xml_reflection import core

from kane_dynamics_ros.algebra import symmetric
from kane_dynamics_ros.description import geometry
from kane_dynamics_ros.description.extras import Extras, joined_rotor_inertia, read_extras, shape_size
from kane_dynamics_ros.description.findings import DescriptionError, Notes, missing, refusal
from kane_dynamics_ros.description.geometry import Pose
from kane_dynamics_ros.description.judgement import note_names
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
from kane_dynamics_ros.description.tree import check_tree, trace_mimics
from kane_dynamics_ros.description.xml_tree import (
    LARGEST,
    Element,
    Reader,
    note_text,
    parse_xml,
    strip_namespace,
    unrun_xacro,
)
from kane_dynamics_ros.text import shortened

T = TypeVar("T")
X: Vector = (1.0, 0.0, 0.0)  # the axis of a joint that gives none
KINDS: tuple[JointKind, ...] = get_args(JointKind)
AXIAL = (*MOVING, "planar")  # kinds that have an axis; a planar one moves across it
SHORTEST_AXIS = 1e-6  # shorter has no direction that its author meant
SHORTEST_QUATERNION = 1e-6
MOST_RADIANS = 2 * math.pi * 1.001  # [rad] nobody turns a frame further; 90 and 180 are degrees
MOST_KINDS = 100  # of what is not read that are listed
VERSIONS = ("1.0", "1.1", "1.2")  # of URDF that urdfdom reads
_OLD_XACRO = ("include", "macro", "insert_block")


def parse_robot(text: str | bytes, source: str | None = None) -> Robot:
    """Read URDF text; ``source`` is the file name for messages.

    Raises ``DescriptionError`` for what is no URDF or no tree. Other faults stay with their link or joint;
    ``serial_chain`` raises those that matter.

    >>> robot = parse_robot('''<robot name="pendulum"><link name="base"/><link name="rod"/>
    ...   <joint name="pivot" type="continuous"><parent link="base"/><child link="rod"/></joint></robot>''')
    >>> robot.root, [joint.kind for joint in robot.joints]
    ('base', ['continuous'])
    """
    root = parse_xml(text, source)
    notes = Notes(source)
    note_text(text, notes)
    strip_namespace(root, notes)
    check_is_urdf(root, notes)
    unread: Unread = defaultdict(list)
    note_unread(Reader(root, "robot", notes), ROBOT, unread)
    links = [cleared_part(reader, unread) for reader in named(root.all("link"), "link", notes)]
    joints = [cleared_part(reader, unread) for reader in named(root.all("joint"), "joint", notes)]
    name = Reader(root, "robot", notes).name().strip() if root.get("name") else "robot"
    cleared_root = Element("robot", {"name": name}, root.line, [part.cleared for part in (*links, *joints)])
    parsed = read_by_urdf_parser_py(cleared_root, notes)
    extras = read_extras(root, notes)
    made_links = tuple(read_link(part, element) for part, element in zip(links, parsed.links, strict=True))
    made_joints = tuple(
        read_joint(part, element, extras) for part, element in zip(joints, parsed.joints, strict=True)
    )
    root_link = check_tree(made_links, made_joints, root.line, notes)
    write_unread(unread, notes)
    note_names(made_links, made_joints, notes)
    _, broken = trace_mimics(made_joints)
    for joint in made_joints:
        if joint.name in broken:
            message = f"its <mimic> cannot be followed: {broken[joint.name]}"
            notes.add("KD216", f"{message}; refused where it moves in a chain", *joint.at)
    notes.findings.sort(key=lambda finding: finding.line or 0)
    return Robot(name, root_link, made_links, made_joints, tuple(notes.findings), source)


# Whether the text is URDF, and not xacro that waits to be expanded


def check_is_urdf(root: Element, notes: Notes) -> None:
    """Refuse another format, and tags of xacro; these are noted where nothing is read, as in ``<gazebo>``."""
    if root.tag != "robot":
        found = f"the outermost element is <{root.tag[:60]}>"
        raise refusal("KD107", notes.place(root.line), found, "a URDF has <robot name='...'> there")
    waiting = [(root, False)]
    left_over: list[Element] = []
    while waiting:
        element, unread = waiting.pop()
        if element.tag.startswith("xacro:"):
            if not unread:
                raise unrun_xacro(notes.place(element.line), f"<{element.tag}>")
            left_over.append(element)
        unread = unread or (element.tag in UNREAD and element.tag not in ("transmission", "ros2_control"))
        waiting.extend((child, unread) for child in reversed(element.children))
    version = root.get("version")
    if version is not None and version not in VERSIONS:
        message = f"its version is {shortened(version)}: urdfdom refuses what is not {', '.join(VERSIONS)}"
        notes.add("KD116", f"{message}, so that other tools cannot load the file", root.line, "robot")
    for element in root.children:
        if element.tag in _OLD_XACRO:
            raise refusal(
                "KD106",
                notes.place(element.line),
                f"<{element.tag}> is xacro without its prefix, which xacro leaves as it is",
                f'write <xacro:{element.tag}>, with xmlns:xacro="http://www.ros.org/wiki/xacro" in <robot>, '
                "and so for the other tags of xacro",
                is_tag=False,
            )
    if left_over:
        times = f" ({len(left_over)} times)" if len(left_over) > 1 else ""
        message = f"<{left_over[0].tag[:60]}> was left in a block that is not read, and ignored{times}"
        notes.add("KD114", message, left_over[0].line)


# What is read: of each element its attributes, as ``urdf_parser_py`` is given them, and the elements in it


Kind = Literal["name", "number", "number or 0", "number if given", "bound", "vector"]


def written(reader: Reader, name: str, kind: Kind) -> str | None:
    """The attribute's text, safe for ``float()``; None where it may be absent and is."""
    if kind == "name":
        return reader.name(name)
    if kind == "vector":
        given = name in reader.element.attributes
        return " ".join(map(repr, reader.numbers(name, 3))) if given else None
    if reader.has(name) or kind == "number":
        return repr(reader.bound(name) if kind == "bound" else reader.number(name))
    return None if kind == "number if given" else "0"


class Known(NamedTuple):
    """What may stand in an element; ``beside``: known attributes that ``urdf_parser_py`` is not given."""

    attributes: Mapping[str, Kind]
    children: Mapping[str, "Known"] = {}
    beside: tuple[str, ...] = ()


_ORIGIN = Known({"xyz": "vector", "rpy": "vector"}, beside=("quat_xyzw",))
_MOMENTS: dict[str, Kind] = {
    **dict.fromkeys(("ixx", "iyy", "izz"), "number"),
    **dict.fromkeys(("ixy", "ixz", "iyz"), "number or 0"),
}
_INERTIAL = {"origin": _ORIGIN, "mass": Known({"value": "number"}), "inertia": Known(_MOMENTS)}
_LIMITS: dict[str, Kind] = {"lower": "bound", "upper": "bound", "effort": "bound", "velocity": "bound"}
_FRICTION: dict[str, Kind] = {"damping": "number if given", "friction": "number if given"}
LINK = Known({"name": "name"}, {"inertial": Known({}, _INERTIAL)}, beside=("type",))
JOINT = Known(
    {"name": "name", "type": "name"},
    {
        "origin": _ORIGIN,
        "parent": Known({"link": "name"}),
        "child": Known({"link": "name"}),
        "axis": Known({"xyz": "vector"}),
        "limit": Known(_LIMITS, beside=("acceleration", "deceleration", "jerk")),
        "dynamics": Known(_FRICTION, beside=("armature",)),
        "mimic": Known({"joint": "name", "multiplier": "number if given", "offset": "number if given"}),
    },
)
ROBOT = Known({"name": "name"}, {"link": LINK, "joint": JOINT}, beside=("version",))

# Known elements that are not looked into; each is counted in one finding that says what is read of it.
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
FOREIGN = "{} is foreign to URDF and not read"


Unread = defaultdict[tuple[str, str], list[Reader]]  # what was met and not read, by code and message


def note_unread(reader: Reader, known: Known, unread: Unread) -> None:
    """Collect what one element holds and ``known`` does not, so that nothing is ignored in silence."""
    tag = reader.element.tag
    for child in reader.element.children:
        if child.tag in known.children:
            continue
        kind = "KD209", f"unknown element <{child.tag[:60]}> in <{tag}> was not read"
        if child.tag in UNREAD or ":" in child.tag:
            kind = "KD212", UNREAD.get(child.tag, FOREIGN).format(f"<{child.tag[:60]}>")
        unread[kind].append(Reader(child, reader.label, reader.notes))
    for name in reader.element.attributes:
        if name in known.attributes or name in known.beside or name.split(":")[0] == "xmlns":
            continue
        what = f"{name[:60]!r} of <{tag}>"
        kind = "KD210", f"unknown attribute {what} was not read"
        if ":" in name:
            kind = "KD212", FOREIGN.format(what)
        unread[kind].append(reader)


def write_unread(unread: Unread, notes: Notes) -> None:
    """Write down each kind once, at the first place; of very many kinds only the first."""
    for code in ("KD209", "KD210", "KD212"):
        kinds = [(message, found) for (own, message), found in unread.items() if own == code]
        for message, (first, *others) in kinds[:MOST_KINDS]:
            first.note(code, message + (f" ({len(others) + 1} times)" if others else ""))
        if len(kinds) > MOST_KINDS:
            line = kinds[MOST_KINDS][1][0].element.line
            notes.add(code, f"{len(kinds) - MOST_KINDS} other kinds of them were not read either", line)


# Links and joints cleared for ``urdf_parser_py``: what is read of them, in a form that it takes

Defects = defaultdict[str, list[DescriptionError]]  # of a link or joint, by the child that they are in


class Part(NamedTuple):
    """A link or joint: its element, what urdf_parser_py is given of it, and what of it cannot be read."""

    reader: Reader
    cleared: Element
    defects: Defects


def named(elements: Iterable[Element], kind: str, notes: Notes) -> Iterator[Reader]:
    """A reader for each element, whose names are checked to be there and unique."""
    lines: dict[str, int] = {}
    for element in elements:
        name = Reader(element, kind, notes).name()
        reader = Reader(element, f"{kind} {name!r}", notes)
        if name in lines:
            found = f"the name was given before, in line {lines[name]}"
            raise reader.refusal("KD202", found, "names must be unique: rename one")
        lines[name] = element.line
        yield reader


def cleared_part(reader: Reader, unread: Unread) -> Part:
    """A link or joint, cleared. Raises where its name, type, parent or child are missing."""
    defects: Defects = defaultdict(list)
    element = cleared(reader, ROBOT.children[reader.element.tag], unread, defects)
    if element.tag == "joint":
        kind = element.attributes["type"].strip()
        if kind not in KINDS:
            raise reader.refusal("KD208", f"its type is {kind!r}", f"allowed are {', '.join(KINDS)}")
        element.attributes["type"] = kind
        for role in ("parent", "child"):
            if not element.all(role):
                raise missing(reader.place, f"element <{role}>")
        # What does not move has no axis; an axis without numbers is none; a broken <mimic> has no leader.
        without: set[str] = set() if kind in MOVING else {"limit", "mimic"}
        without |= set() if kind in AXIAL else {"axis"}
        for tag in without:
            defects.pop(tag, None)
        without |= {child.tag for child in element.all("axis") if not child.attributes}
        without |= {"mimic"} if defects["mimic"] else set()
        element.children = [child for child in element.children if child.tag not in without]
    return Part(reader, element, defects)


def cleared(reader: Reader, known: Known, unread: Unread, defects: Defects, part: str = "") -> Element:
    """A copy of an element with what is known of it alone, each attribute checked.

    ``part``: the child of a link or joint that the element belongs to. What cannot be read in it is one of
    its ``defects``, and replaced; without name, type, parent and child there is no tree: what is wrong with
    these is raised.
    """
    note_unread(reader, known, unread)
    copy = Element(reader.element.tag, {}, reader.element.line)
    for name, kind in known.attributes.items():
        try:
            text = written(reader, name, kind)
        except DescriptionError as error:
            if part in ("", "parent", "child"):
                raise
            defects[part].append(error)
            text = "1 0 0" if kind == "vector" else "0"
        if text is not None:
            copy.attributes[name] = text
    lines: dict[str, int] = {}
    for element in reader.element.children:
        if element.tag not in known.children:
            continue
        child, inside = reader.child(element), known.children[element.tag]
        if element.tag in lines:
            note_unread(child, inside, unread)
            child.note("KD211", f"given again; the first, in line {lines[element.tag]}, is used")
            continue
        lines[element.tag] = element.line
        copy.children.append(cleared(child, inside, unread, defects, part or element.tag))
    if copy.tag == "inertial" and "mass" not in lines:
        copy.children.append(Element("mass", {"value": "0"}, copy.line))
    return copy


# ``urdf_parser_py`` reports through a function of its module, which all threads share.
_LOCK = threading.Lock()


def read_by_urdf_parser_py(root: Element, notes: Notes) -> Any:
    """The ``urdf_parser_py`` robot of cleared elements; what it remarks becomes findings.

    Raises ``DescriptionError`` where it refuses what was checked, as another version of it may.
    """
    thread = threading.get_ident()

    def remark(message: object) -> None:
        """What is reported in this thread is ours; other threads' reports go where they went."""
        if threading.get_ident() == thread:
            notes.add("KD113", " ".join(str(message).split()), root.line, "robot")
        else:
            before(message)

    with _LOCK:
        before, core.on_error = core.on_error, remark
        try:
            return urdf.Robot.from_xml(root, core.Path("robot"))
        except Exception as error:  # it raises whatever its conversions raise
            found = f"urdf_parser_py cannot read it: {' '.join(str(error).split())[:500]}"
            place = notes.place(root.line, "robot")
            raise refusal("KD112", place, found, "please report it with the URDF") from error
        finally:
            core.on_error = before


# ``<link>``: its inertia about the centre of mass, in link axes


def read_link(part: Part, parsed: Any) -> Link:
    """A link. Its inertia is None where it has no ``<inertial>`` (URDF: massless)."""
    errors = [error for found in part.defects.values() for error in found]
    inertia = None
    if parsed.inertial is not None and not errors:
        try:
            inertia = read_inertial(part.reader.first("inertial"), parsed.inertial)
        except DescriptionError as error:
            errors.append(error)
    element = part.reader.element
    return Link(parsed.name, inertia, element.line, *shape_size(element), tuple(map(Defect, errors)))


def read_inertial(inertial: Reader, parsed: Any) -> Inertia:
    """The inertia of a link in its frame."""
    mass = parsed.mass + 0.0
    if mass < 0.0:
        raise inertial.first("mass").refusal("KD401", f"its mass is {mass!r} kg", "a mass is 0 or more")
    J = parsed.inertia
    I_cm = (ZERO, ZERO, ZERO) if J is None else symmetric((J.ixx, J.ixy, J.ixz, J.iyy, J.iyz, J.izz))
    if mass == 0.0:
        moments = geometry.principal_moments(I_cm)
        if max(map(abs, moments)) > geometry.ROUNDING:
            written = ", ".join(f"{moment:.6g}" for moment in moments)
            found = f"its mass is 0 but its principal moments of inertia are {written} kg m^2"
            remedy = "give the mass too, or neither (0 and 0: a massless frame)"
            raise inertial.first("inertia").refusal("KD402", found, remedy)
        if not inertial.element.all("mass") and J is None:
            inertial.note("KD413", "it gives neither <mass> nor <inertia>: the link is taken as massless")
        return Inertia(0.0, ZERO, (ZERO, ZERO, ZERO))
    R_LI, p_LoLcm_L = read_pose(inertial, parsed.origin)
    return Inertia(mass, p_LoLcm_L, geometry.rotated_tensor(R_LI, I_cm))


# ``<joint>``: placement, axis, limits, coefficients, and what it follows


def read_joint(part: Part, parsed: Any, extras: Extras) -> Joint:
    """A joint; ``mimic`` is as written. A part that cannot be read is a defect, and stands at its default."""
    defects = [Defect(error, tag == "origin") for tag, errors in part.defects.items() for error in errors]
    joint = part.reader

    def tried(default: T, read: Callable[..., T], *arguments: Any) -> T:
        try:
            return read(*arguments)
        except DescriptionError as error:
            defects.append(Defect(error, placement=read is read_pose))
            return default

    pose = tried(Pose(), read_pose, joint, parsed.origin)
    coefficients = joint.first("dynamics"), parsed.dynamics
    damping, friction, armature = tried((0.0, 0.0, 0.0), read_coefficients, *coefficients)
    defects += map(Defect, extras.errors.get(parsed.name, ()))
    rotor_inertia = joined_rotor_inertia(joint, armature, extras.motor_inertias.get(parsed.name, ()))
    axis = tried(X, read_axis, joint, parsed.axis) if parsed.type in AXIAL else X
    limits = tried(Limits(), read_limits, joint.first("limit"), parsed)
    return Joint(
        name=parsed.name,
        kind=parsed.type,
        parent=parsed.parent,
        child=parsed.child,
        R_PJ=pose.R,
        p_PoJo_P=pose.p,
        axis=axis,
        limits=limits,
        damping=damping,
        friction=friction,
        rotor_inertia=rotor_inertia,
        mimic=read_mimic(parsed.mimic),
        initial_position=extras.initial_positions.get(parsed.name),
        line=joint.element.line,
        defects=tuple(defects),
    )


def read_coefficients(dynamics: Reader, parsed: Any) -> tuple[float, float, float]:
    """Damping, friction and armature from ``<dynamics>``: 0 or more, 0 where absent.

    Armature is MuJoCo's and Isaac's, which urdf_parser_py does not know.
    """
    if parsed is None:
        return 0.0, 0.0, 0.0
    armature = dynamics.number("armature") if dynamics.has("armature") else 0.0
    return (
        dynamics.not_negative("damping", parsed.damping or 0.0),
        dynamics.not_negative("friction", parsed.friction or 0.0),
        dynamics.not_negative("armature", armature),
    )


def read_axis(joint: Reader, parsed: list[float] | None) -> Vector:
    """The unit vector along the axis; 1 0 0 where none is given."""
    if parsed is None:
        joint.note("KD306", "no <axis>: it is 1 0 0, as URDF says")
        return X
    axis = joint.first("axis")
    x, y, z = parsed
    length = math.hypot(x, y, z)
    if length < SHORTEST_AXIS:
        found = f"its axis is {x!r} {y!r} {z!r}, which has no direction"
        raise axis.refusal("KD304", found, "give a unit vector, as in 0 0 1")
    if abs(length - 1.0) > 1e-3:
        axis.note("KD305", f"the axis has length {length:.6g}: made 1")
    return (x / length, y / length, z / length)


def read_limits(limit: Reader, joint: Any) -> Limits:
    """Limits; 0 means unknown for effort, velocity, and for both positions; a continuous joint has none."""
    parsed = joint.limit
    if parsed is None:
        return Limits()
    lower, upper, velocity, effort = (
        value if abs(value) <= LARGEST else None  # a larger one means no limit
        for value in (parsed.lower, parsed.upper, parsed.velocity, parsed.effort)
    )
    if joint.type == "continuous" or lower == upper == 0.0:
        lower = upper = None
    if lower is not None and upper is not None and lower > upper:
        found = f"its lower limit {lower!r} is above its upper limit {upper!r}"
        raise limit.refusal("KD504", found, "exchange them")
    velocity, effort = (value if value and value > 0.0 else None for value in (velocity, effort))
    return Limits(lower, upper, velocity, effort)


def read_mimic(parsed: Any) -> Mimic | None:
    """``<mimic>`` as written; None where there is none."""
    if parsed is None:
        return None
    multiplier = 1.0 if parsed.multiplier is None else parsed.multiplier
    return Mimic(parsed.joint, multiplier, parsed.offset or 0.0)


# ``<origin>`` to a Pose


def read_pose(owner: Reader, parsed: Any) -> Pose:
    """``<origin xyz rpy>``: position, and turns about the parent's fixed axes X, Y, Z; absent means 0.

    Newer URDFs may give ``quat_xyzw`` in place of ``rpy``.
    """
    if parsed is None:
        return Pose()
    origin = owner.first("origin")
    x, y, z = parsed.xyz
    if "quat_xyzw" in origin.element.attributes:
        remedy = "give rpy (turns about X, Y, Z in rad), or one quaternion of length 1"
        if "rpy" in origin.element.attributes:
            raise origin.refusal("KD309", "both rpy and quat_xyzw are given", remedy)
        quaternion = origin.numbers("quat_xyzw", 4)
        if math.hypot(*quaternion) < SHORTEST_QUATERNION:
            raise origin.refusal("KD309", "quat_xyzw is 0", remedy)
        return Pose(geometry.rotation_quaternion(*quaternion), (x, y, z))
    roll, pitch, yaw = parsed.rpy
    if max(abs(roll), abs(pitch), abs(yaw)) > MOST_RADIANS:
        written = " ".join(map(repr, parsed.rpy))
        origin.note("KD507", f"rpy is {written} rad: degrees written for radians?")
    return Pose(geometry.rotation_rpy(roll, pitch, yaw), (x, y, z))
