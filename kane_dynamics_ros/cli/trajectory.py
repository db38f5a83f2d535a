"""``kane_dynamics trajectory``: a smooth motion within all limits, to drive, record and test with."""

import argparse
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.cli import arguments as cli
from kane_dynamics_ros.cli.inspect import warning_lines
from kane_dynamics_ros.cli.progress import Progress
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.control.approach import LONGEST, POINT_SPACING, approach_time, request_after
from kane_dynamics_ros.control.smooth_motion import PART, SampledMotion, fastest_motion, smooth_motion, speeds
from kane_dynamics_ros.control.trajectory_file import trajectory_text
from kane_dynamics_ros.description import Chain
from kane_dynamics_ros.description.geometry import frames_at
from kane_dynamics_ros.errors import unknown_joint
from kane_dynamics_ros.files import write_file
from kane_dynamics_ros.runtime import DynamicsModel, load_model
from kane_dynamics_ros.text import aligned, counted

LEAST_DURATION = 4 * POINT_SPACING
DURATIONS = f"seconds, from {LEAST_DURATION:g} to {LONGEST:g}: a point each {POINT_SPACING:g} s"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The URDF, and what may be left to choose."""
    parser.add_argument("urdf", metavar="URDF", help="a URDF or xacro file")
    cli.add_chain_arguments(parser)
    parser.add_argument("--joints", nargs="+", metavar="JOINT", help="joints that move; default: all")
    parser.add_argument(
        "--duration",
        type=cli.positive("--duration", DURATIONS, LEAST_DURATION, LONGEST),
        default=8.0,
        metavar="S",
        help="of the motion [s]; default: %(default)s",
    )
    parser.add_argument(
        "--floor",
        type=cli.number("--floor", "give a height in m, or none", none=True),
        metavar="M",
        help="height in the root link that no joint and no tip goes below [m], or none; default: the root "
        "link's origin, or the lowest that the arm is at its start",
    )
    parser.add_argument(
        "--fastest",
        action="store_true",
        help=f"the same path in the least time that {PART:g} of the limits on velocity and effort allow",
    )
    cli.add_output_argument(parser, "FILE", "trajectory.yaml", "NAME.yaml or NAME.json")


def run(arguments: argparse.Namespace) -> int:
    """Choose amplitudes, write the points, print what of each limit is used."""
    duration: float = arguments.duration
    with Progress("reading the URDF") as progress:
        robot = cli.robot_of(arguments)
        chain = cli.chain_of(arguments, robot)
        progress.doing("deriving the equations")
        model = derived_model(chain)
        progress.doing("choosing amplitudes")
        for name in arguments.joints or ():
            if name not in model.joint_names:
                raise unknown_joint(name, model.joint_names)
        moving = [arguments.joints is None or name in arguments.joints for name in model.joint_names]
        up = -np.array(model.parameters.gravity)
        height = partial(lowest, chain, up=up / (np.linalg.norm(up) or 1.0))
        motion = smooth_motion(model, moving, duration, height, arguments.floor)
        lead = approach_time(model.joints, motion.q[0], speeds(model))
        states: Sequence[Array] = [values.round(9) for values in motion[1:]]
        if arguments.fastest:
            progress.doing("looking for the fastest timing")
            motion = fastest_motion(model, motion)
            states = motion[1:3]  # cubics join them
        request = request_after(lead, model.joint_names, motion.times, states)
        write_file(arguments.output, trajectory_text(request, arguments.output.suffix.lower() == ".json"))
    told = [*warning_lines(chain), *cli.gripper_lines(arguments, robot, chain)]
    print("\n".join([*told, *table(model, motion)]))
    seconds = lead + motion.times[-1]
    print(
        f"\n{arguments.output}: {counted(len(request.points), 'point')}, {seconds:.1f} s, of which "
        f"{lead:.1f} s lead to the start"
    )
    print(f"see it: {cli.view_command(arguments)}")
    print(f"send it to the running controller: kane_dynamics send {arguments.output}")
    return 0


def derived_model(chain: Chain) -> DynamicsModel:
    """The chain's equations with its friction, derived here and now, in pure Python: before any compiler."""
    with tempfile.TemporaryDirectory(prefix="kane_dynamics_model_") as folder:
        module, *_ = write_module(derive(chain), "derived", Path(folder))
        return load_model(module, backend="python").with_urdf_friction()


def lowest(chain: Chain, q: Array, up: Array) -> Array:
    """How high the lowest of all joints and the tip is along ``up`` (3,) in the root frame, (N,) [m]."""
    frames = frames_at(chain.joints, q)
    carrier = frames[chain.tip_body]
    points = (carrier.p + carrier.R @ chain.p_BoTo_B, *(frame.p for frame in frames))
    return np.asarray(np.min(np.broadcast_arrays(*(point @ up for point in points)), axis=0))


def table(model: DynamicsModel, motion: SampledMotion) -> list[str]:
    """What the motion uses of each joint's limits."""
    rows: list[Sequence[str]] = [("joint", "from", "to", "speed", "limit", "effort", "limit", "units")]
    speed = np.abs(motion.qd).max(axis=0)
    effort = np.abs(model.inverse_dynamics(*motion[1:])).max(axis=0)
    for i, joint in enumerate(model.joints):
        rows.append(
            (
                joint.name,
                *(f"{value + 0.0:.3f}" for value in (motion.q[:, i].min(), motion.q[:, i].max(), speed[i])),
                f"{joint.velocity:.3g}" if joint.velocity else "none",
                f"{effort[i]:.3f}",
                f"{joint.effort:.3g}" if joint.effort else "none",
                f"{joint.unit}, {joint.unit}/s, {joint.effort_unit}",
            )
        )
    return aligned(rows, left={0, 7})
