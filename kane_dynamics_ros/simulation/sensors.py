"""From the true state to joint states: encoders, torque sensors, and when each report is due."""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.low_pass import low_pass_step
from kane_dynamics_ros.simulation.engine import option_error, require
from kane_dynamics_ros.simulation.faults import Faults

VelocitySource = Literal["exact", "difference", "filtered"]
VELOCITY_SOURCES: tuple[VelocitySource, ...] = get_args(VelocitySource)


@dataclass(frozen=True)
class SensorOptions:
    """Imperfections of the sensors; noise figures are standard deviations. Units rad or m, N m or N."""

    resolution: float = 0.0
    position_bias: float = 0.0
    position_noise: float = 0.0
    velocity: VelocitySource = "exact"
    velocity_cutoff: float = 50.0  # [Hz], of the ``filtered`` velocity
    velocity_noise: float = 0.0
    effort_bias: float = 0.0
    effort_noise: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("resolution", "position_noise", "velocity_noise", "effort_noise", "seed"):
            require(f"sensor.{name}", getattr(self, name), least=0.0)
        if self.velocity not in VELOCITY_SOURCES:
            raise option_error("sensor.velocity", self.velocity, ", ".join(VELOCITY_SOURCES))
        require("sensor.velocity_cutoff", self.velocity_cutoff, above=0.0)


class Reading(NamedTuple):
    """Measured joint position, velocity and effort, each (n,)."""

    position: Array
    velocity: Array
    effort: Array


class Sensors:
    """The sensors of one arm, with their memory. Same seed, same calls: same readings.

    Position: round((q + bias + noise) / resolution) * resolution. Velocity: the true one with noise
    (``exact``), the difference of two encoder readings over the time between them (``difference``), or
    that difference through a first-order low pass (``filtered``). Effort: the actuator's, bias and noise
    added.
    """

    def __init__(self, options: SensorOptions) -> None:
        self.options = options
        self._perfect = replace(options, seed=0) == SensorOptions()
        self._random = np.random.default_rng(options.seed)
        self._last: tuple[float, Array, Array] | None = None  # time, position, velocity

    def read(self, time: float, q: Array, qd: Array, effort: Array) -> Reading:
        """Measure at ``time`` [s]; for a differentiated velocity, call it once per sampling period."""
        if self._perfect:
            # two thirds of the time of Reading(...)
            return tuple.__new__(Reading, (q.copy(), qd.copy(), effort.copy()))
        options = self.options
        position = self._disturb(q, options.position_bias, options.position_noise)
        if options.resolution:
            position = np.round(position / options.resolution) * options.resolution
        velocity = qd if options.velocity == "exact" else self._differentiate(time, position)
        velocity = self._disturb(velocity, 0.0, options.velocity_noise)
        return Reading(position, velocity, self._disturb(effort, options.effort_bias, options.effort_noise))

    def _differentiate(self, time: float, position: Array) -> Array:
        if self._last is None:
            velocity = np.zeros(len(position))
        else:
            last_time, last_position, last_velocity = self._last
            if time <= last_time:
                return last_velocity
            velocity = (position - last_position) / (time - last_time)
            if self.options.velocity == "filtered":
                cutoff, dt = self.options.velocity_cutoff, time - last_time
                velocity = low_pass_step(last_velocity, velocity, cutoff, dt)
        self._last = (time, position, velocity)
        return velocity

    def _disturb(self, value: Array, bias: float, noise: float) -> Array:
        if noise:
            return value + bias + noise * self._random.standard_normal(len(value))
        return value + bias if bias else value.copy()


@dataclass(frozen=True)
class ReportOptions:
    """``jitter``: each report is late by a random time up to this share of the period."""

    rate: float = 500.0  # [Hz]
    jitter: float = 0.0
    shuffle: bool = False
    velocity: bool = True
    effort: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        require("report.rate", self.rate, above=0.0)
        if not 0.0 <= self.jitter <= 1.0:
            raise option_error("report.jitter", self.jitter, "0 to 1")


class Report(NamedTuple):
    """One joint state message: names and arrays in the same order.

    ``velocity`` and ``effort`` are empty when they are not reported. ``stale``: it must carry the stamp
    of the message before.
    """

    names: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array
    stale: bool


class Reporter:
    """Turns readings into reports: when each is due, its order, gaps and faults.

    Same seed, same calls: same reports.
    """

    def __init__(self, names: tuple[str, ...], options: ReportOptions, time_step: float) -> None:
        self._names, self._options = names, options
        self._random = np.random.default_rng(options.seed)
        self._every = max(1, round(1.0 / (options.rate * time_step)))  # steps
        self._next = 0  # step
        self._count = 0
        self._last: Reading | None = None

    def due(self, step: int) -> bool:
        """Whether to report after this many time steps; call it once per step."""
        if step < self._next:
            return False
        self._count += 1
        late = self._options.jitter * self._random.random() if self._options.jitter else 0.0
        self._next = max(step + 1, int((self._count + late) * self._every))
        return True

    def compose(self, reading: Reading, faults: Faults) -> Report | None:
        """The report of a reading; None in a dropout."""
        frozen = faults.joints("freeze")
        if frozen and self._last is not None:
            for fresh, old in zip(reading, self._last, strict=True):
                fresh[frozen] = old[frozen]
        self._last = Reading(*(values.copy() for values in reading))
        for values in reading:
            values[faults.joints("nan")] = np.nan
        if faults.find("dropout"):
            return None
        lost = faults.joints("lost")
        keep = [i for i in range(len(self._names)) if i not in lost]
        if self._options.shuffle:
            self._random.shuffle(keep)
        nothing = np.empty(0)
        return Report(
            tuple(self._names[i] for i in keep),
            reading.position[keep],
            reading.velocity[keep] if self._options.velocity else nothing,
            reading.effort[keep] if self._options.effort else nothing,
            faults.find("stale") is not None,
        )
