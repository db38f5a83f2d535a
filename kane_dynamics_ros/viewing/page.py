"""A robot and how it moved, played by one self-contained HTML page."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal, NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np
from markupsafe import Markup

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.description import Chain, Robot, load_robot, parse_robot, serial_chain
from kane_dynamics_ros.description.load import refuse_arguments, urdf_content
from kane_dynamics_ros.description.model import MOVING
from kane_dynamics_ros.description.tree import hold
from kane_dynamics_ros.description.xml_tree import Element, parse_urdf
from kane_dynamics_ros.pages import rendered
from kane_dynamics_ros.viewing.meshes import Mesh, Meshes, load_meshes

REST = 0.5  # [s] of standing still that a page keeps before the motion
AT_REST = 1e-3  # [rad] or [m] from the first position
DIGITS = 6  # significant; the page shows, it does not compute
# What the page's own reader of URDFs needs; anything else, of any prefix, stays out.
SHOWN = re.compile(
    "robot|link|visual|geometry|mesh|box|cylinder|sphere|origin|material|color|joint|parent|child|axis|limit|mimic"
)


# What is played


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


# The robot


@dataclass(frozen=True)
class ViewOptions:
    """What of a robot to show: its chain, and how its file and its meshes are found.

    ``loading``: the keywords of ``load_robot``. Meshes may come from any folder instead of the robot's
    package alone.
    """

    root: str | None = None
    tip: str | Sequence[str] | None = None
    lock: Mapping[str, float] = field(default_factory=dict)
    loading: Mapping[str, Any] = field(default_factory=dict)
    meshes_from_anywhere: bool = False


class ShownRobot(NamedTuple):
    """A robot to show; ``held`` has the joints that do not move with the chain, and where they stand."""

    urdf: str
    chain: Chain
    held: dict[str, float]
    meshes: Meshes

    def position(self, label: str, *curves: Curve) -> Quantity:
        """Something in the joints' own units."""
        return Quantity(label, self._units("rad", "m"), curves)

    def effort(self, label: str, *curves: Curve) -> Quantity:
        """Joint efforts."""
        return Quantity(label, self._units("N m", "N"), curves)

    def _units(self, turning: str, sliding: str) -> tuple[str, ...]:
        return tuple(sliding if joint.kind == "prismatic" else turning for joint in self.chain.leaders)

    def playback(
        self, title: str, times: Array, label: str, position: Array, quantities: tuple[Quantity, ...]
    ) -> Playback:
        """How it moved: ``times`` (N,) [s], ``position`` (n, N); ``label`` names the motion."""
        return Playback(
            title=f"{self.chain.robot}: {title}",
            urdf=self.urdf,
            meshes=self.meshes.by_name,
            joints=self.chain.coordinates,
            tip=self.chain.tip,
            times=times,
            motion_label=label,
            position=position,
            reference=None,
            quantities=quantities,
            held=self.held,
            note=self.meshes.note,
        )


def robot_from_file(path: Path, options: ViewOptions) -> ShownRobot:
    """A URDF or xacro file, in any encoding that XML declares. Raises ``DescriptionError``."""
    robot = load_robot(path, **options.loading)
    tree = parse_urdf(urdf_content(path, **options.loading), str(path))
    return _shown(robot, tree, path.parent, options)


def robot_from_text(text: str, source: str, folder: Path, options: ViewOptions) -> ShownRobot:
    """A URDF's text; ``source`` is its name in messages, ``folder`` where meshes are looked for.

    Raises ``DescriptionError``.
    """
    refuse_arguments(source, options.loading.get("xacro_arguments", {}))
    return _shown(parse_robot(text, source), parse_urdf(text, source), folder, options)


def _shown(robot: Robot, tree: Element, folder: Path, options: ViewOptions) -> ShownRobot:
    chain = serial_chain(robot, options.tip, root=options.root, lock=options.lock)
    moving = {joint.name for joint in chain.joints}
    positions = hold(robot, options.lock, options.root).positions
    held = {
        joint.name: positions[joint.name]
        for joint in robot.joints
        if joint.kind in MOVING and joint.name not in moving
    }
    text, packages = shown_urdf(tree), options.loading.get("packages", ())
    meshes = load_meshes(text, folder, anywhere=options.meshes_from_anywhere, packages=packages)
    return ShownRobot(text, chain, held, meshes)


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


# The page


def page(playback: Playback) -> str:
    """The page's text; nothing in it is loaded from elsewhere."""

    def asset(name: str) -> str:
        return (resources.files("kane_dynamics_ros.viewing") / "viewer" / name).read_text(encoding="utf-8")

    def rounded(values: Array) -> Any:
        """Nested lists of numbers with few digits; ``None`` for what is not finite."""
        if values.ndim > 1:
            return [rounded(row) for row in values]
        return [float(f"{x:.{DIGITS}g}") if np.isfinite(x) else None for x in values]

    data = json.dumps(asdict(playback), default=rounded, separators=(",", ":"))
    return rendered(
        "kane_dynamics_ros.viewing",
        "page.html.j2",
        title=playback.title,
        note=playback.note,
        styles=Markup(asset("uplot.min.css") + asset("viewer.css")),
        playback=Markup(data.replace("<", "\\u003c")),  # it cannot end the script element it stands in
        libraries=Markup(asset("libraries.min.js")),
        script=Markup(asset("viewer.js")),
    )
