"""The messages of a bag that a node is played, in one plain file that needs no bag reader."""

from pathlib import Path

import numpy as np

from kane_dynamics_ros.replay.errors import JOINT_STATE_TYPE, EmptyTopicError
from kane_dynamics_ros.replay.reading.bag import open_bag
from kane_dynamics_ros.replay.reading.recording import DESCRIPTION_TYPE, joint_state_topic

TRAJECTORY_TYPE = "trajectory_msgs/msg/JointTrajectory"
KINDS = {JOINT_STATE_TYPE: 0, TRAJECTORY_TYPE: 1, DESCRIPTION_TYPE: 2}  # as nodes/bag_player.py knows them


def write_playlist(bag: Path, topic: str | None, file: Path) -> int:
    """Write joint states, trajectories and descriptions by receive time; returns how many states.

    ``file`` becomes a NumPy archive: ``kind`` (N,), ``data`` (bytes of all messages), ``ends`` (N,), where
    each ends in it. ``topic``: the joint states, when there are several. Raises ``BagError``.
    """
    with open_bag(bag) as opened:
        topics = opened.topics()
        states = joint_state_topic(bag, topics, topic)
        wanted = {states: JOINT_STATE_TYPE} | {
            each.name: each.type
            for each in topics
            if (each.type == TRAJECTORY_TYPE and each.name.endswith("joint_trajectory"))
            or (each.type == DESCRIPTION_TYPE and each.name.endswith("robot_description"))
        }
        rows = [
            (received, KINDS[wanted[block.topic]], block.message(i))
            for block in opened.blocks(wanted)
            for i, received in enumerate(block.received.tolist())
        ]
    rows.sort(key=lambda row: row[0])
    kinds = np.array([kind for _, kind, _ in rows], np.uint8)
    count = int((kinds == KINDS[JOINT_STATE_TYPE]).sum())
    if not count:
        raise EmptyTopicError(bag, states, 0)
    data = np.frombuffer(b"".join(message for *_, message in rows), np.uint8)
    np.savez(file, kind=kinds, data=data, ends=np.cumsum([len(message) for *_, message in rows]))
    return count
