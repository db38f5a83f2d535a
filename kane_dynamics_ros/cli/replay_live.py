"""``kane_dynamics replay --live``: the recording played to the running node."""

import argparse
import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kane_dynamics_ros.cli.replay_limits import positive_number
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.replay.live import SAME, LiveComparison, read_answers
from kane_dynamics_ros.replay.playlist import write_playlist

DIFFERS, FAILED = 1, 2  # exit codes


class RosMissingError(KaneDynamicsError):
    """``--live`` without ROS 2."""

    def __init__(self) -> None:
        super().__init__(
            "--live needs ROS 2's rclpy, which is not installed: source a ROS installation, or "
            "pip install 'kane_dynamics_ros[ros]'"
        )


def add_live_arguments(parser: argparse.ArgumentParser) -> None:
    """``--live`` and what belongs to it."""
    add = parser.add_argument_group("against the running feedforward node").add_argument
    add("--live", action="store_true", help="play the bag to the node and compare its commands")
    add("--rate", metavar="X", help="times the recorded rate; default: no wait")
    add("--restamp", action="store_true", help="stamp states with the present instead of driving /clock")
    add("--node", default="feedforward_node", metavar="NAME", help="default: feedforward_node")


def run_live(arguments: argparse.Namespace, bags: Sequence[Path], joints: Sequence[str]) -> int:
    """Play every bag and print the comparison; 1 when a command differs, 2 when the node is not there.

    With ``--report`` the commands and the offline answers stay there, in ``BAG_answers.npz``.
    Raises ``RosMissingError`` and ``BagError``.
    """
    if importlib.util.find_spec("rclpy") is None:
        raise RosMissingError
    return max(_play(arguments, bag, joints) for bag in bags)


def _play(arguments: argparse.Namespace, bag: Path, joints: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="kane_dynamics_live_") as folder:
        kept = arguments.report or Path(folder)
        kept.mkdir(parents=True, exist_ok=True)
        playlist, answers = Path(folder, "playlist.npz"), kept / f"{bag.resolve().stem}_answers.npz"
        states = write_playlist(bag, arguments.topic, playlist)
        print(f"{bag}: {states} joint states played to {arguments.node!r}", flush=True)
        command = [sys.executable, "-m", "kane_dynamics_ros.nodes.bag_player", str(playlist), str(answers)]
        command += ["--model", arguments.model, "--node", arguments.node]
        if arguments.rate is not None:
            command += ["--rate", str(positive_number("--rate", arguments.rate, "1 for the recorded pace"))]
        command += ["--restamp"] if arguments.restamp else []
        if subprocess.run(command, check=False).returncode:
            return FAILED
        found = read_answers(answers)
    print("\n".join(live_lines(found, joints)))
    return 0 if found.same else DIFFERS


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
    return [*rows, counts, f"{verdict}: allowed is {SAME:g}"]
