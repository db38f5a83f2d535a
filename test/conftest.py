"""Its presence lets every test import the shared helpers that lie beside it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from own_domain import own_domain

from kane_dynamics_ros.ros_domain import private_variables

os.environ.update(private_variables(own_domain()))  # what a test does not put elsewhere is apart from all


@pytest.fixture(scope="session")
def demo_output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``kane_dynamics demo`` wrote, and printed (output.txt); it runs once for all tests."""
    pytest.importorskip("rclpy", reason="the demonstration needs ROS 2")
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "kane_dynamics_ros", "demo", "--output", str(folder)]
    demo = subprocess.run(command, capture_output=True, text=True)
    assert demo.returncode == 0, demo.stdout + demo.stderr
    (folder / "output.txt").write_text(demo.stdout)
    return folder
