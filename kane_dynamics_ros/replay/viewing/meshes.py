"""Meshes made small enough for a page: equal points joined, coordinates on 16 bits, triangles merged.

A page carries every mesh as text; manufacturers publish housings of 100,000 triangles. Points are put on a
grid and those in one cell become one (vertex clustering): no point moves by more than a cell, which quadric
decimation does not promise, it takes a few lines of NumPy where that needs a compiled package, and a picture
shows no difference. COLLADA has materials and a tree of transforms: there only the numbers get shorter.
"""

import re
import struct
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LARGE = 200_000  # [bytes] of a mesh file that goes into the page as it is
MOST_TRIANGLES = 20_000  # of one mesh
FINEST = 65535  # steps of the grid along each side of the bounding box: 16 bits
STL_HEAD = 84  # [bytes]: a comment of 80, the number of triangles
STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
QUANTIZED = "quantized"  # the format that ``quantized`` writes and viewer.js reads

Points = NDArray[np.float64]
Indices = NDArray[np.int64]


class MeshError(Exception):
    """A mesh that cannot be shown; the text says why."""


class Shown(NamedTuple):
    """A mesh for the page: its format, its bytes, and what was changed, if anything that shows."""

    format: str
    data: bytes
    change: str | None


def made_small(format_: str, data: bytes) -> Shown:
    """A mesh file of format "stl", "obj" or "dae" as the page takes it. Raises ``MeshError``."""
    if len(data) <= LARGE:
        return Shown(format_, data, None)
    if format_ == "dae":
        return Shown(format_, shorter_numbers(data), None)
    points, triangles = read_stl(data) if format_ == "stl" else read_obj(data)
    if not len(triangles) or not np.isfinite(points).all():
        raise MeshError("it holds no triangles, or points that are no numbers")
    before = len(triangles)
    low, extent = points.min(axis=0), np.ptp(points, axis=0)
    cell = extent.max() / FINEST
    points, triangles = clustered(points, triangles, cell)
    change = None
    if len(triangles) > MOST_TRIANGLES:
        cell = _coarsest_needed(points, triangles, extent.max())
        points, triangles = clustered(points, triangles, cell)
        change = (
            f"{before} triangles are shown as {len(triangles)}; no point moves by more than "
            f"{100 * 3**0.5 * cell / extent.max():.1f} % of its size"
        )
    return Shown(QUANTIZED, quantized(points, triangles, low, extent), change)


def read_stl(data: bytes) -> tuple[Points, Indices]:
    """Corners (3 T, 3) and triangles (T, 3) of an STL file, binary or text. Raises ``MeshError``."""
    count = int.from_bytes(data[80:STL_HEAD], "little")
    if len(data) >= STL_HEAD + STL_TRIANGLE.itemsize * count and not (
        data[:5] == b"solid" and b"facet" in data[:1000]
    ):
        corners = np.frombuffer(data, STL_TRIANGLE, count, STL_HEAD)["corners"].astype(np.float64)
    else:
        corners = _numbers(b" ".join(re.findall(rb"vertex\s+([^\n\r]{1,200})", data))).reshape(-1, 3)
    points = corners.reshape(-1, 3)
    return points, np.arange(len(points) // 3 * 3).reshape(-1, 3)


def read_obj(data: bytes) -> tuple[Points, Indices]:
    """Points (V, 3) and triangles (T, 3) of a Wavefront file; polygons as fans. Raises ``MeshError``."""
    points: list[bytes] = []
    triangles: list[tuple[int, int, int]] = []
    try:
        for line in data.splitlines():
            kind, *words = line.split() or [b""]
            if kind == b"v":
                points.append(b" ".join(words[:3]))
            elif kind == b"f":
                corners = [int(word.split(b"/")[0]) for word in words]
                corners = [i - 1 if i > 0 else len(points) + i for i in corners]
                triangles += [(corners[0], b, c) for b, c in pairwise(corners[1:])]
        found, indices = (
            _numbers(b" ".join(points)).reshape(-1, 3),
            np.array(triangles, np.int64).reshape(-1, 3),
        )
    except (ValueError, IndexError, OverflowError) as error:
        raise MeshError(f"it is no Wavefront file ({error})") from None
    if len(indices) and (indices.min() < 0 or indices.max() >= len(found)):
        raise MeshError("a face names a point that is not there")
    return found, indices


def _numbers(text: bytes) -> Points:
    try:
        return np.array(text.split(), np.float64)
    except ValueError as error:
        raise MeshError(f"a coordinate is no number ({error})") from None


def clustered(points: Points, triangles: Indices, cell: float) -> tuple[Points, Indices]:
    """The mesh with all points of one cubic cell joined at their mean, and without what falls together.

    points: (V, 3), triangles: (T, 3), cell: its edge, in the unit of the points.
    """
    if cell <= 0:
        return points, triangles
    cells = np.floor((points - points.min(axis=0)) / cell).astype(np.int64)
    keys = (cells[:, 0] << 42) | (cells[:, 1] << 21) | cells[:, 2]
    _, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
    means = np.stack([np.bincount(which, axis, len(counts)) for axis in points.T], axis=1) / counts[:, None]
    corners = which.reshape(-1)[triangles]
    a, b, c = corners.T
    corners = corners[(a != b) & (b != c) & (a != c)]
    _, first = np.unique(np.sort(corners, axis=1), axis=0, return_index=True)
    corners = corners[np.sort(first)]
    used, renumbered = np.unique(corners, return_inverse=True)
    return means[used], renumbered.reshape(-1, 3)


def _coarsest_needed(points: Points, triangles: Indices, size: float) -> float:
    """The finest cell, of those tried, that leaves at most ``MOST_TRIANGLES``."""
    low, high = 4, 1024  # cells along the longest side
    while high - low > 1 + low // 20:
        middle = (low + high) // 2
        if len(clustered(points, triangles, size / middle)[1]) > MOST_TRIANGLES:
            high = middle
        else:
            low = middle
    return size / low


def quantized(points: Points, triangles: Indices, low: Points, extent: Points) -> bytes:
    """What viewer.js reads: counts, origin and step of the grid, points and corners as small integers."""
    step = np.where(extent > 0, extent / FINEST, 1.0)
    places = np.clip(np.rint((points - low) / step), 0, FINEST).astype("<u2")
    corners = triangles.astype("<u2" if len(points) <= FINEST else "<u4")
    head = struct.pack("<II6f", len(points), len(triangles), *low, *step)
    padding = b"\0" * (-(len(head) + places.nbytes) % 4)
    return head + places.tobytes() + padding + corners.tobytes()


def shorter_numbers(data: bytes) -> bytes:
    """COLLADA with the numbers of each array to 1/65535 of the array's range."""

    def shorter(match: "re.Match[bytes]") -> bytes:
        try:
            values = np.array(match[2].split(), np.float64)
        except ValueError:
            return match[0]
        if not len(values) or not np.isfinite(values).all() or not np.ptp(values):
            return match[0]
        digits = max(0, int(np.ceil(np.log10(FINEST / np.ptp(values)))))
        return (
            match[1]
            + " ".join(f"{value:.{digits}f}".rstrip("0").rstrip(".") or "0" for value in values).encode()
        )

    return re.sub(rb"(<float_array[^>]{0,500}>)([^<]*)", shorter, data)
