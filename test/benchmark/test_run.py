"""The command: it prints what it could measure, says what it could not, and its exit code tells."""

import sys
from types import SimpleNamespace

import pytest

from benchmark.__main__ import main
from benchmark.line import Line, faster

MET = faster("a call", 50.0, 700.0, "rival", "ns", 14.0)
MISSED = faster("a batch", 50.0, 70.0, "rival", "ns", 14.0)


def put_in_place(monkeypatch: pytest.MonkeyPatch, section: str, *lines: Line, error: str = "") -> None:
    """Replace a section's module by one that measures nothing."""

    def measure() -> list[Line]:
        if error:
            raise RuntimeError(error)
        return list(lines)

    monkeypatch.setitem(sys.modules, f"benchmark.{section}", SimpleNamespace(lines=measure))


def test_all_required_lines_met_is_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put_in_place(monkeypatch, "growth", MET)
    assert main(["--no-history", "--only", "growth"]) == 0
    assert capsys.readouterr().out.endswith("\n1 of 1 required lines met\n")


def test_a_missed_line_is_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put_in_place(monkeypatch, "growth", MET, MISSED)
    assert main(["--no-history", "--only", "growth"]) == 1
    assert capsys.readouterr().out.endswith("\n1 of 2 required lines met\n")


def test_a_section_that_cannot_be_measured_does_not_hide_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put_in_place(monkeypatch, "growth", MET)
    put_in_place(monkeypatch, "generation", error="no rival is installed")
    assert main(["--no-history", "--only", "generation", "growth"]) == 1
    out = capsys.readouterr().out
    assert out.endswith("\n1 of 1 required lines met\nnot measured: generation: no rival is installed\n")
