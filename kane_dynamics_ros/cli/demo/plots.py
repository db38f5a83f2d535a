"""Pictures of the demonstration: position, tracking error and torque of every joint, all controllers."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.cli.demo.tracking import RecordedRun

LINES: tuple[dict[str, Any], ...] = (  # the last two nearly coincide: a broad line under a narrow one
    {"color": "#c44e52", "linewidth": 1.4},
    {"color": "#f0b27a", "linewidth": 3.2},
    {"color": "#2a6f97", "linewidth": 1.3},
)
STYLE: dict[Any, Any] = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "figure.dpi": 130,
    "grid.alpha": 0.3,
    "legend.frameon": False,
}
SMALLEST_ERROR = 1e-3  # [mrad] where the logarithmic axis ends


def plot_all(folder: Path, joint_names: Sequence[str], runs: Mapping[str, RecordedRun]) -> list[Path]:
    """Write the three pictures; returns their paths."""
    with rc_context(STYLE):
        return [
            save(folder / "position.png", position_figure(joint_names, runs)),
            save(folder / "error.png", error_figure(joint_names, runs)),
            save(folder / "torque.png", torque_figure(joint_names, runs)),
        ]


def save(path: Path, figure: Figure) -> Path:
    figure.savefig(path)
    return path


def joint_axes(
    joint_names: Sequence[str], runs: Mapping[str, RecordedRun], title: str, draw: Callable[[Any, int], None]
) -> Figure:
    """A figure with one row for each joint, a common time axis, and one legend for all."""
    figure = Figure(figsize=(9.0, 1.7 * len(joint_names) + 1.0), layout="constrained")
    rows = figure.subplots(len(joint_names), 1, sharex=True)
    for i, (axes, name) in enumerate(zip(rows, joint_names, strict=True)):
        draw(axes, i)
        axes.set_title(name)
    rows[-1].set_xlabel("time since the start [s]")
    rows[-1].set_xlim(0.0, max(run.times[-1] for run in runs.values()))
    figure.suptitle(title, fontsize=13)
    handles, labels = rows[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def column(run: RecordedRun, values: Array, joint: int) -> tuple[Array, Array]:
    """Times and values of one joint to draw, with a hole where states are missing."""
    times, broken = run.broken(values)
    return times, broken[:, joint]


def position_figure(joint_names: Sequence[str], runs: Mapping[str, RecordedRun]) -> Figure:
    def draw(axes: Any, i: int) -> None:
        for (label, run), line in zip(runs.items(), LINES, strict=True):
            axes.plot(*column(run, run.position, i), label=label, **line)
        last = list(runs.values())[-1]
        axes.plot(*column(last, last.reference, i), "k:", label="reference", linewidth=1.2)
        axes.set_ylabel("[rad]")

    return joint_axes(joint_names, runs, "Joint positions", draw)


def error_figure(joint_names: Sequence[str], runs: Mapping[str, RecordedRun]) -> Figure:
    def draw(axes: Any, i: int) -> None:
        for (label, run), line in zip(runs.items(), LINES, strict=True):
            axes.semilogy(*column(run, 1e3 * np.abs(run.error), i), label=label, **line)
        axes.set_ylim(bottom=SMALLEST_ERROR)
        axes.set_ylabel("[mrad]")

    return joint_axes(joint_names, runs, "Size of the tracking error (logarithmic scale)", draw)


def torque_figure(joint_names: Sequence[str], runs: Mapping[str, RecordedRun]) -> Figure:
    def draw(axes: Any, i: int) -> None:
        for (label, run), line in zip(runs.items(), LINES, strict=True):
            axes.plot(*column(run, run.effort, i), label=label, **line)
        axes.set_ylabel("[N m]")

    return joint_axes(joint_names, runs, "Joint torques", draw)
