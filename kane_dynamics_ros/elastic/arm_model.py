"""From a chain and its elastic links to what the dynamics need: transforms, inertias, constants of each body.

A motion is (angular velocity, velocity of the frame's origin), both expressed in the frame itself; a 6 x 6
transform takes it, and partial velocities, from frame to frame.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array, symmetric
from kane_dynamics_ros.description.geometry import about_origin
from kane_dynamics_ros.description.model import Chain, ChainJoint, Inertia
from kane_dynamics_ros.elastic.body import ElasticBody, clamped, straight_beam
from kane_dynamics_ros.elastic.equations import mass, natural_frequencies, proportional_damping, skew
from kane_dynamics_ros.elastic.link import ElasticLink, beam_rates, wrong_property
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.runtime import Payload

E3 = np.eye(3)


def transform(R: Array, r: Array) -> Array:
    """X (6, 6) with (motion of C) = X (motion of P), for C fixed in P at ``r`` [m] with orientation R_PC."""
    X = np.zeros((6, 6))
    X[:3, :3] = X[3:, 3:] = R.T
    X[3:, :3] = -(R.T @ skew(r))
    return X


class SectionRotation(NamedTuple):
    """A section's rotation R, angular velocity and part of its angular acceleration.

    ``omega`` = J theta' [rad/s]; ``rest`` [rad/s^2] is what remains of the angular acceleration beside J
    theta''. All are expressed in the undeformed frame.
    """

    R: Array
    J: Array
    omega: Array
    rest: Array


def turn(theta: Array, rate: Array) -> SectionRotation:
    """The rotation that belongs to a node's angles theta = (phi, theta_y, theta_z) and their rates.

    Cayley's map, R = E + c ([t] + [t]^2 / 2) with c = 4 / (4 + t.t): to first order the beam's rotation
    E + [theta], and a true rotation for any theta, so that no energy is lost or made.
    omega = c (t' + t x t' / 2); c' = - c^2 t.t' / 2. ``theta`` [rad] and ``rate`` [rad/s]: (3,).
    """
    K = skew(theta)
    c = 4.0 / (4.0 + float(theta @ theta))
    c_rate = -0.5 * c * c * float(theta @ rate)
    B = E3 + 0.5 * K
    omega = c * (B @ rate)
    return SectionRotation(E3 + c * (K + 0.5 * (K @ K)), c * B, omega, (c_rate / c) * omega)


def frame_along(direction: Array, z_axis: Array) -> Array:
    """The orientation of a frame whose x is ``direction`` and whose z is nearest to ``z_axis``, (3, 3)."""
    x = direction / np.linalg.norm(direction)
    y = np.cross(z_axis, x)
    y /= np.linalg.norm(y)
    return np.stack([x, y, np.cross(x, y)], axis=1)


# Generalized inertia


class FloatingInertia(NamedTuple):
    """Inertia of a body in its frame: ``spatial`` (6, 6) for (alpha, a_O); ``coupling`` (6, n) to delta''.

    ``bias`` (6,) and ``bias_delta`` (n,): inertia forces at delta'' = 0 for the frame's (alpha, a_O) given.
    """

    spatial: Array
    coupling: Array
    bias: Array
    bias_delta: Array


def rigid_inertia(mass: float, S: Array, J: Array) -> Array:
    """(6, 6) of a rigid body: ``S`` = mass times centre of mass [kg m], ``J`` about the origin [kg m^2]."""
    total = np.zeros((6, 6))
    total[:3, :3] = J
    total[:3, 3:] = skew(S)
    total[3:, :3] = -total[:3, 3:]
    total[3:, 3:] = mass * E3
    return total


def spatial_inertia(inertia: Inertia) -> Array:
    """(6, 6) of a rigid body from its centre of mass and central tensor, about its frame's origin."""
    mass, x, y, z, *J = about_origin(inertia)
    return rigid_inertia(mass, np.array([x, y, z]), np.array(symmetric(J)))


