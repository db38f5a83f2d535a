"""What an identification writes: ``identified.json``, ``parameters.yaml``, and lines for a terminal."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import yaml

from kane_dynamics_ros.identification.estimation import FAMILIES
from kane_dynamics_ros.identification.identify import PARAMETERS, TOLD, Errors, Identified
from kane_dynamics_ros.identification.motion_store import Track
from kane_dynamics_ros.runtime.interface import Array, DynamicsModel

FORMAT = 1  # rises when a field changes its name or meaning
COEFFICIENTS = {
    "rotor": "rotor inertia",
    "viscous": "viscous friction",
    "offset": "offset",
    "coulomb": "Coulomb friction",
    "load": "friction by load",
    "stribeck": "change of friction towards rest",
}
UNITS = {
    "revolute": ("kg m^2", "N m s/rad", "N m", "N m", "1", "N m"),
    "prismatic": ("kg", "N s/m", "N", "N", "1", "N"),
}


class Robot(NamedTuple):
    """The names that results are told in. ``effort_scale`` (n,): N m or N a recorded unit, as it was
    given.
    """

    model: DynamicsModel
    urdf: str
    tracks: Sequence[Track]
    validated: int
    effort_scale: Array
    gravity: tuple[float, float, float] | None

    @property
    def units(self) -> list[tuple[str, ...]]:
        """Units of the families for each joint."""
        return [UNITS["prismatic" if j.kind == "prismatic" else "revolute"] for j in self.model.joints]


def as_data(
    robot: Robot, found: Identified, files: Mapping[str, str], notes: Sequence[str]
) -> dict[str, Any]:
    """The whole result as plain data."""
    joints = robot.model.joint_names
    return {
        "format": FORMAT,
        "urdf": robot.urdf,
        "files": dict(files),
        "bags": [
            {
                "bag": str(track.bag),
                "used": "judged" if i >= len(robot.tracks) - robot.validated else "fitted",
                "topic": track.topic,
                "messages": track.messages,
                "seconds": track.seconds,
                "recorded_rate": track.sampled,
                "analysis_rate": track.rate,
                "cutoff": track.cutoff,
            }
            for i, track in enumerate(robot.tracks)
        ],
        "seconds_fitted": found.seconds[0],
        "seconds_held_out": found.seconds[1],
        "residual": {
            "fitted": _errors(found.fitted, joints),
            "held_out": _errors(found.held, joints),
        },
        "condition": found.condition,
        "weight_of_urdf": found.weight,
        "weights_tried": [{"weight": w, "relative_error": e} for w, e in found.weights],
        "standard_errors": {
            "method": "the larger of Newey-West over the lags below and independent residuals of equal "
            "power; enlarged for the unknowns that were fitted, and for the pull towards the URDF",
            "residuals_correlate_for_seconds": found.memory,
            "independent_residuals": found.independent,
        },
        "coulomb_velocity": found.coulomb_velocity,
        "joints": [
            {
                "name": joint,
                "noise": found.sigma[j],
                "effort_scale": robot.effort_scale[j] * found.gain[j],
                "effort_scale_error": robot.effort_scale[j] * found.gain_error[j]
                if found.gain_error[j]
                else None,
                "terms": [
                    {
                        "name": COEFFICIENTS[family],
                        "urdf": found.nominal.terms[j, f],
                        "value": found.terms[j, f],
                        "error": found.terms_error[j, f] if found.choice.active[j, f] else None,
                        "fitted": bool(found.choice.active[j, f]),
                        "urdf_and_node": found.plain[j, f],
                        "unit": robot.units[j][f],
                    }
                    for f, family in enumerate(FAMILIES)
                ],
                "stribeck_velocity": found.stribeck_velocity[j],
            }
            for j, joint in enumerate(joints)
        ],
        "bodies": [
            {
                "link": body,
                "parameters": [
                    {
                        "name": name,
                        "urdf": found.nominal.inertial[b, k],
                        "value": found.inertial[b, k],
                        "error": found.inertial_error[b, k],
                        "told_by_motion": found.told[b, k],
                    }
                    for k, name in enumerate(PARAMETERS)
                ],
            }
            for b, body in enumerate(robot.model.bodies)
        ],
        "base_parameters": [
            {
                "name": base.name,
                "combination": [{"parameter": name, "factor": factor} for name, factor in base.parts],
                "urdf": base.nominal,
                "value": base.value,
                "error": base.error,
            }
            for base in found.base
        ],
        "not_told": [f"{body} {', '.join(names)}" for body, names in not_told(robot, found)],
        "notes": list(notes),
    }


def _errors(errors: Errors, joints: Sequence[str]) -> dict[str, Any]:
    return {
        "samples": errors.samples,
        "relative": {
            "urdf": errors.relative(errors.nominal),
            "identified": errors.relative(errors.identified),
            "urdf_and_node": errors.relative(errors.plain),
        },
        "joints": [
            {
                "name": joint,
                "effort_rms": errors.effort[j],
                "urdf_rms": errors.nominal[j],
                "identified_rms": errors.identified[j],
                "urdf_and_node_rms": errors.plain[j],
            }
            for j, joint in enumerate(joints)
        ],
    }


def json_text(data: Mapping[str, Any]) -> str:
    """JSON; numbers that are not finite become null."""
    return json.dumps(_plain(data), indent=2, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value


def not_told(robot: Robot, found: Identified) -> Iterator[tuple[str, list[str]]]:
    """Of each body, the parameters that stay as uncertain as the URDF's: the motion does not show them."""
    for body, shares, nominal in zip(robot.model.bodies, found.told, found.nominal.inertial, strict=True):
        names = [name for name, share in zip(PARAMETERS, shares, strict=True) if share < TOLD]
        if names and nominal.any():
            yield body, names


