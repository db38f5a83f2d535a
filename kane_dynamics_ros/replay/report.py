"""The report of one bag: ``report.json``, ``report.html``, ``view.html`` and the bag ``predicted``."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import signal

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.files import refuse_foreign, whole_results, write_file
from kane_dynamics_ros.pages import rendered, svg
from kane_dynamics_ros.replay.comparison import Comparison
from kane_dynamics_ros.replay.errors import BagError
from kane_dynamics_ros.replay.playback import write_view
from kane_dynamics_ros.replay.prediction_bag import write_prediction_bag
from kane_dynamics_ros.replay.verdict import Analysis, JointVerdict, Verdict, delay_sentence
from kane_dynamics_ros.text import aligned, json_text

FORMAT = 2  # rises when a field changes its name or meaning
HEADER = ("joint", "RMSE", "bias", "NRMSE", "R^2", "worst", "at", "unit")
COMMAND = "replay"  # whose list of files it is
PAGES = ("report.json", "report.html", "view.html")
PREDICTED_BAG = "predicted"
BINS = 800  # along the time axis; each keeps its smallest and largest value
SEGMENT = 4.0  # [s] of Welch's segments: 0.25 Hz between lines
TERM_COLOURS = {"inertia": "#d1495b", "coriolis": "#8f5db7", "gravity": "#2e8b57", "friction": "#b8860b"}
MEASURED, PREDICTED, RESIDUAL = "#7a8794", "#1f5fa8", "#c0392b"
DECADES = 1e8  # that a spectrum shows below its highest value


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


# Figures, thinned so that peaks stay


def joint_figure(comparison: Comparison, joint: int, unit: str, rate: float) -> str:
    """Measured against predicted, residual, the model's terms, and spectra of one joint, as SVG."""
    figure = Figure(figsize=(10, 10.5))
    # fixed margins: letting matplotlib find them takes as long as drawing
    figure.subplots_adjust(left=0.08, right=0.995, bottom=0.05, top=0.97, hspace=0.5)
    efforts, residuals, terms, spectra = figure.subplots(4, 1, height_ratios=(3, 2, 3, 3))
    measured, predicted = comparison.measured[:, joint], comparison.predicted[:, joint]
    residual = measured - predicted
    _curve(efforts, comparison, measured, "measured", MEASURED, 2.2)
    _curve(efforts, comparison, predicted, "predicted", PREDICTED, 1.0)
    _curve(residuals, comparison, residual, "measured - predicted", RESIDUAL, 0.8)
    for name, values in comparison.terms.items():
        _curve(terms, comparison, values[:, joint], name, TERM_COLOURS[name], 0.9)
    for axes in (efforts, residuals, terms):
        axes.set(xlabel="time since the first stamp [s]", ylabel=f"effort [{unit}]")
        axes.margins(x=0)
    segment = min(len(measured), int(SEGMENT * rate))
    for label, values, colour in (
        ("measured", measured, MEASURED),
        ("predicted", predicted, PREDICTED),
        ("residual", residual, RESIDUAL),
    ):
        frequency, power = signal.welch(values, rate, nperseg=segment)
        shown = np.flatnonzero(power[1:] > 0) + 1
        spectra.loglog(frequency[shown], power[shown], color=colour, linewidth=1, label=label)
    spectra.set(xlabel="frequency [Hz]", ylabel=f"density [({unit})²/Hz]")
    spectra.set_ylim(bottom=spectra.get_ylim()[1] / DECADES)
    for axes in (efforts, residuals, terms, spectra):
        axes.grid(alpha=0.25)
        # above the axes, where it covers no data
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize="small", ncols=4, frameon=False)
    return svg(figure)


def _curve(axes: Axes, comparison: Comparison, values: Array, label: str, colour: str, width: float) -> None:
    """A line through the extremes of each bin, seen as the same, that breaks where an interval ends."""
    bounds = [*comparison.joins, len(values)]
    for i, piece in enumerate(map(np.arange, bounds, bounds[1:])):
        size = len(piece) // BINS
        if size >= 4:
            bins = values[piece[: size * BINS]].reshape(BINS, size)
            extremes = np.sort(np.stack([bins.argmin(axis=1), bins.argmax(axis=1)], axis=1), axis=1)
            piece = piece[(extremes + size * np.arange(BINS)[:, None]).ravel()]
        name = label if i == 0 else None
        axes.plot(comparison.time[piece], values[piece], color=colour, linewidth=width, label=name)


# ``report.html``


def write_page(verdict: Verdict, comparison: Comparison, file: Path, viewed: bool = False) -> None:
    """Write the page, one file that needs nothing else, with a link to ``view.html`` when ``viewed``."""
    figures = [
        Markup(joint_figure(comparison, j, joint.unit, verdict.processing.analysis_rate))
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
    """Raise ``BagError`` ("folder") where a report would lie in the bag or hold it, or lies behind a file.

    Raises ``ForeignFileError`` where it would replace what no report wrote.
    """
    recorded, target, reason = bag.resolve(), folder.resolve(), ""
    if recorded.is_relative_to(target) or target.is_relative_to(recorded):
        reason = f"{folder} and the bag lie one in the other"
    elif folder.exists() and not folder.is_dir():
        reason = f"{folder} is no folder"
    if reason:
        raise BagError(f"{bag}: --report: {reason}; give another folder", "folder", bag=bag, folder=folder)
    predicted = folder / PREDICTED_BAG
    replaced = list(predicted.iterdir()) if predicted.is_dir() and not predicted.is_symlink() else [predicted]
    refuse_foreign(folder, [*PAGES, *(path.relative_to(folder).as_posix() for path in replaced)], COMMAND)


def write_report(
    analysis: Analysis, folder: Path, urdf: Path | None = None, xacro: Mapping[str, str] | None = None
) -> list[str]:
    """Write all of it into a folder, which is made when it is not there; returns warnings.

    ``urdf`` stands in for a description that the bag lacks, expanded with the arguments ``xacro``; without
    either there is no ``view.html``.
    Raises what ``check_folder`` does before anything is written, and ``OutputFileError``.
    """
    verdict = analysis.verdict
    check_folder(verdict.bag, folder)
    with whole_results(folder, [*PAGES, PREDICTED_BAG], COMMAND) as part:
        write_file(part / "report.json", json_text({"format": FORMAT, **vars(verdict)}))
        viewed, warnings = write_view(analysis, urdf, part / "view.html", xacro)
        write_page(verdict, analysis.comparison, part / "report.html", viewed)
        write_prediction_bag(analysis.estimated, analysis.comparison, part / PREDICTED_BAG)
    return warnings
