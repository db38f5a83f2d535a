"""The nearest inertia tensor that a body can have, written into a URDF's text; nothing else of it changes."""

import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple
from xml.parsers import expat

import numpy as np

from kane_dynamics_ros.description.algebra import symmetric
from kane_dynamics_ros.description.findings import InertiaWithoutMassError, Notes, Place
from kane_dynamics_ros.description.geometry import failed_condition, principal_moments
from kane_dynamics_ros.description.model import Link, Matrix
from kane_dynamics_ros.description.reader import parse_robot
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.text import listed

_TAG = re.compile(rb"""<[^\s/>]+(?:\s+[^\s=>/]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*/?>""")
ENTRIES = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
ZERO: Matrix = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
ROUNDING = 1e-15  # of the largest entry: a change as small is none, and the text stays


class RepairError(KaneDynamicsError):
    """The text cannot be changed in place."""

    def __init__(self, place: Place, reason: str) -> None:
        super().__init__(f"{place}: cannot be repaired: {reason}")


class Repair(NamedTuple):
    """A link whose tensor was replaced; about the centre of mass, along the inertial frame's axes."""

    link: str
    line: int
    before: Matrix
    after: Matrix

    def __str__(self) -> str:
        changed = [
            f"{name} {self.before[i][j]:.6g} -> {self.after[i][j]:.6g}"
            for name, (i, j) in ENTRIES.items()
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
    mass: there is no nearest right one. Raises ``RepairError`` for text in an encoding that is not UTF-8.
    """
    robot = parse_robot(text, source)
    beyond_repair = Notes(source)
    for defect in (defect for link in robot.links for defect in link.defects):
        if not isinstance(defect.error, InertiaWithoutMassError):
            beyond_repair.refuse(defect.error)
    beyond_repair.raise_errors()
    massless = {link.name for link in robot.links if link.defects}
    impossible = massless | {link.name for link in robot.links if has_impossible_tensor(link)}
    repairs, parts, end = [], [], 0
    for found in inertia_tags(text, source):
        if found.link in impossible:
            impossible.discard(found.link)  # of several, the first is the one that counts
            before = symmetric([float(found.attributes.get(name, "").strip() or 0.0) for name in ENTRIES])
            after = ZERO if found.link in massless else nearest_possible(before)
            repairs.append(Repair(found.link, found.line, before, after))
            parts += [text[end : found.start], changed_tag(found, before, after)]
            end = found.start + len(found.tag)
    if impossible:
        raise RepairError(Place(source), f"no <inertia> was found of {listed(sorted(impossible))}")
    return b"".join((*parts, text[end:])), tuple(repairs)


def has_impossible_tensor(link: Link) -> bool:
    """Whether no body of the link's mass has its tensor."""
    return (
        link.inertia is not None and link.inertia.mass > 0.0 and bool(failed_condition(link.inertia.tensor))
    )


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
    return symmetric([float((J + change)[index]) for index in ENTRIES.values()])


# The start tags of <inertia> in the text, and the same with other numbers


class InertiaTag(NamedTuple):
    """The start tag of a link's ``<inertia>``: the link's name, where it is, its bytes and its attributes."""

    link: str
    line: int
    start: int
    tag: bytes
    attributes: dict[str, str]


def inertia_tags(text: bytes, source: str | None) -> Sequence[InertiaTag]:
    """Those of all links, in the order of the file."""
    parser = expat.ParserCreate()
    stack: list[tuple[str, dict[str, str]]] = []
    found: list[InertiaTag] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        stack.append((name.rpartition(":")[2], attributes))
        if [tag for tag, _ in stack] == ["robot", "link", "inertial", "inertia"]:
            at, line = parser.CurrentByteIndex, parser.CurrentLineNumber
            match = _TAG.match(text, at)
            if match is None:
                raise RepairError(Place(source, line), "its encoding is not UTF-8: save it so first")
            found.append(InertiaTag(stack[1][1].get("name", ""), line, at, match[0], attributes))

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda name: stack.pop()
    parser.Parse(text, True)
    return found


def changed_tag(found: InertiaTag, before: Matrix, after: Matrix) -> bytes:
    """The tag with those attributes replaced that differ; what is not there is added at the end."""
    tag = found.tag
    for name, (i, j) in ENTRIES.items():
        if before[i][j] == after[i][j]:
            continue
        number = repr(after[i][j]).encode()
        pattern = re.compile(rb"(\s" + name.encode() + rb"\s*=\s*)(\"[^\"]*\"|'[^']*')")
        if pattern.search(tag):
            tag = pattern.sub(lambda match, number=number: match[1] + b'"' + number + b'"', tag)  # type: ignore[misc]
        else:
            tag = re.sub(rb"\s*(/?>)$", rb" " + name.encode() + b'="' + number + rb'"\1', tag)
    return tag
