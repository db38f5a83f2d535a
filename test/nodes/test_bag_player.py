"""The bag player against the real node: every state is answered, whatever the node's clock."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from kane_dynamics_ros.nodes.bag_player import (
    MESSAGE_TYPES,
    became,
    offline_answers,
    states_first,
    told_by,
)
from kane_dynamics_ros.nodes.feedforward.parameters import TABLE
from kane_dynamics_ros.replay.live import PLAYED_TYPES
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.runtime.node_parameters import checked_value

MODEL = load_model("manipulator_5dof")
Q = np.random.default_rng(8).uniform(-0.01, 0.01, (30, 5))  # [rad] within the velocity limits at 100 Hz
URDF = Path(__file__).parents[2] / "urdf" / "manipulator_5dof.urdf"
Start = Callable[..., None]


@pytest.fixture
def start() -> Iterator[Start]:
    """Factory: the node in mode ``gravity_compensation`` with further parameters; killed at the end."""
    processes: list[subprocess.Popen[bytes]] = []

    def make(*assignments: str) -> None:
        command = [sys.executable, "-m", "kane_dynamics_ros.nodes.feedforward_node", "--ros-args"]
        for assignment in ("model:=manipulator_5dof", "mode:=gravity_compensation", *assignments):
            command += ["-p", assignment]
        processes.append(subprocess.Popen(command))

    try:
        yield make
    finally:
        for process in processes:
            process.kill()
            process.wait()


def playlist(folder: Path) -> Path:
    """A description, and states at 100 Hz whose joints come in another order than the model's."""
    names = list(MODEL.joint_names)[::-1]
    messages = [String(data=URDF.read_text())]
    for i, q in enumerate(Q):
        state = JointState(name=names, position=q[::-1].tolist(), velocity=[0.0] * 5)
        state.header.stamp.sec, state.header.stamp.nanosec = 1_700_000_000, 10_000_000 * i
        messages.append(state)
    data = [bytes(serialize_message(message)) for message in messages]
    types = ["std_msgs/msg/String", "sensor_msgs/msg/JointState"]
    kinds = [isinstance(message, JointState) for message in messages]
    file = folder / "playlist.npz"
    np.savez(
        file,
        types=np.array(types),
        kind=np.array(kinds, np.uint8),
        data=np.frombuffer(b"".join(data), np.uint8),
        ends=np.cumsum([len(one) for one in data]),
    )
    return file


@pytest.mark.parametrize(
    ("simulated", "options"),
    [("true", []), ("false", ["--restamp"]), ("true", ["--rate", "2"])],
    ids=["clock", "restamped", "at twice the rate"],
)
def test_every_state_is_answered_with_the_models_gravity(
    start: Start, tmp_path: Path, simulated: str, options: list[str]
) -> None:
    """Field report 119: played with a clock that shows the stamps, or restamped with the present."""
    start(f"use_sim_time:={simulated}")
    answers = tmp_path / "answers.npz"
    subprocess.run(
        [
            *(sys.executable, "-m", "kane_dynamics_ros.nodes.bag_player"),
            *(str(playlist(tmp_path)), str(answers), "--model", "manipulator_5dof", *options),
        ],
        check=True,
        timeout=90,
    )
    with np.load(answers) as found:
        np.testing.assert_allclose(found["command"], found["expected"], rtol=0, atol=1e-9)
        # gravity of the arm from potential energy: g = dE/dq, by central differences
        step = 1e-5 * np.eye(5)
        gravity = [[(energy(q + one) - energy(q - one)) / 2e-5 for one in step] for q in Q]
        np.testing.assert_allclose(found["command"], gravity, rtol=0, atol=1e-6)


def energy(q: np.ndarray) -> float:
    """Potential energy [J]."""
    return float(MODEL.energy(q, np.zeros(5)).potential)


def status(state: str, label: str) -> DiagnosticStatus:
    """What a node says of a trajectory with the stamp 0."""
    values = {"state": state, "stamp": "0.000000000", "frame_id": label}
    return DiagnosticStatus(values=[KeyValue(key=key, value=value) for key, value in values.items()])


def motion_with_early_trajectories() -> list[JointState | JointTrajectory]:
    """Two trajectories, then states of half of the joints each, of which the second completes the first."""
    motion: list[JointState | JointTrajectory] = []
    for label in ("first", "second"):
        motion.append(JointTrajectory(joint_names=["unknown"], points=[JointTrajectoryPoint()]))
        motion[-1].header.frame_id = label
    names = list(MODEL.joint_names)
    for i, part in enumerate((names[:2], names[2:], names[:2])):
        state = JointState(name=part, position=[0.0] * len(part), velocity=[0.0] * len(part))
        state.header.stamp.sec, state.header.stamp.nanosec = 1_700_000_000, 10_000_000 * i
        motion.append(state)
    return motion


def test_trajectories_wait_for_the_first_complete_state_unless_they_were_refused_then() -> None:
    values = {each.name: checked_value(each, each.default) for each in TABLE}
    first, second, *states = motion = motion_with_early_trajectories()
    assert states_first(MODEL, values, motion, {}) == [*states[:2], first, second, states[2]]
    refused = told_by([status("refused", "first"), status("accepted", "second")])
    assert states_first(MODEL, values, motion, refused) == [first, *states[:2], second, states[2]]


def test_a_trajectory_that_the_node_refuses_is_known_with_what_became_of_it_before() -> None:
    values = {each.name: checked_value(each, each.default) for each in TABLE}
    first, second, *states = motion_with_early_trajectories()
    clocks = [1_700_000_000 * 10**9 + 10_000_000 * i for i in range(3)]
    refused = offline_answers(MODEL, values, [*states, first, second], clocks).refused
    assert [each.header.frame_id for each, _ in refused] == ["first", "second"]
    both = [status("accepted", "second"), status("refused", "second")]
    told = told_by([status("accepted", "first"), *both])
    assert [became(told, each, "accepted") for each, _ in refused] == [
        True,
        False,
    ]  # which of two is not known


def test_every_type_that_replay_writes_can_be_played() -> None:
    assert set(PLAYED_TYPES) == set(MESSAGE_TYPES)
