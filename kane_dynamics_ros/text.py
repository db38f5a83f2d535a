"""How this package writes what it tells: lists of names, columns for a terminal, results as JSON."""

import difflib
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

LONGEST = 200  # characters of a name in a list; a file may hold names of any length


def shortened(text: str, most: int = 60) -> str:
    """``text`` quoted, cut after ``most`` characters."""
    return repr(text if len(text) <= most else text[:most] + "...")


def listed(names: Iterable[str], most: int = 20) -> str:
    """Names quoted and separated by commas; beyond ``most`` of them only their number; "none" without any."""
    quoted = [shortened(name, LONGEST) for name in names]
    rest = len(quoted) - most
    return (", ".join(quoted) or "none") if rest <= 0 else ", ".join(quoted[:most]) + f" and {rest} more"


def named(noun: str, names: Sequence[str]) -> str:
    """``joint 'a'``, ``joints 'a', 'b'``: what ``listed`` gives, after a noun that fits their number."""
    return f"{noun if len(names) == 1 else noun + 's'} {listed(names)}"


def counted(number: float, noun: str) -> str:
    """``1 point``, ``2 points``; a float to six digits: ``0.5 points``."""
    shown = f"{number:g}" if isinstance(number, float) else number
    return f"{shown} {noun}" if number == 1 else f"{shown} {noun}s"


def did_you_mean(found: str, known: Sequence[str]) -> str:
    """A question that names the nearest of ``known``, with a space after it; empty where none is near."""
    near = difflib.get_close_matches(found, known[:1000], n=1)
    return f"did you mean {near[0]!r}? " if near else ""


def aligned(rows: Sequence[Sequence[str]], left: Collection[int] | None = None) -> list[str]:
    """A line for each row, its cells under one another: flush left in the columns ``left``, else flush right.

    Without ``left`` all columns are flush left. No line ends with spaces.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if left is None or i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def json_text(value: object) -> str:
    """A value as JSON: dataclasses and named tuples as objects, what is not finite as null."""
    return json.dumps(_plain(value), indent=2, allow_nan=False) + "\n"


def _plain(value: Any) -> object:
    """``value`` as what ``json`` can write, all the way down; NumPy's numbers as Python's."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(part) for name, part in value._asdict().items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.generic):
        return value.item()
    return str(value) if isinstance(value, Path) else value
