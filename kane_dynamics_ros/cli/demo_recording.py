"""One controller's run as arrays, read back from the bag that was recorded of it."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rosbags.highlevel import AnyReader

from kane_dynamics_ros.cli.demo_trajectory import DURATION, reference
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.replay.reading.recording import read_recording

Array = NDArray[np.float64]
FEWEST_STATES = 100


class RecordingTooShortError(KaneDynamicsError):
    """Too little came over the network to say anything."""

    def __init__(self, bag: Path, found: int) -> None:
        self.bag, self.found = bag, found
        super().__init__(
            f"{bag}: {found} joint states during the motion; at least {FEWEST_STATES} are needed; see the "
            "nodes' logs beside it, and whether the machine is too busy"
        )


class Run(NamedTuple):
    """What happened: times since the motion's start [s], (N,); the rest (N, n) in the model's joint order."""

    times: Array
    position: Array  # [rad]
    reference: Array  # [rad]
    effort: Array  # [N m], as the actuators gave it

    @property
    def error(self) -> Array:
        """Position minus reference [rad]."""
        return self.position - self.reference


def read_run(bag: Path, joint_names: tuple[str, ...], start_position: Array) -> Run:
    """The joint states of a recorded run from the motion's start to its end. Raises when there are few."""
    states = read_recording(bag, joint_names).states
    times = 1e-9 * (states.stamps - start_of_motion(bag)).astype(np.float64)
    during = (times >= 0.0) & (times <= DURATION)
    if during.sum() < FEWEST_STATES:
        raise RecordingTooShortError(bag, int(during.sum()))
    wanted = reference(times[during], start_position).q
    return Run(times[during], states.position[during], wanted, states.effort[during])


def start_of_motion(bag: Path) -> int:
    """The start time [ns] that the recorded trajectory states."""
    with AnyReader([bag]) as reader:
        connections = [c for c in reader.connections if c.topic.endswith("joint_trajectory")]
        connection, _, data = next(iter(reader.messages(connections)))
        message: Any = reader.deserialize(data, connection.msgtype)
    return int(message.header.stamp.sec) * 1_000_000_000 + int(message.header.stamp.nanosec)
