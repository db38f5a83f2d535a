"""Play a recording to a running feedforward node, state by state, and compare what it answers.

    python -m kane_dynamics_ros.nodes.bag_player PLAYLIST.npz ANSWERS.npz --model MODULE.py

Each joint state waits for the answer to the one before, so nothing is lost at any rate. ``/clock`` shows
each state's stamp before it is sent; a node on simulated time then samples trajectories at the
recorded times. While it plays, the node's ``safety.state_timeout`` is raised, then set back: on system
time it counts seconds of the wall, which a recording knows nothing of. ``kane_dynamics replay --live``
writes the playlist and reads the answers.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.task import Future
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.control.loop import ControlLoop
from kane_dynamics_ros.control.validation import SECOND_NS
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.nodes.feedforward.parameters import TABLE, build_settings
from kane_dynamics_ros.nodes.joint_states import JointStateReader
from kane_dynamics_ros.nodes.messages import (
    COMMAND_TOPIC,
    LATCHED_QOS,
    nanoseconds_of,
    set_nanoseconds,
    type_name,
    values_of,
)
from kane_dynamics_ros.nodes.serialized import request_from_bytes
from kane_dynamics_ros.runtime import DynamicsModel, load_model
from kane_dynamics_ros.runtime.node_parameters import Values, checked_value

MESSAGE_TYPES = {type_name(each): each for each in (JointState, JointTrajectory, String, DiagnosticStatus)}
DISCOVERY_TIMEOUT = 15.0  # [s] for the node to appear
SERVICE_TIMEOUT = 10.0  # [s] for an answer about parameters
COMMAND_TIMEOUT = 0.5  # [s] for a command; refused states get none
SETTLING_TIME = 0.2  # [s] that the node gets to take a trajectory, and to find its subscribers
STATE_TIMEOUT = "safety.state_timeout"
PATIENT = 60.0  # [s] for it: a player that waits must not look like a dead robot
CLOCK_LEAD = 0.0005  # [s] from /clock to the state that it belongs to

Motion = Sequence[JointState | JointTrajectory]


class PlayerError(KaneDynamicsError):
    """The recording cannot be played. Codes: ``node_missing``, ``no_parameters``, ``refused`` (name)."""


class BagPlayer(Node):
    """Publishes recorded messages and keeps the newest answer of the node of the name ``remote``."""

    def __init__(self, remote: str, restamp: bool) -> None:
        super().__init__("bag_player")
        self._remote, self._restamp = remote, restamp
        self._command: Array | None = None
        self._clock_ns: int | None = None
        self._states = self.create_publisher(JointState, "joint_states", 10)
        self._trajectories = self.create_publisher(JointTrajectory, "joint_trajectory", 10)
        self.descriptions = self.create_publisher(String, "robot_description", LATCHED_QOS)
        self._clock_publisher = self.create_publisher(Clock, "/clock", 10)
        self.create_subscription(Float64MultiArray, COMMAND_TOPIC, self._on_command, 10)
        self.create_subscription(JointState, f"{remote}/feedforward", self._on_feedforward, 10)
        self._client = AsyncParameterClient(self, remote)

    def connect(self, first: JointState) -> None:
        """Return when the node is connected, and its clock shows the first state's stamp.

        Raises ``PlayerError``.
        """

        def there() -> bool:
            self._show_time(first)  # a node on simulated time that is starting waits for it
            return self._states.get_subscription_count() > 0 and self.count_publishers(COMMAND_TOPIC) > 0

        if not self._spin_until(there, DISCOVERY_TIMEOUT):
            raise PlayerError(
                f"no node {self._remote!r} listens to joint_states and publishes {COMMAND_TOPIC} after "
                f"{DISCOVERY_TIMEOUT:g} s; start feedforward_node in the same ROS domain and namespace, or "
                "name it with --node",
                "node_missing",
            )
        for _ in range(5):
            self._show_time(first)
            self._spin_until(lambda: False, SETTLING_TIME / 5)

    def send(self, trajectory: JointTrajectory) -> None:
        """Publish a trajectory and give the node time to take it."""
        self._trajectories.publish(trajectory)
        self._spin_until(lambda: False, SETTLING_TIME)

    def ask(self, state: JointState) -> tuple[int, Array | None]:
        """Publish a state and wait for the command: what the node's clock said [ns], and the efforts."""
        if self._restamp:
            set_nanoseconds(state.header.stamp, time.time_ns())
        else:
            self._show_time(state)
            time.sleep(CLOCK_LEAD)
        self._command = self._clock_ns = None
        self._states.publish(state)
        self._spin_until(lambda: self._command is not None and self._clock_ns is not None, COMMAND_TIMEOUT)
        told = self._clock_ns if self._clock_ns is not None else nanoseconds_of(state.header.stamp)
        return told, self._command

    def parameters(self) -> dict[str, Any]:
        """Checked values of the node's whole table. Raises ``PlayerError``."""
        if not self._client.wait_for_services(timeout_sec=SERVICE_TIMEOUT):
            raise self._no_answer()
        values = self._response(self._client.get_parameters([each.name for each in TABLE])).values
        return {
            each.name: checked_value(each, parameter_value_to_python(value))
            for each, value in zip(TABLE, values, strict=True)
        }

    def set_parameter(self, name: str, value: float) -> None:
        """Change a parameter of the node. Raises ``PlayerError``."""
        [result] = self._response(self._client.set_parameters([Parameter(name, value=value)])).results
        if not result.successful:
            message = f"node {self._remote!r} refuses to change its parameter {name!r}: {result.reason}"
            raise PlayerError(message, "refused", name=name)

    def _response(self, future: "Future[Any]") -> Any:
        rclpy.spin_until_future_complete(self, future, timeout_sec=SERVICE_TIMEOUT)
        response = future.result()
        if response is None:
            raise self._no_answer()
        return response

    def _no_answer(self) -> PlayerError:
        message = f"node {self._remote!r} does not answer for its parameters; name the node with --node"
        return PlayerError(message, "no_parameters")

    def _show_time(self, state: JointState) -> None:
        """Let ``/clock`` show a state's stamp, unless states are stamped with the present."""
        if not self._restamp:
            self._clock_publisher.publish(Clock(clock=state.header.stamp))

    def _spin_until(self, over: Callable[[], bool], longest: float) -> bool:
        """Serve callbacks until ``over``, for ``longest`` [s] at most; whether it is over."""
        end = time.monotonic() + longest
        while not over():
            if time.monotonic() > end:
                return False
            rclpy.spin_once(self, timeout_sec=0.01)
        return True

    def _on_command(self, message: Float64MultiArray) -> None:
        self._command = np.array(message.data)

    def _on_feedforward(self, message: JointState) -> None:
        self._clock_ns = nanoseconds_of(message.header.stamp)


