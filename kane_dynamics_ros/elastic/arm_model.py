"""From a chain and its elastic links to what the dynamics need: constants of each body, frozen."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kane_dynamics_ros.description.model import Chain, ChainJoint
from kane_dynamics_ros.elastic.equations import skew
from kane_dynamics_ros.elastic.errors import ElasticValueError, UnknownElasticLinkError
from kane_dynamics_ros.elastic.flexure import Flexure, beam_of_link
from kane_dynamics_ros.elastic.floating import body_inertia, spatial_inertia
from kane_dynamics_ros.elastic.link import ElasticLink
from kane_dynamics_ros.runtime.interface import Array
from kane_dynamics_ros.runtime.parameters import Payload


@dataclass(frozen=True)
class ArmBody:
    """One moving joint and what it carries. ``spatial`` (6, 6): the rigid inertia in the body's frame, or,
    of an elastic link, the inertia at its tip frame T (axes of L, at the beam's end).
    """

    joint: ChainJoint
    turning: tuple[Array, Array, Array]  # R_PJ, R_PJ [axis], R_PJ [axis]^2: see ``orientation``
    p_PJ: Array  # from the origin of the frame before: the link's, or an elastic link's tip frame
    axis: Array
    spatial: Array
    flexure: Flexure | None

    def orientation(self, position: float) -> Array:
        """R of the body in the frame before it: Rodrigues' formula, R_PJ where the joint slides."""
        fixed, once, twice = self.turning
        if self.joint.kind == "prismatic":
            return fixed
        return np.asarray(fixed + math.sin(position) * once + (1.0 - math.cos(position)) * twice)


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
    by_name = _by_name(chain, links)
    bodies: list[ArmBody] = []
    place, offset = len(chain.coordinates), np.zeros(3)
    origins = [*(joint.p_PoJo_P for joint in chain.joints[1:]), chain.p_BoTo_B]
    for joint, after in zip(chain.joints, origins, strict=True):
        flexure, end, spatial = None, np.zeros(3), spatial_inertia(joint.inertia)
        if joint.body in by_name:
            flexure, end = beam_of_link(joint.inertia, by_name[joint.body], np.array(after), place)
            place, spatial = flexure.place.stop, np.zeros((6, 6))
        p_PJ = np.array(joint.p_PoJo_P) - offset
        R_PJ, K = np.array(joint.R_PJ), skew(np.array(joint.axis))
        turning = (R_PJ, R_PJ @ K, R_PJ @ K @ K)
        bodies.append(ArmBody(joint, turning, p_PJ, np.array(joint.axis), spatial, flexure))
        offset = end
    model = ArmModel(
        chain.robot,
        chain.coordinates,
        tuple(bodies),
        place,
        _block(place, bodies, "k"),
        _block(place, bodies, "c"),
        np.array(chain.rotor_inertia),
        np.array(chain.R_BT),
        np.array(chain.p_BoTo_B) - offset,
    )
    return with_payload(model, payload) if payload is not None else model


def _by_name(chain: Chain, links: Sequence[ElasticLink]) -> dict[str, ElasticLink]:
    known = tuple(joint.body for joint in chain.joints)
    found: dict[str, ElasticLink] = {}
    for link in links:
        if link.link not in known:
            raise UnknownElasticLinkError(f"robot {chain.robot!r}", link.link, known)
        if link.link in found:
            raise ElasticValueError(f"elastic link {link.link!r}", "link", link.link, "must be given once")
        found[link.link] = link
    return found


def with_payload(model: ArmModel, payload: Payload) -> ArmModel:
    """The arm with a body fixed to its tip frame."""
    ixx, ixy, ixz, iyy, iyz, izz = payload.inertia
    com = model.R_BT @ np.array(payload.com) + model.p_BoTo_B
    tensor = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    last = model.bodies[-1]
    added = body_inertia(payload.mass, com, model.R_BT @ tensor @ model.R_BT.T)
    return replace(model, bodies=(*model.bodies[:-1], replace(last, spatial=last.spatial + added)))


def _block(size: int, bodies: Sequence[ArmBody], name: str) -> Array:
    """Place the beams' stiffness ("k") or damping ("c") among all coordinates."""
    total = np.zeros((size, size))
    for body in bodies:
        if body.flexure is not None:
            part = body.flexure.body.k if name == "k" else body.flexure.c
            total[body.flexure.place, body.flexure.place] = part
    return total
