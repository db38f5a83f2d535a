"""Walking through one CDR message, noting which of its bytes any message of the same layout shares."""

import struct

import numpy as np

from kane_dynamics_ros.replay.reading.blocks import Bytes

ENCAPSULATION = 4  # [bytes]; alignment counts from behind them
PLAIN_CDR = (b"\x00\x00", b"\x00\x01")  # big endian, little endian


class MalformedMessageError(ValueError):
    """The bytes are no message of the expected type."""


class Cursor:
    """A position in a message. ``fixed`` marks the bytes that make up the layout: no padding, no values."""

    def __init__(self, message: bytes) -> None:
        if message[:2] not in PLAIN_CDR:
            raise MalformedMessageError(f"unknown encapsulation {message[:2].hex(' ')}")
        self.order = "<" if message[1] else ">"
        self.message = message
        self.place = ENCAPSULATION
        self.fixed: Bytes = np.zeros(len(message), np.uint8)
        self.fixed[:2] = 1

    def align(self, size: int) -> None:
        """Go on to the next multiple of a value's size."""
        self.place += -(self.place - ENCAPSULATION) % size

    def skip(self, size: int) -> int:
        """Pass over values; returns where they start. Raises ``MalformedMessageError`` at the end."""
        start = self.place
        self.place += size
        if self.place > len(self.message):
            raise MalformedMessageError(f"it ends at byte {len(self.message)}, inside a value")
        return start

    def count(self) -> int:
        """A length, part of the layout."""
        self.align(4)
        start = self.skip(4)
        self.fixed[start : start + 4] = 1
        value: int = struct.unpack_from(self.order + "I", self.message, start)[0]
        return value

    def text(self) -> str:
        """A string, part of the layout."""
        length = self.count()
        start = self.skip(length)
        self.fixed[start : start + length] = 1
        return self.message[start : start + length].rstrip(b"\0").decode("utf-8", "replace")

    def doubles(self) -> tuple[int, int]:
        """A sequence of float64: where its values start, and how many there are."""
        number = self.count()
        if number:
            self.align(8)
        return self.skip(8 * number), number
