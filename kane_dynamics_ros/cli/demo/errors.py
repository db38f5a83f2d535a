"""Tracking errors of the demonstration's runs: the figures, the table, and what they must satisfy."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.cli.demo.recording import Run

Array = NDArray[np.float64]

RMS_LIMIT = 2e-3  # [rad] computed torque, every joint
GAIN_OF_FEEDFORWARD = 10.0  # PD alone over PD with feedforward, RMS
UNIT = "[mrad]"
LOADED_JOINTS = (1, 2)  # joints 2 and 3, which carry the arm's weight


class TrackingError(NamedTuple):
    """RMS and peak error of each joint [rad], (n,)."""

    rms: Array
    peak: Array


def tracking_error(run: Run) -> TrackingError:
    """Errors over the whole motion, each joint state counting once."""
    return TrackingError(np.sqrt(np.mean(run.error**2, axis=0)), np.max(np.abs(run.error), axis=0))


def table(joint_names: Sequence[str], errors: Mapping[str, TrackingError]) -> str:
    """The errors in mrad, a line for each joint, RMS and peak of each controller side by side."""
    width = max(map(len, (*joint_names, UNIT)))
    heads = "".join(f"{label:>22}" for label in errors)
    units = "".join(f"{'RMS':>13}{'peak':>9}" for _ in errors)
    lines = [f"{'':{width}}{heads}", f"{UNIT:{width}}{units}"]
    for i, name in enumerate(joint_names):
        cells = "".join(f"{1e3 * e.rms[i]:13.3f}{1e3 * e.peak[i]:9.3f}" for e in errors.values())
        lines.append(f"{name:{width}}{cells}")
    return "\n".join(lines)


def gaps_found(runs: Mapping[str, Run]) -> list[str]:
    """Runs in which joint states are missing: what they show of those times is not known."""
    return [
        f"{label}: {gaps.missing} of {gaps.expected} joint states are missing, up to {gaps.longest:.3f} s "
        "in a row; is the machine too busy for --wall-clock?"
        for label, gaps in ((label, run.gaps) for label, run in runs.items())
        if gaps.missing
    ]


def shortcomings(
    joint_names: Sequence[str], pd: TrackingError, feedforward: TrackingError, computed: TrackingError
) -> list[str]:
    """Every figure that is not as good as an exact model must make it; empty when all are."""
    found = [
        f"computed torque tracks {name} to {1e3 * rms:.3f} mrad RMS; the limit is {1e3 * RMS_LIMIT:g} mrad"
        for name, rms in zip(joint_names, computed.rms, strict=True)
        if not rms < RMS_LIMIT
    ]
    for i in LOADED_JOINTS:
        ratio = pd.rms[i] / feedforward.rms[i]
        if not ratio >= GAIN_OF_FEEDFORWARD:
            found.append(
                f"feedforward makes {joint_names[i]} track {ratio:.1f} times better than PD alone; "
                f"at least {GAIN_OF_FEEDFORWARD:g} times is expected"
            )
    return found


def write_errors(path: Path, joint_names: Sequence[str], errors: Mapping[str, TrackingError]) -> None:
    """The table as CSV, in rad."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["controller", "joint", "rms_rad", "peak_rad"])
        for label, error in errors.items():
            writer.writerows([label, *row] for row in zip(joint_names, error.rms, error.peak, strict=True))
