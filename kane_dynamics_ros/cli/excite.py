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
from kane_dynamics_ros.cli.generate import warning_lines
from kane_dynamics_ros.cli.identify import nominal_model, urdf_bytes, vector
from kane_dynamics_ros.cli.progress import Progress
from kane_dynamics_ros.control.approach import POINT_SPACING, approach_time, request_after
from kane_dynamics_ros.control.trajectory_file import trajectory_text
from kane_dynamics_ros.control.validation import TrajectoryRequest
from kane_dynamics_ros.description import Chain, Joint, Robot, serial_chain
from kane_dynamics_ros.files import write_file
from kane_dynamics_ros.identification import excitation
from kane_dynamics_ros.identification.excitation import Excitation, GuardedPoints, TrajectoryLimits, excite
from kane_dynamics_ros.identification.link_boxes import link_boxes
from kane_dynamics_ros.pages import svg
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.runtime.parameters import find_base_parameters

FINGER = 2  # moving joints that a finger has at most
NOT_GOOD = 1  # exit code


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The URDF, and what may be left to choose."""
    add = parser.add_argument
    add("urdf", metavar="URDF", help="a URDF or xacro file")
    cli.add_chain_arguments(parser, tip="the one most joints lead to, without a gripper")
    add(
        "-o",
        "--output",
        type=Path,
        default=Path("trajectory.yaml"),
        metavar="FILE",
        help="default: %(default)s",
    )
    add("--period", default="20", metavar="S", help="length of the motion [s]; default: %(default)s")
    add("--harmonics", type=int, default=6, metavar="N", help="per joint; default: %(default)s")
    add("--repeat", type=int, default=1, metavar="N", help="periods one after another; default: %(default)s")
    add("--part", default="0.9", metavar="X", help="fraction of every limit to use; default: %(default)s")
    add(
        "--range",
        default=f"{excitation.UNLIMITED_RANGE:g}",
        metavar="X",
        help="widest motion to each side of a joint's middle [rad or m]; default: %(default)s",
    )
    add("--acceleration", metavar="X", help="limit of every joint; default: the velocity limit within 0.25 s")
    add_floor_arguments(parser)
    add("--gravity", metavar="X,Y,Z", help="free fall in the root link [m/s^2]; default: 0,0,-9.81")
    add(
        "--seed",
        type=int,
        default=0,
        help="another seed gives another trajectory, for validation; default: %(default)s",
    )


def add_floor_arguments(parser: argparse.ArgumentParser) -> None:
    """``--floor`` and ``--clearance``: see ``floor_points``."""
    add = parser.add_argument
    add(
        "--floor",
        metavar="Z",
        help="height of the floor in the root link [m], or none; default: where that link stands",
    )
    add(
        "--clearance",
        default="0.05",
        metavar="M",
        help="least height over the floor of everything that moves [m]; default: %(default)s",
    )


def run(arguments: argparse.Namespace) -> int:
    """Search, write trajectory and figure, print what it is worth."""
    began = time.perf_counter()
    robot = cli.robot_of(arguments)
    chain = cli.chain_of(arguments, robot)
    notes: list[str] = []
    if arguments.tip is None:
        chain, notes = without_gripper(robot, chain)
    part = cli.positive_number("--part", arguments.part, "a part of the limits")
    if part > 1.0:
        message = f"--part {arguments.part!r}: give the part of all limits to use, above 0 and at most 1"
        raise cli.ArgumentError(message, "part", found=arguments.part)
    acceleration = cli.optional_number("--acceleration", arguments.acceleration, "rad/s^2 or m/s^2")
    widest = cli.positive_number("--range", arguments.range, "rad or m")
    with tempfile.TemporaryDirectory(prefix="kane_dynamics_excite_") as folder, Progress() as progress:
        progress.doing("deriving the equations")
        model = nominal_model(chain, arguments.gravity, Path(folder))
        limits = excitation.limits_of(model, widest, acceleration, part)
        found = excite(
            model,
            chain,
            find_base_parameters(model.regressor, len(model.joint_names)),
            limits,
            floor_points(arguments, chain),
            cli.positive_number("--period", arguments.period, "s"),
            max(2, arguments.harmonics),
            seed=arguments.seed,
            progress=progress.doing,
        )
        request = trajectory(model, limits, found, max(1, arguments.repeat))
        figure = arguments.output.with_suffix(".svg")
        write_file(arguments.output, trajectory_text(request, arguments.output.suffix.lower() == ".json"))
        write_file(figure, excitation_figure(model, limits, found))
    print("".join(f"{line}\n" for line in warning_lines(chain)), end="")
    print("\n".join([*notes, *lines(chain, found, request)]))
    print(f"found in {time.perf_counter() - began:.1f} s; written: {arguments.output}, {figure}")
    if found.condition > excitation.GOOD:
        print(
            f"not good: the condition is above {excitation.GOOD:g} after {excitation.RESTARTS} attempts. "
            "Give the arm more room (--floor, --clearance, --range) or time (--period), or another --seed"
        )
    print(f"see it: {cli.view_command(arguments, chain.tip if notes else None)}")
    return NOT_GOOD if found.condition > excitation.GOOD else 0


def without_gripper(robot: Robot, chain: Chain) -> tuple[Chain, list[str]]:
    """The chain up to a gripper at its end, which no arm's controller moves along, and a note on that.

    A gripper is where several joints leave one rigid body, each with at most ``FINGER`` moving joints.
    """
    below: dict[str, list[Joint]] = {}
    above = {joint.child: joint for joint in robot.joints}
    for joint in robot.joints:
        below.setdefault(joint.parent, []).append(joint)

    def moving(joint: Joint) -> int:
        return (joint.kind != "fixed") + sum(moving(each) for each in below.get(joint.child, ()))

    def leaving(link: str) -> list[Joint]:
        found = []
        for joint in below.get(link, ()):
            found += leaving(joint.child) if joint.kind == "fixed" else [joint]
        return found

    joints = {joint.name: joint for joint in robot.joints}
    for name in chain.coordinates[1:]:
        link = joints[name].parent
        while link in above and above[link].kind == "fixed":
            link = above[link].parent
        fingers = leaving(link)
        if len(fingers) > 1 and all(moving(finger) <= FINGER for finger in fingers):
            tip = joints[name].parent
            named = ", ".join(finger.name for finger in fingers)
            note = f"tip {tip!r} was chosen: {named} are a gripper; --tip chooses another"
            return serial_chain(robot, tip, lock=dict(chain.locked), root=chain.root), [note]
    return chain, []


def floor_points(arguments: argparse.Namespace, chain: Chain) -> GuardedPoints | None:
    """What stays above the floor; None where there is none."""
    if arguments.floor == "none":
        return None
    clearance = number("--clearance", arguments.clearance)
    given = getattr(arguments, "gravity", None)
    gravity = np.array(chain.gravity if given is None else vector("--gravity", given))
    up = -gravity / np.linalg.norm(gravity) if gravity.any() else np.array([0.0, 0.0, 1.0])
    boxes = link_boxes(urdf_bytes(arguments), Path(arguments.urdf).parent)
    floor = (
        standing_height(boxes.get(chain.root), up)
        if arguments.floor is None
        else number("--floor", arguments.floor)
    )
    return excitation.body_points(chain, boxes, clearance, floor, up)


def standing_height(box: Array | None, up: Array) -> float:
    """The lowest corner of the root link's box, 0 where that is higher or where it has none [m]."""
    if box is None:
        return 0.0
    x, y, z = box.T
    return min(0.0, min(float(np.array([a, b, c]) @ up) for a in x for b in y for c in z))


