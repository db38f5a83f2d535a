"""URDF text to a Robot."""

from collections.abc import Iterable
from dataclasses import replace

from kane_dynamics_ros.description.attributes import Reader
from kane_dynamics_ros.description.errors import DuplicateNameError, NotUrdfError, UnrunXacroError
from kane_dynamics_ros.description.inertia_doubts import note_inertias
from kane_dynamics_ros.description.inertial import read_inertial
from kane_dynamics_ros.description.joint_doubts import note_joints
from kane_dynamics_ros.description.joint_reader import read_joint
from kane_dynamics_ros.description.link_size import link_sizes
from kane_dynamics_ros.description.mimic import note_broken_mimics
from kane_dynamics_ros.description.model import Joint, Link, Robot
from kane_dynamics_ros.description.naming import note_names
from kane_dynamics_ros.description.notes import Notes
from kane_dynamics_ros.description.ros2_control import read_initial_positions
from kane_dynamics_ros.description.schema import note_unknown
from kane_dynamics_ros.description.text_notes import note_text, strip_namespace
from kane_dynamics_ros.description.transmissions import joined_rotor_inertia, read_rotor_inertias
from kane_dynamics_ros.description.tree import check_tree
from kane_dynamics_ros.description.xml_tree import Element, parse_xml


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
