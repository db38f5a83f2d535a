"""``kane_dynamics identify`` on seven joints: processor time of ten minutes, memory beside one minute's.

The time is compared with NumPy's plain least squares of the same samples.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmark.arms import REPOSITORY
from benchmark.line import Line, below, faster
from benchmark.replay_speed import MINUTES, PRINT_PEAK, RATE, START, panda, write_joint_states
from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.identification.regression import WINDOW
from kane_dynamics_ros.runtime import DynamicsModel, load_model
from kane_dynamics_ros.runtime.parameters import find_base_parameters

SECONDS = 10.0  # of processor time for ten minutes
SLOWER = 1.2  # at most, than the plain fit alone
GROWTH = 1.15  # peak memory of ten minutes over one minute's
HEAVIER = 1.2  # masses of the recorded arm over the URDF's
VISCOUS, COULOMB = 2.0, 1.5  # [N m s/rad], [N m] of the recorded arm
NOISE = 0.01  # of each joint's effort (RMS)
SLOWEST = 0.2  # [Hz], the first harmonic of the recorded motion
IDENTIFY = f"""
import sys, time
from kane_dynamics_ros.cli.main import main
bag, urdf, output = sys.argv[1:]
begin = time.process_time()
code = main(["identify", bag, "--urdf", urdf, "--jobs", "1", "--no-compile", "-o", output])
print(time.process_time() - begin, file=sys.stderr)
{PRINT_PEAK}
sys.exit(code)
"""


class Usage(NamedTuple):
    """Processor time, and peak resident memory."""

    seconds: float
    mebibytes: float


def lines() -> list[Line]:
    """Ten minutes at 1 kHz against the bound, and its memory against a minute's."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        module = panda(folder)
        model = load_model(module)
        one, ten = (identified(model, module, minutes, folder) for minutes in (1, MINUTES))
        plain = least_squares(model, MINUTES)
    work = "identify, 7 joints at 1 kHz"
    return [
        below(f"{work}, {MINUTES} min", ten.seconds, SECONDS, "DESIGN.md's bound", "s"),
        faster(f"{work}, {MINUTES} min", ten.seconds, plain, "numpy.linalg.lstsq", "s", 1 / SLOWER),
        Line(
            f"{work}, {MINUTES} min: memory",
            ten.mebibytes,
            one.mebibytes,
            "1 min",
            "MiB",
            f"under {GROWTH:.2f} x",
            ten.mebibytes < GROWTH * one.mebibytes,
        ),
    ]


def identified(model: DynamicsModel, module: Path, minutes: int, folder: Path) -> Usage:
    """What the command takes, in a process of its own.

    The result must explain the recording to its noise: a fast answer that is wrong does not count.
    """
    bag, output = folder / f"{minutes}_min", folder / f"{minutes}_min_identified"
    record(model, minutes, bag)
    urdf = module.with_suffix(".urdf")
    done = subprocess.run(
        [sys.executable, "-c", IDENTIFY, str(bag), str(urdf), str(output)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    held_out = json.loads((output / "identified.json").read_text())["residual"]["held_out"]["relative"]
    if held_out["identified"] > 3 * NOISE:
        raise RuntimeError(f"identify left {held_out['identified']:.3g} of the effort unexplained")
    seconds, kibibytes = map(float, done.stderr.splitlines()[-2:])
    return Usage(seconds, kibibytes / 1024)


def least_squares(model: DynamicsModel, minutes: int) -> float:
    """Processor time [s] of the plain fit: one row a joint and recorded sample, ``numpy.linalg.lstsq``.

    It finds base parameters, rotor inertia, viscous and Coulomb friction and offset alone. Its motion is in
    memory already, without noise, so that nothing is read, filtered, chosen, constrained, judged or written.
    """
    _, q, qd, qdd, effort = motion(model, minutes)
    n, columns = len(model.joint_names), find_base_parameters(model.regressor, len(model.joint_names)).columns
    begin = time.process_time()
    rows = np.zeros((len(q), n, len(columns) + 4 * n))
    for first in range(0, len(q), WINDOW):
        some = slice(first, first + WINDOW)
        rows[some, :, : len(columns)] = model.regressor(q[some], qd[some], qdd[some])[..., columns]
    for j in range(n):
        own = slice(len(columns) + 4 * j, len(columns) + 4 * j + 4)
        sign = np.tanh(qd[:, j] / model.parameters.coulomb_velocity)
        rows[:, j, own] = np.column_stack([qdd[:, j], qd[:, j], sign, np.ones(len(qd))])
    rows = rows.reshape(-1, rows.shape[-1])
    found = np.linalg.lstsq(rows, effort.ravel(), rcond=None)[0]
    seconds = time.process_time() - begin
    if np.abs(rows @ found - effort.ravel()).max() > 1e-6 * np.abs(effort).max():
        raise RuntimeError("the plain fit does not explain the motion")
    return seconds


def motion(model: DynamicsModel, minutes: int) -> tuple[Array, Array, Array, Array, Array]:
    """Times, positions, velocities, accelerations, efforts of heavier links with friction: five harmonics."""
    n = len(model.joint_names)
    random = np.random.default_rng(7)
    at = np.arange(minutes * 60 * RATE) / RATE
    frequency = 2 * np.pi * SLOWEST * np.arange(1, 6)
    amplitude = random.uniform(-1.0, 1.0, (5, n)) / frequency[:, None]
    angle, phase = np.multiply.outer(at, frequency), random.uniform(0.0, 2 * np.pi, 5)
    sine, cosine = np.sin(angle + phase), np.cos(angle + phase)
    q = sine @ amplitude
    qd, qdd = cosine @ (frequency[:, None] * amplitude), -sine @ (frequency[:, None] ** 2 * amplitude)
    friction = VISCOUS * qd + COULOMB * np.tanh(qd / model.parameters.coulomb_velocity)
    return at, q, qd, qdd, HEAVIER * model.inverse_dynamics(q, qd, qdd) + friction


def record(model: DynamicsModel, minutes: int, bag: Path) -> None:
    """A bag of that motion, all joints with noise of the effort."""
    random = np.random.default_rng(8)
    at, q, qd, _, effort = motion(model, minutes)
    effort += NOISE * np.sqrt(np.mean(effort**2, axis=0)) * random.standard_normal(effort.shape)
    stamps = START + np.rint(at * 1e9).astype(np.int64)
    write_joint_states(bag, model.joint_names, stamps, effort, q, qd)
