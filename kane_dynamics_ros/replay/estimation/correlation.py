"""Residuals follow each other in time: for how long, and what that does to standard errors.

Least squares with correlated residuals r has the covariance (X'X)^-1 S (X'X)^-1, in which S sums the products
of the scores s_t = x_t r_t over all lags up to which residuals hang together, each with Bartlett's weight
[NeweyWest1987].
"""

import numpy as np

from kane_dynamics_ros.runtime.interface import Array

UNCORRELATED = 0.05  # correlation that counts as none
SPAN = 3  # times the lag at which the correlation ends: Bartlett's weights fall to zero over it
LONGEST = 0.1  # of the samples: correlations over more cannot be told


def bartlett(scores: Array, lags: int) -> Array:
    """sum_l (1 - |l|/L) sum_t s_t s_(t-l)', (k, k), of scores (N, k): the sums over every L samples,
    squared, over L.
    """
    padded = np.zeros((len(scores) + 2 * lags, scores.shape[1]))
    padded[lags : lags + len(scores)] = scores
    run = np.cumsum(padded, axis=0)
    sums = run[lags:] - run[:-lags]
    return np.asarray(sums.T @ sums / lags)


def memory(residual: Array, least: int) -> int:
    """``SPAN`` times the lag at which the autocorrelation of (N,) ends; ``least`` at least, a tenth of the
    samples at most.
    """
    size = len(residual)
    most = max(least, int(LONGEST * size))
    power = np.abs(np.fft.rfft(residual, 2 * size)) ** 2
    correlation = np.fft.irfft(power)[: most + 1]
    if not correlation[0] > 0.0:
        return least
    ended = np.flatnonzero(correlation < UNCORRELATED * correlation[0])
    return int(min(most, max(least, SPAN * (ended[0] if len(ended) else most))))
