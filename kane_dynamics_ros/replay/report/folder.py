"""The report of one bag: ``report.json``, ``report.html``, ``view.html`` and the bag ``predicted``."""

from pathlib import Path

from kane_dynamics_ros.replay.estimation.observation import Observation
from kane_dynamics_ros.replay.report.data import write_json
from kane_dynamics_ros.replay.report.page import write_page
from kane_dynamics_ros.replay.report.prediction_bag import write_prediction_bag
from kane_dynamics_ros.replay.verdict.verdict import Analysis
from kane_dynamics_ros.replay.viewing.analysis_record import write_view


def write_report(
    observation: Observation, analysis: Analysis, folder: Path, urdf: Path | None = None
) -> None:
    """Write all of it into a folder, which is made when it is not there.

    ``urdf`` stands in for a description that the bag lacks; without either there is no ``view.html``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_json(analysis.verdict, folder / "report.json")
    viewed = write_view(observation, analysis, urdf, folder / "view.html")
    write_page(analysis, folder / "report.html", viewed)
    write_prediction_bag(observation, analysis.comparison, folder / "predicted")
