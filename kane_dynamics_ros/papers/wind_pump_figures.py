"""The wind water pump's figures and table: what ``kane_dynamics paper wind_pump`` writes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter

from kane_dynamics_ros.papers.differentiation_counts import count_differentiations
from kane_dynamics_ros.papers.wind_pump_mechanism import (
    CRANK_SPEED,
    LIAISON_FORCES,
    Lever,
    Mechanism,
    close_loop,
    direction,
)
from kane_dynamics_ros.papers.wind_pump_turn import Turn, lever_frequencies, steady_turn

# Figures of the wind water pump.


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


# ``kane_dynamics paper wind_pump``: the figures and the table of [WindPump], computed.


# [WindPump] table 1: elements, Lagrange, Gibbs-Appell, Kane.
TABLE_1 = (
    (5, 288, 120, 10),
    (10, 528, 220, 20),
    (15, 768, 320, 30),
    (20, 1008, 420, 40),
    (25, 1248, 520, 50),
    (30, 1488, 620, 60),
    (40, 1968, 820, 80),
)


def wind_pump(output: Path) -> int:
    """Write the figures to ``output`` and print the liaison forces, frequencies and table 1."""
    pump, lever = Mechanism(), Lever()
    turn = steady_turn(pump)
    plain = lever_frequencies(pump, lever, turn)
    stiffened = lever_frequencies(pump, lever, turn, stiffened=True)
    output.mkdir(parents=True, exist_ok=True)
    figures = {
        "wind_pump_mechanism.png": draw_mechanism(pump, turn),
        "wind_pump_liaison_forces.png": draw_forces(turn),
        "wind_pump_frequencies.png": draw_frequencies(turn, plain, stiffened),
    }
    for name, figure in figures.items():
        figure.savefig(output / name, dpi=110, metadata={"Software": None})
        plt.close(figure)
    print("\n".join([*_forces(turn), "", *_frequencies(plain, stiffened), "", *table_1()]))
    print("\n".join(f"wrote {output / name}" for name in figures))
    return 0


def _forces(turn: Turn) -> list[str]:
    liaison = np.array([loads.liaison for loads in turn.loads])
    torque = [loads.torque for loads in turn.loads]
    lines = [f"liaison forces over a turn at {CRANK_SPEED * 30 / np.pi:.0f} rpm (dimensions: ours)"]
    for name, column in zip(LIAISON_FORCES, liaison.T, strict=True):
        lines.append(f"  {name}  {column.min():9.2f} to {column.max():9.2f} N")
    return [*lines, f"  M_m  {min(torque):9.2f} to {max(torque):9.2f} N m"]


def _frequencies(plain: np.ndarray, stiffened: np.ndarray) -> list[str]:
    lines = ["natural frequencies of the elastic lever over the turn [rad/s]"]
    for name, rows in (("as in the paper", plain), ("with its axial load", stiffened)):
        for mode, column in enumerate(rows.T, 1):
            lines.append(f"  mode {mode}, {name:20} {column.min():10.3f} to {column.max():10.3f}")
    return lines


def table_1(printed: Sequence[tuple[int, int, int, int]] = TABLE_1) -> list[str]:
    """Table 1: differentiations counted for n space elements, and as printed."""
    counts = count_differentiations("space")
    lines = [
        "table 1: differentiations for n space elements; Kane's vector derivatives count once",
        "   n  Lagrange  printed  Gibbs-Appell  printed  Kane  printed  Kane, scalars",
    ]
    for n, *row in printed:
        own = [n * counts[name].calls for name in ("Lagrange", "Gibbs-Appell", "Kane")]
        lines.append(
            f"{n:4d}{own[0]:10d}{row[0]:9d}{own[1]:14d}{row[1]:9d}{own[2]:6d}{row[2]:9d}"
            f"{n * counts['Kane'].scalars:15d}"
        )
    return lines
