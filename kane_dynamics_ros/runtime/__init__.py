"""Load a generated module, compiled or pure Python, as one ``DynamicsModel``."""

from kane_dynamics_ros.runtime.interface import DynamicsModel, Energy, JointInfo, Parameters, Payload, Terms
from kane_dynamics_ros.runtime.load import Backend, load_model

__all__ = ["Backend", "DynamicsModel", "Energy", "JointInfo", "Parameters", "Payload", "Terms", "load_model"]
