"""``kane_dynamics annotate``: fill in the efforts of a trajectory file, adding points where that needs it."""

import argparse
import math
from pathlib import Path

import numpy as np

from kane_dynamics_ros.cli import arguments as cli
from kane_dynamics_ros.cli.progress import Progress
from kane_dynamics_ros.control.annotation import Accuracy, annotate
from kane_dynamics_ros.control.law import Law, TermSwitches
from kane_dynamics_ros.control.limits import effort_limits, motion_limits
from kane_dynamics_ros.control.trajectory_file import read_trajectory, trajectory_text
from kane_dynamics_ros.files import write_file
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.runtime.node_parameters import with_parameter_file
from kane_dynamics_ros.text import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    cli.add_model_argument(parser)
    add = parser.add_argument
    add("trajectory", metavar="FILE", type=Path, help="a trajectory_msgs/JointTrajectory in YAML or JSON")
    add("-o", "--output", metavar="FILE", type=Path, help="NAME.yaml or NAME.json; default: print")
    add(
        "--error",
        type=cli.positive("--error", "a number of N m or N"),
        help="largest error of linear interpolation [N m]; default: of each joint a hundredth of its largest "
        "effort, or a thousandth of its limit where that is less",
    )
    add("--max-points", type=int, default=20000, help="most points to write; default: %(default)s")
    cli.add_friction_argument(parser)
    cli.add_parameters_argument(parser)
    unlimited = "do not refuse positions, velocities and efforts beyond the URDF's limits"
    add("--no-limits", action="store_true", help=unlimited)


def run(arguments: argparse.Namespace) -> int:
    """Read, annotate, write."""
    target: Path | None = arguments.output
    with Progress("loading the module") as progress:
        model = load_model(cli.named_model(arguments))
        model, beyond = with_parameter_file(model, arguments.parameters, arguments.urdf_friction)
        none = np.zeros(len(model.joint_names))
        law = Law("feedforward", model, none, none, TermSwitches(), beyond)
        limits = np.full_like(none, math.inf) if arguments.no_limits else effort_limits(model.joints)
        motion = None if arguments.no_limits else motion_limits(model.joints, None)
        progress.doing("reading the trajectory")
        request = read_trajectory(arguments.trajectory)
        progress.doing("computing the efforts")
        annotated = annotate(request, law, limits, Accuracy(arguments.error, arguments.max_points), motion)
        as_json = (target or arguments.trajectory).suffix.lower() == ".json"
        text = trajectory_text(annotated, as_json)
    if target is None:
        print(text, end="")
    else:
        write_file(target, text)
        print(f"{target}: {counted(len(annotated.points), 'point')} with effort, from {len(request.points)}")
    return 0
