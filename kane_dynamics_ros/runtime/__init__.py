"""Load a generated module, compiled or pure Python, as one ``DynamicsModel``."""

from kane_dynamics_ros.runtime.compilation import CompileError
from kane_dynamics_ros.runtime.load import Backend, load_model
from kane_dynamics_ros.runtime.model import (
    DynamicsModel,
    Energy,
    JointInfo,
    ModelError,
    Terms,
    WrenchFrame,
    initial_positions,
)
from kane_dynamics_ros.runtime.parameters import BaseParameters, ParameterError, Parameters, Payload, Vector
from kane_dynamics_ros.runtime.units import CONTROL

__all__ = [
    "CONTROL",
    "Backend",
    "BaseParameters",
    "CompileError",
    "DynamicsModel",
    "Energy",
    "JointInfo",
    "ModelError",
    "ParameterError",
    "Parameters",
    "Payload",
    "Terms",
    "Vector",
    "WrenchFrame",
    "initial_positions",
    "load_model",
]
