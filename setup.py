"""Build of kane_dynamics_ros; package.xml holds the version, the licence and the maintainer."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

from setuptools import setup

NAME = "kane_dynamics_ros"
MANIFEST = ElementTree.parse("package.xml").getroot()
DATA_FOLDERS = ("launch", "config", "urdf")


def text(tag: str) -> str:
    """The text of one element of package.xml, on one line."""
    return " ".join(str(MANIFEST.findtext(tag)).split())


def data_files() -> list[tuple[str, list[str]]]:
    """What goes to share/: the ament marker, package.xml, and the data folders with their layout."""
    share = Path("share")
    found = [
        (str(share / "ament_index/resource_index/packages"), [f"resource/{NAME}"]),
        (str(share / NAME), ["package.xml"]),
    ]
    for folder in DATA_FOLDERS:
        files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        for parent in sorted({path.parent for path in files}):
            names = [str(path) for path in files if path.parent == parent]
            found.append((str(share / NAME / parent), names))
    return found


setup(
    version=text("version"),
    python_requires=">=3.10",  # colcon cannot read it from setup.cfg
    description=text("description"),
    license=text("license"),
    maintainer=text("maintainer"),
    maintainer_email=MANIFEST.find("maintainer").attrib["email"],
    data_files=data_files(),
)
