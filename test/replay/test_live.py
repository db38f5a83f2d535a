"""Commands against offline answers, without ROS."""

from pathlib import Path

import numpy as np
import pytest
from regression_bag import BAG, STATES
from replay_bags import JOINT_STATE, write_messages

from kane_dynamics_ros.replay.errors import BagError
from kane_dynamics_ros.replay.live import compare_answers, live_lines, read_answers, write_playlist

NAN = np.full(2, np.nan)
EXPECTED = np.arange(8.0).reshape(4, 2)


def test_the_same_commands_are_the_same() -> None:
    found = compare_answers(EXPECTED + 5e-10, EXPECTED)
    assert found.same
    assert live_lines(found, ("a", "bb")) == [
        "joint a   largest difference 5e-10",
        "joint bb  largest difference 5e-10",
        "4 commands compared with the offline answer",
        "the node answers as it must: allowed is 1e-09",
    ]


def test_one_command_that_differs_is_enough() -> None:
    command = EXPECTED.copy()
    command[2, 1] += 1e-8
    found = compare_answers(command, EXPECTED)
    assert not found.same
    assert found.difference == pytest.approx([0.0, 1e-8])


def test_missing_and_unexpected_commands_are_told() -> None:
    command, expected = EXPECTED.copy(), EXPECTED.copy()
    command[0] = NAN
    expected[1:3] = NAN
    found = compare_answers(command, expected)
    assert not found.same
    assert live_lines(found, ("a", "b"))[2:] == [
        "1 commands compared with the offline answer; 1 states without the command that was due; "
        "2 states with a command that was not due",
        "the node does NOT answer as it must: allowed is 1e-09",
    ]


def test_a_state_that_both_refuse_is_no_difference() -> None:
    expected = EXPECTED.copy()
    expected[1] = NAN
    assert compare_answers(expected, expected).same


def test_nothing_to_compare_is_not_the_same() -> None:
    assert not compare_answers(np.full((3, 2), np.nan), np.full((3, 2), np.nan)).same


def test_a_trajectory_that_was_accepted_and_is_refused_now_is_a_failure(tmp_path: Path) -> None:
    for accepted in (False, True):
        file = tmp_path / "answers.npz"
        answers = {"command": EXPECTED, "expected": EXPECTED, "refused": ["no joint states"]}
        np.savez(file, **answers, accepted_before=[accepted])
        found = read_answers(file)
        assert found.same is not accepted
        assert any("refused: no joint states" in line for line in live_lines(found, ("a", "b")))


def test_the_playlist_keeps_the_order_of_reception(tmp_path: Path) -> None:
    assert write_playlist(BAG, None, tmp_path / "list.npz") == STATES
    with np.load(tmp_path / "list.npz") as archive:
        assert archive["kind"].tolist() == [0] * 10 + [1] + [0] * 150
        assert archive["ends"][-1] == len(archive["data"])


def test_a_playlist_without_states_is_refused(tmp_path: Path) -> None:
    bag = write_messages(tmp_path / "bag", {("/joint_states", JOINT_STATE): []})
    with pytest.raises(BagError, match="/joint_states") as refused:
        write_playlist(bag, None, tmp_path / "list.npz")
    assert refused.value.code == "empty_topic"
