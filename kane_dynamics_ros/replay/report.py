"""The report of one bag: ``report.json``, ``report.html``, ``view.html`` and the bag ``predicted``."""

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path

from markupsafe import Markup

from kane_dynamics_ros.files import OutputFileError, list_files, write_file, written_files
from kane_dynamics_ros.pages import rendered
from kane_dynamics_ros.replay.errors import ReportFolderError
from kane_dynamics_ros.replay.figures import joint_figure
from kane_dynamics_ros.replay.motion import EstimatedRecording
from kane_dynamics_ros.replay.playback import write_view
from kane_dynamics_ros.replay.prediction_bag import write_prediction_bag
from kane_dynamics_ros.replay.sentences import delay_sentence
from kane_dynamics_ros.replay.verdict import Analysis, JointVerdict, Verdict
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.text import aligned, json_text

FORMAT = 2  # rises when a field changes its name or meaning
HEADER = ("joint", "RMSE", "bias", "NRMSE", "R^2", "worst", "at", "unit")
COMMAND = "replay"  # whose list of files it is
PAGES = ("report.json", "report.html", "view.html")
PREDICTED = "predicted"


# Plain data, for ``report.json``


def write_json(verdict: Verdict, file: Path) -> None:
    """Write the verdict; figures that are not finite become null."""
    data = {"format": FORMAT, **{field.name: getattr(verdict, field.name) for field in fields(verdict)}}
    write_file(file, json_text(data))


# Lines for a terminal


def table(verdict: Verdict) -> list[str]:
    """Figures a joint, then the findings and the notes."""
    done = verdict.processing
    return [
        f"{verdict.bag}: {done.messages} joint states on {verdict.topic!r}, read at "
        f"{done.messages_per_second:,.0f} messages a second",
        f"{done.seconds:.1f} s compared with model {verdict.model!r} at {done.analysis_rate:.4g} Hz "
        f"(recorded at {done.recorded_rate:.4g} Hz), below a cut-off of {done.cutoff:.3g} Hz",
        *filter(None, [delay_sentence(done.delay)]),
        "",
        *aligned([HEADER, *(_row(joint) for joint in verdict.joints)], left={0}),
        "",
        *_findings(verdict),
        *(f"note: {note}" for note in verdict.notes),
    ]


def _row(joint: JointVerdict) -> tuple[str, ...]:
    fit = joint.fit
    return (
        joint.name,
        f"{fit.rmse:.4g}",
        f"{fit.bias:+.3g}",
        "-" if fit.nrmse is None else f"{100 * fit.nrmse:.2f} %",
        "-" if fit.r_squared is None else f"{fit.r_squared:.4f}",
        f"{fit.worst:+.4g}",
        f"{fit.worst_time:.2f} s",
        joint.unit,
    )


def _findings(verdict: Verdict) -> Iterator[str]:
    yield from verdict.findings
    for joint in verdict.joints:
        if joint.findings:
            yield f"joint {joint.name!r}: {'; '.join(joint.findings)}"
    if not verdict.findings and not any(joint.findings for joint in verdict.joints):
        yield "no term is at fault: the model explains the measured efforts"


# ``report.html``


def write_page(analysis: Analysis, file: Path, viewed: bool = False) -> None:
    """Write the page, one file that needs nothing else, with a link to ``view.html`` when ``viewed``."""
    verdict = analysis.verdict
    figures = [
        Markup(joint_figure(analysis.comparison, j, joint.unit, verdict.processing.analysis_rate))
        for j, joint in enumerate(verdict.joints)
    ]
    text = rendered(
        "kane_dynamics_ros.replay",
        "report.html.j2",
        verdict=verdict,
        done=verdict.processing,
        attributed=[joint for joint in verdict.joints if joint.findings],
        delay=delay_sentence(verdict.processing.delay),
        figures=figures,
        viewed=viewed,
    )
    write_file(file, text)


# The folder, in which nothing is replaced but what an earlier report wrote


def check_folder(bag: Path, folder: Path) -> None:
    """Raise ``ReportFolderError`` where a report would replace the bag, or what no report wrote."""
    recorded, target = bag.resolve(), folder.resolve()
    if recorded.is_relative_to(target) or target.is_relative_to(recorded):
        raise ReportFolderError(bag, folder, "and the bag lie one in the other")
    if folder.exists() and not folder.is_dir():
        raise ReportFolderError(bag, folder, "is no folder")
    written = written_files(folder, COMMAND)
    for path in _outputs(folder):
        if path.relative_to(folder).as_posix() not in written:
            raise ReportFolderError(bag, path, "is there already, and no earlier report wrote it")


def _outputs(folder: Path) -> Iterator[Path]:
    """What lies where a report goes: pages, and all in the bag of predictions."""
    yield from (folder / name for name in PAGES if os.path.lexists(folder / name))
    predicted = folder / PREDICTED
    if predicted.is_dir() and not predicted.is_symlink():
        yield from sorted(predicted.iterdir())
    elif os.path.lexists(predicted):
        yield predicted


def write_report(
    estimated: EstimatedRecording,
    analysis: Analysis,
    model: DynamicsModel,
    folder: Path,
    urdf: Path | None = None,
    xacro: Mapping[str, str] | None = None,
) -> list[str]:
    """Write all of it into a folder, which is made when it is not there; returns warnings.

    ``model`` is the one that was judged; ``urdf`` stands in for a description that the bag lacks, expanded
    with the arguments ``xacro``; without either there is no ``view.html``.
    Raises ``ReportFolderError`` before anything is written, and ``OutputFileError``.
    """
    check_folder(estimated.bag, folder)
    before = written_files(folder, COMMAND)
    list_files(folder, before.union(PAGES), COMMAND)
    write_json(analysis.verdict, folder / "report.json")
    viewed, warnings = write_view(estimated, analysis, model, urdf, folder / "view.html", xacro)
    if not viewed:
        (folder / "view.html").unlink(missing_ok=True)
    write_page(analysis, folder / "report.html", viewed)
    bag = _replace_predicted(estimated, analysis, folder, before)
    pages = [name for name in PAGES if viewed or name != "view.html"]
    list_files(folder, pages + bag, COMMAND)
    return warnings


def _replace_predicted(
    estimated: EstimatedRecording, analysis: Analysis, folder: Path, before: frozenset[str]
) -> list[str]:
    """The bag of predictions: written beside the old one, which goes when the new one is whole."""
    target, part = folder / PREDICTED, folder / f".{PREDICTED}.{os.getpid()}.part"
    try:
        try:
            write_prediction_bag(estimated, analysis.comparison, part / PREDICTED)
            files = [f"{PREDICTED}/{path.name}" for path in sorted((part / PREDICTED).iterdir())]
            list_files(folder, before.union(PAGES, files), COMMAND)
            if target.is_dir():
                for path in target.iterdir():
                    path.unlink()
                target.rmdir()
            (part / PREDICTED).replace(target)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise OutputFileError(target, error) from error
    return files
