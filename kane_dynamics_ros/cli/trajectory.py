"""``kane_dynamics trajectory``: a smooth motion within all limits, to drive, record and test with."""

import argparse
import math
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.cli.arguments import add_chain_arguments, chain_of, view_command
from kane_dynamics_ros.cli.progress import Progress
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.control.approach import POINT_SPACING, approach_time, request_after
from kane_dynamics_ros.control.limits import effort_limits, position_limits
from kane_dynamics_ros.control.trajectory_file import trajectory_text
from kane_dynamics_ros.control.validation import TrajectoryRequest
from kane_dynamics_ros.description import Chain
from kane_dynamics_ros.errors import KaneDynamicsError, unknown_joint
from kane_dynamics_ros.files import write_file
from kane_dynamics_ros.formulation.dual import sine_cosine
from kane_dynamics_ros.formulation.kane.kinematics import body_poses, placed_in_root, placements_at
from kane_dynamics_ros.formulation.kane.segments import segments_of
from kane_dynamics_ros.runtime import DynamicsModel, JointInfo, Vector, initial_positions, load_model
from kane_dynamics_ros.text import counted

PART = 0.8  # of a limit that is used
WIDEST = 0.6  # [rad or m] to each side
UNKNOWN_SPEED = 1.0  # [rad/s or m/s] where the URDF gives no velocity limit
SWINGS = (1, 2, 3)  # in one duration, joint after joint
SHRINK = 0.8
LEAST = 1e-3  # of the first amplitude that is worth a motion
ROUNDING = 1e-9  # [m]


class MotionError(KaneDynamicsError):
    """There is no motion as asked for. Codes: ``too_heavy`` (``joint``), ``floor``, ``duration``."""


def _too_heavy(joint: str, effort: float, limit: float) -> MotionError:
    return MotionError(
        f"joint {joint!r}: holding the start alone takes {effort:.3g} of the {limit:.3g} that it has; "
        "correct the effort limit, or give another start (initial_value of the position's state "
        "interface in <ros2_control>)",
        "too_heavy",
        joint=joint,
    )


