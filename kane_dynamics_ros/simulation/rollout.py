"""Closed loop without ROS: a controller and a simulated arm in lock step, as arrays."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.simulation.engine import option_error
from kane_dynamics_ros.simulation.hardware import SimulatedHardware
from kane_dynamics_ros.simulation.plant import Plant

# Reference (3, n), measured q and qd -> command (n,).
ControlFunction = Callable[[Array, Array, Array], Array]
ReferenceFunction = Callable[[float], Array]  # time [s] -> position, velocity and acceleration (3, n)


@dataclass(frozen=True)
class Rollout:
    """What happened, one row per control period, T rows; n joints in model order.

    ``q`` and ``qd`` are the true state when the command was computed, ``position`` and ``velocity`` what
    the controller was told, ``effort`` what the actuators gave in the time step before.
    """

    time: Array  # (T,) [s]
    reference: Array  # (T, 3, n)
    q: Array  # (T, n)
    qd: Array  # (T, n)
    position: Array  # (T, n)
    velocity: Array  # (T, n)
    effort: Array  # (T, n)
    command: Array  # (T, n)

    @property
    def error(self) -> Array:
        """True tracking error, reference minus position, (T, n)."""
        return self.reference[:, 0] - self.q


def simulate(
    model: DynamicsModel,
    controller: ControlFunction,
    trajectory: ReferenceFunction,
    duration: float,
    hardware: SimulatedHardware | None = None,
    control_rate: float | None = None,
) -> Rollout:
    """Run ``controller`` against an arm for ``duration`` [s].

    ``hardware`` None is an ideal arm with the model's own dynamics and the URDF's friction.
    ``control_rate`` [Hz] None is one command per time step; else it must divide the step rate.
    Raises ``SimulationError``, and whatever the controller raises.

    Example:
        >>> from kane_dynamics_ros.runtime import load_model
        >>> model = load_model("manipulator_5dof", backend="python")
        >>> still = np.zeros((3, 5))
        >>> run = simulate(model, lambda r, q, qd: model.gravity(q), lambda time: still, 0.01)
        >>> run.q.shape
        (10, 5)
    """
    arm = hardware or SimulatedHardware(Plant(model))
    every = _steps_per_command(control_rate, arm.engine.time_step)
    count = round(duration / arm.engine.time_step) // every
    n = len(arm.joint_names)
    reference = np.empty((count, 3, n))
    time, (q, qd, position, velocity, effort, command) = np.empty(count), np.empty((6, count, n))
    for row in range(count):
        time[row] = now = arm.time
        q[row], qd[row] = arm.engine.q, arm.engine.qd
        position[row], velocity[row], effort[row] = reading = arm.read()
        reference[row] = wanted = trajectory(now)
        command[row] = given = controller(wanted, reading.position, reading.velocity)
        arm.write(given)
        for _ in range(every):
            arm.step()
    return Rollout(time, reference, q, qd, position, velocity, effort, command)


def _steps_per_command(control_rate: float | None, time_step: float) -> int:
    if control_rate is None:
        return 1
    steps = 1.0 / (control_rate * time_step)
    if steps < 0.5 or abs(steps - round(steps)) > 1e-6:
        allowed = f"{1.0 / time_step:g} Hz divided by a whole number"
        raise option_error("control_rate", control_rate, allowed)
    return round(steps)
