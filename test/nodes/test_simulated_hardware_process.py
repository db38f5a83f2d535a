"""The simulated hardware node as a process: how it ends, and what its files say."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from own_domain import own_environment

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

from kane_dynamics_ros.nodes.hardware.parameters import TABLE
from kane_dynamics_ros.share import share_directory

ENVIRONMENT = own_environment()
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Factory: the node as a process with the given ROS arguments; killed at the end whatever happens."""
    processes: list[subprocess.Popen[str]] = []

    def make(*arguments: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "kane_dynamics_ros.nodes.simulated_hardware_node", "--ros-args"]
        processes.append(
            subprocess.Popen(
                [*command, *arguments],
                env=ENVIRONMENT,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        )
        return processes[-1]

    try:
        yield make
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def first_line(process: "subprocess.Popen[str]") -> str:
    """The line that says what is simulated; before it come parameters and, perhaps, a missing compiler."""
    assert process.stdout is not None
    return next(line for line in process.stdout if "simulating" in line)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_quietly_on_a_signal(start: Start, number: signal.Signals) -> None:
    process = start()
    assert "simulating gamma_1, alpha_2, alpha_3, beta_4, gamma_4 at 1000 Hz" in first_line(process)
    time.sleep(0.5)  # it runs
    process.send_signal(number)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Traceback" not in output


def test_a_wrong_parameter_ends_it_with_the_message_and_code_2(start: Start) -> None:
    process = start("-p", "plant.locked:=[elbow]")
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 2
    assert output.strip().endswith(
        "unknown joint 'elbow'; the model's joints are 'gamma_1', 'alpha_2', 'alpha_3', 'beta_4', 'gamma_4'"
    )
    assert "Traceback" not in output


def test_the_parameter_file_holds_every_parameter_at_its_default() -> None:
    text = (share_directory() / "config" / "simulated_hardware.yaml").read_text()
    tree = yaml.safe_load(text)["/**"]["ros__parameters"]

    def flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, value in tree.items():
            values |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
        return values

    assert flat(tree) == {entry.name: entry.default for entry in TABLE}


def test_the_documentation_names_every_parameter() -> None:
    text = (Path(__file__).parents[2] / "docs" / "simulated_hardware.md").read_text()
    assert [entry.name for entry in TABLE if f"| `{entry.name}` |" not in text] == []
