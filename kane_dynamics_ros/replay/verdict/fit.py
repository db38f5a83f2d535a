"""How well predicted effort fits the measured one, in the usual figures."""

from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.replay.reading.layout import Doubles


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


def fit(time: Doubles, measured: Doubles, predicted: Doubles) -> Fit:
    """The figures of one joint from (N,) arrays."""
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