# What became of trajectories when the bag was recorded

Told = dict[tuple[int, str], set[str]]  # the states of trajectories, by stamp [ns] and label


def told_by(statuses: Iterable[DiagnosticStatus]) -> Told:
    """What the recorded node said of its trajectories on ``~/trajectory_status``."""
    told: Told = {}
    for values in map(values_of, statuses):
        seconds, _, fraction = values.get("stamp", "").partition(".")
        if seconds.isdecimal() and fraction.isdecimal():
            key = int(seconds) * SECOND_NS + int(fraction), values.get("frame_id", "")
            told.setdefault(key, set()).add(values.get("state", ""))
    return told


def became(told: Told, trajectory: JointTrajectory, state: str) -> bool:
    """Whether a trajectory surely was "accepted" or "refused"; several may share stamp and label."""
    key = nanoseconds_of(trajectory.header.stamp), trajectory.header.frame_id
    return told.get(key, set()) & {"accepted", "refused"} == {state}


def states_first(model: DynamicsModel, values: Values, motion: Motion, told: Told) -> Motion:
    """The motion with trajectories that came before the first complete state behind that state.

    A node that ran already had states when the recording began, and took such a trajectory; one that has had
    none must refuse it. A trajectory that was refused when it was recorded stays where it is.
    """
    reader = JointStateReader(model, values)
    early: list[JointState | JointTrajectory] = []
    ordered: list[JointState | JointTrajectory] = []
    for i, message in enumerate(motion):
        if isinstance(message, JointTrajectory) and not became(told, message, "refused"):
            early.append(message)
            continue
        ordered.append(message)
        if isinstance(message, JointState):
            stamp_ns = nanoseconds_of(message.header.stamp)
            if reader.take(message, stamp_ns, stamp_ns * 1e-9):
                return [*ordered, *early, *motion[i + 1 :]]
    return motion


# What the node must answer to recorded states, computed without ROS's transport


class OfflineAnswers(NamedTuple):
    """What the node must answer.

    ``efforts`` (N, n), a row a joint state, NaN where nothing may be published; ``refused``: the trajectories
    that it must refuse, and why.
    """

    efforts: Array
    refused: tuple[tuple[JointTrajectory, str], ...]


