"""The friction of a joint: one formula, whose coefficients identify finds and the node takes.

At the speed qd [rad/s] or [m/s], under the load that the rigid bodies put on the joint [N m] or [N],

    f = v qd + w |qd| + r sgn(qd) sqrt|qd|
        + (c + b exp(-(qd / v_s)^2) + l |load|) s + a |s| + o,        s = tanh(qd / v_c)

with viscous friction v and its half difference between the directions w, a part r that grows less than the
speed, Coulomb friction c with its half difference a, its change towards rest b (Stribeck), a part l by the
load, and an offset o, which is an effort and no friction, but is found beside it. Friction takes power
away in both directions where c >= |a|, v >= |w| and all of c, v, r, l, c + b are not negative.
"""

from dataclasses import dataclass, fields

import numpy as np

from kane_dynamics_ros.algebra import Array

BEYOND = ("offset", "load", "stribeck", "coulomb_asymmetry", "viscous_asymmetry", "square_root")


def smooth_sign(qd: Array, coulomb_velocity: float) -> Array:
    """s of the formula."""
    return np.tanh(qd / coulomb_velocity)


def rise(qd: Array, stribeck_velocity: Array | float) -> Array:
    """exp(-(qd / v_s)^2): 1 at rest."""
    return np.asarray(np.exp(-((qd / stribeck_velocity) ** 2)))


def signed_root(qd: Array) -> Array:
    """sgn(qd) sqrt|qd|."""
    return np.asarray(np.sign(qd) * np.sqrt(np.abs(qd)))


@dataclass(frozen=True)
class Beyond:
    """The coefficients of the formula beyond viscous and Coulomb friction, each (n,), zero where unused.

    ``stribeck_velocity`` is above zero.

    Example:
        >>> from numpy import array
        >>> term = Beyond.of(2, offset=array([0.5, 0.0]), load=array([0.0, 0.1]))
        >>> term.effort(qd=array([1.0, -1.0]), load=array([3.0, 20.0]), coulomb_velocity=0.01).tolist()
        [0.5, -2.0]
    """

    offset: Array
    load: Array
    stribeck: Array
    coulomb_asymmetry: Array
    viscous_asymmetry: Array
    square_root: Array
    stribeck_velocity: Array

    @classmethod
    def of(cls, n: int, **coefficients: Array) -> "Beyond":
        """Those of n joints, zero where they are not given."""
        values = {each.name: np.zeros(n) for each in fields(cls)}
        return cls(**{**values, "stribeck_velocity": np.ones(n), **coefficients})

    @property
    def any(self) -> bool:
        """Whether there is anything to compute."""
        return any(np.any(getattr(self, name)) for name in BEYOND)

    def level(self, qd: Array, load: Array) -> Array:
        """What adds to Coulomb friction, b exp(-(qd / v_s)^2) + l |load|: (..., n)."""
        return self.stribeck * rise(qd, self.stribeck_velocity) + self.load * np.abs(load)

    def effort(self, qd: Array, load: Array, coulomb_velocity: float) -> Array:
        """f without v qd + c s: (..., n), of speeds and loads (..., n)."""
        s = smooth_sign(qd, coulomb_velocity)
        by_sign = self.level(qd, load)
        by_size = self.viscous_asymmetry * np.abs(qd) + self.coulomb_asymmetry * np.abs(s)
        return np.asarray(by_sign * s + by_size + self.square_root * signed_root(qd) + self.offset)
