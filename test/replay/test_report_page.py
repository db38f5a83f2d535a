"""The page: nothing that a bag or a URDF is called may become markup."""

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from replay_bags import Array

from kane_dynamics_ros.replay.attribution import Attribution
from kane_dynamics_ros.replay.comparison import Comparison, fit
from kane_dynamics_ros.replay.report import write_page
from kane_dynamics_ros.replay.verdict import JointVerdict, Processing, Verdict

HOSTILE = "<script>alert('$x_$')</script>&\""
TIME = np.arange(5000) * 0.01


class Tags(HTMLParser):
    """Collects the names of all elements."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def handle_starttag(self, tag: str, attributes: object) -> None:
        self.names.append(tag)


def judged() -> tuple[Verdict, Comparison]:
    """One joint, two intervals, every text hostile."""
    effort: Array = np.sin(TIME)[:, None]
    nothing = np.zeros_like(effort)
    terms = {"inertia": effort, "coriolis": nothing, "gravity": nothing, "friction": nothing}
    comparison = Comparison(
        TIME, np.arange(5000), 1.1 * effort, effort, terms, nothing, nothing, joins=(0, 2000)
    )
    attribution = Attribution("gravity", 0.1, 0.001, 0.07, 0.9)
    figures = fit(TIME, comparison.measured[:, 0], effort[:, 0])
    joint = JointVerdict(HOSTILE, "N m", figures, (attribution,), (HOSTILE,))
    verdict = Verdict(
        bag=Path("bags") / HOSTILE.replace("/", "_"),
        topic=HOSTILE,
        model=HOSTILE,
        joints=(joint,),
        cause=None,
        findings=(HOSTILE,),
        processing=Processing(100.0, 100.0, 10.0, 50.0, 5000, 1e6, None),
        notes=(HOSTILE,),
        damages=(HOSTILE,),
    )
    return verdict, comparison


def tags(text: str) -> Tags:
    parser = Tags()
    parser.feed(text)
    return parser


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    write_page(*judged(), tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "script" not in tags(text).names
    assert text.count("&lt;script&gt;alert(") >= 8


def test_a_constant_effort_has_neither_range_nor_r_squared(tmp_path: Path) -> None:
    found, comparison = judged()
    constant = fit(TIME, np.ones(5000), np.ones(5000))
    assert (constant.nrmse, constant.r_squared, constant.rmse) == (None, None, 0.0)
    joint = replace(found.joints[0], fit=constant, attributions=(), findings=())
    verdict = replace(found, joints=(joint,), findings=(), damages=())
    write_page(verdict, comparison, tmp_path / "report.html")
    assert "No term is at fault" in (tmp_path / "report.html").read_text()


def test_findings_without_a_cause_have_no_empty_table(tmp_path: Path) -> None:
    found, comparison = judged()
    joint = replace(found.joints[0], attributions=())
    write_page(replace(found, joints=(joint,)), comparison, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "No cause was named" in text
    assert "explains of the residual" not in text


def test_the_figures_of_a_fit_are_those_of_their_definitions() -> None:
    """By hand: residuals 1, -1, 3 against measured 1, 2, 6."""
    figures = fit(np.array([0.0, 0.5, 1.0]), np.array([1.0, 2.0, 6.0]), np.array([0.0, 3.0, 3.0]))
    assert figures.rmse == pytest.approx((11 / 3) ** 0.5)
    assert figures.bias == pytest.approx(1.0)
    assert figures.nrmse == pytest.approx((11 / 3) ** 0.5 / 5)
    assert figures.r_squared == pytest.approx(1 - (11 / 3) / (14 / 3))
    assert (figures.worst, figures.worst_time) == (3.0, 1.0)
