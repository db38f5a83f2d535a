"""Run-time parameters: their order in the ``parameters`` array, and what they do to the segments."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from kane_dynamics_ros.algebra import Matrix, Scalar, Vector, symmetric
from kane_dynamics_ros.codegen.graph import Expression, Graph
from kane_dynamics_ros.description.model import Chain, Inertia
from kane_dynamics_ros.formulation.kane.frames import Reframed
from kane_dynamics_ros.formulation.kane.segments import BodyInertia, Segment, body_inertia, moved, segments_of


@dataclass(frozen=True)
class BoundParameters:
    """The parameters as expressions, and the segments that they shape."""

    gravity: Vector
    rotor_inertia: Sequence[Expression]
    viscous: Sequence[Expression]
    coulomb: Sequence[Expression]
    coulomb_velocity: Expression
    follower_viscous: Sequence[Expression]
    follower_coulomb: Sequence[Expression]
    link_segments: tuple[Segment, ...]
    common_normal_segments: tuple[Segment, ...]


@dataclass(frozen=True)
class ParameterLayout:
    """Slices of the ``parameters`` array, in the order in which they are named here.

    Gravity (3), payload mass (1), its centre (3) and central inertia xx xy xz yy yz zz (6) in the tip frame,
    of each all tips' in turn, rotor inertia (n), viscous (n), coulomb (n), coulomb velocity (1), viscous and
    coulomb of the joints that follow by loops and, when ``inertial``, m h_x h_y h_z J_xx J_xy J_xz J_yy J_yz
    J_zz of each body about its link frame's origin (10 a body).
    """

    n: int
    bodies: int
    inertial: bool
    tips: int = 1
    followers: int = 0  # joints that follow by loops

    def slices(self) -> dict[str, slice]:
        """Where each parameter sits."""
        sizes = {
            "gravity": 3,
            "payload_mass": self.tips,
            "payload_com": 3 * self.tips,
            "payload_inertia": 6 * self.tips,
            "rotor_inertia": self.n,
            "viscous": self.n,
            "coulomb": self.n,
            "coulomb_velocity": 1,
            **(
                dict.fromkeys(("follower_viscous", "follower_coulomb"), self.followers)
                if self.followers
                else {}
            ),
            "inertial": 10 * self.bodies if self.inertial else 0,
        }
        found, start = {}, 0
        for name, size in sizes.items():
            found[name] = slice(start, start + size)
            start += size
        return found

    @property
    def size(self) -> int:
        return int(self.slices()["inertial"].stop)

    def bind(self, graph: Graph, chain: Chain, reframed: Reframed) -> BoundParameters:
        """The parameters as symbols, and the chain's segments with payload and inertias as they say."""
        symbols = [graph.symbol(f"parameters[{k}]") for k in range(self.size)]
        part = {name: symbols[where] for name, where in self.slices().items()}
        link = list(segments_of(chain))
        common_normal = list(reframed.segments)
        if self.inertial:
            for k, (R_BL, p_BL) in enumerate(reframed.links):
                body = _from_inertial_parameters(part["inertial"][10 * k : 10 * k + 10])
                link[k] = replace(link[k], body=body)
                common_normal[k] = replace(common_normal[k], body=moved(body, R_BL, p_BL))
        for t, tip in enumerate(chain.tip_frames):
            if tip.body < 0:
                continue
            payload = moved(_payload(part, t), tip.R_BT, tip.p_BoTo_B)
            link[tip.body] = _loaded(link[tip.body], payload)
            payload = moved(payload, *reframed.links[tip.body])
            common_normal[tip.body] = _loaded(common_normal[tip.body], payload)
        x, y, z = part["gravity"]
        return BoundParameters(
            (x, y, z),
            part["rotor_inertia"],
            part["viscous"],
            part["coulomb"],
            part["coulomb_velocity"][0],
            part.get("follower_viscous", ()),
            part.get("follower_coulomb", ()),
            tuple(link),
            tuple(common_normal),
        )


def _loaded(segment: Segment, payload: BodyInertia) -> Segment:
    return replace(segment, body=segment.body + payload)


def _payload(part: dict[str, list[Expression]], t: int) -> BodyInertia:
    """That of tip number ``t``."""
    tensor: Matrix = symmetric(part["payload_inertia"][6 * t : 6 * t + 6])
    com = tuple(part["payload_com"][3 * t : 3 * t + 3])
    return body_inertia(Inertia(part["payload_mass"][t], com, tensor))  # type: ignore[arg-type]


def _from_inertial_parameters(values: Sequence[Scalar]) -> BodyInertia:
    """From m, h and J about the origin: S = (trace(J)/2) 1 - J."""
    m, hx, hy, hz, xx, xy, xz, yy, yz, zz = values
    half = (xx + yy + zz) * 0.5
    return BodyInertia(m, (hx, hy, hz), (half - xx, -xy, -xz, half - yy, -yz, half - zz))


def default_parameters(layout: ParameterLayout, chain: Chain) -> tuple[float, ...]:
    """The parameters array that a loaded module begins with: no payload, no friction, the URDF's rotors."""
    values = [0.0] * layout.size
    part = layout.slices()
    values[part["gravity"]] = chain.gravity
    values[part["rotor_inertia"]] = chain.rotor_inertia
    values[part["coulomb_velocity"]] = [0.01]
    if layout.inertial:
        bodies = [body_inertia(joint.inertia) for joint in chain.joints]
        values[part["inertial"]] = [cast(float, x) for body in bodies for x in body.inertial_parameters()]
    return tuple(float(value) for value in values)
