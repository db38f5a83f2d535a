"""Which meshes a page shows, and how: inside the robot's package, small, and with a word where not."""

import base64
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from example_robots import ROBOTS
from mesh_samples import STL, binary_stl, colored_collada, sphere, text_obj, text_stl, unpacked
from view_samples import URDF, embedded

from kane_dynamics_ros.cli import demo_tracking as tracking
from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.control.trajectory_file import trajectory_text
from kane_dynamics_ros.viewing import meshes
from kane_dynamics_ros.viewing.mesh_files import Surface, read_mesh
from kane_dynamics_ros.viewing.meshes import allowances, joined, load_meshes, packed, reduced

JOINTS = ("gamma_1", "alpha_2", "alpha_3", "beta_4", "gamma_4")
START = np.array([0.0, 0.9, -1.2, 0.3, 0.5])


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
    (tmp_path / "secret.stl").write_bytes(STL)
    (tmp_path / "ws" / "secret.stl").write_bytes(STL)
    (tmp_path / "ws" / "robot" / "link.stl").symlink_to(tmp_path / "secret.stl")
    return folder


@pytest.mark.parametrize("name", ["../arm.stl", "package://robot/arm.stl"])
def test_mesh_in_the_robots_package_is_shown(package, name):
    found = load_meshes(urdf_with(named(name)), package)
    assert (list(found.by_name), found.warnings) == ([name], [])


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
    found = load_meshes(urdf_with(named(name)), package)
    assert found.by_name == {}
    assert "--meshes-from-anywhere" in found.warnings[0]
    found = load_meshes(urdf_with(named(name)), package, anywhere=True)
    assert (list(found.by_name), found.warnings) == ([name], [])


@pytest.mark.parametrize("name", ["package://../../secret.stl", "package:///etc/passwd.stl", "package://"])
def test_package_of_no_name_is_not_looked_for(package, name):
    found = load_meshes(urdf_with(named(name)), package)
    assert found.by_name == {}
    assert "not found" in found.warnings[0]


def test_linked_meshes_of_an_install_space_are_shown(package, tmp_path, monkeypatch):
    share = tmp_path / "prefix" / "share" / "other"
    share.mkdir(parents=True)
    (share / "arm.stl").symlink_to(package.parent / "arm.stl")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "prefix"))
    found = load_meshes(urdf_with(named("package://other/arm.stl")), package)
    assert (list(found.by_name), found.warnings) == (["package://other/arm.stl"], [])


def test_meshes_that_cannot_be_shown_are_a_warning_for_each_reason(package):
    (package / "arm.png").touch()
    (package / "folder.stl").mkdir()
    (package / "text.stl").write_text("a letter")
    names = [
        named("a" * 5000 + ".stl"),
        "",
        named(""),
        named("arm.png"),
        named("folder.stl"),
        named("no.stl"),
        named("text.stl"),
    ]
    found = load_meshes(urdf_with("", *names), package)
    assert found.by_name == {}
    assert len(found.warnings) == 5
    assert all(len(warning) < 300 for warning in found.warnings)
    [missing] = [warning for warning in found.warnings if "not found" in warning]
    assert "folder.stl" in missing
    assert "no.stl" in missing


@pytest.mark.parametrize(
    ("suffix", "written"),
    [("stl", binary_stl), ("stl", text_stl), ("obj", text_obj), ("dae", colored_collada)],
)
def test_large_mesh_is_simplified_and_keeps_its_shape(package, monkeypatch, suffix, written):
    monkeypatch.setattr(meshes, "MOST_TRIANGLES", 20_000)
    (package / f"large.{suffix}").write_bytes(written(*sphere(160)))  # 51,200 triangles
    found = load_meshes(urdf_with(named(f"large.{suffix}")), package)
    [mesh] = found.by_name.values()
    points, corners = unpacked(base64.b64decode(mesh.base64))
    assert 0.8 * 20_000 < len(corners) <= 20_000
    assert sum(part.triangles for part in mesh.parts) == len(corners)
    assert f"51,200 triangles are shown as {len(corners):,}" in found.note
    # a cell is at most 2 / 60 wide here, and its mean lies a little inside of the sphere
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1.0, atol=0.03)
    a, b, c = (points[corners[:, k]] for k in range(3))
    volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6
    assert abs(volume) == pytest.approx(4 / 3 * np.pi, rel=0.03)


def test_triangles_keep_their_colours_when_simplified(package, monkeypatch):
    monkeypatch.setattr(meshes, "MOST_TRIANGLES", 5_000)
    points, triangles = sphere(80)
    lower = points[triangles].mean(axis=1)[:, 2] < 0
    (package / "two.dae").write_bytes(
        colored_collada(points, np.concatenate([triangles[lower], triangles[~lower]]))
    )
    [mesh] = load_meshes(urdf_with(named("two.dae")), package).by_name.values()
    found, corners = unpacked(base64.b64decode(mesh.base64))
    heights = found[corners].mean(axis=1)[:, 2]
    red, blue = mesh.parts
    assert (red.colour, blue.colour) == ("#ff0000", "#0000ff")
    assert red.triangles + blue.triangles == len(corners)
    # clusters at the border are joined over both halves: off by a cell at most, which is below 2 / 30
    assert heights[: red.triangles].max() < 2 / 30
    assert heights[red.triangles :].min() > -2 / 30


