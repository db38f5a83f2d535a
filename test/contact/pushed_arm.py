"""Recordings of an arm that is pushed, by Pinocchio: what it does not share with the model is stated here.

Its masses are up to a fifth off, its gears rub in a way that no model of ours has, its effort sensors are
offset and noisy.
"""

from typing import NamedTuple

import numpy as np
import pinocchio
from replay_bags import Record, brought_to_rest, effort, motion, pinocchio_arm, record

NAMES = ("gamma_1", "alpha_2", "alpha_3", "beta_4", "gamma_4")
LIMITS = np.array([250.0, 300.0, 120.0, 15.0, 15.0])
RUB = np.array([6.0, 8.0, 4.0, 0.3, 0.3])  # [N m]


class Push(NamedTuple):
    """A force (3,) [N] at the tip in root axes, or joint efforts (5,), that come and go within 0.1 s."""

    start: float
    end: float
    force: tuple[float, ...]


def unlike_its_model() -> pinocchio.Model:
    """The reference robot with other masses."""
    arm = pinocchio_arm()
    random = np.random.default_rng(4)
    for i in range(1, arm.njoints):
        arm.inertias[i] = pinocchio.Inertia(
            arm.inertias[i].mass * (1.0 + random.uniform(-0.2, 0.2)),
            arm.inertias[i].lever,
            arm.inertias[i].inertia,
        )
    return arm


def pushed(
    seconds: float,
    rate: float,
    pushes: tuple[Push, ...] = (),
    seed: int = 0,
    *,
    still: bool = False,
    rests: float | None = None,
) -> Record:
    """The record of an arm that moves as ``motion`` says, or stands still, whatever pushes it.

    ``rests`` [s]: when the arm that moves has come to rest, for good.
    """
    random = np.random.default_rng(seed)
    arm = unlike_its_model()
    q, qd, qdd = motion(seconds, rate, 5)
    if still:
        q, qd, qdd = q[0] + 0.0 * q, 0.0 * qd, 0.0 * qdd
    if rests is not None:
        q, qd, qdd = brought_to_rest(q, rate, rests, seconds)
    tau = effort(arm, q, qd, qdd)
    tau += RUB * (np.tanh(qd / 0.05) * (1.0 + 0.5 * np.exp(-np.square(qd / 0.15))) + 0.4 * qd)
    tau += 0.3 * RUB + 0.002 * LIMITS * random.standard_normal(tau.shape)
    time = np.arange(len(q)) / rate
    data = arm.createData()
    tip = arm.getFrameId("tool")
    for push in pushes:
        ramp = np.clip(np.minimum(time - push.start, push.end - time) / 0.1, 0.0, 1.0)
        for i in np.flatnonzero(ramp):
            J = pinocchio.computeFrameJacobian(arm, data, q[i], tip, pinocchio.LOCAL_WORLD_ALIGNED)[:3]
            external = J.T @ np.array(push.force) if len(push.force) == 3 else np.array(push.force)
            tau[i] -= (0.5 - 0.5 * np.cos(np.pi * ramp[i])) * external
    return record(q, qd, tau, rate, NAMES)
