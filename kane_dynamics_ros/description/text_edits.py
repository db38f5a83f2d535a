"""Numbers of a URDF's text replaced in place, and impossible inertias repaired so: not a byte else changes.

The safe reader says where each element's tags lie; within a start tag, attributes are found one after the
other, so that neither comments nor quoted text are taken for them. Edits are made all at once, and a number
keeps the quotes that are around it.
"""

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import symmetric
from kane_dynamics_ros.description.findings import DescriptionError, Notes, Place, refusal
from kane_dynamics_ros.description.geometry import failed_condition, principal_moments
from kane_dynamics_ros.description.model import ZERO, Matrix
from kane_dynamics_ros.description.reader import parse_robot
from kane_dynamics_ros.description.xml_tree import Element, parse_urdf
from kane_dynamics_ros.text import listed

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
    return UrdfText(data, parse_urdf(data, source), source)


# The nearest inertia tensor that a body can have

ROUNDING = 1e-15  # of the largest entry: a change as small is none, and the text stays


class Repair(NamedTuple):
    """A link whose tensor was replaced; about the centre of mass, along the inertial frame's axes."""

    link: str
    line: int
    before: Matrix
    after: Matrix

    def __str__(self) -> str:
        changed = [
            f"{name} {self.before[i][j]:.6g} -> {self.after[i][j]:.6g}"
            for name, (i, j) in TENSOR_ENTRIES.items()
            if self.before[i][j] != self.after[i][j]
        ]
        moments = (
            " ".join(f"{moment:.6g}" for moment in principal_moments(tensor))
            for tensor in (self.before, self.after)
        )
        return (
            f"line {self.line}: link {self.link!r}: {', '.join(changed)} kg m^2; principal moments "
            f"{' -> '.join(moments)} kg m^2"
        )


def repair_inertias(text: bytes, source: str | None = None) -> tuple[bytes, tuple[Repair, ...]]:
    """The URDF with the nearest possible tensor for each link whose tensor no body has, and what changed.

    A link without mass has no inertia: its tensor becomes 0.

    Raises ``DescriptionError`` as ``parse_robot``, and for what else is wrong with an inertia, as a negative
    mass: there is no nearest right one. Text in UTF-16 or UTF-32 cannot be changed.
    """
    robot = parse_robot(text, source)
    beyond_repair = Notes(source)
    for defect in (defect for link in robot.links for defect in link.defects):
        if defect.error.code != "KD402":
            beyond_repair.refuse(defect.error)
    beyond_repair.raise_errors()
    massless = {link.name for link in robot.links if link.defects}
    heavy = [(link.name, link.inertia) for link in robot.links if link.inertia and link.inertia.mass > 0.0]
    impossible = massless | {name for name, inertia in heavy if failed_condition(inertia.tensor)}
    repairs: list[Repair] = []
    edits: list[Edit] = []
    urdf = parse_text(text, source)
    for element in urdf.root.all("link"):
        link = element.attributes.get("name", "")
        inertial = element.first("inertial")
        tensor = None if inertial is None else inertial.first("inertia")
        if link not in impossible or tensor is None:
            continue
        impossible.discard(link)
        written = [float(tensor.attributes.get(name, "").strip() or 0.0) for name in TENSOR_ENTRIES]
        before = symmetric(written)
        after = (ZERO, ZERO, ZERO) if link in massless else nearest_possible(before)
        repairs.append(Repair(link, tensor.line, before, after))
        for name, (i, j) in TENSOR_ENTRIES.items():
            if before[i][j] != after[i][j]:
                edits.append(urdf.attribute(tensor, name, repr(after[i][j])))
    if impossible:
        raise uneditable(Place(source), f"no <inertia> was found of {listed(sorted(impossible))}")
    return urdf.edited(edits), tuple(repairs)


def nearest_possible(tensor: Matrix) -> Matrix:
    """The nearest tensor that a body can have, in the sum of the squares of the entries' differences.

    The principal axes stay. The possible principal moments (a, b, c), none above the sum of the other two,
    are the combinations of (0, 1, 1), (1, 0, 1) and (1, 1, 0) with factors from 0 on, which are the second
    moments of mass: the nearest of them lies on the face that some of the three span.
    """
    J = np.array(tensor)
    moments, axes = np.linalg.eigh(J)
    rays = np.ones((3, 3)) - np.eye(3)
    best = np.zeros(3)
    for count in (1, 2, 3):
        for chosen in itertools.combinations(range(3), count):
            span = rays[:, chosen]
            factors = np.linalg.lstsq(span, moments, rcond=None)[0]
            near = span @ factors
            if np.all(factors >= 0.0) and np.linalg.norm(near - moments) < np.linalg.norm(best - moments):
                best = near
    change = axes @ np.diag(best - moments) @ axes.T
    change[np.abs(change) < ROUNDING * np.abs(J).max()] = 0.0
    return symmetric([float((J + change)[index]) for index in TENSOR_ENTRIES.values()])
