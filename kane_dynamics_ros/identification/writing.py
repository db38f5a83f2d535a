"""Write: ``identified.json``, ``parameters.yaml``, ``report.html``, and lines for a terminal."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from kane_dynamics_ros import pages
from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.files import write_file
from kane_dynamics_ros.friction import BEYOND, ExtraFriction, smooth_sign
from kane_dynamics_ros.identification.identify import Identified
from kane_dynamics_ros.identification.judging import PARAMETERS, Errors, Standing
from kane_dynamics_ros.identification.recordings import Track
from kane_dynamics_ros.identification.regression import FAMILIES
from kane_dynamics_ros.identification.verdict import Verdict
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.text import aligned
from kane_dynamics_ros.yaml_text import parameter_file, rounded

FORMAT = 3  # rises when a field changes its name or meaning
IDENTIFIABLE = 0.5  # part of the URDF's uncertainty that the motion must take away from a parameter
COEFFICIENTS = {
    "rotor": "rotor inertia",
    "viscous": "viscous friction",
    "offset": "offset",
    "coulomb": "Coulomb friction",
    "load": "friction by load",
    "stribeck": "change of friction towards rest",
    "coulomb_asymmetry": "Coulomb friction by direction",
    "viscous_asymmetry": "viscous friction by direction",
    "square_root": "friction by the root of the speed",
}
UNITS = {
    "revolute": (
        *("kg m^2", "N m s/rad", "N m", "N m", "1", "N m", "N m", "N m s/rad"),
        "N m (s/rad)^1/2",
    ),
    "prismatic": ("kg", "N s/m", "N", "N", "1", "N", "N", "N s/m", "N (s/m)^1/2"),
}
STANDARD_ERRORS = (
    "the larger of Newey-West over the lags below and independent residuals of equal power; enlarged for the "
    "unknowns that were fitted, and for the pull towards the URDF"
)
DOTS = 800  # of a figure against speed
DOT: dict[str, Any] = {"linewidth": 1.6, "solid_capstyle": "round"}  # lines of no length: one element
BEFORE, AFTER, DATA = "#c0392b", "#1f5fa8", "#7a8794"


@dataclass(frozen=True)
class Result:
    """What was found of which robot, from which recordings, and what to think of it.

    ``validated``: how many of the ``tracks``, the last ones, were only judged; ``effort_scale`` (n,): N m or
    N a recorded unit, and ``effort_delay`` [s], as they were given; ``gravity`` [m/s^2] where it was given;
    ``files`` by their role.
    """

    identified: Identified
    verdict: Verdict
    model: DynamicsModel
    urdf: str
    tracks: Sequence[Track]
    validated: int
    effort_scale: Array
    effort_delay: float
    gravity: tuple[float, float, float] | None
    files: Mapping[str, str]
    notes: Sequence[str]

    @property
    def units(self) -> list[tuple[str, ...]]:
        """Units of the families for each joint."""
        return [UNITS["prismatic" if j.kind == "prismatic" else "revolute"] for j in self.model.joints]

    @property
    def gain(self) -> Array:
        """Effort per recorded unit [N m] or [N], (n,)."""
        return np.asarray(self.effort_scale * self.identified.found.gain)

    @property
    def hidden(self) -> list[tuple[str, list[str]]]:
        """The parameters of each body that stay as uncertain as the URDF's: no motion shows them."""
        shown, nominal = self.identified.certainty.determined, self.identified.found.nominal.inertial
        rows = zip(self.model.bodies, shown < IDENTIFIABLE, nominal, strict=False)
        found = [(body, np.array(PARAMETERS)[names].tolist()) for body, names, own in rows if own.any()]
        return [(body, names) for body, names in found if names]


# ``identified.json``