def rigid_bias(spatial: Array, omega: Array, acceleration: Array) -> Array:
    """Inertia moment about O [N m] and force [N], (6,), of a rigid body at (alpha, a_O)."""
    K = skew(omega)
    velocity_terms = spatial[:, :3] @ omega  # J omega, and - S x omega = omega x S
    bias = spatial @ acceleration
    bias[:3] += K @ velocity_terms[:3]
    bias[3:] += K @ velocity_terms[3:]
    return np.asarray(bias)


def floating_inertia(
    body: ElasticBody, delta: Array, rate: Array, omega: Array, acceleration: Array
) -> FloatingInertia:
    """The inertia of an elastic body in the state (delta, delta') at the frame's omega, alpha, a_O.

    [WindPump] eq. (17) with three rows more, for a frame that moves freely. With rho = r + N delta,
    W = [alpha] + [omega][omega] and the acceleration of a point, eq. (15),

        a = a_O + W rho + 2 omega x N delta' + N delta'',

    Kane's generalized inertia forces are int (partial velocity) . a dm for the partial velocities N (delta',
    eq. (16)), E (velocity of O) and -[rho] (angular velocity). All integrals are contractions of the body's
    D, E and m_O.
    """
    n = len(delta)
    D_delta, D_rate = (body.D.reshape(9 * n, n) @ np.stack([delta, rate], axis=1)).T.reshape(2, 3, 3, n)
    rho = body.E + D_delta  # [b, a]: int N_b rho_a dm
    coupling = np.empty((6, n))
    coupling[0], coupling[1], coupling[2] = (
        rho[2, 1] - rho[1, 2],
        rho[0, 2] - rho[2, 0],
        rho[1, 0] - rho[0, 1],
    )
    coupling[3:] = body.m_O
    R2 = body.R2 + body.E @ delta + (rho @ delta).T  # int rho rho^T dm
    S = body.S + body.m_O @ delta  # int rho dm
    J = (R2[0, 0] + R2[1, 1] + R2[2, 2]) * E3 - R2
    T = (rho @ rate).T  # [a, b]: int rho_a u'_b dm
    K = skew(omega)
    W = skew(acceleration[:3]) + K @ K
    inertia = rigid_inertia(body.mass, S, J)
    bias = np.empty(6)
    bias[:3] = (
        inertia[:3] @ acceleration
        + K @ (J @ omega)
        + 2.0 * ((T[0, 0] + T[1, 1] + T[2, 2]) * omega - omega @ T)
    )
    bias[3:] = body.mass * acceleration[3:] + W @ S + 2.0 * (K @ (body.m_O @ rate))
    bias_delta = acceleration[3:] @ body.m_O + W.reshape(9) @ rho.reshape(9, n)  # [WindPump] eq. (17)
    bias_delta = bias_delta + 2.0 * (K.reshape(9) @ D_rate.reshape(9, n))
    return FloatingInertia(inertia, coupling, bias, bias_delta)


# The bodies of an arm: constants


@dataclass(frozen=True)
class Flexure:
    """The beam of an elastic link. Frame B: origin at the beam's start, x along it; L: the link's frame.

    ``place``: where its coordinates stand among all generalized coordinates. ``m``, ``c``: mass and damping
    matrix. ``rest`` (6, 6): inertia in B of what the URDF gives the link beyond the beam, rigid at its start.
    """

    body: ElasticBody
    R_LB: Array
    p_LoBo_L: Array
    place: slice
    m: Array
    c: Array
    rest: Array
    stiffened: bool

    @property
    def tip_place(self) -> slice:
        """Where the six coordinates of the last node stand among all generalized coordinates."""
        return slice(self.place.stop - 6, self.place.stop)


def beam_of_link(inertia: Inertia, link: ElasticLink, after: Array, place: int) -> tuple[Flexure, Array]:
    """The beam of a link, and its end in the link's frame.

    Args:
        inertia: the link's in the URDF, in its frame.
        link: what bends.
        after: where the next joint or the tip is, in the link's frame, (3,) [m].
        place: of the beam's first coordinate among all generalized coordinates.

    Raises:
        KaneDynamicsError: ``elastic_value``, no beam of that length, or one that is more than the link.
    """
    start = np.array(link.start)
    end = after if link.end is None else np.array(link.end)
    where = f"elastic link {link.link!r}"
    span = end - start
    length = float(np.linalg.norm(span))
    if length == 0.0:
        raise wrong_property(
            where, "end", tuple(map(float, end)), "must be away from start: the beam has no length"
        )
    R_LB = frame_along(span, _z_axis(link, span / length, where))
    rates = beam_rates(link.material, link.section, link.rotary_inertia)
    body = clamped(straight_beam("space", rates, length, link.elements))
    m = mass(body)
    c = _damping(body, m, link)
    rest = _rest(inertia, body, R_LB, start, where)
    return Flexure(body, R_LB, start, slice(place, place + len(m)), m, c, rest, link.stiffened), end


