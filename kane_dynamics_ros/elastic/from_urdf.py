"""An elastic arm from a URDF's text, for a given generated model."""

import os
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kane_dynamics_ros.description import Chain, Inertia, parse_robot, physics_hash, serial_chain
from kane_dynamics_ros.elastic.arm_model import ArmModel, arm_model
from kane_dynamics_ros.elastic.errors import NoElasticLinkError, OtherRobotError
from kane_dynamics_ros.elastic.link import ElasticLink
from kane_dynamics_ros.elastic.reader import elastic_links_from_text, elastic_links_from_yaml
from kane_dynamics_ros.runtime.interface import DynamicsModel


def elastic_arm(
    urdf: str,
    model: DynamicsModel,
    links: str | os.PathLike[str] | None = None,
    factors: Mapping[str, float] | None = None,
) -> ArmModel:
    """The robot of ``urdf`` with the links that bend.

    ``links``: a YAML file, or None for the URDF's own ``<elastic>`` elements. ``factors`` multiply the mass
    and inertia of bodies, by name. Payload and rotor inertia are left to the caller. Raises
    ``DescriptionError``, ``ElasticValueError``, ``NoElasticLinkError``, and ``OtherRobotError`` when
    ``model`` was generated from another robot.
    """
    chain = serial_chain(parse_robot(urdf), model.tip)
    if physics_hash(chain) != model.urdf_hash:
        raise OtherRobotError(model.name, model.urdf_hash, physics_hash(chain))
    found = elastic_links_from_text(urdf) if links is None else elastic_links_from_yaml(links)
    if not found:
        raise NoElasticLinkError(chain.robot, None if links is None else os.fspath(links))
    given = factors or {}
    return arm_model(_heavier(chain, given), [_denser(link, given.get(link.link, 1.0)) for link in found])


def _heavier(chain: Chain, factors: Mapping[str, float]) -> Chain:
    joints = (
        replace(joint, inertia=_scaled(joint.inertia, factors.get(joint.body, 1.0))) for joint in chain.joints
    )
    return replace(chain, joints=tuple(joints))


def _scaled(inertia: Inertia, factor: float) -> Inertia:
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = (factor * np.array(inertia.tensor)).tolist()
    return replace(inertia, mass=factor * inertia.mass, tensor=((xx, xy, xz), (yx, yy, yz), (zx, zy, zz)))


def _denser(link: ElasticLink, factor: float) -> ElasticLink:
    return replace(link, material=replace(link.material, density=factor * link.material.density))
