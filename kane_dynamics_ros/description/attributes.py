"""Attributes of XML elements as numbers and names, checked before any parser takes them."""

import math
import re
from typing import NamedTuple

from kane_dynamics_ros.description.findings import (
    MissingError,
    NotANumberError,
    Notes,
    NumberCountError,
    OutOfRangeError,
    Place,
    TooLargeError,
    UnrunXacroError,
)
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

    def child(self, element: Element) -> "Reader":
        """The reader of a child."""
        return Reader(element, f"{self.label} <{element.tag}>", self.notes)

    def has(self, attribute: str) -> bool:
        """Whether the attribute is there and not blank."""
        return bool(self.element.attributes.get(attribute, "").strip())

    def name(self, attribute: str = "name") -> str:
        """A name that must be there. Raises ``MissingError``, ``UnrunXacroError``, ``TooLargeError``."""
        text = self.element.attributes.get(attribute, "")
        if not text.strip():
            raise MissingError(self.place, f"attribute {attribute!r}")
        if "${" in text or "$(" in text:
            raise UnrunXacroError(self.place, f"{attribute}={text[:60]!r}")
        if len(text) > LONGEST_NAME:
            raise TooLargeError(self.place, f"characters in attribute {attribute!r}", LONGEST_NAME)
        return text

    def number(self, attribute: str) -> float:
        """A finite number that must be there. Raises as ``name`` and ``convert``."""
        return self.convert(attribute, self.name(attribute).strip())

    def bound(self, attribute: str) -> float:
        """A limit: as ``number``, but infinite where it is so large that it means none, as in 1e16 or inf."""
        text = self.name(attribute).strip()
        if _SPECIAL.fullmatch(text) and text.strip("+-")[0].lower() != "n":
            return math.inf
        value = self.convert(attribute, text, math.inf)
        return value if abs(value) <= LARGEST else math.inf

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
