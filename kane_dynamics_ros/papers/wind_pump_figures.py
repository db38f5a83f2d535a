"""The wind water pump's figures and table: what ``kane_dynamics paper wind_pump`` writes."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.elastic.body import DOFS
from kane_dynamics_ros.papers.differentiation_counts import (
    assembly_times,
    count_differentiations,
    timing_lines,
)
from kane_dynamics_ros.papers.wind_pump_coupled import hypothesis
from kane_dynamics_ros.papers.wind_pump_mechanism import (
    CRANK_SPEED,
    GRAVITY,
    JOINTS,
    LIAISON_FORCES,
    Lever,
    Loads,
    Mechanism,
    MechanismState,
    points,
    slide_force,
)
from kane_dynamics_ros.papers.wind_pump_turn import CrankTurn, lever_frequencies, steady_turn

BLUE, ORANGE, GREEN, GREY = "#1f5fa8", "#d9731a", "#3a8f4d", "#7a7a7a"
BODIES = ("crank AB", "lever BC'", "pendulum DCC'", "slide D")
POSITIONS = 8  # of the crank that the mechanism is drawn in
WALL = 0.12  # [m] beyond the slide, where the drawing anchors its spring
DRAWN = 16  # a part of the turn, at which no force happens to vanish
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


def draw_mechanism(pump: Mechanism, turn: CrankTurn) -> Figure:
    """The mechanism at eight crank angles, with slide and spring (figures 2 and A1)."""
    figure = Figure(figsize=(8, 4.9), layout="constrained")
    axes = figure.add_subplot()
    chosen = [turn.motions[k * (len(turn.motions) - 1) // POSITIONS] for k in range(POSITIONS)]
    for motion in reversed(chosen):
        shade: dict[str, Any] = {"alpha": 1.0 if motion is chosen[0] else 0.22, "solid_capstyle": "round"}
        at = points(pump, motion.phi_1, motion.x_D)
        _line(axes, "crank", at.A, at.B, color=GREEN, lw=4, **shade)
        _line(axes, "lever", at.B, at.C_prime, color=BLUE, lw=2.5, **shade)
        _line(axes, "pendulum", at.C_prime, at.C, at.D, color=ORANGE, lw=4, **shade)
        _line(
            axes, "weight", at.C_prime, at.centres[2], color=ORANGE, lw=2, marker="o", markevery=[1], **shade
        )
    at = points(pump, chosen[0].phi_1, chosen[0].x_D)
    anchor, up = at.D + np.array([WALL, 0.0]), np.array([0.0, 0.025])
    _line(axes, "spring", *_coil(at.D, anchor), color=GREY, lw=1.2)
    _line(axes, "wall", anchor - up, anchor + up, color=GREY, lw=3)
    slide = Rectangle(tuple(at.D - (0.018, 0.012)), 0.036, 0.024, fc="white", ec=GREY, lw=1.5, zorder=3)
    slide.set_label("slide")
    axes.add_patch(slide)
    names = (("A", at.A), ("B", at.B), ("C", at.C), ("C'", at.C_prime), ("D", at.D))
    for name, point in names:
        axes.annotate(name, tuple(point), xytext=(9, 9), textcoords="offset points", fontsize=12)
    axes.axhline(pump.e, color=GREY, lw=0.8, ls=":")
    axes.set(
        xlabel="x [m]", ylabel="y [m]", title="Crank AB, lever BC', pendulum C'CD, slide D on its spring"
    )
    axes.set_aspect("equal")
    axes.margins(0.08)
    return figure


def _line(axes: Axes, label: str, *through: Array, **style: Any) -> None:
    axes.plot(*np.array(through).T, label=label, **style)


def _coil(start: Array, end: Array) -> list[Array]:
    """A spring's zigzag."""
    across = 0.010 * np.array([-(end - start)[1], (end - start)[0]]) / math.dist(start, end)
    inner = [
        start + s * (end - start) + (-1) ** k * across for k, s in enumerate(np.linspace(0.15, 0.85, 11))
    ]
    return [start, start + 0.1 * (end - start), *inner, start + 0.9 * (end - start), end]


