"""One self-contained HTML page that plays a record of a robot."""

import base64
import html
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.description import Chain, parse_robot, serial_chain
from kane_dynamics_ros.description.load import expand_xacro, read_bytes

# Write one self-contained HTML page that plays a record of a robot: what is in it, and the page itself.


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


# Find the mesh files that a URDF names, and take them into the page.


FORMATS = {".stl": "stl", ".dae": "dae", ".obj": "obj"}
PACKAGE = "package://"


def load_meshes(urdf: str, folder: Path) -> tuple[dict[str, Mesh], list[str]]:
    """The meshes of all visuals that can be found, by name, and the names of those that cannot.

    Relative names start at ``folder``; ``package://NAME/...`` is looked up in the parents of ``folder``
    and in ``share`` of every prefix of AMENT_PREFIX_PATH.
    """
    found, missing = {}, []
    for name in mesh_names(urdf):
        path = next((p for p in candidates(name, folder) if p.is_file()), None)
        if path is None or path.suffix.lower() not in FORMATS:
            missing.append(name)
        else:
            content = base64.b64encode(path.read_bytes()).decode("ascii")
            found[name] = Mesh(FORMATS[path.suffix.lower()], content)
    return found, missing


def mesh_names(urdf: str) -> list[str]:
    """The file names of the URDF's visual meshes, each once."""
    meshes = ElementTree.fromstring(urdf).iterfind("link/visual/geometry/mesh")
    return list(dict.fromkeys(mesh.attrib["filename"] for mesh in meshes))


def candidates(name: str, folder: Path) -> Iterator[Path]:
    """Where a mesh of that name may lie."""
    if not name.startswith(PACKAGE):
        yield folder / name.removeprefix("file://")
        return
    relative = name.removeprefix(PACKAGE)
    for parent in (folder, *folder.resolve().parents):
        yield parent / relative
    for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        yield Path(prefix) / "share" / relative


# The robot of a page: its URDF as text, its chain, its meshes, and what a record of its motion shows.


POSITION_UNITS = {"prismatic": "m"}  # else rad
EFFORT_UNITS = {"prismatic": "N"}  # else N m


class ShownRobot(NamedTuple):
    """A robot to show, and the mesh files that its URDF names but that are not there."""

    urdf: str
    chain: Chain
    meshes: dict[str, Mesh]
    missing: list[str]

    def units(self, by_kind: Mapping[str, str], otherwise: str) -> tuple[str, ...]:
        """Each coordinate's unit."""
        kinds = {joint.name: joint.kind for joint in self.chain.joints}
        return tuple(by_kind.get(kinds[name], otherwise) for name in self.chain.coordinates)

    def position(self, label: str, *series: Series) -> Quantity:
        """Something in the joints' own units."""
        return Quantity(label, self.units(POSITION_UNITS, "rad"), series)

    def effort(self, *series: Series) -> Quantity:
        """Joint efforts."""
        return Quantity("torque", self.units(EFFORT_UNITS, "N m"), series)


def robot_from_file(path: Path, tip: str | None) -> ShownRobot:
    """A URDF or xacro file. Raises ``DescriptionError``."""
    data = read_bytes(str(path))
    text = expand_xacro(str(path), data, {}) if path.suffix == ".xacro" else data.decode("utf-8")
    return robot_from_text(text, str(path), path.parent, tip)


def robot_from_text(text: str, source: str, folder: Path, tip: str | None) -> ShownRobot:
    """A URDF's text; ``source`` is its name in messages, ``folder`` where meshes are looked for."""
    chain = serial_chain(parse_robot(text.encode("utf-8"), source), tip)
    return ShownRobot(text, chain, *load_meshes(text, folder))
