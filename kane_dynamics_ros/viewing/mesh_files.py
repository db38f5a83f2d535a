"""Mesh files as coloured triangles: STL and Wavefront by trimesh, COLLADA by pycollada (the extra ``view``).

The page's viewer gets triangles only, never a file that someone else wrote, and the libraries get no path: a
file's content alone, of a bounded size, so that nothing it refers to is loaded. COLLADA's nodes, transforms,
materials and polygons are taken, as ROS viewers do; textures, skins, animations and the axis that the file
calls up are not.
"""

import io
import re
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.text import shortened

SUFFIXES = (".stl", ".obj", ".dae")
INSTALL = "trimesh and pycollada are not installed: pip install 'kane_dynamics_ros[view]'"
LARGEST_MESH = 2**26  # [bytes] of a file
MOST_READ = 10_000_000  # points, and triangles, of one file, with every instance that its scene makes
MOST_SHARED_NODES = 16  # references to nodes in a COLLADA file: each may double what is below it
FARTHEST = 1e9  # [m]
# Entities grow without bounds, and encodings hide them; a .dae may also be an archive.
DOCTYPE = re.compile(rb"<!\s*(DOCTYPE|ENTITY)", re.IGNORECASE)
ENCODING = re.compile(
    rb"""<\?xml[^>]{0,200}encoding\s*=\s*["'](?!(utf-?8|us-ascii|iso-8859-1|windows-1252)["'])""", re.I
)

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

    points: Array
    corners: Indices
    parts: Indices
    materials: tuple[SurfaceColour | None, ...] = (None,)


def read_mesh(data: bytes, suffix: str) -> Surface:
    """The triangles of a file's content; ``suffix`` is one of ``SUFFIXES``. Raises ``MeshError``."""
    if len(data) > LARGEST_MESH:
        raise MeshError(f"it has more than {LARGEST_MESH} bytes")
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):  # what is not finite is refused below
            warnings.simplefilter("ignore")
            surface = _collada(data) if suffix == ".dae" else _plain(data, suffix[1:])
    except MeshError:
        raise
    except ImportError:
        raise MeshError(INSTALL) from None
    except Exception as error:  # another's parser on untrusted bytes: whatever it raises
        raise MeshError(f"it is no valid *{suffix} file ({shortened(str(error))})") from None
    if not len(surface.corners) or surface.points.shape[1:] != (3,):
        raise MeshError("it holds no triangles")
    if not (np.abs(surface.points) < FARTHEST).all():
        raise MeshError(f"a point is no number, or farther than {FARTHEST:.0e} m")
    if surface.corners.min() < 0 or surface.corners.max() >= len(surface.points):
        raise MeshError("a face names a point that is not there")
    return surface


def _plain(data: bytes, kind: str) -> Surface:
    """An STL or Wavefront file: one part, without a colour of its own."""
    import trimesh

    mesh = trimesh.load_mesh(io.BytesIO(data), file_type=kind, process=False, skip_materials=True)
    corners = np.asarray(mesh.faces, np.int64)
    return Surface(np.asarray(mesh.vertices, float), corners, np.zeros(len(corners), np.int64))


def _collada(data: bytes) -> Surface:
    """The scene of a COLLADA file, in metres, with every node's transform applied."""
    import collada

    if b"\0" in data or DOCTYPE.search(data) or ENCODING.search(data) or data[:2] == b"PK":
        raise MeshError("it is no plain XML: an archive, an unusual encoding, or a document type")
    if b"<skew" in data or b"<lookat" in data:
        raise MeshError("<skew> and <lookat> are not read")
    if data.count(b"instance_node") > 2 * MOST_SHARED_NODES:
        raise MeshError(f"it refers to nodes more than {MOST_SHARED_NODES} times")
    ignored = [collada.common.DaeUnsupportedError, collada.common.DaeBrokenRefError]
    document = collada.Collada(io.BytesIO(data), ignore=ignored)
    points, corners, parts = [np.zeros((0, 3))], [np.zeros((0, 3), np.int64)], [np.zeros(0, np.int64)]
    materials: dict[SurfaceColour | None, int] = {}
    count = 0
    for triangles, mirrored in _triangle_sets(document.scene):
        used = np.asarray(triangles.vertex_index, np.int64)
        if not len(used):
            continue
        vertices = np.asarray(triangles.vertex, float)
        if used.min() < 0 or used.max() >= len(vertices):
            raise MeshError("a face names a point that is not there")
        material = _colour(triangles.material)
        points.append(vertices)
        corners.append((used[:, ::-1] if mirrored else used) + count)
        parts.append(np.full(len(used), materials.setdefault(material, len(materials))))
        count += len(vertices)
    metres = float(document.assetInfo.unitmeter or 1.0)
    return Surface(
        metres * np.concatenate(points), np.concatenate(corners), np.concatenate(parts), tuple(materials)
    )


def _triangle_sets(scene: Any) -> Iterator[tuple[Any, bool]]:
    """The triangles of every instance of a geometry, and whether its transform mirrors them."""
    import collada

    read = 0
    for instance in scene.objects("geometry"):
        mirrored = bool(np.linalg.det(instance.matrix[:3, :3]) < 0)
        for primitive in instance.primitives():
            if isinstance(primitive, collada.lineset.BoundLineSet):
                continue
            if not isinstance(primitive, collada.triangleset.BoundTriangleSet):
                primitive = primitive.triangleset()
            read += max(len(primitive.vertex), len(primitive.vertex_index))
            if read > MOST_READ:
                raise MeshError(f"it has more than {MOST_READ} points or triangles")
            yield primitive, mirrored


def _colour(material: Any) -> SurfaceColour | None:
    """The colour of a bound material; None where a texture or nothing gives it.

    Old exporters write <transparency>0.0</transparency> of opaque materials, and other viewers show these:
    what nobody could see is opaque.
    """
    effect = getattr(material, "effect", None)
    if effect is None or effect.xmlnode.find(".//{*}diffuse/{*}texture") is not None:
        return None
    diffuse = effect.emission if effect.shadingtype == "constant" else effect.diffuse
    if not isinstance(diffuse, tuple) or len(diffuse) < 3 or not np.isfinite(diffuse[:3]).all():
        return None
    red, green, blue = np.clip(np.array(diffuse[:3], float), 0.0, 1.0).tolist()
    transparent = effect.transparent if isinstance(effect.transparent, tuple) else (1.0, 1.0, 1.0, 1.0)
    share = effect.transparency if isinstance(effect.transparency, float) else 0.0
    share = share or 1.0  # pycollada has 0 where the file says nothing, too
    inverse = effect.opaque_mode == "RGB_ZERO"
    opacity = 1.0 - share * float(np.mean(transparent[:3])) if inverse else share * float(transparent[3])
    return SurfaceColour((red, green, blue), opacity if 0.0 < opacity <= 1.0 else 1.0)
