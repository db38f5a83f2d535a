"""The report of one bag: ``report.json``, ``report.html`` and the bag ``predicted``."""

from pathlib import Path

from kane_dynamics_ros.replay.estimation.observation import Observation
from kane_dynamics_ros.replay.report.data import write_json
from kane_dynamics_ros.replay.report.page import write_page
from kane_dynamics_ros.replay.report.prediction_bag import write_prediction_bag
from kane_dynamics_ros.replay.verdict.verdict import Analysis


def write_report(observation: Observation, analysis: Analysis, folder: Path) -> None:
    """Write all of it into a folder, which is made when it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(analysis.verdict, folder / "report.json")
    write_page(analysis, folder / "report.html")
    write_prediction_bag(observation, analysis.comparison, folder / "predicted")
