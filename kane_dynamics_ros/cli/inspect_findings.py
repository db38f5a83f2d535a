"""Findings as ``inspect`` prints them."""

from collections import Counter
from collections.abc import Iterable

from kane_dynamics_ros.cli.colour import Palette
from kane_dynamics_ros.description import Finding

_ORDER = ("error", "warning", "info")


def finding_lines(findings: Iterable[Finding], palette: Palette) -> list[str]:
    """One line each, as compilers write them; the worst first, then in the order of the file."""
    ordered = sorted(findings, key=lambda finding: _ORDER.index(finding.severity))
    return [finding_line(finding, palette) for finding in ordered] or ["none"]


def finding_line(finding: Finding, palette: Palette) -> str:
    """``file:line: severity: element: message [code]``."""
    place = [part for part in (finding.file, finding.line) if part is not None]
    where = ":".join(str(part) for part in place) or "<text>"
    element = "" if finding.element is None else f"{finding.element}: "
    severity = palette.severity(finding.severity, finding.severity)
    return f"{where}: {severity}: {element}{finding.message} [{finding.code}]"


def summary(findings: Iterable[Finding]) -> str:
    """How many of each severity; the codes are explained in docs/diagnostics.md."""
    counts = Counter[str](finding.severity for finding in findings)
    warnings = f"{counts['warning']} warning{'' if counts['warning'] == 1 else 's'}"
    return f"{warnings}, {counts['info']} info (docs/diagnostics.md explains the codes)"
