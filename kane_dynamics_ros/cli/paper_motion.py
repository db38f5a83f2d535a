"""The input curves of [Malvezzi2017]'s simulations: sinusoidal second derivatives, flat extrema.

The paper gives neither amplitudes nor durations; those below are ours. Each curve rises to its extremum
and returns, by the cycloid s = t/T - sin(2 pi t/T) / (2 pi): its second derivative is a sine, and first and
second derivatives vanish together at both ends of each stroke.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

STROKE = 2.5  # [s], the slow motion's rise; its return takes as long
FASTER = 2.5  # the paper's ratio between the rates of figures 2 and 3
AMPLITUDES = (np.pi / 2, np.pi / 4, -np.pi / 3)  # [rad] of gamma_1, alpha_2, alpha_3
VARIATIONS = (3.0, 0.4, -0.2)  # [N m], added to the static torques in the forward simulation
FORWARD_STROKE = 1.0  # [s]


class Motion(NamedTuple):
    """A curve at times t: value, first and second derivative; each (..., 3) for three coordinates."""

    position: Array
    rate: Array
    acceleration: Array


def there_and_back(t: ArrayLike, amplitudes: ArrayLike, stroke: float) -> Motion:
    """From 0 to ``amplitudes`` in ``stroke`` seconds and back to 0; still before and after."""
    time = np.clip(np.asarray(t, float), 0.0, 2 * stroke)[..., None]
    phase, returning = time / stroke, time > stroke
    turn = 2 * np.pi * phase
    rise = phase - np.sin(turn) / (2 * np.pi)
    sign = np.where(returning, -1.0, 1.0)
    position = np.where(returning, 2.0 - rise, rise)
    rate = sign * (1 - np.cos(turn)) / stroke
    acceleration = sign * 2 * np.pi * np.sin(turn) / stroke**2
    size = np.asarray(amplitudes, float)
    return Motion(position * size, rate * size, acceleration * size)
