"""Text for a terminal: colour where it shows, and only characters that it has."""

import os
from typing import NamedTuple, TextIO


class Palette(NamedTuple):
    """Wraps text in terminal colours, or leaves it plain."""

    on: bool

    def bold(self, text: str) -> str:
        return self._wrapped("1", text)

    def severity(self, severity: str, text: str) -> str:
        """Red for errors, yellow for warnings, blue for information."""
        return self._wrapped({"error": "1;31", "warning": "33"}.get(severity, "34"), text)

    def _wrapped(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on else text


def palette_for(stream: TextIO) -> Palette:
    """Colours where ``stream`` is a terminal, unless NO_COLOR is set (https://no-color.org) or it is dumb."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return Palette(stream.isatty() and not plain)


def printable(text: str, stream: TextIO) -> str:
    """``text`` with escapes for what the stream's encoding lacks: names may be in any script."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
