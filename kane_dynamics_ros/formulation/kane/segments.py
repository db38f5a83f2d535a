"""What the formulation works on: a chain as segments, one joint and one rigid body each.

The scalars may be floats, SymPy symbols or code expressions. Body inertia is held about the body
frame's origin, because then every term of the equations is linear in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kane_dynamics_ros.description.model import Chain, Inertia
from kane_dynamics_ros.formulation.algebra import Matrix, Scalar, Vector, add, apply, scale

Six = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]


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

    def standard(self) -> tuple[Scalar, ...]:
        """(m, h_x, h_y, h_z, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz): the regressor's parameters."""
        return (self.mass, *self.moment, *self.tensor())


def body_of(values: Sequence[Scalar]) -> BodyInertia:
    """The inverse of ``BodyInertia.values``."""
    m, hx, hy, hz, xx, xy, xz, yy, yz, zz = values
    return BodyInertia(m, (hx, hy, hz), (xx, xy, xz, yy, yz, zz))


@dataclass(frozen=True)
class Segment:
    """One moving joint and the body it carries; the joint frame J coincides with B at position 0.

    ``R_PJ``, ``p_PoJo_P``: J in the previous body's frame P. ``axis``: unit vector in J (and B).
    The joint's position is ``multiplier * q[coordinate] + offset``.
    """

    name: str
    prismatic: bool
    R_PJ: Matrix
    p_PoJo_P: Vector
    axis: Vector
    body: BodyInertia
    coordinate: int
    multiplier: Scalar = 1
    offset: Scalar = 0


def symmetric(six: Sequence[Scalar]) -> Matrix:
    """Six entries (xx, xy, xz, yy, yz, zz) as a matrix."""
    xx, xy, xz, yy, yz, zz = six
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


def about_origin(inertia: Inertia) -> BodyInertia:
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
    """The same body seen from frame A: rotate, then shift the reference point from Bo to Ao.

    With h' = R h: h_A = h' + m p and S_A = R S R^T + p h'^T + h' p^T + m p p^T.
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


def segments_of(chain: Chain) -> tuple[Segment, ...]:
    """The chain's joints and lumped bodies in their URDF link frames."""
    return tuple(
        Segment(
            joint.name,
            joint.kind == "prismatic",
            joint.R_PJ,
            joint.p_PoJo_P,
            joint.axis,
            about_origin(joint.inertia),
            joint.coordinate,
            joint.multiplier,
            joint.offset,
        )
        for joint in chain.joints
    )
