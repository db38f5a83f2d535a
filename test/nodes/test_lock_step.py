"""When a simulation in lock step advances; times in ns of a made-up clock."""

from kane_dynamics_ros.nodes.hardware.time import LockStep


def test_each_state_waits_for_one_command() -> None:
    lock_step = LockStep(timeout=100, settle=50)
    for now in (0, 10, 20):
        lock_step.reported(now, sent=True)
        assert lock_step.tick(now + 1) == "wait"
        assert lock_step.commanded(now + 2) == "advance"
    assert lock_step.timeouts == 0


def test_the_first_state_is_repeated_until_somebody_answers() -> None:
    lock_step = LockStep(timeout=100, settle=50)
    lock_step.reported(0, sent=True)
    assert [lock_step.tick(now) for now in (50, 100, 150, 200)] == ["wait", "repeat", "wait", "repeat"]
    assert lock_step.timeouts == 0


def test_the_answers_to_a_repeated_state_are_one_answer() -> None:
    lock_step = LockStep(timeout=100, settle=50)
    lock_step.reported(0, sent=True)
    assert lock_step.tick(100) == "repeat"
    assert lock_step.commanded(110) == "wait"
    assert lock_step.commanded(120) == "wait"
    assert lock_step.tick(159) == "wait"
    assert lock_step.tick(160) == "advance"
    lock_step.reported(161, sent=True)
    assert lock_step.commanded(170) == "advance"


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
