"""Many JointState messages serialized together: one of them is the mould, into which values are laid."""

from collections.abc import Iterator, Sequence

import numpy as np
from rosbags.typesys import Stores, get_typestore

from kane_dynamics_ros.replay.errors import JOINT_STATE_TYPE
from kane_dynamics_ros.replay.reading.blocks import Integers
from kane_dynamics_ros.replay.reading.layout import STAMP, STAMP_SIZE, Doubles, joint_state_layout

STORE = get_typestore(Stores.ROS2_JAZZY)


def joint_state_messages(
    joints: Sequence[str],
    stamps: Integers,
    effort: Doubles,
    position: Doubles | None = None,
    velocity: Doubles | None = None,
) -> Iterator[bytes]:
    """Messages in CDR, little endian: ``stamps`` [ns] (N,), fields (N, n), left empty where ``None``."""
    fields = {"position": position, "velocity": velocity, "effort": effort}
    template = _template(joints, {name for name, values in fields.items() if values is not None})
    layout = joint_state_layout(template)
    messages = np.tile(np.frombuffer(template, np.uint8), (len(stamps), 1))
    seconds = np.stack(np.divmod(stamps, 10**9), axis=1).astype("<u4")
    messages[:, STAMP : STAMP + STAMP_SIZE] = seconds.view(np.uint8)
    for name, values in fields.items():
        if values is not None:
            start, number = layout.arrays[name]
            messages[:, start : start + 8 * number] = np.ascontiguousarray(values, "<f8").view(np.uint8)
    return (row.tobytes() for row in messages)


def _template(joints: Sequence[str], filled: set[str]) -> bytes:
    """One message by rosbags, with zeros in the fields that are filled."""
    types = STORE.types
    header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](0, 0), "")
    values = (np.zeros(len(joints) if name in filled else 0) for name in ("position", "velocity", "effort"))
    message = types[JOINT_STATE_TYPE](header, list(joints), *values)
    return bytes(STORE.serialize_cdr(message, JOINT_STATE_TYPE))
