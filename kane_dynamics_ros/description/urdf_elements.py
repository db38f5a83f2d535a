"""What ``urdf_parser_py`` reads: which elements and attributes it knows, and a guarded call of it.

Its list of elements is taken from its own reflection, so that both agree on what is read. What it cannot be
given as it stands is put right in a copy of the tree: numbers are checked first (its ``float()`` takes
``nan`` and ``1_0``, its asserts vanish under ``python -O``), attributes that it requires and URDF does not
are filled in, and what plays no part in the motion is left out and counted.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

from urdf_parser_py import urdf
from urdf_parser_py.xml_reflection import core

from kane_dynamics_ros.description.attributes import Reader
from kane_dynamics_ros.description.findings import DescriptionError, MissingError, Notes, ParserError
from kane_dynamics_ros.description.xml_tree import Element

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
FOREIGN = "{} is foreign to URDF and not read"
MOST_KINDS = 100

# What common extensions of URDF add to the elements that urdf_parser_py knows; read here where it matters.
_EXTENSIONS = {
    "robot": "version",
    "link": "type",
    "origin": "quat_xyzw",
    "limit": "acceleration deceleration jerk",
    "dynamics": "armature",
}
# Attributes that urdf_parser_py requires and many URDFs leave out.
_DEFAULTS = {"inertia": ("ixy", "ixz", "iyz"), "limit": ("effort", "velocity")}

Kind = Literal["text", "number", "bound", "vector"]
Defects = defaultdict[str, list[DescriptionError]]  # of an element, by the child that they are in

# ``urdf_parser_py`` reports through a function of its module, which all threads share.
_LOCK = threading.Lock()


class Schema(NamedTuple):
    """What an element may hold: attributes that are handed on, those that are known beside, and children."""

    attributes: Mapping[str, tuple[Kind, bool]]  # kind, and whether it is required
    extensions: frozenset[str]
    children: Mapping[str, "Schema"]


def schema_of(tag: str, value_type: Any) -> Schema:
    """What ``urdf_parser_py`` reads of an element of this type, without what plays no part in the motion."""
    extensions = frozenset(_EXTENSIONS.get(tag, "").split())
    if isinstance(value_type, core.SimpleElementType):
        return Schema({value_type.attribute: (kind_of(tag, value_type.value_type), True)}, extensions, {})
    reflection = value_type.type.XML_REFL
    optional = _DEFAULTS.get(tag, ())
    attributes = {
        part.xml_var: (kind_of(tag, part.value_type), part.required and part.xml_var not in optional)
        for part in reflection.attributes
        if part.xml_var not in extensions
    }
    children = {
        part.xml_var: schema_of(part.xml_var, part.value_type)
        for part in reflection.element_map.values()
        if part.xml_var not in UNREAD and (tag, part.xml_var) != ("link", "origin")  # no part of URDF
    }
    return Schema(attributes, extensions, children)


def kind_of(tag: str, value_type: Any) -> Kind:
    """How an attribute is written."""
    if isinstance(value_type, core.VectorType):
        return "vector"
    if value_type.type is not float:
        return "text"
    return "bound" if tag == "limit" else "number"


ROBOT = schema_of("robot", core.get_type(urdf.Robot))


# A copy of the elements that the motion depends on, their numbers checked


def checked_copy(reader: Reader, schema: Schema, unknown: "UnknownItems") -> tuple[Element, Defects]:
    """A link or joint as ``urdf_parser_py`` takes it, and what of it cannot be read.

    What cannot be read is replaced in the copy: the faults decide later, when it is known what moves.
    Raises for its name, type, parent and child, without which there is no tree.
    """
    defects: Defects = defaultdict(list)
    copy = _attributes_copied(reader, schema, None)
    for child in _first_of_each(reader, schema, unknown):
        into = None if child.element.tag in ("parent", "child") else defects[child.element.tag]
        copy.children.append(_child_copied(child, schema.children[child.element.tag], into, unknown))
    return copy, defects


def _child_copied(
    reader: Reader, schema: Schema, into: list[DescriptionError] | None, unknown: "UnknownItems"
) -> Element:
    copy = _attributes_copied(reader, schema, into)
    for child in _first_of_each(reader, schema, unknown):
        copy.children.append(_child_copied(child, schema.children[child.element.tag], into, unknown))
    if copy.tag == "inertial" and not copy.all("mass"):
        copy.children.append(Element("mass", {"value": "0"}, copy.line))
    return copy


def _first_of_each(reader: Reader, schema: Schema, unknown: "UnknownItems") -> Iterator[Reader]:
    """The children that are read; of several of one tag the first, and the others are noted."""
    unknown.look_at(reader, schema)
    found: dict[str, Element] = {}
    for element in reader.element.children:
        if element.tag in schema.children:
            child = reader.child(element)
            first = found.setdefault(element.tag, element)
            if first is element:
                yield child
            else:
                unknown.look_at(child, schema.children[element.tag])
                message = f"given again; the first, in line {first.line}, is used"
                reader.notes.add("KD211", message, element.line, child.label)


def _attributes_copied(reader: Reader, schema: Schema, into: list[DescriptionError] | None) -> Element:
    copy = Element(reader.element.tag, {}, reader.element.line)
    for name, (kind, required) in schema.attributes.items():
        try:
            text = _checked(reader, name, kind, required)
        except DescriptionError as error:
            if into is None:
                raise
            into.append(error)
            text = "1 0 0" if kind == "vector" else "0"
        if text is not None:
            copy.attributes[name] = text
    return copy


def _checked(reader: Reader, name: str, kind: Kind, required: bool) -> str | None:
    """The attribute's text, safe for ``float()``; None where it may be absent and is. Raises if not so."""
    if kind == "text":
        return reader.name(name) if required or name in reader.element.attributes else None
    if kind == "vector":
        if name not in reader.element.attributes:
            return None
        return " ".join(map(repr, reader.numbers(name, 3)))
    if not reader.has(name):
        if required:
            raise MissingError(reader.place, f"attribute {name!r}")
        return "0" if name in _DEFAULTS.get(reader.element.tag, ()) else None
    return repr(reader.bound(name) if kind == "bound" else reader.number(name))


