"""The verdict as plain data, for ``report.json``."""

import json
import math
from dataclasses import fields, is_dataclass
from pathlib import Path

from kane_dynamics_ros.replay.verdict.verdict import Verdict

FORMAT = 1  # rises when a field changes its name or meaning


def write_json(verdict: Verdict, file: Path) -> None:
    """Write the verdict; figures that are not finite become null."""
    data = {"format": FORMAT, **as_data(verdict)}
    file.write_text(json.dumps(data, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def as_data(verdict: Verdict) -> dict[str, object]:
    """Dataclasses and named tuples as dictionaries, all the way down."""
    data = _plain(verdict)
    assert isinstance(data, dict)
    return data


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(part) for name, part in value._asdict().items()}
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value) if isinstance(value, Path) else value
