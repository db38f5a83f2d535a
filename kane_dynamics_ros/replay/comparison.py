"""Measured effort beside the model's, term by term, through the same filter; and how well they fit."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from kane_dynamics_ros import friction
from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.replay.messages import Integers
from kane_dynamics_ros.replay.motion import Interval, Motion, low_pass
from kane_dynamics_ros.runtime import DynamicsModel

MODEL_TERMS = ("inertia", "coriolis", "gravity", "friction")
FRICTION_TERMS = ("load", "stribeck", "coulomb_asymmetry", "viscous_asymmetry", "square_root")
STRIBECK = 0.15  # of a joint's largest speed, at which Stribeck's rise has fallen to 37 %


class Fit(NamedTuple):
    """One joint's figures; efforts in N m (revolute) or N (prismatic).

    ``rmse``: root mean square of the residual (measured minus predicted); ``bias``: its mean;
    ``nrmse``: rmse over the measured range (largest minus smallest); ``r_squared``: 1 minus the
    residual's power over the measured variance. Both are ``None`` where the measured effort is
    constant. ``worst`` is the residual farthest from zero, at ``worst_time`` [s].
    """

    rmse: float
    bias: float
    nrmse: float | None
    r_squared: float | None
    worst: float
    worst_time: float
    measured_rms: float


def fit(time: Array, measured: Array, predicted: Array) -> Fit:
    """The figures of one joint from (N,) arrays.

    >>> figures = fit(np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 6.0]), np.array([0.0, 3.0, 3.0]))
    >>> round(figures.rmse, 3), figures.worst, figures.worst_time
    (1.915, 3.0, 2.0)
    """
    residual = measured - predicted
    power = float(np.mean(residual**2))
    span, variance = float(np.ptp(measured)), float(np.var(measured))
    at = int(np.argmax(np.abs(residual)))
    return Fit(
        rmse=power**0.5,
        bias=float(residual.mean()),
        nrmse=power**0.5 / span if span else None,
        r_squared=1 - power / variance if variance else None,
        worst=float(residual[at]),
        worst_time=float(time[at]),
        measured_rms=float(np.sqrt(np.mean(measured**2))),
    )


@dataclass(frozen=True)
class Comparison:
    """All intervals one after another: ``time`` [s] and header ``stamps`` [ns] (N,), efforts (N, n).

    ``terms`` are the model's, and add up to ``predicted``. ``speed`` is the joint velocity and
    ``direction`` its smooth sign: what unit viscous and Coulomb friction would add. ``friction`` is what the
    other terms of a joint's friction (``kane_dynamics_ros.friction``) would add with unit coefficients, of
    which Stribeck's rise is that of ``stribeck_velocity`` (n,) [rad/s] or [m/s]. Everything went through one
    low-pass, so that what the filter takes from the measurement it takes from the model. ``joins`` are the
    indices at which an interval begins.
    """

    time: Array
    stamps: Integers
    measured: Array
    predicted: Array
    terms: dict[str, Array]
    speed: Array
    direction: Array
    joins: tuple[int, ...]
    friction: dict[str, Array] = field(default_factory=dict)
    stribeck_velocity: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def residual(self) -> Array:
        """Measured minus predicted: what the model lacks."""
        return self.measured - self.predicted


def compare(model: DynamicsModel, motion: Motion, beyond: friction.ExtraFriction | None = None) -> Comparison:
    """The model's efforts along a motion; ``beyond``: more terms of its friction."""
    parts: dict[str, list[Any]] = defaultdict(list)
    fastest = np.max([np.abs(interval.qd).max(axis=0) for interval in motion.compared], axis=0)
    stribeck_velocity = np.maximum(STRIBECK * fastest, model.parameters.coulomb_velocity)
    for interval in motion.intervals:
        for name, values in _signals(model, interval, stribeck_velocity, beyond):
            parts[name].append(smoothed(values, motion))
        inner = slice(motion.edge, -motion.edge)
        since = np.rint(np.arange(len(interval.time))[inner] * (1e9 / motion.rate)).astype(np.int64)
        parts["stamps"].append(interval.stamp + since)
        parts["time"].append(interval.time[inner])
        parts["measured"].append(interval.effort[inner])
    lengths = [len(time) for time in parts["time"]]
    joined = {name: np.concatenate(parts.pop(name)) for name in list(parts)}
    by_term = {name: joined.pop(name) for name in MODEL_TERMS}
    further = {name: joined.pop(name) for name in FRICTION_TERMS}
    return Comparison(
        predicted=sum(by_term.values(), np.zeros(())),
        terms=by_term,
        joins=tuple(np.cumsum([0, *lengths[:-1]]).tolist()),
        friction=further,
        stribeck_velocity=stribeck_velocity,
        **joined,
    )


def _signals(
    model: DynamicsModel, interval: Interval, stribeck_velocity: Array, beyond: friction.ExtraFriction | None
) -> Iterator[tuple[str, Array]]:
    """What is compared with the measured effort, unfiltered, one after another: an hour of all takes a GB."""
    terms = model.terms(interval.q, interval.qd, interval.qdd)
    load, width = terms.inertia + terms.coriolis + terms.gravity, model.parameters.coulomb_velocity
    if beyond is not None:
        speeds = interval.qd if model.coupling is None else interval.qd @ model.coupling.T
        last = friction.last_direction(speeds, width)
        held = beyond.effort_at_rest(interval.qd, load, np.array(model.parameters.coulomb), width, last)
        terms = terms._replace(friction=terms.friction + beyond.effort(interval.qd, load, width) + held)
    yield from zip(MODEL_TERMS, terms, strict=True)
    direction = friction.smooth_sign(interval.qd, width)
    yield "speed", interval.qd
    yield "direction", direction
    yield "load", np.abs(load) * direction
    yield "stribeck", friction.rise(interval.qd, stribeck_velocity) * direction
    yield "coulomb_asymmetry", np.abs(direction)
    yield "viscous_asymmetry", np.abs(interval.qd)
    yield "square_root", friction.signed_root(interval.qd)


def smoothed(values: Array, motion: Motion) -> Array:
    """A signal of one interval through the common filter, without the ends that it distorts."""
    return low_pass(values, motion.rate, motion.cutoff)[motion.edge : -motion.edge]