def as_data(result: Result) -> dict[str, Any]:
    """The whole result as dictionaries, lists and numbers, NumPy's among them."""
    found, certainty, judged = result.identified.found, result.identified.certainty, result.identified.judged
    joints, verdict, tracks = result.model.joint_names, result.verdict, result.tracks
    parameter_keys = ("name", "urdf", "value", "error", "identifiable")
    inertial = (found.nominal.inertial, found.inertial, certainty.inertial, certainty.determined)
    return {
        "format": FORMAT,
        "urdf": result.urdf,
        "files": dict(result.files),
        "verdict": {
            "code": verdict.whole.code,
            "sentence": verdict.whole.text,
            "doubts": [{"code": each.code, "sentence": each.text} for each in verdict.doubts],
            "joints": records(("name", "code", "sentence"), joints, *zip(*verdict.joints, strict=True)),
        },
        "bags": [
            {
                "bag": str(track.bag),
                "used": "judged" if i >= len(tracks) - result.validated else "fitted",
                "topic": track.topic,
                "messages": track.messages,
                "seconds": track.seconds,
                "recorded_rate": track.sampled,
                "analysis_rate": track.rate,
                "cutoff": track.cutoff,
            }
            for i, track in enumerate(tracks)
        ],
        "effort_delay": result.effort_delay,
        "seconds_fitted": judged.seconds[0],
        "seconds_held_out": judged.seconds[1],
        "residual": {
            "fitted": _errors(judged.fitted, joints, judged.fitted.plain),
            "held_out": _errors(judged.held, joints, found.written.node_errors, judged.standing),
            "effort_lag": dict(zip(("seconds", "share"), judged.lag, strict=True)),
            "at_other_cutoffs": [{"cutoff": cutoff, "relative": part} for cutoff, part in judged.bands],
        },
        "misplaced": result.identified.misplaced and result.identified.misplaced._asdict(),
        "condition": certainty.condition,
        "weight_of_urdf": found.weight,
        "weights_tried": [{"weight": w, "relative_error": e} for w, e in found.weights],
        "standard_errors": {
            "method": STANDARD_ERRORS,
            "residuals_correlate_for_seconds": certainty.memory,
            "independent_residuals": certainty.independent,
            "independent_samples": certainty.samples,
            "decided_unknowns": certainty.decided,
        },
        "coulomb_velocity": found.coulomb_velocity,
        "coupling": None if found.coupling is None else found.coupling.tolist(),
        "joints": [_joint(result, j) for j in range(len(joints))],
        "bodies": [
            {"link": link, "parameters": records(parameter_keys, PARAMETERS, *rows)}
            for link, *rows in zip(result.model.bodies, *inertial, strict=False)
        ],
        "base_parameters": [
            {
                "name": base.name,
                "combination": records(("parameter", "factor"), *zip(*base.parts, strict=True)),
                "urdf": base.nominal,
                "value": base.value,
                "error": base.error,
            }
            for base in certainty.base
        ],
        "unidentifiable": [f"{body} {', '.join(names)}" for body, names in result.hidden],
        "notes": list(result.notes),
    }


def records(keys: Sequence[str], *columns: Iterable[Any]) -> list[dict[str, Any]]:
    """Rows of a table as dictionaries.

    >>> records(("name", "value"), "ab", (1, 2))
    [{'name': 'a', 'value': 1}, {'name': 'b', 'value': 2}]
    """
    return [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]


def _errors(
    errors: Errors, joints: Sequence[str], node: Array, standing: Standing | None = None
) -> dict[str, Any]:
    residuals = {"urdf": errors.nominal, "identified": errors.identified, "urdf_and_node": node}
    relative = {name: errors.relative(each) for name, each in residuals.items()}
    columns = {"effort": errors.effort, **residuals}
    if standing is not None:
        relative["identified_moving"] = standing.moving
        columns |= {"identified_at_rest": standing.residual[0], "identified_moving": standing.residual[1]}
    found = records(("name", *(f"{name}_rms" for name in columns)), joints, *columns.values())
    if standing is not None:
        for each, part in zip(found, standing.at_rest, strict=True):
            each["share_at_rest"] = part
    return {"samples": errors.samples, "relative": relative, "joints": found}


def _joint(result: Result, j: int) -> dict[str, Any]:
    found, certainty = result.identified.found, result.identified.certainty
    active = found.choice.active[j]
    return {
        "name": result.model.joint_names[j],
        "noise": found.sigma[j],
        "effort_scale": result.gain[j],
        "effort_scale_error": result.effort_scale[j] * certainty.gain[j] if certainty.gain[j] else None,
        "terms": records(
            ("name", "urdf", "value", "error", "fitted", "urdf_and_node", "unit"),
            COEFFICIENTS.values(),
            found.nominal.terms[j],
            found.terms[j],
            np.where(active, certainty.terms[j], np.nan),
            active,
            found.written.node[j],
            result.units[j],
        ),
        "stribeck_velocity": found.stribeck_velocity[j],
        "friction_left_at_rest": found.at_rest[j],
        "friction_after_creeping": result.identified.judged.creep[j],
    }


# ``parameters.yaml``


