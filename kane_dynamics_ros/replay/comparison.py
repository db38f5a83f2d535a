"""Measured effort beside the model's, term by term, through the same filter; and how well they fit."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.replay.messages import Integers
from kane_dynamics_ros.replay.motion import Motion, low_pass
from kane_dynamics_ros.runtime import DynamicsModel

MODEL_TERMS = ("inertia", "coriolis", "gravity", "friction")


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
    ``direction`` its smooth sign: what unit viscous and Coulomb friction would add. Everything went
    through one low-pass, so that what the filter takes from the measurement it takes from the model.
    ``joins`` are the indices at which an interval begins.
    """

    time: Array
    stamps: Integers
    measured: Array
    predicted: Array
    terms: dict[str, Array]
    speed: Array
    direction: Array
    joins: tuple[int, ...]

    @property
    def residual(self) -> Array:
        """Measured minus predicted: what the model lacks."""
        return self.measured - self.predicted


def compare(model: DynamicsModel, motion: Motion) -> Comparison:
    """The model's efforts along a motion."""
    parts: dict[str, list[Any]] = defaultdict(list)
    for interval in motion.intervals:
        terms = model.terms(interval.q, interval.qd, interval.qdd)
        unfiltered = dict(zip(MODEL_TERMS, terms, strict=True))
        unfiltered["speed"] = interval.qd
        unfiltered["direction"] = np.tanh(interval.qd / model.parameters.coulomb_velocity)
        for name, values in unfiltered.items():
            parts[name].append(smoothed(values, motion))
        inner = slice(motion.edge, -motion.edge)
        since = np.rint(np.arange(len(interval.time))[inner] * (1e9 / motion.rate)).astype(np.int64)
        parts["stamps"].append(interval.stamp + since)
        parts["time"].append(interval.time[inner])
        parts["measured"].append(interval.effort[inner])
    lengths = [len(time) for time in parts["time"]]
    joined = {name: np.concatenate(parts.pop(name)) for name in list(parts)}
    by_term = {name: joined.pop(name) for name in MODEL_TERMS}
    return Comparison(
        predicted=sum(by_term.values(), np.zeros(())),
        terms=by_term,
        joins=tuple(np.cumsum([0, *lengths[:-1]]).tolist()),
        **joined,
    )


def smoothed(values: Array, motion: Motion) -> Array:
    """A signal of one interval through the common filter, without the ends that it distorts."""
    return low_pass(values, motion.rate, motion.cutoff)[motion.edge : -motion.edge]
