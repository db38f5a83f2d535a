"""Attributes of XML elements as numbers and names, checked before any parser takes them."""

import math
import re
from typing import NamedTuple

from kane_dynamics_ros.description.findings import DescriptionError, Notes, Place, missing, refusal, too_large
from kane_dynamics_ros.description.xml_tree import Element
from kane_dynamics_ros.text import shortened

LONGEST_NAME = 255
LARGEST = 1e12  # beyond it, in SI units, is no robot, and products of such numbers overflow
SMALLEST = 1e-100  # below it, products of such numbers lose their digits: read as 0, and noted

# What float() takes beside this ("1_000", digits of other scripts) is not a URDF number.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_SPECIAL = re.compile(r"[+-]?(nan|inf|infinity)", re.ASCII | re.IGNORECASE)


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
        found = self.element.all(tag)
        return self.child(found[0]) if found else self

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