def parameters_text(result: Result, module: str) -> str:
    """``parameters.yaml`` for feedforward_node; drive gains, which it has no parameter for, as a comment."""
    found, names = result.identified.found, result.model.joint_names
    terms = {family: rounded(found.written.node[:, f]) for f, family in enumerate(FAMILIES)}
    content: dict[str, Any] = {
        "rotor_inertia": terms["rotor"],
        "friction": {
            "viscous": terms["viscous"],
            "coulomb": terms["coulomb"],
            "coulomb_velocity": found.coulomb_velocity,
            **{name: terms[name] for name in BEYOND if any(terms[name])},
        },
    }
    if any(terms["stribeck"]):
        velocities = np.where(found.stribeck_velocity > 0.0, found.stribeck_velocity, 1.0)
        content["friction"]["stribeck_velocity"] = rounded(velocities)
    if found.written.at_rest.any():
        content["friction"]["at_rest"] = rounded(found.written.at_rest)
    if found.coupling is not None:
        content["friction"]["coupling"] = rounded(found.coupling.ravel())
    if result.gravity is not None:
        content["gravity"] = list(result.gravity)
    head = ["what kane_dynamics identify found; see identified.json for errors and units"]
    head += warning(result.verdict)
    head.append(f"Joints: {', '.join(names)}")
    head.append(f"Start feedforward_node with the parameter model set to the path of {module}")
    if np.any(result.gain != 1.0):
        gains = ", ".join(f"{name} {x:.6g}" for name, x in zip(names, result.gain, strict=True))
        head.append(f"Drive gains, N m or N a recorded unit of effort: {gains}")
    return parameter_file(content, head)


def warning(verdict: Verdict) -> list[str]:
    """Why not to use it: a line, or none."""
    return [] if verdict.usable else ["; ".join(each.text for each in (verdict.whole, *verdict.doubts))]


# Lines for a terminal


def lines(result: Result) -> Iterator[str]:
    """What the command prints: before and after on data that were not fitted, and what to think of it."""
    judged, certainty = result.identified.judged, result.identified.certainty
    yield (
        f"fitted {judged.seconds[0]:.1f} s, judged {judged.seconds[1]:.1f} s that were not fitted; "
        f"condition of the base regressor {certainty.condition:.3g}"
    )
    yield ""
    yield from _table(result)
    yield ""
    if certainty.gain.any():
        errors = result.effort_scale * certainty.gain
        rows = zip(result.model.joint_names, result.gain, errors, strict=True)
        gains = ", ".join(f"{name} {gain:.4g} ± {error:.2g}" for name, gain, error in rows)
        yield f"drive gains, N m or N a recorded unit: {gains}"
    hidden = [f"{body} ({', '.join(names)})" for body, names in result.hidden]
    if hidden:
        yield (
            f"efforts depend on {len(certainty.base)} combinations of the bodies' parameters "
            "(base_parameters in identified.json); of the parameters themselves, left near the URDF: "
            f"{'; '.join(hidden)}"
        )
    others = ", ".join(f"{100 * part:.3g} % below {cutoff:.3g} Hz" for cutoff, part in judged.bands)
    yield from verdict_lines(
        result, [f"at half and twice the cut-off, on the last of those data: {others}"] if others else []
    )


def verdict_lines(result: Result, beside: Sequence[str] = ()) -> Iterator[str]:
    """What to think of it: notes, a sentence for each joint, doubts, and one sentence for the whole."""
    yield from (f"note: {note}" for note in result.notes)
    yield ""
    yield from (each.text for each in result.verdict.joints)
    yield from beside
    yield from (f"doubt: {each.text}" for each in result.verdict.doubts)
    yield result.verdict.whole.text


def _table(result: Result) -> Iterator[str]:
    """Effort, residuals on held-out data and fitted terms of each joint; words flush left."""
    held, found = result.identified.judged.held, result.identified.found
    standing = result.identified.judged.standing
    residuals = held.nominal, held.identified, standing.residual[1], found.written.node_errors
    rows: list[tuple[str, ...]] = [
        ("joint", "effort", "URDF", "identified", "moving", "URDF and node", "unit", "fitted terms")
    ]
    for j, joint in enumerate(result.model.joint_names):
        active = found.choice.active[j]
        names = [COEFFICIENTS[family] for f, family in enumerate(FAMILIES) if active[f]]
        figures = (f"{x[j]:.4g}" for x in (held.effort, *residuals))
        rows.append((joint, *figures, result.units[j][2], ", ".join(names) or "none"))
    before, after, _, node = map(held.relative, residuals)
    whole = (f"{100 * part:.2f} %" for part in (before, after, standing.moving, node))
    rows.append(("all joints, relative", "", *whole, "", ""))
    yield from aligned(rows, left={0, 6, 7})


# ``report.html``


