"""``kane_dynamics demo``: the real nodes over DDS, three controllers on the same trajectory.

For each controller the simulated hardware and the feedforward node run as processes of their own, on a
DDS domain without any other node; a third sends the trajectory and records a bag, from which everything
shown here is computed. So nothing in this process is in the control loop. When a foreign node appears on
the domain, the demonstration stops: it could be a robot.
"""

import argparse
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.cli.demo.plots import plot_all
from kane_dynamics_ros.cli.demo.processes import NodeParameters, check_ros, record
from kane_dynamics_ros.cli.demo.tracking import (
    RecordedRun,
    gaps_found,
    read_run,
    request,
    shortcomings,
    table,
    tracking_error,
    write_errors,
)
from kane_dynamics_ros.control.trajectory_file import trajectory_text
from kane_dynamics_ros.files import claim_files, foreign_file, write_file
from kane_dynamics_ros.replay.playback import playback_of_bag
from kane_dynamics_ros.runtime import DynamicsModel, initial_positions, load_model
from kane_dynamics_ros.viewing.page import page

MODEL = "manipulator_5dof"
PD_ALONE, PD_FEEDFORWARD, COMPUTED_TORQUE = "PD alone", "PD with feedforward", "computed torque"
BANDWIDTH = 20.0  # [rad/s] of every joint's error, critically damped
TERMS = ("inertia", "coriolis", "gravity", "friction")
# What is written: files, and in each controller's folder.
FILES = ("trajectory.yaml", "errors.csv", "position.png", "error.png", "torque.png")
OF_A_CONTROLLER = ("*.log", "view.html", "bag", "bag/metadata.yaml", "bag/*.mcap", "bag/*.db3")

CONTROLLERS: Mapping[str, NodeParameters] = {
    PD_ALONE: {"mode": "feedforward_pd", **{f"terms.{term}": False for term in TERMS}},
    PD_FEEDFORWARD: {"mode": "feedforward_pd"},
    COMPUTED_TORQUE: {
        "mode": "computed_torque",
        "computed_torque.kp": [BANDWIDTH**2],
        "computed_torque.kd": [2.0 * BANDWIDTH],
    },
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("demo_output"),
        metavar="DIR",
        help="where the results go; default: %(default)s",
    )
    parser.add_argument(
        "--wall-clock",
        action="store_true",
        help="run at the speed of the wall clock; default: in lock step, the robot waiting for each command, "
        "so that the figures do not depend on how busy the machine is",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the three controllers and show how they track; 1 when one is worse than it must be."""
    check_ros()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup leaves it
            signal.signal(number, end_by_signal)
    output: Path = arguments.output
    claim_folder(output)
    model = load_model(MODEL)
    start = initial_positions(model.joints)
    trajectory = output / "trajectory.yaml"
    write_file(trajectory, trajectory_text(request(model.joint_names, start), as_json=False))
    gains = pd_gains(model, start)
    runs = {}
    for label, settings in CONTROLLERS.items():
        print(f"{label} ...", flush=True)
        bag = record({**gains, **settings}, trajectory, folder_of(label, output), arguments.wall_clock)
        runs[label] = read_run(bag, model.joint_names, start)
        shown, _ = playback_of_bag(bag, urdf=None)
        write_file(bag.with_name("view.html"), page(shown))
    return conclude(model.joint_names, runs, output)


def pd_gains(model: DynamicsModel, q: Array) -> NodeParameters:
    """Gains of the PD modes: those of the computed torque law times each joint's own inertia at ``q``."""
    inertia = np.diagonal(model.mass_matrix(q))
    return {
        "feedforward_pd.kp": (BANDWIDTH**2 * inertia).tolist(),
        "feedforward_pd.kd": (2.0 * BANDWIDTH * inertia).tolist(),
    }


def claim_folder(output: Path) -> None:
    """Enter what the demonstration writes. Raises ``ForeignFileError`` where that is a user's file."""
    folders = [folder_of(label, output) for label in CONTROLLERS]
    claim_files(output, [*FILES, *(folder.name for folder in folders)], "demo")
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if not any(path.relative_to(folder).match(pattern) for pattern in OF_A_CONTROLLER):
                raise foreign_file(path, "demo")


def end_by_signal(number: int, _: object) -> NoReturn:
    """Leave through the ``finally`` clauses, so that no node stays behind."""
    raise SystemExit(128 + number)


def folder_of(label: str, output: Path) -> Path:
    """Where a controller's bag and the nodes' logs go."""
    return output / label.lower().replace(" ", "_")


def conclude(joint_names: tuple[str, ...], runs: Mapping[str, RecordedRun], output: Path) -> int:
    """Print and write the table, draw the plots, and judge."""
    errors = {label: tracking_error(run) for label, run in runs.items()}
    print(f"\nTracking error of {MODEL}\n{table(joint_names, errors)}\n")
    write_errors(output / "errors.csv", joint_names, errors)
    pictures = plot_all(output, joint_names, runs)
    for path in (output / "errors.csv", *pictures):
        print(path)
    for folder in (folder_of(label, output) for label in runs):
        print(f"{folder / 'bag'}\n{folder / 'view.html'}")
    found = [
        *gaps_found(runs),
        *shortcomings(joint_names, errors[PD_ALONE], errors[PD_FEEDFORWARD], errors[COMPUTED_TORQUE]),
    ]
    for shortcoming in found:
        print(f"not good enough: {shortcoming}", file=sys.stderr)
    return 1 if found else 0
