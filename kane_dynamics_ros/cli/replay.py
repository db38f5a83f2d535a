"""``kane_dynamics replay``: does the model explain the efforts in a bag, and if not, why?

With ``--live``: does the running node answer the recording as the model does?
"""

import argparse
import math
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kane_dynamics_ros.cli import arguments as cli
from kane_dynamics_ros.cli.progress import Progress
from kane_dynamics_ros.errors import KaneDynamicsError, ros_missing, unknown_joint
from kane_dynamics_ros.replay.attribution import TipBody
from kane_dynamics_ros.replay.jobs import Job, JobResult, find_bags, run_job, run_jobs
from kane_dynamics_ros.replay.live import check_playable, live_lines, play, read_answers, write_playlist
from kane_dynamics_ros.replay.recording import read_renamings
from kane_dynamics_ros.replay.report import table
from kane_dynamics_ros.replay.verdict import Verdict
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.text import named
from kane_dynamics_ros.this_python import can_import
from kane_dynamics_ros.yaml_text import parameter_file, rounded

EXCEEDED, DIFFERS, FAILED = 1, 1, 2  # exit codes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """BAG..., the model, and what may be left to choose."""
    cli.add_bag_arguments(parser)
    cli.add_parameters_argument(parser)
    add = parser.add_argument
    add("--report", type=Path, metavar="DIR", help="write report.html, report.json and a bag, predicted/")
    add(
        "--max-nrmse",
        type=cli.positive("--max-nrmse", "a part of the range: 0.05 is 5 %"),
        metavar="X",
        help="exit code 1 when a joint's NRMSE is above; 0.05 is 5 %% of its range",
    )
    add(
        "--max-rmse",
        type=cli.named_number("--max-rmse", "write JOINT=VALUE, in N m or N", above=0.0),
        action="append",
        default=[],
        metavar="JOINT=VALUE",
        help="the same for RMSE [N m] or [N]",
    )
    add("--urdf", type=Path, metavar="FILE", help="stands in for a robot_description that the bag has lost")
    cli.add_xacro_argument(parser, "--urdf's xacro file")
    cli.add_workers(parser)
    add = parser.add_argument_group("against the running feedforward node").add_argument
    add("--live", action="store_true", help="play the bag to the node and compare its commands")
    rate = cli.positive("--rate", "1 for the recorded pace")
    add("--rate", type=rate, metavar="X", help="times the recorded rate; default: no wait")
    add("--restamp", action="store_true", help="stamp states with the present instead of driving /clock")
    add("--node", default="feedforward_node", metavar="NAME", help="the node's name; default: %(default)s")


def run(arguments: argparse.Namespace) -> int:
    """Print a verdict a bag; 2 when a bag failed or is damaged, else 1 when an allowed error is exceeded."""
    if arguments.xacro and arguments.urdf is None:
        raise KaneDynamicsError("--xacro is for the xacro file of --urdf FILE, which is not given", "xacro")
    model = load_model(arguments.model)
    joints = model.joint_names
    most_rmse = dict(arguments.max_rmse)
    for joint in most_rmse:
        if joint not in joints:
            raise unknown_joint(joint, joints)
    bags = [bag for path in arguments.bags for bag in find_bags(path)]
    if arguments.live:
        if arguments.parameters is not None:
            needed = "with --live the node's own parameters count; load them into it (ros2 param load)"
            raise cli.unusable("--parameters", str(arguments.parameters), needed)
        if not can_import("rclpy"):
            raise ros_missing("--live")
        return max(_play(arguments, bag, joints) for bag in bags)
    jobs = [
        Job(
            bag=bag,
            model=arguments.model,
            urdf_friction=arguments.urdf_friction,
            parameters=arguments.parameters,
            topic=arguments.topic,
            cutoff=arguments.cutoff,
            urdf=arguments.urdf,
            report=folder,
            rename=read_renamings(arguments.rename),
            xacro=dict(arguments.xacro),
        )
        for bag, folder in zip(bags, cli.report_folders(arguments.report, bags), strict=True)
    ]
    results = _results(jobs, arguments.jobs, arguments.dask)
    return max(_show(result, arguments, most_rmse, model.tips[0]) for result in results)


