"""Figures 2 to 4 of [Malvezzi2017] from our own simulations, and what they show of its statements."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.description import load_robot
from kane_dynamics_ros.papers.manipulator_simulation import (
    AMPLITUDES,
    FASTER,
    STROKE,
    Forward,
    Inverse,
    Manipulator,
    forward_simulation,
    inverse_simulation,
    manipulator,
    static_torques,
)
from kane_dynamics_ros.share import share_directory

COORDINATES = (r"$\gamma_1$", r"$\alpha_2$", r"$\alpha_3$")
TORQUES = ("$T_1$", "$T_2$", "$T_3$")
COLOURS = ("tab:blue", "tab:orange", "tab:green")
SAMPLES = 201  # of a simulation


def draw_inverse(result: Inverse, static: Array, title: str, path: Path) -> None:
    """Prescribed motion above, torques below: Maggi's as lines, Kane's as dots on them, static ones dashed.

    ``static`` (N, 3) [N m]: what holds the arm still in each posture. What lies between is the motion's.
    """
    figure = Figure(figsize=(7, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    _curves(above, result.t, result.motion.position, COORDINATES, "prescribed motion [rad]")
    _both_ways(below, result.t, result.maggi, result.kane, TORQUES, "torque [N m]")
    for column, label, colour in zip(static.T, TORQUES, COLOURS, strict=True):
        below.plot(result.t, column, color=colour, ls="--", lw=1, label=f"{label}, static")
    _finish(figure, (above, below), title, path)


def draw_forward(result: Forward, title: str, path: Path) -> None:
    """Torques less the static ones above, the motion that follows below."""
    figure = Figure(figsize=(7, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
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


# ``kane_dynamics paper manipulator_5dof``


def manipulator_5dof(output: Path) -> list[str]:
    """Write the figures to ``output``; lines with what the simulations show."""
    name = "manipulator_5dof"
    arm = manipulator(load_robot(share_directory() / "urdf" / f"{name}.urdf"))
    slow = inverse_simulation(arm, AMPLITUDES, STROKE, SAMPLES)
    fast = inverse_simulation(arm, AMPLITUDES, STROKE / FASTER, SAMPLES)
    forward = forward_simulation(arm, SAMPLES)
    output.mkdir(parents=True, exist_ok=True)
    paths = [output / f"{name}_figure_{number}.png" for number in (2, 3, 4)]
    draw_inverse(
        slow, static_along(arm, slow), "Figure 2. First inverse simulation: slow prescribed motion", paths[0]
    )
    draw_inverse(
        fast, static_along(arm, fast), f"Figure 3. Second inverse simulation: {FASTER} times faster", paths[1]
    )
    draw_forward(forward, "Figure 4. Forward simulation: static torques, slightly varied", paths[2])
    return [*statements(arm, slow, fast, forward), *(f"wrote {path}" for path in paths)]


def statements(arm: Manipulator, slow: Inverse, fast: Inverse, forward: Forward) -> list[str]:
    """What the simulations show of the paper's statements, a line each."""
    slow_inertial, fast_inertial = inertial_torques(arm, slow), inertial_torques(arm, fast)
    ratio = np.max(np.abs(fast_inertial), axis=0) / np.max(np.abs(slow_inertial), axis=0)
    return [
        f"static torques at zero [N m]:                 {_row(static_torques(arm))}",
        f"largest inertial torques, slow [N m]:         {_row(np.max(np.abs(slow_inertial), axis=0))}",
        f"largest inertial torques, faster [N m]:       {_row(np.max(np.abs(fast_inertial), axis=0))}",
        f"their ratio ({FASTER} squared is {FASTER**2}):           {_row(ratio)}",
        f"Maggi (DAE) less Kane, inverse, largest:      {_gap(slow.maggi, slow.kane):.1e} N m (slow), "
        f"{_gap(fast.maggi, fast.kane):.1e} N m (faster)",
        f"Maggi (DAE) less Kane (ODE), forward:         {_gap(forward.maggi, forward.kane):.1e} rad; "
        f"constraints drift by {forward.drift:.1e}",
        f"motion at the end of the forward simulation:  {_row(forward.kane[-1])} rad",
    ]


def inertial_torques(arm: Manipulator, result: Inverse) -> Array:
    """The torques (N, 3) less what holds the arm still in each posture."""
    return np.asarray(result.kane - static_along(arm, result))


def static_along(arm: Manipulator, result: Inverse) -> Array:
    """The torques (N, 3) [N m] that hold the arm still in each posture of a motion."""
    still = np.zeros(3)
    return np.array([arm.inverse_dynamics(q, still, still) for q in result.motion.position])


def _row(values: Array) -> str:
    return "  ".join(f"{value:9.4f}" for value in values)


def _gap(a: Array, b: Array) -> float:
    return float(np.max(np.abs(a - b)))
