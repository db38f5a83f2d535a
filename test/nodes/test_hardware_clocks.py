"""When the simulated arm's time advances; times in ns of a made-up clock."""

import pytest

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

from kane_dynamics_ros.nodes.hardware.clocks import LockStep, Pacer

SECOND = 1_000_000_000


def test_each_state_waits_for_one_command() -> None:
    lock_step = LockStep(timeout=100, settle=50)
    for now in (0, 10, 20):
        lock_step.reported(now, sent=True)
        assert lock_step.tick(now + 1) == "wait"
        assert lock_step.commanded(now + 2) == "advance"
    assert lock_step.timeouts == 0


@pytest.mark.parametrize("timeout", [0, 100])
def test_the_first_state_is_repeated_until_somebody_answers(timeout: int) -> None:
    lock_step = LockStep(timeout, settle=50)
    lock_step.reported(0, sent=True)
    moments = [each * SECOND // 2 for each in (1, 2, 3, 4)]
    assert [lock_step.tick(now) for now in moments] == ["wait", "repeat", "wait", "repeat"]
    assert lock_step.timeouts == 0


def test_the_answers_to_a_repeated_state_are_one_answer() -> None:
    lock_step = LockStep(timeout=100, settle=50)
    lock_step.reported(0, sent=True)
    assert lock_step.tick(SECOND) == "repeat"
    assert lock_step.commanded(SECOND + 10) == "wait"
    assert lock_step.commanded(SECOND + 20) == "wait"
    assert lock_step.tick(SECOND + 59) == "wait"
    assert lock_step.tick(SECOND + 60) == "advance"
    lock_step.reported(SECOND + 61, sent=True)
    assert lock_step.commanded(SECOND + 70) == "advance"


def test_a_missing_command_is_given_up_and_counted() -> None:
    lock_step = LockStep(timeout=100, settle=50)
    lock_step.reported(0, sent=True)
    assert lock_step.commanded(1) == "advance"
    lock_step.reported(2, sent=True)
    assert lock_step.tick(101) == "wait"
    assert lock_step.tick(102) == "advance"
    assert lock_step.timeouts == 1


def test_a_state_that_a_fault_swallowed_waits_for_nobody() -> None:
    lock_step = LockStep(timeout=100, settle=50)
    lock_step.reported(0, sent=False)
    assert lock_step.tick(1) == "advance"
    assert lock_step.timeouts == 0


def answered_once(timeout: int) -> LockStep:
    """In lock step with a controller that has answered the first state, and not the second, of time 2."""
    lock_step = LockStep(timeout, settle=50)
    lock_step.reported(0, sent=True)
    assert lock_step.commanded(1) == "advance"
    lock_step.reported(2, sent=True)
    return lock_step


def test_without_a_timeout_an_unanswered_state_is_repeated_and_its_answers_are_one_answer() -> None:
    """A controller that was deactivated, or started again, gets the state that it waits for."""
    lock_step = answered_once(timeout=0)
    moments = (SECOND, SECOND + 2, SECOND + 3, 2 * SECOND + 2, 3600 * SECOND)
    assert [lock_step.tick(now) for now in moments] == ["wait", "repeat", "wait", "repeat", "repeat"]
    assert lock_step.waiting(3600 * SECOND) == 3600 * SECOND - 2  # repetitions are no progress
    assert lock_step.commanded(3600 * SECOND + 1) == "wait"
    assert lock_step.commanded(3600 * SECOND + 2) == "wait"  # of a repetition
    assert lock_step.tick(3600 * SECOND + 51) == "advance"
    assert lock_step.timeouts == 0
    lock_step.reported(3600 * SECOND + 52, sent=True)
    assert lock_step.commanded(3600 * SECOND + 53) == "advance"


def test_a_state_with_a_fault_in_it_need_not_be_answered() -> None:
    lock_step = answered_once(timeout=0)
    assert lock_step.commanded(3) == "advance"
    lock_step.reported(4, sent=True, faulty=True)
    assert lock_step.tick(5) == "wait"
    assert lock_step.tick(SECOND + 4) == "advance"
    assert lock_step.timeouts == 0


def test_nothing_advances_while_it_is_paused_and_the_answer_counts_afterwards() -> None:
    lock_step = answered_once(timeout=100)
    lock_step.pause(3)
    assert lock_step.commanded(4) == "wait"
    assert lock_step.tick(500) == "wait"
    assert lock_step.resume(600) == "advance"
    lock_step.reported(601, sent=True)
    lock_step.pause(602)
    assert lock_step.resume(603) == "wait"
    assert lock_step.commanded(604) == "advance"


def test_paused_from_the_start_it_waits_for_a_controller_and_for_whoever_resumes_it() -> None:
    lock_step = LockStep(timeout=0, settle=50)
    lock_step.reported(0, sent=True)
    lock_step.pause(1)
    assert lock_step.tick(SECOND) == "repeat"  # for a controller that came late
    assert lock_step.commanded(SECOND + 1) == "wait"
    assert lock_step.tick(SECOND + 2) == "wait"
    assert lock_step.tick(5 * SECOND) == "repeat"  # for a recorder that came later still
    assert lock_step.commanded(5 * SECOND + 1) == "wait"
    assert lock_step.resume(6 * SECOND) == "wait"  # until the answers have run dry
    assert lock_step.tick(6 * SECOND + 49) == "wait"
    assert lock_step.tick(6 * SECOND + 50) == "advance"


def test_a_pause_that_nobody_ends_ends_by_itself() -> None:
    lock_step = answered_once(timeout=0)
    lock_step.pause(3)
    assert lock_step.commanded(4) == "wait"
    assert lock_step.tick(59 * SECOND) == "repeat"
    assert lock_step.tick(61 * SECOND) == "wait"
    assert lock_step.tick(61 * SECOND + 50) == "advance"


def test_steps_follow_the_clock_without_drift() -> None:
    pacer = Pacer(step=10, longest=100, burst=20)
    due = [pacer.due(now) for now in (0, 9, 10, 35, 36, 62)]
    assert due == [[0], [], [10], [20, 30], [], [40, 50, 60]]
    assert pacer.dropped == 0


def test_a_delay_is_made_up_for_in_bursts() -> None:
    pacer = Pacer(step=10, longest=100, burst=4)
    pacer.due(0)
    assert [pacer.due(now) for now in (65, 66, 67)] == [[10, 20, 30, 40], [50, 60], []]


def test_a_long_pause_is_dropped_and_counted() -> None:
    pacer = Pacer(step=10, longest=100, burst=20)
    pacer.due(0)
    assert pacer.due(1000) == [1000]
    assert pacer.dropped == 99
    assert pacer.due(1010) == [1010]
