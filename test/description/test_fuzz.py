"""Seeded runs of the fuzzer: a short one in every test run, and the long one."""

import itertools

import pytest
from fuzz_urdf import cases, fuzz


def test_only_our_own_errors_come_out_of_mutated_urdfs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    counts = fuzz(itertools.islice(cases(seed=9), 300))
    assert counts.total() == 300
    assert len(counts) > 10  # the mutations reach many refusals, and some robots survive them
    assert counts["accepted"] > 30


@pytest.mark.slow
def test_only_our_own_errors_come_out_of_twenty_thousand(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert fuzz(itertools.islice(cases(seed=0), 20_000)).total() == 20_000
