"""``kane_dynamics demo``: the real nodes over DDS, three controllers on the same trajectory.

For each controller the simulated hardware and the feedforward node run as processes of their own, on a
DDS domain without any other node; a third sends the trajectory and records a bag, from which everything
shown here is computed. So nothing in this process is in the control loop. When a foreign node appears on
the domain, the demonstration stops: it could be a robot.
"""

import argparse
import json
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.cli import demo_tracking as tracking
from kane_dynamics_ros.cli.arguments import add_output_argument
from kane_dynamics_ros.cli.demo_tracking import DemonstrationError
from kane_dynamics_ros.cli.progress import Progress
from kane_dynamics_ros.control.trajectory_file import trajectory_text
from kane_dynamics_ros.errors import ros_missing
from kane_dynamics_ros.files import claim_files, foreign_file, write_file
from kane_dynamics_ros.replay.playback import playback_of_bag
from kane_dynamics_ros.ros_domain import free_domain, private_environment
from kane_dynamics_ros.runtime import DynamicsModel, initial_positions, load_model
from kane_dynamics_ros.share import share_directory
from kane_dynamics_ros.this_python import can_import, module_command
from kane_dynamics_ros.viewing.page import page

MODEL = "manipulator_5dof"
PD_ALONE, PD_FEEDFORWARD, COMPUTED_TORQUE = "PD alone", "PD with feedforward", "computed torque"
BANDWIDTH = 20.0  # [rad/s] of every joint's error, critically damped
TERMS = ("inertia", "coriolis", "gravity", "friction")
# What is written: files, and in each controller's folder.
FILES = ("trajectory.yaml", "errors.csv", "position.png", "error.png", "torque.png")
OF_A_CONTROLLER = ("*.log", "view.html", "bag", "bag/metadata.yaml", "bag/*.mcap", "bag/*.db3")

GUARD = "domain_guard"
GUARD_TRIPPED = 2  # its exit code
GLOBAL_TOPICS = ("/clock", "/diagnostics")  # which nodes name absolutely
SHUTDOWN_TIMEOUT = 5.0  # [s] for a node to end after Ctrl-C, before it is killed
STARTUP_TIMEOUT = 120.0  # [s] for the nodes to come up: the first ever may have to compile
LOG_TAIL = 15  # lines shown of a node that failed

