"""The line of a generated module that says when it was verified, and how well."""

import datetime
from collections.abc import Mapping
from pathlib import Path

from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.seal import RECORD


class RecordError(KaneDynamicsError):
    """The record of a verification cannot be written into the module."""

    def __init__(self, module: Path, reason: str) -> None:
        self.module, self.reason = module, reason
        super().__init__(f"{module}: the verification cannot be recorded: {reason}; omit --record")


def write_record(module: Path, largest: Mapping[str, float], states: int, seed: int) -> None:
    """Put today's verification where the last one stood; the module's seal does not cover that line.

    Raises:
        RecordError: the file cannot be written, or has no such line.
    """
    worst = max(largest, key=lambda name: largest[name])
    today = datetime.date.today().isoformat()
    record = {"date": today, "states": states, "seed": seed, "largest": largest[worst], "of": worst}
    try:
        lines = module.read_text(encoding="utf-8").split("\n")
        place = next((index for index, line in enumerate(lines) if line.startswith(RECORD)), None)
        if place is None:
            raise RecordError(module, f"it has no line that begins with {RECORD.strip()!r}")
        lines[place] = f"{RECORD}{record!r}"
        module.write_text("\n".join(lines), encoding="utf-8", newline="\n")
    except OSError as error:
        raise RecordError(module, error.strerror or str(error)) from error
