"""Run-time parameters: their order in the ``parameters`` array, and what they do to the segments."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from kane_dynamics_ros.algebra import Matrix, Scalar, Vector
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
    link_segments: tuple[Segment, ...]
    common_normal_segments: tuple[Segment, ...]


@dataclass(frozen=True)
class ParameterLayout:
    """Slices of the ``parameters`` array, in the order in which they are named here.

    Gravity (3), payload mass (1), its centre (3) and central inertia xx xy xz yy yz zz (6) in the tip frame,
    rotor inertia (n), viscous (n), coulomb (n), coulomb velocity (1) and, when ``inertial``, m h_x h_y h_z
    J_xx J_xy J_xz J_yy J_yz J_zz of each body about its link frame's origin (10 a body).
    """

    n: int
    bodies: int
    inertial: bool

    def slices(self) -> dict[str, slice]:
        """Where each parameter sits."""
        sizes = {
            "gravity": 3,
            "payload_mass": 1,
            "payload_com": 3,
            "payload_inertia": 6,
            "rotor_inertia": self.n,
            "viscous": self.n,
            "coulomb": self.n,
            "coulomb_velocity": 1,
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
        payload = _payload(part)
        tip = chain.tip_body
        R_BL, p_BL = reframed.links[tip]
        in_link = moved(payload, chain.R_BT, chain.p_BoTo_B)
        link[tip] = replace(link[tip], body=link[tip].body + in_link)
        common_normal[tip] = replace(
            common_normal[tip], body=common_normal[tip].body + moved(in_link, R_BL, p_BL)
        )
        x, y, z = part["gravity"]
        return BoundParameters(
            (x, y, z),
            part["rotor_inertia"],
            part["viscous"],
            part["coulomb"],
            part["coulomb_velocity"][0],
            tuple(link),
            tuple(common_normal),
        )


def _payload(part: dict[str, list[Expression]]) -> BodyInertia:
    xx, xy, xz, yy, yz, zz = part["payload_inertia"]
    tensor: Matrix = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    mass: Scalar = part["payload_mass"][0]
    return body_inertia(Inertia(mass, tuple(part["payload_com"]), tensor))  # type: ignore[arg-type]


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