def _z_axis(link: ElasticLink, direction: Array, where: str) -> Array:
    if link.z_axis is None:
        z = np.array([0.0, 0.0, 1.0])
        return z if np.linalg.norm(np.cross(z, direction)) > 1e-3 else np.array([1.0, 0.0, 0.0])
    z = np.array(link.z_axis, dtype=float)
    if np.linalg.norm(np.cross(z / np.linalg.norm(z), direction)) < 1e-3:
        raise wrong_property(where, "z_axis", link.z_axis, "must not lie along the beam")
    return z


def _damping(body: ElasticBody, m: Array, link: ElasticLink) -> Array:
    """Proportional damping with the wanted ratio at the first two bending modes of the weaker plane."""
    if link.damping == 0.0:
        return np.zeros_like(m)
    weaker = (2, 4) if link.section.Iy <= link.section.Iz else (1, 5)
    keep = [i for i, number in enumerate(body.free) if number % 6 in weaker]
    square = np.ix_(keep, keep)
    first, second = natural_frequencies(m[square], body.k[square])[:2]
    a, b = proportional_damping((link.damping, link.damping), (first, second))
    return np.asarray(a * m + b * body.k)


def _rest(inertia: Inertia, body: ElasticBody, R_LB: Array, start: Array, where: str) -> Array:
    """What remains of the URDF's inertia when the beam is taken away, in B."""
    X = np.linalg.inv(transform(R_LB, start))  # from B to the link's frame
    whole = X.T @ spatial_inertia(inertia) @ X
    if body.mass > inertia.mass * (1 + 1e-9):
        raise wrong_property(
            where,
            "mass of the beam [kg]",
            round(body.mass, 6),
            f"must not exceed the link's mass in the URDF, {inertia.mass:.6g} kg: "
            "lower the density, shorten the beam or correct the URDF",
        )
    J = np.trace(body.R2) * np.eye(3) - body.R2
    rest: Array = whole - rigid_inertia(body.mass, body.S, J)
    if not _physical(rest, 0.01 * np.trace(whole[:3, :3])):
        raise wrong_property(
            where,
            "inertia that the beam leaves of the link's",
            rest[:3, :3].round(6).tolist(),
            "must belong to some distribution of mass: correct the beam's density or the URDF's inertial",
        )
    return rest


def _physical(spatial: Array, tolerance: float) -> bool:
    """Whether a mass distribution has this inertia, but for ``tolerance`` [kg m^2] of rounding."""
    second = 0.5 * np.trace(spatial[:3, :3]) * np.eye(3) - spatial[:3, :3]  # int r r^T dm
    first = np.array([spatial[2, 4], spatial[0, 5], spatial[1, 3]])
    pseudo = np.block([[second, first[:, None]], [first[None], spatial[3:4, 3:4]]])
    return bool(np.linalg.eigvalsh(pseudo)[0] >= -tolerance)


@dataclass(frozen=True)
class ArmBody:
    """One moving joint and what it carries.

    ``spatial`` (6, 6): the rigid inertia in the body's frame, or, of an elastic link, the inertia at its tip
    frame T (axes of L, at the beam's end).
    """

    joint: ChainJoint
    turning: tuple[Array, Array, Array]  # R_PJ, R_PJ [axis], R_PJ [axis]^2: see ``orientation``
    p_PJ: Array  # from the origin of the body that carries it: the link's, or an elastic link's tip frame
    axis: Array
    spatial: Array
    flexure: Flexure | None

    def orientation(self, position: float) -> Array:
        """R of the body in the frame that carries it: Rodrigues' formula, R_PJ where the joint slides."""
        fixed, once, twice = self.turning
        if self.joint.kind == "prismatic":
            return fixed
        return np.asarray(fixed + math.sin(position) * once + (1.0 - math.cos(position)) * twice)