def _results(jobs: Sequence[Job], workers: int, dask: str | None) -> Iterator[JobResult]:
    """Every bag's result, each as soon as it is there."""
    if len(jobs) == 1 and dask is None:
        with Progress() as progress:
            result = run_job(jobs[0], progress.doing)
        yield result
        return
    results = run_jobs(jobs, workers, dask)
    for done in range(len(jobs)):
        with Progress(f"judging bags, {done} of {len(jobs)} done"):
            result = next(results)
        yield result


def _show(result: JobResult, arguments: argparse.Namespace, most_rmse: Mapping[str, float], tip: str) -> int:
    """Print one result, and parameters that give the model a body found at its first tip; its exit code."""
    if result.verdict is None:
        print(f"error: {result.error}", file=sys.stderr)
        return FAILED
    above = list(exceeded(result.verdict, arguments.max_nrmse, most_rmse))
    print("\n".join([*table(result.verdict), *above, ""]), flush=True)
    cause = result.verdict.cause
    if isinstance(cause, TipBody) and cause.frame == tip and cause.mass > 0.0 and not arguments.parameters:
        mass, *com = rounded((cause.mass, *(round(each, 3) + 0.0 for each in cause.com)))
        friction = dict.fromkeys(("urdf_damping", "urdf_friction"), bool(arguments.urdf_friction))
        content = {"payload": {"mass": mass, "com": com}, "friction": friction}
        print(parameter_file(content, ["write these lines to FILE, then try them: replay --parameters FILE"]))
    for warning in result.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    still = [joint.name for joint in result.verdict.joints if not joint.judged]
    errors = [*result.verdict.damages, *([] if result.error is None else [result.error])]
    if still:
        errors.append(
            f"{result.bag}: hardly any motion of {named('joint', still)}, of which nothing "
            "can be said; move every joint while recording, or judge with a model in which such a joint is "
            "locked (generate --lock JOINT=VALUE)"
        )
    for error in errors:
        print(f"error: {error}", file=sys.stderr)
    if errors:
        return FAILED
    return EXCEEDED if above else 0


def exceeded(verdict: Verdict, most_nrmse: float | None, most_rmse: Mapping[str, float]) -> Iterator[str]:
    """A sentence for each allowed error that a judged joint exceeds."""
    for joint in verdict.joints:
        if not joint.judged:
            continue
        found, unit = joint.fit, joint.unit
        # a measured effort that never changes has no range: any error is then too much
        nrmse = math.inf if found.nrmse is None and found.rmse else found.nrmse or 0.0
        if most_nrmse is not None and nrmse > most_nrmse:
            yield f"joint {joint.name!r}: NRMSE {nrmse:.4g} exceeds --max-nrmse {most_nrmse:g}"
        most = most_rmse.get(joint.name, math.inf)
        if found.rmse > most:
            yield f"joint {joint.name!r}: RMSE {found.rmse:.4g} {unit} exceeds --max-rmse {most:g} {unit}"


def _play(arguments: argparse.Namespace, bag: Path, joints: Sequence[str]) -> int:
    """Play a bag to the node and print the comparison; 1 when a command differs, 2 without the node.

    With ``--report`` the commands and the offline answers stay there, in ``BAG_answers.npz``.
    Raises ``BagError``.
    """
    with tempfile.TemporaryDirectory(prefix="kane_dynamics_live_") as folder:
        kept = arguments.report or Path(folder)
        kept.mkdir(parents=True, exist_ok=True)
        playlist, answers = Path(folder, "playlist.npz"), kept / f"{bag.resolve().stem}_answers.npz"
        with Progress("reading the bag"):
            check_playable(bag, arguments.topic, joints)
            states = write_playlist(bag, arguments.topic, playlist)
        print(f"{bag}: {states} joint states played to {arguments.node!r}", flush=True)
        if not play(
            playlist,
            answers,
            model=arguments.model,
            node=arguments.node,
            rate=arguments.rate,
            restamp=arguments.restamp,
        ):
            return FAILED
        found = read_answers(answers)
    print("\n".join(live_lines(found, joints)))
    return 0 if found.same else DIFFERS
