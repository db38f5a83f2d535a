"""The meshes that a URDF's visuals name: found in the robot's package, read, made small enough for a page.

A page carries every mesh as text; manufacturers publish housings of 300,000 triangles. Equal points are
joined, fast-simplification merges triangles by quadric error metrics [GarlandHeckbert1997], each material's
part for itself, and coordinates are stored on 16 bits.
"""

import base64
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.description.xacro_process import find_package
from kane_dynamics_ros.description.xml_tree import parse_urdf
from kane_dynamics_ros.text import listed
from kane_dynamics_ros.viewing.mesh_files import (
    INSTALL,
    LARGEST_MESH,
    SUFFIXES,
    MeshError,
    Surface,
    read_mesh,
)

PACKAGE = "package://"
NAMED = 3  # files that are not shown, of each reason
MOST_TRIANGLES = 200_000  # of a page
LARGEST_MESHES = 2**29  # [bytes] of all files of a robot
SMALLEST = 1e-30  # [m] of a side; below it single precision ends
FINEST = 65535  # steps of the grid along the longest side of the bounding box: 16 bits


@dataclass(frozen=True)
class MeshPart:
    """Some triangles of a mesh and their colour "#rrggbb"; without one, the colour that the URDF gives."""

    triangles: int
    colour: str | None
    opacity: float


@dataclass(frozen=True)
class Mesh:
    """A mesh in the page: ``base64`` of what ``packed`` makes, and its parts in that order."""

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
    """The meshes of all visuals, all together small enough for a page.

    Relative names start at ``folder``; ``package://NAME/...`` is looked up in the parents of ``folder``, in
    ``share`` of every prefix of AMENT_PREFIX_PATH, and where ``find_package`` looks. A description may come
    from anyone, and what a page embeds travels with it: unless ``anywhere``, a file must lie, links resolved,
    in the package.
    """
    surfaces: dict[str, Surface] = {}
    in_file: dict[str, int] = {}  # triangles
    refused: dict[str, list[str]] = {}  # names by the reason
    left = LARGEST_MESHES
    links = parse_urdf(urdf).all("link")
    shapes = [shape for link in links for visual in link.all("visual") for shape in visual.all("geometry")]
    meshes = [mesh for shape in shapes for mesh in shape.all("mesh")]
    for name in dict.fromkeys(mesh.attributes.get("filename", "") for mesh in meshes):
        try:
            data, suffix = mesh_data(name, folder, anywhere, packages)
            left -= len(data)
            if left < 0:
                raise MeshError(f"the robot's meshes have more than {LARGEST_MESHES} bytes")
            whole = read_mesh(data, suffix)
            surface = joined(whole)
            if not len(surface.corners):
                raise MeshError("its triangles have no area")
            surfaces[name], in_file[name] = surface, len(whole.corners)
        except MeshError as error:
            refused.setdefault(str(error), []).append(name if len(name) <= 100 else f"{name[:100]}...")
    shown: dict[str, Mesh] = {}
    simplified: dict[str, int] = {}  # triangles that are left
    most = allowances([len(surface.corners) for surface in surfaces.values()], MOST_TRIANGLES)
    for (name, surface), allowed in zip(surfaces.items(), most, strict=True):
        small = reduced(surface, allowed)
        if small is not surface:
            simplified[name] = len(small.corners)
        data, counts = packed(small)
        parts = []
        for count, material in zip(counts, small.materials, strict=True):
            colour = material and "#" + "".join(f"{round(255 * x):02x}" for x in material.colour)
            parts.append(MeshPart(count, colour, material.opacity if material else 1.0))
        shown[name] = Mesh(base64.b64encode(data).decode("ascii"), tuple(parts))
    note = ""
    if INSTALL in refused:
        note = f"rods stand for links: {INSTALL}"
    elif simplified:
        which = "1 mesh is" if len(simplified) == 1 else f"{len(simplified)} of {len(shown)} meshes are"
        before = sum(in_file[name] for name in simplified)
        note = f"{which} simplified: {before:,} triangles are shown as {sum(simplified.values()):,}"
    warnings = [
        f"{'mesh' if len(names) == 1 else 'meshes'} not shown: {listed(names, NAMED)}: {reason}"
        for reason, names in refused.items()
    ]
    return Meshes(shown, warnings, note)


def mesh_points(name: str, folder: Path) -> Array | None:
    """The corners (N, 3) [m] of the triangles of a URDF's mesh; None where its file is not read."""
    try:
        surface = read_mesh(*mesh_data(name, folder, anywhere=True))
    except MeshError:
        return None
    return surface.points[np.unique(surface.corners)]


# Files


