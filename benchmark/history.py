"""What each run measured, one JSON object a line, so that a slow change can be found later."""

import json
import os
import platform
import statistics
import subprocess
from collections.abc import Sequence
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmark import timing
from benchmark.line import Line
from kane_dynamics_ros import __version__
from kane_dynamics_ros.runtime import compilation

HISTORY = Path(__file__).parent / "history.jsonl"
WHOLE = 100  # figures of a run of all sections, or more
PACKAGES = ("numpy", "pin", "mujoco", "casadi", "sympy")


def append_history(lines: Sequence[Line], path: Path = HISTORY) -> None:
    """Add a run: date, machine, compiler, versions, how much rounds differed, both figures of every line."""
    record = {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "machine": machine(),
        "processor": processor(),
        "compiler": compiler(),
        "spread": round(statistics.median(timing.spreads), 4) if timing.spreads else None,
        "python": platform.python_version(),
        "versions": {"kane_dynamics_ros": __version__} | {name: _version(name) for name in PACKAGES},
        "figures": [
            {"work": line.work, "unit": line.unit, "ours": line.ours, line.rival_name: line.rival}
            for line in lines
        ],
    }
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def machine() -> str:
    """Kind of processor, system, cores, and whether the processor shares them with other systems.

    The name of the computer is left out: the file is public.
    """
    information = Path("/proc/cpuinfo")
    virtual = information.exists() and " hypervisor" in information.read_text()
    return (
        f"{platform.machine()}, {platform.system()}, {os.cpu_count()} cores{', virtual' if virtual else ''}"
    )


def compiler() -> str:
    """The first line of what the compiler of generated modules says of itself."""
    found = compilation.compiler()
    if found is None:
        return "no compiler"
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    return said.partition("\n")[0]


def processor() -> str:
    """The processor as the system names it; family and model tell generations of one name apart."""
    information = Path("/proc/cpuinfo")
    if not information.exists():
        return platform.processor() or platform.machine()
    rows = (row.partition(":") for row in information.read_text().splitlines())
    said = {name.strip(): value.strip() for name, _, value in rows}
    if "cpu family" not in said:  # not x86
        return said.get("model name", platform.machine())
    return f"{said['model name']}, family {said['cpu family']}, model {said['model']}"


def latest_by_processor(path: Path = HISTORY) -> dict[str, dict[str, Any]]:
    """Of each processor the last run of all sections, from the oldest such run to the newest."""
    found: dict[str, dict[str, Any]] = {}
    for row in path.read_text(encoding="utf-8").splitlines():
        run = json.loads(row)
        if len(run["figures"]) >= WHOLE:
            found.pop(run["processor"], None)
            found[run["processor"]] = run
    return found


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
