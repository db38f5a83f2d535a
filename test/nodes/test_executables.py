"""The executables of ``ros2 run`` while their imports go on."""

import os
import signal
import subprocess
import sys

import pytest

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

from kane_dynamics_ros.nodes import trajectory_recorder_node
from kane_dynamics_ros.nodes.feedforward import parameters as feedforward
from kane_dynamics_ros.nodes.hardware import parameters as hardware


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("node", ["feedforward_node", "simulated_hardware_node"])
def test_a_signal_during_the_imports_ends_it_quietly(node, number):
    # the signal comes when NumPy, which rclpy imports, is about to be
    code = f"""
import builtins, os, sys
from kane_dynamics_ros.nodes.executables import {node}
assert "numpy" not in sys.modules  # nothing that takes long comes before the handlers
original = builtins.__import__
def importing(name, *rest):
    if name == "numpy":
        os.kill(os.getpid(), {int(number)})
    return original(name, *rest)
builtins.__import__ = importing
{node}()
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


@pytest.mark.parametrize(("package", "remedy"), [("rclpy", "setup.bash"), ("rosbags", "bags")])
def test_a_missing_package_is_said_in_one_line(package, remedy):
    code = (
        f"import sys; sys.modules[{package!r}] = None; "
        "from kane_dynamics_ros.nodes.executables import trajectory_recorder_node as main; sys.exit(main())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    assert package in run.stderr
    assert remedy in run.stderr


@pytest.mark.parametrize(
    ("node", "declared"),
    [
        ("feedforward_node", feedforward.TABLE),
        ("simulated_hardware_node", hardware.TABLE),
        ("trajectory_recorder_node", trajectory_recorder_node.PARAMETERS),
    ],
)
def test_help_names_every_parameter_and_starts_nothing(node, declared):
    code = f"import sys; from kane_dynamics_ros.nodes.executables import {node} as main; sys.exit(main())"
    run = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")
    names = [line.split(" (")[0].strip() for line in run.stdout.splitlines() if line.startswith("  ")]
    assert names == [each.name for each in declared]


def test_help_for_a_reader_that_closes_early_says_nothing():
    code = "from kane_dynamics_ros.nodes.executables import feedforward_node as main; main()"
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as output:
        command = [sys.executable, "-c", code, "--help"]
        run = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, timeout=60)
    assert run.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        (["-p", "model:=x"], "-p model:=x"),
        (["model:=x", "--ros-args", "-p", "a:=b"], "model:=x"),
        (["--ros-args", "-p", "a:=b", "--", "model:=x"], "model:=x"),
    ],
)
@pytest.mark.parametrize("node", ["feedforward_node", "simulated_hardware_node", "trajectory_recorder_node"])
def test_what_ros_would_ignore_is_refused(node, arguments, left):
    code = f"import sys; from kane_dynamics_ros.nodes.executables import {node} as main; sys.exit(main())"
    run = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1)
    assert f"{left} has no effect" in run.stderr
    assert f"{node} --ros-args" in run.stderr