def parameters_text(robot: Robot, found: Identified, module: str) -> str:
    """``parameters.yaml`` for feedforward_node; drive gains, which it has no parameter for, as a comment."""
    terms = {family: [_rounded(x) for x in found.plain[:, f]] for f, family in enumerate(FAMILIES)}
    content: dict[str, Any] = {
        "model": module,
        "rotor_inertia": terms["rotor"],
        "friction": {
            "viscous": terms["viscous"],
            "coulomb": terms["coulomb"],
            "coulomb_velocity": found.coulomb_velocity,
        },
    }
    if robot.gravity is not None:
        content["gravity"] = list(robot.gravity)
    head = [
        "# feedforward_node: what kane_dynamics identify found; see identified.json for errors and units.",
        f"# Joints: {', '.join(robot.model.joint_names)}",
    ]
    scale = robot.effort_scale * found.gain
    if np.any(scale != 1.0):
        told = ", ".join(
            f"{name} {_rounded(x):g}" for name, x in zip(robot.model.joint_names, scale, strict=True)
        )
        head.append(f"# Drive gains, N m or N a recorded unit of effort: {told}")
    body = yaml.safe_dump(
        {"/**": {"ros__parameters": content}}, sort_keys=False, default_flow_style=None, width=100
    )
    return "\n".join(head) + "\n" + body


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def lines(robot: Robot, found: Identified, notes: Sequence[str]) -> Iterator[str]:
    """What the command prints: before and after on data that were not fitted, and what to know about it."""
    held = found.held
    yield (
        f"fitted {found.seconds[0]:.1f} s, judged {found.seconds[1]:.1f} s that were not fitted; "
        f"condition of the base regressor {found.condition:.3g}"
    )
    yield ""
    rows: list[tuple[str, ...]] = [
        ("joint", "effort", "URDF", "identified", "URDF and node", "unit", "fitted terms")
    ]
    for j, joint in enumerate(robot.model.joint_names):
        names = [
            COEFFICIENTS[f] for f, active in zip(FAMILIES, found.choice.active[j], strict=True) if active
        ]
        rows.append(
            (
                joint,
                *(f"{x[j]:.4g}" for x in (held.effort, held.nominal, held.identified, held.plain)),
                robot.units[j][2],
                ", ".join(names) or "none",
            )
        )
    whole = (f"{100 * held.relative(x):.2f} %" for x in (held.nominal, held.identified, held.plain))
    rows.append(("all joints, relative", "", *whole, "", ""))
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    for row in rows:
        cells = [
            c.ljust(w) if k in (0, 5, 6) else c.rjust(w)
            for k, (c, w) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
    yield ""
    hidden = [f"{body} ({', '.join(names)})" for body, names in not_told(robot, found)]
    if hidden:
        yield f"not told by this motion, left near the URDF: {'; '.join(hidden)}"
    yield from (f"note: {note}" for note in notes)