NodeParameters = Mapping[str, bool | float | str | list[float]]  # of a ROS node
CONTROLLERS: Mapping[str, NodeParameters] = {
    PD_ALONE: {"mode": "feedforward_pd", **{f"terms.{term}": False for term in TERMS}},
    PD_FEEDFORWARD: {"mode": "feedforward_pd"},
    COMPUTED_TORQUE: {
        "mode": "computed_torque",
        "computed_torque.kp": [BANDWIDTH**2],
        "computed_torque.kd": [2.0 * BANDWIDTH],
    },
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    add_output_argument(parser, "DIR", "demo_output", "where the results go")
    parser.add_argument(
        "--wall-clock",
        action="store_true",
        help="run at the speed of the wall clock; default: in lock step, the robot waiting for each command, "
        "so that the figures do not depend on how busy the machine is",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the three controllers and show how they track; 1 when one is worse than it must be."""
    if not can_import("rclpy"):
        raise ros_missing("the demonstration")
    output: Path = arguments.output
    claim_folder(output)
    model = load_model(MODEL)
    joints, start = model.joint_names, initial_positions(model.joints)
    trajectory = output / "trajectory.yaml"
    write_file(trajectory, trajectory_text(tracking.request(joints, start), as_json=False))
    gains = pd_gains(model, start)
    runs = {}
    with Progress() as progress:
        for label, settings in CONTROLLERS.items():
            progress.doing(f"running {label}")
            folder = folder_of(label, output)
            bag = record({**gains, **settings}, trajectory, folder, arguments.wall_clock)
            progress.doing(f"reading the bag of {label}")
            runs[label] = tracking.read_run(bag, joints, start)
            shown, _ = playback_of_bag(bag, urdf=None)
            write_file(folder / "view.html", page(shown))
        progress.doing("drawing")
        errors = {label: tracking.tracking_error(run) for label, run in runs.items()}
        tracking.write_errors(output / "errors.csv", joints, errors)
        pictures = tracking.plot_all(output, joints, runs)
    print(f"Tracking error of {MODEL}\n{tracking.table(joints, errors)}\n")
    folders = [folder_of(label, output) for label in runs]
    pages = [path for folder in folders for path in (folder / "bag", folder / "view.html")]
    print(*(output / "errors.csv", *pictures, *pages), sep="\n")
    found = tracking.gaps_found(runs)
    found += tracking.shortcomings(joints, *(errors[label] for label in CONTROLLERS))
    for shortcoming in found:
        print(f"not good enough: {shortcoming}", file=sys.stderr)
    return 1 if found else 0


def pd_gains(model: DynamicsModel, q: Array) -> NodeParameters:
    """Gains of the PD modes: those of the computed torque law times each joint's own inertia at ``q``."""
    inertia = np.diagonal(model.mass_matrix(q))
    return {
        "feedforward_pd.kp": (BANDWIDTH**2 * inertia).tolist(),
        "feedforward_pd.kd": (2.0 * BANDWIDTH * inertia).tolist(),
    }


def folder_of(label: str, output: Path) -> Path:
    """Where a controller's bag and the nodes' logs go."""
    return output / label.lower().replace(" ", "_")


def claim_folder(output: Path) -> None:
    """Enter what the demonstration writes. Raises ``ForeignFileError`` where that is a user's file."""
    folders = [folder_of(label, output) for label in CONTROLLERS]
    claim_files(output, [*FILES, *(folder.name for folder in folders)], "demo")
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if not any(path.relative_to(folder).match(pattern) for pattern in OF_A_CONTROLLER):
                raise foreign_file(path, "demo")


# The nodes as processes, which always end


class NodeProcess(NamedTuple):
    """A running node and where its output goes."""

    name: str
    process: "subprocess.Popen[bytes]"
    log: Path

    def ended(self) -> bool:
        """Whether it has ended."""
        return self.process.poll() is not None

    def error(self) -> DemonstrationError:
        """Why it ended, as an error."""
        code = self.process.wait()
        lines = self.log.read_text("utf-8", errors="replace").rstrip().splitlines()
        if self.name == GUARD and code == GUARD_TRIPPED:
            found = "".join(lines[-1:]).removeprefix("error: ")
            return DemonstrationError(f"the demonstration stops: {found}", "foreign_node")
        tail = "\n".join(lines[-LOG_TAIL:])
        return DemonstrationError(
            f"{self.name} ended with exit code {code}; its log {self.log} closes with:\n{tail}",
            "node_failed",
            node=self.name,
            exit_code=code,
            log=self.log,
        )


@contextmanager
def running(
    name: str, command: Sequence[str], environment: Mapping[str, str], logs: Path
) -> Iterator[NodeProcess]:
    """Run one node; on leaving, interrupt it as Ctrl-C does, and kill it when that does not help.

    It is bound to this process (``module_command``), which may be killed.
    """
    log, pipe = logs / f"{name}.log", subprocess.PIPE
    with (
        log.open("wb") as output,
        subprocess.Popen(
            list(command), env=environment, stdin=pipe, stdout=output, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            yield NodeProcess(name, process, log)
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(SHUTDOWN_TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()


def wait_for(worker: NodeProcess, while_running: Sequence[NodeProcess]) -> None:
    """Wait until ``worker`` has ended well. Raises when it fails, or when one of the others ends before."""
    while not worker.ended():
        for node in while_running:
            if node.ended():
                raise node.error()
        time.sleep(0.05)
    if worker.process.returncode != 0:
        raise worker.error()


def node_command(name: str, parameters: NodeParameters, namespace: str) -> list[str]:
    """The command line that runs ``kane_dynamics_ros.nodes.NAME`` with ROS parameters in a namespace."""
    settings = [word for key, value in parameters.items() for word in ("-p", f"{key}:={json.dumps(value)}")]
    own = [word for topic in GLOBAL_TOPICS for word in ("-r", f"{topic}:={namespace}{topic}")]
    command = module_command(f"kane_dynamics_ros.nodes.{name}", "--ros-args", quietly=True, bound=True)
    return [*command, "-r", f"__ns:={namespace}", *own, *settings]


def guard_command(namespace: str) -> list[str]:
    """The command line of a process that ends as soon as a node outside the namespace is on the domain."""
    return module_command("kane_dynamics_ros.nodes.domain", "--guard", namespace, quietly=True, bound=True)


def record(controller: NodeParameters, trajectory: Path, folder: Path, wall_clock: bool) -> Path:
    """Run the trajectory on the simulated robot under a controller; returns the bag of what happened.

    What ``folder`` held is replaced. In lock step the nodes live in the robot's time, which stands still
    until the recorder has sent the trajectory: the bag is the same on any machine. The nodes are alone: a
    domain without any other node, a namespace of their own, and a guard that ends the run as soon as a
    foreign node appears.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    nodes: Mapping[str, NodeParameters] = {
        "simulated_hardware_node": {
            "time.mode": "wall" if wall_clock else "lock_step",
            "time.paused": not wall_clock,
        },
        "feedforward_node": {"use_sim_time": not wall_clock, **controller},
        "trajectory_recorder_node": {
            "trajectory": str(trajectory),
            "bag": str(folder / "bag"),
            "robot_description": str(share_directory() / "urdf" / f"{MODEL}.urdf"),
            "use_sim_time": not wall_clock,
            "without_namespace": True,
            "timeout": STARTUP_TIMEOUT,
        },
    }
    namespace = f"/demo_{uuid.uuid4().hex[:12]}"
    with free_domain() as domain, ExitStack() as stack:
        environment = private_environment(domain)
        commands = {GUARD: guard_command(namespace)}
        commands |= {name: node_command(name, parameters, namespace) for name, parameters in nodes.items()}
        *others, recorder = (
            stack.enter_context(running(name, command, environment, folder))
            for name, command in commands.items()
        )
        wait_for(recorder, while_running=others)
    return folder / "bag"
