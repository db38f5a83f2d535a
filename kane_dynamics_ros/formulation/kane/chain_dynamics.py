"""Kane's equations of a chain in its URDF frames, with the same interface as the witnesses.

For reading and comparing; the generated module takes the same equations in common-normal frames.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from kane_dynamics_ros.description.model import Chain, Inertia, Vector
from kane_dynamics_ros.formulation.kane.dynamics import inverse_dynamics as efforts_of_segments
from kane_dynamics_ros.formulation.kane.dynamics import resultants
from kane_dynamics_ros.formulation.kane.kinematics import motion, place
from kane_dynamics_ros.formulation.kane.partial_velocities import generalized_forces_by_body
from kane_dynamics_ros.formulation.kane.segments import Segment, about_origin, segments_of
from kane_dynamics_ros.formulation.loads import body_inertias
from kane_dynamics_ros.formulation.witnesses.dual import cos, sin


def inverse_dynamics(
    chain: Chain, q: Any, qd: Any, qdd: Any, gravity: Any, payload: Inertia | None = None
) -> Any:
    """Joint efforts (n,) that cause ``qdd`` (n,) at ``q`` (n,), ``qd`` (n,): rigid bodies only.

    ``gravity`` is the free-fall acceleration in the root frame (3,) [m/s^2]; ``payload`` is in the tip
    frame. Every argument, and the chain's own numbers, may be floats or SymPy expressions.
    """
    return efforts_of_segments(loaded_segments(chain, payload), q, qd, qdd, tuple(gravity), sine_cosine)


LEAST_LEVER = 1e-3  # [m] over which a joint's force counts as a torque, where it passes through the axis


def inverse_dynamics_by_body(
    chain: Chain, q: Sequence[float], qd: Sequence[float], qdd: Sequence[float], gravity: Any
) -> tuple[list[float], float]:
    """The same as the plain sum over bodies and partial velocities, [Malvezzi2017] eqs. (2) and (3).

    Neither factored along the chain, nor in common-normal frames, nor with regrouped inertias: what a
    generated module is held against before it is written.

    Returns:
        Efforts (n,) [N m or N], and the size that their rounding is to be measured by: the largest reaction
        at a joint, also where its part along the axis, the effort, happens to vanish.
    """
    n = len(chain.coordinates)
    placements = place(segments_of(chain), q, sine_cosine)
    motions = motion(placements, qd, qdd, tuple(gravity))
    size = 0.0
    for joint, wrench in zip(chain.joints, resultants(placements, motions), strict=True):
        force, torque = cast(tuple[Vector, Vector], wrench)  # of floats, as all arguments are
        lever = 1.0 if joint.kind == "prismatic" else LEAST_LEVER
        size = max(size, math.hypot(*torque), lever * math.hypot(*force))
    return cast(list[float], generalized_forces_by_body(placements, motions, n)), size


def loaded_segments(chain: Chain, payload: Inertia | None = None) -> list[Segment]:
    """The chain's segments, the payload added to the last body."""
    segments = list(segments_of(chain))
    if payload is not None:
        carried = about_origin(body_inertias(chain, payload)[-1][-1])
        segments[-1] = replace(segments[-1], body=segments[-1].body + carried)
    return segments


def sine_cosine(angle: Any) -> tuple[Any, Any]:
    """Both of an angle that is a float, a SymPy expression or a Dual."""
    return sin(angle), cos(angle)