@dataclass(frozen=True)
class ArmModel:
    """An arm with elastic links. Generalized coordinates: the joints', then each beam's."""

    name: str
    joint_names: tuple[str, ...]
    bodies: tuple[ArmBody, ...]
    size: int
    k: Array  # (size, size), elastic stiffness; 0 for the joints
    c: Array  # (size, size), structural damping; 0 for the joints
    rotor: Array  # (n,), rotor inertia on the joints' diagonal of M
    R_BT: Array  # the chain's tip frame in the frame of body ``tip_body`` (an elastic one's tip)
    p_BoTo_B: Array
    tip_body: int

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joint_names)


def arm_model(chain: Chain, links: Sequence[ElasticLink] = (), payload: Payload | None = None) -> ArmModel:
    """The model of a chain whose ``links`` bend, with a body fixed to its tip frame.

    Raises:
        KaneDynamicsError: ``unknown_elastic_link``, a link that is no moving body of the chain;
            ``elastic_value``, a link that is given twice, or whose beam and inertia do not go together.
    """
    by_name = _by_name(chain, links)
    bodies: list[ArmBody] = []
    size = len(chain.coordinates)
    ends: list[Array] = []  # where each body's frame has its origin for what it carries: at the end of a beam
    for number, joint in enumerate(chain.joints):
        after = next((other.p_PoJo_P for other in chain.joints if other.parent == number), chain.p_BoTo_B)
        flexure, end, spatial = None, np.zeros(3), spatial_inertia(joint.inertia)
        if joint.body in by_name:
            flexure, end = beam_of_link(joint.inertia, by_name[joint.body], np.array(after), size)
            size, spatial = flexure.place.stop, np.zeros((6, 6))
        p_PJ = np.array(joint.p_PoJo_P) - (ends[joint.parent] if joint.parent >= 0 else 0.0)
        R_PJ, K = np.array(joint.R_PJ), skew(np.array(joint.axis))
        turning = (R_PJ, R_PJ @ K, R_PJ @ K @ K)
        bodies.append(ArmBody(joint, turning, p_PJ, np.array(joint.axis), spatial, flexure))
        ends.append(end)
    k, c = np.zeros((2, size, size))
    for flexure in (body.flexure for body in bodies):
        if flexure is not None:
            k[flexure.place, flexure.place], c[flexure.place, flexure.place] = flexure.body.k, flexure.c
    model = ArmModel(
        chain.robot,
        chain.coordinates,
        tuple(bodies),
        size,
        k,
        c,
        np.array(chain.rotor_inertia),
        np.array(chain.R_BT),
        np.array(chain.p_BoTo_B) - ends[chain.tip_body],
        chain.tip_body,
    )
    return with_payload(model, payload) if payload is not None else model


def _by_name(chain: Chain, links: Sequence[ElasticLink]) -> dict[str, ElasticLink]:
    known = tuple(joint.body for joint in chain.joints)
    found: dict[str, ElasticLink] = {}
    for link in links:
        if link.link not in known:
            raise KaneDynamicsError(
                f"robot {chain.robot!r}: elastic link {link.link!r}: no moving body of the chain has this "
                f"name; the bodies are {', '.join(map(repr, known))}",
                "unknown_elastic_link",
                found=link.link,
                known=known,
            )
        if link.link in found:
            raise wrong_property(f"elastic link {link.link!r}", "link", link.link, "must be given once")
        found[link.link] = link
    return found


def with_payload(model: ArmModel, payload: Payload) -> ArmModel:
    """The arm with a body fixed to its tip frame."""
    bodies, X = list(model.bodies), transform(model.R_BT, model.p_BoTo_B)
    held = spatial_inertia(Inertia(payload.mass, payload.com, symmetric(payload.inertia)))
    last = bodies[model.tip_body]
    bodies[model.tip_body] = replace(last, spatial=last.spatial + X.T @ held @ X)
    return replace(model, bodies=tuple(bodies))
