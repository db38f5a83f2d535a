"""The robot of a page: its URDF as text, its chain, its meshes, and what a record of its motion shows."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.description import Chain, parse_robot, serial_chain
from kane_dynamics_ros.description.expand import expand_xacro
from kane_dynamics_ros.description.load import read_bytes
from kane_dynamics_ros.replay.viewing.meshes import load_meshes
from kane_dynamics_ros.replay.viewing.page import Mesh, Quantity, Series

Array = NDArray[np.float64]
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
