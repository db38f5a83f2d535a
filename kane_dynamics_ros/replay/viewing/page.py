"""One self-contained HTML page that plays the motion of a robot."""

import base64
import html
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path, PurePosixPath
from string import Template
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np

from kane_dynamics_ros.description import Chain, Robot, load_robot, parse_robot, serial_chain
from kane_dynamics_ros.description.load import expand_xacro, read_bytes
from kane_dynamics_ros.description.xml_tree import Element, parse_xml
from kane_dynamics_ros.replay.viewing.meshes import MeshError, Shown, made_small
from kane_dynamics_ros.runtime.interface import Array

EXPANDED = "KD111"  # the finding of a file that xacro expanded
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
    """A mesh of the URDF: "stl", "dae", "obj" or "quantized" (see meshes.py), and its bytes."""

    format: str
    base64: str


@dataclass(frozen=True)
class Playback:
    """A robot and how it moved. ``times`` (N,) [s]; positions (n, N) [rad] or [m] in the order of ``joints``.

    ``meshes`` has the URDF's mesh files by the name that the URDF gives them; ``locked`` joints stand still.
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
    locked: dict[str, float] = field(default_factory=dict)


def page(playback: Playback) -> str:
    """The page's text; nothing in it is loaded from elsewhere."""
    return Template(asset("page.html")).substitute(
        title=html.escape(playback.title),
        styles=asset("uplot.min.css") + asset("viewer.css"),
        record=embedded_json(playback),
        libraries=asset("libraries.min.js"),
        script=asset("viewer.js"),
    )


def asset(name: str) -> str:
    """The text of a file of the viewer."""
    return (resources.files("kane_dynamics_ros.replay.viewing") / "viewer" / name).read_text(encoding="utf-8")


def embedded_json(playback: Playback) -> str:
    """The playback as JSON that cannot end the script element it stands in."""
    return json.dumps(asdict(playback), default=rounded, separators=(",", ":")).replace("<", "\\u003c")


def rounded(values: Array) -> Any:
    """An array as nested lists of numbers with few digits; ``None`` for what is not finite."""
    if values.ndim > 1:
        return [rounded(row) for row in values]
    return [float(f"{x:.{DIGITS}g}") if np.isfinite(x) else None for x in values]


# Meshes that a URDF names

FORMATS = {".stl": "stl", ".dae": "dae", ".obj": "obj"}
PACKAGE = "package://"
LARGEST_MESH = 2**26  # [bytes] of a file
OUTSIDE = "it lies outside of the robot's package; --meshes-from-anywhere shows it"


def load_meshes(urdf: str, folder: Path, anywhere: bool = False) -> tuple[dict[str, Mesh], list[str]]:
    """The meshes of all visuals by name, and a warning for each that cannot be shown or was reduced.

    Relative names start at ``folder``; ``package://NAME/...`` is looked up in the parents of ``folder``
    and in ``share`` of every prefix of AMENT_PREFIX_PATH. A description may come from anyone, and what a page
    embeds travels with it: unless ``anywhere``, a file must lie, links resolved, in the package.
    """
    found, warnings = {}, []
    for name in mesh_names(urdf):
        shown = name if len(name) <= 100 else f"{name[:100]}..."
        try:
            format_, data, change = _mesh(name, folder, anywhere)
        except MeshError as error:
            warnings.append(f"mesh {shown!r} is not shown: {error}")
            continue
        found[name] = Mesh(format_, base64.b64encode(data).decode("ascii"))
        if change is not None:
            warnings.append(f"mesh {shown!r}: {change}")
    return found, warnings


def _mesh(name: str, folder: Path, anywhere: bool) -> Shown:
    """One mesh. Raises ``MeshError``."""
    reason = "it was not found" if name else "its element has no file name"
    for path, package in candidates(name, folder):
        try:
            if not path.is_file():
                continue
            if not anywhere and package is not None and not path.resolve().is_relative_to(package.resolve()):
                reason = OUTSIDE
                continue
            if path.suffix.lower() not in FORMATS:
                reason = f"files *{path.suffix[:20]} are not shown, only STL, COLLADA and Wavefront"
                continue
            with path.open("rb") as file:
                data = file.read(LARGEST_MESH + 1)
        except (OSError, ValueError) as error:  # too long a name, no permission, a zero byte
            reason = getattr(error, "strerror", None) or str(error)
            continue
        if len(data) > LARGEST_MESH:
            raise MeshError(f"it has more than {LARGEST_MESH} bytes")
        return made_small(FORMATS[path.suffix.lower()], data)
    raise MeshError(reason)


