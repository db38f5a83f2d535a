"""Joint friction of the simulated arm, and what it does to the velocities within one time step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.friction import ExtraFriction, wrong_coupling
from kane_dynamics_ros.runtime import JointInfo
from kane_dynamics_ros.simulation.engine import option_error

LOCKED = 1e200  # a dry friction that nothing overcomes; finite, so that 0 * LOCKED is 0
ROUNDING = 1e-4  # [N m] and so on, by which a sum of coefficients that are written with few digits is off
_SWEEPS = 2000
_STIFF = 1e8  # of a spring at a bound, over the stiffest inertia


@dataclass(frozen=True)
class Friction:
    """The formula of ``kane_dynamics_ros.friction`` with the sign itself in place of the smooth one.

    ``viscous`` [N m s/rad] or [N s/m] and ``coulomb`` [N m] or [N]: one value per joint, in model order;
    ``beyond``: the other terms, and how drives are coupled. At rest the joint holds any load between the
    formula's values at vanishing speeds of both directions: the friction effort is then whatever balances it.
    Raises ``SimulationError`` for friction that would drive a joint.
    """

    viscous: Sequence[float]
    coulomb: Sequence[float]
    beyond: ExtraFriction

    def __post_init__(self) -> None:
        beyond = self.beyond
        coulomb = np.array(self.coulomb) - np.abs(beyond.coulomb_asymmetry)
        margins = {
            **vars(beyond),
            "viscous_asymmetry": np.array(self.viscous) - np.abs(beyond.viscous_asymmetry),
            "coulomb_asymmetry": coulomb,
            "stribeck": coulomb + beyond.stribeck,
            "offset": np.abs(beyond.offset),
            "stribeck_velocity": np.where(beyond.stribeck_velocity > 0.0, 0.0, -1.0),
        }
        del margins["coupling"]
        n, C = len(self.viscous), beyond.coupling
        if C is not None and (wrong := wrong_coupling(np.ravel(C).tolist(), [str(j) for j in range(n)])):
            raise option_error("friction.coupling", *wrong)
        for name, margin in margins.items():
            if not (np.isfinite(margin) & (margin >= -ROUNDING)).all():
                found = {"viscous": self.viscous, "coulomb": self.coulomb, name: vars(beyond)[name]}
                allowed = "finite, and friction that takes power away in both directions"
                raise option_error(f"friction.{name}", found, allowed)

    @classmethod
    def from_urdf(
        cls, joints: Sequence[JointInfo], stribeck_velocity: float = 0.05, static_ratio: float = 1.0
    ) -> "Friction":
        """The URDF's ``<dynamics damping friction>``; at rest ``static_ratio`` times the Coulomb level."""
        coulomb, n = np.array([joint.friction for joint in joints]), len(joints)
        width = np.full(n, stribeck_velocity)
        beyond = ExtraFriction.of(n, stribeck=(static_ratio - 1.0) * coulomb, stribeck_velocity=width)
        return cls([joint.damping for joint in joints], coulomb.tolist(), beyond)

    @classmethod
    def none(cls, n: int) -> "Friction":
        """No friction on n joints."""
        return cls((0.0,) * n, (0.0,) * n, ExtraFriction.of(n))


def solve_velocity(A: Array, b: Array, F: Array, lower: Array, upper: Array, guess: Array) -> Array:
    """The velocities (n,) at the end of a time step under friction, brakes and hard stops.

    All of them oppose motion and none of them pushes, so the velocities v minimise

        1/2 v^T A v - b^T v + sum_i F_i |v_i|      subject to      lower <= v <= upper

    with A = M + h theta D symmetric positive definite, the dry friction impulses F_i = h * level_i
    (``LOCKED`` locks the joint), and bounds that are infinite except at a hard stop. The minimum is unique;
    it sticks (v_i = 0) exactly when friction can hold the joint. It is found by Newton's method on the
    optimality conditions: assume which joints are fixed (stuck, or at a bound) and which way the others
    slide, solve, correct.
    """
    v = guess
    previous: _Partition | None = None
    for _ in range(3 * len(b) + 6):
        partition = _partition(v, b - A @ v, np.diag(A), F, lower, upper)
        if previous is not None and all(map(np.array_equal, previous, partition)):
            return v
        previous = partition
        v = _solve_free(A, b, F, partition)
    return _sweep(A, b, F, lower, upper, v)


def solve_coupled(
    A: Array, b: Array, F: Array, lower: Array, upper: Array, guess: Array, to_joints: Array
) -> Array:
    """As ``solve_velocity`` for speeds w (n,) of coupled drives, where the bounds are those of the joints.

    The joints' speeds are ``to_joints`` w. Stiff springs draw those that leave their bounds back to them.
    """
    unbounded, stiff = np.full(len(b), np.inf), _STIFF * np.diag(A)
    w, held = guess, np.zeros(len(b), bool)
    while True:
        w = solve_velocity(A, b, F, -unbounded, unbounded, w)
        v = to_joints @ w
        outside = (np.clip(v, lower, upper) != v) & ~held
        if not outside.any():
            return w
        rows, bounds = to_joints[outside], np.clip(v, lower, upper)[outside]
        springs = np.where(rows != 0.0, stiff, 0.0).max(axis=1)  # of the drives that turn with the joint
        A, b, held = A + rows.T * springs @ rows, b + springs * bounds @ rows, held | outside


class _Partition(NamedTuple):
    """Per joint: fixed or free; the velocity where it is fixed (else 0); its sliding sign (else 0)."""

    fixed: Mask
    target: Array
    slide: Array


def _partition(v: Array, g: Array, a: Array, F: Array, lower: Array, upper: Array) -> _Partition:
    """What each joint would do if the others kept their velocities v (g: gradient b - A v)."""
    pull = a * v + g
    sign = np.sign(pull)
    slack = np.abs(pull) - F
    alone = np.where(slack > 0.0, sign * slack / a, 0.0)
    target = np.minimum(np.maximum(alone, lower), upper)
    fixed = (target != alone) | ((slack <= 0.0) & (F > 0.0))
    return _Partition(fixed, np.where(fixed, target, 0.0), np.where(fixed | (F == 0.0), 0.0, sign))


def _solve_free(A: Array, b: Array, F: Array, partition: _Partition) -> Array:
    """Velocities when the fixed joints are at their targets and the others slide against friction."""
    v: Array = partition.target.copy()
    free = np.flatnonzero(~partition.fixed)
    if len(free):
        load = b - partition.slide * F - A @ v
        v[free] = np.linalg.solve(A[np.ix_(free, free)], load[free])
    return v


def _sweep(A: Array, b: Array, F: Array, lower: Array, upper: Array, v: Array) -> Array:
    """Coordinate descent: slow, but it always converges on this problem. For the rare cycle of Newton."""
    v = np.asarray(np.clip(v, lower, upper))
    for _ in range(_SWEEPS):
        before = v.copy()
        for i in range(len(b)):
            pull = b[i] - A[i] @ v + A[i, i] * v[i]
            alone = np.sign(pull) * max(abs(pull) - F[i], 0.0) / A[i, i]
            v[i] = min(max(alone, lower[i]), upper[i])
        if np.array_equal(before, v):
            break
    return v
