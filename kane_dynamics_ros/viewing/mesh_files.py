"""Mesh files as coloured triangles: STL, Wavefront and COLLADA.

The page's viewer gets triangles only, never a file that someone else wrote. Every file is read with bounds on
what it may hold and raises ``MeshError`` where it is not what its name says. COLLADA goes through the guarded
XML reader of URDFs; of its nodes, transforms, materials and polygons are taken, as ROS viewers do; textures,
animations and the axis that the file calls up are not.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.description import DescriptionError
from kane_dynamics_ros.description.xml_tree import Bounds, Element, parse_xml

STL_HEAD = 84  # [bytes]: a comment of 80, the number of triangles
STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
COLLADA_BOUNDS = Bounds(bytes=2**26, elements=500_000, text=2**26)
MOST_READ = 10_000_000  # points, and triangles, of one file, with every instance that its scene makes
FARTHEST = 1e9  # [m]
MOST_NODES = 100_000  # of a COLLADA scene, instances counted
DEEPEST = 64  # nodes that instantiate nodes

Points = NDArray[np.float64]
Indices = NDArray[np.int64]


class MeshError(Exception):
    """A mesh that cannot be shown; the text says why."""


class SurfaceColour(NamedTuple):
    """A colour as sRGB (0 to 1 each) and an opacity (0 to 1)."""

    colour: tuple[float, float, float]
    opacity: float


class Surface(NamedTuple):
    """Triangles: ``points`` (V, 3), ``corners`` (T, 3) into them, ``parts`` (T,) into ``materials``.

    A part whose material is None has the colour that the URDF gives to the whole.
    """

    points: Points
    corners: Indices
    parts: Indices
    materials: tuple[SurfaceColour | None, ...] = (None,)


def plain_surface(points: Points, corners: Indices) -> Surface:
    """A surface of one part without a colour of its own."""
    return Surface(points, corners, np.zeros(len(corners), np.int64))


def read_mesh(data: bytes, suffix: str) -> Surface:
    """The triangles of a file's content; ``suffix`` is one of ``READERS``. Raises ``MeshError``."""
    surface = READERS[suffix](data)
    if not len(surface.corners):
        raise MeshError("it holds no triangles")
    if not (np.abs(surface.points) < FARTHEST).all():
        raise MeshError(f"a point is no number, or farther than {FARTHEST:.0e} m")
    if surface.corners.min() < 0 or surface.corners.max() >= len(surface.points):
        raise MeshError("a face names a point that is not there")
    return surface


