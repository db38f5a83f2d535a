"""Interleaved timing: on one core, and with how much the rounds differ."""

import os
import time

import pytest

from benchmark import timing


def test_a_measurement_stays_on_one_core_and_gives_the_others_back(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("this system does not pin")
    before, seen = os.sched_getaffinity(0), set()

    def call() -> None:
        seen.add(frozenset(os.sched_getaffinity(0)))

    timing.interleaved({"call": call}, repeats=2)
    assert [len(cores) for cores in seen] == [1]
    assert os.sched_getaffinity(0) == before
    seen.clear()
    timing.interleaved({"call": call}, repeats=2, clock=time.perf_counter)  # threads share such work
    assert seen == {frozenset(before)}


def test_how_much_rounds_differ_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "spreads", [])
    ticks = iter([0.0, 1.0, 0.0, 2.0, 0.0, 3.0])
    found = timing.interleaved({"call": lambda: None}, repeats=3, clock=lambda: next(ticks))
    assert found == {"call": 2.0}
    assert timing.spreads == [pytest.approx(0.25)]
    assert timing.spread([5.0]) == 0.0
