"""The ``backend`` parameter of the nodes that evaluate a model."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

from kane_dynamics_ros.runtime.load import SHIPPED

PATIENCE = 60.0  # [s] on a busy machine


@pytest.fixture
def uncompiled(tmp_path: Path) -> Path:
    """The shipped model where there is no compiled form of it."""
    for suffix in (".py", ".c", ".h"):
        shutil.copy(SHIPPED / f"manipulator_5dof{suffix}", tmp_path)
    return tmp_path / "manipulator_5dof.py"


@pytest.mark.parametrize("node", ["feedforward_node", "simulated_hardware_node"])
def test_backend_c_does_not_start_without_a_compiler(node: str, uncompiled: Path, tmp_path: Path) -> None:
    compilers = tmp_path / "compilers"
    compilers.mkdir()
    for name in ("cc", "gcc", "clang"):
        (compilers / name).write_text("#!/bin/sh\nexit 127\n")
        (compilers / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{compilers}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(tmp_path)}
    environment.pop("CC", None)
    command = [sys.executable, "-m", f"kane_dynamics_ros.nodes.{node}", "--ros-args"]
    command += ["-p", f"model:={uncompiled}", "-p", "backend:=c"]
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
    try:
        end = time.monotonic() + PATIENCE
        while "no C compiler was found" not in log.read_text() and time.monotonic() < end:
            time.sleep(0.05)
        if node == "feedforward_node":  # a lifecycle node stays, unconfigured, to be configured again
            process.send_signal(signal.SIGINT)
        code = process.wait(PATIENCE)
    finally:
        process.kill()
    said = log.read_text()
    assert "no C compiler was found" in said
    assert "(c)" not in said
    assert code == (0 if node == "feedforward_node" else 2)
