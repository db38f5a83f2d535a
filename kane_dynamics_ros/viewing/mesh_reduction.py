"""Surfaces made small enough for a page: equal points joined, triangles merged, coordinates on 16 bits.

A page carries every mesh as text; manufacturers publish housings of 300,000 triangles. Points are put on a
grid and those in one cell become one (vertex clustering): no point moves by more than a cell's diagonal,
which quadric decimation does not promise, it takes a few lines of NumPy where that needs a compiled package,
and a picture shows no difference. Each triangle keeps its material.
"""

import math
import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.viewing.mesh_files import MeshError, Surface

SMALLEST = 1e-30  # [m] of a side; below it single precision ends
FINEST = 65535  # steps of the grid along each side of the bounding box: 16 bits
CLOSE_ENOUGH = 0.85  # of the triangles that a mesh may have, that many are as good
MOST_TRIALS = 16  # of cells, until a mesh has so many
FIRST_TRIAL = 128.0  # cells along the longest side
COARSEST = 2.0


class Reduced(NamedTuple):
    """A surface for the page, and the most that a point moved [of the longest side], 0 where it is whole."""

    surface: Surface
    moved: float


def allowances(counts: Sequence[int], most: int) -> list[int]:
    """How many triangles each mesh may have: all that it has, or an equal share of what the others leave."""
    shares = dict.fromkeys(range(len(counts)), 0)
    left = most
    for done, index in enumerate(sorted(shares, key=lambda index: counts[index])):
        shares[index] = min(counts[index], left // (len(counts) - done))
        left -= shares[index]
    return [shares[index] for index in range(len(counts))]


def joined(surface: Surface) -> Surface:
    """The surface without double points, at the page's own resolution. Raises ``MeshError``."""
    found = clustered(surface, longest_side(surface) / FINEST)
    if not len(found.corners):
        raise MeshError("its triangles have no area")
    return found


def reduced(surface: Surface, most: int) -> Reduced:
    """The surface with at most ``most`` triangles, and nearly as many, or what the coarsest grid leaves."""
    if len(surface.corners) <= most:
        return Reduced(surface, 0.0)
    size = longest_side(surface)
    wanted = (1 + CLOSE_ENOUGH) / 2 * most
    coarse, fine = COARSEST, float(FINEST)  # cells with few enough triangles, with too many
    best = clustered(surface, size / COARSEST)
    cells, power = FIRST_TRIAL, 2.0  # triangles grow as this power of the cells
    trials: list[tuple[float, float]] = []  # logarithms of cells and triangles
    for _ in range(MOST_TRIALS):
        found = clustered(surface, size / cells)
        count = len(found.corners)
        if count > most:
            fine = cells
        else:
            coarse, best = cells, found
            if count > CLOSE_ENOUGH * most:
                break
        trials.append((math.log(cells), math.log(max(count, 1))))
        if len(trials) > 1:
            (x1, y1), (x2, y2) = trials[-2:]
            power = min(max((y2 - y1) / (x2 - x1), 0.3), 3.0)
        cells *= (wanted / max(count, 1)) ** (1 / power)
        if len(trials) > MOST_TRIALS // 2 or not coarse < cells < fine:
            cells = (coarse * fine) ** 0.5
    return Reduced(best, 3**0.5 / coarse) if len(best.corners) else Reduced(surface, 0.0)


def longest_side(surface: Surface) -> float:
    """The longest side of the bounding box."""
    return float(np.ptp(surface.points, axis=0).max())


def clustered(surface: Surface, cell: float) -> Surface:
    """The surface with all points of one cubic cell joined at their mean, and without what falls together.

    cell: its edge, in the unit of the points.
    """
    if cell <= 0:
        return surface
    points = surface.points
    places = np.floor((points - points.min(axis=0)) / cell).astype(np.int64)
    keys = (places[:, 0] << 42) | (places[:, 1] << 21) | places[:, 2]
    _, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
    means = np.stack([np.bincount(which, axis, len(counts)) for axis in points.T], axis=1) / counts[:, None]
    corners = which.reshape(-1)[surface.corners]
    a, b, c = corners.T
    whole = np.flatnonzero((a != b) & (b != c) & (a != c))
    a, b, c = np.sort(corners[whole], axis=1).T
    _, first = np.unique((a << 42) | (b << 21) | c if len(means) < 2**21 else whole, return_index=True)
    kept = whole[np.sort(first)]
    used, renumbered = np.unique(corners[kept], return_inverse=True)
    return Surface(means[used], renumbered.reshape(-1, 3), surface.parts[kept], surface.materials)


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
