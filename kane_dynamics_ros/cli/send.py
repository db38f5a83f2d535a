"""``kane_dynamics send``: send a trajectory to the running controller, and tell what becomes of it."""

import argparse
import shlex
import shutil
import subprocess
from pathlib import Path

from kane_dynamics_ros.cli.arguments import positive
from kane_dynamics_ros.control.trajectory_file import read_trajectory
from kane_dynamics_ros.errors import ros_missing
from kane_dynamics_ros.this_python import can_import, module_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The file, and where it goes."""
    add = parser.add_argument
    add("trajectory", metavar="FILE", type=Path, help="a trajectory_msgs/JointTrajectory in YAML or JSON")
    add("--namespace", metavar="NS", default="", help="of the controller; default: none")
    seconds = positive("--timeout", "a number of seconds")
    text = "to wait for the controller [s]; default: %(default)g"
    add("--timeout", metavar="S", type=seconds, default=20.0, help=text)


def run(arguments: argparse.Namespace) -> int:
    """Run the node that sends; its exit code: 0 finished, 1 refused or dropped, 2 nobody listens."""
    file, space = arguments.trajectory, arguments.namespace
    read_trajectory(file)  # a bad file is told before anything is waited for
    if not can_import("rclpy"):
        raise ros_missing("send")
    if shutil.which("ros2"):
        print(f"the same without an answer: {pub_command(file, space)}", flush=True)
    words = [str(file), "--timeout", f"{arguments.timeout:g}", "--namespace", space]
    command = module_command("kane_dynamics_ros.nodes.trajectory_sender", *words, quietly=True, bound=True)
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:  # the node has it too, and ends
                continue


def pub_command(trajectory: Path, namespace: str) -> str:
    """ROS's own command that sends the file."""
    topic = f"/{namespace.strip('/')}/joint_trajectory" if namespace.strip("/") else "/joint_trajectory"
    kind = "trajectory_msgs/msg/JointTrajectory"
    return f'ros2 topic pub --once -w 1 {topic} {kind} "$(cat {shlex.quote(str(trajectory))})"'
