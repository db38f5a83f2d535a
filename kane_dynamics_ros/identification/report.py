"""``report.html`` of an identification: one file that needs nothing else."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.files import write_file
from kane_dynamics_ros.identification.estimation import FAMILIES
from kane_dynamics_ros.identification.identify import IDENTIFIABLE, PARAMETERS, Curves, Identified
from kane_dynamics_ros.identification.results import COEFFICIENTS, Subject, not_identifiable
from kane_dynamics_ros.pages import rendered, svg
from kane_dynamics_ros.replay.messages import Mask

BEFORE, AFTER, DATA = "#c0392b", "#1f5fa8", "#7a8794"


def write_report(subject: Subject, found: Identified, notes: Sequence[str], file: Path) -> None:
    """Write the page, with the result's figures for each joint."""
    joints = subject.model.joint_names
    figures = [Markup(joint_figure(found, j, subject.units[j][2])) for j in range(len(joints))]
    text = rendered(
        "kane_dynamics_ros.identification",
        "report.html.j2",
        subject=subject,
        found=found,
        joints=joints,
        families=list(enumerate(FAMILIES)),
        names=COEFFICIENTS,
        parameters=PARAMETERS,
        identifiable=IDENTIFIABLE,
        hidden=list(not_identifiable(subject, found)),
        figures=figures,
        notes=notes,
    )
    write_file(file, text)


def joint_figure(found: Identified, joint: int, unit: str) -> str:
    """Residuals over time and against speed, before and after, and the friction curve.

    The data that the curve was fitted to are behind it.
    """
    curves = found.curves
    figure = Figure(figsize=(10, 8.2))
    figure.subplots_adjust(left=0.08, right=0.995, bottom=0.06, top=0.985, hspace=0.3, wspace=0.2)
    grid = figure.add_gridspec(2, 2)
    over_time = figure.add_subplot(grid[0, :])
    against_speed, friction = figure.add_subplot(grid[1, 0]), figure.add_subplot(grid[1, 1])
    before = curves.measured[:, joint] - curves.nominal[:, joint]
    after = curves.measured[:, joint] - curves.identified[:, joint]
    time, breaks = shown_time(curves)
    for values, colour, label in ((before, BEFORE, "URDF"), (after, AFTER, "identified")):
        over_time.plot(
            time, np.where(breaks, np.nan, values), color=colour, linewidth=0.8, label=f"residual, {label}"
        )
    for start, end in held_spans(time, curves.held):
        over_time.axvspan(start, end, color="#f2e6c9", zorder=0)
    over_time.set(xlabel="time, bags one after another [s]; shaded: not fitted", ylabel=f"residual [{unit}]")
    over_time.margins(x=0)
    speed = curves.qd[:, joint]
    against_speed.plot(speed, before, ".", color=BEFORE, markersize=2, alpha=0.5)
    against_speed.plot(speed, after, ".", color=AFTER, markersize=2, alpha=0.5)
    against_speed.set(xlabel="speed", ylabel=f"residual [{unit}]")
    friction.plot(
        speed, curves.friction[:, joint], ".", color=DATA, markersize=2, label="measured minus rigid body"
    )
    at = np.linspace(speed.min(), speed.max(), 401)
    friction.plot(at, friction_curve(found, joint, at), color=AFTER, label="identified, without load")
    friction.set(xlabel="speed", ylabel=f"friction and offset [{unit}]")
    for axes in (over_time, against_speed, friction):
        axes.grid(alpha=0.25)
    over_time.legend(loc="upper right", fontsize="small", ncols=2)
    friction.legend(loc="upper left", fontsize="small")
    return svg(figure)


def friction_curve(found: Identified, joint: int, speed: Array) -> Array:
    """Friction and offset over speed (N,), as if the joint carried nothing."""
    terms = dict(zip(FAMILIES, found.terms[joint], strict=True))
    sign = np.tanh(speed / found.coulomb_velocity)
    rise = np.exp(-((speed / (found.stribeck_velocity[joint] or 1.0)) ** 2))
    return np.asarray(
        terms["viscous"] * speed + terms["coulomb"] * sign + terms["stribeck"] * sign * rise + terms["offset"]
    )


def shown_time(curves: Curves) -> tuple[Array, Array]:
    """Times [s] with the bags one after another, and where a line must break."""
    shift = np.zeros(len(curves.time))
    jumps = np.flatnonzero(np.diff(curves.bag) != 0) + 1
    for i in jumps:
        shift[i:] += curves.time[i - 1] - curves.time[i] + 1.0
    time = curves.time + shift
    steps = np.diff(time, prepend=time[:1])
    usual = float(np.median(steps[steps > 0])) if (steps > 0).any() else 1.0
    return time, np.asarray(steps > 5 * usual)


def held_spans(time: Array, held: Mask) -> list[tuple[float, float]]:
    """The spans [s] that were not fitted."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], held, [False]]).astype(int)))
    pairs = zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    return [(float(time[a]), float(time[b - 1])) for a, b in pairs]