def number(option: str, text: str) -> float:
    """A finite number of an option. Raises ``ArgumentError``."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        message = f"{option} {text!r}: give a height in m, or --floor none"
        raise cli.ArgumentError(message, option.removeprefix("--"), found=text)
    return value


def trajectory(
    model: DynamicsModel, limits: TrajectoryLimits, found: Excitation, repeat: int
) -> TrajectoryRequest:
    """Points of the series, after the approach to its first one."""
    period = found.series.period
    steps = round(period / POINT_SPACING)
    times: Array = np.arange(repeat * steps + 1, dtype=np.float64) * (period / steps)
    states = found.series.at(times)
    approach = approach_time(model.joints, states[0][0], limits.velocity)
    return request_after(approach, model.joint_names, times, states)


def lines(chain: Chain, found: Excitation, request: TrajectoryRequest) -> Sequence[str]:
    """What the trajectory is worth."""
    lead, last = (1e-9 * request.points[i].time_ns for i in (0, -1))
    used = ", ".join(f"{name} {100 * part:.0f} %" for name, part in found.used.items())
    floor = (
        ""
        if found.lowest is None
        else f"; at least {1e3 * found.lowest:.0f} mm more over the floor than asked for"
    )
    return [
        f"joints (root to tip): {', '.join(chain.coordinates)}",
        f"condition of the base regressor, columns of unit length: {found.condition:.3g} "
        f"({len(found.singular)} base parameters; a random motion: {found.start_condition:.3g})",
        f"largest use of the limits: {used}{floor}",
        f"{len(request.points)} points, {last:.1f} s, of which {lead:.1f} s lead to the start",
    ]


def excitation_figure(model: DynamicsModel, limits: TrajectoryLimits, found: Excitation) -> str:
    """Positions, velocities and efforts over one period in parts of their limits, and the singular values."""
    figure = Figure(figsize=(10, 10))
    figure.subplots_adjust(left=0.08, right=0.995, bottom=0.05, top=0.98, hspace=0.35)
    axes = figure.subplots(4, 1)
    time: Array = np.arange(401, dtype=np.float64) * (found.series.period / 400)
    q, qd, qdd = found.series.at(time)
    middle, half = (limits.upper + limits.lower) / 2, (limits.upper - limits.lower) / 2
    effort = np.where(np.isfinite(limits.effort), limits.effort, 1.0)
    curves: list[tuple[str, Array]] = [
        ("position", (q - middle) / half),
        ("velocity", qd / limits.velocity),
        ("effort", model.inverse_dynamics(q, qd, qdd) / effort),
    ]
    for axis, (name, values) in zip(axes, curves, strict=False):
        axis.plot(time, values, linewidth=1.0, label=model.joint_names)
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
