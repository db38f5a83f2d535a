"""URDF and xacro to a frozen, XML-free Robot, and its serial chain to a tip."""

from kane_dynamics_ros.description.chain import serial_chain
from kane_dynamics_ros.description.findings import DescriptionError, Finding
from kane_dynamics_ros.description.load import load_robot
from kane_dynamics_ros.description.model import (
    Chain,
    ChainJoint,
    Inertia,
    Joint,
    Limits,
    Link,
    Mimic,
    Robot,
)
from kane_dynamics_ros.description.physics_hash import (
    ModelOrigin,
    OriginCheck,
    check_origin,
    physics_hash,
)
from kane_dynamics_ros.description.reader import parse_robot

__all__ = [
    "Chain",
    "ChainJoint",
    "DescriptionError",
    "Finding",
    "Inertia",
    "Joint",
    "Limits",
    "Link",
    "Mimic",
    "ModelOrigin",
    "OriginCheck",
    "Robot",
    "check_origin",
    "load_robot",
    "parse_robot",
    "physics_hash",
    "serial_chain",
]
