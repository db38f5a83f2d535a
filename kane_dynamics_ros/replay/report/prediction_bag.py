"""An MCAP bag with the recorded joint states and commands, and the predicted efforts beside them."""

import shutil
from pathlib import Path

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer

from kane_dynamics_ros.replay.errors import JOINT_STATE_TYPE
from kane_dynamics_ros.replay.estimation.observation import Observation
from kane_dynamics_ros.replay.reading.bag import open_bag
from kane_dynamics_ros.replay.reading.recording import COMMAND_TYPE
from kane_dynamics_ros.replay.report.joint_state_messages import STORE, joint_state_messages
from kane_dynamics_ros.replay.verdict.comparison import Comparison

PREFIX = "/kane_dynamics/replay"  # of the added topics
COPIED = (JOINT_STATE_TYPE, COMMAND_TYPE)  # types whose topics are taken over as they are


def write_prediction_bag(observation: Observation, comparison: Comparison, folder: Path) -> None:
    """Write a rosbag2 folder; one that is there is replaced.

    Added are ``PREFIX/measured`` (filtered), ``PREFIX/predicted``, ``PREFIX/residual`` and a topic per term,
    each a JointState whose effort is the figure's, stamped like the samples compared. As receive time they
    get the first message's plus the time since then, so that they lie beside the originals.
    """
    shutil.rmtree(folder, ignore_errors=True)
    with Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        _copy(observation.bag, writer)
        received = observation.first_received + np.rint(comparison.time * 1e9).astype(np.int64)
        curves = {
            "measured": comparison.measured,
            "predicted": comparison.predicted,
            "residual": comparison.residual,
            **comparison.terms,
        }
        for name, effort in curves.items():
            connection = writer.add_connection(f"{PREFIX}/{name}", JOINT_STATE_TYPE, typestore=STORE)
            messages = joint_state_messages(observation.joints, comparison.stamps, effort)
            for time, message in zip(received.tolist(), messages, strict=True):
                writer.write(connection, time, message)


def _copy(bag: Path, writer: Writer) -> None:
    """The originals, byte for byte."""
    with open_bag(bag) as opened:
        connections = {
            topic.name: writer.add_connection(topic.name, topic.type, typestore=STORE)
            for topic in opened.topics()
            if topic.type in COPIED
        }
        for block in opened.blocks(connections):
            for i, time in enumerate(block.received.tolist()):
                writer.write(connections[block.topic], time, block.message(i))
