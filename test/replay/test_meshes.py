"""Which meshes a page shows, and how: inside the robot's package, small, and with a word where not."""

import base64
import json
import os
import struct
import subprocess
import sys

import numpy as np
import pytest
from view_samples import URDF

from kane_dynamics_ros.cli.demo import tracking
from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.control.trajectory_file import trajectory_text
from kane_dynamics_ros.replay.viewing.meshes import (
    LARGE,
    MOST_TRIANGLES,
    QUANTIZED,
    MeshError,
    clustered,
    made_small,
    read_obj,
    read_stl,
    shorter_numbers,
)
from kane_dynamics_ros.replay.viewing.page import load_meshes

JOINTS = ("gamma_1", "alpha_2", "alpha_3", "beta_4", "gamma_4")
START = np.array([0.0, 0.9, -1.2, 0.3, 0.5])
STL = b"solid\nendsolid\n"


def urdf_with(*attributes):
    shapes = "".join(f"<visual><geometry><mesh {text}/></geometry></visual>" for text in attributes)
    return f'<robot name="r"><link name="l">{shapes}</link></robot>'


def named(name):
    return f'filename="{name}"'


@pytest.fixture
def package(tmp_path):
    """A package with a URDF's folder and a mesh, and a file outside of it."""
    folder = tmp_path / "ws" / "robot" / "urdf"
    folder.mkdir(parents=True)
    (tmp_path / "ws" / "robot" / "package.xml").touch()
    (tmp_path / "ws" / "robot" / "arm.stl").write_bytes(STL)
    (tmp_path / "secret.stl").write_bytes(b"secret")
    (tmp_path / "ws" / "secret.stl").write_bytes(b"secret")
    (tmp_path / "ws" / "robot" / "link.stl").symlink_to(tmp_path / "secret.stl")
    return folder


@pytest.mark.parametrize("name", ["../arm.stl", "package://robot/arm.stl"])
def test_mesh_in_the_robots_package_is_shown(package, name):
    found, warnings = load_meshes(urdf_with(named(name)), package)
    assert (list(found), warnings) == ([name], [])


@pytest.mark.parametrize(
    "name",
    [
        "../../../secret.stl",
        "../../secret.stl",
        "package://robot/../secret.stl",
        "package://robot/link.stl",
        "../link.stl",
        "file://{}",
        "{}",
    ],
)
def test_mesh_outside_of_the_package_is_shown_only_when_asked(package, tmp_path, name):
    name = name.format(tmp_path / "secret.stl")
    found, [warning] = load_meshes(urdf_with(named(name)), package)
    assert found == {}
    assert "--meshes-from-anywhere" in warning
    found, warnings = load_meshes(urdf_with(named(name)), package, anywhere=True)
    assert (base64.b64decode(found[name].base64), warnings) == (b"secret", [])


@pytest.mark.parametrize("name", ["package://../../secret.stl", "package:///etc/passwd.stl", "package://"])
def test_package_of_no_name_is_not_looked_for(package, name):
    found, [warning] = load_meshes(urdf_with(named(name)), package)
    assert found == {}
    assert "not found" in warning


def test_linked_meshes_of_an_install_space_are_shown(package, tmp_path, monkeypatch):
    share = tmp_path / "prefix" / "share" / "other"
    share.mkdir(parents=True)
    (share / "arm.stl").symlink_to(package.parent / "arm.stl")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "prefix"))
    found, warnings = load_meshes(urdf_with(named("package://other/arm.stl")), package)
    assert (list(found), warnings) == (["package://other/arm.stl"], [])


def test_mesh_that_cannot_be_shown_is_a_warning_each(package):
    (package / "arm.png").touch()
    (package / "folder.stl").mkdir()
    names = [
        named("a" * 5000 + ".stl"),
        "",
        named(""),
        named("arm.png"),
        named("folder.stl"),
        named("no.stl"),
    ]
    found, warnings = load_meshes(urdf_with("", *names), package)
    assert found == {}
    assert len(warnings) == 5  # two have no name
    assert all(len(warning) < 300 for warning in warnings)


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


def unpacked(data):
    """As viewer.js reads it: (V, 3), (T, 3)."""
    number, triangles = struct.unpack_from("<II", data)
    low, step = np.frombuffer(data, "<f4", 6, 8).reshape(2, 3)
    places = np.frombuffer(data, "<u2", 3 * number, 32).reshape(-1, 3)
    start = -(-(32 + 6 * number) // 4) * 4
    corners = np.frombuffer(data, "<u2" if number <= 65535 else "<u4", 3 * triangles, start).reshape(-1, 3)
    return low + places * step, corners


@pytest.mark.parametrize(("format_", "written"), [("stl", binary_stl), ("stl", text_stl), ("obj", text_obj)])
def test_large_mesh_becomes_small_and_keeps_its_shape(format_, written):
    data = written(*sphere(160))  # 51,200 triangles
    assert len(data) > LARGE
    shown = made_small(format_, data)
    points, corners = unpacked(shown.data)
    assert shown.format == QUANTIZED
    assert len(data) > 5 * len(shown.data)
    assert 0.3 * MOST_TRIANGLES < len(corners) <= MOST_TRIANGLES
    assert f"{len(corners)}" in shown.change
    # a cell is at most 2 / 60 wide here, and its mean lies a little inside of the sphere
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1.0, atol=0.03)
    a, b, c = (points[corners[:, k]] for k in range(3))
    volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6
    assert abs(volume) == pytest.approx(4 / 3 * np.pi, rel=0.03)


