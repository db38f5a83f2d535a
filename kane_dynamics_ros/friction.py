"""The friction of a joint: one formula, whose coefficients identify finds and the node takes.

At the speed qd [rad/s] or [m/s], under the load that the rigid bodies put on the joint [N m] or [N],

    f = v qd + w |qd| + r sgn(qd) sqrt|qd|
        + (c + b exp(-(qd / v_s)^2) + l |load|) s + a |s| + o,        s = tanh(qd / v_c)

with viscous friction v and its half difference between the directions w, a part r that grows less than the
speed, Coulomb friction c with its half difference a, its change towards rest b (Stribeck), a part l by the
load, and an offset o, which is an effort and no friction, but is found beside it. Friction takes power
away in both directions where c >= |a|, v >= |w| and all of c, v, r, l, c + b are not negative.

At rest a part k of what is times s stays in the direction d, 1 or -1, of the last motion,

    k (c + b exp(-(qd / v_s)^2) + l |load|) (1 - |s|) d.

Drives may be coupled, as in the wrists of many arms: then the drives' speeds, referred to the joints, are
C qd, with ones on C's diagonal, and by virtual power the joints feel the friction

    C^T f(C qd)        under the drives' load C^-T load,

which dissipates what the drives' own friction does: qd^T C^T f(C qd) = w^T f(w) with w = C qd.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kane_dynamics_ros.algebra import Array

SINGULAR = 1e-6  # distance of a row of unit length from those before it, from which C has an inverse
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


def last_direction(qd: Array, coulomb_velocity: float, before: Array | float = 0.0) -> Array:
    """The direction, 1 or -1, in which each joint moved last at or above a speed: (N, n) of speeds in time.

    ``before`` (n,): that before the first of them, 0 where it is not known.

    >>> last_direction(np.array([[0.0], [-2.0], [0.1], [0.0], [3.0]]), 1.0).ravel().tolist()
    [0.0, -1.0, -1.0, -1.0, 1.0]
    """
    moves = np.abs(qd) >= coulomb_velocity
    latest = np.maximum.accumulate(np.where(moves, np.arange(1, len(qd) + 1)[:, None], 0), axis=0)
    signs = np.concatenate([np.broadcast_to(before, qd[:1].shape), np.sign(qd)])
    return np.asarray(np.take_along_axis(signs, latest, axis=0))


def wrong_coupling(values: Sequence[float], joints: Sequence[str]) -> tuple[object, str] | None:
    """What was found and what is allowed where rows of numbers are no matrix C of these joints; else None."""
    n = len(joints)
    if len(values) != n * n:
        return list(values), f"none, or {n * n} numbers: for the drive of each of the {n} joints a row of {n}"
    C = np.reshape(values, (n, n))
    if not np.isfinite(C).all():
        j, i = np.argwhere(~np.isfinite(C))[0]
        return float(C[j, i]), f"a finite number for how {joints[i]!r} turns the drive of {joints[j]!r}"
    for j, joint in enumerate(joints):
        if C[j, j] != 1.0:
            return float(C[j, j]), f"1 for how {joint!r} turns its own drive"
    distance = np.abs(np.diag(np.linalg.qr((C / np.linalg.norm(C, axis=1)[:, None]).T).R))
    for j in np.flatnonzero(distance < SINGULAR).tolist():
        return C[j].tolist(), f"for {joints[j]!r} a row that does not follow from those before it"
    return None


@dataclass(frozen=True)
class ExtraFriction:
    """The coefficients of the formula beyond viscous and Coulomb friction, each (n,), zero where unused.

    ``stribeck_velocity`` is above zero. ``coupling`` is C (n, n), or None where each joint has its own drive.

    Example:
        >>> from numpy import array
        >>> term = ExtraFriction.of(2, offset=array([0.5, 0.0]), load=array([0.0, 0.1]))
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
    at_rest: Array
    coupling: Array | None = None

    @classmethod
    def of(cls, n: int, **coefficients: Array) -> "ExtraFriction":
        """Those of n joints, zero where they are not given."""
        values = {name: np.zeros(n) for name in BEYOND}
        return cls(**{**values, "stribeck_velocity": np.ones(n), "at_rest": np.zeros(n), **coefficients})

    @property
    def any(self) -> bool:
        """Whether there is anything to compute."""
        return any(np.any(getattr(self, name)) for name in (*BEYOND, "at_rest"))

    def level(self, qd: Array, load: Array) -> Array:
        """What adds to Coulomb friction, b exp(-(qd / v_s)^2) + l |load|: (..., n)."""
        return self.stribeck * rise(qd, self.stribeck_velocity) + self.load * np.abs(load)

    def effort(self, qd: Array, load: Array, coulomb_velocity: float) -> Array:
        """What the joints feel of f without v qd + c s: (..., n), of their speeds and loads (..., n)."""
        C = self.coupling
        if C is not None:
            qd, load = qd @ C.T, load @ self._to_joints
        s = smooth_sign(qd, coulomb_velocity)
        by_sign = self.level(qd, load)
        by_size = self.viscous_asymmetry * np.abs(qd) + self.coulomb_asymmetry * np.abs(s)
        f = by_sign * s + by_size + self.square_root * signed_root(qd) + self.offset
        return np.asarray(f if C is None else f @ C)

    def effort_at_rest(
        self, qd: Array, load: Array, coulomb: Array, coulomb_velocity: float, direction: Array
    ) -> Array:
        """What the joints feel of the friction that stays at rest: (..., n).

        ``coulomb`` (n,) of the drives, which last moved in ``direction`` (..., n), 0 where it is not known.
        """
        C = self.coupling
        if C is not None:
            qd, load = qd @ C.T, load @ self._to_joints
        left = self.at_rest * (1.0 - np.abs(smooth_sign(qd, coulomb_velocity))) * direction
        f = left * (coulomb + self.level(qd, load))
        return np.asarray(f if C is None else f @ C)

    @cached_property
    def _to_joints(self) -> Array:
        """C^-1, which a control loop asks for at every state."""
        return np.asarray(np.linalg.inv(np.asarray(self.coupling)))
