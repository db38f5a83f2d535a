"""The terms to blame on one joint, with what is common to the whole arm kept apart."""

from dataclasses import replace

import numpy as np

from kane_dynamics_ros.replay.reading.layout import Doubles
from kane_dynamics_ros.replay.verdict.blame import Blame, blame
from kane_dynamics_ros.replay.verdict.comparison import Comparison

RIGID = ("inertia", "coriolis", "gravity")


def blame_joint(
    comparison: Comparison, joint: int, common: Doubles | None, measured_rms: float, independent: float
) -> list[Blame]:
    """Terms to blame for a joint's residual, greatest first.

    ``common`` (N,) is the part of the residual that a payload or a link's mass explains: it is told as
    what it changes in inertia, Coriolis and gravity, and only the rest is searched for friction
    and offsets. Else an offset would pass for the weight of a payload, and friction for its inertia.
    """
    residual = comparison.residual[:, joint]
    rigid = {name: comparison.terms[name][:, joint] for name in RIGID}
    other = {
        "viscous": comparison.speed[:, joint],
        "Coulomb": comparison.direction[:, joint],
        "offset": np.ones(len(residual)),
    }
    if common is None:
        return blame(residual, {**rigid, **other}, measured_rms, independent)
    found = [
        *_of_part(common, residual, blame(common, rigid, measured_rms, independent)),
        *_of_part(residual - common, residual, blame(residual - common, other, measured_rms, independent)),
    ]
    return sorted(found, key=lambda one: -one.effort)


def _of_part(part: Doubles, residual: Doubles, blames: list[Blame]) -> list[Blame]:
    """Shares of a part of the residual as shares of the whole."""
    weight = float(np.mean(part**2) / np.mean(residual**2))
    return [replace(one, share=min(1.0, weight * one.share)) for one in blames]
