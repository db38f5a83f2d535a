"""The model that the node uses, checked against the robot's description."""

from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.runtime.interface import DynamicsModel


def load_checked_model(name: str) -> DynamicsModel:
    """The generated module of that path or name. Raises ``KaneDynamicsError``."""
    return load_model(name)
