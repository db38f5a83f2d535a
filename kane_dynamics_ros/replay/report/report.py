"""The report of one bag: ``report.json``, ``report.html``, ``view.html`` and the bag ``predicted``."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from kane_dynamics_ros.replay.estimation.delay import Delay
from kane_dynamics_ros.replay.estimation.motion import Observation
from kane_dynamics_ros.replay.report.figures import joint_figure
from kane_dynamics_ros.replay.report.prediction_bag import write_prediction_bag
from kane_dynamics_ros.replay.verdict.verdict import Analysis, JointVerdict, Verdict
from kane_dynamics_ros.replay.viewing.records import write_view

# The verdict as plain data, for ``report.json``.


FORMAT = 1  # rises when a field changes its name or meaning


def write_json(verdict: Verdict, file: Path) -> None:
    """Write the verdict; figures that are not finite become null."""
    data = {"format": FORMAT, **as_data(verdict)}
    file.write_text(json.dumps(data, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def as_data(verdict: Verdict) -> dict[str, object]:
    """Dataclasses and named tuples as dictionaries, all the way down."""
    data = _plain(verdict)
    assert isinstance(data, dict)
    return data


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(part) for name, part in value._asdict().items()}
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value) if isinstance(value, Path) else value


# The verdict as lines for a terminal.


HEADER = ("joint", "RMSE", "bias", "NRMSE", "R^2", "worst", "at", "unit")


def table(verdict: Verdict) -> list[str]:
    """Figures a joint, then the findings and the notes."""
    done = verdict.processing
    return [
        f"{verdict.bag}: {done.messages} joint states on {verdict.topic!r}, read at "
        f"{done.messages_per_second:,.0f} messages a second",
        f"{done.seconds:.1f} s compared with model {verdict.model!r} at {done.analysis_rate:.4g} Hz "
        f"(recorded at {done.recorded_rate:.4g} Hz), below a cut-off of {done.cutoff:.3g} Hz",
        *_delay(done.delay),
        "",
        *_aligned([HEADER, *(_row(joint) for joint in verdict.joints)]),
        "",
        *_findings(verdict),
        *(f"note: {note}" for note in verdict.notes),
    ]


def _delay(delay: Delay | None) -> Iterator[str]:
    if delay is not None:
        yield (
            f"measured effort lags {1e3 * delay.seconds:.2f} ms behind the command "
            f"(correlation {delay.correlation:.2f})"
        )


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
        yield "no term is to blame: the model explains the measured efforts"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns: the first flush left, the others flush right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(cells))
        for cells in (list(zip(row, widths, strict=True)) for row in rows)
    ]


# ``report.html``: one file that needs nothing else, no network either.


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
        blamed=[joint for joint in verdict.joints if joint.findings],
        figures=figures,
        viewed=viewed,
    )
    file.write_text(text, encoding="utf-8")


# The report of one bag: ``report.json``, ``report.html``, ``view.html`` and the bag ``predicted``.


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
