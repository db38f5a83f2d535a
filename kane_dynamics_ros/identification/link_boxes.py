"""The box that a link's shapes fill, in the link's frame: its centre of mass lies inside.

Boxes, cylinders and spheres of ``<collision>`` and ``<visual>`` are taken from the URDF, meshes from STL and
OBJ files, whose vertices are read, and from COLLADA files where no node moves its mesh. A link one of whose
shapes is not known has no box.
"""

import re
import struct
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from kane_dynamics_ros.description.geometry import rotation_rpy
from kane_dynamics_ros.description.xml_tree import Element, parse_xml
from kane_dynamics_ros.replay.viewing.meshes import mesh_file
from kane_dynamics_ros.runtime.interface import Array

STL_HEAD, STL_TRIANGLE = 84, 50  # [bytes] of a binary STL file


def link_boxes(urdf: bytes, folder: Path) -> dict[str, Array]:
    """Least and greatest coordinates (2, 3) [m] of each link whose shapes are all known."""
    boxes = {}
    for link in parse_xml(urdf).all("link"):
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
    x, y, z = box.T
    corners = np.array([(a, b, c) for a in x for b in y for c in z])
    origin = next(iter(shape.all("origin")), None)
    roll, pitch, yaw = numbers(origin, "rpy") if origin else (0.0, 0.0, 0.0)
    p = np.array(numbers(origin, "xyz") if origin else (0.0, 0.0, 0.0))
    return np.asarray(corners @ np.array(rotation_rpy(roll, pitch, yaw)).T + p)


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
        path = mesh_file(solid.attributes.get("filename", ""), folder)
        points = None if path is None else mesh_points(path)
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


def mesh_points(path: Path) -> Array | None:
    """The vertices of a mesh file, (N, 3) [m]; None for a format, or a scene, that is not read."""
    suffix, data = path.suffix.lower(), path.read_bytes()
    if suffix == ".stl":
        return stl_points(data)
    if suffix == ".obj":
        found = re.findall(rb"^v\s+(\S+)\s+(\S+)\s+(\S+)", data, re.MULTILINE)
        return np.array(found, float).reshape(-1, 3)
    return collada_points(data) if suffix == ".dae" else None


def stl_points(data: bytes) -> Array:
    """Vertices of an STL file, binary or text."""
    if len(data) >= STL_HEAD:
        (count,) = struct.unpack_from("<I", data, STL_HEAD - 4)
        if len(data) == STL_HEAD + STL_TRIANGLE * count:
            rows = np.frombuffer(data, np.uint8, offset=STL_HEAD).reshape(count, STL_TRIANGLE)
            return np.ascontiguousarray(rows[:, 12:48]).view("<f4").reshape(-1, 3).astype(float)
    found = re.findall(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)", data)
    return np.array(found, float).reshape(-1, 3)


def collada_points(data: bytes) -> Array | None:
    """Vertices of a COLLADA file with axis Z up whose nodes stand still; None for any other."""
    try:
        root = ElementTree.fromstring(re.sub(rb'\sxmlns="[^"]*"', b"", data, count=1))
    except ElementTree.ParseError:
        return None
    up = root.findtext("asset/up_axis", "Y_UP").strip()
    moved = [m for m in root.iterfind(".//node/matrix") if not np.allclose(floats(m.text), np.eye(4).ravel())]
    placed = [
        *root.iterfind(".//node/translate"),
        *root.iterfind(".//node/rotate"),
        *root.iterfind(".//node/scale"),
    ]
    if up != "Z_UP" or moved or placed:
        return None
    unit = root.find("asset/unit")
    meter = 1.0 if unit is None else float(unit.get("meter", "1"))
    points = []
    for mesh in root.iterfind(".//geometry/mesh"):
        place = mesh.find("vertices/input[@semantic='POSITION']")
        source = None if place is None else place.get("source", "").removeprefix("#")
        points += [
            floats(s.findtext("float_array")) for s in mesh.iterfind("source") if s.get("id") == source
        ]
    return np.concatenate(points).reshape(-1, 3) * meter if points else None


def floats(text: str | None) -> Array:
    """Numbers separated by white space."""
    return np.array((text or "").split(), float)
