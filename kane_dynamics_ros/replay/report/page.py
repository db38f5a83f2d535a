"""``report.html``: one file that needs nothing else, no network either."""

from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from kane_dynamics_ros.replay.report.figures import joint_figure
from kane_dynamics_ros.replay.verdict.verdict import Analysis


def write_page(analysis: Analysis, file: Path, viewed: bool = False) -> None:
    """Write the page, with a link to ``view.html`` when ``viewed``.

    Names come from bags and URDFs: the template escapes every one of them.
    """
    environment = Environment(
        loader=PackageLoader("kane_dynamics_ros.replay.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    verdict = analysis.verdict
    figures = [
        Markup(joint_figure(analysis.comparison, j, joint.unit, verdict.processing.analysis_rate))
        for j, joint in enumerate(verdict.joints)
    ]
    text = environment.get_template("report.html.j2").render(
        verdict=verdict,
        done=verdict.processing,
        blamed=[joint for joint in verdict.joints if joint.blames],
        figures=figures,
        viewed=viewed,
    )
    file.write_text(text, encoding="utf-8")
