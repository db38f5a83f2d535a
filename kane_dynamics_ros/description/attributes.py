"""Attributes of XML elements as numbers and names, checked."""

import math
import re
from typing import NamedTuple

from kane_dynamics_ros.description.findings import (
    MissingError,
    NotANumberError,
    Notes,
    NumberCountError,
    OrientationError,
    OutOfRangeError,
    Place,
    TooLargeError,
    UnrunXacroError,
)
from kane_dynamics_ros.description.geometry import Placement, rotation_quaternion, rotation_rpy
from kane_dynamics_ros.description.model import ZERO, Matrix, Vector
from kane_dynamics_ros.description.xml_tree import Element

LONGEST_NAME = 255
LARGEST = 1e12  # beyond it, in SI units, is no robot, and products of such numbers overflow
SMALLEST = 1e-100  # below it, products of such numbers lose their digits: read as 0, and noted

# What float() takes beside this ("1_000", digits of other scripts) is not a URDF number.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_SPECIAL = re.compile(r"[+-]?(nan|inf|infinity)", re.ASCII | re.IGNORECASE)


class Reader(NamedTuple):
    """Reads the attributes of one element; ``label`` names it in messages, as in ``joint 'a' <limit>``."""

    element: Element
    label: str
    notes: Notes

    @property
    def place(self) -> Place:
        return self.notes.place(self.element.line, self.label)

    def child(self, tag: str) -> "Reader | None":
        """The child called ``tag``; of several the first, and the others are noted."""
        found = self.element.all(tag)
        if not found:
            return None
        label = f"{self.label} <{tag}>"
        for other in found[1:]:
            self.notes.add(
                "KD211", f"given again; the first, in line {found[0].line}, is used", other.line, label
            )
        return Reader(found[0], label, self.notes)

    def has(self, attribute: str) -> bool:
        """Whether the attribute is there and not blank."""
        return bool(self.element.attributes.get(attribute, "").strip())

    def name(self, attribute: str = "name") -> str:
        """A name that must be there. Raises ``MissingError``."""
        text = self.element.attributes.get(attribute, "")
        if not text.strip():
            raise MissingError(self.place, f"attribute {attribute!r}")
        if "${" in text or "$(" in text:
            raise UnrunXacroError(self.place, f"{attribute}={text[:60]!r}")
        if len(text) > LONGEST_NAME:
            raise TooLargeError(self.place, f"characters in attribute {attribute!r}", LONGEST_NAME)
        return text

    def number(self, attribute: str, default: float | None = None) -> float:
        """A finite number; ``default`` where the attribute is absent, and required where that is None."""
        if not self.has(attribute) and default is not None:
            return default
        return self.convert(attribute, self.name(attribute).strip())

    def bound(self, attribute: str) -> float | None:
        """A limit, 0 where it is absent; None where it is so large that it means none, as in 1e16 or inf."""
        text = self.element.attributes.get(attribute, "").strip()
        if not text:
            return 0.0
        if _SPECIAL.fullmatch(text) and text.strip("+-")[0].lower() != "n":
            return None
        value = self.convert(attribute, text, math.inf)
        return value if abs(value) <= LARGEST else None

    def vector(self, attribute: str, default: Vector = ZERO) -> Vector:
        """Three finite numbers, or ``default`` where the attribute is absent."""
        if attribute not in self.element.attributes:
            return default
        x, y, z = self.numbers(attribute, 3)
        return (x, y, z)

    def numbers(self, attribute: str, count: int) -> list[float]:
        """Finite numbers separated by spaces. Raises ``NumberCountError``, and as ``convert``."""
        text = self.element.attributes[attribute]
        words = text.split()
        if len(words) != count:
            if "," in text:
                raise NotANumberError(self.place, attribute, text)
            raise NumberCountError(self.place, attribute, text, count)
        return [self.convert(attribute, word) for word in words]

    def convert(self, attribute: str, text: str, largest: float = LARGEST) -> float:
        """The number in ``text``; -0 becomes 0. Raises ``NotANumberError``, ``OutOfRangeError``."""
        if _SPECIAL.fullmatch(text):
            raise OutOfRangeError(self.place, attribute, text, LARGEST)
        if "${" in text or "$(" in text:
            raise UnrunXacroError(self.place, f"{attribute}={text[:60]!r}")
        if not _NUMBER.fullmatch(text):
            raise NotANumberError(self.place, attribute, text)
        value = float(text)
        if abs(value) > largest:
            raise OutOfRangeError(self.place, attribute, text, LARGEST)
        if 0.0 < abs(value) < SMALLEST:
            self.notes.add("KD307", f"{attribute}={text[:60]!r} was read as 0", *self.place[1:])
            return 0.0
        return value + 0.0


# ``<origin>`` to a Placement.


SHORTEST_QUATERNION = 1e-6
MOST_RADIANS = 2 * math.pi * 1.001  # [rad] nobody turns a frame further; 90 and 180 are degrees


def read_origin(owner: Reader) -> Placement:
    """``<origin xyz rpy>``: position, and turns about the parent's fixed axes X, Y, Z; absent means 0.

    Newer URDFs may give ``quat_xyzw`` in place of ``rpy``. Raises ``OrientationError``.
    """
    origin = owner.child("origin")
    if origin is None:
        return Placement()
    return Placement(read_orientation(origin), origin.vector("xyz"))


def read_orientation(origin: Reader) -> Matrix:
    """R of ``rpy`` or ``quat_xyzw``; the identity where neither is given."""
    if "quat_xyzw" in origin.element.attributes:
        if "rpy" in origin.element.attributes:
            raise OrientationError(origin.place, "both rpy and quat_xyzw are given")
        x, y, z, w = origin.numbers("quat_xyzw", 4)
        if math.hypot(x, y, z, w) < SHORTEST_QUATERNION:
            raise OrientationError(origin.place, "quat_xyzw is 0")
        return rotation_quaternion(x, y, z, w)
    rpy = origin.vector("rpy")
    if max(map(abs, rpy)) > MOST_RADIANS:
        written = " ".join(map(repr, rpy))
        origin.notes.add("KD507", f"rpy is {written} rad: degrees written for radians?", *origin.place[1:])
    return rotation_rpy(*rpy)
