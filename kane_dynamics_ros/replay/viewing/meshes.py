"""Find the mesh files that a URDF names, and take them into the page."""

import base64
import os
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from kane_dynamics_ros.replay.viewing.page import Mesh

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
