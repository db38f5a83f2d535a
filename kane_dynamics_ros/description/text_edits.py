"""Numbers of a URDF's text replaced in place: nothing else of it changes, not a byte.

The safe reader says where each element's tags lie; within a start tag, attributes are found one after the
other, so that neither comments nor quoted text are taken for them. Edits are made all at once, and a number
keeps the quotes that are around it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from kane_dynamics_ros.description.findings import DescriptionError, Notes, Place, refusal
from kane_dynamics_ros.description.xml_tree import Element, parse_xml, strip_namespace

TENSOR_ENTRIES = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}

_TAG = re.compile(rb"<[^\s/>]+")
_ATTRIBUTE = re.compile(rb"""\s+([^\s=>/"']+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_TAG_END = re.compile(rb"\s*/?>")
_AROUND = rb"(?:\s|<!--(?:(?!-->).)*-->)*"
_NUMBER = re.compile(_AROUND + rb"([^\s<]+)" + _AROUND, re.DOTALL)


def uneditable(place: Place, found: str, remedy: str = "change the file by hand") -> DescriptionError:
    """A URDF's text that cannot be changed in place."""
    return refusal("KD117", place, found, remedy)


class Edit(NamedTuple):
    """``text`` in place of the bytes from ``start`` to ``end``."""

    start: int
    end: int
    text: str


class StartTag(NamedTuple):
    """Where a start tag's attribute values lie, without their quotes; where its attributes and it end."""

    values: dict[str, tuple[int, int]]
    attributes_end: int
    end: int


@dataclass(frozen=True)
class UrdfText:
    """A URDF's bytes, its elements, and the file name for messages."""

    data: bytes
    root: Element
    source: str | None

    def start_tag(self, element: Element) -> StartTag:
        """The start tag of an element, part by part. Raises ``DescriptionError`` where it is not found."""
        values: dict[str, tuple[int, int]] = {}
        tag = _TAG.match(self.data, element.start)
        at = element.start if tag is None else tag.end()
        while found := _ATTRIBUTE.match(self.data, at):
            values[found[1].decode(errors="replace")] = found.span(2 if found[2] is not None else 3)
            at = found.end()
        end = _TAG_END.match(self.data, at)
        if tag is None or end is None:
            place = Place(self.source, element.line, f"<{element.tag}>")
            raise uneditable(place, "its tag was not found in the text", "save the file as UTF-8")
        return StartTag(values, at, end.end())

    def attribute(self, element: Element, name: str, value: str) -> Edit:
        """Replace an attribute's value, or add the attribute behind the others."""
        tag = self.start_tag(element)
        if name in tag.values:
            return Edit(*tag.values[name], value)
        return Edit(tag.attributes_end, tag.attributes_end, f' {name}="{value}"')

    def first_child(self, element: Element, xml: str) -> Edit:
        """Add ``xml`` before what an element contains, which must not be nothing."""
        end = self.start_tag(element).end
        return Edit(end, end, xml)

    def content(self, element: Element, value: str) -> Edit:
        """Replace the number that an element holds: its ``value``, or else its text.

        Comments around the number stay; a number written otherwise, as in CDATA, goes with all around it.
        """
        tag = self.start_tag(element)
        if "value" in tag.values:
            return Edit(*tag.values["value"], value)
        number = _NUMBER.fullmatch(self.data, tag.end, element.end)
        return Edit(*(number.span(1) if number else (tag.end, element.end)), value)

    def edited(self, edits: Iterable[Edit]) -> bytes:
        """The text with all edits made; additions at one place follow each other, and none overlap."""
        parts, done = [], 0
        for start, end, text in sorted(edits, key=lambda edit: edit[:2]):
            parts += [self.data[done:start], text.encode()]
            done = end
        return b"".join((*parts, self.data[done:]))


def parse_text(data: bytes, source: str | None = None) -> UrdfText:
    """A URDF's text for edits. Raises ``DescriptionError`` for UTF-16 and UTF-32, and as ``parse_xml``."""
    if b"\x00" in data:
        found = "its encoding is none of UTF-8, Latin-1 or ASCII"
        raise uneditable(Place(source), found, "save it as UTF-8")
    root = parse_xml(data, source)
    strip_namespace(root, Notes(source))
    return UrdfText(data, root, source)
