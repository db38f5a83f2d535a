"""Lines of the table of speeds: what counts as met, and how they are printed and kept."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark import history
from benchmark.history import append_history, latest_by_processor
from benchmark.line import Line, below, faster, table
from benchmark.page import by_processor

CALL = faster("a call", 50.0, 700.0, "rival", "ns", 14.0)


def test_a_line_is_met_at_exactly_the_factor() -> None:
    assert CALL.met
    assert CALL.ratio == 14.0
    assert not faster("a call", 50.1, 700.0, "rival", "ns", 14.0).met


def test_a_bound_itself_is_not_below_the_bound() -> None:
    assert below("operations", 279, 280, "bound", "").met
    assert not below("operations", 280, 280, "bound", "").met


def test_the_table_shows_both_figures_the_ratio_and_what_is_required() -> None:
    lines = [
        CALL,
        below("operations", 300, 280, "best known", ""),
        Line("for information", 1.5, 3.0, "x", "us"),
    ]
    assert table(lines) == (
        "work             ours    rival               ratio  required       met\n"
        "---------------  ------  ------  ----------  -----  -------------  -------\n"
        "a call           50 ns   700 ns  rival       14.00  at least 14 x  met\n"
        "operations       300     280     best known  0.93   under 280      NOT MET\n"
        "for information  1.5 us  3 us    x           2.00"
    )


def test_history_gains_one_json_line_a_run(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    append_history([CALL], path)
    append_history([CALL], path)
    first, second = (json.loads(row) for row in path.read_text().splitlines())
    assert (
        first["figures"]
        == second["figures"]
        == [{"work": "a call", "unit": "ns", "ours": 50.0, "rival": 700.0}]
    )
    assert {"date", "machine", "processor", "compiler", "spread", "python", "versions"} <= first.keys()
    assert all(isinstance(first[key], str) and first[key] for key in ("machine", "processor", "compiler"))


def test_required_lines_are_compared_by_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, others = tmp_path / "history.jsonl", [CALL] * (history.WHOLE - 2)
    below_bound, lost = below("operations", 140, 280, "bound", ""), below("lost", 0, 1, "bound", "")
    monkeypatch.setattr(history, "compiler", lambda: "cc 12.2.0")
    for name, ours in (("A", 100.0), ("B", 70.0), ("A", 35.0)):
        monkeypatch.setattr(history, "processor", lambda name=name: name)
        append_history([replace(CALL, ours=ours), *others, below_bound, lost], path)
    monkeypatch.setattr(history, "processor", lambda: "C")
    append_history([CALL], path)  # a part of the sections
    runs = latest_by_processor(path)
    day = runs["A"]["date"][:10]
    information = Line("for information", 1.5, 3.0, "x", "us")
    assert by_processor([CALL, information, below_bound, lost], runs).splitlines() == [
        f"| work | beside | required | B ({day}, 12.2.0) | A ({day}, 12.2.0) |",
        "| --- | --- | --- | ---: | ---: |",
        "| a call | rival | at least 14 x | 10.00 | 20.00 |",
        "| operations | bound | under 280 | 2.00 | 2.00 |",
        "| lost | bound | under 1 |  |  |",
    ]


def test_nothing_lost_is_no_division_by_zero() -> None:
    lost = Line("messages lost", 0, 3, "echo", "")
    assert lost.ratio == math.inf
    assert lost.cells() == ("messages lost", "0", "3", "echo", "inf", "", "")
