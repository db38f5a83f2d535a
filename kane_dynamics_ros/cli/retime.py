"""``kane_dynamics retime``: the fastest timing of a path within what the joints can do."""

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.cli import arguments as cli
from kane_dynamics_ros.cli.inspect import warning_lines
from kane_dynamics_ros.cli.progress import Progress
from kane_dynamics_ros.cli.trajectory import derived_model
from kane_dynamics_ros.control.approach import MOST_POINTS
from kane_dynamics_ros.control.joint_path import curves_of
from kane_dynamics_ros.control.retiming import (
    AT_LIMIT,
    QUANTITIES,
    Retimed,
    RetimingLimits,
    fastest,
    urdf_limits,
)
from kane_dynamics_ros.control.trajectory_file import read_trajectory, trajectory_text
from kane_dynamics_ros.control.validation import NANOSECOND
from kane_dynamics_ros.errors import KaneDynamicsError, unknown_joint
from kane_dynamics_ros.files import write_file
from kane_dynamics_ros.runtime import DynamicsModel, JointInfo, Payload, load_model
from kane_dynamics_ros.text import counted
from kane_dynamics_ros.yaml_text import load_yaml

RESIDUALS = 3.0  # times the held-out residual of identify, which effort limits keep as a margin


class LimitsError(KaneDynamicsError):
    """A file of limits or of identified parameters cannot be used; ``path``."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The path, the robot, and what bounds the motion."""
    add = parser.add_argument
    add("path", metavar="PATH", type=Path, help="a JointTrajectory in YAML or JSON; its times are ignored")
    add("--urdf", metavar="URDF", help="a URDF or xacro file")
    add("--model", metavar="MODULE", help="a generated NAME.py, or a shipped model's name, instead of --urdf")
    cli.add_chain_arguments(parser)
    add(
        "--payload",
        "--payload-mass",
        metavar="MASS[,X,Y,Z]",
        help="a point mass [kg] at a place in the tip frame [m]; LOW..HIGH for a mass that is not known: the "
        "limits hold for all between",
    )
    add(
        "--limits",
        metavar="FILE",
        type=Path,
        help="MoveIt's joint_limits.yaml, with max_jerk and max_effort too: replaces the URDF's limits",
    )
    add(
        "--scale",
        metavar="PART",
        type=cli.positive("--scale", "a part of the limits, at most 1", most=1.0),
        default=0.9,
        help="of every limit that is used; default: %(default)s",
    )
    add(
        "--identified",
        metavar="FILE",
        type=Path,
        help="identified.json of kane_dynamics identify: the effort limits keep a margin of "
        f"{RESIDUALS:g} times each joint's residual on held-out data",
    )
    add(
        "--tolerance",
        metavar="D",
        type=float,
        default=0.01,
        help="how far the rounding of a corner may be from its point, in each joint [rad or m]; 0 stops at "
        "corners; default: %(default)s. Where all points carry velocities, the path is the curve that the "
        "controller plays",
    )
    points = cli.whole("--points", 20, MOST_POINTS)
    add("--points", type=points, default=1000, help="at most, about; default: %(default)s")
    cli.add_output_argument(parser, "FILE", "retimed.yaml", "NAME.yaml or NAME.json")
    add("--plot", type=Path, metavar="FILE", help="a figure; default: the output's name with .png")


def run(arguments: argparse.Namespace) -> int:
    """Retime, write trajectory and figure, print which limit governs where."""
    if bool(arguments.urdf) == bool(arguments.model):
        raise cli.ArgumentError("give either --urdf or --model", "urdf")
    if not 0.0 <= arguments.tolerance < math.inf:
        raise cli.unusable("--tolerance", f"{arguments.tolerance:g}", "give a distance, 0 or more")
    given = read_trajectory(arguments.path)
    with Progress("deriving the equations") as progress:
        chain = cli.chain_of(arguments) if arguments.urdf else None
        model = derived_model(chain) if chain else load_model(arguments.model).with_urdf_friction()
        limits = _limits(arguments, model)
        payloads = _payloads(arguments.payload)
        models = [model.with_parameters(payload=payload) for payload in payloads]
        progress.doing("looking for the fastest timing")
        curves = curves_of(given, model.joints, arguments.tolerance)
        motion = fastest(curves, models, limits, arguments.points, progress.doing)
        middle = replace(payloads[0], mass=float(np.mean([payload.mass for payload in payloads])))
        request = motion.request(model.with_parameters(payload=middle))
        plot = arguments.plot or arguments.output.with_suffix(".png")
        write_file(arguments.output, trajectory_text(request, arguments.output.suffix.lower() == ".json"))
        write_figure(plot, motion, models, limits)
    before = given.points[-1].time_ns * NANOSECOND
    told = warning_lines(chain) if chain else []
    print("\n".join([*told, *lines(motion, model.joint_names, limits)]))
    print(
        f"\n{arguments.output}: {counted(len(request.points), 'point')}, {motion.duration:.3f} s "
        f"({before:.3f} s as given), {arguments.scale:g} of every limit; {plot} shows it"
    )
    if len(payloads) > 1:
        print(
            f"the limits hold for payloads of {payloads[0].mass:g} to {payloads[1].mass:g} kg; the efforts "
            f"in the file are those of {middle.mass:g} kg"
        )
    return 0