class Force(NamedTuple):
    """A force on a body: its name in TeX, where it acts [m], and what it is [N]; (2,) each."""

    name: str
    at: Array
    vector: Array


def free_bodies(pump: Mechanism, motion: MechanismState, loads: Loads) -> dict[str, tuple[Force, ...]]:
    """The forces on each body, eqs. (A32) to (A42): they add up to its mass times its acceleration.

    Body 2 bears (-X_B, -Y_B) and (X_C, -Y_C), body 3 (-X_C, Y_C) and (X_D, -Y_D), the slide (-X_D, Y_D),
    the spring, the pump's resistance F_r, and its guide's reaction N, which (A42) has no row for.
    """
    at, X = points(pump, motion.phi_1, motion.x_D), dict(zip(LIAISON_FORCES, loads.liaison, strict=True))
    places = dict(zip("ABCD", (at.A, at.B, at.C_prime, at.D), strict=True))
    masses = {"1": pump.m1, "2": pump.m2, "3": pump.m3, "D": pump.mD}
    found = {}
    for body, (name, weight) in enumerate(zip(BODIES, masses.items(), strict=True)):
        forces = [
            Force(f"{axis}_{{{joint}}}", places[joint], sign * X[f"{axis}_{joint}"] * unit)
            for joint, bodies in JOINTS.items()
            for axis, sign, unit in zip("XY", bodies.get(body, ()), np.eye(2), strict=False)
        ]
        centre = at.D if body == 3 else at.centres[body]
        forces.append(Force(f"G_{{{weight[0]}}}", centre, np.array([0.0, -GRAVITY * weight[1]])))
        found[name] = forces
    spring = -pump.k * (motion.x_D - pump.x0)
    slide = {"F_s": (spring, 0.0), "F_r": (slide_force(pump, motion) - spring, 0.0)}
    slide["N"] = (0.0, GRAVITY * pump.mD - X["Y_D"])
    found[BODIES[3]] += [Force(name, at.D, np.array(vector)) for name, vector in slide.items()]
    return {name: tuple(forces) for name, forces in found.items()}


def draw_free_bodies(pump: Mechanism, turn: CrankTurn) -> Figure:
    """Each body by itself with the forces on it, early in the turn (figure 4).

    Arrows show the directions in which the forces act there, names and sizes stand beside them. F_s is the
    spring's force, F_r the pump's resistance, N what the guide bears.
    """
    figure = Figure(figsize=(10, 8), layout="constrained")
    k = len(turn.motions) // DRAWN
    motion, loads = turn.motions[k], turn.loads[k]
    at = points(pump, motion.phi_1, motion.x_D)
    outlines = ((at.A, at.B), (at.B, at.C_prime), (at.C_prime, at.C, at.D), (at.D,))
    colours = {"X": BLUE, "Y": BLUE, "G": GREY, "F": GREEN, "N": ORANGE}
    bodies = free_bodies(pump, motion, loads)
    for n, (axes, (name, forces)) in enumerate(
        zip(figure.subplots(2, 2).ravel(), bodies.items(), strict=True)
    ):
        ends = np.array(outlines[n])
        middle = (ends.min(axis=0) + ends.max(axis=0)) / 2
        reach = max(float(np.ptp(ends, axis=0).max()), 0.04)
        style = {"marker": "s", "ms": 16} if len(ends) == 1 else {}
        _line(axes, "body", *outlines[n], color=(GREEN, BLUE, ORANGE, GREY)[n], lw=4, **style)
        beside: list[Array] = []  # ends of arrows: two forces along one line get different lengths
        for force in forces:
            size = float(np.linalg.norm(force.vector))
            vector = 0.3 * reach * force.vector / max(size, 1e-12)
            while any(np.linalg.norm(force.at + vector - end) < 0.1 * reach for end in beside):
                vector = 1.35 * vector
            beside.append(force.at + vector)
            _arrow(axes, force.at, vector, f"${force.name}$ {size:.0f} N", colours[force.name[0]])
        driven_by = f", driven by $M_m$ = {loads.torque:.1f} N m" if n == 0 else ""
        axes.set_title(name + driven_by)
        axes.set(xlim=middle[0] + np.array([-1, 1]) * reach, ylim=middle[1] + np.array([-1, 1]) * reach)
        axes.set(aspect="equal", xlabel="x [m]", ylabel="y [m]")
    return figure


