"""Mesh files as triangles: against files written here, and against what real robots' files hold."""

import random
import re
from collections import Counter

import numpy as np
import pytest
from example_robots import ROBOTS
from mesh_samples import (
    INSTANCE,
    RED,
    SQUARE,
    STL,
    VERTEX,
    binary_stl,
    collada,
    sphere,
    text_obj,
    text_stl,
    triangles_element,
)

from kane_dynamics_ros.viewing import mesh_files
from kane_dynamics_ros.viewing.mesh_files import SUFFIXES, MeshError, SurfaceColour, read_mesh
from kane_dynamics_ros.viewing.meshes import joined, packed, reduced


def shown(data, suffix=".dae"):
    """Corners of the triangles (T, 3, 3)."""
    surface = read_mesh(data, suffix)
    return surface.points[surface.corners]


def test_all_formats_read_alike():
    points, triangles = sphere(4)
    for data, suffix in (
        (binary_stl(points, triangles), ".stl"),
        (text_stl(points, triangles), ".stl"),
        (text_obj(points, triangles), ".obj"),
        (collada(points, triangles_element(triangles)), ".dae"),
    ):
        np.testing.assert_allclose(shown(data, suffix), points[triangles], atol=1e-7)


@pytest.mark.parametrize(
    ("data", "suffix"),
    [
        (b"solid " + b"vertex a b c\n", ".stl"),
        (b"\xff" * 300_000, ".stl"),
        (b"solid\nendsolid\n", ".stl"),
        (b"solid\nvertex 0 0\nvertex 1 0 0\nvertex 0 1 0\n", ".stl"),
        (STL.replace(b"1 0 0", b"nan 0 0"), ".stl"),
        (b"v 0 0 0\nf 1 2 99999999\n", ".obj"),
        (b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 x\n", ".obj"),
        (b"not xml", ".dae"),
        (b"<robot/>", ".dae"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><COLLADA>&b;</COLLADA>', ".dae"),
        (b"<COLLADA/>", ".dae"),
        (collada(primitives=triangles_element(np.array([[0, 1, 4]]))), ".dae"),
        (collada(primitives=triangles_element(np.array([[0, 1, -1]]))), ".dae"),
        (collada().replace(b"<p>0 1 2</p>", b"<p>0 1 two</p>"), ".dae"),
        (collada().replace(b'offset="0"', b'offset="1"'), ".dae"),
        (collada().replace(b'source="#p"', b'source="#q"'), ".dae"),
        (collada(node=f"<translate>1 2</translate>{INSTANCE}"), ".dae"),
        (collada(node=f"<skew>1 2 3 4 5 6 7</skew>{INSTANCE}"), ".dae"),
        (
            collada(primitives=f'<polylist count="1">{VERTEX}<vcount>9</vcount><p>0 1 2</p></polylist>'),
            ".dae",
        ),
    ],
)
def test_what_is_no_mesh_is_refused(data, suffix):
    with pytest.raises(MeshError):
        read_mesh(data, suffix)


POLYGON = np.array([[0, 0, 0], [2, 0, 0], [2, 1, 0], [1, 2, 0], [0, 1, 0]], float)
AREA = 3.0  # a square of 2 x 1 and a triangle of the same base and height 1 above it
TRIANGLE, PENTAGON = "0 1 2", "0 1 2 3 4"


@pytest.mark.parametrize(
    ("element", "triangles", "area"),
    [
        (
            f'<polylist count="2">{VERTEX}<vcount>3 5</vcount><p>{TRIANGLE} {PENTAGON}</p></polylist>',
            4,
            AREA + 1,
        ),
        (f'<polylist count="2">{VERTEX}<vcount>2 5</vcount><p>0 1 {PENTAGON}</p></polylist>', 3, AREA),
        (f'<polygons count="2">{VERTEX}<p>{PENTAGON}</p><p>{TRIANGLE}</p></polygons>', 4, AREA + 1),
        (f'<trifans count="1">{VERTEX}<p>{PENTAGON}</p></trifans>', 3, AREA),
        (f'<tristrips count="1">{VERTEX}<p>0 1 4 2 3</p></tristrips>', 3, AREA),
        (
            f'<triangles count="1">{VERTEX}<p>{TRIANGLE}</p></triangles>'
            f'<lines count="1">{VERTEX}<p>0 1</p></lines>',
            1,
            1,
        ),
    ],
)
def test_polygons_fans_and_strips_become_triangles_that_face_one_way(element, triangles, area):
    corners = shown(collada(POLYGON, element))
    a, b, c = corners.transpose(1, 0, 2)
    normals = np.cross(b - a, c - a)
    assert len(corners) == triangles
    assert (normals[:, 2] > 0).all()
    assert normals[:, 2].sum() / 2 == pytest.approx(area)


def test_inputs_beside_the_vertices_are_passed_over():
    inputs = f'{VERTEX}<input semantic="NORMAL" source="#p" offset="1"/>'
    element = f'<triangles count="1">{inputs}<p>0 3 1 3 2 3</p></triangles>'
    np.testing.assert_allclose(shown(collada(primitives=element)), [SQUARE[:3]])


def test_transforms_apply_from_the_outermost_node_in():
    inner = f"<node><rotate>0 0 1 90</rotate><scale>1 2 1</scale>{INSTANCE}</node>"
    data = collada(
        node=f"<translate>10 0 0</translate><matrix>1 0 0 0 0 1 0 0 0 0 1 5 0 0 0 1</matrix>{inner}"
    )
    # (x, y) doubled in y, turned by 90 degrees to (-2 y, x), moved by (10, 0, 5)
    expected = [[10.0, 0.0, 5.0], [10.0, 1.0, 5.0], [8.0, 1.0, 5.0]]
    np.testing.assert_allclose(shown(data), [expected], atol=1e-6)  # single precision


def test_unit_scales_and_up_axis_does_not_turn_as_in_other_viewers_of_ros():
    np.testing.assert_allclose(shown(collada(meter=0.001, up="Y_UP")), [SQUARE[:3] * 1e-3], atol=1e-15)


def test_mirrored_node_still_faces_outwards():
    a, b, c = shown(collada(node=f"<scale>-1 1 1</scale>{INSTANCE}"))[0]
    assert np.cross(b - a, c - a)[2] > 0


def test_nodes_of_a_library_are_shown_where_they_are_instantiated():
    library = f'<library_nodes><node id="l"><translate>0 0 1</translate>{INSTANCE}</node></library_nodes>'
    heights = shown(collada(node=f'<instance_node url="#l"/>{INSTANCE}', libraries=library))[:, :, 2]
    assert sorted(heights[:, 0]) == [0.0, 1.0]


@pytest.mark.parametrize(
    ("shading", "material"),
    [
        (RED, SurfaceColour((1.0, 0.0, 0.0), 1.0)),
        (f"{RED}<transparency><float>0.25</float></transparency>", SurfaceColour((1.0, 0.0, 0.0), 0.25)),
        (f"{RED}<transparency><float>0.0</float></transparency>", SurfaceColour((1.0, 0.0, 0.0), 1.0)),
        (f"{RED}<transparent><color>1 1 1 0.5</color></transparent>", SurfaceColour((1.0, 0.0, 0.0), 0.5)),
        (
            f'{RED}<transparent opaque="RGB_ZERO"><color>0.25 0.25 0.25 1</color></transparent>',
            SurfaceColour((1.0, 0.0, 0.0), 0.75),
        ),
        ('<diffuse><texture texture="t" texcoord="u"/></diffuse>', None),
        ("", None),
    ],
)
def test_colour_and_opacity_are_the_materials(shading, material):
    assert read_mesh(collada(shading=shading), ".dae").materials == (material,)


def test_each_triangle_keeps_its_material():
    elements = triangles_element([[0, 1, 2]], "N") + triangles_element([[0, 2, 3]], "M")
    surface = read_mesh(collada(primitives=elements + triangles_element([[0, 1, 3]], "unbound")), ".dae")
    found = [surface.materials[part] for part in surface.parts]
    assert found == [SurfaceColour((0.0, 0.0, 1.0), 1.0), SurfaceColour((1.0, 0.0, 0.0), 1.0), None]


def test_scene_that_multiplies_itself_is_refused():
    """Each of 40 nodes instantiates the next one twice: 2^40 triangles of a file of 3 kB."""
    nodes = [f'<node id="n{i}">{2 * f"""<instance_node url="#n{i + 1}"/>"""}</node>' for i in range(40)]
    library = f'<library_nodes>{"".join(nodes)}<node id="n40">{INSTANCE}</node></library_nodes>'
    with pytest.raises(MeshError):
        read_mesh(collada(node='<instance_node url="#n0"/>', libraries=library), ".dae")


def test_node_within_itself_is_refused():
    library = '<library_nodes><node id="n"><instance_node url="#n"/></node></library_nodes>'
    with pytest.raises(MeshError):
        read_mesh(collada(node=f'{INSTANCE}<instance_node url="#n"/>', libraries=library), ".dae")


def test_more_points_or_triangles_than_allowed_are_refused_before_they_take_memory(monkeypatch):
    """Each instance has a triangle and four points."""
    monkeypatch.setattr(mesh_files, "MOST_READ", 8)
    read_mesh(collada(node=2 * INSTANCE), ".dae")
    with pytest.raises(MeshError):
        read_mesh(collada(node=3 * INSTANCE), ".dae")


WORDS = (
    b"-1",
    b"9" * 21,
    b"nan",
    b"inf",
    b"1e308",
    b"1e-320",
    b"0",
    b"",
    b" ",
    b"<",
    b"#g",
    b"#v",
    b'"',
    b"/>",
)


def damaged(data, choose):
    """The file with one to four words replaced, or bytes lost, added or changed."""
    for _ in range(choose.randint(1, 4)):
        start = choose.randrange(max(len(data), 1))
        words = list(re.finditer(rb'[^\s<>"=]+', data[start : start + 200]))
        first, last = choose.choice(words).span() if words else (0, 0)
        end = start + choose.randint(0, 30)
        data = choose.choice(
            [
                data[: start + first] + choose.choice(WORDS) + data[start + last :],
                data[:start] + data[end:],
                data[:start] + choose.choice(WORDS) + data[start:],
                data[:start] + bytes([choose.randrange(256)]) + data[start + 1 :],
            ]
        )
    return data


@pytest.mark.filterwarnings("error")
def test_damaged_files_are_shown_or_refused_and_never_anything_else():
    choose = random.Random(1)
    points, triangles = sphere(6)
    placed = f"<matrix>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</matrix><rotate>0 0 1 30</rotate>{INSTANCE}"
    polygons = f'<polylist count="1" material="M">{VERTEX}<vcount>4</vcount><p>0 1 2 3</p></polylist>'
    files = (
        (collada(points, triangles_element(triangles)), ".dae"),
        (collada(primitives=polygons, node=placed, shading=f"{RED}<transparent/>"), ".dae"),
        (binary_stl(points, triangles), ".stl"),
        (text_stl(points, triangles), ".stl"),
        (text_obj(points, triangles), ".obj"),
    )
    outcomes = Counter()
    for _ in range(1500):
        data, suffix = choose.choice(files)
        try:
            packed(reduced(joined(read_mesh(damaged(data, choose), suffix)), 20))
            outcomes["shown"] += 1
        except MeshError:
            outcomes["refused"] += 1
    assert min(outcomes["shown"], outcomes["refused"]) > 100


BROKEN = {"anymal_foot.dae"}  # the effect of one of its materials is missing


@pytest.mark.skipif(not ROBOTS.is_dir(), reason="needs example-robot-data (extra `test`)")
def test_every_mesh_of_real_robots_is_read():
    found = [path for path in ROBOTS.rglob("*") if path.suffix.lower() in SUFFIXES]
    paths = [path for path in found if path.name not in BROKEN]
    assert len(paths) > 700
    for path in paths:
        surface = read_mesh(path.read_bytes(), path.suffix.lower())
        if path.suffix == ".dae":  # which states its unit
            assert np.ptp(surface.points, axis=0).max() < 5.0, path  # [m]
