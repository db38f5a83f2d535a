"""An elastic arm about a posture: its frames, its sag and what undoes it, and the joint feedback it bears."""

import math
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.elastic.arm import equations
from kane_dynamics_ros.elastic.arm_model import ArmModel, turn

_ITERATIONS = 20


class FrameInRoot(NamedTuple):
    """Orientation (3, 3) and origin (3,) [m] of a frame in the root frame."""

    R: Array
    p: Array

    def moved(self, R: Array, r: Array) -> "FrameInRoot":
        """A frame fixed in this one."""
        return FrameInRoot(self.R @ R, self.p + self.R @ r)


class ArmFrames(NamedTuple):
    """All frames of an arm: the bodies' (L, or T of an elastic link), the beams' B, and the chain's tip."""

    bodies: tuple[FrameInRoot, ...]
    beams: tuple[FrameInRoot | None, ...]
    tip: FrameInRoot


def arm_frames(model: ArmModel, x: Array) -> ArmFrames:
    """The frames at the generalized coordinates ``x`` (size,), in the root frame."""
    root = FrameInRoot(np.eye(3), np.zeros(3))
    bodies: list[FrameInRoot] = []
    beams: list[FrameInRoot | None] = []
    for body in model.bodies:
        joint = body.joint
        frame = bodies[joint.parent] if joint.parent >= 0 else root
        position = joint.multiplier * x[joint.coordinate] + joint.offset
        R = body.orientation(position)
        slide = position * (R @ body.axis) if joint.kind == "prismatic" else 0.0
        frame = frame.moved(R, body.p_PJ + slide)
        beam = None
        if (flexure := body.flexure) is not None:
            beam = frame.moved(flexure.R_LB, flexure.p_LoBo_L)
            node = x[flexure.tip_place]
            r = np.array([flexure.body.length, 0.0, 0.0]) + node[:3]
            frame = beam.moved(turn(node[3:], np.zeros(3)).R @ flexure.R_LB.T, r)
        bodies.append(frame)
        beams.append(beam)
    return ArmFrames(tuple(bodies), tuple(beams), bodies[model.tip_body].moved(model.R_BT, model.p_BoTo_B))


def sag(model: ArmModel, q: ArrayLike, gravity: Array) -> Array:
    """Generalized coordinates (size,) in which the beams balance gravity at joint positions ``q`` (n,).

    ``gravity``: free-fall acceleration in the root frame, (3,) [m/s^2].
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


def rigid_tip(model: ArmModel, q: ArrayLike) -> FrameInRoot:
    """The tip's frame without bending."""
    x = np.zeros(model.size)
    x[: model.n] = q
    return arm_frames(model, x).tip


def rigid_tip_position(model: ArmModel, q: ArrayLike) -> Array:
    """Where the tip would be without bending, (3,) [m]."""
    return rigid_tip(model, q).p


def compensate_sag(model: ArmModel, q: ArrayLike, gravity: Array) -> Array:
    """Joint positions (n,) near ``q`` at which the sagging tip is where the rigid one is at ``q``.

    Gauss-Newton steps of least joint motion, with the rigid arm's Jacobian: the sag changes little with
    the small correction. Only the position of the tip is corrected.
    """
    target = rigid_tip_position(model, q)
    corrected = np.array(q, dtype=float)
    for _ in range(_ITERATIONS):
        error = target - arm_frames(model, sag(model, corrected, gravity)).tip.p
        if np.linalg.norm(error) < 1e-10:
            break
        corrected += np.linalg.pinv(_jacobian(model, corrected), rcond=1e-6) @ error
    return corrected


def _jacobian(model: ArmModel, q: Array, step: float = 1e-6) -> Array:
    """d(rigid tip position)/dq, (3, n), by central differences."""
    moves = step * np.eye(model.n)
    columns = [rigid_tip_position(model, q + d) - rigid_tip_position(model, q - d) for d in moves]
    return np.stack(columns, axis=1) / (2 * step)


# Which joint feedback the arm bears: poles of the sampled loop about a posture
#
# The encoder sits at the motor (collocated), so that continuous PD feedback damps every mode. Sampled, and
# late by ``delay`` periods, it does not: to a fast change the joint shows only what of the arm follows at
# once, M's Schur complement, a fraction of the rigid inertia, and the loop gain is inversely as large.


def slowest_pole(
    arm: ArmModel, q: Array, gravity: Array, kp: Array, kd: Array, period: float, delay: int = 1
) -> float:
    """Largest modulus of the sampled loop's poles at rest in ``q`` (n,): 1 or more oscillates for ever.

    The efforts are -kp dq - kd dq' (each (n, n)), held over ``period`` [s], and those of ``delay`` periods
    before. The arm is linear about its sag, without friction and without the stiffness of gravity.
    """
    n, size = arm.n, arm.size
    M = equations(arm, sag(arm, q, gravity), np.zeros(size), gravity).M
    inverse = np.linalg.inv(M)
    held = np.zeros((2 * size + n, 2 * size + n))
    held[:size, size : 2 * size] = np.eye(size)
    held[size : 2 * size, :size] = -inverse @ arm.k
    held[size : 2 * size, size : 2 * size] = -inverse @ arm.c
    held[size : 2 * size, 2 * size :] = inverse[:, :n]
    step = scipy.linalg.expm(held * period)
    gain = np.zeros((n, 2 * size))
    gain[:, :n], gain[:, size : size + n] = -kp, -kd
    free, driven = step[: 2 * size, : 2 * size], step[: 2 * size, 2 * size :]
    if delay == 0:
        return float(np.abs(np.linalg.eigvals(free + driven @ gain)).max())
    queue = np.eye(n * delay, k=n)
    loop = np.zeros((2 * size + n * delay, 2 * size + n * delay))
    loop[: 2 * size, : 2 * size], loop[: 2 * size, 2 * size : 2 * size + n] = free, driven
    loop[2 * size :, 2 * size :] = queue
    loop[-n:, : 2 * size] = gain
    return float(np.abs(np.linalg.eigvals(loop)).max())


def largest_stable_factor(
    arm: ArmModel, q: Array, gravity: Array, kp: Array, kd: Array, period: float, delay: int = 1
) -> float:
    """How many times kd (kp by the square, so that the damping ratio stays) the loop bears; 0 to 100.

    Arguments as of ``slowest_pole``.
    """

    def stable(factor: float) -> bool:
        return slowest_pole(arm, q, gravity, factor**2 * kp, factor * kd, period, delay) < 1.0

    factors = np.geomspace(0.01, 100.0, 41)
    first = next((i for i, factor in enumerate(factors) if not stable(float(factor))), len(factors))
    if first in (0, len(factors)):
        return 0.0 if first == 0 else float(factors[-1])
    low, high = float(factors[first - 1]), float(factors[first])
    for _ in range(12):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low
