"""The arms that are measured, each as one URDF in which exactly the measured joints move.

Meshes are dropped and further joints (fingers) fixed at 0, so that every library reads the same file and
sees the same chain.
"""

import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
EXAMPLE_ROBOTS = "cmeel.prefix/share/example-robot-data/robots"  # of the wheel example-robot-data


@dataclass(frozen=True)
class Arm:
    """One arm: the file, and how many of its joints move, from the root on."""

    name: str
    urdf: Path
    joints: int
    tip: str


def site_file(path: str) -> Path:
    """A file that a wheel installed, found on ``sys.path``. Raises ``FileNotFoundError``."""
    for folder in map(Path, sys.path):
        if (folder / path).exists():
            return folder / path
    raise FileNotFoundError(f"{path}: not in any folder of sys.path; install the benchmark's requirements")


def arms() -> Iterator[Arm]:
    """The reference robot, UR5, SO-101 (five joints) and Panda (seven)."""
    robots = site_file(EXAMPLE_ROBOTS)
    yield Arm("manipulator_5dof", REPOSITORY / "urdf/manipulator_5dof.urdf", 5, "tool")
    yield Arm("ur5", robots / "ur_description/urdf/ur5_robot.urdf", 6, "tool0")
    yield Arm("so101", robots / "so_arm_description/urdf/so101.urdf", 5, "gripper_frame_link")
    yield Arm("panda", robots / "panda_description/urdf/panda.urdf", 7, "panda_link8")


def write_reduced_urdf(arm: Arm, folder: Path) -> Path:
    """The arm's URDF without shapes, all but its first moving joints on the way to the tip fixed."""
    root = ET.parse(arm.urdf).getroot()
    for link in root.iter("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
    path = _joints_to(root, arm.tip)
    moving = [joint for joint in path if joint.get("type") != "fixed"][: arm.joints]
    for joint in root.findall("joint"):
        if joint not in moving:
            joint.set("type", "fixed")
    target = folder / f"{arm.name}.urdf"
    ET.ElementTree(root).write(target)
    return target


def _joints_to(root: ET.Element, tip: str) -> list[ET.Element]:
    """The joints from the root link to a link, in that order."""
    parents = {_link(joint, "child"): joint for joint in root.findall("joint")}
    path: list[ET.Element] = []
    while tip in parents:
        path.insert(0, parents[tip])
        tip = _link(parents[tip], "parent")
    return path


def _link(joint: ET.Element, end: str) -> str:
    element = joint.find(end)
    return "" if element is None else element.get("link", "")
