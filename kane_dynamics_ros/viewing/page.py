"""One self-contained HTML page that plays how a robot moved."""

import json
from dataclasses import asdict, dataclass, field
from importlib import resources
from typing import Any, Literal

import numpy as np
from markupsafe import Markup

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.pages import rendered
from kane_dynamics_ros.viewing.meshes import Mesh

REST = 0.5  # [s] of standing still that a page keeps before the motion
AT_REST = 1e-3  # [rad] or [m] from the first position
DIGITS = 6  # significant; the page shows, it does not compute


@dataclass(frozen=True)
class Curve:
    """A line in every joint's plot: ``values`` (n, N); ``role`` sets its colour."""

    label: str
    role: Literal["motion", "reference"]
    values: Array


@dataclass(frozen=True)
class Quantity:
    """What the plots can show: a label, each joint's unit, the lines."""

    label: str
    units: tuple[str, ...]
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Playback:
    """A robot and how it moved. ``times`` (N,) [s]; positions (n, N) [rad] or [m] in the order of ``joints``.

    ``meshes`` has what the page shows of the URDF's mesh files, by the name that the URDF gives them;
    ``held`` joints stand still [rad] or [m]; ``note`` says what is shown otherwise than the URDF has it.
    """

    title: str
    urdf: str
    meshes: dict[str, Mesh]
    joints: tuple[str, ...]
    tip: str
    times: Array
    motion_label: str
    position: Array
    reference: Array | None
    quantities: tuple[Quantity, ...]
    held: dict[str, float] = field(default_factory=dict)
    note: str = ""


def moving(times: Array, position: Array) -> slice:
    """The samples from shortly before the first motion on; times (N,) [s], position (N, n).

    >>> moving(np.array([0.0, 1.0, 2.0, 3.0]), np.array([[0.0], [0.0], [0.0], [0.1]]))
    slice(2, None, None)
    """
    moved = np.flatnonzero((np.abs(position - position[0]) > AT_REST).any(axis=1))
    last = max(int(moved[0]) - 1, 0) if len(moved) else 0
    return slice(int(np.searchsorted(times, times[last] - REST)) if len(moved) else 0, None)


def page(playback: Playback) -> str:
    """The page's text; nothing in it is loaded from elsewhere."""
    return rendered(
        "kane_dynamics_ros.viewing",
        "page.html.j2",
        title=playback.title,
        note=playback.note,
        styles=Markup(asset("uplot.min.css") + asset("viewer.css")),
        playback=Markup(embedded_json(playback)),
        libraries=Markup(asset("libraries.min.js")),
        script=Markup(asset("viewer.js")),
    )


def asset(name: str) -> str:
    """The text of a file of the viewer."""
    return (resources.files("kane_dynamics_ros.viewing") / "viewer" / name).read_text(encoding="utf-8")


def embedded_json(playback: Playback) -> str:
    """The playback as JSON that cannot end the script element it stands in."""
    return json.dumps(asdict(playback), default=rounded, separators=(",", ":")).replace("<", "\\u003c")


def rounded(values: Array) -> Any:
    """An array as nested lists of numbers with few digits; ``None`` for what is not finite."""
    if values.ndim > 1:
        return [rounded(row) for row in values]
    return [float(f"{x:.{DIGITS}g}") if np.isfinite(x) else None for x in values]
