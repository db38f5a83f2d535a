"""The page in a real browser: the arm stands where Pinocchio puts it, and the plots follow the play bar."""

import base64
import re
import shutil
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from test_meshes import sphere
from view_samples import JOINTS, TIMES, URDF, motion_at, sample_record

from kane_dynamics_ros.replay.viewing.meshes import QUANTIZED, quantized
from kane_dynamics_ros.replay.viewing.page import Mesh, Quantity, Series, page

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
    path.write_text(page(sample_record()), encoding="utf-8")
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


def test_links_whose_meshes_are_missing_are_drawn_as_rods(browser, tmp_path):
    mesh = '<geometry><mesh filename="package://some_robot/link.stl"/></geometry>'
    urdf = re.sub(r"<geometry>.*?</geometry>", mesh, URDF.read_text(), flags=re.DOTALL)
    path = tmp_path / "view.html"
    path.write_text(page(sample_record(urdf=urdf)), encoding="utf-8")
    opened = browser.new_page()
    opened.goto(path.as_uri())
    origins = [
        np.array(origin.attrib["xyz"].split(), float)
        for origin in ElementTree.fromstring(urdf).iterfind("joint/origin")
    ]
    # one rod to each joint that stands away from the joint before it, by more than a rod is thick
    assert opened.evaluate("viewer.shapes()") == sum(np.linalg.norm(xyz) > 0.016 for xyz in origins) > 0
    opened.close()


COLLADA = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><up_axis>Z_UP</up_axis></asset>
<library_images><image id="i"><init_from>{texture}</init_from></image></library_images>
<library_effects><effect id="e"><profile_COMMON>
<newparam sid="s"><surface type="2D"><init_from>i</init_from></surface></newparam>
<newparam sid="t"><sampler2D><source>s</source></sampler2D></newparam>
<technique sid="c"><phong><diffuse>{diffuse}</diffuse>
<transparency><float>0.0</float></transparency></phong></technique></profile_COMMON></effect></library_effects>
<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="a" count="9">0 0 0 1 0 0 0 1 0</float_array><technique_common>
<accessor source="#a" count="3" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="1" material="M"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes>
<visual_scene id="w"><node><instance_geometry url="#g"><bind_material><technique_common>
<instance_material symbol="M" target="#m"/></technique_common></bind_material></instance_geometry></node>
</visual_scene></library_visual_scenes><scene><instance_visual_scene url="#w"/></scene></COLLADA>"""
MATERIALS = """(() => { const found = []; viewer.arm().traverse((part) => { for (const material of
  [part.material ?? []].flat()) found.push(material.opacity); }); return found; })()"""


def open_with_mesh(browser, folder, format_, content):
    """The page of the arm whose links all look like one mesh; what it asked the network for, its failures."""
    shape = '<geometry><mesh filename="shape"/></geometry>'
    urdf = re.sub(r"<geometry>.*?</geometry>", shape, URDF.read_text(), flags=re.DOTALL)
    mesh = Mesh(format_, base64.b64encode(content).decode())
    path = folder / "view.html"
    path.write_text(page(replace(sample_record(urdf=urdf), meshes={"shape": mesh})), encoding="utf-8")
    opened, asked = browser.new_page(), []
    opened.on("pageerror", lambda error: asked.append(str(error)))
    opened.on("requestfinished", lambda request: asked.append(request.url))
    opened.route("http://**/*", lambda route: asked.append(route.request.url) or route.abort())
    opened.goto(path.as_uri())
    return opened, [each for each in asked if each != path.as_uri()]


def test_old_collada_files_are_opaque(browser, tmp_path):
    content = COLLADA.format(texture="", diffuse="<color>1 0 0 1</color>").encode()
    opened, asked = open_with_mesh(browser, tmp_path, "dae", content)
    opacities = opened.evaluate(MATERIALS)
    assert opacities
    assert set(opacities) == {1}
    assert asked == []
    opened.close()


@pytest.mark.parametrize("texture", ["http://example.org/spy.png", "../secret.png", "file:///etc/passwd"])
def test_texture_of_a_mesh_is_fetched_from_nowhere(browser, tmp_path, texture):
    content = COLLADA.format(texture=texture, diffuse='<texture texture="t" texcoord="u"/>').encode()
    opened, asked = open_with_mesh(browser, tmp_path, "dae", content)
    opened.wait_for_timeout(200)
    assert asked == []
    assert opened.evaluate("viewer.shapes()") > 0
    opened.close()


def test_quantized_mesh_is_drawn_where_its_points_are(browser, tmp_path):
    points, triangles = sphere(12)
    low, extent = points.min(axis=0), np.ptp(points, axis=0)
    opened, asked = open_with_mesh(browser, tmp_path, QUANTIZED, quantized(points, triangles, low, extent))
    radii = opened.evaluate(
        """(() => { const found = []; viewer.arm().traverse((part) => { if (!part.isMesh) return;
        const at = part.geometry.attributes.position; for (let i = 0; i < at.count; i++)
        found.push(Math.hypot(at.getX(i), at.getY(i), at.getZ(i))); });
        const some = found.slice(0, 5000);
        return [Math.min(...some), Math.max(...some), found.length]; })()"""
    )
    assert asked == []
    assert radii[0] == pytest.approx(1.0, abs=1e-4)
    assert radii[1] == pytest.approx(1.0, abs=1e-4)
    assert radii[2] % (3 * len(triangles)) == 0
    opened.close()


def test_joint_that_the_bag_lacks_has_no_plot(browser, tmp_path):
    robot, _ = motion_at(TIMES)
    robot[2] = np.nan
    quantity = Quantity("position", ("rad",) * 5, (Series("robot", "motion", robot),))
    path = tmp_path / "view.html"
    record = replace(sample_record(), position=robot, reference=None, quantities=(quantity,))
    path.write_text(page(record), encoding="utf-8")
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
