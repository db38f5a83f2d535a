"""First-order low-pass filters, exact for input that is constant in each step, whatever the steps are.

The output y follows the input x by y += (1 - exp(-k dt)) (x - y), with the rate k = 2 pi f of a cut-off
frequency f.
"""

import math

import numpy as np

from kane_dynamics_ros.algebra import Array


def low_pass_step(previous: Array, value: Array, cutoff: float, dt: float) -> Array:
    """The filter's output ``dt`` [s] after ``previous``; ``cutoff`` f in Hz."""
    filtered: Array = previous - math.expm1(-math.tau * cutoff * dt) * (value - previous)
    return filtered


def share_of_step(rate: Array, dt: float) -> Array:
    """1 - exp(-k dt) (n,): the part of the way to its input that each output goes; k (n,) 1/s, dt [s]."""
    share: Array = -np.expm1(-rate * dt)
    return share
