"""The beam of an elastic link: constants that the dynamics need, frozen."""

from dataclasses import dataclass

import numpy as np

from kane_dynamics_ros.description.model import Inertia
from kane_dynamics_ros.elastic.body import ElasticBody, clamped, straight_beam
from kane_dynamics_ros.elastic.equations import mass
from kane_dynamics_ros.elastic.errors import ElasticValueError
from kane_dynamics_ros.elastic.floating import body_inertia, rigid_inertia
from kane_dynamics_ros.elastic.link import ElasticLink
from kane_dynamics_ros.elastic.modes import natural_frequencies, proportional_damping
from kane_dynamics_ros.elastic.rotations import frame_along
from kane_dynamics_ros.elastic.section import beam_rates
from kane_dynamics_ros.runtime.interface import Array


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

    ``inertia``: the link's in the URDF; ``after``: where the next joint or the tip is, in the link's frame;
    ``place``: of the beam's first coordinate. Raises ``ElasticValueError``.
    """
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
    rest = _rest(inertia, body, R_LB, start, where)
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
    whole = body_inertia(inertia.mass, com, R_LB.T @ np.array(inertia.tensor) @ R_LB)
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
