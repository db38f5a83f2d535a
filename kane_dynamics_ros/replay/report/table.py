"""The verdict as lines for a terminal."""

from collections.abc import Iterator, Sequence

from kane_dynamics_ros.replay.estimation.delay import Delay
from kane_dynamics_ros.replay.verdict.verdict import JointVerdict, Verdict

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
