"""Load a generated module, compiled or pure Python, as one ``DynamicsModel``."""

from kane_dynamics_ros.runtime.load import Backend, load_model
from kane_dynamics_ros.runtime.model import (
    DynamicsModel,
    Energy,
    JointInfo,
    Terms,
    WrenchFrame,
    initial_positions,
)
from kane_dynamics_ros.runtime.parameters import BaseParameters, Parameters, Payload, Vector

__all__ = [
    "Backend",
    "BaseParameters",
    "DynamicsModel",
    "Energy",
    "JointInfo",
    "Parameters",
    "Payload",
    "Terms",
    "Vector",
    "WrenchFrame",
    "initial_positions",
    "load_model",
]
