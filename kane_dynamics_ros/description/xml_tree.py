"""XML to a plain tree with line numbers, safely; the attributes of its elements as names and numbers.

The standard expat is used directly: it gives the line on which a tag begins and takes foreign prefixes that
were not declared. Entities and what lies outside of the text are never read, and each bound on the size is
kept while the text is read.
"""

import codecs
import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.parsers import expat

from kane_dynamics_ros.description.findings import DescriptionError, Notes, Place, missing, refusal, too_large
from kane_dynamics_ros.text import shortened

MAX_BYTES = 5_000_000
MAX_ELEMENTS = 50_000
MAX_ATTRIBUTES = 1000  # of one element
MAX_DEPTH = 64
MAX_TEXT = 1000  # [characters] kept of an element's text
BUFFER = 2**20  # [bytes] of text that expat hands over at once

LONGEST_NAME = 255
LARGEST = 1e12  # beyond it, in SI units, is no robot, and products of such numbers overflow
SMALLEST = 1e-100  # below it, products of such numbers lose their digits: read as 0, and noted

# What float() takes beside this ("1_000", digits of other scripts) is not a URDF number.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_SPECIAL = re.compile(r"[+-]?(nan|inf|infinity)", re.ASCII | re.IGNORECASE)


@dataclass(eq=False)
class Element:
    """One XML element; ``tag`` keeps a foreign prefix as written (``drake:rotor_inertia``).

    ``start`` and ``end`` are the places of its start tag and of its end tag in the document [bytes].
    """

    tag: str
    attributes: dict[str, str]
    line: int
    children: list["Element"] = field(default_factory=list)
    text: str = ""
    start: int = 0
    end: int = 0

    # As an element of ElementTree, so that urdf_parser_py can read it.

    @property
    def attrib(self) -> dict[str, str]:
        return self.attributes

    def get(self, name: str) -> str | None:
        return self.attributes.get(name)

    def __iter__(self) -> Iterator["Element"]:
        return iter(self.children)

    def all(self, tag: str) -> list["Element"]:
        """The children called ``tag``."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> "Element | None":
        """The first child called ``tag``, which counts where there are several."""
        return next((child for child in self.children if child.tag == tag), None)


def parse_xml(text: str | bytes, source: str | None = None) -> Element:
    """Read XML. Raises ``DescriptionError``: not well-formed, too large, or with entities.

    Text of type str may carry an encoding declaration, which is then without meaning and ignored.
    """
    if len(text) > MAX_BYTES:
        raise too_large(Place(source), MAX_BYTES, "bytes")
    document = Element("", {}, 0)  # the parent of the outermost element
    opened, count = [document], itertools.count(1)
    parser = expat.ParserCreate("utf-8" if isinstance(text, str) else None)
    parser.buffer_text, parser.buffer_size = True, BUFFER

    def start(tag: str, attributes: dict[str, str]) -> None:
        line = parser.CurrentLineNumber
        for found, most, what in (
            (next(count), MAX_ELEMENTS, "elements"),
            (len(attributes), MAX_ATTRIBUTES, "attributes of one element"),
            (len(opened), MAX_DEPTH, "levels of nesting"),
        ):
            if found > most:
                raise too_large(Place(source, line), most, what)
        element = Element(tag, attributes, line, start=parser.CurrentByteIndex)
        opened[-1].children.append(element)
        opened.append(element)

    def end(tag: str) -> None:
        opened.pop().end = parser.CurrentByteIndex

    def characters(data: str) -> None:
        element = opened[-1]
        if (element.text or not data.isspace()) and len(element.text) < MAX_TEXT:
            element.text += data[:MAX_TEXT]

    def entity(*declaration: object) -> None:
        found = "has a document type declaration with entities or an external part, which are never read"
        place = Place(source, parser.CurrentLineNumber)
        raise refusal("KD104", place, found, "remove the <!DOCTYPE ...>")

    def doctype(name: str, system: str | None, public: str | None, internal: bool) -> None:
        if system or public or internal:
            entity()

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, characters
    parser.StartDoctypeDeclHandler, parser.EntityDeclHandler = doctype, entity
    try:
        parser.Parse(text.removeprefix("\ufeff").encode() if isinstance(text, str) else text, True)
    except expat.ExpatError as error:
        raise not_xml(Place(source, error.lineno), expat.ErrorString(error.code)) from None
    except (UnicodeEncodeError, LookupError, ValueError) as error:
        raise not_xml(Place(source), str(error)) from None
    return document.children[0]


def not_xml(place: Place, reason: str) -> DescriptionError:
    """Text that is not well-formed."""
    remedy = "give URDF text, in UTF-8 if not declared otherwise"
    if reason == "XML or text declaration not at start of entity":
        remedy = "move the declaration <?xml ...?> to the very beginning: nothing may stand before it"
    return refusal("KD102", place, f"not well-formed XML: {reason}", remedy)


# What is unusual about the text of a URDF, before its elements are read


def note_text(text: str | bytes, notes: Notes) -> None:
    """Note a byte-order mark, and an encoding declaration in text that is decoded already."""
    if isinstance(text, bytes):
        marked = text.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    else:
        marked = text.startswith("\ufeff")
        declared = re.match(r"\ufeff?<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.-]{1,40})", text)
        if declared:
            message = f"the declared encoding {declared[1]!r} is ignored: the text is decoded already"
            notes.add("KD109", message, 1)
    if marked:
        notes.add("KD108", "byte-order mark skipped", 1)


def strip_namespace(root: Element, notes: Notes) -> None:
    """Take URDF's elements out of a default namespace, or out of the outermost element's prefix."""
    prefix, colon, tag = root.tag.rpartition(":")
    if tag != "robot" or (not colon and "xmlns" not in root.attributes):
        return
    namespace = root.attributes.get("xmlns", "")[:90]
    where = f"prefix {prefix!r}" if colon else f"default namespace {namespace!r}"
    notes.add("KD110", f"URDF elements are read without their {where}", root.line, "robot")
    waiting = [root] if colon else []
    while waiting:
        element = waiting.pop()
        element.tag = element.tag.removeprefix(f"{prefix}:")
        waiting.extend(element.children)


def parse_urdf(text: str | bytes, source: str | None = None) -> Element:
    """The elements of a URDF, out of their namespace. Raises as ``parse_xml``."""
    root = parse_xml(text, source)
    strip_namespace(root, Notes(source))
    return root


# Attributes, checked before any parser takes them


class Reader(NamedTuple):
    """Reads the attributes of one element; ``label`` names it in messages, as in ``joint 'a' <limit>``.

    What cannot be read raises ``DescriptionError``.
    """

    element: Element
    label: str
    notes: Notes

    @property
    def place(self) -> Place:
        return self.notes.place(self.element.line, self.label)

    def child(self, element: Element) -> "Reader":
        """The reader of a child."""
        return Reader(element, f"{self.label} <{element.tag}>", self.notes)

    def first(self, tag: str) -> "Reader":
        """The reader of the first child called ``tag``, or this one where there is none."""
        found = self.element.first(tag)
        return self if found is None else self.child(found)

    def note(self, code: str, message: str) -> None:
        """Note one thing about this element."""
        self.notes.add(code, message, self.element.line, self.label)

    def refusal(self, code: str, found: str, remedy: str) -> DescriptionError:
        """The error that refuses this element."""
        return refusal(code, self.place, found, remedy)

    def has(self, attribute: str) -> bool:
        """Whether the attribute is there and not blank."""
        return bool(self.element.attributes.get(attribute, "").strip())

    def name(self, attribute: str = "name") -> str:
        """A name that must be there: not blank, no xacro, not too long."""
        text = self.element.attributes.get(attribute, "")
        if not text.strip():
            raise missing(self.place, f"attribute {attribute!r}")
        self._refuse_xacro(attribute, text)
        if len(text) > LONGEST_NAME:
            raise too_large(self.place, LONGEST_NAME, f"characters in attribute {attribute!r}")
        return text

    def number(self, attribute: str) -> float:
        """A finite number that must be there."""
        return self.convert(attribute, self.name(attribute).strip())

    def bound(self, attribute: str) -> float:
        """A limit: as ``number``, but infinite where it is so large that it means none, as in 1e16 or inf."""
        text = self.name(attribute).strip()
        if _SPECIAL.fullmatch(text) and text.strip("+-")[0].lower() != "n":
            return math.inf
        value = self.convert(attribute, text, math.inf)
        return value if abs(value) <= LARGEST else math.inf

    def numbers(self, attribute: str, count: int) -> list[float]:
        """Finite numbers separated by spaces."""
        text = self.element.attributes[attribute]
        words = text.split()
        if len(words) != count:
            if "," in text:
                raise self._not_a_number(attribute, text)
            found = f"{attribute}={shortened(text)} has {len(words)} numbers"
            raise self.refusal("KD303", found, f"{count} are needed, separated by spaces")
        return [self.convert(attribute, word) for word in words]

    def convert(self, attribute: str, text: str, largest: float = LARGEST) -> float:
        """The number in ``text``; -0 becomes 0."""
        special = _SPECIAL.fullmatch(text)
        if not special:
            self._refuse_xacro(attribute, text)
            if not _NUMBER.fullmatch(text):
                raise self._not_a_number(attribute, text)
        value = float(text)
        if special or abs(value) > largest:
            remedy = f"numbers must be finite and at most {LARGEST:g} in magnitude"
            raise self.refusal("KD302", f"{attribute}={shortened(text)}", remedy)
        if 0.0 < abs(value) < SMALLEST:
            self.note("KD307", f"{attribute}={text[:60]!r} was read as 0")
            return 0.0
        return value + 0.0

    def not_negative(self, name: str, value: float) -> float:
        """``value``, which must be 0 or more."""
        if value < 0.0:
            raise self.refusal("KD308", f"{name} is {value!r}", "it must be 0 or more")
        return value

    def _refuse_xacro(self, attribute: str, text: str) -> None:
        if "${" in text or "$(" in text:
            raise unrun_xacro(self.place, f"{attribute}={text[:60]!r}")

    def _not_a_number(self, attribute: str, text: str) -> DescriptionError:
        comma = " (the decimal mark is a point, in every locale)" if "," in text else ""
        found = f"{attribute}={shortened(text)} is not a number"
        return self.refusal("KD301", found, f"write it as in 0.5 or 5e-1{comma}")


def unrun_xacro(place: Place, what: str) -> DescriptionError:
    """xacro where URDF is expected; ``is_tag``: a whole tag, for which the file may be expanded."""
    is_tag = what.startswith("<xacro:")
    remedy = "expand it with the xacro command, or load the .xacro file itself"
    remedy += "; if the file is expanded already, delete the tag" if is_tag else ""
    return refusal("KD106", place, f"xacro that was not run: {what}", remedy, is_tag=is_tag)
