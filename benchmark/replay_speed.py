"""Reading bags: joint states by the thousand beside the loop over ``rosbags`` messages, and memory."""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.rosbag2 import Reader, StoragePlugin, Writer

from benchmark.arms import REPOSITORY, arms, write_reduced_urdf
from benchmark.line import Line, below, faster
from benchmark.timing import interleaved
from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.replay.messages import JOINT_STATE_TYPE
from kane_dynamics_ros.replay.prediction_bag import STORE, joint_state_messages
from kane_dynamics_ros.replay.recording import read_recording
from kane_dynamics_ros.runtime.load import compile_model

JOINTS = tuple(f"panda_joint{i + 1}" for i in range(7))
RATE, MINUTES = 1000, 10
SHARE = 10  # the loop reads one part in so many, and its time is multiplied
START = 1_700_000_000 * 10**9  # [ns]
# Prints a process's peak resident memory [KiB]. Not ru_maxrss, which begins with what the parent had.
PRINT_PEAK = """
import re, sys
from pathlib import Path
print(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1], file=sys.stderr)
"""
JUDGE = f"""
import sys
from kane_dynamics_ros.cli.main import main
code = main(["replay", sys.argv[1], "--model", sys.argv[2]])
{PRINT_PEAK}
sys.exit(code)
"""


def lines() -> list[Line]:
    """Ten minutes in both storages against the loop, and the peak memory of judging an hour."""
    found: list[Line] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, storage in (("MCAP", StoragePlugin.MCAP), ("SQLite", StoragePlugin.SQLITE3)):
            bag = write_minutes(Path(folder, name), 0, MINUTES, storage)
            part = write_minutes(Path(folder, f"{name}_part"), 0, MINUTES // SHARE, storage)
            found += reading_lines(name, bag, part)
        found.append(memory_line(Path(folder)))
    return found


def reading_lines(name: str, bag: Path, part: Path) -> list[Line]:
    """Ours on the whole bag; the loop on a part of it, times what is left out.

    SQLite is the narrow one: half of our time goes into stepping through rows, which the loop does as well.
    """
    times = interleaved({"ours": lambda: read_recording(bag, JOINTS), "loop": lambda: loop(part)}, repeats=3)
    work = f"read {MINUTES} min at 1 kHz, 7 joints, {name}"
    ours, rival = times["ours"], SHARE * times["loop"]
    return [faster(work, ours, rival, "loop over rosbags", "s", 5), below(work, ours, 5.0, "bound", "s")]


def loop(bag: Path) -> list[Any]:
    """What everybody writes: one message after another, deserialized, its fields kept."""
    rows: list[Any] = []
    with Reader(bag) as reader:
        for connection, _, data in reader.messages():
            message: Any = STORE.deserialize_cdr(data, connection.msgtype)
            stamp = message.header.stamp
            rows.append(
                (stamp.sec * 10**9 + stamp.nanosec, message.position, message.velocity, message.effort)
            )
    return rows


def memory_line(folder: Path) -> Line:
    """Peak resident memory of a process that judges an hour, six files of ten minutes."""
    bag = folder / "hour"
    bag.mkdir()
    for i in range(6):
        piece = write_minutes(folder / f"piece_{i}", i * MINUTES, MINUTES, StoragePlugin.MCAP)
        next(piece.glob("*.mcap")).rename(bag / f"hour_{i}.mcap")
    judged = subprocess.run(
        [sys.executable, "-c", JUDGE, str(bag), str(panda(folder))],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    mebibytes = int(judged.stderr.split()[-1]) / 1024
    return below("judge an hour at 1 kHz, 7 joints: memory", mebibytes, 2048.0, "bound", "MiB")


def panda(folder: Path) -> Path:
    """A compiled module of the seven-joint arm."""
    arm = next(arm for arm in arms() if arm.name == "panda")
    chain = serial_chain(load_robot(write_reduced_urdf(arm, folder)), arm.tip)
    module, *_ = write_module(derive(chain), arm.name, folder)
    compile_model(module)
    return module


def write_minutes(bag: Path, first: int, minutes: int, storage: StoragePlugin) -> Path:
    """A bag of joint states from minute ``first`` on: sines of another frequency on each joint."""
    time = first * 60 + np.arange(minutes * 60 * RATE) / RATE
    angle = time[:, None] * np.arange(1, 8) * 0.5
    stamps = START + np.rint(time * 1e9).astype(np.int64)
    write_joint_states(bag, JOINTS, stamps, 3 * np.sin(angle), np.sin(angle), np.cos(angle), storage)
    return bag


def write_joint_states(
    bag: Path,
    joints: Sequence[str],
    stamps: NDArray[np.int64],
    effort: Array,
    position: Array,
    velocity: Array,
    storage: StoragePlugin = StoragePlugin.MCAP,
) -> None:
    """A bag of joint states, each received at its stamp [ns]; arrays (N, n)."""
    messages = joint_state_messages(joints, stamps, effort, position, velocity)
    with Writer(bag, version=9, storage_plugin=storage) as writer:
        connection = writer.add_connection("/joint_states", JOINT_STATE_TYPE, typestore=STORE)
        for stamp, message in zip(stamps.tolist(), messages, strict=True):
            writer.write(connection, stamp, message)
