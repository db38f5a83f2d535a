"""``kane_dynamics annotate``: fill in the efforts of a trajectory file, adding points where that needs it."""

import argparse
import math
from pathlib import Path

import numpy as np

from kane_dynamics_ros.cli.arguments import add_model_argument, named_model
from kane_dynamics_ros.control.annotation import Accuracy, annotate
from kane_dynamics_ros.control.law import TermSwitches, build_law
from kane_dynamics_ros.control.limits import effort_limits, motion_limits
from kane_dynamics_ros.control.trajectory_file import read_trajectory, trajectory_text
from kane_dynamics_ros.files import write_file
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.text import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add_model_argument(parser)
    parser.add_argument(
        "trajectory", metavar="FILE", type=Path, help="a trajectory_msgs/JointTrajectory in YAML or JSON"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="NAME.yaml or NAME.json; default: print"
    )
    parser.add_argument(
        "--error",
        type=positive,
        help="largest error of linear interpolation [N m]; default: of each joint a hundredth of its largest "
        "effort, or a thousandth of its limit where that is less",
    )
    parser.add_argument(
        "--max-points", type=int, default=20000, help="most points to write; default: %(default)s"
    )
    parser.add_argument("--friction", action="store_true", help="with the URDF's damping and friction")
    parser.add_argument(
        "--no-limits",
        action="store_true",
        help="do not refuse positions, velocities and efforts beyond the URDF's limits",
    )


def positive(text: str) -> float:
    """A number above 0, for argparse."""
    number = float(text)
    if not 0.0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return number


def run(arguments: argparse.Namespace) -> int:
    """Read, annotate, write."""
    model = load_model(named_model(arguments))
    if arguments.friction:
        model = model.with_urdf_friction()
    none = np.zeros(len(model.joint_names))
    law = build_law("feedforward", model, none, none, TermSwitches())
    limits = np.full_like(none, math.inf) if arguments.no_limits else effort_limits(model.joints)
    request = read_trajectory(arguments.trajectory)
    motion = None if arguments.no_limits else motion_limits(model.joints, None)
    annotated = annotate(request, law, limits, Accuracy(arguments.error, arguments.max_points), motion)
    target: Path | None = arguments.output
    source = arguments.trajectory if target is None else target
    text = trajectory_text(annotated, source.suffix.lower() == ".json")
    if target is None:
        print(text, end="")
        return 0
    write_file(target, text)
    print(f"{target}: {counted(len(annotated.points), 'point')} with effort, from {len(request.points)}")
    return 0
