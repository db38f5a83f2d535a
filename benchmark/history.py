"""What each run measured, one JSON object a line, so that a slow change can be found later."""

import json
import platform
from collections.abc import Sequence
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmark.line import Line
from kane_dynamics_ros import __version__

HISTORY = Path(__file__).parent / "history.jsonl"
PACKAGES = ("numpy", "pin", "mujoco", "casadi", "sympy")


def append_history(lines: Sequence[Line], path: Path = HISTORY) -> None:
    """Add a run: date, processor, versions, and both figures of every line."""
    record = {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "processor": processor(),
        "python": platform.python_version(),
        "versions": {"kane_dynamics_ros": __version__} | {name: _version(name) for name in PACKAGES},
        "figures": [
            {"work": line.work, "unit": line.unit, "ours": line.ours, line.rival_name: line.rival}
            for line in lines
        ],
    }
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def processor() -> str:
    """The processor's model name, as far as the system tells it."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for row in information.read_text().splitlines():
            if row.startswith("model name"):
                return row.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