class SampledMotion(NamedTuple):
    """Positions, velocities and accelerations, each (N, n), at times (N,) [s] from rest to rest."""

    times: Array
    q: Array
    qd: Array
    qdd: Array


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The URDF, and what may be left to choose."""
    parser.add_argument("urdf", metavar="URDF", help="a URDF or xacro file")
    add_chain_arguments(parser)
    parser.add_argument("--joints", nargs="+", metavar="JOINT", help="joints that move; default: all")
    parser.add_argument(
        "--duration", type=float, default=8.0, metavar="S", help="of the motion [s]; default: %(default)s"
    )
    parser.add_argument(
        "--floor",
        metavar="M",
        help="height in the root link that no joint and no tip goes below [m], or none; default: the root "
        "link's origin, or the lowest that the arm is at its start",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("trajectory.yaml"),
        metavar="FILE",
        help="NAME.yaml or NAME.json; default: %(default)s",
    )


def run(arguments: argparse.Namespace) -> int:
    """Choose amplitudes, write the points, print what of each limit is used."""
    duration: float = arguments.duration
    if not 4 * POINT_SPACING <= duration < math.inf:
        raise MotionError(
            f"--duration {duration:g}: give seconds, at least {4 * POINT_SPACING:g}",
            "duration",
            found=duration,
        )
    chain = chain_of(arguments)
    with tempfile.TemporaryDirectory(prefix="kane_dynamics_trajectory_") as folder, Progress() as progress:
        progress.doing("deriving the equations")
        module, *_ = write_module(derive(chain), "trajectory", Path(folder))
        model = load_model(module, backend="python").with_urdf_friction()  # not worth compiling
        progress.doing("choosing amplitudes")
        up = -np.array(model.parameters.gravity)
        floor = read_floor(arguments.floor)
        height = partial(lowest, chain, up=up / (np.linalg.norm(up) or 1.0))
        motion = smooth_motion(model, chosen(model, arguments.joints), duration, height, floor)
        request = trajectory(model, motion)
        write_file(arguments.output, trajectory_text(request, arguments.output.suffix.lower() == ".json"))
        limits = table(model, motion)
    print(limits)
    lead = 1e-9 * request.points[0].time_ns
    print(
        f"\n{arguments.output}: {counted(len(request.points), 'point')}, {lead + duration:.1f} s, of which "
        f"{lead:.1f} s lead to the start"
    )
    print(f"see it: {view_command(arguments)}")
    print(f"send it to the running controller: kane_dynamics send {arguments.output}")
    return 0


def read_floor(text: str | None) -> float | None:
    """``--floor``: a height [m]; None where nothing is said, minus infinity where there is none."""
    if text is None or text == "none":
        return None if text is None else -math.inf
    try:
        height = float(text)
    except ValueError:
        height = math.nan
    if not math.isfinite(height):
        raise MotionError(f"--floor {text!r}: give a height in m, or none", "floor", found=text)
    return height


def lowest(chain: Chain, q: Array, up: Array) -> Array:
    """How high the lowest of all joints and the tip is along ``up`` (3,) in the root frame, (N,) [m]."""
    found = []
    for row in q.tolist():
        poses = body_poses(placements_at(segments_of(chain), row, sine_cosine))
        tip = placed_in_root(poses[chain.tip_body], chain.R_BT, chain.p_BoTo_B)
        found.append([cast(Vector, pose.p_RoBo_R) for pose in (*poses, tip)])
    return np.asarray((np.array(found) @ up).min(axis=1))


def chosen(model: DynamicsModel, names: Sequence[str] | None) -> list[bool]:
    """Which joints move. Raises ``UnknownJointError``."""
    for name in names or ():
        if name not in model.joint_names:
            raise unknown_joint(name, model.joint_names)
    return [names is None or name in names for name in model.joint_names]


def smooth_motion(
    model: DynamicsModel,
    moving: Sequence[bool],
    duration: float,
    height: Callable[[Array], Array] | None = None,
    floor: float | None = None,
) -> SampledMotion:
    """A motion of the chosen joints from rest to rest, which uses at most ``PART`` of every limit.

    Of effort limits it uses ``PART`` of what holding the start leaves.

    With T the duration, joint i swings n times about its start, or to one side of it where the start is at
    a limit, under a window whose velocity and acceleration are 0 at both ends:

        A sin^2(pi t / T) sin(2 pi n t / T)    or    A sin^2(pi t / T) (1 - cos(2 pi n t / T)) / 2

    ``height`` gives the lowest point of the arm (N,) [m] at positions (N, n); it stays above ``floor``, by
    default 0 or where it is at the start. Raises ``MotionError`` where not even standing still keeps the
    effort limits, or the floor.
    """
    times = np.linspace(0.0, duration, round(duration / POINT_SPACING) + 1)
    lower, upper = position_limits(model.joints)
    start = np.clip(initial_positions(model.joints), lower, upper)
    shapes = [
        _shape(joint, start[i] - lower[i], upper[i] - start[i], i, times, duration)
        for i, joint in enumerate(model.joints)
    ]
    unit = np.array(
        [shape if moves else np.zeros_like(shape) for shape, moves in zip(shapes, moving, strict=True)]
    )
    q, qd, qdd = np.moveaxis(unit, 0, -1)  # (3, N, n), in full amplitude
    limits = np.array(effort_limits(model.joints))
    holding = np.abs(model.gravity(start))
    if (holding >= limits).any():
        worst = int(np.argmax(holding / limits))
        raise _too_heavy(model.joint_names[worst], holding[worst], limits[worst])
    allowed = holding + PART * (limits - holding)
    standing = math.inf if height is None else float(height(start[None])[0])
    if floor is None:
        floor = min(0.0, standing)
    if standing < floor:
        raise MotionError(
            f"the arm starts {floor - standing:.3f} m below the floor; give another --floor, or none", "floor"
        )
    scale = 1.0
    while True:
        motion = SampledMotion(times, start + scale * q, scale * qd, scale * qdd)
        use = np.abs(model.inverse_dynamics(*motion[1:])).max(axis=0) / allowed
        above = height is None or height(motion.q).min() >= floor - ROUNDING
        if use.max() <= 1.0 and above:
            return motion
        scale *= SHRINK
        if scale < LEAST and not above:
            raise MotionError("every motion goes below the floor; give another --floor, or none", "floor")
        if scale < LEAST:
            worst = int(np.argmax(use))
            raise _too_heavy(model.joint_names[worst], use[worst] * allowed[worst], limits[worst])


def _speed(joint: JointInfo) -> float:
    """Its velocity limit, or what is assumed without one [rad/s or m/s]."""
    return joint.velocity or UNKNOWN_SPEED


def _shape(joint: JointInfo, below: float, above: float, index: int, times: Array, duration: float) -> Array:
    """Displacement of a joint and its first two derivatives (3, N), within position and velocity limits.

    ``below`` and ``above`` [rad or m]: from the start to the limits.
    """
    below, above = min(below, WIDEST / PART), min(above, WIDEST / PART)
    n = SWINGS[index % len(SWINGS)]
    one_sided = min(below, above) < 0.25 * max(below, above)
    # Fourier series of the two shapes: (weight, cycles in the duration, phase)
    if one_sided:
        terms = [(0.25, 0, 0.5), (-0.25, 1, 0.5), (-0.25, n, 0.5), (0.125, n + 1, 0.5), (0.125, n - 1, 0.5)]
        amplitude = PART * (above if above > below else -below)
    else:
        terms = [(0.5, n, 0.0), (-0.25, n + 1, 0.0), (-0.25, n - 1, 0.0)]
        amplitude = PART * min(below, above)
    rows = [
        sum(
            weight * omega**order * np.sin(omega * times + (phase + order / 2) * np.pi)
            for weight, cycles, phase in terms
            if (omega := 2.0 * np.pi * cycles / duration) or not order
        )
        for order in range(3)
    ]
    unit = np.array(rows)
    fastest = PART * _speed(joint)
    speed = abs(amplitude) * np.abs(unit[1]).max()
    return amplitude * min(1.0, fastest / speed if speed else 1.0) * unit


def trajectory(model: DynamicsModel, motion: SampledMotion) -> TrajectoryRequest:
    """The points, after the approach to the first one."""
    speeds = np.array([_speed(joint) for joint in model.joints])
    approach = approach_time(model.joints, motion.q[0], speeds)
    states = [values.round(9) for values in motion[1:]]
    return request_after(approach, model.joint_names, motion.times, states)


def table(model: DynamicsModel, motion: SampledMotion) -> str:
    """What the motion uses of each joint's limits."""
    tau = np.asarray(model.inverse_dynamics(*motion[1:]))
    width = max(map(len, (*model.joint_names, "joint")))
    lines = [
        f"{'joint':{width}}{'from':>9}{'to':>9}{'speed':>9}{'limit':>9}{'effort':>10}{'limit':>9}  units"
    ]
    for i, joint in enumerate(model.joints):
        revolute = joint.kind != "prismatic"
        units = "rad, rad/s, N m" if revolute else "m, m/s, N"
        values = (motion.q[:, i].min(), motion.q[:, i].max(), np.abs(motion.qd[:, i]).max())
        cells = "".join(f"{value + 0.0:9.3f}" for value in values)
        speed = f"{joint.velocity:9.3g}" if joint.velocity else f"{'none':>9}"
        effort = f"{joint.effort:9.3g}" if joint.effort else f"{'none':>9}"
        largest = np.abs(tau[:, i]).max()
        lines.append(f"{joint.name:{width}}{cells}{speed}{largest:10.3f}{effort}  {units}")
    return "\n".join(lines)
