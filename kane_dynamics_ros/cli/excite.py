"""``kane_dynamics excite``: a trajectory worth recording for ``identify``, within all limits."""

import argparse
import math
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.cli import arguments as cli
from kane_dynamics_ros.cli.identify import nominal_model, urdf_bytes
from kane_dynamics_ros.cli.inspect import warning_lines
from kane_dynamics_ros.cli.progress import Progress
from kane_dynamics_ros.control.approach import (
    LONGEST,
    MOST_POINTS,
    POINT_SPACING,
    approach_time,
    request_after,
)
from kane_dynamics_ros.control.trajectory_file import trajectory_text
from kane_dynamics_ros.control.validation import TrajectoryRequest
from kane_dynamics_ros.description import Chain
from kane_dynamics_ros.files import write_file
from kane_dynamics_ros.identification import excitation
from kane_dynamics_ros.identification.excitation import Arm, Excitation, GuardedPoints, excite
from kane_dynamics_ros.identification.link_boxes import box_corners, link_boxes
from kane_dynamics_ros.pages import svg

NOT_GOOD = 1  # exit code
CYCLE = 4  # points for each cycle of the highest harmonic, at least


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The URDF, and what may be left to choose."""
    add = parser.add_argument
    add("urdf", metavar="URDF", help="a URDF or xacro file")
    cli.add_chain_arguments(parser, tip="the one most joints lead to, without a gripper")
    cli.add_output_argument(parser, "FILE", "trajectory.yaml", "NAME.yaml or NAME.json")
    period = cli.positive("--period", f"seconds, from 1 to {LONGEST:g}", 1.0, LONGEST)
    text = "length of the motion [s]; default: %(default)g"
    add("--period", type=period, default=20.0, metavar="X", help=text)
    part = cli.positive("--part", "a part of all limits, at most 1", most=1.0)
    text = "fraction of every limit to use; default: %(default)g"
    add("--part", type=part, default=0.9, metavar="X", help=text)
    way, text = cli.positive("--range", "rad or m"), "widest motion to a side of a joint's middle [rad or m]"
    text = f"{text}; default: %(default)g"
    add("--range", type=way, default=excitation.UNLIMITED_RANGE, metavar="X", help=text)
    number = cli.positive("--acceleration", "rad/s^2 or m/s^2")
    text = "limit of every joint; default: the velocity limit within 0.25 s"
    add("--acceleration", type=number, metavar="X", help=text)
    text = "per joint, at most 40, and 5 for each second of the period; default: %(default)s"
    add("--harmonics", type=int, default=6, metavar="N", help=text)
    add("--repeat", type=int, default=1, metavar="N", help="periods one after another; default: %(default)s")
    text = "height of the floor in the root link [m], or none; default: where that link stands"
    floor = cli.number("--floor", "give a height in m, or none", none=True)
    add("--floor", type=floor, metavar="Z", help=text)
    text = "least height over the floor of everything that moves [m]; default: %(default)s"
    clearance = cli.number("--clearance", "give a height in m")
    add("--clearance", type=clearance, default=0.05, metavar="M", help=text)
    add("--gravity", metavar="X,Y,Z", help="free fall in the root link [m/s^2]; default: 0,0,-9.81")
    text = "another seed gives another trajectory, for validation; default: %(default)s"
    add("--seed", type=int, default=0, help=text)


def run(arguments: argparse.Namespace) -> int:
    """Search, write trajectory and figure, print what it is worth."""
    began = time.perf_counter()
    period, harmonics, repeat = arguments.period, arguments.harmonics, arguments.repeat
    cycles = int(min(excitation.SAMPLES, period / POINT_SPACING) / CYCLE)
    cli.whole("--harmonics", 2, cycles)(str(harmonics))
    cli.whole("--repeat", 1, int(MOST_POINTS * POINT_SPACING / period))(str(repeat))
    robot = cli.robot_of(arguments)
    chain = cli.chain_of(arguments, robot)
    notes: list[str] = []
    if arguments.tip is None:
        chain, notes = cli.without_gripper(robot, chain)
    if arguments.root is not None and arguments.floor is None:
        notes.append(f"the floor is where {arguments.root!r} stands; --floor gives its height in that link")
    with tempfile.TemporaryDirectory(prefix="kane_dynamics_excite_") as folder, Progress() as progress:
        progress.doing("deriving the equations")
        model = nominal_model(chain, arguments.gravity, Path(folder))
        limits = excitation.limits_of(model, arguments.range, arguments.acceleration, arguments.part)
        arm = Arm(model, chain, limits, floor_points(arguments, chain, np.array(model.parameters.gravity)))
        found = excite(arm, period, harmonics, seed=arguments.seed, progress=progress.doing)
        request = trajectory(arm, found, repeat)
        figure = arguments.output.with_suffix(".svg")
        write_file(arguments.output, trajectory_text(request, arguments.output.suffix.lower() == ".json"))
        write_file(figure, excitation_figure(arm, found))
    print("\n".join([*warning_lines(chain), *notes, *lines(chain, found, request, arguments.part)]))
    print(f"found in {time.perf_counter() - began:.1f} s; written: {arguments.output}, {figure}")
    good = found.condition <= excitation.GOOD
    if not good:
        print(
            f"not good: the condition is above {excitation.GOOD:g} after {excitation.RESTARTS} attempts. "
            "Give the arm more room (--floor, --clearance, --range) or time (--period), or another --seed"
        )
    print(f"see it: {cli.view_command(arguments, chain.tip if notes else None)}")
    return 0 if good else NOT_GOOD


def floor_points(arguments: argparse.Namespace, chain: Chain, gravity: Array) -> GuardedPoints | None:
    """What stays above the floor; None where there is none."""
    if arguments.floor == -math.inf:
        return None
    up = -gravity / np.linalg.norm(gravity) if gravity.any() else np.array([0.0, 0.0, 1.0])
    boxes = link_boxes(urdf_bytes(arguments), Path(arguments.urdf).parent)
    floor = arguments.floor
    if floor is None:  # the lowest corner of the root link, where that is below it
        corners = box_corners(boxes[chain.root]) if chain.root in boxes else []
        floor = min([0.0, *(float(corner @ up) for corner in corners)])
    return excitation.body_points(chain, boxes, arguments.clearance, floor, up)


def trajectory(arm: Arm, found: Excitation, repeat: int) -> TrajectoryRequest:
    """Points of the series, after the approach to its first one."""
    period = found.series.period
    steps = round(period / POINT_SPACING)
    times: Array = np.arange(repeat * steps + 1, dtype=np.float64) * (period / steps)
    states = found.series.at(times)
    approach = approach_time(arm.model.joints, states[0][0], arm.limits.velocity)
    return request_after(approach, arm.model.joint_names, times, states)


def lines(chain: Chain, found: Excitation, request: TrajectoryRequest, part: float) -> Sequence[str]:
    """What the trajectory is worth."""
    lead, last = (1e-9 * request.points[i].time_ns for i in (0, -1))
    used = ", ".join(f"{name} {100 * use:.0f} %" for name, use in found.used.items())
    floor = ""
    if found.lowest is not None:
        floor = f"; at least {1e3 * found.lowest:.0f} mm more over the floor than asked for"
    return [
        f"joints (root to tip): {', '.join(chain.coordinates)}",
        f"condition of the base regressor, columns of unit length: {found.condition:.3g} "
        f"({len(found.singular)} base parameters; a random motion: {found.start_condition:.3g})",
        f"largest use of the allowed {100 * part:g} % of the limits: {used}{floor}",
        f"{len(request.points)} points, {last:.1f} s, of which {lead:.1f} s lead to the start",
    ]


def excitation_figure(arm: Arm, found: Excitation) -> str:
    """Positions, velocities and efforts over one period in parts of their limits, and the singular values."""
    figure = Figure(figsize=(10, 10))
    figure.subplots_adjust(left=0.08, right=0.995, bottom=0.05, top=0.98, hspace=0.35)
    axes = figure.subplots(4, 1)
    time: Array = np.arange(401, dtype=np.float64) * (found.series.period / 400)
    q, qd, qdd = found.series.at(time)
    limits, tau = arm.limits, arm.model.inverse_dynamics(q, qd, qdd)
    curves = {
        "position": (q - limits.middle) / limits.half,
        "velocity": qd / limits.velocity,
        "effort": tau / np.where(np.isfinite(limits.effort), limits.effort, 1.0),
    }
    for axis, (name, values) in zip(axes, curves.items(), strict=False):
        axis.plot(time, values, linewidth=1.0, label=arm.model.joint_names)
        axis.set(xlabel="time [s]", ylabel=f"{name}, part of its limit")
        axis.margins(x=0)
        axis.grid(alpha=0.25)
    axes[0].legend(loc="upper right", fontsize="x-small", ncols=4)
    axes[3].bar(np.arange(1, len(found.singular) + 1), found.singular / found.singular[0])
    axes[3].set(
        xlabel=f"singular values of the base regressor, over the largest: condition {found.condition:.3g}",
        yscale="log",
    )
    return svg(figure)