def _arrow(axes: Axes, at: Array, vector: Array, label: str, colour: str) -> None:
    """A force that acts on a point in the direction of ``vector``."""
    axes.annotate(
        label,
        xy=tuple(at),
        xytext=tuple(at + vector),
        ha="center",
        va="center",
        color=colour,
        fontsize=9,
        arrowprops={"arrowstyle": "<|-", "color": colour, "shrinkA": 0, "shrinkB": 0},
    )


def draw_forces(turn: CrankTurn) -> Figure:
    """Liaison forces and the motor's torque over the turn of the crank (the paper has none such)."""
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


def draw_frequencies(turn: CrankTurn, plain: np.ndarray, stiffened: np.ndarray) -> Figure:
    """The lever's first two natural frequencies over the time of a turn, as figure 6 its eigenvalues."""
    figure = Figure(figsize=(9, 5.6), layout="constrained")
    figure.suptitle("Natural frequencies of the lever BC'")
    panels = figure.subplots(2, 2, sharex=True)
    rows = ((plain, "as in the paper", BLUE), (stiffened, "with the axial load", ORANGE))
    for column, (frequencies, name, colour) in enumerate(rows):
        for mode in range(2):
            axes = panels[mode, column]
            axes.plot(turn.time, frequencies[:, mode], color=colour)
            axes.set_title(f"mode {mode + 1}, {name}")
            axes.grid(alpha=0.3)
            axes.ticklabel_format(axis="y", useOffset=False)
            axes.set_ylabel("frequency [rad/s]")
    for axes in panels[1]:
        axes.set_xlabel("time [s]")
    return figure


# ``kane_dynamics paper wind_pump``


def wind_pump(
    output: Path, pump: Mechanism | None = None, progress: Callable[[str], object] = lambda step: None
) -> list[str]:
    """Write the figures to ``output``; lines with the liaison forces, frequencies and table 1."""
    pump, lever = pump or Mechanism(), Lever()
    progress("integrating the steady motion")
    turn = steady_turn(pump)
    progress("finding the lever's frequencies")
    plain = lever_frequencies(pump, lever, turn)
    stiffened = lever_frequencies(pump, lever, turn, stiffened=True)
    output.mkdir(parents=True, exist_ok=True)
    figures = {
        "wind_pump_mechanism.png": draw_mechanism(pump, turn),
        "wind_pump_free_bodies.png": draw_free_bodies(pump, turn),
        "wind_pump_liaison_forces.png": draw_forces(turn),
        "wind_pump_frequencies.png": draw_frequencies(turn, plain, stiffened),
    }
    for name, figure in figures.items():
        figure.savefig(output / name, dpi=110, metadata={"Software": None})
    lines = [*_forces(turn), "", *_frequencies(plain, stiffened), ""]
    progress("counting differentiations")
    lines += [*table_1(), ""]
    progress("integrating the elastic lever, one way and coupled")
    lines += [*hypothesis(pump, lever, turn.motions[0]), ""]
    progress("timing the derivations")
    lines += [*timing_lines({kind: assembly_times(kind) for kind in DOFS}), ""]
    return [*lines, *(f"wrote {output / name}" for name in figures)]


def _forces(turn: CrankTurn) -> list[str]:
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
