"""The box that a link's shapes fill, in the link's frame: its centre of mass lies inside.

Boxes, cylinders and spheres of ``<collision>`` and ``<visual>`` are taken from the URDF, meshes from STL,
Wavefront and COLLADA files. A link one of whose shapes is not known has no box.
"""

from pathlib import Path

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.description.geometry import rotation_rpy
from kane_dynamics_ros.description.xml_tree import Element, parse_urdf
from kane_dynamics_ros.viewing.meshes import mesh_points


def link_boxes(urdf: bytes, folder: Path) -> dict[str, Array]:
    """Least and greatest coordinates (2, 3) [m] of each link whose shapes are all known."""
    boxes = {}
    for link in parse_urdf(urdf).all("link"):
        shapes = [*link.all("collision"), *link.all("visual")]
        corners = [shape_corners(shape, folder) for shape in shapes]
        known = [points for points in corners if points is not None]
        if shapes and len(known) == len(corners):
            points = np.concatenate(known)
            boxes[link.attributes.get("name", "")] = np.stack([points.min(axis=0), points.max(axis=0)])
    return boxes


def shape_corners(shape: Element, folder: Path) -> Array | None:
    """The eight corners of a shape's own box in the link's frame, (8, 3); None where it is not known."""
    solids = [solid for geometry in shape.all("geometry") for solid in geometry.children]
    box = solid_box(solids[0], folder) if solids else None
    if box is None:
        return None
    origin = shape.first("origin")
    R = np.array(rotation_rpy(*numbers(origin, "rpy")))
    return np.asarray(np.array(box_corners(box)) @ R.T + numbers(origin, "xyz"))


def box_corners(box: Array) -> list[Array]:
    """The eight corners (3,) of a box, whose least and greatest coordinates are its rows (2, 3)."""
    x, y, z = box.T
    return [np.array([a, c, d]) for a in x for c in y for d in z]


def solid_box(solid: Element, folder: Path) -> Array | None:
    """Least and greatest coordinates (2, 3) of a solid in its own frame."""
    if solid.tag == "box":
        half = np.array(numbers(solid, "size")) / 2
    elif solid.tag == "sphere":
        half = np.full(3, float(solid.attributes["radius"]))
    elif solid.tag == "cylinder":
        radius = float(solid.attributes["radius"])
        half = np.array([radius, radius, float(solid.attributes["length"]) / 2])
    elif solid.tag == "mesh":
        points = mesh_points(solid.attributes.get("filename", ""), folder)
        if points is None or not len(points):
            return None
        scale = np.array(numbers(solid, "scale") if "scale" in solid.attributes else (1.0, 1.0, 1.0))
        ends = np.stack([points.min(axis=0), points.max(axis=0)]) * scale
        return np.asarray(np.sort(ends, axis=0))
    else:
        return None
    return np.stack([-half, half])


def numbers(element: Element | None, attribute: str) -> tuple[float, float, float]:
    """Three numbers of an attribute; zeros where it is absent."""
    text = "" if element is None else element.attributes.get(attribute, "")
    values = [float(word) for word in text.split()]
    return (values[0], values[1], values[2]) if len(values) == 3 else (0.0, 0.0, 0.0)
