"""Surfaces made small enough for a page: equal points joined, triangles merged, coordinates on 16 bits.

A page carries every mesh as text; manufacturers publish housings of 300,000 triangles. fast-simplification
merges them by quadric error metrics [GarlandHeckbert1997], each material's part for itself.
"""

import struct
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from kane_dynamics_ros.viewing.mesh_files import Surface

SMALLEST = 1e-30  # [m] of a side; below it single precision ends
FINEST = 65535  # steps of the grid along the longest side of the bounding box: 16 bits


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
