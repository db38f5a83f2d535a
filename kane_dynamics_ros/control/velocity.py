"""Joint velocity from positions, for robots that report none.

A first-order low-pass filter on the difference quotient, with cut-off frequency f [Hz]:
v += (1 - exp(-2 pi f dt)) ((q - q_previous) / dt - v), which delays the velocity by 1 / (2 pi f).
"""

import math
from dataclasses import dataclass

import numpy as np

from kane_dynamics_ros.control.splines import Array


@dataclass(frozen=True)
class Differentiated:
    """The last position (n,), the filtered velocity (n,), and when [s]."""

    q: Array
    qd: Array
    time: float


def differentiate(previous: Differentiated | None, q: Array, time: float, cutoff: float) -> Differentiated:
    """The velocity after one more position, at rest before the first one.

    ``time`` [s] is any clock that never steps. A repeated time keeps the velocity.
    """
    if previous is None:
        return Differentiated(q, np.zeros_like(q), time)
    dt = time - previous.time
    if dt <= 0.0:
        return Differentiated(q, previous.qd, previous.time)
    share = 1.0 - math.exp(-math.tau * cutoff * dt)
    return Differentiated(q, previous.qd + share * ((q - previous.q) / dt - previous.qd), time)