# Limits


def _limits(arguments: argparse.Namespace, model: DynamicsModel) -> RetimingLimits:
    """The URDF's limits or those of the file, this part of them, without the margin for the model's error."""
    limits = urdf_limits(model.joints)
    if arguments.limits is not None:
        limits = read_limits(arguments.limits, model.joints)
    limits = limits.scaled(arguments.scale)
    if arguments.identified is None:
        return limits
    margin = RESIDUALS * read_residuals(arguments.identified, model.joint_names)
    for name, largest, kept in zip(model.joint_names, limits.effort, margin, strict=True):
        if kept >= largest:
            raise LimitsError(
                f"{arguments.identified}: joint {name!r}: {RESIDUALS:g} times its residual, {kept:.4g}, "
                f"leave nothing of the effort limit {largest:.4g}; identify it better, or do without "
                "--identified",
                path=arguments.identified,
            )
    return replace(limits, effort=limits.effort - margin)


def read_limits(path: Path, joints: Sequence[JointInfo]) -> RetimingLimits:
    """The limits of MoveIt's ``joint_limits.yaml``; the URDF's where it says nothing.

    ``has_velocity_limits`` and ``max_velocity``, likewise ``acceleration``, ``jerk`` and ``effort``; where
    the first is false, there is no limit. Raises ``LimitsError``, and ``UnknownJointError``.
    """
    try:
        content = load_yaml(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise LimitsError(f"{path}: not YAML: {' '.join(str(error).split())}", path=path) from None
    given = content.get("joint_limits") if isinstance(content, dict) else None
    if not isinstance(given, dict) or not all(isinstance(each, dict) for each in given.values()):
        raise LimitsError(f"{path}: found no mapping joint_limits from joints to limits", path=path)
    names = [joint.name for joint in joints]
    for name in given:
        if name not in names:
            raise unknown_joint(str(name), names)
    limits = {}
    for quantity in QUANTITIES:
        defaults = zip(names, getattr(urdf_limits(joints), quantity).tolist(), strict=True)
        found = [_limit(path, name, given.get(name, {}), quantity, default) for name, default in defaults]
        limits[quantity] = np.array(found)
    return RetimingLimits(**limits)


def _limit(path: Path, joint: str, given: dict[str, Any], quantity: str, default: float) -> float:
    if given.get(f"has_{quantity}_limits") is False:
        return math.inf
    name = f"max_{quantity}"
    value = given.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0.0:
        raise LimitsError(
            f"{path}: joint {joint!r}: {name}: found {value!r}; allowed: a number above 0",
            path=path,
        )
    return float(value)


def read_residuals(path: Path, names: Sequence[str]) -> Array:
    """Each joint's RMS residual (n,) [N m or N] on held-out data, from ``identified.json``."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        joints = data["residual"]["held_out"]["joints"]
        found = {joint["name"]: float(joint["identified_rms"]) for joint in joints}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise LimitsError(f"{path}: not an identified.json of kane_dynamics identify", path=path) from None
    if data.get("coupling"):
        raise LimitsError(
            f"{path}: drives of this arm turn with two joints; retime knows only joints with drives of "
            "their own, and would exceed those drives' limits",
            path=path,
        )
    if missing := [name for name in names if name not in found]:
        raise LimitsError(f"{path}: it has no residual of joint {missing[0]!r}", path=path)
    return np.array([found[name] for name in names])


def _payloads(text: str | None) -> list[Payload]:
    """``--payload``: none, one, or the ends of a range. Raises ``ArgumentError``."""
    if text is None:
        return [Payload()]
    mass, _, place = text.partition(",")
    com = tuple(cli.numbers_of("--payload", place, ("x", "y", "z")))
    ends = [cli.number_in(end) for end in mass.split("..")]
    if len(ends) > 2 or ends != sorted(ends) or not all(end >= 0.0 for end in ends):
        needed = "allowed is a mass of 0 kg or more, or LOW..HIGH, and a place in m: 1.0..2.5,0,0,0.1"
        raise cli.unusable("--payload", text, needed)
    return [Payload(end, com=(com[0], com[1], com[2])) for end in ends]


# What governs the motion


def lines(motion: Retimed, names: Sequence[str], limits: RetimingLimits) -> list[str]:
    """What the motion uses of each limit, and which governs when."""
    width = max(map(len, (*names, "joint")))
    shown = [k for k, quantity in enumerate(QUANTITIES) if np.isfinite(getattr(limits, quantity)).any()]
    rows = [
        f"{'joint':{width}}"
        + "".join(f"{QUANTITIES[k]:>14}" for k in shown)
        + "   (largest part of the limit)"
    ]
    largest = motion.use.max(axis=0)
    for j, name in enumerate(names):
        cells = (f"{100 * largest[k, j]:12.1f} %" if largest[k, j] else f"{'-':>14}" for k in shown)
        rows.append(f"{name:{width}}{''.join(cells)}")
    rows.append("")
    rows += [f"{begin:8.3f} to {end:7.3f} s: {what}" for begin, end, what in governing(motion, names)]
    if motion.window:
        rows.append(
            f"jerk is limited by smoothing: the mean over {motion.window:.3f} s of the fastest motion"
        )
    return rows


def governing(motion: Retimed, names: Sequence[str]) -> Iterator[tuple[float, float, str]]:
    """Begin and end [s] of each stretch, and the limit that governs it."""
    flat = motion.use.reshape(len(motion.use), -1)
    which = np.where(flat.max(axis=1) >= AT_LIMIT, flat.argmax(axis=1), -1)
    times = motion.times_ns * NANOSECOND
    starts = [0, *(np.flatnonzero(np.diff(which)) + 1).tolist()]
    for start, end in zip(starts, [*starts[1:], len(which)], strict=True):
        quantity, j = divmod(int(which[start]), len(names))
        what = "no limit alone" if which[start] < 0 else f"{QUANTITIES[quantity]} of {names[j]}"
        yield float(times[start]), float(times[end]), what


def write_figure(
    path: Path, motion: Retimed, models: Sequence[DynamicsModel], limits: RetimingLimits
) -> None:
    """Velocity and effort of each joint over time, with their limits; bands where one governs."""
    from matplotlib.figure import Figure

    names = models[0].joint_names
    times = motion.times_ns * NANOSECOND
    figure = Figure(figsize=(11.0, 1.9 * len(names) + 0.8), layout="constrained")
    axes = figure.subplots(len(names), 2, sharex=True, squeeze=False)
    efforts = [np.array([point.effort for point in motion.request(model).points]) for model in models]
    for j, (name, (left, right)) in enumerate(zip(names, axes, strict=True)):
        left.plot(times, motion.qd[:, j], color="C0")
        for k, each in enumerate(efforts):
            right.plot(times, each[:, j], color=f"C{k + 1}")
        for axis, quantity in ((left, "velocity"), (right, "effort")):
            limit = getattr(limits, quantity)[j]
            if np.isfinite(limit):
                for sign in (-1.0, 1.0):
                    axis.axhline(sign * limit, color="0.4", linewidth=0.8, linestyle="--")
            at_limit = motion.use[:, QUANTITIES.index(quantity), j] >= AT_LIMIT
            shown = {"step": "post", "color": "C3", "alpha": 0.2, "linewidth": 0}
            across = axis.get_xaxis_transform()
            axis.fill_between(times, 0, 1, np.append(at_limit, False), transform=across, **shown)
        left.set_ylabel(name)
        joint = models[0].joints[j]
        left.set_title(f"velocity [{joint.unit}/s]", fontsize=9)
        right.set_title(f"effort [{joint.effort_unit}]", fontsize=9)
    for axis in axes[-1]:
        axis.set_xlabel("time [s]; shaded: at the limit")
    figure.savefig(path, dpi=110)
