"""From a URDF to its first compiled torque, in a process of its own with an empty cache of libraries."""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmark.arms import REPOSITORY, Arm, arms
from benchmark.line import Line, below
from benchmark.timing import one_core

PROGRAM = """
import sys
from pathlib import Path
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.runtime import load_model
urdf, tip, folder = sys.argv[1:]
chain = serial_chain(load_robot(urdf), tip or None)
model = load_model(write_module(derive(chain), "arm", Path(folder))[0], backend="c")
rest = [0.1] * len(chain.coordinates)
model.inverse_dynamics(rest, rest, rest)
"""
ROUNDS = 3


def lines() -> list[Line]:
    """The seven-joint arm; imports, derivation and the C compiler included."""
    arm = next(arm for arm in arms() if arm.name == "panda")
    with one_core():
        seconds = min(first_torque(arm) for _ in range(ROUNDS))
    return [below(f"{arm.name}, URDF to first compiled torque", seconds, 3.0, "DESIGN.md's bound", "s")]


def first_torque(arm: Arm) -> float:
    """Processor time of this process's children, of all their own too [s]."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "XDG_CACHE_HOME": folder}
        command = [sys.executable, "-c", PROGRAM, str(arm.urdf), arm.tip or "", str(Path(folder))]
        before = _children()
        subprocess.run(command, check=True, env=environment, cwd=REPOSITORY)
        return _children() - before


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