# What was met and not read, so that nothing is ignored in silence


class UnknownItems(NamedTuple):
    """Elements and attributes that are not read: for each kind its first reader and their number."""

    tags: dict[str, list[Reader]]
    attributes: dict[str, list[Reader]]
    foreign: dict[str, list[Reader]]

    def look_at(self, reader: Reader, known: Schema) -> None:
        """Sort what one element holds and the schema does not know."""
        for child in reader.element.children:
            if child.tag in known.children:
                continue
            where = Reader(child, reader.label, reader.notes)
            if child.tag in UNREAD or ":" in child.tag:
                self.foreign.setdefault(f"<{child.tag[:60]}>", []).append(where)
            else:
                self.tags.setdefault(f"<{child.tag[:60]}> in <{reader.element.tag}>", []).append(where)
        for name in reader.element.attributes:
            if name in known.attributes or name in known.extensions or name.split(":")[0] == "xmlns":
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


# The guarded call


def parse(tree: Element, notes: Notes) -> Any:
    """The ``urdf_parser_py`` robot of a checked copy; its remarks become findings.

    Raises ``ParserError`` where it refuses what was checked, as another version of it may.
    """
    with _remarks() as remarks:
        try:
            robot = urdf.Robot.from_xml(tree, core.Path("robot"))
        except Exception as error:  # it raises whatever its conversions raise
            raise ParserError(notes.place(tree.line, "robot"), " ".join(str(error).split())) from error
    for remark in remarks:
        notes.add("KD113", " ".join(remark.split()), tree.line, "robot")
    return robot


@contextmanager
def _remarks() -> Iterator[list[str]]:
    """What ``urdf_parser_py`` reports in this thread meanwhile; other threads' reports go where they went."""
    remarks: list[str] = []
    thread = threading.get_ident()
    with _LOCK:
        before = core.on_error
        core.on_error = lambda message: (
            remarks.append(str(message)) if threading.get_ident() == thread else before(message)
        )
        try:
            yield remarks
        finally:
            core.on_error = before