def offline_answers(
    model: DynamicsModel, values: Values, played: Motion, clocks: Iterable[int]
) -> OfflineAnswers:
    """Efforts for the joint states among the played messages, and the trajectories that are refused.

    ``values`` are the node's parameters; ``clocks`` [ns] what its clock said at each state. The time that
    never steps, which only timeouts use, is taken from the same clocks.
    """
    loop = ControlLoop(build_settings(values, model))
    reader = JointStateReader(model, values)
    rows: list[Array] = []
    refused: list[tuple[JointTrajectory, str]] = []
    nothing = np.full(len(model.joint_names), np.nan)
    times = iter(clocks)
    now_ns = 0
    for message in played:
        if isinstance(message, JointTrajectory):
            try:
                loop.follow(request_from_bytes(serialize_message(message)), now_ns)
            except KaneDynamicsError as error:  # the node rejects such a trajectory too, and goes on
                refused.append((message, str(error)))
            continue
        now_ns = next(times)
        taken = reader.take(message, now_ns, now_ns * 1e-9)
        tau = loop.step(reader.q, reader.qd, now_ns, now_ns * 1e-9) if taken else None
        rows.append(nothing if tau is None else tau.copy())
    return OfflineAnswers(np.array(rows), tuple(refused))


# The process


def play(player: BagPlayer, options: argparse.Namespace) -> None:
    """The whole recording, then the comparison's two sides into a NumPy archive."""
    model = load_model(options.model)
    played = messages_of(options.playlist)
    motion: Motion = [message for message in played if isinstance(message, JointState | JointTrajectory)]
    told = told_by(message for message in played if isinstance(message, DiagnosticStatus))
    player.connect(next(message for message in motion if isinstance(message, JointState)))
    for message in played:
        if isinstance(message, String):
            player.descriptions.publish(message)
    before = player.parameters()[STATE_TIMEOUT]
    player.set_parameter(STATE_TIMEOUT, PATIENT)
    try:
        values = player.parameters()
        motion = states_first(model, values, motion, told)
        clocks, commands = play_motion(player, motion, options.rate, len(model.joint_names))
    except BaseException:  # Ctrl-C, as a rule: why it ended matters more than that it cannot be set back
        with suppress(Exception):
            player.set_parameter(STATE_TIMEOUT, before)
        raise
    player.set_parameter(STATE_TIMEOUT, before)
    expected = offline_answers(model, values, motion, clocks)
    np.savez(
        options.answers,
        clock=np.array(clocks, np.int64),
        command=np.array(commands),
        expected=expected.efforts,
        refused=np.array([reason for _, reason in expected.refused], np.str_),
        accepted_before=np.array([became(told, each, "accepted") for each, _ in expected.refused], np.bool_),
    )


def play_motion(player: BagPlayer, motion: Motion, rate: float, joints: int) -> tuple[list[int], list[Array]]:
    """Clocks and commands, one a joint state; a row of NaN where no command came."""
    clocks: list[int] = []
    commands: list[Array] = []
    started: tuple[int, float] | None = None
    for message in motion:
        if isinstance(message, JointTrajectory):
            player.send(message)
            continue
        stamp = nanoseconds_of(message.header.stamp)
        started = started or (stamp, time.monotonic())
        if rate:
            due = started[1] + (stamp - started[0]) / SECOND_NS / rate
            time.sleep(max(0.0, due - time.monotonic()))
        clock, command = player.ask(message)
        clocks.append(clock)
        commands.append(np.full(joints, np.nan) if command is None else command)
    return clocks, commands


def messages_of(playlist: Path) -> list[Any]:
    """The playlist's messages, deserialized."""
    with np.load(playlist) as archive:
        data, ends = archive["data"].tobytes(), archive["ends"].tolist()
        types = [MESSAGE_TYPES[name] for name in archive["types"].tolist()]
        kinds = archive["kind"].tolist()
    starts = [0, *ends[:-1]]
    return [
        deserialize_message(data[start:end], types[kind])
        for kind, start, end in zip(kinds, starts, ends, strict=True)
    ]


def main(words: Sequence[str] | None = None) -> int:
    """Play, compute the offline answers, write both; 2 with a message when the node is not there."""
    parser = argparse.ArgumentParser(description="Play a recording to a running feedforward node.")
    parser.add_argument("playlist", type=Path)
    parser.add_argument("answers", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--node", default="feedforward_node")
    parser.add_argument("--rate", type=float, default=0.0)
    parser.add_argument("--restamp", action="store_true")
    options, ros = parser.parse_known_args(words)
    rclpy.init(args=ros)
    try:
        player = BagPlayer(options.node, options.restamp)
        try:
            play(player, options)
        finally:
            player.destroy_node()
    except (KeyboardInterrupt, ExternalShutdownException):
        return 130  # as shells report it
    except KaneDynamicsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    finally:
        rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
