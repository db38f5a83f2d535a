"""An elastic arm from a URDF's text, for a given generated model."""

import os

from kane_dynamics_ros.description import parse_robot, physics_hash, serial_chain
from kane_dynamics_ros.elastic.arm_model import ArmModel, arm_model
from kane_dynamics_ros.elastic.errors import NoElasticLinkError, OtherRobotError
from kane_dynamics_ros.elastic.reader import elastic_links_from_text, elastic_links_from_yaml
from kane_dynamics_ros.runtime.interface import DynamicsModel


def elastic_arm(urdf: str, model: DynamicsModel, links: str | os.PathLike[str] | None = None) -> ArmModel:
    """The robot of ``urdf`` with the links that bend.

    ``links``: a YAML file, or None for the URDF's own ``<elastic>`` elements. Payload and rotor inertia are
    left to the caller. Raises ``DescriptionError``, ``ElasticValueError``, ``NoElasticLinkError``, and
    ``OtherRobotError`` when ``model`` was generated from another robot.
    """
    chain = serial_chain(parse_robot(urdf), model.tip)
    if physics_hash(chain) != model.urdf_hash:
        raise OtherRobotError(model.name, model.urdf_hash, physics_hash(chain))
    found = elastic_links_from_text(urdf) if links is None else elastic_links_from_yaml(links)
    if not found:
        raise NoElasticLinkError(chain.robot, None if links is None else os.fspath(links))
    return arm_model(chain, found)
