"""``kane_dynamics trajectory``: a smooth motion within all limits, to drive, record and test with."""

import argparse
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.cli import arguments as cli
from kane_dynamics_ros.cli.progress import Progress
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.control.approach import POINT_SPACING, approach_time, request_after
from kane_dynamics_ros.control.limits import effort_limits, position_limits
from kane_dynamics_ros.control.trajectory_file import trajectory_text
from kane_dynamics_ros.control.validation import SECOND_NS
from kane_dynamics_ros.description import Chain
from kane_dynamics_ros.errors import KaneDynamicsError, unknown_joint
from kane_dynamics_ros.files import write_file
from kane_dynamics_ros.formulation.dual import sine_cosine
from kane_dynamics_ros.formulation.kane.kinematics import body_poses, placed_in_root, placements_at
from kane_dynamics_ros.formulation.kane.segments import segments_of
from kane_dynamics_ros.runtime import DynamicsModel, Vector, initial_positions, load_model
from kane_dynamics_ros.text import aligned, counted

PART = 0.8  # of a limit that is used
WIDEST = 0.6  # [rad or m] to each side
UNKNOWN_SPEED = 1.0  # [rad/s or m/s] where the URDF gives no velocity limit
SWINGS = (1, 2, 3)  # in one duration, joint after joint
SHRINK = 0.8
LEAST = 1e-3  # of the first amplitude that is worth a motion
LEAST_DURATION = 4 * POINT_SPACING
PROBE = 0.05  # [rad or m] from the start, to see whether a joint lowers the arm on that side
ROUNDING = 1e-9  # [m]


class MotionError(KaneDynamicsError):
    """There is no motion as asked for. Codes: ``too_heavy`` (``joint``), ``floor``."""


class SampledMotion(NamedTuple):
    """Positions, velocities and accelerations, each (N, n), at times (N,) [s] from rest to rest."""

    times: Array
    q: Array
    qd: Array
    qdd: Array


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The URDF, and what may be left to choose."""
    parser.add_argument("urdf", metavar="URDF", help="a URDF or xacro file")
    cli.add_chain_arguments(parser)
    parser.add_argument("--joints", nargs="+", metavar="JOINT", help="joints that move; default: all")
    parser.add_argument(
        "--duration",
        type=cli.positive("--duration", f"seconds, at least {LEAST_DURATION:g}", LEAST_DURATION),
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
    with Progress() as progress:
        progress.doing("reading the URDF")
        robot = cli.robot_of(arguments)
        chain = cli.chain_of(arguments, robot)
        progress.doing("deriving the equations")
        model = derived_model(chain).with_urdf_friction()
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
    print("\n".join([*cli.gripper_lines(arguments, robot, chain), *table(model, motion)]))
    seconds = lead + motion.times[-1]
    print(
        f"\n{arguments.output}: {counted(len(request.points), 'point')}, {seconds:.1f} s, of which "
        f"{lead:.1f} s lead to the start"
    )
    print(f"see it: {cli.view_command(arguments)}")
    print(f"send it to the running controller: kane_dynamics send {arguments.output}")
    return 0


def derived_model(chain: Chain) -> DynamicsModel:
    """The chain's equations, derived here and now and evaluated in pure Python: sooner than any compiler."""
    with tempfile.TemporaryDirectory(prefix="kane_dynamics_model_") as folder:
        module, *_ = write_module(derive(chain), "derived", Path(folder))
        return load_model(module, backend="python")


def fastest_motion(model: DynamicsModel, motion: SampledMotion) -> SampledMotion:
    """The path of a motion in the least time; see ``control.retiming``. Raises ``TrajectoryError``."""
    from kane_dynamics_ros.control import joint_path, retiming  # only this needs toppra

    limits = replace(
        retiming.urdf_limits(model.joints),
        velocity=PART * speeds(model),
        effort=allowed_efforts(model, motion.q[0]),
    )
    path = request_after(0.0, model.joint_names, motion.times, motion[1:])
    fast = retiming.fastest(joint_path.curves_of(path, model.joints, tolerance=0.0), [model], limits)
    return SampledMotion(fast.times_ns / SECOND_NS, fast.q, fast.qd, fast.accelerations)


def lowest(chain: Chain, q: Array, up: Array) -> Array:
    """How high the lowest of all joints and the tip is along ``up`` (3,) in the root frame, (N,) [m]."""
    found = []
    for row in q.tolist():
        poses = body_poses(placements_at(segments_of(chain), row, sine_cosine))
        tip = placed_in_root(poses[chain.tip_body], chain.R_BT, chain.p_BoTo_B)
        found.append([cast(Vector, pose.p_RoBo_R) for pose in (*poses, tip)])
    return np.asarray((np.array(found) @ up).min(axis=1))


def speeds(model: DynamicsModel) -> Array:
    """The velocity limits (n,), or what is assumed without one [rad/s or m/s]."""
    return np.array([joint.velocity or UNKNOWN_SPEED for joint in model.joints])