def test_mesh_of_few_triangles_loses_no_triangle_when_quantized():
    points, triangles = sphere(60)  # 7,200 triangles, of which 120 at the poles have no area
    shown = made_small("stl", binary_stl(points, triangles))
    found, corners = unpacked(shown.data)
    assert (shown.change, len(corners)) == (None, 7200 - 120)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-4)


def test_small_mesh_stays_as_it_is():
    assert made_small("stl", STL) == ("stl", STL, None)


@pytest.mark.parametrize(
    "data", [b"solid " + b"vertex a b c\n" * 20_000, b"\xff" * 300_000, b"solid" * 100_000]
)
def test_large_file_that_is_no_mesh_is_said_to_be_none(data):
    with pytest.raises(MeshError):
        made_small("stl", data)
    with pytest.raises(MeshError):
        made_small("obj", b"v 0 0 0\nf 1 2 99999999\n" * 20_000)


def test_both_forms_of_stl_and_obj_read_alike():
    points, triangles = sphere(4)
    for found, corners in (
        read_stl(binary_stl(points, triangles)),
        read_stl(text_stl(points, triangles)),
        read_obj(text_obj(points, triangles)),
    ):
        np.testing.assert_allclose(found[corners], points[triangles], atol=1e-7)


def test_points_move_by_less_than_a_cells_diagonal():
    points, triangles = sphere(30)
    found, _ = clustered(points, triangles, 0.1)
    distance = np.linalg.norm(found[:, None] - points[None], axis=2).min(axis=1)
    assert distance.max() < 0.1 * 3**0.5


def test_numbers_of_collada_get_shorter_and_stay_near():
    values = np.random.default_rng(1).uniform(-1, 1, 1000)
    text = f'<float_array id="a" count="1000">{" ".join(map(repr, values.tolist()))}</float_array>'.encode()
    shorter = shorter_numbers(text)
    assert len(shorter) < 0.5 * len(text)
    found = np.array(shorter[shorter.index(b">") + 1 : shorter.rindex(b"<")].split(), float)
    np.testing.assert_allclose(found, values, atol=2 / 65535)


# The command.


@pytest.fixture
def trajectory(tmp_path):
    path = tmp_path / "trajectory.yaml"
    path.write_text(trajectory_text(tracking.request(JOINTS, START), as_json=True))
    return path


@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-16", "utf-8-sig"])
def test_urdf_of_any_encoding_is_shown(tmp_path, trajectory, encoding):
    text = URDF.read_text()
    declared = {"utf-8-sig": "utf-8"}.get(encoding, encoding)
    start = text.index("<robot")
    text = f'<?xml version="1.0" encoding="{declared}"?>\n<!-- \u00e4 -->' + text[start:]
    path = tmp_path / "robot.urdf"
    path.write_bytes(text.encode(encoding))
    assert main(["view", str(path), "--trajectory", str(trajectory), "-o", str(tmp_path / "v.html")]) == 0


def test_mesh_without_a_name_and_undeclared_prefix_do_not_stop_the_page(tmp_path, trajectory, capsys):
    text = URDF.read_text().replace(
        "</visual>", "</visual><visual><geometry><mesh/></geometry></visual><drake:thing a:b='1'/>", 1
    )
    path = tmp_path / "robot.urdf"
    path.write_text(text)
    page = tmp_path / "v.html"
    assert main(["view", str(path), "--trajectory", str(trajectory), "-o", str(page)]) == 0
    assert "has no file name" in capsys.readouterr().err
    assert "drake:" not in page.read_text()


def test_view_needs_no_compiler_and_starts_none(tmp_path, trajectory, monkeypatch):
    started = []
    monkeypatch.setattr("subprocess.run", lambda *words, **_: started.append(words))
    monkeypatch.setattr("subprocess.Popen", lambda *words, **_: started.append(words))
    assert main(["view", str(URDF), "--trajectory", str(trajectory), "-o", str(tmp_path / "v.html")]) == 0
    assert started == []


def test_locked_joint_stands_at_its_position(tmp_path, trajectory):
    page = tmp_path / "v.html"
    words = ["view", str(URDF), "--trajectory", str(trajectory), "--lock", "gamma_4=0.7", "-o", str(page)]
    code = main(words)
    assert code == 2  # the trajectory names a joint that is locked
    content = json.loads(trajectory.read_text())
    content["joint_names"] = list(JOINTS[:4])
    for point in content["points"]:
        for field in ("positions", "velocities", "accelerations"):
            if point.get(field):
                point[field] = point[field][:4]
    trajectory.write_text(json.dumps(content))
    assert main(words) == 0
    from test_page import embedded

    assert embedded(page.read_text())["locked"] == {"gamma_4": 0.7}


LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (400000, 400000))
from kane_dynamics_ros.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_full_disk_is_one_message_and_keeps_the_page_before(tmp_path, trajectory):
    page = tmp_path / "view.html"
    page.write_text("before")
    words = ["view", str(URDF), "--trajectory", str(trajectory), "-o", str(page)]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {page}: cannot be written")
    assert page.read_text() == "before"
    assert sorted(os.listdir(tmp_path)) == ["trajectory.yaml", "view.html"]