def test_meshes_share_what_a_page_may_hold(package, monkeypatch):
    monkeypatch.setattr(meshes, "MOST_TRIANGLES", 10_000)
    for name, count in (("small", 10), ("large", 100), ("larger", 120)):
        (package / f"{name}.stl").write_bytes(binary_stl(*sphere(count)))
    found = load_meshes(urdf_with(named("large.stl"), named("small.stl"), named("larger.stl")), package)
    triangles = {name: mesh.parts[0].triangles for name, mesh in found.by_name.items()}
    assert triangles["small.stl"] == 200 - 20  # 20 at the poles have no area
    assert 0.8 * 4_910 < triangles["large.stl"] <= 4_910
    assert 0.8 * 4_910 < triangles["larger.stl"] <= 4_910
    assert found.note.startswith("2 of 3 meshes are simplified: 48,800 triangles are shown as ")


@pytest.mark.parametrize(
    ("counts", "shares"),
    [
        ([5, 3], [5, 3]),
        ([50, 3], [7, 3]),
        ([50, 60], [5, 5]),
        ([1, 50, 60, 4], [1, 3, 3, 3]),
        ([], []),
    ],
)
def test_allowances_take_from_the_largest(counts, shares):
    found = allowances(counts, 10)
    assert sum(found) <= 10
    assert found == shares


def plain_surface(points, triangles):
    return joined(Surface(points, triangles, np.zeros(len(triangles), np.int64)))


@pytest.mark.parametrize("most", [30, 300, 3_000])
def test_reduction_comes_near_to_what_is_allowed(most):
    small = reduced(plain_surface(*sphere(60)), most)
    assert 0.5 * most < len(small.corners) <= most
    # a sphere of T triangles of one area lies within some (4 pi / T) / 2 of the surface
    radius = np.linalg.norm(small.points[small.corners].mean(axis=1), axis=1)
    np.testing.assert_allclose(radius, 1.0, atol=3.0 * 2 * np.pi / len(small.corners) + 0.02)


def test_loose_triangles_are_bounded_too():
    """Nothing joins them, so that no edge can be collapsed."""
    random = np.random.default_rng(1)
    points = (random.random((3_000, 1, 3)) + 0.05 * random.random((3_000, 3, 3))).reshape(-1, 3)
    surface = plain_surface(points, np.arange(9_000).reshape(-1, 3))
    assert 0 <= len(reduced(surface, 100).corners) <= 100


def test_mesh_that_is_small_enough_loses_no_triangle():
    points, triangles = sphere(60)  # 7,200 triangles, of which 120 at the poles have no area
    surface = joined(read_mesh(binary_stl(points, triangles), ".stl"))
    small = reduced(surface, 7200)
    data, counts = packed(small)
    found, corners = unpacked(data)
    assert small is surface
    assert (len(corners), counts) == (7200 - 120, [7200 - 120])
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-4)


@pytest.mark.parametrize("missing", ["trimesh", "collada"])
def test_without_the_extra_the_warning_says_what_to_install(package, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    (package / "two.dae").write_bytes(colored_collada(*sphere(4)))
    found = load_meshes(urdf_with(named("../arm.stl"), named("two.dae")), package)
    assert list(found.by_name) == (["two.dae"] if missing == "trimesh" else ["../arm.stl"])
    assert "kane_dynamics_ros[view]" in found.warnings[0]
    assert "kane_dynamics_ros[view]" in found.note  # which the page shows


def test_mesh_without_area_is_not_shown(package):
    (package / "line.stl").write_bytes(b"solid\nvertex 0 0 0\nvertex 1 0 0\nvertex 1 0 0\n")
    found = load_meshes(urdf_with(named("line.stl")), package)
    assert found.by_name == {}
    assert "line.stl" in found.warnings[0]


def test_robots_meshes_are_read_up_to_a_bound_of_all_together(package, monkeypatch):
    monkeypatch.setattr(meshes, "LARGEST_MESHES", len(STL))
    (package / "other.stl").write_bytes(STL)
    found = load_meshes(urdf_with(named("../arm.stl"), named("other.stl")), package)
    assert list(found.by_name) == ["../arm.stl"]
    assert "other.stl" in found.warnings[0]


@pytest.mark.skipif(not ROBOTS.is_dir(), reason="needs example-robot-data (extra `test`)")
@pytest.mark.parametrize("robot", ["panda", "ur5_robot", "go1", "g1_29dof_with_hand_rev_1_0"])
def test_real_robots_meshes_fit_a_page_of_a_few_megabytes(robot):
    """Panda's files have 13 MB, the Go1's trunk alone 28."""
    [path] = ROBOTS.rglob(f"{robot}.urdf")
    found = load_meshes(path.read_text(), path.parent)
    assert found.warnings == []
    assert sum(len(mesh.base64) for mesh in found.by_name.values()) < 2.5e6


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


def test_locked_joint_stands_at_its_position(tmp_path, trajectory, capsys):
    page = tmp_path / "v.html"
    words = ["view", str(URDF), "--trajectory", str(trajectory), "--lock", "gamma_4=0.7", "-o", str(page)]
    code = main(words)
    assert code == 2  # the trajectory names a joint that is locked
    assert capsys.readouterr().err.startswith(f"error: {trajectory}: it moves joint 'gamma_4': locked, ")
    content = json.loads(trajectory.read_text())
    content["joint_names"] = list(JOINTS[:4])
    for point in content["points"]:
        for field in ("positions", "velocities", "accelerations"):
            if point.get(field):
                point[field] = point[field][:4]
    trajectory.write_text(json.dumps(content))
    assert main(words) == 0

    assert embedded(page.read_text())["held"] == {"gamma_4": 0.7}


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