def smooth_motion(
    model: DynamicsModel,
    moving: Sequence[bool],
    duration: float,
    height: Callable[[Array], Array],
    floor: float | None,
) -> SampledMotion:
    """A motion of the joints that are ``moving``, from rest to rest, with ``PART`` of every limit at most.

    Of effort limits it uses ``PART`` of what holding the start leaves. A joint that moves and for which the
    URDF has no start begins within ``PART`` of its range.

    ``height`` gives the lowest point of the arm (N,) [m] at positions (N, n); it stays above ``floor``, by
    default 0 or where it is at the start. Raises ``MotionError`` where not even standing still keeps the
    effort limits, or the floor.
    """
    times = np.linspace(0.0, duration, round(duration / POINT_SPACING) + 1)
    lower, upper = position_limits(model.joints)
    start = np.clip(initial_positions(model.joints), lower, upper)
    margin = np.nan_to_num((1.0 - PART) / 2.0 * (upper - lower), posinf=0.0)
    lower, upper = lower + margin, upper - margin
    free = [move and joint.initial_position is None for move, joint in zip(moving, model.joints, strict=True)]
    start = np.where(free, np.clip(start, lower, upper), start)
    standing = float(height(start[None])[0])
    if floor is None:
        floor = min(0.0, standing)
    if standing < floor:
        message = f"the arm starts {floor - standing:.3f} m below the floor; give another --floor, or none"
        raise MotionError(message, "floor")
    sides = PROBE * np.eye(len(start))
    free_below, free_above = (height(start + side) >= floor - ROUNDING for side in (-sides, sides))
    below = np.where(free_below, np.maximum(start - lower, 0.0), 0.0)
    above = np.where(free_above, np.maximum(upper - start, 0.0), 0.0)
    fastest = PART * speeds(model)
    unit = np.zeros((len(moving), 3, len(times)))
    for i in np.flatnonzero(moving):
        unit[i] = swing(below[i], above[i], fastest[i], SWINGS[i % len(SWINGS)], times)
    q, qd, qdd = np.moveaxis(unit, 0, -1)  # (3, N, n), in full amplitude
    allowed = allowed_efforts(model, start)
    scale = 1.0
    while scale >= LEAST:
        motion = SampledMotion(times, start + scale * q, scale * qd, scale * qdd)
        efforts = np.abs(model.inverse_dynamics(*motion[1:])).max(axis=0)
        above = height(motion.q).min() >= floor - ROUNDING
        if (efforts <= allowed).all() and above:
            return motion
        scale *= SHRINK
    if not above:
        raise MotionError("every motion goes below the floor; give another --floor, or none", "floor")
    worst = int(np.argmax(efforts / allowed))
    raise MotionError(
        f"joint {model.joint_names[worst]!r}: holding the start alone takes {efforts[worst]:.3g} of the "
        f"{model.joints[worst].effort:.3g} that it has; correct the effort limit, or give another start "
        "(initial_value of the position's state interface in <ros2_control>)",
        "too_heavy",
        joint=model.joint_names[worst],
    )


def allowed_efforts(model: DynamicsModel, start: Array) -> Array:
    """What holding the start takes, and ``PART`` of what that leaves of the limits (n,) [N m or N]."""
    holding = np.abs(model.gravity(start))
    return np.asarray(holding + PART * (effort_limits(model.joints) - holding))


def swing(below: float, above: float, fastest: float, n: int, times: Array) -> Array:
    """Displacement of a joint and its first two derivatives (3, N), as wide as its limits allow.

    ``below`` and ``above`` [rad or m]: the room on both sides, 0 on a side that goes below the floor;
    ``fastest`` [rad/s or m/s]. To both sides, or to one where the other has little room.
    """
    below, above = min(below, WIDEST), min(above, WIDEST)
    one_sided = min(below, above) < 0.25 * max(below, above)
    amplitude = (above if above > below else -below) if one_sided else min(below, above)
    unit = windowed(n, times, times[-1], one_sided)
    speed = abs(amplitude) * np.abs(unit[1]).max()
    return amplitude * min(1.0, fastest / speed if speed else 1.0) * unit


def windowed(n: int, times: Array, duration: float, one_sided: bool = False) -> Array:
    """n swings of size 1 under a window, and their first two derivatives: (3, N) at times (N,) [s].

    With T the duration, to both sides or to one:

        sin^2(pi t / T) sin(2 pi n t / T)    or    sin^2(pi t / T) (1 - cos(2 pi n t / T)) / 2

    Velocity and acceleration are 0 at t = 0 and t = T, of the Fourier series of these products.
    """
    # the series: (weight, cycles in the duration, phase over pi)
    terms = [(0.5, n, 0.0), (-0.25, n + 1, 0.0), (-0.25, n - 1, 0.0)]
    if one_sided:
        terms = [(0.25, 0, 0.5), (-0.25, 1, 0.5), (-0.25, n, 0.5), (0.125, n + 1, 0.5), (0.125, n - 1, 0.5)]
    found = np.zeros((3, len(times)))
    for weight, cycles, phase in terms:
        omega = 2.0 * np.pi * cycles / duration
        for order in range(3):
            found[order] += weight * omega**order * np.sin(omega * times + (phase + order / 2) * np.pi)
    return found


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
                "m, m/s, N" if joint.kind == "prismatic" else "rad, rad/s, N m",
            )
        )
    return aligned(rows, left={0, 7})
