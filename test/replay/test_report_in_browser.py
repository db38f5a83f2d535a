"""The report opened in headless Chromium: it draws, and asks nobody for anything."""

import re
from pathlib import Path

import pytest
from report_browser import browse, browser
from test_report_page import HOSTILE, judged

from kane_dynamics_ros.replay.report import write_page

pytestmark = pytest.mark.skipif(browser() is None, reason="needs Chromium")


def test_the_page_draws_and_runs_nothing_that_a_name_smuggles_in(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    write_page(*judged(), page)
    seen = browse(page, "--dump-dom")
    assert "<script" not in seen.stdout
    assert seen.stdout.count("<svg") == 1
    assert not re.search("net::ERR|Uncaught|Refused to", seen.stderr)
    title = re.search("<title>(.*?)</title>", seen.stdout)
    assert title is not None
    assert "<" not in title[1]
    assert (
        HOSTILE.replace("/", "_").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") in title[1]
    )


def test_the_picture_of_the_page_is_not_blank(tmp_path: Path) -> None:
    page, picture = tmp_path / "report.html", tmp_path / "report.png"
    write_page(*judged(), page)
    browse(page, f"--screenshot={picture}", "--window-size=1120,1600")
    matplotlib_image = pytest.importorskip("matplotlib.image")
    pixels = matplotlib_image.imread(picture)[..., :3]
    assert pixels.shape[:2] == (1600, 1120)
    # the red of the residual and the blue of the prediction are on it
    for colour in ((0xC0, 0x39, 0x2B), (0x1F, 0x5F, 0xA8)):
        near = abs(pixels - [part / 255 for part in colour]).max(axis=2) < 0.02
        assert near.sum() > 100
