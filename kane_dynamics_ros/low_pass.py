"""First-order low-pass filters, exact for input that is constant in each step, whatever the steps are.

The output y follows the input x by y += (1 - exp(-k dt)) (x - y), with the rate k = 2 pi f of a cut-off
frequency f.
"""

import math
from dataclasses import dataclass

import numpy as np

from kane_dynamics_ros.algebra import Array, Mask


def low_pass_step(previous: Array, value: Array, cutoff: float, dt: float) -> Array:
    """The filter's output ``dt`` [s] after ``previous``; ``cutoff`` f in Hz."""
    filtered: Array = previous - math.expm1(-math.tau * cutoff * dt) * (value - previous)
    return filtered


def share_of_step(rate: Array, dt: float) -> Array:
    """1 - exp(-k dt) (n,): the part of the way to its input that each output goes; k (n,) 1/s, dt [s]."""
    share: Array = -np.expm1(-rate * dt)
    return share


# Velocities out of positions: the difference quotient, filtered


@dataclass(frozen=True)
class Differentiated:
    """The last position (n,), the filtered velocity (n,), and when [s]."""

    q: Array
    qd: Array
    time: float


def differentiate(
    previous: Differentiated | None,
    q: Array,
    time: float,
    cutoff: float,
    continuous: Mask | None = None,
) -> Differentiated:
    """The velocity after one more position, at rest before the first one.

    The difference quotient through the low-pass filter of cut-off frequency f = ``cutoff`` [Hz], which delays
    the velocity by 1 / (2 pi f).
    ``time`` [s] is any clock that never steps; a repeated time keeps the velocity. Of joints that are
    ``continuous`` (n,) the difference is the shorter way round: encoders wrap at half a turn.
    """
    if previous is None:
        return Differentiated(q, np.zeros_like(q), time)
    dt = time - previous.time
    if dt <= 0.0:
        return Differentiated(q, previous.qd, previous.time)
    moved = q - previous.q
    if continuous is not None:
        moved = np.where(continuous, moved - np.round(moved / math.tau) * math.tau, moved)
    return Differentiated(q, low_pass_step(previous.qd, moved / dt, cutoff, dt), time)
