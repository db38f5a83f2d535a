"""The robot that a page shows: its URDF as text, its chain, its meshes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

from kane_dynamics_ros.description import Chain, Robot, load_robot, parse_robot, serial_chain
from kane_dynamics_ros.description.load import refuse_arguments, urdf_content
from kane_dynamics_ros.description.model import MOVING
from kane_dynamics_ros.description.tree import hold
from kane_dynamics_ros.description.xml_tree import Element, parse_xml
from kane_dynamics_ros.viewing.meshes import Meshes, load_meshes
from kane_dynamics_ros.viewing.page import Curve, Quantity

POSITION_UNIT_OF_KIND = {"prismatic": "m"}  # else rad
EFFORT_UNITS = {"prismatic": "N"}  # else N m
# What the page's own reader of URDFs needs; anything else, of any prefix, stays out.
SHOWN = re.compile(
    "robot|link|visual|geometry|mesh|box|cylinder|sphere|origin|material|color|joint|parent|child|axis|limit|mimic"
)


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
        return Quantity(label, self._units(POSITION_UNIT_OF_KIND, "rad"), curves)

    def effort(self, *curves: Curve) -> Quantity:
        """Joint efforts."""
        return Quantity("torque", self._units(EFFORT_UNITS, "N m"), curves)

    def _units(self, by_kind: Mapping[str, str], otherwise: str) -> tuple[str, ...]:
        kinds = {joint.name: joint.kind for joint in self.chain.joints}
        return tuple(by_kind.get(kinds[name], otherwise) for name in self.chain.coordinates)


def robot_from_file(path: Path, options: ViewOptions) -> ShownRobot:
    """A URDF or xacro file, in any encoding that XML declares. Raises ``DescriptionError``."""
    robot = load_robot(path, **options.loading)
    tree = parse_xml(urdf_content(path, **options.loading), str(path))
    return _shown(robot, tree, path.parent, options)


def robot_from_text(text: str, source: str, folder: Path, options: ViewOptions) -> ShownRobot:
    """A URDF's text; ``source`` is its name in messages, ``folder`` where meshes are looked for.

    Raises ``DescriptionError``.
    """
    refuse_arguments(source, options.loading.get("xacro_arguments", {}))
    return _shown(parse_robot(text, source), parse_xml(text, source), folder, options)


def _shown(robot: Robot, tree: Element, folder: Path, options: ViewOptions) -> ShownRobot:
    chain = serial_chain(robot, options.tip, root=options.root, lock=options.lock)
    moving = {joint.name for joint in chain.joints}
    positions = hold(robot, options.lock, options.root).positions
    held = {
        joint.name: positions[joint.name]
        for joint in robot.joints
        if joint.kind in MOVING and joint.name not in moving
    }
    text = shown_urdf(tree)
    return ShownRobot(
        text,
        chain,
        held,
        load_meshes(
            text, folder, anywhere=options.meshes_from_anywhere, packages=options.loading.get("packages", ())
        ),
    )


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
