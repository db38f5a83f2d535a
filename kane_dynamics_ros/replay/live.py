"""A recording played to a running node, and the node's commands beside the offline answer.

The player is a process of its own (``kane_dynamics_ros.nodes.bag_player``): this room has no rclpy. It is
handed a playlist, and writes what the node answered. As a process, this module checks a bag before a launch
starts anything for it.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.replay.bag import open_bag
from kane_dynamics_ros.replay.errors import joint_mismatch
from kane_dynamics_ros.replay.messages import JOINT_STATE_TYPE, JointStateDecoder, Topic, string
from kane_dynamics_ros.replay.recording import DESCRIPTION_TYPE, empty_topic, joint_state_topic
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.this_python import module_command

TRAJECTORY_TYPE = "trajectory_msgs/msg/JointTrajectory"
STATUS_TYPE = "diagnostic_msgs/msg/DiagnosticStatus"
PLAYED_TYPES = (JOINT_STATE_TYPE, TRAJECTORY_TYPE, DESCRIPTION_TYPE, STATUS_TYPE)
SAME = 1e-9  # [N m] or [N]: the node computes what we compute, so only rounding may differ


def check_playable(bag: Path, topic: str | None, joints: Sequence[str]) -> str | None:
    """Whether a node with these joints can answer a bag; returns the newest ``robot_description`` in it.

    ``topic``: the joint states, when there are several. Raises ``BagError``: "empty_topic" where there are no
    states, ``JointMismatchError`` where joints never appear in them.
    """
    with open_bag(bag) as opened:
        topics = opened.topics()
        states_topic = joint_state_topic(bag, topics, topic)
        decoder = JointStateDecoder(())
        for block in opened.blocks({states_topic}):
            decoder.add(block)
            if set(joints) <= set(decoder.found):
                break  # a bag of hours takes no longer than one of seconds
        else:
            states = decoder.result()
            if not len(states.stamps):
                raise opened.damages[0] if opened.damages else empty_topic(bag, states_topic, states.dropped)
            missing = [joint for joint in joints if joint not in states.found]
            raise joint_mismatch(bag, states_topic, missing, states.found, renamable=False)
        described = {each.name for each in topics if _is_description(each)}
        texts = [
            (received, text)
            for block in (opened.blocks(described) if described else ())
            for i, received in enumerate(block.received.tolist())
            if (text := string(block.message(i))) is not None
        ]
    return max(texts)[1] if texts else None


def _is_description(topic: Topic) -> bool:
    return topic.type == DESCRIPTION_TYPE and topic.name.endswith("robot_description")


def write_playlist(bag: Path, topic: str | None, file: Path) -> int:
    """Write joint states, trajectories and descriptions by receive time; returns how many states.

    What the recorded node said of its trajectories (``trajectory_status``) is written too. ``file`` becomes
    a NumPy archive: ``types``, the names of types; ``kind`` (N,), the index of each message's type; ``data``
    (bytes of all messages), ``ends`` (N,), where each ends in it.
    ``topic``: the joint states, when there are several. Raises ``BagError``.
    """
    with open_bag(bag) as opened:
        topics = opened.topics()
        states = joint_state_topic(bag, topics, topic)
        wanted = {states: JOINT_STATE_TYPE} | {
            each.name: each.type
            for each in topics
            if (each.type == TRAJECTORY_TYPE and each.name.endswith("joint_trajectory"))
            or _is_description(each)
            or (each.type == STATUS_TYPE and each.name.endswith("/trajectory_status"))
        }
        rows = [
            (received, PLAYED_TYPES.index(wanted[block.topic]), block.message(i))
            for block in opened.blocks(wanted)
            for i, received in enumerate(block.received.tolist())
        ]
    rows.sort(key=lambda row: row[0])
    kinds = np.array([kind for _, kind, _ in rows], np.uint8)
    count = int((kinds == PLAYED_TYPES.index(JOINT_STATE_TYPE)).sum())
    if not count:
        raise empty_topic(bag, states, 0)
    data = np.frombuffer(b"".join(message for *_, message in rows), np.uint8)
    ends = np.cumsum([len(message) for *_, message in rows])
    np.savez(file, types=np.array(PLAYED_TYPES), kind=kinds, data=data, ends=ends)
    return count


def play(
    playlist: Path, answers: Path, *, model: str, node: str, rate: float | None = None, restamp: bool = False
) -> bool:
    """Play a playlist to the node of that name; ``answers`` gets its commands beside the offline answers.

    ``rate``: times the recorded pace, as fast as the node answers where None; ``restamp``: states are stamped
    with the present instead of driving ``/clock``. False where the player could not reach the node.
    """
    command = module_command("kane_dynamics_ros.nodes.bag_player", str(playlist), str(answers))
    command += ["--model", model, "--node", node]
    command += [] if rate is None else ["--rate", str(rate)]
    command += ["--restamp"] if restamp else []
    return subprocess.run(command, check=False).returncode == 0


@dataclass(frozen=True)
class LiveComparison:
    """A running node's commands beside the offline answer.

    ``difference`` (n,): the largest between command and offline answer, of ``compared`` states.
    ``unanswered`` states got no command though one was due, ``unexpected`` ones got one that was not due.
    ``refused``: why each trajectory that the node must refuse is refused; ``lost``: of those, the ones that
    the node accepted when the bag was recorded, so that its motion was not compared.
    """

    difference: Array
    compared: int
    unanswered: int
    unexpected: int
    refused: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """Whether every command is the offline answer, and every recorded motion was followed."""
        differs = self.compared == 0 or bool((self.difference > SAME).any())
        return not (differs or self.unanswered or self.unexpected or self.lost)


def compare_answers(
    command: Array, expected: Array, refused: Sequence[str] = (), lost: Sequence[str] = ()
) -> LiveComparison:
    """Both (N, n), rows of NaN where nothing was published; ``refused``, ``lost`` as in the comparison."""
    answered, due = np.isfinite(command).all(axis=1), np.isfinite(expected).all(axis=1)
    return LiveComparison(
        difference=np.abs(command - expected)[answered & due].max(axis=0, initial=0.0),
        compared=int((answered & due).sum()),
        unanswered=int((due & ~answered).sum()),
        unexpected=int((answered & ~due).sum()),
        refused=tuple(refused),
        lost=tuple(lost),
    )


def read_answers(file: Path) -> LiveComparison:
    """What nodes/bag_player.py wrote, compared."""
    with np.load(file) as answers:
        reasons, before = answers["refused"].tolist(), answers["accepted_before"].tolist()
        lost = [reason for reason, accepted in zip(reasons, before, strict=True) if accepted]
        return compare_answers(answers["command"], answers["expected"], reasons, lost)


def live_lines(found: LiveComparison, joints: Sequence[str]) -> list[str]:
    """The comparison as lines."""
    width = max(map(len, joints))
    rows = [
        f"joint {joint:<{width}}  largest difference {worst:.3g}"
        for joint, worst in zip(joints, found.difference, strict=True)
    ]
    counts = f"{found.compared} commands compared with the offline answer"
    if found.unanswered:
        counts += f"; {found.unanswered} states without the command that was due"
    if found.unexpected:
        counts += f"; {found.unexpected} states with a command that was not due"
    verdict = "the node answers as it must" if found.same else "the node does NOT answer as it must"
    refused = [f"a trajectory of the bag is refused: {reason}" for reason in found.refused]
    if found.lost:
        refused.append(
            f"{len(found.lost)} of them accepted when the bag was recorded: that motion was not compared; "
            "play to a node with the mode and the limits of then"
        )
    return [*rows, *refused, counts, f"{verdict}: allowed is {SAME:g}"]


def main(words: Sequence[str] | None = None) -> int:
    """Write the ``robot_description`` of a bag to standard output; 2 where it cannot be played."""
    parser = argparse.ArgumentParser(description="Check that a bag can be played to a model's node.")
    parser.add_argument("bag", type=Path)
    parser.add_argument("--model", required=True)
    options = parser.parse_args(words)
    try:
        joints = load_model(options.model, backend="python").joint_names
        description = check_playable(options.bag, None, joints)
    except (KaneDynamicsError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    sys.stdout.buffer.write((description or "").encode("utf-8", "surrogatepass"))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
