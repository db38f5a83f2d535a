"""The node must answer a recording as the offline computation does, and as Pinocchio says."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from regression_bag import BAG, TORQUES, expected_torques

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.replay.live import play, read_answers, write_playlist


@pytest.fixture
def node() -> Iterator[None]:
    """The feedforward node on simulated time, in mode ``feedforward``."""
    command = [sys.executable, "-m", "kane_dynamics_ros.nodes.feedforward_node", "--ros-args"]
    for assignment in ("model:=manipulator_5dof", "mode:=feedforward", "use_sim_time:=true"):
        command += ["-p", assignment]
    process = subprocess.Popen(command)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def test_the_committed_torques_are_pinocchios() -> None:
    """The file is what its generator writes, to the rounding of another Pinocchio or processor."""
    committed = np.loadtxt(TORQUES, delimiter=",")
    np.testing.assert_allclose(committed, expected_torques(), rtol=0, atol=1e-10 * np.abs(committed).max())


def test_a_trajectory_recorded_before_the_first_state_is_followed(node: None, tmp_path: Path) -> None:
    """The end of the motion is reached, where the committed torque is that of its last point."""
    playlist, answers = tmp_path / "early.npz", tmp_path / "answers.npz"
    write_playlist(BAG, None, playlist)
    with np.load(playlist) as archive:
        messages = np.split(archive["data"], archive["ends"][:-1])
        kinds, types = archive["kind"].tolist(), archive["types"].tolist()
    [sent] = [i for i, kind in enumerate(kinds) if types[kind].endswith("JointTrajectory")]
    order = [sent, *range(sent), *range(sent + 1, len(kinds))]
    np.savez(
        playlist,
        types=types,
        kind=np.array(kinds, np.uint8)[order],
        data=np.concatenate([messages[i] for i in order]),
        ends=np.cumsum([len(messages[i]) for i in order]),
    )
    assert play(playlist, answers, model="manipulator_5dof", node="feedforward_node")
    found = read_answers(answers)
    assert found.same
    assert found.refused == ()
    with np.load(answers) as archive:
        last = archive["command"][-1]
    np.testing.assert_allclose(last, np.loadtxt(TORQUES, delimiter=",")[-1], rtol=0, atol=1e-9)


def test_every_command_is_the_offline_answer_and_the_committed_torque(
    node: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["replay", str(BAG), "--model", "manipulator_5dof", "--live", "--report", str(tmp_path)])
    out = capsys.readouterr().out
    assert code == 0, out
    assert out.splitlines()[-2:] == [
        "160 commands compared with the offline answer",
        "the node answers as it must: allowed is 1e-09",
    ]
    with np.load(tmp_path / "regression_answers.npz") as answers:
        command, clock = answers["command"], answers["clock"]
    expected = np.loadtxt(TORQUES, delimiter=",")
    # /clock and joint_states are different topics: DDS may deliver a clock late, and the node then samples
    # the trajectory at the moment before. Such answers are compared above; here only those in step.
    in_step = np.flatnonzero(np.diff(clock, prepend=clock[0] - 10_000_000) == 10_000_000)
    assert len(in_step) > 150
    np.testing.assert_allclose(command[in_step], expected[in_step], rtol=0, atol=1e-9)
