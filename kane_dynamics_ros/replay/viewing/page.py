"""Write one self-contained HTML page that plays a record of a robot: what is in it, and the page itself."""

import html
import json
from dataclasses import asdict, dataclass
from importlib import resources
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DIGITS = 6  # significant; the page shows, it does not compute


@dataclass(frozen=True)
class Series:
    """A line in every joint's plot: ``values`` (n, N); ``role`` "motion" or "reference" sets its colour."""

    label: str
    role: str
    values: Array


@dataclass(frozen=True)
class Quantity:
    """What the plots can show: a label, each joint's unit, the lines."""

    label: str
    units: tuple[str, ...]
    series: tuple[Series, ...]


@dataclass(frozen=True)
class Mesh:
    """A mesh file of the URDF: "stl", "dae" or "obj", and its bytes."""

    format: str
    base64: str


@dataclass(frozen=True)
class Record:
    """A robot and how it moved. ``times`` (N,) [s]; positions (n, N) [rad] or [m] in the order of ``joints``.

    ``meshes`` has the URDF's mesh files by the name that the URDF gives them.
    """

    title: str
    urdf: str
    meshes: dict[str, Mesh]
    joints: tuple[str, ...]
    tip: str
    times: Array
    motionLabel: str
    position: Array
    reference: Array | None
    quantities: tuple[Quantity, ...]


def page(record: Record) -> str:
    """The page's text; nothing in it is loaded from elsewhere."""
    return Template(asset("page.html")).substitute(
        title=html.escape(record.title),
        styles=asset("uplot.min.css") + asset("viewer.css"),
        record=embedded_json(record),
        libraries=asset("libraries.min.js"),
        script=asset("viewer.js"),
    )


def asset(name: str) -> str:
    """The text of a file of the viewer."""
    return (resources.files("kane_dynamics_ros.replay.viewing") / "viewer" / name).read_text(encoding="utf-8")


def embedded_json(record: Record) -> str:
    """The record as JSON that cannot end the script element it stands in."""
    return json.dumps(asdict(record), default=rounded, separators=(",", ":")).replace("<", "\\u003c")


def rounded(values: Array) -> Any:
    """An array as nested lists of numbers with few digits; ``None`` for what is not finite."""
    if values.ndim > 1:
        return [rounded(row) for row in values]
    return [float(f"{x:.{DIGITS}g}") if np.isfinite(x) else None for x in values]
