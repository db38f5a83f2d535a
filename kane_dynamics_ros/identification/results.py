"""What an identification writes: ``identified.json``, ``parameters.yaml``, and lines for a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import yaml

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.identification.estimation import FAMILIES
from kane_dynamics_ros.identification.identify import (
    IDENTIFIABLE,
    PARAMETERS,
    BaseParameter,
    Errors,
    Identified,
)
from kane_dynamics_ros.identification.motion_store import Track
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.text import aligned

FORMAT = 2  # rises when a field changes its name or meaning
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
STANDARD_ERRORS = (
    "the larger of Newey-West over the lags below and independent residuals of equal power; enlarged for the "
    "unknowns that were fitted, and for the pull towards the URDF"
)


class Subject(NamedTuple):
    """The robot and the recordings that results are about.

    ``validated``: how many of the ``tracks``, the last ones, were only judged; ``effort_scale`` (n,): N m or
    N a recorded unit, as it was given; ``gravity`` [m/s^2] where it was given.
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


# ``identified.json``


def as_data(
    subject: Subject, found: Identified, files: Mapping[str, str], notes: Sequence[str]
) -> dict[str, Any]:
    """The whole result as dictionaries, lists and numbers, NumPy's among them."""
    joints, bodies = subject.model.joint_names, subject.model.bodies
    return {
        "format": FORMAT,
        "urdf": subject.urdf,
        "files": dict(files),
        "bags": [_bag(subject, i) for i in range(len(subject.tracks))],
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
            "method": STANDARD_ERRORS,
            "residuals_correlate_for_seconds": found.memory,
            "independent_residuals": found.independent,
        },
        "coulomb_velocity": found.coulomb_velocity,
        "joints": [_joint(subject, found, j) for j in range(len(joints))],
        "bodies": [_body(found, b, link) for b, link in enumerate(bodies)],
        "base_parameters": [_base_parameter(base) for base in found.base],
        "unidentifiable": [f"{body} {', '.join(names)}" for body, names in not_identifiable(subject, found)],
        "notes": list(notes),
    }


def _bag(subject: Subject, i: int) -> dict[str, Any]:
    track = subject.tracks[i]
    return {
        "bag": str(track.bag),
        "used": "judged" if i >= len(subject.tracks) - subject.validated else "fitted",
        "topic": track.topic,
        "messages": track.messages,
        "seconds": track.seconds,
        "recorded_rate": track.sampled,
        "analysis_rate": track.rate,
        "cutoff": track.cutoff,
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


def _joint(subject: Subject, found: Identified, j: int) -> dict[str, Any]:
    scale, active = subject.effort_scale[j], found.choice.active[j]
    return {
        "name": subject.model.joint_names[j],
        "noise": found.sigma[j],
        "effort_scale": scale * found.gain[j],
        "effort_scale_error": scale * found.gain_error[j] if found.gain_error[j] else None,
        "terms": [
            {
                "name": COEFFICIENTS[family],
                "urdf": found.nominal.terms[j, f],
                "value": found.terms[j, f],
                "error": found.terms_error[j, f] if active[f] else None,
                "fitted": bool(active[f]),
                "urdf_and_node": found.plain[j, f],
                "unit": subject.units[j][f],
            }
            for f, family in enumerate(FAMILIES)
        ],
        "stribeck_velocity": found.stribeck_velocity[j],
    }


def _body(found: Identified, b: int, link: str) -> dict[str, Any]:
    columns = {
        "urdf": found.nominal.inertial[b],
        "value": found.inertial[b],
        "error": found.inertial_error[b],
        "identifiable": found.determined[b],
    }
    parameters = [
        {"name": name, **{key: values[k] for key, values in columns.items()}}
        for k, name in enumerate(PARAMETERS)
    ]
    return {"link": link, "parameters": parameters}


def _base_parameter(base: BaseParameter) -> dict[str, Any]:
    return {
        "name": base.name,
        "combination": [{"parameter": name, "factor": factor} for name, factor in base.parts],
        "urdf": base.nominal,
        "value": base.value,
        "error": base.error,
    }


def not_identifiable(subject: Subject, found: Identified) -> Iterator[tuple[str, list[str]]]:
    """The parameters of each body that stay as uncertain as the URDF's: no motion shows them."""
    for body, shares, nominal in zip(
        subject.model.bodies, found.determined, found.nominal.inertial, strict=True
    ):
        names = [name for name, share in zip(PARAMETERS, shares, strict=True) if share < IDENTIFIABLE]
        if names and nominal.any():
            yield body, names


# ``parameters.yaml``


def parameters_text(subject: Subject, found: Identified, module: str) -> str:
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
    if subject.gravity is not None:
        content["gravity"] = list(subject.gravity)
    head = [
        "# feedforward_node: what kane_dynamics identify found; see identified.json for errors and units.",
        f"# Joints: {', '.join(subject.model.joint_names)}",
    ]
    scale = subject.effort_scale * found.gain
    if np.any(scale != 1.0):
        gains = ", ".join(
            f"{name} {_rounded(x):g}" for name, x in zip(subject.model.joint_names, scale, strict=True)
        )
        head.append(f"# Drive gains, N m or N a recorded unit of effort: {gains}")
    body = yaml.safe_dump(
        {"/**": {"ros__parameters": content}}, sort_keys=False, default_flow_style=None, width=100
    )
    return "\n".join(head) + "\n" + body


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


# Lines for a terminal


def lines(subject: Subject, found: Identified, notes: Sequence[str]) -> Iterator[str]:
    """What the command prints: before and after on data that were not fitted, and what to know about it."""
    yield (
        f"fitted {found.seconds[0]:.1f} s, judged {found.seconds[1]:.1f} s that were not fitted; "
        f"condition of the base regressor {found.condition:.3g}"
    )
    yield ""
    yield from _table(subject, found)
    yield ""
    hidden = [f"{body} ({', '.join(names)})" for body, names in not_identifiable(subject, found)]
    if hidden:
        yield f"not identifiable from this motion, left near the URDF: {'; '.join(hidden)}"
    yield from (f"note: {note}" for note in notes)


def _table(subject: Subject, found: Identified) -> Iterator[str]:
    """Effort, residuals on held-out data and fitted terms of each joint; words flush left."""
    held = found.held
    residuals = held.nominal, held.identified, held.plain
    rows: list[tuple[str, ...]] = [
        ("joint", "effort", "URDF", "identified", "URDF and node", "unit", "fitted terms")
    ]
    for j, joint in enumerate(subject.model.joint_names):
        active = found.choice.active[j]
        names = [COEFFICIENTS[family] for f, family in enumerate(FAMILIES) if active[f]]
        figures = (f"{x[j]:.4g}" for x in (held.effort, *residuals))
        rows.append((joint, *figures, subject.units[j][2], ", ".join(names) or "none"))
    rows.append(("all joints, relative", "", *(f"{100 * held.relative(x):.2f} %" for x in residuals), "", ""))
    yield from aligned(rows, left={0, 5, 6})