def mesh_names(urdf: str) -> list[str]:
    """The file names of the URDF's visual meshes, each once; "" for a mesh without one."""
    links = parse_xml(urdf).all("link")
    shapes = [shape for link in links for visual in link.all("visual") for shape in visual.all("geometry")]
    meshes = [mesh for shape in shapes for mesh in shape.all("mesh")]
    return list(dict.fromkeys(mesh.attributes.get("filename", "") for mesh in meshes))


def candidates(name: str, folder: Path) -> Iterator[tuple[Path, Path | None]]:
    """Where a mesh of that name may lie, and in which folder it must; None where the user installed it."""
    if not name:
        return
    if not name.startswith(PACKAGE):
        yield folder / name.removeprefix("file://"), _package_of(folder)
        return
    relative = PurePosixPath(name.removeprefix(PACKAGE))
    if not relative.parts or relative.is_absolute() or relative.parts[0] == "..":
        return
    for parent in (folder, *folder.resolve().parents):
        yield parent / relative, parent / relative.parts[0]
    for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        share = Path(prefix) / "share"
        # links in an install space, which colcon --symlink-install makes, are the user's own
        yield share / relative, share / relative.parts[0] if ".." in relative.parts else None


def mesh_file(name: str, folder: Path) -> Path | None:
    """The first file, of those that a mesh of that name may be, that is there."""
    for path, _ in candidates(name, folder):
        with suppress(OSError, ValueError):  # too long a name, a zero byte
            if path.is_file():
                return path
    return None


def _package_of(folder: Path) -> Path:
    """The ROS package that a folder lies in, else the folder itself."""
    whole = folder.resolve()
    return next((each for each in (whole, *whole.parents) if (each / "package.xml").is_file()), whole)


# The robot: its URDF as text, its chain, its meshes

POSITION_UNITS = {"prismatic": "m"}  # else rad
EFFORT_UNITS = {"prismatic": "N"}  # else N m
# What the page's own reader of URDFs needs; anything else, of any prefix, stays out.
SHOWN = re.compile(
    "robot|link|visual|geometry|mesh|box|cylinder|sphere|origin|material|color|joint|parent|child|axis|limit|mimic"
)


@dataclass(frozen=True)
class ViewOptions:
    """What of a robot to show: its chain, and meshes from any folder instead of the robot's package alone."""

    root: str | None = None
    tip: str | None = None
    lock: Mapping[str, float] = field(default_factory=dict)
    meshes_from_anywhere: bool = False


class ShownRobot(NamedTuple):
    """A robot to show, its locked joints [rad] or [m], and warnings about meshes not shown as they are."""

    urdf: str
    chain: Chain
    locked: dict[str, float]
    meshes: dict[str, Mesh]
    warnings: list[str]

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


def robot_from_file(path: Path, options: ViewOptions) -> ShownRobot:
    """A URDF or xacro file, in any encoding that XML declares. Raises ``DescriptionError``."""
    source = str(path)
    robot = load_robot(path)
    data: str | bytes = read_bytes(source)
    if any(finding.code == EXPANDED for finding in robot.findings):
        data = expand_xacro(source, read_bytes(source), {})
    return _shown(robot, parse_xml(data, source), path.parent, options)


def robot_from_text(text: str, source: str, folder: Path, options: ViewOptions) -> ShownRobot:
    """A URDF's text; ``source`` is its name in messages, ``folder`` where meshes are looked for."""
    return _shown(parse_robot(text, source), parse_xml(text, source), folder, options)


def _shown(robot: Robot, tree: Element, folder: Path, options: ViewOptions) -> ShownRobot:
    chain = serial_chain(robot, options.tip, root=options.root, lock=options.lock)
    text = shown_urdf(tree)
    meshes, warnings = load_meshes(text, folder, options.meshes_from_anywhere)
    return ShownRobot(text, chain, dict(options.lock), meshes, warnings)


def shown_urdf(tree: Element) -> str:
    """The URDF with nothing but what the page shows, as XML that any browser reads."""
    prefix = f"{tree.tag.rpartition(':')[0]}:" if ":" in tree.tag else ""

    def text(element: Element) -> str:
        tag = element.tag.removeprefix(prefix)
        if SHOWN.fullmatch(tag) is None:
            return ""
        attributes = "".join(
            f" {name}={quoteattr(value)}" for name, value in element.attributes.items() if ":" not in name
        )
        if tag == "mesh" and "filename" not in element.attributes:
            attributes += ' filename=""'
        return f"<{tag}{attributes}>{''.join(map(text, element.children))}</{tag}>"

    return text(tree)
