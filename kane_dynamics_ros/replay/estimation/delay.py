"""The constant delay between what was commanded and what was measured."""

from typing import NamedTuple

import numpy as np
from scipy import signal

from kane_dynamics_ros.replay.reading.messages import Commands, JointStates
from kane_dynamics_ros.runtime.interface import Array

LONGEST = 0.5  # [s] delay that is searched
LOOKED_AT = 120.0  # [s] of the recording that is compared
FINEST = 1e-4  # [s] between samples that are compared
LARGEST_COMMAND = 1e7  # [N m] or [N]; commands beyond, and those that are no numbers, are left out
CLEAR = 0.5  # correlation below which no delay is told


class Delay(NamedTuple):
    """``seconds`` by which the measured effort lags behind the command, and how well they then agree."""

    seconds: float
    correlation: float  # 0 to 1


def command_delay(commands: Commands, states: JointStates) -> Delay | None:
    """The lag at which commanded and measured effort correlate best; ``None`` when nothing correlates.

    Commands carry no stamp, so both are placed by their receive time. Correlated are the changes
    of the effort from sample to sample, summed over the joints: slow gravity torques would make the
    peak flat. A parabola through the peak gives the fraction of a sample.
    """
    sane = (np.abs(commands.effort) <= LARGEST_COMMAND).all(axis=1)
    commands = Commands(commands.received[sane], commands.effort[sane])
    if len(commands.received) < 2:
        return None
    order = np.argsort(states.received, kind="stable")
    received, effort = states.received[order], states.effort[order]
    start = float(max(received[0], commands.received[0]))
    end = float(min(received[-1], commands.received[-1]))
    step = max(float(np.median(np.diff(received))) * 1e-9, FINEST) if len(received) > 1 else 0.0
    samples = int(min((end - start) * 1e-9, LOOKED_AT) / step) if step > 0 else 0
    lags = int(LONGEST / step) if step > 0 else 0
    if samples < 4 * lags or lags < 2:
        return None
    grid = start + np.arange(samples) * (step * 1e9)
    products, powers = np.zeros(2 * lags + 1), np.zeros(2)
    for j in range(effort.shape[1]):
        told = np.isfinite(effort[:, j])
        measured = np.diff(np.interp(grid, received[told], effort[told, j]))
        commanded = np.diff(np.interp(grid, commands.received, commands.effort[:, j]))
        products += _correlated(measured, commanded, lags)
        powers += (measured @ measured, commanded @ commanded)
    if not powers.all():
        return None
    correlation = products / np.sqrt(powers.prod())
    peak = int(np.argmax(correlation))
    if correlation[peak] < CLEAR:
        return None
    return Delay((peak - lags + _fraction(correlation, peak)) * step, float(correlation[peak]))


def _correlated(measured: Array, commanded: Array, lags: int) -> Array:
    """Sum of measured[i + k] commanded[i] for k from -lags to lags."""
    whole = signal.correlate(measured, commanded, mode="full", method="fft")
    middle = len(commanded) - 1
    return np.asarray(whole[middle - lags : middle + lags + 1])


def _fraction(values: Array, peak: int) -> float:
    """Where a parabola through the peak and its neighbours has its top, in samples from the peak."""
    if not 0 < peak < len(values) - 1:
        return 0.0
    left, top, right = values[peak - 1 : peak + 2]
    return float((left - right) / (2 * (left - 2 * top + right)))
