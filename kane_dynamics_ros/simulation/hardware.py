"""The simulated arm as a hardware component: command interfaces in, state interfaces out."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.errors import non_finite
from kane_dynamics_ros.simulation.actuators import ActuatorOptions, Actuators, InnerLoop
from kane_dynamics_ros.simulation.engine import Engine, SimulationError, option_error, require
from kane_dynamics_ros.simulation.faults import Fault, Faults
from kane_dynamics_ros.simulation.sensors import Reading, SensorOptions, Sensors

STATE_INTERFACES = ("position", "velocity", "effort")

Silence = Literal["hold", "release", "gravity", "brake"]
SILENCES: tuple[Silence, ...] = get_args(Silence)


@dataclass(frozen=True)
class HardwareOptions:
    """Drives, sensors, faults, and what the arm does when no command comes.

    ``on_silence``, once no command has come for ``command_timeout`` (0: never): ``hold`` the last command,
    ``release`` (no effort), ``gravity`` (its effort at the measured position), or ``brake``. Before the first
    command the brakes are on.
    """

    actuators: ActuatorOptions = field(default_factory=ActuatorOptions)
    sensors: SensorOptions = field(default_factory=SensorOptions)
    faults: tuple[Fault, ...] = ()
    command_timeout: float = 0.0  # [s]
    on_silence: Silence = "hold"

    def __post_init__(self) -> None:
        require("command_timeout", self.command_timeout, least=0.0)
        if self.on_silence not in SILENCES:
            raise option_error("on_silence", self.on_silence, ", ".join(SILENCES))


class SimulatedHardware:
    """An engine with drives and sensors: ``write`` a command, ``step`` the time, ``read`` the state.

    Time starts at 0 and is counted in whole steps, so it does not drift. ``inner_loop`` None means effort
    commands. ``gravity`` is what ``on_silence`` ``gravity`` uses: efforts (n,) of positions (n,) that hold
    the arm.
    """

    def __init__(
        self,
        engine: Engine,
        options: HardwareOptions | None = None,
        inner_loop: InnerLoop | None = None,
        gravity: Callable[[Array], Array] | None = None,
    ) -> None:
        self.engine, self.options = engine, options or HardwareOptions()
        n = len(engine.joints)
        self.joint_names = tuple(joint.name for joint in engine.joints)
        self.actuators = Actuators(engine.joints, self.options.actuators, engine.time_step)
        self.sensors = Sensors(self.options.sensors)
        self.faults = Faults(self.joint_names, self.options.faults)
        self._inner_loop, self._time_step = inner_loop, engine.time_step
        self._gravity = gravity
        if self.options.on_silence == "gravity" and gravity is None:
            raise option_error("on_silence", "gravity", "hold, release or brake, without a model")
        self._zeros, self._shape = np.zeros(n), (n,)
        self._command = self._effort = self._zeros
        self.steps = 0
        self._commanded_at: int | None = None  # step
        self._drive: Silence = "brake"  # what the drives do: "hold" is the command
        self._watched = self.options.command_timeout > 0.0 and self.options.on_silence != "hold"
        self._loaded = False
        self.faults.update(0.0)
        self._set_brakes()

    @property
    def command_interfaces(self) -> tuple[str, ...]:
        """``joint/effort``, or what the inner loops take."""
        kind = self._inner_loop.interface if self._inner_loop else "effort"
        return tuple(f"{name}/{kind}" for name in self.joint_names)

    @property
    def state_interfaces(self) -> tuple[str, ...]:
        """Of each joint position, velocity and effort."""
        return tuple(f"{name}/{kind}" for name in self.joint_names for kind in STATE_INTERFACES)

    @property
    def time(self) -> float:
        """Simulated time since the start [s]."""
        return self.steps * self._time_step

    def write(self, command: Array) -> None:
        """Take commands (n,) in joint order: effort [N m or N], or what the inner loop follows.

        Raises ``SimulationError``, ``NonFiniteError``; the command before then stays.
        """
        values = np.array(command, dtype=float)
        if values.shape != self._shape:
            raise SimulationError(
                f"command: found shape {values.shape}; allowed: one value per joint, {self._shape}",
                "command_length",
                found=values.shape,
            )
        if self.actuators.within(values):
            self.actuators.admitted = values  # a copy of ours
        elif not np.isfinite(values).all():
            raise non_finite("command")
        if not (self.faults.active and self.faults.find("blackout")):
            self._command, self._commanded_at = values, self.steps
            self._set_drive("hold")

    def step(self) -> None:
        """Advance the arm one time step. Raises ``SimulationDivergedError``; time has passed even then."""
        if self._watched:
            self._watch_silence()
        try:
            self._effort = self.actuators.apply(self._wanted_effort(), self.engine.q)
            if self._loaded or self.faults.active:
                self._load_tip()
            self.engine.step(self._effort)
        finally:
            self.steps += 1
            if self.faults.update(self.steps * self._time_step):
                self._set_brakes()

    def read(self) -> Reading:
        """What the sensors say now; the effort is what the actuator gave in the last step."""
        return self.sensors.read(self.steps * self._time_step, self.engine.q, self.engine.qd, self._effort)

    def stop(self) -> None:
        """Bring the arm to rest where it is, brakes on, until the next command."""
        self._commanded_at = None
        self.engine.reset(self.engine.q, self._zeros)
        self._set_drive("brake")

    def switch_faults(self, faults: Iterable[Fault]) -> None:
        """Replace the faults that were switched by hand, from now on. Raises ``UnknownJointError``."""
        self.faults.switch(faults)
        self.faults.update(self.time)
        self._set_brakes()

    def _load_tip(self) -> None:
        """Load the tip with what touches it during the next step."""
        load = self.faults.tip_load(self.time)
        if load is not None or self._loaded:
            self.engine.set_tip_load(load)
        self._loaded = load is not None

    def _wanted_effort(self) -> Array:
        if self._drive == "hold":
            loop = self._inner_loop
            return loop(self._command, self.engine.q, self.engine.qd) if loop else self._command
        if self._drive == "gravity" and self._gravity is not None:
            return self._gravity(self.engine.q)
        return self._zeros

    def _watch_silence(self) -> None:
        if self._commanded_at is not None:
            silence = (self.steps - self._commanded_at) * self._time_step
            if silence >= self.options.command_timeout:
                self._set_drive(self.options.on_silence)

    def _set_drive(self, drive: Silence) -> None:
        if drive != self._drive:
            self._drive = drive
            self._set_brakes()

    def _set_brakes(self) -> None:
        brake = np.full(len(self._command), np.inf if self._drive == "brake" else 0.0)
        brake[self.faults.joints("lock")] = np.inf
        self.engine.set_brake(brake)