def read_stl(data: bytes) -> Surface:
    """An STL file, binary or text. Raises ``MeshError``."""
    count = int.from_bytes(data[80:STL_HEAD], "little")
    if len(data) >= STL_HEAD + STL_TRIANGLE.itemsize * count and not (
        data[:5] == b"solid" and b"facet" in data[:1000]
    ):
        points = np.frombuffer(data, STL_TRIANGLE, count, STL_HEAD)["corners"].astype(np.float64)
    else:
        points = numbers(b" ".join(re.findall(rb"vertex\s+([^\n\r]{1,200})", data)))
    points = in_threes(points)
    return plain_surface(points, np.arange(len(points) // 3 * 3).reshape(-1, 3))


def read_obj(data: bytes) -> Surface:
    """A Wavefront file; polygons as fans. Raises ``MeshError``."""
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
        found = np.array(triangles, np.int64).reshape(-1, 3)
    except (ValueError, IndexError, OverflowError) as error:
        raise MeshError(f"it is no Wavefront file ({error})") from None
    return plain_surface(in_threes(numbers(b" ".join(points))), found)


def numbers(text: bytes | str) -> Points:
    """Numbers separated by white space. Raises ``MeshError``."""
    try:
        return np.array(text.split(), np.float64)
    except ValueError as error:
        raise MeshError(f"a coordinate is no number ({error})") from None


def in_threes(values: Points) -> Points:
    """Values as rows of three. Raises ``MeshError``."""
    if values.size % 3:
        raise MeshError(f"its {values.size} coordinates do not make points")
    return values.reshape(-1, 3)


def read_collada(data: bytes) -> Surface:
    """A COLLADA file, in metres, with every node's transform applied. Raises ``MeshError``."""
    try:
        root = parse_xml(data, bounds=COLLADA_BOUNDS)
    except DescriptionError as error:
        raise MeshError(error.found) from None
    if root.tag != "COLLADA":
        raise MeshError(f"it is no COLLADA file, but <{root.tag[:40]}>")
    try:
        with np.errstate(all="ignore"):  # what is not finite is refused in the end
            return Collada(root).surface()
    except (ValueError, IndexError, OverflowError, RecursionError) as error:
        raise MeshError(f"it is no valid COLLADA file ({error})") from None


class Primitives(NamedTuple):
    """Triangles of one material symbol: ``corners`` (T, 3) into the geometry's ``points`` (V, 3)."""

    symbol: str
    points: Points
    corners: Indices


class Collada:
    """The scene of a COLLADA document."""

    def __init__(self, root: Element) -> None:
        self.root = root
        # by tag and id: files in which elements of two kinds share an id are common
        self.by_id = {
            (element.tag, element.attributes["id"]): element
            for element in descendants(root)
            if "id" in element.attributes
        }
        self.geometries: dict[str, list[Primitives]] = {}  # by the id, each read once
        self.nodes = self.read = 0  # nodes, and points or triangles, met so far

    def surface(self) -> Surface:
        """All triangles of the scene. Raises ``MeshError``."""
        points, corners, parts = [np.zeros((0, 3))], [np.zeros((0, 3), np.int64)], [np.zeros(0, np.int64)]
        materials: dict[SurfaceColour | None, int] = {}
        count = 0
        for primitives, transform, material in self.instances(self.scene().all("node"), np.eye(4), 0):
            placed = primitives.points @ transform[:3, :3].T + transform[:3, 3]
            mirrored = np.linalg.det(transform[:3, :3]) < 0
            points.append(placed)
            corners.append((primitives.corners[:, ::-1] if mirrored else primitives.corners) + count)
            parts.append(np.full(len(primitives.corners), materials.setdefault(material, len(materials))))
            count += len(placed)
        whole = np.concatenate(points) * self.metres()
        return Surface(whole, np.concatenate(corners), np.concatenate(parts), tuple(materials))

    def metres(self) -> float:
        """The document's unit of length [m]."""
        unit = path(self.root, "asset", "unit")
        return float(unit.attributes.get("meter", "1")) if unit else 1.0

    def scene(self) -> Element:
        """The visual scene that the document shows, else its first one."""
        named = path(self.root, "scene", "instance_visual_scene")
        scene = (
            self.target(named, "url", "visual_scene")
            if named
            else path(self.root, "library_visual_scenes", "visual_scene")
        )
        if scene is None:
            raise MeshError("it has no visual scene")
        return scene

    def target(self, element: Element, attribute: str, tag: str) -> Element | None:
        """The element of a tag that ``#id`` in an attribute refers to."""
        return self.by_id.get((tag, element.attributes.get(attribute, "").removeprefix("#")))

    def instances(
        self, nodes: Sequence[Element], parent: Points, depth: int
    ) -> Iterator[tuple[Primitives, Points, SurfaceColour | None]]:
        """Every primitive below ``nodes``, its transform (4, 4) in the scene, and its material."""
        if depth > DEEPEST:
            raise MeshError(f"its nodes are nested deeper than {DEEPEST}")
        for node in nodes:
            self.nodes += 1
            if self.nodes > MOST_NODES:
                raise MeshError(f"its scene has more than {MOST_NODES} nodes")
            transform = parent @ node_transform(node)
            for instance in (*node.all("instance_geometry"), *node.all("instance_controller")):
                for primitives in self.primitives(instance):
                    self.read += max(len(primitives.points), len(primitives.corners))
                    if self.read > MOST_READ:
                        raise MeshError(f"it has more than {MOST_READ} points or triangles")
                    yield primitives, transform, self.material(instance, primitives.symbol)
            others = [self.target(instance, "url", "node") for instance in node.all("instance_node")]
            below = [*node.all("node"), *(other for other in others if other is not None)]
            yield from self.instances(below, transform, depth + 1)

    def primitives(self, instance: Element) -> list[Primitives]:
        """The triangles of what is instantiated: a geometry, or a skin's as it was modelled."""
        geometry = self.target(instance, "url", "geometry")
        controller = self.target(instance, "url", "controller")
        skin = path(controller, "skin") if controller else None
        geometry = self.target(skin, "source", "geometry") if skin else geometry
        if geometry is None:
            return []
        name = geometry.attributes["id"]
        if name not in self.geometries:
            self.geometries[name] = [one for mesh in geometry.all("mesh") for one in mesh_primitives(mesh)]
        return self.geometries[name]

    def material(self, instance: Element, symbol: str) -> SurfaceColour | None:
        """What the instance binds to a material's symbol; None without a plain colour."""
        bound = path(instance, "bind_material", "technique_common")
        for binding in bound.all("instance_material") if bound else ():
            if binding.get("symbol") == symbol:
                material = self.target(binding, "target", "material")
                effect = path(material, "instance_effect") if material else None
                found = self.target(effect, "url", "effect") if effect else None
                return effect_material(found) if found else None
        return None


def descendants(element: Element) -> Iterator[Element]:
    """An element and all below it."""
    waiting = [element]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(one.children)


def path(element: Element, *tags: str) -> Element | None:
    """The first child of each tag in turn."""
    found: Element | None = element
    for tag in tags:
        found = next(iter(found.all(tag)), None) if found else None
    return found


def node_transform(node: Element) -> Points:
    """A node's transform (4, 4) in its parent: the product of its elements in their order."""
    whole = np.eye(4)
    for element in node.children:
        if element.tag in TRANSFORMS:
            count, transform = TRANSFORMS[element.tag]
            values = numbers(element.text)
            if len(values) != count or not np.isfinite(values).all():
                raise MeshError(f"<{element.tag}> in line {element.line} needs {count} numbers")
            whole = whole @ transform(values)
        elif element.tag in ("lookat", "skew"):
            raise MeshError(f"<{element.tag}> in line {element.line} is not read")
    return whole


def translation(p: Points) -> Points:
    """The matrix (4, 4) of <translate>."""
    whole = np.eye(4)
    whole[:3, 3] = p
    return whole


def scaling(factors: Points) -> Points:
    """The matrix (4, 4) of <scale>."""
    return np.diag([*factors, 1.0])


def rotation(values: Points) -> Points:
    """The matrix (4, 4) of <rotate>, axis and angle [degrees]: 1 + sin a K + (1 - cos a) K K (Rodrigues)."""
    length = float(np.linalg.norm(values[:3]))
    whole = np.eye(4)
    if length > 0:
        x, y, z = values[:3] / length
        angle = np.radians(values[3])
        K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        whole[:3, :3] += np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
    return whole


TRANSFORMS: Mapping[str, tuple[int, Callable[[Points], Points]]] = {
    "matrix": (16, lambda values: values.reshape(4, 4)),
    "translate": (3, translation),
    "rotate": (4, rotation),
    "scale": (3, scaling),
}


def mesh_primitives(mesh: Element) -> Iterator[Primitives]:
    """The triangles of each element of a <mesh>; lines and points are not shown."""
    sources = {source.get("id"): source for source in mesh.all("source")}
    vertices = {
        vertex.get("id"): positions(sources, of_semantic(vertex, "POSITION"))
        for vertex in mesh.all("vertices")
    }
    for element in mesh.children:
        if element.tag in TRIANGLES and "count" in element.attributes and element.all("p"):
            used = of_semantic(element, "VERTEX")
            stride = 1 + max(int(each.attributes.get("offset", "0")) for each in element.all("input"))
            offset = int(used.attributes.get("offset", "0"))
            lists = [integers(p.text).reshape(-1, stride)[:, offset] for p in element.all("p")]
            corners = TRIANGLES[element.tag](element, lists)
            points = vertices.get(used.attributes.get("source", "").removeprefix("#"))
            if points is None or (len(corners) and not 0 <= corners.min() <= corners.max() < len(points)):
                raise MeshError(f"<{element.tag}> in line {element.line} names points that are not there")
            yield Primitives(element.attributes.get("material", ""), points, corners)


def of_semantic(element: Element, semantic: str) -> Element:
    """The <input> of a meaning. Raises ``MeshError``."""
    for each in element.all("input"):
        if each.get("semantic") == semantic:
            return each
    raise MeshError(f"<{element.tag}> in line {element.line} has no {semantic}")


def positions(sources: Mapping[str | None, Element], used: Element) -> Points:
    """The points of a source (V, 3)."""
    source = sources.get(used.attributes.get("source", "").removeprefix("#"))
    array = path(source, "float_array") if source else None
    if source is None or array is None:
        raise MeshError(f"<input> in line {used.line} names a source that is not there")
    accessor = path(source, "technique_common", "accessor")
    stride = int(accessor.attributes.get("stride", "3")) if accessor else 3
    if stride < 3:
        raise MeshError(f"the points in line {source.line} have {stride} coordinates")
    values = numbers(array.text)
    return values[: len(values) // stride * stride].reshape(-1, stride)[:, :3]


def integers(text: str) -> Indices:
    """Indices separated by white space."""
    return np.array(text.split(), np.int64)


def fans(corners: Indices, counts: Indices) -> Indices:
    """Polygons of ``counts`` corners each, one after the other, as fans of triangles (T, 3)."""
    if counts.sum() > len(corners) or (counts < 0).any():
        raise MeshError("its polygons have other corners than they say")
    triangles = np.maximum(counts - 2, 0)
    first = np.repeat(np.cumsum(counts) - counts, triangles)
    nth = np.arange(triangles.sum()) - np.repeat(np.cumsum(triangles) - triangles, triangles)
    return np.asarray(corners[np.stack([first, first + nth + 1, first + nth + 2], axis=1)])


def each_a_fan(_: Element, lists: list[Indices]) -> Indices:
    """The corners (triangles, 3) of <polygons> and <trifans>."""
    return fans(np.concatenate(lists), np.array([len(one) for one in lists]))


def of_polylist(element: Element, lists: list[Indices]) -> Indices:
    """The corners (triangles, 3) of <polylist>."""
    counts = path(element, "vcount")
    return fans(lists[0], integers(counts.text if counts else ""))


def of_triangles(_: Element, lists: list[Indices]) -> Indices:
    """The corners (triangles, 3) of <triangles>."""
    return np.concatenate([one[: len(one) // 3 * 3] for one in lists]).reshape(-1, 3)


def of_strips(_: Element, lists: list[Indices]) -> Indices:
    """The corners (triangles, 3) of <tristrips>: every other triangle turns the other way."""
    found = []
    for one in lists:
        triangles = np.stack([one[:-2], one[1:-1], one[2:]], axis=1)
        triangles[1::2] = triangles[1::2, ::-1]
        found.append(triangles)
    return np.concatenate(found)


TRIANGLES: Mapping[str, Callable[[Element, list[Indices]], Indices]] = {
    "triangles": of_triangles,
    "polylist": of_polylist,
    "polygons": each_a_fan,
    "trifans": each_a_fan,
    "tristrips": of_strips,
}


def effect_material(effect: Element) -> SurfaceColour | None:
    """The colour of an <effect>; None where a texture or nothing gives it."""
    technique = path(effect, "profile_COMMON", "technique")
    shading = next((each for each in technique.children if each.tag in SHADINGS), None) if technique else None
    if shading is None:
        return None
    colour = path(shading, SHADINGS[shading.tag], "color")
    if colour is None:
        return None
    rgb = np.clip(numbers(colour.text), 0.0, 1.0)
    if len(rgb) < 3 or not np.isfinite(rgb).all():
        return None
    return SurfaceColour((float(rgb[0]), float(rgb[1]), float(rgb[2])), opacity(shading))


SHADINGS = {"phong": "diffuse", "lambert": "diffuse", "blinn": "diffuse", "constant": "emission"}


def opacity(shading: Element) -> float:
    """The opacity that <transparent> and <transparency> give together.

    Old exporters write <transparency>0.0</transparency> of opaque materials, and other viewers show these:
    what nobody could see is opaque.
    """
    transparent, transparency = path(shading, "transparent"), path(shading, "transparency", "float")
    share = float(transparency.text) if transparency else 1.0
    colour = path(transparent, "color") if transparent else None
    rgba = numbers(colour.text) if colour else np.ones(4)
    mode = transparent.attributes.get("opaque", "A_ONE") if transparent else "A_ONE"
    if len(rgba) < 4 or mode not in OPACITIES:
        return 1.0
    found = OPACITIES[mode](rgba, share)
    return float(found) if 0 < found <= 1 else 1.0


OPACITIES: Mapping[str, Callable[[Points, float], float]] = {
    "A_ONE": lambda rgba, share: rgba[3] * share,
    "A_ZERO": lambda rgba, share: 1 - rgba[3] * share,
    "RGB_ONE": lambda rgba, share: rgba[:3].mean() * share,
    "RGB_ZERO": lambda rgba, share: 1 - rgba[:3].mean() * share,
}

READERS: Mapping[str, Callable[[bytes], Surface]] = {
    ".stl": read_stl,
    ".obj": read_obj,
    ".dae": read_collada,
}