def mesh_data(name: str, folder: Path, anywhere: bool, packages: Sequence[Path] = ()) -> tuple[bytes, str]:
    """A mesh file's content and suffix. Raises ``MeshError``."""
    reason = "not found" if name else "its element has no file name"
    for path, package in candidates(name, folder, packages):
        try:
            if not path.is_file():
                continue
            if not anywhere and package is not None and not path.resolve().is_relative_to(package.resolve()):
                reason = "it lies outside of the robot's package; --meshes-from-anywhere shows it"
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


def candidates(name: str, folder: Path, packages: Sequence[Path] = ()) -> Iterator[tuple[Path, Path | None]]:
    """Where a mesh of that name may lie, and in which folder it must; None where the user installed it."""
    if not name:
        return
    if not name.startswith(PACKAGE):
        whole = folder.resolve()
        packaged = (each for each in (whole, *whole.parents) if (each / "package.xml").is_file())
        yield folder / name.removeprefix("file://"), next(packaged, whole)
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


# Made small


def allowances(counts: Sequence[int], most: int) -> list[int]:
    """How many triangles each mesh may have: all that it has, or an equal share of what the others leave.

    >>> allowances([50, 3, 60], most=23)
    [10, 3, 10]
    """
    shares = dict.fromkeys(range(len(counts)), 0)
    left = most
    for done, index in enumerate(sorted(shares, key=lambda index: counts[index])):
        shares[index] = min(counts[index], left // (len(counts) - done))
        left -= shares[index]
    return [shares[index] for index in range(len(counts))]


def joined(surface: Surface, steps: int = FINEST) -> Surface:
    """The surface with the points of each cell of a grid joined, and without what has no area then.

    steps: of the grid along the longest side; the page's own resolution by default.
    """
    low, size = surface.points.min(axis=0), float(np.ptp(surface.points, axis=0).max())
    # no cell ends in the middle of a symmetrical body, where equal points differ by rounding
    places = np.floor((surface.points - low) * (steps / max(size, SMALLEST)) + 0.3)
    _, first, which = np.unique(places, axis=0, return_index=True, return_inverse=True)
    corners = which.reshape(-1)[surface.corners]
    a, b, c = corners.T
    whole = (a != b) & (b != c) & (a != c)
    return Surface(surface.points[first], corners[whole], surface.parts[whole], surface.materials)


def reduced(surface: Surface, most: int) -> Surface:
    """The surface with at most ``most`` triangles."""
    found, steps = surface, FINEST
    if len(surface.corners) > most:
        with suppress(ImportError):  # without it, the grid below does it alone, and coarsely
            found = _simplified(surface, most / len(surface.corners))
    while len(found.corners) > most:  # loose triangles cannot be merged, but fall together on a coarse grid
        steps //= 2
        found = joined(found, steps)
    return found


def _simplified(surface: Surface, share: float) -> Surface:
    """About that share of each part's triangles. Raises ``ImportError`` without fast-simplification."""
    from fast_simplification import simplify

    points, corners, parts = [], [], []
    count = 0
    for part in range(len(surface.materials)):
        own = surface.corners[surface.parts == part]
        used, numbered = np.unique(own, return_inverse=True)
        some, triangles = surface.points[used], numbered.reshape(-1, 3)
        if len(triangles) > 1:
            target = max(1, int(share * len(triangles)))
            some, triangles = simplify(some, np.ascontiguousarray(triangles, np.int32), target_count=target)
        points.append(some)
        corners.append(np.asarray(triangles, np.int64) + count)
        parts.append(np.full(len(triangles), part))
        count += len(some)
    return Surface(np.concatenate(points), np.concatenate(corners), np.concatenate(parts), surface.materials)


def packed(surface: Surface) -> tuple[bytes, list[int]]:
    """What viewer.js reads, and the number of triangles of each of the surface's parts.

    The bytes: counts of points and triangles, origin and step of the grid, points and corners as small
    integers, the corners in the order of the parts.
    """
    points = surface.points
    low, extent = points.min(axis=0), np.ptp(points, axis=0)
    step = np.where(extent > SMALLEST, extent / FINEST, 1.0)
    places = np.clip(np.rint((points - low) / step), 0, FINEST).astype("<u2")
    order = np.argsort(surface.parts, kind="stable")
    corners = surface.corners[order].astype("<u2" if len(points) <= FINEST else "<u4")
    head = struct.pack("<II6f", len(points), len(corners), *low, *step)
    padding = b"\0" * (-(len(head) + places.nbytes) % 4)
    counts = np.bincount(surface.parts, minlength=len(surface.materials))
    return head + places.tobytes() + padding + corners.tobytes(), counts.tolist()
