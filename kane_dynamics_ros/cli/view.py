"""``kane_dynamics view``: a bag, or a URDF and a trajectory, as a page that plays the motion in 3D."""

import argparse
import sys
from pathlib import Path

from kane_dynamics_ros.cli.view_trajectory import record_of_trajectory
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.replay.viewing.bag_record import record_of_bag
from kane_dynamics_ros.replay.viewing.page import page

URDF_SUFFIXES = (".urdf", ".xacro")
MESH_HINT = "meshes are looked for in the folders above the URDF or bag, and in AMENT_PREFIX_PATH"
OUTPUT_HELP = "where the page goes; default: %(default)s"


class NoTrajectoryError(KaneDynamicsError):
    """A URDF alone has no motion to play."""

    def __init__(self, urdf: Path) -> None:
        super().__init__(f"{urdf}: a robot alone has no motion to play; give one with --trajectory FILE")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    add = parser.add_argument
    add("source", type=Path, metavar="BAG|URDF", help="a recorded bag; or a robot, with --trajectory")
    add("--trajectory", type=Path, metavar="FILE", help="YAML of a JointTrajectory to play on the URDF")
    add("--urdf", type=Path, metavar="FILE", help="stands in for a robot_description that the bag has lost")
    add("--tip", metavar="LINK", help="last link of the chain; default: the one most joints lead to")
    add("-o", "--output", type=Path, default=Path("view.html"), metavar="PAGE", help=OUTPUT_HELP)


def run(arguments: argparse.Namespace) -> int:
    """Write the page and print where it is; warn of meshes that were not found."""
    if arguments.trajectory is not None:
        record, missing = record_of_trajectory(arguments.source, arguments.trajectory, arguments.tip)
    elif arguments.source.suffix in URDF_SUFFIXES:
        raise NoTrajectoryError(arguments.source)
    else:
        record, missing = record_of_bag(arguments.source, arguments.urdf, arguments.tip)
    for name in missing:
        print(f"warning: mesh {name!r} was not found and is not shown", file=sys.stderr)
    if missing:
        print(MESH_HINT, file=sys.stderr)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(page(record), encoding="utf-8")
    print(arguments.output)
    return 0
