"""``kane_dynamics package``: a URDF becomes a ROS 2 package in C++ for ros2_control's thread."""

import argparse

from kane_dynamics_ros.cli import arguments as cli
from kane_dynamics_ros.cli.generate import check_module
from kane_dynamics_ros.cli.inspect import warning_lines
from kane_dynamics_ros.cli.progress import Progress
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import module_name
from kane_dynamics_ros.packaging.package import package_name, write_package


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("urdf", metavar="URDF", help="a URDF or xacro file")
    cli.add_chain_arguments(parser)
    cli.add_strict_argument(parser)
    parser.add_argument("--name", help="name of the package; default: the robot's, cleaned, and _dynamics")
    cli.add_output_argument(parser, "DIR", ".", "where to write the package's folder, as a workspace's src")


def run(arguments: argparse.Namespace) -> int:
    """Derive, compare with the unfactored equations, write; print where."""
    with Progress("reading the URDF") as progress:
        robot = cli.robot_of(arguments)
        chain = cli.chain_of(arguments, robot)
        name = package_name(arguments.name or f"{module_name(chain.robot)}_dynamics")
        progress.doing("deriving the equations")
        derived = derive(chain)
        progress.doing("writing the package")
        files = write_package(
            derived, name, arguments.output, accept=lambda text: check_module(text, name, chain)
        )
    lines = [
        *warning_lines(chain),
        f"joints (root to tip): {', '.join(chain.coordinates)}",
        *cli.gripper_lines(arguments, robot, chain),
        f"package {name}, {len(files)} files: {arguments.output / name}; its README.md says what comes next",
    ]
    print("\n".join(lines))
    return 0
