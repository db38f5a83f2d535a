"""Correlation in time: the delay of the measured effort, and what correlated residuals do to standard errors.

Least squares with correlated residuals r has the covariance (X'X)^-1 S (X'X)^-1, in which S sums the products
of the scores s_t = x_t r_t over all lags up to which the residuals correlate, each with Bartlett's weight
[NeweyWest1987].
"""

from typing import NamedTuple

import numpy as np
from scipy import signal

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.replay.messages import Commands, Integers, JointStates

UNCORRELATED = 0.05  # correlation that counts as none
SPAN = 3  # times the lag at which the correlation ends: Bartlett's weights fall to zero over it
LONGEST_MEMORY = 0.1  # of the samples: correlations over more cannot be estimated
LONGEST_DELAY = 0.5  # [s] that is searched
COMPARED = 120.0  # [s] of the recording
FINEST = 1e-4  # [s] between samples that are compared
LARGEST_COMMAND = 1e7  # [N m] or [N]; commands beyond, and those that are no numbers, are left out
CLEAR = 0.5  # least correlation of a delay that is reported
STANDARD_ERRORS = 2.0  # that a delay must be from zero, beside one sample


# Correlated residuals


def bartlett(scores: Array, lags: int) -> Array:
    """sum_l (1 - |l|/L) sum_t s_t s_(t-l)', (k, k), of scores (N, k).

    Computed as the sums over every L samples, squared, over L.
    """
    padded = np.zeros((len(scores) + 2 * lags, scores.shape[1]))
    padded[lags : lags + len(scores)] = scores
    run = np.cumsum(padded, axis=0)
    sums = run[lags:] - run[:-lags]
    return np.asarray(sums.T @ sums / lags)


def memory(residual: Array, least: int) -> int:
    """``SPAN`` times the lag at which the autocorrelation of (N,) ends.

    ``least`` at least, a tenth of the samples at most.
    """
    size = len(residual)
    most = max(least, int(LONGEST_MEMORY * size))
    power = np.abs(np.fft.rfft(residual, 2 * size)) ** 2
    correlation = np.fft.irfft(power)[: most + 1]
    if not correlation[0] > 0.0:
        return least
    ended = np.flatnonzero(correlation < UNCORRELATED * correlation[0])
    return int(min(most, max(least, SPAN * (ended[0] if len(ended) else most))))


# The delay between command and measured effort


class Delay(NamedTuple):
    """``seconds`` by which the measured effort lags behind the command, and how well they then agree.

    ``uncertainty`` [s]: a smaller delay cannot be distinguished from none.
    """

    seconds: float
    correlation: float  # 0 to 1
    uncertainty: float


def command_delay(commands: Commands, states: JointStates) -> Delay | None:
    """The lag at which commanded and measured effort correlate best; ``None`` when nothing correlates.

    Commands carry no stamp, so both are placed by their receive time. Correlated are the changes of the
    effort from sample to sample, summed over the joints: slow gravity torques would make the peak flat. A
    parabola through the peak gives the fraction of a sample.

    The ``uncertainty`` is one sample of the slower stream, for a step between two samples may be anywhere
    between them, plus twice the standard error of the peak's place: of N samples with correlation r at a peak
    of curvature c'', the least-squares fit of a shift has the variance (1 - r^2) / (r |c''| N), in samples
    squared.
    """
    sane = (np.abs(commands.effort) <= LARGEST_COMMAND).all(axis=1)
    commands = Commands(commands.received[sane], commands.effort[sane])
    if min(len(commands.received), len(states.received)) < 2:
        return None
    order = np.argsort(states.received, kind="stable")
    received, effort = states.received[order], states.effort[order]
    start = float(max(received[0], commands.received[0]))
    end = float(min(received[-1], commands.received[-1]))
    step = max(_period(received), FINEST)
    samples, lags = int(min((end - start) * 1e-9, COMPARED) / step), int(LONGEST_DELAY / step)
    if samples < 4 * lags or lags < 2:
        return None
    grid = start + np.arange(samples) * (step * 1e9)
    products, powers = np.zeros(2 * lags + 1), np.zeros(2)
    middle = samples - 2  # where the correlation has no lag, of as many changes and one more
    for j in range(effort.shape[1]):
        known = np.isfinite(effort[:, j])
        measured = np.diff(np.interp(grid, received[known], effort[known, j]))
        commanded = np.diff(np.interp(grid, commands.received, commands.effort[:, j]))
        whole = signal.correlate(measured, commanded, method="fft")
        products += whole[middle - lags : middle + lags + 1]
        powers += (measured @ measured, commanded @ commanded)
    if not powers.all():
        return None
    correlation = products / np.sqrt(powers.prod())
    peak = int(np.argmax(correlation))
    height = float(correlation[peak])
    if height < CLEAR:
        return None
    fraction, curvature = _parabola(correlation, peak)
    variance = max(1.0 - height**2, 0.0) / (height * curvature * samples) if curvature > 0.0 else np.inf
    sample = max(step, _period(commands.received))
    return Delay(
        seconds=(peak - lags + fraction) * step,
        correlation=height,
        uncertainty=sample + STANDARD_ERRORS * float(np.sqrt(variance)) * step,
    )


def _period(received: Integers) -> float:
    """The usual time between messages [s]."""
    return float(np.median(np.diff(received))) * 1e-9


def _parabola(values: Array, peak: int) -> tuple[float, float]:
    """The top of the parabola through the peak and its neighbours, in samples from the peak, and -c''."""
    if not 0 < peak < len(values) - 1:
        return 0.0, 0.0
    left, top, right = values[peak - 1 : peak + 2]
    curvature = float(2 * top - left - right)
    return (float((right - left) / (2 * curvature)) if curvature > 0.0 else 0.0), curvature
