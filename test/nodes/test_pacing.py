"""The wall clock's debt of steps."""

from kane_dynamics_ros.nodes.clocks import Pacer


def test_steps_follow_the_clock_without_drift() -> None:
    pacer = Pacer(step=10, patience=100, burst=20)
    due = [pacer.due(now) for now in (0, 9, 10, 35, 36, 62)]
    assert due == [[0], [], [10], [20, 30], [], [40, 50, 60]]
    assert pacer.dropped == 0


def test_a_delay_is_made_up_for_in_bursts() -> None:
    pacer = Pacer(step=10, patience=100, burst=4)
    pacer.due(0)
    assert [pacer.due(now) for now in (65, 66, 67)] == [[10, 20, 30, 40], [50, 60], []]


def test_a_long_pause_is_dropped_and_counted() -> None:
    pacer = Pacer(step=10, patience=100, burst=20)
    pacer.due(0)
    assert pacer.due(1000) == [1000]
    assert pacer.dropped == 99
    assert pacer.due(1010) == [1010]
