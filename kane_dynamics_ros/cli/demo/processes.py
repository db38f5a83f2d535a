"""Start the package's nodes as processes of their own, on a DDS domain of their own, and always end them."""

import importlib.util
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.share import share_directory

DOMAINS = range(60, 80)
PATIENCE = 5.0  # [s] for a node to end after Ctrl-C, before it is killed
LOCK_STEP_PATIENCE = 10.0  # [s] a busy machine may take to answer
LOG_TAIL = 15  # lines shown of a node that failed

Parameters = Mapping[str, bool | float | str | list[float]]  # of a ROS node


class NodeFailedError(KaneDynamicsError):
    """A node of the demonstration ended when it should not, or with an error."""

    def __init__(self, node: str, code: int, log: Path) -> None:
        self.node, self.code, self.log = node, code, log
        tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_TAIL:])
        super().__init__(f"{node} ended with exit code {code}; its log {log} closes with:\n{tail}")


class RosMissingError(KaneDynamicsError):
    """There is no ROS 2 for the nodes to run on."""

    def __init__(self) -> None:
        super().__init__(
            "the demonstration runs ROS 2 nodes, but this Python has no rclpy; source ROS's setup.bash, or "
            "install ROS 2 from PyPI with pip install '.[ros]' in the checkout"
        )


class NodeProcess(NamedTuple):
    """A running node and where its output goes."""

    name: str
    process: "subprocess.Popen[bytes]"
    log: Path

    def ended(self) -> bool:
        """Whether it has ended."""
        return self.process.poll() is not None

    def error(self) -> NodeFailedError:
        """That it ended, as an error."""
        return NodeFailedError(self.name, self.process.wait(), self.log)


def check_ros() -> None:
    """Raise ``RosMissingError`` where the nodes cannot run."""
    if importlib.util.find_spec("rclpy") is None:
        raise RosMissingError


def private_environment() -> dict[str, str]:
    """This process's environment with a random DDS domain that does not leave the machine."""
    domain = str(random.choice(DOMAINS))
    return {**os.environ, "ROS_DOMAIN_ID": domain, "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}


def node_command(name: str, parameters: Parameters) -> list[str]:
    """The command line that runs ``kane_dynamics_ros.nodes.NAME`` with ROS parameters."""
    settings = [word for key, value in parameters.items() for word in ("-p", f"{key}:={json.dumps(value)}")]
    return [sys.executable, "-m", f"kane_dynamics_ros.nodes.{name}", "--ros-args", *settings]


@contextmanager
def running(
    name: str, parameters: Parameters, environment: Mapping[str, str], logs: Path
) -> Iterator[NodeProcess]:
    """Run one node; on leaving, interrupt it as Ctrl-C does, and kill it when that does not help."""
    log = logs / f"{name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            node_command(name, parameters),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield NodeProcess(name, process, log)
    finally:
        stop(process)


def stop(process: "subprocess.Popen[bytes]") -> None:
    """End a process that may have ended already."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_for(worker: NodeProcess, while_running: Sequence[NodeProcess]) -> None:
    """Wait until ``worker`` has ended well. Raises when it fails, or when one of the others ends before."""
    while not worker.ended():
        for node in while_running:
            if node.ended():
                raise node.error()
        time.sleep(0.05)
    if worker.process.returncode != 0:
        raise worker.error()


def record(controller: Parameters, trajectory: Path, folder: Path, wall_clock: bool) -> Path:
    """Run the trajectory on the simulated robot under a controller; returns the bag of what happened.

    What ``folder`` held is replaced. In lock step the nodes live in the robot's time; a state may then come
    as late as it likes.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    robot: Parameters = {"time.mode": "wall" if wall_clock else "lock_step"}
    timing: Parameters = {"safety.state_timeout": LOCK_STEP_PATIENCE, "use_sim_time": True}
    node: Parameters = {**({} if wall_clock else timing), **controller}
    recorder: Parameters = {
        "trajectory": str(trajectory),
        "bag": str(folder / "bag"),
        "robot_description": str(share_directory() / "urdf" / "manipulator_5dof.urdf"),
        "use_sim_time": not wall_clock,
    }
    environment = private_environment()
    with (
        running("simulated_hardware_node", robot, environment, folder) as robot_process,
        running("feedforward_node", node, environment, folder) as controller_process,
        running("trajectory_recorder_node", recorder, environment, folder) as recorder_process,
    ):
        wait_for(recorder_process, while_running=(robot_process, controller_process))
    return folder / "bag"
