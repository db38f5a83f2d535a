"""A small module for the tests of loading and evaluating."""

from pathlib import Path

import numpy as np
import pytest
from random_chains import random_chain

from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A module of two joints, not yet compiled."""
    chain = random_chain(np.random.default_rng(1), 2, prismatic=0.0)
    return write_module(derive(chain), "small", tmp_path)[0]
