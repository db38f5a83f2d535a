"""Time to generate the reference robot's module, and SymPy's to print inverse dynamics alone."""

import tempfile
import time
from pathlib import Path

from benchmark import kanes_method
from benchmark.arms import arms
from benchmark.line import Line, below, faster
from benchmark.timing import interleaved
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description import load_robot, serial_chain


def lines() -> list[Line]:
    """Ours: URDF to NAME.py, NAME.c and NAME.h, every function; without the C compiler."""
    arm = next(arms())
    chain = serial_chain(load_robot(arm.urdf), arm.tip)
    with tempfile.TemporaryDirectory() as folder:

        def generate() -> None:
            write_module(derive(serial_chain(load_robot(arm.urdf), arm.tip)), arm.name, Path(folder))

        ours = interleaved({"ours": generate}, repeats=5)["ours"]
    start = time.process_time()
    kanes_method.c_text(chain)
    rival = time.process_time() - start
    work = f"{arm.name}, generation"
    return [
        below(work, ours, 1.0, "DESIGN.md's bound", "s"),
        faster(work, ours, rival, "KanesMethod + cse", "s", 20.0),
    ]
