"""The simulated arm as a hardware component: command interfaces in, state interfaces out."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from kane_dynamics_ros.errors import NonFiniteError, ShapeError
from kane_dynamics_ros.simulation.actuators import ActuatorOptions, Actuators
from kane_dynamics_ros.simulation.engine import Array, Engine
from kane_dynamics_ros.simulation.sensors import Reading, SensorOptions, Sensors

STATE_INTERFACES = ("position", "velocity", "effort")

Silence = Literal["hold", "release", "brake"]
SILENCES: tuple[Silence, ...] = ("hold", "release", "brake")


@dataclass(frozen=True)
class HardwareOptions:
    """Drives, sensors, and what the arm does when no command comes.

    ``on_silence``, once no command has come for ``command_timeout`` (0: never): ``hold`` the last
    effort, ``release`` (zero effort), or ``brake``. Before the first command the brakes are on.
    """

    actuators: ActuatorOptions = field(default_factory=ActuatorOptions)
    sensors: SensorOptions = field(default_factory=SensorOptions)
    command_timeout: float = 0.0  # [s]
    on_silence: Silence = "hold"


class SimulatedHardware:
    """An engine with drives and sensors: ``write`` a command, ``step`` the time, ``read`` the state.

    Interfaces are named as ros2_control names them, ``JOINT/effort`` and so on. Time starts at 0 and
    is counted in whole steps, so it does not drift.
    """

    def __init__(self, engine: Engine, options: HardwareOptions | None = None) -> None:
        self.engine, self.options = engine, options or HardwareOptions()
        n = len(engine.joints)
        self.actuators = Actuators(engine.joints, self.options.actuators, engine.time_step)
        self.sensors = Sensors(self.options.sensors)
        self.joint_names = tuple(joint.name for joint in engine.joints)
        self._command, self._effort = np.zeros(n), np.zeros(n)
        self._steps, self._commanded_at = 0, -1
        self._braked = False
        self._set_braked(True)

    @property
    def command_interfaces(self) -> tuple[str, ...]:
        return tuple(f"{name}/effort" for name in self.joint_names)

    @property
    def state_interfaces(self) -> tuple[str, ...]:
        return tuple(f"{name}/{kind}" for name in self.joint_names for kind in STATE_INTERFACES)

    @property
    def time(self) -> float:
        """Simulated time since the start [s]."""
        return self._steps * self.engine.time_step

    def write(self, command: Array) -> None:
        """Take joint efforts (n,) [N m or N] in joint order. Raises ``ShapeError``, ``NonFiniteError``."""
        values = np.array(command, dtype=float)
        if values.shape != self._command.shape:
            raise ShapeError("command", values.shape, len(self._command))
        if not np.isfinite(values).all():
            raise NonFiniteError("command")
        self._command, self._commanded_at = values, self._steps
        self._set_braked(False)

    def step(self) -> None:
        """Advance the arm one time step. Raises ``SimulationDivergedError``."""
        self._watch_silence()
        self._effort = self.actuators.apply(self._command, self.engine.q)
        self.engine.step(self._effort)
        self._steps += 1

    def read(self) -> Reading:
        """What the sensors say now; the effort is what the actuator gave in the last step."""
        return self.sensors.read(self.time, self.engine.q, self.engine.qd, self._effort)

    def stop(self) -> None:
        """Bring the arm to rest where it is, brakes on, until the next command."""
        self._command, self._commanded_at = np.zeros(len(self._command)), -1
        self.engine.reset(self.engine.q, np.zeros(len(self._command)))
        self._set_braked(True)

    def _watch_silence(self) -> None:
        timeout, silent = self.options.command_timeout, self._steps - self._commanded_at
        if self._commanded_at < 0 or not timeout or silent * self.engine.time_step < timeout:
            return
        if self.options.on_silence != "hold":
            self._command = np.zeros(len(self._command))
        self._set_braked(self.options.on_silence == "brake")

    def _set_braked(self, braked: bool) -> None:
        if braked != self._braked:
            self.engine.set_brake(np.full(len(self._command), np.inf if braked else 0.0))
            self._braked = braked
