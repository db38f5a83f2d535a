"""From a chain and its elastic links to what the dynamics need: constants of each body, frozen."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kane_dynamics_ros.description.model import Chain, ChainJoint, Inertia
from kane_dynamics_ros.elastic.body import ElasticBody, clamped, straight_beam
from kane_dynamics_ros.elastic.equations import mass
from kane_dynamics_ros.elastic.errors import ElasticValueError, UnknownElasticLinkError
from kane_dynamics_ros.elastic.floating import rigid_inertia
from kane_dynamics_ros.elastic.link import ElasticLink
from kane_dynamics_ros.elastic.modes import natural_frequencies, proportional_damping
from kane_dynamics_ros.elastic.rotations import frame_along
from kane_dynamics_ros.elastic.section import beam_rates
from kane_dynamics_ros.runtime.interface import Array
from kane_dynamics_ros.runtime.parameters import Payload

NO_INERTIA = np.zeros((6, 6))


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


@dataclass(frozen=True)
class ArmBody:
    """One moving joint and what it carries. ``spatial`` (6, 6): the rigid inertia in the body's frame, or,
    of an elastic link, the inertia at its tip frame T (axes of L, at the beam's end).
    """

    joint: ChainJoint
    R_PJ: Array
    p_PJ: Array  # from the origin of the frame before: the link's, or an elastic link's tip frame
    axis: Array
    spatial: Array
    flexure: Flexure | None


@dataclass(frozen=True)
class ArmModel:
    """A serial arm with elastic links. Generalized coordinates: the joints', then each beam's."""

    name: str
    joint_names: tuple[str, ...]
    bodies: tuple[ArmBody, ...]
    size: int
    k: Array  # (size, size), elastic stiffness; 0 for the joints
    c: Array  # (size, size), structural damping; 0 for the joints
    rotor: Array  # (n,), rotor inertia on the joints' diagonal of M
    R_BT: Array  # the chain's tip frame in the last body's (an elastic one's tip) frame
    p_BoTo_B: Array

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joint_names)


def arm_model(chain: Chain, links: Sequence[ElasticLink] = (), payload: Payload | None = None) -> ArmModel:
    """Build the model. Raises ``UnknownElasticLinkError``, ``ElasticValueError``."""
    by_name = {link.link: link for link in links}
    known = tuple(joint.body for joint in chain.joints)
    for name in by_name:
        if name not in known:
            raise UnknownElasticLinkError(f"robot {chain.robot!r}", name, known)
    n = len(chain.coordinates)
    bodies: list[ArmBody] = []
    place, offset = n, np.zeros(3)
    for i, joint in enumerate(chain.joints):
        after = chain.joints[i + 1].p_PoJo_P if i + 1 < len(chain.joints) else chain.p_BoTo_B
        flexure, end = None, np.zeros(3)
        if joint.body in by_name:
            flexure, end = _flexure(joint, by_name[joint.body], np.array(after), place)
            place = flexure.place.stop
        spatial = NO_INERTIA if flexure else spatial_inertia(joint.inertia)
        bodies.append(
            ArmBody(
                joint,
                np.array(joint.R_PJ),
                np.array(joint.p_PoJo_P) - offset,
                np.array(joint.axis),
                spatial,
                flexure,
            )
        )
        offset = end
    model = ArmModel(
        chain.robot,
        chain.coordinates,
        tuple(bodies),
        place,
        _block(place, bodies, "k"),
        _block(place, bodies, "c"),
        _rotors(chain),
        np.array(chain.R_BT),
        np.array(chain.p_BoTo_B) - offset,
    )
    return with_payload(model, payload) if payload is not None else model


def with_payload(model: ArmModel, payload: Payload) -> ArmModel:
    """The arm with a body fixed to its tip frame."""
    ixx, ixy, ixz, iyy, iyz, izz = payload.inertia
    com = model.R_BT @ np.array(payload.com) + model.p_BoTo_B
    tensor = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    last = model.bodies[-1]
    added = _spatial(payload.mass, com, model.R_BT @ tensor @ model.R_BT.T)
    loaded = ArmBody(last.joint, last.R_PJ, last.p_PJ, last.axis, last.spatial + added, last.flexure)
    return ArmModel(**{**vars(model), "bodies": (*model.bodies[:-1], loaded)})


def spatial_inertia(inertia: Inertia) -> Array:
    """(6, 6) inertia of a lumped rigid body in its frame."""
    return _spatial(inertia.mass, np.array(inertia.com), np.array(inertia.tensor))


def _spatial(mass: float, com: Array, central: Array) -> Array:
    return rigid_inertia(mass, mass * com, central + mass * (com @ com * np.eye(3) - np.outer(com, com)))


def _flexure(joint: ChainJoint, link: ElasticLink, after: Array, place: int) -> tuple[Flexure, Array]:
    """The beam of a link, and its end in the link's frame."""
    start = np.array(link.start)
    end = after if link.end is None else np.array(link.end)
    where = f"elastic link {link.link!r}"
    span = end - start
    length = float(np.linalg.norm(span))
    if length == 0.0:
        raise ElasticValueError(
            where, "end", tuple(map(float, end)), "must be away from start: the beam has no length"
        )
    R_LB = frame_along(span, _z_axis(link, span / length, where))
    rates = beam_rates(link.material, link.section, link.rotary_inertia)
    body = clamped(straight_beam("space", rates, length, link.elements))
    m = mass(body)
    c = _damping(body, m, link)
    rest = _rest(joint.inertia, body, R_LB, start, where)
    return Flexure(body, R_LB, start, slice(place, place + len(m)), m, c, rest, link.stiffened), end


def _z_axis(link: ElasticLink, direction: Array, where: str) -> Array:
    if link.z_axis is None:
        z = np.array([0.0, 0.0, 1.0])
        return z if np.linalg.norm(np.cross(z, direction)) > 1e-3 else np.array([1.0, 0.0, 0.0])
    z = np.array(link.z_axis, dtype=float)
    if np.linalg.norm(np.cross(z / np.linalg.norm(z), direction)) < 1e-3:
        raise ElasticValueError(where, "z_axis", link.z_axis, "must not lie along the beam")
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
    com = R_LB.T @ (np.array(inertia.com) - start)
    whole = _spatial(inertia.mass, com, R_LB.T @ np.array(inertia.tensor) @ R_LB)
    if body.mass > inertia.mass * (1 + 1e-9):
        raise ElasticValueError(
            where,
            "mass of the beam [kg]",
            round(body.mass, 6),
            f"must not exceed the link's mass in the URDF, {inertia.mass:.6g} kg: "
            "lower the density, shorten the beam or correct the URDF",
        )
    J = np.trace(body.R2) * np.eye(3) - body.R2
    rest: Array = whole - rigid_inertia(body.mass, body.S, J)
    if not _physical(rest, 0.01 * np.trace(whole[:3, :3])):
        raise ElasticValueError(
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


def _rotors(chain: Chain) -> Array:
    rotor = np.zeros(len(chain.coordinates))
    for joint in chain.joints:
        rotor[joint.coordinate] += joint.multiplier**2 * joint.rotor_inertia
    return rotor


def _block(size: int, bodies: Sequence[ArmBody], name: str) -> Array:
    """Place the beams' stiffness ("k") or damping ("c") among all coordinates."""
    total = np.zeros((size, size))
    for body in bodies:
        if body.flexure is not None:
            part = body.flexure.body.k if name == "k" else body.flexure.c
            total[body.flexure.place, body.flexure.place] = part
    return total
