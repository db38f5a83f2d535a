"""One controller's run as arrays, read back from the bag that was recorded of it."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rosbags.highlevel import AnyReader

from kane_dynamics_ros.cli.demo_trajectory import DURATION, reference
from kane_dynamics_ros.errors import KaneDynamicsError

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
    start, states = read_messages(bag)
    in_order = [[list(state.name).index(name) for name in joint_names] for state in states]
    times = np.array([seconds(state.header.stamp) - start for state in states])
    during = (times >= 0.0) & (times <= DURATION)
    if during.sum() < FEWEST_STATES:
        raise RecordingTooShortError(bag, int(during.sum()))
    position, effort = (
        np.array([getattr(state, field)[order] for state, order in zip(states, in_order, strict=True)])
        for field in ("position", "effort")
    )
    times = times[during]
    return Run(times, position[during], reference(times, start_position).q, effort[during])


def read_messages(bag: Path) -> tuple[float, list[Any]]:
    """The start time [s] that the trajectory states, and all joint states."""
    start, states = np.nan, []
    with AnyReader([bag]) as reader:
        wanted = [c for c in reader.connections if c.topic in ("/joint_states", "/joint_trajectory")]
        for connection, _, data in reader.messages(wanted):
            message: Any = reader.deserialize(data, connection.msgtype)
            if connection.topic == "/joint_states":
                states.append(message)
            else:
                start = seconds(message.header.stamp)
    return start, states


def seconds(stamp: Any) -> float:
    """A ROS time as seconds."""
    return float(stamp.sec) + 1e-9 * float(stamp.nanosec)
