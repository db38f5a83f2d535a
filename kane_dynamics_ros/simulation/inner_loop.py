"""Stiff position and velocity loops inside the drive, for controllers that do not command effort.

With the model's M and V, each joint behaves as a critically damped drive of bandwidth w [rad/s]:

    position:   tau = M(q) (w^2 (r - q) - 2 w q') + V(q, q')
    velocity:   tau = M(q) w (r - q') + V(q, q')

A step of h [s] is stable for w h well below 1; 25 Hz at 1 kHz gives 0.16.
"""

from typing import Literal

import numpy as np

from kane_dynamics_ros.runtime.interface import DynamicsModel
from kane_dynamics_ros.simulation.engine import Array
from kane_dynamics_ros.simulation.errors import SimulationOptionError

CommandInterface = Literal["position", "velocity"]
COMMAND_INTERFACES = ("effort", "position", "velocity")  # effort commands need no inner loop


class InnerLoop:
    """Effort from a position or velocity command."""

    def __init__(self, model: DynamicsModel, interface: CommandInterface, bandwidth: float = 25.0) -> None:
        """``bandwidth`` in Hz. Raises ``SimulationOptionError``."""
        if not (np.isfinite(bandwidth) and bandwidth > 0.0):
            raise SimulationOptionError("command.bandwidth", bandwidth, "finite and > 0 Hz")
        self.interface = interface
        self._model = model
        self._w = 2.0 * np.pi * bandwidth

    def __call__(self, command: Array, q: Array, qd: Array) -> Array:
        """Efforts (n,) [N m or N] from commands and state, each (n,) in joint order."""
        w = self._w
        if self.interface == "position":
            acceleration = w * w * (command - q) - 2.0 * w * qd
        else:
            acceleration = w * (command - qd)
        effort: Array = self._model.mass_matrix(q) @ acceleration + self._model.bias(q, qd)
        return effort
