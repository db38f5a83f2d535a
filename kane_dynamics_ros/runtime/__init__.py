"""Load a generated module, compiled or pure Python, as one ``DynamicsModel``."""

from kane_dynamics_ros.runtime.interface import (
    BaseParameters,
    DynamicsModel,
    Energy,
    JointInfo,
    Parameters,
    Payload,
    Terms,
    Vector,
    WrenchFrame,
    initial_positions,
)
from kane_dynamics_ros.runtime.load import Backend, load_model

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
