"""An MCAP bag with the recorded joint states and commands, and the predicted efforts beside them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.replay.bag import open_bag
from kane_dynamics_ros.replay.comparison import Comparison
from kane_dynamics_ros.replay.messages import (
    JOINT_STATE_TYPE,
    STAMP,
    STAMP_SIZE,
    Integers,
    joint_state_layout,
)
from kane_dynamics_ros.replay.motion import EstimatedRecording
from kane_dynamics_ros.replay.recording import COMMAND_TYPE

STORE = get_typestore(Stores.ROS2_JAZZY)
PREFIX = "/kane_dynamics/replay"  # of the added topics
COPIED = (JOINT_STATE_TYPE, COMMAND_TYPE)  # types whose topics are taken over as they are


def joint_state_messages(
    joints: Sequence[str],
    stamps: Integers,
    effort: Array,
    position: Array | None = None,
    velocity: Array | None = None,
) -> Iterator[bytes]:
    """Messages in CDR, little endian: ``stamps`` [ns] (N,), fields (N, n), left empty where ``None``.

    One message is serialized; the values of the others are laid into copies of it.
    """
    fields = {"position": position, "velocity": velocity, "effort": effort}
    types = STORE.types
    header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](0, 0), "")
    empty = (np.zeros(0 if values is None else len(joints)) for values in fields.values())
    message = types[JOINT_STATE_TYPE](header, list(joints), *empty)
    template = bytes(STORE.serialize_cdr(message, JOINT_STATE_TYPE))
    layout = joint_state_layout(template)
    messages = np.tile(np.frombuffer(template, np.uint8), (len(stamps), 1))
    seconds = np.stack(np.divmod(stamps, 10**9), axis=1).astype("<u4")
    messages[:, STAMP : STAMP + STAMP_SIZE] = seconds.view(np.uint8)
    for name, values in fields.items():
        if values is not None:
            start, number = layout.arrays[name]
            messages[:, start : start + 8 * number] = np.ascontiguousarray(values, "<f8").view(np.uint8)
    return (row.tobytes() for row in messages)


def write_prediction_bag(estimated: EstimatedRecording, comparison: Comparison, folder: Path) -> None:
    """Write a rosbag2 folder, which must not be there.

    Added are ``PREFIX/measured`` (filtered), ``PREFIX/predicted``, ``PREFIX/residual`` and a topic per term,
    each a JointState whose effort is the figure's, stamped like the samples compared. As receive time they
    get the first message's plus the time since then, so that they lie beside the originals.
    """
    recording, joints = estimated.recording, estimated.recording.states.joints
    with (
        Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP) as writer,
        open_bag(recording.bag) as bag,
    ):
        # the originals, byte for byte; without what an earlier report added
        copied = {
            topic.name: writer.add_connection(topic.name, topic.type, typestore=STORE)
            for topic in bag.topics()
            if topic.type in COPIED and not topic.name.startswith(PREFIX)
        }
        for block in bag.blocks(copied):
            for i, time in enumerate(block.received.tolist()):
                writer.write(copied[block.topic], time, block.message(i))
        received = recording.states.received[0] + np.rint(comparison.time * 1e9).astype(np.int64)
        curves = {
            "measured": comparison.measured,
            "predicted": comparison.predicted,
            "residual": comparison.residual,
            **comparison.terms,
        }
        for name, effort in curves.items():
            connection = writer.add_connection(f"{PREFIX}/{name}", JOINT_STATE_TYPE, typestore=STORE)
            messages = joint_state_messages(joints, comparison.stamps, effort)
            for time, message in zip(received.tolist(), messages, strict=True):
                writer.write(connection, time, message)
