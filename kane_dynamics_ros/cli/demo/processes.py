"""The demonstration's nodes as processes, on a DDS domain of their own; they always end."""

import json
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from kane_dynamics_ros.errors import KaneDynamicsError, ros_missing
from kane_dynamics_ros.ros_domain import free_domain, private_environment
from kane_dynamics_ros.share import share_directory
from kane_dynamics_ros.this_python import can_import, module_command

GUARD = "domain_guard"
GUARD_TRIPPED = 2  # its exit code
GLOBAL_TOPICS = ("/clock", "/diagnostics")  # which nodes name absolutely
SHUTDOWN_TIMEOUT = 5.0  # [s] for a node to end after Ctrl-C, before it is killed
STARTUP_TIMEOUT = 120.0  # [s] for the nodes to come up: the first ever may have to compile
LOG_TAIL = 15  # lines shown of a node that failed

NodeParameters = Mapping[str, bool | float | str | list[float]]  # of a ROS node


class DemonstrationError(KaneDynamicsError):
    """The demonstration cannot go on.

    Codes: ``node_failed``, a node ended when it should not, or with an error (``node``, ``exit_code``,
    ``log``); ``foreign_node``, one is on its domain, and commands could reach a robot of its owner; of the
    recording (``bag``), ``too_short`` and ``no_trajectory``.
    """


class NodeProcess(NamedTuple):
    """A running node and where its output goes."""

    name: str
    process: "subprocess.Popen[bytes]"
    log: Path

    def ended(self) -> bool:
        """Whether it has ended."""
        return self.process.poll() is not None

    def error(self) -> KaneDynamicsError:
        """Why it ended, as an error."""
        code = self.process.wait()
        if self.name == GUARD and code == GUARD_TRIPPED:
            found = last_line(self.log).removeprefix("error: ")
            return DemonstrationError(f"the demonstration stops: {found}", "foreign_node")
        tail = "\n".join(self.log.read_text("utf-8", errors="replace").splitlines()[-LOG_TAIL:])
        return DemonstrationError(
            f"{self.name} ended with exit code {code}; its log {self.log} closes with:\n{tail}",
            "node_failed",
            node=self.name,
            exit_code=code,
            log=self.log,
        )


def last_line(log: Path) -> str:
    """The last line of a log that says something."""
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line for line in reversed(lines) if line.strip()), "")


def check_ros() -> None:
    """Raise ``MissingPackageError`` where the nodes cannot run."""
    if not can_import("rclpy"):
        raise ros_missing("the demonstration")


def node_command(name: str, parameters: NodeParameters, namespace: str) -> list[str]:
    """The command line that runs ``kane_dynamics_ros.nodes.NAME`` with ROS parameters in a namespace."""
    settings = [word for key, value in parameters.items() for word in ("-p", f"{key}:={json.dumps(value)}")]
    own = [word for topic in GLOBAL_TOPICS for word in ("-r", f"{topic}:={namespace}{topic}")]
    command = module_command(f"kane_dynamics_ros.nodes.{name}", "--ros-args", quietly=True, bound=True)
    return [*command, "-r", f"__ns:={namespace}", *own, *settings]


def guard_command(namespace: str) -> list[str]:
    """The command line of a process that ends as soon as a node outside the namespace is on the domain."""
    return module_command("kane_dynamics_ros.nodes.domain", "--guard", namespace, quietly=True, bound=True)


@contextmanager
def running(
    name: str, command: Sequence[str], environment: Mapping[str, str], logs: Path
) -> Iterator[NodeProcess]:
    """Run one node; on leaving, interrupt it as Ctrl-C does, and kill it when that does not help.

    It is bound to this process (``module_command``), which may be killed.
    """
    log = logs / f"{name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            list(command), env=environment, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        yield NodeProcess(name, process, log)
    finally:
        stop(process)


def stop(process: "subprocess.Popen[bytes]") -> None:
    """End a process that may have ended already."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(SHUTDOWN_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdin is not None:
        process.stdin.close()


def wait_for(worker: NodeProcess, while_running: Sequence[NodeProcess]) -> None:
    """Wait until ``worker`` has ended well. Raises when it fails, or when one of the others ends before."""
    while not worker.ended():
        for node in while_running:
            if node.ended():
                raise node.error()
        time.sleep(0.05)
    if worker.process.returncode != 0:
        raise worker.error()


def record(controller: NodeParameters, trajectory: Path, folder: Path, wall_clock: bool) -> Path:
    """Run the trajectory on the simulated robot under a controller; returns the bag of what happened.

    What ``folder`` held is replaced. In lock step the nodes live in the robot's time, which stands still
    until the recorder has sent the trajectory: the bag is the same on any machine. The nodes are alone: a
    domain without any other node, a namespace of their own, and a guard that ends the run as soon as a
    foreign node appears.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    robot: NodeParameters = {
        "time.mode": "wall" if wall_clock else "lock_step",
        "time.paused": not wall_clock,
    }
    node: NodeParameters = {"use_sim_time": not wall_clock, **controller}
    recorder: NodeParameters = {
        "trajectory": str(trajectory),
        "bag": str(folder / "bag"),
        "robot_description": str(share_directory() / "urdf" / "manipulator_5dof.urdf"),
        "use_sim_time": not wall_clock,
        "without_namespace": True,
        "timeout": STARTUP_TIMEOUT,
    }
    namespace = f"/demo_{uuid.uuid4().hex[:12]}"
    nodes = (
        ("simulated_hardware_node", robot),
        ("feedforward_node", node),
        ("trajectory_recorder_node", recorder),
    )
    with free_domain() as domain, ExitStack() as stack:
        environment = private_environment(domain)
        guard = stack.enter_context(running(GUARD, guard_command(namespace), environment, folder))
        others = [
            stack.enter_context(running(name, node_command(name, parameters, namespace), environment, folder))
            for name, parameters in nodes
        ]
        wait_for(others[-1], while_running=(guard, *others[:-1]))
    return folder / "bag"
