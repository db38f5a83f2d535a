"""One bag from file to report: the unit of work that processes and clusters share out."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from kane_dynamics_ros.errors import KaneDynamicsError, PathError
from kane_dynamics_ros.replay.estimation.observation import observe
from kane_dynamics_ros.replay.reading.recording import read_recording
from kane_dynamics_ros.replay.robot_check import robot_note
from kane_dynamics_ros.replay.verdict.verdict import Verdict, analyse
from kane_dynamics_ros.runtime import load_model


@dataclass(frozen=True)
class Job:
    """What to do with one bag. ``model`` is what ``load_model`` takes; ``report`` a folder to write to."""

    bag: Path
    model: str
    urdf_friction: bool = False
    topic: str | None = None
    cutoff: float | None = None  # [Hz]
    urdf: Path | None = None
    report: Path | None = None


@dataclass(frozen=True)
class Outcome:
    """A verdict, or the reason why there is none."""

    bag: Path
    verdict: Verdict | None
    error: str | None


def run_job(job: Job, progress: Callable[[int], object] | None = None) -> Outcome:
    """Read, judge and report one bag; an error of ours, or of the file system, becomes the outcome's."""
    try:
        return Outcome(job.bag, _judge(job, progress), None)
    except KaneDynamicsError as error:
        return Outcome(job.bag, None, str(error))
    except OSError as error:
        return Outcome(job.bag, None, str(PathError(error) if error.filename else error))


def _judge(job: Job, progress: Callable[[int], object] | None) -> Verdict:
    model = load_model(job.model)
    if job.urdf_friction:
        model = model.with_urdf_friction()
    # the recording is never named, so that its samples are gone before the model's efforts need their memory
    observation = observe(read_recording(job.bag, model.joint_names, job.topic, progress), job.cutoff)
    note = robot_note(observation.description, job.urdf, model)
    analysis = analyse(observation, model)
    analysis = replace(analysis, verdict=replace(analysis.verdict, notes=(note, *analysis.verdict.notes)))
    if job.report is not None:
        from kane_dynamics_ros.replay.report.folder import write_report  # spares others matplotlib's import

        write_report(observation, analysis, job.report, job.urdf)
    return analysis.verdict
