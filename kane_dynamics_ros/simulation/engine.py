"""The seam between a plant (ours or MuJoCo's) and everything around it."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kane_dynamics_ros.runtime.interface import JointInfo
from kane_dynamics_ros.runtime.parameters import Payload
from kane_dynamics_ros.simulation.errors import SimulationDivergedError

Array = NDArray[np.float64]


class Engine(Protocol):
    """An arm that moves when efforts act on it. Arrays are (n,), in the order of ``joints``.

    ``q`` [rad or m] and ``qd`` [rad/s or m/s] are the true state, not what a sensor sees; they are
    the engine's own arrays: read them, do not write to them.
    """

    @property
    def joints(self) -> tuple[JointInfo, ...]: ...
    @property
    def time_step(self) -> float: ...  # [s]
    @property
    def q(self) -> Array: ...
    @property
    def qd(self) -> Array: ...

    def step(self, effort: Array) -> None:
        """Advance one time step under constant joint efforts [N m or N].

        Raises ``SimulationDivergedError`` when the next state is not finite; the state then stays.
        """

    def reset(self, q: Array, qd: Array) -> None:
        """Put the arm into a state."""

    def set_payload(self, payload: Payload) -> None:
        """Attach a body to the tip, or release it (mass 0); position and velocity stay."""

    def set_brake(self, effort: Array) -> None:
        """Dry friction of the joint brakes [N m or N]: 0 is open, infinity locks the joint."""


def refuse_divergence(engine: Engine, q: Array, qd: Array, time: float) -> None:
    """Raise ``SimulationDivergedError`` when the next state, at ``time`` [s], is not finite."""
    finite = np.isfinite(q) & np.isfinite(qd)
    if not finite.all():
        raise SimulationDivergedError(time, engine.joints[int(np.argmin(finite))].name, engine.time_step)
