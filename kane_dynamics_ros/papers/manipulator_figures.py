"""Figures 2 to 4 of [Malvezzi2017], drawn from our own simulations."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib import pyplot as plt

from kane_dynamics_ros.papers.manipulator_simulation import Forward, Inverse
from kane_dynamics_ros.runtime.interface import Array

matplotlib.use("Agg")

COORDINATES = (r"$\gamma_1$", r"$\alpha_2$", r"$\alpha_3$")
TORQUES = ("$T_1$", "$T_2$", "$T_3$")
COLOURS = ("tab:blue", "tab:orange", "tab:green")


def draw_inverse(result: Inverse, static: Array, title: str, path: Path) -> None:
    """Prescribed motion above, torques below: Maggi's as lines, Kane's as dots on them, static ones dashed.

    ``static`` (N, 3) [N m]: what holds the arm still in each posture. What lies between is the motion's.
    """
    figure, (above, below) = plt.subplots(2, 1, figsize=(7, 6), sharex=True, layout="constrained")
    _curves(above, result.t, result.motion.position, COORDINATES, "prescribed motion [rad]")
    _both_ways(below, result.t, result.maggi, result.kane, TORQUES, "torque [N m]")
    for column, label, colour in zip(static.T, TORQUES, COLOURS, strict=True):
        below.plot(result.t, column, color=colour, ls="--", lw=1, label=f"{label}, static")
    _finish(figure, (above, below), title, path)


def draw_forward(result: Forward, title: str, path: Path) -> None:
    """Torques less the static ones above, the motion that follows below."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(7, 6), sharex=True, layout="constrained")
    labels = [f"{name} - static" for name in TORQUES]
    _curves(above, result.t, result.torques - result.torques[0], labels, "torque variation [N m]")
    _both_ways(below, result.t, result.maggi, result.kane, COORDINATES, "motion [rad]", "Kane (ODE)")
    _finish(figure, (above, below), title, path)


def _curves(axes: Any, t: Array, values: Array, labels: Sequence[str], quantity: str) -> None:
    for column, label, colour in zip(values.T, labels, COLOURS, strict=True):
        axes.plot(t, column, color=colour, label=label)
    axes.set_ylabel(quantity)


def _both_ways(
    axes: Any,
    t: Array,
    maggi: Array,
    kane: Array,
    labels: Sequence[str],
    quantity: str,
    kane_is: str = "Kane",
) -> None:
    _curves(axes, t, maggi, [f"{label}, Maggi (DAE)" for label in labels], quantity)
    some = np.linspace(0, t.size - 1, 17).astype(int)
    for column, label, colour in zip(kane.T, labels, COLOURS, strict=True):
        axes.plot(t[some], column[some], "o", color=colour, markersize=4, label=f"{label}, {kane_is}")


def _finish(figure: Any, panels: Any, title: str, path: Path) -> None:
    figure.suptitle(title)
    panels[-1].set_xlabel("time [s]")
    for axes in panels:
        axes.grid(alpha=0.3)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")
    figure.savefig(path, dpi=120, metadata={"Software": None})
    plt.close(figure)
