"""Pushes as changes of the external efforts that come and go, which a level hides among slow errors.

The contrast of a window of length L is its mean less the mean of the stretches F beside it,

    c(t) = mean_(|s - t| < L/2) e(s) - 1/2 (mean before + mean after),     a gap g on either side left out.

Errors of the model that are slower than the window cancel in it, and so does what stiction keeps.

Of an arm that moves, the contrasts of all joints count together, as v = |C^(-1/2) (c / spread)|: errors of
the model are alike in several joints, a push is not. C is the covariance of the contrasts, outliers clipped.
Dry friction that is not known at rest, at most the Coulomb friction where a joint is slow, is taken off a
contrast. The squares of normally distributed contrasts have exponential tails, hence the threshold of v^2.

In an arm that stands nothing changes but by contact, noise and the stiction that contacts leave behind, which
lets go over seconds. There windows of all lengths are tried, above a share of each joint's effort limit.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.contact.extremes import fit_tail
from kane_dynamics_ros.contact.residual import FLOOR, QUANTILE, Residual, clusters, spread
from kane_dynamics_ros.control.observer import SHARE_OF_LIMIT

AROUND = 0.3  # [s] of a contact, that do not count as free of it
TAIL_SHARE = 0.6  # of the peaks that are no outliers
INDEPENDENT = 0.3  # [s] peaks further apart hardly depend on each other
FINEST = 0.1  # of the floor: contrasts of efforts are not told apart any finer
CUT = 2.0  # times its spread: external efforts beyond may be contacts, and count as this in the noise
CLIPPED = 3.0  # times the spread: what is beyond counts as this in the covariance
STEADY = 6.0  # standard deviations of a standing joint that are no noise
NOISY_SHARE, NORMAL = 0.4, 0.524  # of the contrasts that show noise; that quantile of a normal distribution


class Window(NamedTuple):
    """Length, gap and length of the stretches beside it [s]."""

    length: float
    gap: float
    beside: float

    def samples(self, rate: float) -> tuple[int, int, int]:
        """Half of the length, where the stretches beside begin, and where they end, from the middle on."""
        half = max(1, round(0.5 * self.length * rate))
        begin = half + max(1, round(self.gap * rate))
        return half, begin, begin + max(1, round(self.beside * rate))


MOVING = Window(1.0, 0.25, 1.0)
SHORTEST = Window(0.3, 0.15, 0.3)  # of a standing arm; the others are twice, four times ... as long
BESIDE = 0.1  # of their length, at least: so long are the stretches beside them


class Change(NamedTuple):
    """Samples ``start`` to ``stop``, of which ``at`` is the middle; contrasts, over spread, and that (n,)."""

    start: int
    stop: int
    at: int
    efforts: Array
    ratios: Array
    spread: Array


@dataclass(frozen=True)
class Scan:
    """What contrasts of a window mean: ``spread`` (N, n), ``hidden`` (N, n) by friction at rest and noise.

    ``whitening`` (n, n) is C^-1, ``threshold`` that of v. ``whole`` (N,): where the window fits.
    """

    window: Window
    spread: Array
    hidden: Array
    floor: Array
    whitening: Array
    threshold: float
    whole: Mask

    def ratios(self, contrasts: Array, at: slice | int = slice(None)) -> Array:
        """Contrasts of the samples ``at`` over their spread, less what friction hides; 0 below the floor."""
        left = np.maximum(np.abs(contrasts) - self.hidden[at], 0.0)
        return np.where(left > self.floor, np.sign(contrasts) * left / self.spread[at], 0.0)

    def size(self, ratios: Array) -> Array:
        """v over its threshold (N,); 0 where the window does not fit."""
        return np.where(self.whole, _size(ratios, self.whitening) / self.threshold, 0.0)

    @property
    def least(self) -> Array:
        """The contrast (n,) that is found in one joint alone, usually."""
        alone = self.threshold / np.sqrt(np.diag(self.whitening))
        return np.asarray(np.maximum(np.median(self.spread, axis=0) * alone, self.floor))


def scans(residual: Residual, taken: Mask, rate: float, outliers: float) -> list[Scan]:
    """The windows in which changes are looked for; noise is what is neither ``taken`` (N,) nor a contact.

    ``outliers`` is the share of the peaks that may be contacts, ``rate`` that of false alarms an hour.
    """
    n = residual.q.shape[1]
    if residual.standing:
        found, window = [], SHORTEST
        while (whole := _whole(residual, window)).any():
            sizes = np.abs(contrast(residual.external, residual.rate, window)[whole])
            noise = np.quantile(sizes, NOISY_SHARE, axis=0) / NORMAL
            least = np.maximum(SHARE_OF_LIMIT / FLOOR * residual.floor / STEADY, noise)
            flat = np.broadcast_to(least, residual.q.shape)
            hidden = contrast(residual.hidden, residual.rate, window, sign=1.0)
            found.append(Scan(window, flat, hidden, residual.floor, np.eye(n), STEADY, whole))
            length = 2.0 * window.length
            # stretches beside a long window that are as short as a push would often lie on one
            window = window._replace(length=length, beside=max(SHORTEST.beside, BESIDE * length))
        return found
    whole = _whole(residual, MOVING)
    free = whole & residual.free & ~taken
    if not free.any():
        return []
    # a push weighs on the contrasts of seconds around it: hence it is cut in the course that shows the noise
    most = CUT * residual.spread
    course = np.clip(bridged(residual.external, taken | ~residual.free), -most, most)
    contrasts = contrast(course, residual.rate, MOVING)
    period = residual.rate / residual.cutoff
    usual = spread(contrasts, residual.qd, residual.qdd, free, QUANTILE, period)
    usual = np.maximum(usual, FINEST * residual.floor)
    ratios = contrasts / usual
    clipped = np.clip(ratios[free], -CLIPPED, CLIPPED)
    C = clipped.T @ clipped / len(clipped)
    C[np.diag_indices(n)] += 1e-6 * C.trace() / n + np.finfo(float).tiny
    whitening = np.linalg.inv(C)
    squares = np.where(free, np.square(_size(ratios, whitening)), np.nan)
    threshold = float(np.sqrt(rare(squares, residual.rate, rate, outliers)))
    hidden = contrast(residual.hidden, residual.rate, MOVING, sign=1.0)
    return [Scan(MOVING, usual, hidden, residual.floor, whitening, threshold, whole)]


def rare(values: Array, sampling: float, rate: float, outliers: float) -> float:
    """What peaks of values (N,), sampled at a rate [Hz], exceed ``rate`` times an hour; NaN does not count.

    ``outliers`` is the share of the peaks that may be contacts. Infinite where there is no peak.
    """
    peaks = clusters(values, gap := max(1, round(INDEPENDENT * sampling)))
    peaks = peaks[np.isfinite(peaks)]
    hours = len(peaks) * gap / sampling / 3600.0
    return fit_tail(peaks, hours, TAIL_SHARE, outliers).threshold(rate) if len(peaks) else np.inf


def find_changes(residual: Residual, looked: list[Scan], taken: Mask) -> list[Change]:
    """The changes that stand out where nothing is ``taken`` (N,), the largest taken out before the next.

    For beside a push the contrasts stand out, too, with the other sign and half as large. Changes that have
    no sample in common are found in one round; the others wait for the next.
    """
    taken = taken.copy()
    found: list[Change] = []
    around = round(AROUND * residual.rate)
    while True:
        course = bridged(residual.external, taken)
        largest, best = np.zeros((2, len(course)))  # over the windows: squares of contrasts, and which window
        contrasts = np.zeros_like(course)
        for number, scan in enumerate(looked):
            # a load that comes and stays is no push, nor is the time before it, nor the bridge to it
            least = np.zeros_like(scan.floor) if residual.standing else scan.least
            each = contrast(course, residual.rate, scan.window, returning=least)
            clear = (scan.size(scan.ratios(each)) > 1.0) & ~taken
            size = np.where(clear, np.square(each / scan.floor).sum(axis=1), 0.0)
            larger = size > largest
            largest[larger], best[larger], contrasts[larger] = size[larger], number, each[larger]
        if not largest.any():
            return found
        untouched = np.ones_like(taken)
        while largest[k := int(np.argmax(largest))]:
            scan = looked[int(best[k])]
            ratios, (*_, end) = scan.ratios(contrasts[k], k), scan.window.samples(residual.rate)
            start, stop = _extent(course, k, int(np.argmax(np.abs(ratios))), contrasts[k], scan, residual)
            out = slice(max(0, start - around), stop + around)
            seen = slice(min(k - end, out.start), max(k + end + 1, out.stop))
            if untouched[seen].all():
                found.append(Change(start, stop, k, contrasts[k], np.abs(ratios), scan.spread[k]))
                taken[out] = taken[k] = True
            untouched[seen], largest[seen] = False, 0.0


def _extent(
    course: Array, k: int, j: int, contrasts: Array, scan: Scan, residual: Residual
) -> tuple[int, int]:
    """The samples about k in which joint j is above half of its greatest distance from beside the window.

    They end with the interval of the recording that k is in, and with the stretches beside the window.
    """
    half, begin, end = scan.window.samples(residual.rate)
    values = course[:, j]
    beside = 0.5 * (values[k - end : k - begin].mean() + values[k + begin + 1 : k + end + 1].mean())
    away = np.sign(contrasts[j]) * (values - beside)
    peak = k - half + int(np.argmax(away[k - half : k + half + 1]))
    first = max(k - end, *(join for join in residual.joins if join <= k))
    last = min(k + end + 1, len(values), *(join for join in residual.joins if join > k))
    below = first + np.flatnonzero(away[first:last] <= 0.5 * away[peak])
    before, after = below[below < peak], below[below > peak]
    return int(before[-1]) + 1 if len(before) else first, int(after[0]) if len(after) else last


def contrast(
    values: Array, rate: float, window: Window, sign: float = -1.0, *, returning: Array | None = None
) -> Array:
    """c of values (N, n); with ``sign`` 1 what arbitrary values of that size would amount to at most.

    ``returning`` (n,): 0 where the means before and after differ by more than c, and by more than that.
    """
    half, begin, end = window.samples(rate)
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    middle = np.arange(len(values))

    def mean(first: int, last: int) -> Array:
        """Of the samples ``first`` to ``last`` from each on, as far as there are."""
        low, high = (np.clip(middle + each, 0, len(values)) for each in (first, last + 1))
        return np.asarray((sums[high] - sums[low]) / np.maximum(high - low, 1)[:, None])

    before, after = mean(-end, -begin - 1), mean(begin + 1, end)
    found = mean(-half, half) + sign * 0.5 * (before + after)
    if returning is None:
        return found
    return np.where(np.abs(after - before) <= np.maximum(np.abs(found), returning), found, 0.0)


def bridged(values: Array, out: Mask) -> Array:
    """Values (N, n) with those ``out`` (N,) on straight lines between the others."""
    if not out.any() or out.all():
        return values
    known, every = np.flatnonzero(~out), np.arange(len(values))
    return np.stack([np.interp(every, known, column[known]) for column in values.T], axis=1)


def _size(ratios: Array, whitening: Array) -> Array:
    return np.asarray(np.sqrt(np.sum((ratios @ whitening) * ratios, axis=1)))


def _whole(residual: Residual, window: Window) -> Mask:
    """Where the window and the stretches beside it are within one interval of the recording (N,)."""
    *_, end = window.samples(residual.rate)
    mask = np.zeros(len(residual.time), bool)
    for start, stop in pairwise([*residual.joins, len(mask)]):
        mask[start + end : max(stop - end, start + end)] = True
    return mask
