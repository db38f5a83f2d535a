"""Figures of the wind water pump."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter

from kane_dynamics_ros.elastic.wind_pump.dynamics import LIAISON_FORCES
from kane_dynamics_ros.elastic.wind_pump.kinematics import close_loop, direction
from kane_dynamics_ros.elastic.wind_pump.parameters import Mechanism
from kane_dynamics_ros.elastic.wind_pump.turn import Turn

BLUE, ORANGE, GREEN, GREY = "#1f5fa8", "#d9731a", "#3a8f4d", "#7a7a7a"


def draw_mechanism(pump: Mechanism, turn: Turn) -> Figure:
    """The mechanism at eight crank angles (figure 2 and A1)."""
    figure = Figure(figsize=(8, 4.6), layout="constrained")
    axes = figure.add_subplot()
    for i, motion in enumerate(turn.motions[:-1]):
        if i % (len(turn.motions) // 8):
            continue
        angles = close_loop(pump, motion.phi_1, motion.x_D)
        B = pump.l1 * direction(angles.phi_1)
        C = B + pump.l2 * direction(angles.phi_2)
        D = np.array([motion.x_D, pump.e])
        centre = C + pump.hg * direction(angles.phi_3 - pump.psi - pump.xi)
        shade: dict[str, Any] = {"alpha": 1.0 if i == 0 else 0.28, "solid_capstyle": "round"}
        axes.plot(*np.array([[0, 0], B]).T, color=GREEN, lw=4, **shade)
        axes.plot(*np.array([B, C]).T, color=BLUE, lw=2.5, **shade)
        axes.plot(*np.array([C, D]).T, color=ORANGE, lw=4, **shade)
        axes.plot(*np.array([C, centre]).T, color=ORANGE, lw=2, marker="o", ms=7, markevery=[1], **shade)
        if i == 0:
            for name, point in (("A", 0 * B), ("B", B), ("C'", C), ("D", D)):
                axes.annotate(
                    name, (point[0], point[1]), xytext=(8, 8), textcoords="offset points", fontsize=12
                )
    axes.axhline(pump.e, color=GREY, lw=0.8, ls=":")
    axes.set(
        xlabel="x [m]", ylabel="y [m]", title="Wind water pump: crank AB, lever BC', pendulum C'D, slide D"
    )
    axes.set_aspect("equal")
    axes.set(xlim=(-0.09, 0.62), ylim=(-0.12, 0.33))
    return figure


def draw_forces(turn: Turn) -> Figure:
    """Liaison forces and the motor's torque over the turn of the crank."""
    figure = Figure(figsize=(9, 5.6), layout="constrained")
    panels = figure.subplots(2, 3, sharex=True).ravel()
    degrees = 360 * turn.time / turn.time[-1]
    liaison = np.array([loads.liaison for loads in turn.loads])
    for joint, axes in enumerate(panels[:4]):
        for k, colour in ((2 * joint, BLUE), (2 * joint + 1, ORANGE)):
            axes.plot(degrees, liaison[:, k], color=colour, label=f"${LIAISON_FORCES[k]}$")
        axes.set(title=f"joint {'ABCD'[joint]}", ylabel="force [N]")
        axes.legend(loc="best", frameon=False)
    panels[4].plot(degrees, [loads.torque for loads in turn.loads], color=GREEN)
    panels[4].set(title="motor", ylabel="torque $M_m$ [N m]")
    panels[5].plot(degrees, [1e3 * motion.x_D for motion in turn.motions], color=GREY)
    panels[5].set(title="slide", ylabel="$x_D$ [mm]")
    for axes in panels:
        axes.grid(alpha=0.3)
        axes.set_xticks(range(0, 361, 90))
    for axes in panels[3:]:
        axes.set_xlabel("crank angle [deg]")
    return figure


def draw_frequencies(turn: Turn, plain: np.ndarray, stiffened: np.ndarray) -> Figure:
    """The lever's first two natural frequencies over the turn (figure 6)."""
    figure = Figure(figsize=(9, 5.6), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True)
    degrees = 360 * turn.time / turn.time[-1]
    rows = ((plain, "as in the paper", BLUE), (stiffened, "with the axial load", ORANGE))
    for column, (frequencies, name, colour) in enumerate(rows):
        for mode in range(2):
            axes = panels[mode, column]
            axes.plot(degrees, frequencies[:, mode], color=colour)
            axes.set_title(f"mode {mode + 1}, {name}")
            axes.grid(alpha=0.3)
            axes.set_xticks(range(0, 361, 90))
            formatter = ScalarFormatter(useOffset=False)
            axes.yaxis.set_major_formatter(formatter)
            axes.set_ylabel("frequency [rad/s]")
    for axes in panels[1]:
        axes.set_xlabel("crank angle [deg]")
    return figure