def write_report(result: Result, file: Path) -> None:
    """Write the page, one file that needs nothing else, with figures for each joint."""
    joints = result.model.joint_names
    text = pages.rendered(
        "kane_dynamics_ros.identification",
        "report.html.j2",
        result=result,
        found=result.identified.found,
        certainty=result.identified.certainty,
        judged=result.identified.judged,
        joints=joints,
        families=list(enumerate(FAMILIES)),
        names=COEFFICIENTS,
        parameters=PARAMETERS,
        identifiable=IDENTIFIABLE,
        figures=map(Markup, joint_figures(result.identified, [units[2] for units in result.units])),
    )
    write_file(file, text)


def joint_figures(identified: Identified, units: Sequence[str]) -> Iterator[str]:
    """Of each joint residuals over time and against speed, before and after, and the friction curve.

    The data that the curve was fitted to are behind it. It is one figure whose data change from joint to
    joint: matplotlib takes long to make axes, and as long for each element of a page.
    """
    curves, C = identified.judged.curves, identified.found.coupling
    figure = Figure(figsize=(10, 8.2))
    figure.subplots_adjust(left=0.08, right=0.995, bottom=0.06, top=0.985, hspace=0.3, wspace=0.2)
    grid = figure.add_gridspec(2, 2)
    over_time = figure.add_subplot(grid[0, :])
    against_speed, friction = figure.add_subplot(grid[1, 0]), figure.add_subplot(grid[1, 1])
    pause = np.where(np.diff(curves.bag, prepend=0), 1.0 - np.diff(curves.time, prepend=0.0), 0.0)
    time = curves.time + np.cumsum(pause)  # one bag a second after the other
    steps = np.diff(time, prepend=time[:1])
    breaks = steps > 5 * np.median(steps)
    residuals, clouds = [], []
    for colour, label in ((BEFORE, "residual, URDF"), (AFTER, "residual, identified")):
        residuals += over_time.plot(time, np.zeros(len(time)), color=colour, linewidth=0.8, label=label)
        clouds += against_speed.plot([], [], color=colour, alpha=0.5, **DOT)
    clouds += friction.plot([], [], color=DATA, label="measured minus rigid body", **DOT)
    (curve,) = friction.plot([], [], color=AFTER, label="identified, without load")
    across = over_time.get_xaxis_transform()
    over_time.fill_between(time, 0, 1, curves.held, color="#f2e6c9", linewidth=0, zorder=0, transform=across)
    over_time.margins(x=0)
    titles = {over_time: "residual", against_speed: "residual", friction: "friction and offset"}
    for axes in titles:
        axes.grid(alpha=0.25)
        axes.set_xlabel("speed")
    over_time.set_xlabel("time, bags one after another [s]; shaded: not fitted")
    over_time.legend(loc="upper right", fontsize="small", ncols=2)
    friction.legend(loc="upper left", fontsize="small")
    some = slice(None, None, max(1, len(time) // DOTS))
    drives = curves.qd if C is None else curves.qd @ C.T  # what is fitted is the drive's friction
    for joint, unit in enumerate(units):
        left = [curves.measured[:, joint] - each[:, joint] for each in (curves.nominal, curves.identified)]
        for line, values in zip(residuals, left, strict=True):
            line.set_ydata(np.where(breaks, np.nan, values))
        speed, own = curves.qd[some, joint], drives[some, joint]
        pairs = [(speed, values[some]) for values in left]
        for cloud, (x, y) in zip(clouds, [*pairs, (own, curves.friction[some, joint])], strict=True):
            ends = np.repeat(x, 3)
            ends[2::3] = np.nan  # a line of no length for each, with a gap after it
            cloud.set_data(ends, np.repeat(y, 3))
            cloud.get_path().should_simplify = False
        at = np.linspace(own.min(), own.max(), 401)
        curve.set_data(at, friction_curve(identified, joint, at))
        for axes, label in titles.items():
            axes.set_ylabel(f"{label} [{unit}]")
            axes.relim()
            axes.autoscale_view()
        yield pages.svg(figure)


def friction_curve(identified: Identified, joint: int, speed: Array) -> Array:
    """Friction and offset over speed (N,), as if the joint carried nothing."""
    found = identified.found
    terms = dict(zip(FAMILIES, found.terms[joint], strict=True))
    usual = found.stribeck_velocity[joint : joint + 1]
    beyond = ExtraFriction.of(
        1,
        **{name: terms[name] for name in BEYOND},
        stribeck_velocity=np.where(usual > 0.0, usual, 1.0),
    )
    plain = terms["viscous"] * speed + terms["coulomb"] * smooth_sign(speed, found.coulomb_velocity)
    return np.asarray(plain + beyond.effort(speed, np.zeros(1), found.coulomb_velocity))
