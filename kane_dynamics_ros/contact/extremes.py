"""How high a threshold must be for a stated rate of false alarms: the statistics of rare peaks.

Exceedances of a high level u by peaks that do not depend on each other follow a generalised Pareto
distribution [Pickands1975],

    P(peak > x | peak > u) = (1 + xi (x - u) / sigma)^(-1/xi),        exp(-(x - u) / sigma) where xi = 0,

so that a level exceeded ``rate`` times an hour is x = u + sigma ((lambda_u / rate)^xi - 1) / xi, with
lambda_u exceedances of u an hour. The parameters come from probability-weighted moments
[HoskingWallis1987], which are sound where few peaks are left. A recording of an hour says little about a
rate of one a year: the interval that comes with every level says how little.
"""

from dataclasses import dataclass

import numpy as np

from kane_dynamics_ros.algebra import Array

FEWEST = 10  # exceedances that a fit needs
HEAVIEST = 0.5  # xi beyond which moments do not exist; heavier tails are cut to it
REPEATS = 200  # of the bootstrap


@dataclass(frozen=True)
class Tail:
    """A fitted tail: ``level`` u, ``scale`` sigma, ``shape`` xi >= 0, and exceedances of u an hour."""

    level: float
    scale: float
    shape: float
    per_hour: float
    exceedances: int

    def threshold(self, rate: float) -> float:
        """The value exceeded ``rate`` times an hour; u where even that is exceeded less often.

        >>> tail = Tail(level=1.0, scale=0.5, shape=0.0, per_hour=100.0, exceedances=100)
        >>> round(tail.threshold(1.0), 3)
        3.303
        """
        ratio = max(self.per_hour / rate, 1.0)
        if self.shape < 1e-6:
            return self.level + self.scale * float(np.log(ratio))
        return self.level + self.scale * float(ratio**self.shape - 1.0) / self.shape


def fit_tail(peaks: Array, hours: float, share: float = 0.1, outliers: float = 0.0) -> Tail:
    """The tail of peaks (N,) seen in ``hours``.

    Args:
        peaks: independent of each other.
        hours: that they were seen in.
        share: of the peaks that count as the tail; at least ``FEWEST`` of them do.
        outliers: share of the largest that may be something else and say nothing but that they are large.
            With them the tail's shape cannot be seen, and is taken as exponential.
    """
    ordered = np.sort(peaks)
    out = int(np.ceil(outliers * len(ordered)))
    kept = ordered[: len(ordered) - out] if out else ordered
    many = min(max(int(np.ceil(share * len(kept))), FEWEST), len(kept) - 1)
    if many < 1:
        return Tail(float(ordered[-1]), max(float(ordered[-1]), 1e-12), 0.0, len(ordered) / hours, 1)
    level = float(kept[-many - 1])
    excess = kept[-many:] - level
    if out:
        # of m exceedances the ``out`` largest are censored at the largest that is kept
        scale = float((excess.sum() + out * excess[-1]) / many)
        return Tail(level, max(scale, 1e-12), 0.0, (many + out) / hours, many)
    scale, shape = _pareto(excess)
    return Tail(level, scale, shape, many / hours, many)


def _pareto(excess: Array) -> tuple[float, float]:
    """sigma and xi of sorted excesses (m,): a_0 = mean, a_1 = mean (1 - F); no shorter than exponential.

    xi = 2 - a_0 / (a_0 - 2 a_1), sigma = 2 a_0 a_1 / (a_0 - 2 a_1) in Hosking's sign, k = -xi.
    """
    m = len(excess)
    a0 = max(float(excess.mean()), 1e-12)
    a1 = float(np.mean(excess * (1.0 - (np.arange(m) + 0.65) / m)))
    difference = a0 - 2.0 * a1
    if difference <= 0.0:
        return a0, 0.0
    shape = min(max(-(a0 / difference - 2.0), 0.0), HEAVIEST)
    return a0 * (1.0 - shape), shape


def interval(tail: Tail, rate: float) -> tuple[float, float]:
    """The range (5 %, 95 %) of ``threshold(rate)`` over such recordings: parametric bootstrap."""
    random = np.random.default_rng(0)
    found = []
    for _ in range(REPEATS):
        many = max(int(random.poisson(tail.exceedances)), 2)
        u = random.uniform(size=many)
        grown = -np.log(u) if tail.shape < 1e-6 else (u**-tail.shape - 1.0) / tail.shape
        scale, shape = _pareto(np.sort(tail.scale * grown))
        again = Tail(tail.level, scale, shape, tail.per_hour * many / tail.exceedances, many)
        found.append(again.threshold(rate))
    low, high = np.quantile(found, (0.05, 0.95))
    return float(low), float(high)
