"""The wall clock's debt of steps."""

from kane_dynamics_ros.nodes.pacing import Pacer


def test_steps_follow_the_clock_without_drift() -> None:
    pacer = Pacer(step=10, patience=100)
    moments = [0, 9, 10, 35, 36, 100]
    assert [pacer.due(now) for now in moments] == [1, 0, 1, 2, 0, 7]
    assert pacer.dropped == 0


def test_a_long_pause_is_dropped_and_counted() -> None:
    pacer = Pacer(step=10, patience=100)
    pacer.due(0)
    assert pacer.due(1000) == 1
    assert pacer.dropped == 99
    assert pacer.due(1010) == 1
