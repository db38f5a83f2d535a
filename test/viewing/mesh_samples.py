"""Meshes for the tests: a sphere, and files that hold it."""

import struct

import numpy as np

STL = b"solid\nfacet normal 0 0 1\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendfacet\nendsolid\n"


def sphere(count):
    """A sphere of 2 count^2 triangles: points (V, 3), corners (T, 3)."""
    polar, around = np.meshgrid(np.linspace(0, np.pi, count + 1), np.linspace(0, 2 * np.pi, count + 1))
    points = np.stack(
        [np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)], axis=-1
    )
    index = np.arange((count + 1) ** 2).reshape(count + 1, count + 1)
    a, b, c, d = (part.ravel() for part in (index[:-1, :-1], index[1:, :-1], index[:-1, 1:], index[1:, 1:]))
    return points.reshape(-1, 3), np.concatenate([np.stack([a, b, c], 1), np.stack([b, d, c], 1)])


def binary_stl(points, triangles):
    record = np.zeros(len(triangles), [("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("rest", "<u2")])
    record["corners"] = points[triangles]
    return bytes(80) + struct.pack("<I", len(triangles)) + record.tobytes()


def text_stl(points, triangles):
    facet = "facet normal 0 0 0\n outer loop\n{}\n endloop\nendfacet\n"
    lines = (
        "\n".join("vertex {} {} {}".format(*point) for point in points[corners]) for corners in triangles
    )
    return ("solid s\n" + "".join(map(facet.format, lines)) + "endsolid s\n").encode()


def text_obj(points, triangles):
    lines = ["v {} {} {}".format(*point) for point in points]
    lines += ["f {}//1 {}//1 {}//1".format(*(corners + 1)) for corners in triangles]
    return "\n".join(lines).encode()


COLLADA = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="unit" meter="{meter}"/><up_axis>{up}</up_axis></asset>
<library_effects>
<effect id="e"><profile_COMMON><technique sid="c"><phong>{shading}</phong></technique></profile_COMMON>
</effect>
<effect id="f"><profile_COMMON><technique sid="c"><lambert><diffuse><color>0 0 1 1</color></diffuse></lambert>
</technique></profile_COMMON></effect></library_effects>
<library_materials><material id="m"><instance_effect url="#e"/></material>
<material id="n"><instance_effect url="#f"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="a" count="{numbers}">{points}</float_array><technique_common>
<accessor source="#a" count="{count}" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
{primitives}
</mesh></geometry></library_geometries>
{libraries}
<library_visual_scenes><visual_scene id="w"><node>{node}</node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#w"/></scene></COLLADA>"""
INSTANCE = """<instance_geometry url="#g"><bind_material><technique_common>
<instance_material symbol="M" target="#m"/><instance_material symbol="N" target="#n"/>
</technique_common></bind_material></instance_geometry>"""
VERTEX = '<input semantic="VERTEX" source="#v" offset="0"/>'
SQUARE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], float)
RED = "<diffuse><color>1 0 0 1</color></diffuse>"


def collada(
    points=SQUARE,
    primitives=f'<triangles count="1" material="M">{VERTEX}<p>0 1 2</p></triangles>',
    shading=RED,
    node=INSTANCE,
    meter=1.0,
    up="Z_UP",
    libraries="",
):
    """A COLLADA file, by default one red triangle; the symbol N is bound to blue."""
    return COLLADA.format(
        points=" ".join(map(repr, np.ravel(points).tolist())),
        numbers=np.size(points),
        count=len(points),
        primitives=primitives,
        shading=shading,
        node=node,
        meter=meter,
        up=up,
        libraries=libraries,
    ).encode()


def triangles_element(triangles, material="M"):
    """<triangles> of corners (T, 3)."""
    words = " ".join(map(str, np.ravel(triangles).tolist()))
    return f'<triangles count="{len(triangles)}" material="{material}">{VERTEX}<p>{words}</p></triangles>'


def colored_collada(points, triangles):
    """The mesh with its first half of triangles in red and the others in blue."""
    half = len(triangles) // 2
    parts = triangles_element(triangles[:half], "M") + triangles_element(triangles[half:], "N")
    return collada(points, parts)


def unpacked(data):
    """As viewer.js reads it: (V, 3), (T, 3)."""
    number, triangles = struct.unpack_from("<II", data)
    low, step = np.frombuffer(data, "<f4", 6, 8).reshape(2, 3)
    places = np.frombuffer(data, "<u2", 3 * number, 32).reshape(-1, 3)
    start = -(-(32 + 6 * number) // 4) * 4
    corners = np.frombuffer(data, "<u2" if number <= 65535 else "<u4", 3 * triangles, start).reshape(-1, 3)
    return low + places * step, corners
