"""Zero-phase filters: one low-pass for every signal, its cut-off chosen from the recording itself."""

import numpy as np
from scipy import signal

from kane_dynamics_ros.algebra import Array

ORDER = 4  # of the Butterworth filter; run forward and backward it falls by 48 dB an octave
LOWEST, HIGHEST = 2.0, 30.0  # [Hz] allowed cut-offs; rigid-body dynamics of arms lie below
ABOVE_NOISE = 10.0  # the motion ends where its power is less than this many times the noise floor
MARGIN = 1.5  # of the cut-off over the frequency at which the motion ends
PER_CUTOFF = 8.0  # analysis rate over cut-off
STENCIL = 9  # points of the central difference


def low_pass(values: Array, rate: float, cutoff: float) -> Array:
    """Butterworth, forward and backward along the first axis: no phase, amplitude 1/2 at ``cutoff`` [Hz]."""
    sections = signal.butter(ORDER, cutoff, fs=rate, output="sos")
    return np.asarray(signal.sosfiltfilt(sections, values, axis=0))


def derivative(values: Array, rate: float) -> Array:
    """Time derivative along the first axis: the central difference of 8th order.

    A Savitzky-Golay filter that passes through all its points is that difference. At the analysis rate
    its error is 2e-4 at the cut-off and below 1e-6 at half of it.
    """
    return np.asarray(signal.savgol_filter(values, STENCIL, STENCIL - 1, deriv=1, delta=1 / rate, axis=0))


def decimation(rate: float, cutoff: float) -> int:
    """How many samples become one, so that ``PER_CUTOFF`` samples a period of the cut-off remain."""
    return max(1, int(rate / (PER_CUTOFF * cutoff)))


def decimated(values: Array, factor: int) -> Array:
    """Every ``factor``-th sample of (N,), after a linear-phase low-pass whose delay is taken out."""
    if factor == 1:
        return values
    # Kaiser, beta 8: the pass band is flat to 1e-4, where the shorter default ripples by 2e-3
    return np.asarray(signal.resample_poly(values, 1, factor, window=("kaiser", 8.0), padtype="line"))


def choose_cutoff(position: Array, rate: float) -> float:
    """The cut-off [Hz] for a motion: above its spectrum, below the noise.

    Per joint: the power spectral density of the position falls from its peak to the noise floor (its
    median over the upper half of the band); where it comes within a factor of ``ABOVE_NOISE``, the
    motion ends. The fastest joint decides. position: (N, n) at ``rate`` [Hz].
    """
    frequency, power = signal.welch(
        position, rate, nperseg=min(len(position), int(4 * rate)), detrend="linear", axis=0
    )
    floor = np.median(power[frequency > rate / 4], axis=0)
    ends = [_end(frequency, power[:, j], floor[j]) for j in range(position.shape[1])]
    return float(np.clip(MARGIN * max(ends), LOWEST, min(HIGHEST, rate / PER_CUTOFF)))


def _end(frequency: Array, power: Array, floor: float) -> float:
    """The first frequency past the peak at which the motion drowns in the noise."""
    peak = int(np.argmax(power))
    below_noise = np.flatnonzero(power[peak:] <= ABOVE_NOISE * floor)
    return float(frequency[peak + below_noise[0]] if len(below_noise) else frequency[-1])
