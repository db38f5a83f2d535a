"""Recordings of an arm that differs from its URDF on purpose: its efforts are Pinocchio's, friction added.

The bags are written by rosbags, a message template filled in by NumPy: long ones take no time.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pinocchio
from numpy.typing import NDArray
from rosbags.rosbag2 import StoragePlugin, Writer

from kane_dynamics_ros.identification.fitting import Nominal
from kane_dynamics_ros.identification.identify import Identified
from kane_dynamics_ros.identification.judging import PARAMETERS
from kane_dynamics_ros.identification.recordings import MotionStore, Request, read_bags
from kane_dynamics_ros.identification.regression import FAMILIES
from kane_dynamics_ros.replay.prediction_bag import STORE, joint_state_messages
from kane_dynamics_ros.runtime import load_model

Array = NDArray[np.float64]

URDF = Path(__file__).parents[2] / "urdf" / "manipulator_5dof.urdf"
START = 1_700_000_000_000_000_000  # [ns]
MODEL = load_model("manipulator_5dof")
JOINTS = MODEL.joint_names
ENCODER = 2 * np.pi / 2**17  # [rad]
# Pinocchio's m, mc, Ixx, Ixy, Iyy, Ixz, Iyz, Izz in the order m, h, Jxx, Jxy, Jxz, Jyy, Jyz, Jzz
OURS = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]


@dataclass(frozen=True)
class Truth:
    """The arm: inertias in Pinocchio, and per joint rotor inertia, viscous and Coulomb friction."""

    arm: pinocchio.Model
    rotor: Array
    viscous: Array
    coulomb: Array

    def effort(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Joint efforts along a motion, (N, n)."""
        data = self.arm.createData()
        rigid = np.array([pinocchio.rnea(self.arm, data, *row) for row in zip(q, qd, qdd, strict=True)])
        return rigid + self.rotor * qdd + self.viscous * qd + self.coulomb * np.tanh(qd / 0.01)

    @property
    def inertial(self) -> Array:
        """(bodies, 10) in this package's order."""
        return np.array(
            [self.arm.inertias[i].toDynamicParameters()[OURS] for i in range(1, self.arm.njoints)]
        )


def planted(seed: int, error: float = 0.2) -> Truth:
    """Masses, centres, inertias, friction and rotors that the URDF does not have."""
    random = np.random.default_rng(seed)
    arm = pinocchio.buildModelFromUrdf(str(URDF))
    for i in range(1, arm.njoints):
        body = arm.inertias[i]
        body.mass *= 1 + error * random.uniform(-1, 1)
        body.lever = body.lever + 0.02 * random.normal(size=3)
        body.inertia = body.inertia * (1 + error * random.uniform(-1, 1))
        arm.inertias[i] = body
    n = arm.nq
    return Truth(arm, random.uniform(0.05, 0.2, n), random.uniform(0.5, 2.0, n), random.uniform(0.2, 1.0, n))


@cache
def motion(seconds: float, rate: float, seed: int) -> tuple[Array, Array, Array]:
    """Six sines a joint of 0.1 to 0.6 Hz about a pose that shows gravity both ways: q, qd, qdd, (N, n)
    each.
    """
    random = np.random.default_rng(seed)
    time = np.arange(round(seconds * rate)) / rate
    omega = 2 * np.pi * np.arange(1, 7) * 0.1
    phase = random.uniform(0, 2 * np.pi, (6, len(JOINTS)))
    size = random.uniform(0.5, 1.0, (6, len(JOINTS))) / omega[:, None]
    angle = omega[:, None] * time[:, None, None] + phase
    middle = np.array([0.0, 1.5, 0.0, 0.0, 0.0])
    return (
        middle + (size * np.sin(angle)).sum(axis=1),
        (size * omega[:, None] * np.cos(angle)).sum(axis=1),
        (-size * omega[:, None] ** 2 * np.sin(angle)).sum(axis=1),
    )


def write(
    folder: Path, q: Array, qd: Array | None, tau: Array, rate: float, names: Sequence[str] = JOINTS
) -> Path:
    """A bag with joint states at a steady rate."""
    shutil.rmtree(folder, ignore_errors=True)
    stamps = START + np.rint(np.arange(len(q)) * (1e9 / rate)).astype(np.int64)
    with Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=STORE)
        messages = joint_state_messages(names, stamps, tau, q, qd)
        for stamp, message in zip(stamps.tolist(), messages, strict=True):
            writer.write(connection, stamp, message)
    return folder


def recorded(
    folder: Path, truth: Truth, seconds: float = 60.0, rate: float = 250.0, seed: int = 0, noise: float = 0.01
) -> tuple[Path, Array]:
    """A bag with an encoder's steps and white noise on every effort, and that noise's standard deviations
    (n,).
    """
    q, qd, qdd = motion(seconds, rate, seed)
    tau = truth.effort(q, qd, qdd)
    sigma = noise * np.sqrt((tau**2).mean(axis=0))
    noisy = tau + sigma * np.random.default_rng(seed + 1000).normal(size=tau.shape)
    return write(folder, np.round(q / ENCODER) * ENCODER, None, noisy, rate), sigma


def store_of(*bags: Path, limits: float = np.inf, cutoff: float | None = None) -> MotionStore:
    """The filtered motion of bags of this arm."""
    n = len(JOINTS)
    return read_bags([Request(bag, JOINTS, JOINTS, None, cutoff, (1.0,) * n, (limits,) * n) for bag in bags])


def nominal() -> Nominal:
    """What the URDF says, its own friction left out."""
    inertial = MODEL.inertial_parameters.reshape(-1, 10)
    return Nominal(inertial, np.zeros((len(JOINTS), len(FAMILIES))), np.zeros_like(inertial))


def standard_errors_off(found: Identified, truth: Truth) -> Array:
    """(identified - true) / standard error of every base parameter."""
    values = dict(
        zip(
            [f"{body} {name}" for body in MODEL.bodies for name in PARAMETERS]
            + [f"{j} rotor" for j in JOINTS],
            [*truth.inertial.ravel(), *truth.rotor],
            strict=True,
        )
    )
    return np.array(
        [(b.value - sum(f * values[name] for name, f in b.parts)) / b.error for b in found.certainty.base]
    )
