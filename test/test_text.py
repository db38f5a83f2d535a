"""Lists of bounded length, columns one under another, JSON without what JSON lacks."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from kane_dynamics_ros.text import aligned, counted, json_text, listed, named


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], "none"),
        (["a", "b"], "'a', 'b'"),
        (["a", "b", "c"], "'a', 'b' and 1 more"),
        (["x" * 201], "'" + "x" * 200 + "...'"),
    ],
)
def test_list_of_names_has_a_bounded_length(names, expected):
    assert listed(names, most=2) == expected


def test_nouns_fit_their_number():
    assert [counted(number, "gap") for number in (0, 1, 2)] == ["0 gaps", "1 gap", "2 gaps"]
    assert [named("joint", names) for names in (["a"], ["a", "b"])] == ["joint 'a'", "joints 'a', 'b'"]


def test_columns_are_aligned_as_asked_and_end_without_spaces():
    rows = [("joint", "RMSE", "terms"), ("a", "0.5", ""), ("longest", "12.25", "offset")]
    assert aligned(rows, left={0, 2}) == [
        "joint     RMSE  terms",
        "a          0.5",
        "longest  12.25  offset",
    ]
    assert aligned(rows)[1] == "a        0.5"


class Span(NamedTuple):
    start: float
    end: float


@dataclass
class Result:
    bag: Path
    spans: tuple[Span, ...]
    figures: dict[str, object]


def test_json_has_no_number_that_json_lacks():
    figures = {"rms": np.float32(0.5), "count": np.int64(3), "usable": np.bool_(True), "r2": float("nan")}
    text = json_text(Result(Path("/b"), (Span(0.0, np.inf),), figures))
    assert json.loads(text) == {
        "bag": "/b",
        "spans": [{"start": 0.0, "end": None}],
        "figures": {"rms": 0.5, "count": 3, "usable": True, "r2": None},
    }
