"""A small module for the tests of loading and evaluating."""

from pathlib import Path

import numpy as np
import pytest
from random_chains import random_chain

from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A module of two joints, not yet compiled, which the test may change."""
    return written(tmp_path)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of libraries of the test's own, empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return tmp_path / "home/kane_dynamics_ros/compiled"


@pytest.fixture(scope="session")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same for tests that only evaluate it: compiled once for all of them."""
    return written(tmp_path_factory.mktemp("unchanged"))


def written(folder: Path) -> Path:
    """The module of a random chain."""
    chain = random_chain(np.random.default_rng(1), 2, prismatic=0.0)
    return write_module(derive(chain), "small", folder)[0]
