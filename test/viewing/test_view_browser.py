"""The page in a real browser: the arm stands where Pinocchio puts it, and the plots follow the play bar."""

import re
import shutil
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from mesh_samples import RED, binary_stl, collada, colored_collada, sphere
from view_samples import JOINTS, TIMES, URDF, motion_at, sample_playback

from kane_dynamics_ros.viewing import meshes
from kane_dynamics_ros.viewing.meshes import load_meshes
from kane_dynamics_ros.viewing.page import Curve, Quantity, page

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--enable-unsafe-swiftshader"]

pin = pytest.importorskip("pinocchio", reason="the arm is compared with Pinocchio (extra `test`)")
playwright = pytest.importorskip(
    "playwright.sync_api", reason="the browser is driven by playwright (extra `test`)"
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as session:
        browser = session.chromium.launch(executable_path=BROWSER, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("view") / "view.html"
    path.write_text(page(sample_playback()), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def viewer(browser, address):
    """The opened page; fails the test when a script of it does."""
    failures = []
    opened = browser.new_page(viewport={"width": 1200, "height": 800})
    opened.on("pageerror", lambda error: failures.append(error))
    opened.on("request", lambda request: None if request.url == address else failures.append(request.url))
    opened.goto(address)
    yield opened
    opened.close()
    assert failures == []


def tip_by_pinocchio(positions):
    model = pin.buildModelFromUrdf(str(URDF))
    data = model.createData()
    q = np.zeros(model.nq)
    for name, position in zip(JOINTS, positions, strict=True):
        q[model.joints[model.getJointId(name)].idx_q] = position
    pin.framesForwardKinematics(model, data, q)
    return data.oMf[model.getFrameId("tool")].translation


@pytest.mark.parametrize("time", [0.0, 2.6, 5.3])
def test_arm_and_reference_stand_where_pinocchio_puts_them(viewer, time):
    viewer.evaluate(f"viewer.seek({time})")
    robot, wanted = motion_at([time])
    # samples are 20 ms apart and joined by straight lines: 0.02^2 / 8 * 7 rad/s^2 * 2.2 m is below 1e-3 m
    np.testing.assert_allclose(viewer.evaluate("viewer.tip('arm')"), tip_by_pinocchio(robot[:, 0]), atol=1e-3)
    np.testing.assert_allclose(
        viewer.evaluate("viewer.tip('ghost')"), tip_by_pinocchio(wanted[:, 0]), atol=1e-3
    )


def test_play_button_starts_and_stops_the_motion(viewer):
    viewer.click("#play")
    for _ in range(1000):  # the page forbids eval, and with it playwright's own way to wait
        if viewer.evaluate("viewer.time()") > 0.2:
            break
        viewer.wait_for_timeout(20)
    assert viewer.evaluate("viewer.time()") > 0.2
    assert viewer.text_content("#play") == "Pause"
    viewer.click("#play")
    stopped_at = viewer.evaluate("viewer.time()")
    viewer.wait_for_timeout(200)
    assert viewer.evaluate("viewer.time()") == stopped_at


def test_plots_follow_the_play_bar_and_a_click_in_a_plot_moves_it(viewer):
    viewer.fill("#time", "4")
    width = viewer.evaluate("document.querySelector('#plots .u-over').clientWidth")
    lines = viewer.evaluate(
        "[...document.querySelectorAll('.now')].map((line) => parseFloat(line.style.left))"
    )
    np.testing.assert_allclose(lines, 5 * [width / 2], atol=1.0)  # [pixel] 4 s of 8 s
    viewer.click("#plots .u-over >> nth=2", position={"x": width / 4, "y": 20})
    assert viewer.evaluate("viewer.time()") == pytest.approx(2.0, abs=8.0 / width)  # within one pixel
    assert viewer.text_content("#clock").strip().startswith("2.0")


def test_other_quantities_can_be_plotted(viewer):
    viewer.select_option("#quantity", "position")
    titles = viewer.evaluate(
        "[...document.querySelectorAll('#plots .u-title')].map((title) => title.textContent)"
    )
    assert titles == [f"{name} [rad]" for name in JOINTS]


def test_address_can_name_a_time(browser, address):
    opened = browser.new_page()
    opened.goto(f"{address}#t=2.5")
    assert opened.evaluate("viewer.time()") == 2.5
    opened.close()


WITHOUT_WEBGL = """(() => { const context = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...options) {
  return kind.startsWith("webgl") ? null : context.call(this, kind, ...options); }; })()"""


def test_without_webgl_the_page_says_so_and_the_plots_can_be_read(browser, address):
    failures = []
    opened = browser.new_page()
    opened.on("pageerror", lambda error: failures.append(error))
    opened.add_init_script(WITHOUT_WEBGL)
    opened.goto(address)
    assert "WebGL" in opened.text_content("#scene")
    assert opened.evaluate("document.querySelectorAll('#plots .uplot').length") == len(JOINTS)
    opened.fill("#time", "4")
    assert opened.text_content("#clock").strip().startswith("4.0")
    opened.close()
    assert failures == []


def test_links_whose_meshes_are_missing_are_drawn_as_rods(browser, tmp_path):
    mesh = '<geometry><mesh filename="package://some_robot/link.stl"/></geometry>'
    urdf = re.sub(r"<geometry>.*?</geometry>", mesh, URDF.read_text(), flags=re.DOTALL)
    path = tmp_path / "view.html"
    path.write_text(page(sample_playback(urdf=urdf)), encoding="utf-8")
    opened = browser.new_page()
    opened.goto(path.as_uri())
    origins = [
        np.array(origin.attrib["xyz"].split(), float)
        for origin in ElementTree.fromstring(urdf).iterfind("joint/origin")
    ]
    # one rod to each joint that stands away from the joint before it, by more than a rod is thick
    assert opened.evaluate("viewer.shapes()") == sum(np.linalg.norm(xyz) > 0.016 for xyz in origins) > 0
    opened.close()


DRAWN = """(() => { const found = []; viewer.arm().traverse((part) => {
  if (!part.isMesh || !Array.isArray(part.material)) return;
  const at = part.geometry.attributes.position, normal = part.geometry.attributes.normal;
  found.push({
    groups: part.geometry.groups.map((group) => [group.start, group.count, group.materialIndex]),
    colours: part.material.map((one) => one.color.getHexString()),
    opacities: part.material.map((one) => one.opacity),
    points: Array.from(at.array), normals: Array.from(normal.array) }); });
  return found; })()"""


def open_with_mesh(browser, folder, content, suffix):
    """The page of the arm whose links all look like one mesh; what it asked the network for, its failures."""
    (folder / f"shape{suffix}").write_bytes(content)
    shape = f'<geometry><mesh filename="shape{suffix}"/></geometry>'
    urdf = re.sub(r"<geometry>.*?</geometry>", shape, URDF.read_text(), flags=re.DOTALL)
    found = load_meshes(urdf, folder)
    assert found.warnings == []
    path = folder / "view.html"
    shown = replace(sample_playback(urdf=urdf), meshes=found.by_name, note=found.note)
    path.write_text(page(shown), encoding="utf-8")
    opened, asked = browser.new_page(), []
    opened.on("pageerror", lambda error: asked.append(str(error)))
    opened.on("requestfinished", lambda request: asked.append(request.url))
    opened.route("http://**/*", lambda route: asked.append(route.request.url) or route.abort())
    opened.goto(path.as_uri())
    return opened, [each for each in asked if each != path.as_uri()]


def test_old_collada_files_are_opaque(browser, tmp_path):
    content = collada(shading=f"{RED}<transparency><float>0.0</float></transparency>")
    opened, asked = open_with_mesh(browser, tmp_path, content, ".dae")
    drawn = opened.evaluate(DRAWN)
    assert drawn
    assert all(one["colours"] == ["ff0000"] and one["opacities"] == [1] for one in drawn)
    assert asked == []
    opened.close()


@pytest.mark.parametrize("texture", ["http://example.org/spy.png", "../secret.png", "file:///etc/passwd"])
def test_texture_of_a_mesh_is_fetched_from_nowhere(browser, tmp_path, texture):
    images = f'<library_images><image id="i"><init_from>{texture}</init_from></image></library_images>'
    shading = '<diffuse><texture texture="i" texcoord="u"/></diffuse>'
    opened, asked = open_with_mesh(browser, tmp_path, collada(shading=shading, libraries=images), ".dae")
    opened.wait_for_timeout(200)
    assert asked == []
    assert opened.evaluate("viewer.shapes()") > 0
    assert texture not in opened.content()
    opened.close()


def test_mesh_is_drawn_where_its_points_are_in_its_colours(browser, tmp_path):
    points, triangles = sphere(12)
    opened, asked = open_with_mesh(browser, tmp_path, colored_collada(points, triangles), ".dae")
    assert asked == []
    for drawn in opened.evaluate(DRAWN):
        found = np.reshape(drawn["points"], (-1, 3, 3))
        (_, red, _), (first_blue, blue, _) = drawn["groups"]
        assert (len(found), first_blue) == ((red + blue) / 3, red)
        assert drawn["colours"] == ["ff0000", "0000ff"]
        np.testing.assert_allclose(np.linalg.norm(found, axis=2), 1.0, atol=1e-4)
        a, b, c = found.transpose(1, 0, 2)
        volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6
        a, b, c = points[triangles].transpose(1, 0, 2)
        assert volume == pytest.approx(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6, rel=1e-3)
    opened.close()


def normals_and_points(browser, folder, points, triangles):
    opened, _ = open_with_mesh(browser, folder, binary_stl(points, triangles), ".stl")
    drawn = opened.evaluate(DRAWN)[0]
    opened.close()
    return np.reshape(drawn["normals"], (-1, 3)), np.reshape(drawn["points"], (-1, 3))


def test_curved_faces_are_smooth(browser, tmp_path):
    normals, points = normals_and_points(browser, tmp_path, *sphere(24))
    outward = np.einsum("ij,ij->i", normals, points) * np.sign(np.einsum("ij,ij->", normals, points))
    # faces are 7.5 degrees wide, of which a flat normal at a corner is off by half, 1 - cos = 2e-3
    assert outward.min() > 1 - 1e-3


def test_edges_are_sharp(browser, tmp_path):
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
    normals, _ = normals_and_points(browser, tmp_path, corners, CUBE)
    np.testing.assert_allclose(np.sort(np.abs(normals), axis=1), [[0, 0, 1]] * 36, atol=1e-6)


def test_point_with_very_many_triangles_does_not_hold_up_the_page(viewer):
    """A cone of 200,000 triangles, of which each held against each would take minutes."""
    normals = viewer.evaluate(
        """(() => { const count = 200000;
        const positions = new Float32Array(9 * count), corners = new Uint32Array(3 * count);
        for (let i = 0; i < count; i++) {
          const [a, b] = [i, i + 1].map((k) => (2 * Math.PI * k) / count);
          positions.set([0, 0, 1, Math.cos(a), Math.sin(a), 0, Math.cos(b), Math.sin(b), 0], 9 * i);
          corners.set([0, 1 + i, 1 + ((i + 1) % count)], 3 * i);
        }
        return Array.from(cornerNormals(positions, corners, count + 1).slice(0, 9000)); })()"""
    )
    np.testing.assert_allclose(np.reshape(normals, (-1, 3))[:, 2], 0.5**0.5, atol=1e-3)


# triangles of a cube whose corner i has the coordinates of i's three bits
CUBE = np.array(
    [
        *([0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]),
        *([2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]),
    ]
)


def test_what_is_simplified_is_said_on_the_page(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(meshes, "MOST_TRIANGLES", 1_000)
    opened, _ = open_with_mesh(browser, tmp_path, binary_stl(*sphere(60)), ".stl")
    assert "7,200 triangles are shown as " in opened.text_content("#note")
    opened.close()


@pytest.mark.parametrize(("width", "height"), [(1300, 700), (400, 800)])
def test_whole_motion_is_in_view_when_the_page_opens(browser, address, width, height):
    """The farthest corners of what is shown, in the camera's normalized coordinates."""
    opened = browser.new_page(viewport={"width": width, "height": height})
    opened.goto(address)
    corners = opened.evaluate(
        """(() => { const { THREE } = viewerLibraries, found = [];
        const box = new THREE.Box3().setFromObject(stage.arm);
        for (const x of [box.min.x, box.max.x]) for (const y of [box.min.y, box.max.y])
          for (const z of [box.min.z, box.max.z])
            found.push(new THREE.Vector3(x, y, z).project(stage.camera).toArray());
        return found; })()"""
    )
    assert np.abs(corners)[:, :2].max() < 1.0
    opened.close()


def test_joint_that_the_bag_lacks_has_no_plot(browser, tmp_path):
    robot, _ = motion_at(TIMES)
    robot[2] = np.nan
    quantity = Quantity("position", ("rad",) * 5, (Curve("robot", "motion", robot),))
    path = tmp_path / "view.html"
    shown = replace(sample_playback(), position=robot, reference=None, quantities=(quantity,))
    path.write_text(page(shown), encoding="utf-8")
    opened = browser.new_page()
    opened.goto(path.as_uri())
    script = "[...document.querySelectorAll('#plots .u-title')].map((each) => each.textContent)"
    titles = opened.evaluate(script)
    assert titles == [f"{name} [rad]" for name in (*JOINTS[:2], *JOINTS[3:])]
    opened.close()


def test_controls_fit_a_phone(browser, address):
    opened = browser.new_page(viewport={"width": 360, "height": 640})
    opened.goto(address)
    ends = opened.evaluate(
        "[...document.querySelectorAll('footer *')].map((each) => each.getBoundingClientRect().right)"
    )
    assert max(ends) <= 360
    assert opened.evaluate("document.documentElement.scrollWidth") <= 360
    opened.close()


@pytest.mark.parametrize("low", [-90.0, 0.012, 1234.5])
def test_axes_have_two_labels_at_least(browser, address, low):
    opened = browser.new_page()
    opened.goto(address)
    for width in (0.004, 0.7, 33.0):
        ticks = opened.evaluate(f"plotTicks(null, null, {low}, {low + width})")
        assert 2 <= len(ticks) <= 12
        assert low - 1e-9 <= ticks[0] < ticks[-1] <= low + width + 1e-9
    opened.close()
