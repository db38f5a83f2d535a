"""The page in a real browser: the arm stands where Pinocchio puts it, and the plots follow the play bar."""

import re
import shutil
from xml.etree import ElementTree

import numpy as np
import pytest
from view_samples import JOINTS, URDF, motion_at, sample_record

from kane_dynamics_ros.replay.viewing.page import page

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
