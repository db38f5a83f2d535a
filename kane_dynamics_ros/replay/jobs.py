"""Bags from file to report: one job, and many of them on this machine or on a Dask cluster."""

import multiprocessing
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from kane_dynamics_ros.description import DescriptionError, check_origin, load_robot, parse_robot
from kane_dynamics_ros.errors import KaneDynamicsError, path_error
from kane_dynamics_ros.replay.bag import bag_files
from kane_dynamics_ros.replay.motion import estimate_recording
from kane_dynamics_ros.replay.recording import Renaming, read_for
from kane_dynamics_ros.replay.verdict import Verdict, analyse
from kane_dynamics_ros.runtime import DynamicsModel, load_model
from kane_dynamics_ros.runtime.node_parameters import with_parameter_file
from kane_dynamics_ros.this_python import safe_children

CONNECT = "10 s"  # for a scheduler's answer


@dataclass(frozen=True)
class Job:
    """What to do with one bag. ``model`` is what ``load_model`` takes; ``report`` a folder to write to."""

    bag: Path
    model: str
    urdf_friction: bool = False
    parameters: Path | None = None  # of the node, for ``with_parameter_file``
    topic: str | None = None
    cutoff: float | None = None  # [Hz]
    urdf: Path | None = None
    report: Path | None = None
    rename: tuple[Renaming, ...] = ()
    xacro: Mapping[str, str] = field(default_factory=dict)  # arguments of ``urdf``


@dataclass(frozen=True)
class JobResult:
    """A verdict, or the reason why there is none; both where the verdict could not be reported.

    ``warnings`` are about the report.
    """

    bag: Path
    verdict: Verdict | None
    error: str | None
    warnings: tuple[str, ...] = ()


def run_job(job: Job, doing: Callable[[str], object] = lambda step: None) -> JobResult:
    """Read, judge and report one bag; an error of ours, or of the file system, becomes the result's.

    ``doing`` is told each step in words.
    """
    verdict: Verdict | None = None
    try:
        if job.report is not None:
            # imports matplotlib
            from kane_dynamics_ros.replay.report import check_folder, write_report

            check_folder(job.bag, job.report)
        model, beyond = with_parameter_file(load_model(job.model), job.parameters, job.urdf_friction)
        doing("reading the bag")
        recording = read_for(model, job.bag, job.topic, job.rename)
        doing("estimating accelerations")
        estimated = estimate_recording(recording, job.cutoff)
        del recording  # its samples must be gone before the model's efforts need their memory
        note = robot_note(estimated.recording.description, job.urdf, model, job.xacro)
        doing("comparing the efforts")
        analysis = analyse(estimated, model, beyond)
        verdict = replace(analysis.verdict, notes=(note, *analysis.verdict.notes))
        warnings: list[str] = []
        if job.report is not None:
            doing("writing the report")
            analysis = replace(analysis, verdict=verdict)
            warnings = write_report(analysis, job.report, job.urdf, job.xacro)
        return JobResult(job.bag, verdict, None, tuple(warnings))
    except KaneDynamicsError as error:
        return JobResult(job.bag, verdict, str(error))
    except OSError as error:
        message = str(path_error(error)) if error.filename else f"{job.bag}: {error}"
        return JobResult(job.bag, verdict, message)


def robot_note(
    description: str | None, urdf: Path | None, model: DynamicsModel, xacro: Mapping[str, str] | None = None
) -> str:
    """One sentence about the model's origin against the bag's ``robot_description``, or else ``urdf``.

    ``xacro``: the arguments of a xacro file that stands in.

    A bag that was started late, or cut, has lost the latched description; the file stands in for it.
    """
    if description is None and urdf is None:
        return "the bag holds no robot_description; give --urdf FILE to check the model's origin"
    place = "the bag's robot_description" if description is not None else str(urdf)
    try:
        if description is not None:
            robot = parse_robot(description, "robot_description")
        else:
            robot = load_robot(str(urdf), xacro_arguments=xacro)
        origin = check_origin(model, robot)
    except (DescriptionError, OSError) as error:
        return f"{place} could not be compared with the model: {error}"
    if origin.matches:
        return f"the model was generated from {place}"
    expanded = description is None and place.endswith(".xacro")
    return (
        f"the model was NOT generated from {place}: physics hash {model.urdf_hash[:16]} against "
        f"{origin.hash[:16]}; generate it again, "
        f"{'give --xacro what it was made with, ' if expanded else ''}or judge with that in mind"
    )


# Many bags


def find_bags(path: Path) -> list[Path]:
    """The bags at a path: itself, or all those in a folder and its subfolders.

    Files without metadata.yaml are one bag when their names differ only in the number that rosbag2
    appends to split files, and a bag each otherwise. A path without any bag stands for itself, so
    that opening it says what is wrong.
    """

    def below(folder: Path) -> Iterator[Path]:
        files = bag_files(folder)
        stems = {re.sub(r"_\d+$", "", file.name.split(".")[0]) for file in files}
        if len(stems) == 1 or (folder / "metadata.yaml").is_file():
            yield folder
        else:
            yield from files
        if not (folder / "metadata.yaml").is_file():
            for each in sorted(folder.iterdir()):
                if each.is_dir():
                    yield from below(each)

    return list(below(path)) or [path] if path.is_dir() else [path]


def run_jobs(jobs: Sequence[Job], workers: int, dask: str | None = None) -> Iterator[JobResult]:
    """Outcomes as they come; ``dask`` is a scheduler's address. Raises ``KaneDynamicsError``."""
    if dask is None and (workers == 1 or len(jobs) == 1):
        yield from map(run_job, jobs)
        return
    with executor(workers, dask) as pool:
        futures = {pool.submit(run_job, job): job.bag for job in jobs}
        for future in as_completed(futures):
            error, bag = future.exception(), futures[future]
            yield JobResult(bag, None, f"{bag}: {error}") if error else future.result()


@contextmanager
def executor(workers: int, dask: str | None) -> Iterator[Executor]:
    """Processes of this machine, or a Dask cluster's workers.

    Raises ``KaneDynamicsError`` where Dask or its scheduler is missing.
    """
    if dask is None:
        # spawn: a forked child would inherit the threads' locks of the numerical libraries
        with safe_children(), ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
            yield pool
        return
    try:
        from dask.distributed import Client
    except ImportError as error:
        raise KaneDynamicsError(
            "--dask needs Dask's client, which is not installed: pip install 'kane_dynamics_ros[dask]'",
            "dask_missing",
        ) from error
    try:
        client = Client(dask, timeout=CONNECT)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise KaneDynamicsError(
            f"--dask {dask}: no scheduler answers there ({error}); give the address it printed",
            "dask_address",
        ) from error
    with client:
        yield client.get_executor()  # type: ignore[no-untyped-call]
