"""XML to a plain tree with line numbers, safely: no entities, nothing external, bounded in size.

The standard expat is used directly: it gives the line on which a tag begins and takes foreign prefixes that
were not declared, and each bound is kept while the text is read.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.parsers import expat

from kane_dynamics_ros.description.findings import DescriptionError, Notes, Place, refusal, too_large

MAX_BYTES = 5_000_000
MAX_ELEMENTS = 50_000
MAX_ATTRIBUTES = 1000  # of one element
MAX_DEPTH = 64
MAX_TEXT = 1000  # [characters] kept of an element's text
BUFFER = 2**20  # [bytes] of text that expat hands over at once


class Bounds(NamedTuple):
    """How large a document may be, and how many characters of an element's text are kept."""

    bytes: int = MAX_BYTES
    elements: int = MAX_ELEMENTS
    text: int = MAX_TEXT


URDF_BOUNDS = Bounds()

_BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


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


class _Builder:
    """Expat's handlers: builds the tree and refuses what is too large or not plain."""

    def __init__(self, parser: expat.XMLParserType, source: str | None, bounds: Bounds) -> None:
        self.parser, self.source, self.bounds = parser, source, bounds
        self.root: Element | None = None
        self.stack: list[Element] = []
        self.count = 0
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.text
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EntityDeclHandler = self.entity

    def place(self) -> Place:
        return Place(self.source, self.parser.CurrentLineNumber)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > self.bounds.elements:
            raise too_large(self.place(), self.bounds.elements, "elements")
        if len(attributes) > MAX_ATTRIBUTES:
            raise too_large(self.place(), MAX_ATTRIBUTES, "attributes of one element")
        if len(self.stack) >= MAX_DEPTH:
            raise too_large(self.place(), MAX_DEPTH, "levels of nesting")
        at = self.parser.CurrentByteIndex
        element = Element(tag, attributes, self.parser.CurrentLineNumber, start=at)
        if self.stack:
            self.stack[-1].children.append(element)
        else:
            self.root = element
        self.stack.append(element)

    def end(self, tag: str) -> None:
        self.stack.pop().end = self.parser.CurrentByteIndex

    def text(self, text: str) -> None:
        element = self.stack[-1] if self.stack else None
        if element and (element.text or not text.isspace()) and len(element.text) < self.bounds.text:
            element.text += text[: self.bounds.text]

    def doctype(self, name: str, system: str | None, public: str | None, internal: bool) -> None:
        if system or public or internal:
            self.entity()

    def entity(self, *declaration: object) -> None:
        found = "has a document type declaration with entities or an external part, which are never read"
        raise refusal("KD104", self.place(), found, "remove the <!DOCTYPE ...>")


def parse_xml(text: str | bytes, source: str | None = None, bounds: Bounds = URDF_BOUNDS) -> Element:
    """Read XML. Raises ``DescriptionError``: not well-formed, too large, or with entities.

    Text of type str may carry an encoding declaration, which is then without meaning and ignored.
    """
    if len(text) > bounds.bytes:
        raise too_large(Place(source), bounds.bytes, "bytes")
    parser = expat.ParserCreate("utf-8" if isinstance(text, str) else None)
    parser.buffer_text = True
    parser.buffer_size = BUFFER
    builder = _Builder(parser, source, bounds)
    try:
        data = text.removeprefix("\ufeff").encode() if isinstance(text, str) else text
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise not_xml(Place(source, error.lineno), expat.ErrorString(error.code)) from None
    except (UnicodeEncodeError, LookupError, ValueError) as error:
        raise not_xml(Place(source), str(error)) from None
    if builder.root is None:
        raise not_xml(Place(source), "no element found")
    return builder.root


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
        marked = text.startswith(_BYTE_ORDER_MARKS)
    else:
        marked = text.startswith("\ufeff")
        declared = re.match(r"\ufeff?<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.-]{1,40})", text)
        if declared:
            notes.add(
                "KD109", f"the declared encoding {declared[1]!r} is ignored: the text is decoded already", 1
            )
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
