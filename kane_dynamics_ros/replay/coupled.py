"""Residuals that look like those of coupled drives: which joint may turn which drive, too.

Where drive j turns at v_j + c v_i, its Coulomb friction adds f s(v_j + c v_i) to the effort of joint j and
c f s(v_j + c v_i) to that of joint i, with s the smooth sign.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kane_dynamics_ros.algebra import Array, Mask
from kane_dynamics_ros.friction import smooth_sign
from kane_dynamics_ros.runtime import JointInfo

FACTORS = np.array([s * c for c in (0.05, 0.1, 0.2, 0.35, 0.6, 1.0, 1.6) for s in (1.0, -1.0)])
FINER = np.linspace(0.7, 1.4, 29)
NEAR = 2  # joints, at most, between a joint and the drive that it turns, too
WIDTH = 0.03  # [rad/s] or [m/s] of the smooth sign
USUALLY = 0.95  # of the time a joint is slower than its usual largest speed
STANDS = 0.01  # [rad/s] or [m/s]: a joint that is usually slower stands still
FEWEST = 100  # samples


class Pair(NamedTuple):
    """Drive ``drive`` turns with joint ``joint``, too, by ``factor`` for each unit of its motion.

    ``share``: the part of both joints' residuals, the lesser of the two, that its friction explains.
    """

    share: float
    drive: int
    joint: int
    factor: float


class Left(NamedTuple):
    """Residuals of the joints, whether each counts, and the joints' speeds: (N, n) each.

    ``known`` (N, n, k): further columns of each joint, to which the residual may be due.
    """

    residual: Array
    good: Mask
    qd: Array
    known: Array | None = None


def likely_pairs(left: Left, joints: Sequence[JointInfo], C: Array, least: float) -> list[Pair]:
    """The pairs of neighbours that explain more than ``least``, with a factor each, the likeliest first.

    ``C`` (n, n): how the drives of the ``joints`` are coupled already.
    """
    speeds, found = np.quantile(np.abs(left.qd), USUALLY, axis=0), []
    for drive in range(len(C)):
        for joint in range(max(0, drive - NEAR), min(len(C), drive + NEAR + 1)):
            if C[drive, joint] or C[joint, drive] or not (speeds[[drive, joint]] >= STANDS).all():
                continue  # itself among them
            alike = joints[drive].unit == joints[joint].unit
            unit = 1.0 if alike else speeds[drive] / speeds[joint]
            factors = unit * FACTORS
            shares = explained(left, C, drive, joint, factors)
            if shares.max() > least:
                factors = factors[np.argmax(shares)] * FINER
                shares = explained(left, C, drive, joint, factors)
                found.append(Pair(float(shares.max()), drive, joint, float(factors[np.argmax(shares)])))
    return sorted(found, reverse=True)


def explained(left: Left, C: Array, drive: int, joint: int, factors: Array) -> Array:
    """The lesser part (factors,) of both joints' residuals that friction of a drive so coupled explains.

    Offset and friction at both speeds are taken out; 0 where the drive would gain power at a joint.
    """
    good = left.good[:, drive] & left.good[:, joint]
    if good.sum() < FEWEST:
        return np.zeros(len(factors))
    qd = left.qd[good]
    own = (qd @ C.T)[:, [drive, joint]]
    column = smooth_sign(own[:, [0]] + qd[:, [joint]] * factors, WIDTH)
    shares = []
    for j, sign in ((drive, np.ones(len(factors))), (joint, np.sign(factors))):
        further = np.zeros((len(qd), 0)) if left.known is None else left.known[good, j]
        known = np.column_stack([np.ones(len(qd)), own, smooth_sign(own, WIDTH), further])
        Q = np.linalg.qr(known / np.maximum(np.abs(known).max(axis=0), 1e-300)).Q
        rest, residual = (each - Q @ (Q.T @ each) for each in (column, left.residual[good, j]))
        product, size = rest.T @ residual, (rest**2).sum(axis=0) * float(residual @ residual)
        shares.append(np.where(product * sign > 0.0, product**2 / np.maximum(size, 1e-300), 0.0))
    return np.asarray(np.min(shares, axis=0))


def right_way_round(friction: Left, C: Array, pair: Pair) -> Pair:
    """The pair, or the other way round where that is likelier: the drive that turns with two joints.

    The columns of both are alike, but a drive has friction at its own speed alone, C qd: at its joint none is
    left at the joint's. ``friction``: as in ``likely_pairs``, with the model's own friction in it.
    """

    def beside(drive: int, joint: int, factor: float) -> float:
        """Friction at the drive's speed without the coupling, over that with it, at its own joint."""
        own = (friction.qd @ C.T)[:, [drive, joint]]
        signs = smooth_sign(np.column_stack([own[:, 0] + factor * friction.qd[:, joint], own]), WIDTH)
        further = np.zeros((len(own), 0)) if friction.known is None else friction.known[:, drive]
        columns = np.column_stack([signs, own, np.ones(len(own)), further])
        size = np.maximum(np.abs(columns).max(axis=0), 1e-300)
        f, left = np.linalg.lstsq(columns / size, friction.residual[:, drive], rcond=None)[0][:2]
        return float(abs(left) / max(abs(f), 1e-300))

    turned = Pair(pair.share, pair.joint, pair.drive, 1.0 / pair.factor)
    return min(pair, turned, key=lambda each: beside(*each[1:]))
