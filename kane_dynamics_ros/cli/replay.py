"""``kane_dynamics replay``: does the model explain the efforts in a bag, and if not, why?"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tqdm import tqdm

from kane_dynamics_ros.cli.replay_limits import Limits, exceeded, positive_number, read_limits
from kane_dynamics_ros.cli.replay_live import add_live_arguments, run_live
from kane_dynamics_ros.replay.job import Job, Outcome, run_job
from kane_dynamics_ros.replay.many import find_bags, run_jobs
from kane_dynamics_ros.replay.report.table import table
from kane_dynamics_ros.runtime import load_model

EXCEEDED, FAILED = 1, 2  # exit codes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """BAG..., the model, and what may be left to choose."""
    add = parser.add_argument
    add("bags", nargs="+", type=Path, metavar="BAG", help="bag folder or file, or a folder of bags")
    add("--model", required=True, metavar="MODULE.py", help="generated module, or the shipped one's name")
    add("--urdf-friction", action="store_true", help="switch on the damping and friction of the URDF")
    add("--report", type=Path, metavar="DIR", help="write report.html, report.json and a bag, predicted/")
    add(
        "--max-nrmse",
        metavar="X",
        help="exit code 1 when a joint's NRMSE is above; 0.05 is 5 %% of its range",
    )
    add(
        "--max-rmse",
        action="append",
        default=[],
        metavar="JOINT=VALUE",
        help="the same for RMSE [N m] or [N]",
    )
    add("--topic", help="the joint states, when the bag has several topics of them")
    add("--urdf", type=Path, metavar="FILE", help="stands in for a robot_description that the bag has lost")
    add("--cutoff", metavar="HZ", help="of the low-pass; chosen from the recording by default")
    add("--jobs", default=str(os.cpu_count() or 1), metavar="N", help="bags at once; default: all cores")
    add("--dask", metavar="ADDRESS", help="share the bags out on this Dask cluster")
    add_live_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print a verdict a bag; 2 when a bag failed or is damaged, else 1 when a limit is exceeded."""
    joints = load_model(arguments.model).joint_names
    limits = read_limits(arguments.max_nrmse, arguments.max_rmse, joints)
    workers = int(positive_number("--jobs", arguments.jobs, "a number of processes, 1 or more", 1.0))
    bags = [bag for path in arguments.bags for bag in find_bags(path)]
    if arguments.live:
        return run_live(arguments, bags, joints)
    jobs = [
        _job(arguments, bag, folder)
        for bag, folder in zip(bags, report_folders(arguments.report, bags), strict=True)
    ]
    return max(_show(outcome, limits) for outcome in _outcomes(jobs, workers, arguments.dask))


def _job(arguments: argparse.Namespace, bag: Path, report: Path | None) -> Job:
    return Job(
        bag=bag,
        model=arguments.model,
        urdf_friction=arguments.urdf_friction,
        topic=arguments.topic,
        cutoff=None if arguments.cutoff is None else positive_number("--cutoff", arguments.cutoff, "Hz"),
        urdf=arguments.urdf,
        report=report,
    )


def report_folders(report: Path | None, bags: Sequence[Path]) -> list[Path | None]:
    """Where each bag's report goes: the folder itself for one bag, else a folder in it by the bag's name."""
    if report is None or len(bags) == 1:
        return [report] * len(bags)
    names = [bag.resolve().name for bag in bags]
    return [report / (name if names.count(name) == 1 else f"{i + 1}_{name}") for i, name in enumerate(names)]


def _outcomes(jobs: Sequence[Job], workers: int, dask: str | None) -> Iterator[Outcome]:
    """Every bag's outcome; with a progress bar where standard error is a terminal."""
    if len(jobs) == 1 and dask is None:
        with tqdm(unit=" messages", unit_scale=True, disable=None, leave=False) as bar:
            yield run_job(jobs[0], bar.update)
        return
    with tqdm(total=len(jobs), unit=" bags", disable=None, leave=False) as bar:
        for outcome in run_jobs(jobs, workers, dask):
            bar.update()
            bar.clear()
            yield outcome


def _show(outcome: Outcome, limits: Limits) -> int:
    """Print one outcome; its exit code."""
    if outcome.verdict is None:
        print(f"error: {outcome.error}", file=sys.stderr)
        return FAILED
    above = list(exceeded(outcome.verdict, limits))
    print("\n".join([*table(outcome.verdict), *above, ""]))
    for damage in outcome.verdict.damages:
        print(f"error: {damage}", file=sys.stderr)
    if outcome.verdict.damages:
        return FAILED
    return EXCEEDED if above else 0
