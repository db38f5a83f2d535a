"""What the formulation works on: a tree of segments, one joint and one rigid body each.

The scalars may be floats, SymPy symbols or code expressions. Body inertia is held about the body
frame's origin, because then every term of the equations is linear in it; so it moves from frame to frame, and
from body to body (``regroup``), by sums and products alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kane_dynamics_ros.algebra import Matrix, Scalar, Vector, add, apply, dot, scale, symmetric
from kane_dynamics_ros.description.model import Chain, Inertia

ROUNDING = 1e-14  # relative to the summands

Six = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]  # xx, xy, xz, yy, yz, zz of a symmetric matrix
Keep = Literal["none", "x", "y"]  # no mass, or the mass that makes h_x or h_y of the inner body vanish


@dataclass(frozen=True)
class BodyInertia:
    """Ten inertial parameters of a body about its frame's origin Bo, in body axes.

    ``mass`` m [kg], ``moment`` h = integral rho dm = m p_BoBcm_B [kg m], ``second`` the second moments
    S = integral rho rho^T dm as (S_xx, S_xy, S_xz, S_yy, S_yz, S_zz) [kg m^2]. The inertia tensor about
    Bo is J = trace(S) 1 - S.
    """

    mass: Scalar
    moment: Vector
    second: Six

    def __add__(self, other: "BodyInertia") -> "BodyInertia":
        return body_of([a + b for a, b in zip(self.values(), other.values(), strict=True)])

    def __sub__(self, other: "BodyInertia") -> "BodyInertia":
        return body_of([a - b for a, b in zip(self.values(), other.values(), strict=True)])

    def values(self) -> tuple[Scalar, ...]:
        """(m, h_x, h_y, h_z, S_xx, S_xy, S_xz, S_yy, S_yz, S_zz)."""
        return (self.mass, *self.moment, *self.second)

    def tensor(self) -> Six:
        """(J_xx, J_xy, J_xz, J_yy, J_yz, J_zz) about Bo."""
        xx, xy, xz, yy, yz, zz = self.second
        return yy + zz, -xy, -xz, xx + zz, -yz, xx + yy

    def inertial_parameters(self) -> tuple[Scalar, ...]:
        """(m, h_x, h_y, h_z, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz): the regressor's parameters."""
        return (self.mass, *self.moment, *self.tensor())


@dataclass(frozen=True)
class Segment:
    """One moving joint and the body it carries; the joint frame J coincides with B at position 0.

    ``parent``: the index of the segment whose body carries this one, which comes before it; -1: the root
    link. ``R_PJ``, ``p_PoJo_P``: J in that body's frame P. ``axis``: unit vector in J (and B). The joint's
    position is ``multiplier * q[coordinate] + offset``.
    """

    name: str
    prismatic: bool
    R_PJ: Matrix
    p_PoJo_P: Vector
    axis: Vector
    body: BodyInertia
    coordinate: int
    parent: int
    multiplier: Scalar = 1
    offset: Scalar = 0

    def effort_of(self, force: Vector, torque: Vector) -> Scalar:
        """What a force and a torque about Bo, in body axes, mean for the joint [N m or N], multiplier apart.

        The joint's partial velocity, e_r or e_r x p, dotted into them.
        """
        return dot(self.axis, force if self.prismatic else torque)


def segments_of(chain: Chain) -> tuple[Segment, ...]:
    """The chain's joints and lumped bodies in their URDF link frames, parents before children."""
    return tuple(
        Segment(
            joint.name,
            joint.kind == "prismatic",
            joint.R_PJ,
            joint.p_PoJo_P,
            joint.axis,
            body_inertia(joint.inertia),
            joint.coordinate,
            joint.parent,
            joint.multiplier,
            joint.offset,
        )
        for joint in chain.joints
    )


# Inertial parameters, and how they move from frame to frame


def body_of(values: Sequence[Scalar]) -> BodyInertia:
    """The inverse of ``BodyInertia.values``."""
    m, hx, hy, hz, xx, xy, xz, yy, yz, zz = values
    return BodyInertia(m, (hx, hy, hz), (xx, xy, xz, yy, yz, zz))


