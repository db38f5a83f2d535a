"""An elastic arm at rest: how far it sags, and joint positions that undo the sag at the tip."""

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics_ros.elastic.arm import equations
from kane_dynamics_ros.elastic.arm_model import ArmModel
from kane_dynamics_ros.elastic.placement import arrangement
from kane_dynamics_ros.runtime.interface import Array

_ITERATIONS = 20


def sag(model: ArmModel, q: ArrayLike, gravity: Array) -> Array:
    """Generalized coordinates (size,) in which the beams balance gravity at joint positions ``q`` (n,).

    Fixed-point iteration on k delta = -h(delta), which contracts by the ratio of sag to length.
    """
    n = model.n
    x, rest = np.zeros(model.size), np.zeros(model.size)
    x[:n] = q
    for _ in range(_ITERATIONS):
        load = -equations(model, x, rest, gravity).h[n:]
        delta = np.linalg.solve(model.k[n:, n:], load) if len(load) else load
        change = delta - x[n:]
        x[n:] = delta
        if not len(load) or abs(change).max() <= 1e-13 * max(1.0, abs(delta).max()):
            break
    return x


def tip_position(model: ArmModel, x: Array) -> Array:
    """Position (3,) of the chain's tip in the root frame [m]."""
    return arrangement(model, x).tip.p


def rigid_tip_position(model: ArmModel, q: ArrayLike) -> Array:
    """Where the tip would be without bending, (3,) [m]."""
    x = np.zeros(model.size)
    x[: model.n] = q
    return tip_position(model, x)


def compensate_sag(model: ArmModel, q: ArrayLike, gravity: Array) -> Array:
    """Joint positions (n,) near ``q`` at which the sagging tip is where the rigid one is at ``q``.

    Gauss-Newton steps of least joint motion, with the rigid arm's Jacobian: the sag changes little with
    the small correction. Only the position of the tip is corrected.
    """
    target = rigid_tip_position(model, q)
    corrected = np.array(q, dtype=float)
    for _ in range(_ITERATIONS):
        error = target - tip_position(model, sag(model, corrected, gravity))
        if np.linalg.norm(error) < 1e-10:
            break
        corrected += np.linalg.pinv(_jacobian(model, corrected), rcond=1e-6) @ error
    return corrected


def _jacobian(model: ArmModel, q: Array, step: float = 1e-6) -> Array:
    """d(rigid tip position)/dq, (3, n), by central differences."""
    moves = step * np.eye(model.n)
    columns = [rigid_tip_position(model, q + d) - rigid_tip_position(model, q - d) for d in moves]
    return np.stack(columns, axis=1) / (2 * step)
