"""``kane_dynamics view``: a bag, or a URDF and a trajectory, as a page that plays the motion in 3D."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.cli import arguments as cli
from kane_dynamics_ros.cli.progress import Progress
from kane_dynamics_ros.cli.trajectory import derived_model
from kane_dynamics_ros.control.limits import far_outside
from kane_dynamics_ros.control.plan import hold_at, replan, sample
from kane_dynamics_ros.control.trajectory_file import read_trajectory
from kane_dynamics_ros.control.validation import Rules, TrajectoryRequest
from kane_dynamics_ros.description.xacro_process import searched
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.files import write_file
from kane_dynamics_ros.replay.playback import playback_of_bag
from kane_dynamics_ros.runtime import DynamicsModel, initial_positions
from kane_dynamics_ros.text import named
from kane_dynamics_ros.viewing.page import Curve, Playback, ViewOptions, moving, page, robot_from_file

STEP = 0.01  # [s] between two samples of a trajectory
# joints that the trajectory does not name, say a gripper's, stay where they are
RULES = Rules(allow_partial=True)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    add = parser.add_argument
    add("source", type=Path, metavar="BAG|URDF", help="a recorded bag; or a robot, with --trajectory")
    add("--trajectory", type=Path, metavar="FILE", help="YAML of a JointTrajectory to play on the URDF")
    add("--urdf", type=Path, metavar="FILE", help="stands in for a robot_description that the bag has lost")
    cli.add_chain_arguments(parser)
    anywhere = "show meshes that lie outside of the robot's package too; the page then holds a copy of them"
    add("--meshes-from-anywhere", action="store_true", help=anywhere)
    cli.add_output_argument(parser, "PAGE", "view.html", "where the page goes")


def run(arguments: argparse.Namespace) -> int:
    """Write the page and print where it is; say which meshes are not shown as they are."""
    source: Path = arguments.source
    options = ViewOptions(
        arguments.root,
        arguments.tip,
        dict(arguments.lock),
        cli.loading(arguments),
        arguments.meshes_from_anywhere,
    )
    with Progress("reading the motion and the meshes") as progress:
        if arguments.trajectory is not None:
            playback, warnings = playback_of_trajectory(source, arguments.trajectory, options)
        elif source.suffix in (".urdf", ".xacro"):
            raise KaneDynamicsError(
                f"{source}: a robot alone has no motion to play; give one with --trajectory FILE",
                "no_trajectory",
            )
        else:
            playback, warnings = playback_of_bag(source, arguments.urdf, options)
        progress.doing("writing the page")
        write_file(arguments.output, page(playback))
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if any("not found" in warning for warning in warnings):
        places = ", ".join(searched(arguments.urdf or source, arguments.packages))
        print(f"meshes were looked for in {places}; --packages DIR adds a folder", file=sys.stderr)
    if playback.note:
        print(playback.note, file=sys.stderr)
    print(arguments.output)
    return 0


def playback_of_trajectory(
    urdf: Path, trajectory: Path, options: ViewOptions | None = None
) -> tuple[Playback, list[str]]:
    """The motion asked for and the torques that it takes; and warnings about meshes and positions.

    The torques include the URDF's friction. The arm starts at the URDF's initial positions; a lead-in in
    which nothing moves is left out.
    Raises ``TrajectoryError``, ``DescriptionError``, ``KaneDynamicsError`` ("held_joints").
    """
    request = read_trajectory(trajectory)
    robot = robot_from_file(urdf, options or ViewOptions())
    chain = robot.chain
    if held := tuple(name for name in request.names if name in robot.held):
        raise KaneDynamicsError(
            f"{trajectory}: it moves {named('joint', held)}: locked, or not on the way from "
            f"{chain.root!r} to the tip {chain.tip!r}; choose another --tip, leave out the --lock, or "
            "leave out the joints",
            "held_joints",
            joints=held,
        )
    model = derived_model(chain)
    times, q, qd, qdd = sampled(model, request)
    shown = moving(times, q)
    times, q, qd, qdd = times[shown], q[shown], qd[shown], qdd[shown]
    torques = Curve("inverse dynamics and friction", "motion", model.inverse_dynamics(q, qd, qdd).T)
    position = robot.position("position", Curve("trajectory", "motion", q.T))
    quantities = robot.effort("torque", torques), position
    playback = robot.playback(trajectory.name, times - times[0], "trajectory", q.T, quantities)
    ends = (q.min(axis=0), q.max(axis=0))
    warnings = dict.fromkeys(phrase for end in ends for phrase in far_outside(end, model.joints))
    return playback, [*robot.meshes.warnings, *warnings]


def sampled(model: DynamicsModel, request: TrajectoryRequest) -> tuple[Array, Array, Array, Array]:
    """Times [s] (N,), positions, velocities and accelerations (N, n), as a controller would follow it."""
    hold = hold_at(initial_positions(model.joints), 0)
    plan = replan(hold, replace(request, stamp_ns=0), model.joints, 0, RULES)
    times = np.linspace(0.0, 1e-9 * plan.end_ns, max(2, round(1e-9 * plan.end_ns / STEP) + 1))
    motion = np.array([sample(plan, round(1e9 * t)) for t in times])
    return times, motion[:, 0], motion[:, 1], motion[:, 2]
