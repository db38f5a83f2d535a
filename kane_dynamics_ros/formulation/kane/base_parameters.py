"""Inertial parameters regrouped so that most of them vanish, the torques unchanged.

What turns with a revolute joint about z without being changed by it may belong to either side: a point
mass on the axis, a first moment along it, and a second moment S_zz. What slides with a prismatic joint and
does not turn may too: all second moments. Moving these towards the root makes them zero in the outer body,
and zero parameters cost nothing. Mass may pay to keep: a body's mass at joint j+1's origin can be chosen so
that a first moment of body j vanishes, which saves more products than the mass costs.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from kane_dynamics_ros.formulation.algebra import Scalar
from kane_dynamics_ros.formulation.kane.segments import BodyInertia, Segment, body_of, moved

ROUNDING = 1e-14  # relative to the summands

Keep = Literal["none", "x", "y"]  # no mass, or the mass that makes h_x or h_y of the inner body vanish


def regroup(segments: Sequence[Segment], keep: Sequence[Keep]) -> tuple[Segment, ...]:
    """Move inertia across each joint, tip to root, keeping mass as ``keep`` (one a segment) says.

    The joints' axes must be z (``frames.reframe``). Scalars may be numbers or code expressions. What
    reaches the root is dropped: it never moves.
    """
    regrouped = list(segments)
    for j in range(len(segments) - 1, -1, -1):
        outer = regrouped[j].body
        if segments[j].prismatic:
            share = BodyInertia(0, (0, 0, 0), outer.second)
        else:
            mass = outer.mass - (_kept_mass(regrouped, j, keep[j]) if j else 0)
            share = BodyInertia(mass, (0, 0, outer.moment[2]), (0, 0, 0, 0, 0, outer.second[5]))
        regrouped[j] = replace(segments[j], body=without_rounding(outer - share, outer))
        if j:
            inner = regrouped[j - 1].body
            gained = moved(share, segments[j].R_PJ, segments[j].p_PoJo_P)
            body = without_rounding(inner + gained, inner, gained)
            if keep[j] != "none":
                body = _without_moment(body, "xy".index(keep[j]))
            regrouped[j - 1] = replace(regrouped[j - 1], body=body)
    return tuple(regrouped)


def _kept_mass(segments: Sequence[Segment], j: int, keep: Keep) -> Scalar:
    """The mass for body j to keep: m p_k takes what body j-1 would otherwise hold as h_k."""
    if keep == "none":
        return 0
    outer, k = segments[j], "xy".index(keep)
    along = BodyInertia(outer.body.mass, (0, 0, outer.body.moment[2]), (0, 0, 0, 0, 0, 0))
    total = segments[j - 1].body.moment[k] + moved(along, outer.R_PJ, outer.p_PoJo_P).moment[k]
    kept: Scalar = total / outer.p_PoJo_P[k]
    return kept


def _without_moment(body: BodyInertia, k: int) -> BodyInertia:
    """h_k is 0 by the choice of the kept mass: say so exactly."""
    x, y, z = body.moment
    return replace(body, moment=(0.0, y, z) if k == 0 else (x, 0.0, z))


def without_rounding(body: BodyInertia, *parts: BodyInertia) -> BodyInertia:
    """Entries that are only the rounding of a sum of ``parts`` become exactly 0."""
    values = []
    for group in (slice(0, 1), slice(1, 4), slice(4, 10)):  # kg, kg m, kg m^2 are not to be compared
        size = max(
            (abs(v) for part in parts for v in part.values()[group] if isinstance(v, float)), default=0
        )
        values += [
            0.0 if isinstance(v, float) and abs(v) <= ROUNDING * size else v for v in body.values()[group]
        ]
    return body_of(values)
