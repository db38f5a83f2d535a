"""The plain way, on its own: least squares on Pinocchio's regressor, without bounds, weights or choices."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore
from scipy import signal


def plain_residual(bag: Path, urdf: Path, in_bag: Callable[[str], str], cutoff: float) -> float:
    """What base parameters, rotor inertia, viscous and Coulomb friction and an offset leave of a third.

    They are fitted to the first two; over the effort of the last, both root mean squares over all joints,
    below ``cutoff`` [Hz]. ``in_bag``: a joint's name in the bag, whose other joints, and the URDF's, stand.
    """
    arm = pinocchio.buildModelFromUrdf(str(urdf))
    with AnyReader([bag], default_typestore=get_typestore(Stores.ROS2_HUMBLE)) as reader:
        states = [reader.deserialize(raw, each.msgtype) for each, _, raw in reader.messages()]
    order, moving = list(states[0].name), list(arm.names)[1:]
    joints = [name for name in moving if in_bag(name) in order]
    others = [arm.getJointId(name) for name in moving if name not in joints]
    arm = pinocchio.buildReducedModel(arm, others, pinocchio.neutral(arm))
    stamps = np.array([each.header.stamp.sec + 1e-9 * each.header.stamp.nanosec for each in states])
    rate = (len(stamps) - 1) / (stamps[-1] - stamps[0])
    even = stamps[0] + np.arange(len(stamps)) / rate
    low_pass = signal.butter(4, cutoff, fs=rate, output="sos")

    def signals(field: str) -> np.ndarray:
        recorded = np.array([getattr(each, field) for each in states])
        return np.stack([np.interp(even, stamps, recorded[:, order.index(in_bag(j))]) for j in joints], 1)

    def filtered(values: np.ndarray) -> np.ndarray:
        return signal.sosfiltfilt(low_pass, values, axis=0)

    q, qd = filtered(signals("position")), filtered(signals("velocity"))
    qdd = np.gradient(qd, 1.0 / rate, axis=0)
    data, n = arm.createData(), len(joints)
    rigid = [
        pinocchio.computeJointTorqueRegressor(arm, data, *row).copy() for row in zip(q, qd, qdd, strict=True)
    ]
    own = np.zeros((len(q), n, 4, n))
    for k, column in enumerate((qdd, qd, np.sign(qd), np.ones_like(qd))):
        own[:, np.arange(n), k, np.arange(n)] = column
    ends = slice(round(rate), -round(rate))
    W = filtered(np.concatenate([rigid, own.reshape(len(q), n, -1)], axis=2))[ends]
    tau = filtered(signals("effort"))[ends]
    split = 2 * len(tau) // 3
    fitted = W[:split].reshape(-1, W.shape[2]), tau[:split].ravel()
    left = tau[split:] - W[split:] @ np.linalg.lstsq(*fitted, rcond=1e-6)[0]
    return float(np.sqrt((left**2).sum() / (tau[split:] ** 2).sum()))