def body_inertia(inertia: Inertia) -> BodyInertia:
    """From central inertia: S = (trace(J)/2) 1 - J about the centre of mass, plus m c c^T."""
    m, c, J = inertia.mass, inertia.com, inertia.tensor
    half_trace = (J[0][0] + J[1][1] + J[2][2]) / 2
    second = (
        half_trace - J[0][0] + m * c[0] * c[0],
        m * c[0] * c[1] - J[0][1],
        m * c[0] * c[2] - J[0][2],
        half_trace - J[1][1] + m * c[1] * c[1],
        m * c[1] * c[2] - J[1][2],
        half_trace - J[2][2] + m * c[2] * c[2],
    )
    return BodyInertia(m, scale(m, c), second)


def moved(body: BodyInertia, R_AB: Matrix, p_AoBo_A: Vector) -> BodyInertia:
    """The body seen from frame A: rotate, then shift the reference point from Bo to Ao ``p_AoBo_A`` [m].

    With h' = R h: h_A = h' + m p and S_A = R S R^T + p h'^T + h' p^T + m p p^T, (T20) of docs/theory.md: the
    parallel-axis theorem in second moments.
    """
    m, p = body.mass, p_AoBo_A
    h = apply(R_AB, body.moment)
    SRt = [apply(symmetric(body.second), row) for row in R_AB]
    second = []
    for i in range(3):
        for j in range(i, 3):
            shift = p[i] * (h[j] + m * p[j]) + h[i] * p[j]
            second.append(R_AB[i][0] * SRt[j][0] + R_AB[i][1] * SRt[j][1] + R_AB[i][2] * SRt[j][2] + shift)
    return body_of([m, *add(h, scale(m, p)), *second])


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


# Base parameters: inertia regrouped so that most parameters vanish, the torques unchanged


def regroup(segments: Sequence[Segment], keep: Sequence[Keep]) -> tuple[Segment, ...]:
    """Move inertia across each joint, children first, keeping mass as ``keep`` (one a segment) says.

    What turns with a revolute joint about z without being changed by it may belong to either side: a point
    mass on the axis, a first moment along it, and a second moment S_zz. What slides with a prismatic joint
    and does not turn may too: all second moments. Moved towards the root they become zero in the outer body,
    and zero parameters cost nothing; what reaches the root is dropped, since it never moves. Mass may pay to
    keep: a body's mass at the origin of a joint on it can be chosen so that a first moment vanishes, which
    saves more products than the mass costs. [GautierKhalil1990]

    The joints' axes must be z (``frames.reframe``). Scalars may be numbers or code expressions.
    """
    regrouped = list(segments)
    for j in range(len(segments) - 1, -1, -1):
        outer, parent = regrouped[j].body, segments[j].parent
        if segments[j].prismatic:
            share = BodyInertia(0, (0, 0, 0), outer.second)
        else:
            mass = outer.mass - (_kept_mass(regrouped, j, keep[j]) if parent >= 0 else 0)
            share = BodyInertia(mass, (0, 0, outer.moment[2]), (0, 0, 0, 0, 0, outer.second[5]))
        regrouped[j] = replace(segments[j], body=without_rounding(outer - share, outer))
        if parent >= 0:
            inner = regrouped[parent].body
            gained = moved(share, segments[j].R_PJ, segments[j].p_PoJo_P)
            body = without_rounding(inner + gained, inner, gained)
            if keep[j] != "none":
                body = _without_moment(body, "xy".index(keep[j]))
            regrouped[parent] = replace(regrouped[parent], body=body)
    return tuple(regrouped)


def _kept_mass(segments: Sequence[Segment], j: int, keep: Keep) -> Scalar:
    """The mass for body j to keep: m p_k takes what the body before it would otherwise hold as h_k."""
    if keep == "none":
        return 0
    outer, k = segments[j], "xy".index(keep)
    along = BodyInertia(outer.body.mass, (0, 0, outer.body.moment[2]), (0, 0, 0, 0, 0, 0))
    total = segments[outer.parent].body.moment[k] + moved(along, outer.R_PJ, outer.p_PoJo_P).moment[k]
    kept: Scalar = total / outer.p_PoJo_P[k]
    return kept


def _without_moment(body: BodyInertia, k: int) -> BodyInertia:
    """h_k is 0 by the choice of the kept mass: say so exactly."""
    x, y, z = body.moment
    return replace(body, moment=(0.0, y, z) if k == 0 else (x, 0.0, z))
