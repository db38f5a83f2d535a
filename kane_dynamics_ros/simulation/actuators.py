"""From a command to the effort that acts on the joint: the drive's inner loop and the actuator."""

import operator
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.runtime import DynamicsModel, JointInfo
from kane_dynamics_ros.simulation.engine import option_error, require

CommandInterface = Literal["position", "velocity"]
COMMAND_INTERFACES = ("effort", "position", "velocity")  # effort commands need no inner loop


@dataclass(frozen=True)
class ActuatorOptions:
    """Imperfections of the drives; the same for every joint, but for the effort limits.

    ``effort_limits`` None takes the URDF's; a joint without one (None) is not limited.
    ``ripple`` is A [N m or N], ``ripple_cycles`` N [1/rad or 1/m], ``quantum`` Q [N m or N].
    """

    effort_limits: tuple[float | None, ...] | None = None
    time_constant: float = 0.0  # T [s]
    delay: float = 0.0  # [s], rounded to whole time steps
    ripple: float = 0.0
    ripple_cycles: float = 0.0
    quantum: float = 0.0

    def __post_init__(self) -> None:
        for name in ("time_constant", "delay", "ripple", "ripple_cycles", "quantum"):
            require(f"actuator.{name}", getattr(self, name), least=0.0)


class Actuators:
    """The drives of one arm, with their memory. One ``apply`` per time step.

    In this order: transport delay, quantisation, effort limit, first-order lag, ripple:

        tau_k = tau_(k-1) + (1 - exp(-h/T)) (sat(round(u_(k-d) / Q) Q) - tau_(k-1)) + A sin(N q)

    Each element is left out where its coefficient is 0 (or, for the limit, unknown).
    """

    def __init__(self, joints: Sequence[JointInfo], options: ActuatorOptions, time_step: float) -> None:
        self.options = options
        self.limits = _limits(joints, options)
        self._bounds = np.minimum(self.limits, np.finfo(float).max).tolist()
        self._ideal = replace(options, effort_limits=None) == ActuatorOptions()
        self.admitted = np.zeros(len(joints))  # an array that was found within, and is not written to since
        self.saturated = np.zeros(len(joints), dtype=np.int64)
        self._follow = -np.expm1(-time_step / options.time_constant) if options.time_constant else 1.0
        steps = round(options.delay / time_step)
        self._pipeline = deque([np.zeros(len(joints))] * steps, maxlen=steps + 1)
        self._torque = np.zeros(len(joints))

    def within(self, wanted: Array) -> bool:
        """Whether efforts (n,) are finite and within their limits."""
        return all(map(operator.le, map(abs, wanted.tolist()), self._bounds))  # half of NumPy's time

    def apply(self, command: Array, q: Array) -> Array:
        """The effort [N m or N] that acts during the next step, (n,); counts the joints at their limit."""
        wanted = command
        if self._ideal and wanted is self.admitted:
            return wanted
        if self.options.delay:
            self._pipeline.append(command.copy())
            wanted = self._pipeline[0] if len(self._pipeline) == self._pipeline.maxlen else self._torque
        if self.options.quantum:
            wanted = np.round(wanted / self.options.quantum) * self.options.quantum
        if wanted is not self.admitted and not self.within(wanted):
            excess = np.abs(wanted) > self.limits
            wanted = np.where(excess, np.copysign(self.limits, wanted), wanted)
            self.saturated += excess
        if self._follow < 1.0:
            self._torque = wanted = self._torque + self._follow * (wanted - self._torque)
        if self.options.ripple:
            wanted = wanted + self.options.ripple * np.sin(self.options.ripple_cycles * q)
        return wanted


def _limits(joints: Sequence[JointInfo], options: ActuatorOptions) -> Array:
    """Effort limits; 0 and absent mean unknown in most URDFs, hence no limit."""
    given = options.effort_limits
    found = tuple(joint.effort for joint in joints) if given is None else given
    if len(found) != len(joints):
        raise option_error("actuator.effort_limits", list(found), f"{len(joints)} values")
    return np.array([limit or np.inf for limit in found], dtype=float)


class InnerLoop:
    """Stiff position or velocity loops inside the drive, for controllers that do not command effort.

    With the model's M and V, each joint behaves as a critically damped drive of bandwidth w [rad/s]:

        position:   tau = M(q) (w^2 (r - q) - 2 w q') + V(q, q')
        velocity:   tau = M(q) w (r - q') + V(q, q')

    A step of h [s] is stable for w h well below 1; 25 Hz at 1 kHz gives 0.16.
    """

    def __init__(self, model: DynamicsModel, interface: CommandInterface, bandwidth: float = 25.0) -> None:
        """``bandwidth`` in Hz. Raises ``SimulationError``."""
        require("command.bandwidth", bandwidth, above=0.0)
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
