"""Inverse dynamics from Python: one call with NumPy arrays, the pure Python fallback, a batch."""

import importlib.util
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pinocchio as pin

from benchmark.line import Line, faster
from benchmark.measured import Measured, measured_arms
from benchmark.timing import interleaved
from kane_dynamics_ros.runtime import load_model

BATCH = 100_000


def lines() -> list[Line]:
    """The reference robot from Python."""
    reference = measured_arms()[0]
    return [*single_calls(reference), batch(reference)]


def single_calls(measured: Measured) -> list[Line]:
    """Arrays in, array out, compiled; and lists in, list out, by the generated Python."""
    model = load_model(measured.module)
    rival = pin.buildModelFromUrdf(str(measured.urdf))
    data = rival.createData()
    q, qd, qdd = np.random.default_rng(1).uniform(-3.0, 3.0, (3, measured.arm.joints))
    lists = q.tolist(), qd.tolist(), qdd.tolist()
    fallback = load_source(measured.module).inverse_dynamics
    calls = {
        "compiled": lambda: model.inverse_dynamics(q, qd, qdd),
        "python": lambda: fallback(*lists),
        "pinocchio": lambda: pin.rnea(rival, data, q, qd, qdd),
    }
    times = {name: seconds * 1e6 for name, seconds in interleaved(calls, repeats=41, calls=2000).items()}
    title = "pinocchio.rnea"
    work = measured.arm.name
    return [
        faster(f"{work}, a call from Python", times["compiled"], times["pinocchio"], title, "us", 2.0),
        faster(f"{work}, pure Python, lists", times["python"], times["pinocchio"], title, "us", 0.25),
    ]


def batch(measured: Measured) -> Line:
    """Many states in one call, which shares them among processors, against a Python loop: elapsed time."""
    model = load_model(measured.module)
    rival = pin.buildModelFromUrdf(str(measured.urdf))
    data = rival.createData()
    states = np.random.default_rng(2).uniform(-3.0, 3.0, (3, BATCH, measured.arm.joints))

    def loop() -> None:
        for state in zip(*states, strict=True):
            pin.rnea(rival, data, *state)

    calls = {"ours": lambda: model.inverse_dynamics(*states), "loop": loop}
    elapsed = interleaved(calls, repeats=9, clock=perf_counter)
    times = {name: seconds / BATCH * 1e9 for name, seconds in elapsed.items()}
    work = f"{measured.arm.name}, batch of {BATCH:,}, a state (elapsed)"
    return faster(work, times["ours"], times["loop"], "loop over pinocchio.rnea", "ns", 80.0)


def load_source(path: Path) -> Any:
    """A generated NAME.py as a plain Python module."""
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
