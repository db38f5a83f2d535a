"""Bags for the tests: a prescribed motion, its effort by Pinocchio, and rosbag2 files of any kind."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pinocchio
from numpy.typing import NDArray
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from scipy.interpolate import CubicSpline

Array = NDArray[np.float64]

ROOT = Path(__file__).parents[1]
URDF = ROOT / "urdf" / "manipulator_5dof.urdf"
STORE = get_typestore(Stores.ROS2_JAZZY)
JOINT_STATE = "sensor_msgs/msg/JointState"
START = 1_700_000_000_000_000_000  # [ns]


@dataclass(frozen=True)
class Record:
    """What a robot did: ``stamps`` and ``received`` [ns] (N,), the rest (N, n); ``None`` is not published."""

    names: tuple[str, ...]
    stamps: NDArray[np.int64]
    received: NDArray[np.int64]
    position: Array
    velocity: Array | None
    effort: Array | None


def motion(seconds: float, rate: float, joints: int) -> tuple[Array, Array, Array]:
    """Five sines a joint between 0.1 and 1.5 Hz, and their derivatives: q, qd, qdd, each (N, joints)."""
    random = np.random.default_rng(6)
    time = np.arange(round(seconds * rate)) / rate
    frequency = 2 * np.pi * random.uniform(0.1, 1.5, (5, joints))
    phase = random.uniform(0, 2 * np.pi, (5, joints))
    angle = frequency * time[:, None, None] + phase
    size = 0.8 / (1 + frequency)
    return (
        (size * np.sin(angle)).sum(axis=1),
        (size * frequency * np.cos(angle)).sum(axis=1),
        (-size * frequency**2 * np.sin(angle)).sum(axis=1),
    )


def brought_to_rest(q: Array, rate: float, at: float, seconds: float) -> tuple[Array, Array, Array]:
    """A motion (N, n) that slows down for two seconds and rests from ``at`` [s] on: time runs ever slower.

    q, qd, qdd over ``seconds``, each (M, n).
    """
    time = np.arange(round(seconds * rate)) / rate
    left = np.clip((time - at + 2.0) / 2.0, 0.0, 1.0)
    pace, braking = (1 - left**2) ** 2, -2 * left * (1 - left**2)
    spline, phase = CubicSpline(np.arange(len(q)) / rate, q), np.cumsum(pace) / rate
    speed, gain = spline(phase, 1), spline(phase, 2)
    return spline(phase), speed * pace[:, None], gain * pace[:, None] ** 2 + speed * braking[:, None]


def pinocchio_arm() -> pinocchio.Model:
    """The reference robot; change ``inertias`` for an arm that differs from its model."""
    return pinocchio.buildModelFromUrdf(str(URDF))


def effort(arm: pinocchio.Model, q: Array, qd: Array, qdd: Array) -> Array:
    """Inverse dynamics by Pinocchio, which shares nothing with this package."""
    data = arm.createData()
    return np.array([pinocchio.rnea(arm, data, *row) for row in zip(q, qd, qdd, strict=True)])


def record(q: Array, qd: Array | None, tau: Array | None, rate: float, names: Sequence[str]) -> Record:
    """A record at a steady rate, each message received 0.2 ms after its stamp."""
    stamps = START + np.rint(np.arange(len(q)) * (1e9 / rate)).astype(np.int64)
    return Record(tuple(names), stamps, stamps + 200_000, q, qd, tau)


def joint_state(record: Record, i: int, names: Sequence[str] | None = None) -> bytes:
    """Message i, serialized; ``names`` puts the joints in another order or leaves some out."""
    order = [record.names.index(name) for name in names or record.names]
    types = STORE.types
    stamp = int(record.stamps[i])
    message = types[JOINT_STATE](
        types["std_msgs/msg/Header"](
            types["builtin_interfaces/msg/Time"](stamp // 10**9, stamp % 10**9), "base"
        ),
        list(names or record.names),
        record.position[i, order],
        np.empty(0) if record.velocity is None else record.velocity[i, order],
        np.empty(0) if record.effort is None else record.effort[i, order],
    )
    return bytes(STORE.serialize_cdr(message, JOINT_STATE))


def write_bag(
    path: Path,
    record: Record,
    storage: StoragePlugin = StoragePlugin.MCAP,
    compression: CompressionMode = CompressionMode.NONE,
    topic: str = "/joint_states",
) -> Path:
    """A rosbag2 folder, messages in receive order."""
    messages = [(int(record.received[i]), joint_state(record, i)) for i in range(len(record.stamps))]
    return write_messages(path, {(topic, JOINT_STATE): messages}, storage, compression)


def write_messages(
    path: Path,
    topics: dict[tuple[str, str], list[tuple[int, bytes]]],
    storage: StoragePlugin = StoragePlugin.MCAP,
    compression: CompressionMode = CompressionMode.NONE,
) -> Path:
    """A rosbag2 folder with topics of known types: (name, type) to (receive time [ns], bytes)."""
    writer = Writer(path, version=9, storage_plugin=storage)
    if compression is not CompressionMode.NONE:
        writer.set_compression(compression, CompressionFormat.ZSTD)
    with writer:
        connections = {key: writer.add_connection(*key, typestore=STORE) for key in topics}
        rows = sorted((time, key, data) for key, messages in topics.items() for time, data in messages)
        for time, key, data in rows:
            writer.write(connections[key], time, data)
    return path


def small_record(count: int = 200, joints: int = 3) -> Record:
    """Random values, so that every mix-up shows; 1 kHz."""
    values = np.random.default_rng(7).standard_normal((3, count, joints))
    return record(*values, 1000.0, [f"joint_{j + 1}" for j in range(joints)])


def part(record: Record, chosen: NDArray[np.int64] | slice) -> Record:
    """Some messages of a record."""
    return replace(
        record,
        stamps=record.stamps[chosen],
        received=record.received[chosen],
        position=record.position[chosen],
        velocity=None if record.velocity is None else record.velocity[chosen],
        effort=None if record.effort is None else record.effort[chosen],
    )
