"""Levels of rare peaks, against distributions whose levels are known in closed form."""

import numpy as np
import pytest

from kane_dynamics_ros.contact.extremes import Tail, fit_tail, interval

HOURS, PEAKS = 2.0, 4000


def peaks(shape: float, seed: int) -> np.ndarray:
    """Generalised Pareto peaks of scale 1: exponential for shape 0."""
    u = np.random.default_rng(seed).uniform(size=PEAKS)
    return -np.log(u) if shape == 0.0 else (u**-shape - 1.0) / shape


def exact(shape: float, rate: float) -> float:
    """The value that is exceeded ``rate`` times an hour."""
    ratio = PEAKS / HOURS / rate
    return float(np.log(ratio)) if shape == 0.0 else float((ratio**shape - 1.0) / shape)


@pytest.mark.parametrize("shape", [0.0, 0.2])
@pytest.mark.parametrize("rate", [1.0, 0.1])
def test_thresholds_of_known_tails_are_found_on_the_average(shape: float, rate: float) -> None:
    """Over 200 recordings; extrapolated to twenty times their length. A skewed estimate: hence its median."""
    found = [fit_tail(peaks(shape, seed), HOURS).threshold(rate) for seed in range(200)]
    # shapes below 0 are cut off, so that an exponential tail is met from above
    assert 0.93 * exact(shape, rate) < np.median(found) < 1.12 * exact(shape, rate)


@pytest.mark.parametrize("shape", [0.0, 0.2])
def test_the_interval_holds_the_true_threshold_as_often_as_it_says(shape: float) -> None:
    """90 % of the intervals should; shapes below 0 being cut off costs some."""
    inside = 0
    for seed in range(100):
        tail = fit_tail(peaks(shape, seed), HOURS)
        low, high = interval(tail, 1.0)
        inside += low <= exact(shape, 1.0) <= high
    assert inside >= 75


def test_contacts_among_the_peaks_raise_the_threshold_by_no_more_than_their_number() -> None:
    """A tenth of the peaks a hundred times too large, where a quarter may be: how large does not count."""
    clean = [fit_tail(peaks(0.0, seed), HOURS, 0.6, 0.25).threshold(1.0) for seed in range(50)]
    dirty = []
    for seed in range(50):
        values = peaks(0.0, seed)
        values[::10] += 100.0
        dirty.append(fit_tail(values, HOURS, 0.6, 0.25).threshold(1.0))
    assert np.mean(clean) == pytest.approx(exact(0.0, 1.0), rel=0.05)
    assert np.mean(dirty) < 1.4 * np.mean(clean)


def test_the_threshold_of_a_rate_is_exceeded_at_that_rate() -> None:
    for shape in (0.0, 0.3):
        tail = Tail(2.0, 0.7, shape, 50.0, 30)
        excess = (tail.threshold(0.5) - 2.0) / 0.7
        rate = 50.0 * (np.exp(-excess) if shape == 0.0 else (1.0 + shape * excess) ** (-1.0 / shape))
        assert rate == pytest.approx(0.5, rel=1e-9)
        assert tail.threshold(80.0) == 2.0  # more often than the level itself is exceeded
