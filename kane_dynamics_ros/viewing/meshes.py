"""The meshes that a URDF's visuals name: found in the robot's package, read, made small enough for a page."""

import base64
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.description.packages import find_package
from kane_dynamics_ros.description.xml_tree import parse_xml
from kane_dynamics_ros.text import listed
from kane_dynamics_ros.viewing.mesh_files import (
    INSTALL,
    LARGEST_MESH,
    SUFFIXES,
    MeshError,
    Surface,
    SurfaceColour,
    read_mesh,
)
from kane_dynamics_ros.viewing.mesh_reduction import allowances, joined, packed, reduced

PACKAGE = "package://"
MOST_TRIANGLES = 200_000  # of a page
LARGEST_MESHES = 2**29  # [bytes] of all files of a robot
NOT_FOUND = "not found"
OUTSIDE = "it lies outside of the robot's package; --meshes-from-anywhere shows it"


@dataclass(frozen=True)
class MeshPart:
    """Some triangles of a mesh and their colour "#rrggbb"; without one, the colour that the URDF gives."""

    triangles: int
    colour: str | None
    opacity: float


@dataclass(frozen=True)
class Mesh:
    """A mesh in the page: ``base64`` of what ``mesh_reduction.packed`` makes, and its parts in that order."""

    base64: str
    parts: tuple[MeshPart, ...]


class Meshes(NamedTuple):
    """Meshes by the name that the URDF gives them, warnings about others, and a note.

    The warnings are about those that are not shown; the note, where there is one, about those that are
    simplified, or about what is to be installed.
    """

    by_name: dict[str, Mesh]
    warnings: list[str]
    note: str


def load_meshes(urdf: str, folder: Path, *, anywhere: bool = False, packages: Sequence[Path] = ()) -> Meshes:
    """The meshes of all visuals.

    Relative names start at ``folder``; ``package://NAME/...`` is looked up in the parents of ``folder``, in
    ``share`` of every prefix of AMENT_PREFIX_PATH, and where ``find_package`` looks. A description may come
    from anyone, and what a page
    embeds travels with it: unless ``anywhere``, a file must lie, links resolved, in the package.
    """
    surfaces: dict[str, Surface] = {}
    triangles: dict[str, int] = {}  # in the file
    refused: dict[str, list[str]] = {}  # names by the reason
    left = LARGEST_MESHES
    for name in mesh_names(urdf):
        try:
            data, suffix = mesh_data(name, folder, anywhere, packages)
            left -= len(data)
            if left < 0:
                raise MeshError(f"the robot's meshes have more than {LARGEST_MESHES} bytes")
            surface = read_mesh(data, suffix)
            surfaces[name], triangles[name] = joined(surface), len(surface.corners)
            if not len(surfaces[name].corners):
                del surfaces[name]
                raise MeshError("its triangles have no area")
        except MeshError as error:
            refused.setdefault(str(error), []).append(name if len(name) <= 100 else f"{name[:100]}...")
    meshes, note = page_meshes(surfaces, triangles)
    if INSTALL in refused:
        note = f"rods stand for links: {INSTALL}"
    return Meshes(meshes, [not_shown(names, reason) for reason, names in refused.items()], note)


def not_shown(names: Sequence[str], reason: str) -> str:
    """A warning about meshes."""
    return f"{'mesh' if len(names) == 1 else 'meshes'} not shown: {listed(names)}: {reason}"


def page_meshes(surfaces: Mapping[str, Surface], triangles: Mapping[str, int]) -> tuple[dict[str, Mesh], str]:
    """The surfaces as the page takes them, all together small enough, and a note.

    The note is a sentence about those that are simplified. ``triangles`` says how many each had in its file.
    """
    meshes, before, after = {}, [], []
    most = allowances([len(surface.corners) for surface in surfaces.values()], MOST_TRIANGLES)
    for (name, surface), allowed in zip(surfaces.items(), most, strict=True):
        small = reduced(surface, allowed)
        data, counts = packed(small)
        meshes[name] = Mesh(base64.b64encode(data).decode("ascii"), tuple(map(part, counts, small.materials)))
        if small is not surface:
            before.append(triangles[name])
            after.append(len(small.corners))
    if not before:
        return meshes, ""
    which = "1 mesh is" if len(before) == 1 else f"{len(before)} of {len(meshes)} meshes are"
    return meshes, f"{which} simplified: {sum(before):,} triangles are shown as {sum(after):,}"


def part(triangles: int, material: SurfaceColour | None) -> MeshPart:
    """A part for the page."""
    if material is None:
        return MeshPart(triangles, None, 1.0)
    return MeshPart(
        triangles, "#" + "".join(f"{round(255 * x):02x}" for x in material.colour), material.opacity
    )


def mesh_data(name: str, folder: Path, anywhere: bool, packages: Sequence[Path]) -> tuple[bytes, str]:
    """A mesh file's content and suffix. Raises ``MeshError``."""
    reason = NOT_FOUND if name else "its element has no file name"
    for path, package in candidates(name, folder, packages):
        try:
            if not path.is_file():
                continue
            if not anywhere and package is not None and not path.resolve().is_relative_to(package.resolve()):
                reason = OUTSIDE
                continue
            suffix = path.suffix.lower()
            if suffix not in SUFFIXES:
                reason = f"files *{suffix[:20]} are not shown, only STL, COLLADA and Wavefront"
                continue
            with path.open("rb") as file:
                data = file.read(LARGEST_MESH + 1)
        except (OSError, ValueError) as error:  # too long a name, no permission, a zero byte
            reason = getattr(error, "strerror", None) or str(error)
            continue
        return data, suffix
    raise MeshError(reason)


def mesh_names(urdf: str) -> list[str]:
    """The file names of the URDF's visual meshes, each once; "" for a mesh without one."""
    links = parse_xml(urdf).all("link")
    shapes = [shape for link in links for visual in link.all("visual") for shape in visual.all("geometry")]
    meshes = [mesh for shape in shapes for mesh in shape.all("mesh")]
    return list(dict.fromkeys(mesh.attributes.get("filename", "") for mesh in meshes))


def candidates(name: str, folder: Path, packages: Sequence[Path] = ()) -> Iterator[tuple[Path, Path | None]]:
    """Where a mesh of that name may lie, and in which folder it must; None where the user installed it."""
    if not name:
        return
    if not name.startswith(PACKAGE):
        yield folder / name.removeprefix("file://"), package_of(folder)
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
    package = find_package(relative.parts[0], folder / "robot.urdf", packages)
    if package is not None:
        yield package.joinpath(*relative.parts[1:]), package


def mesh_points(name: str, folder: Path) -> Array | None:
    """The corners (N, 3) [m] of the triangles of a URDF's mesh; None where its file is not read."""
    path = mesh_file(name, folder)
    if path is None or path.suffix.lower() not in SUFFIXES or path.stat().st_size > LARGEST_MESH:
        return None
    try:
        surface = read_mesh(path.read_bytes(), path.suffix.lower())
    except MeshError:
        return None
    return surface.points[np.unique(surface.corners)]


def mesh_file(name: str, folder: Path) -> Path | None:
    """The first file, of those that a mesh of that name may be, that is there."""
    for path, _ in candidates(name, folder):
        with suppress(OSError, ValueError):  # too long a name, a zero byte
            if path.is_file():
                return path
    return None


def package_of(folder: Path) -> Path:
    """The ROS package that a folder lies in, else the folder itself."""
    whole = folder.resolve()
    return next((each for each in (whole, *whole.parents) if (each / "package.xml").is_file()), whole)
