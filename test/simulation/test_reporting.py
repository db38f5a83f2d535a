"""Rate, jitter, order and gaps of joint state reports."""

import numpy as np
import pytest

from kane_dynamics_ros.simulation.engine import SimulationError
from kane_dynamics_ros.simulation.faults import Faults
from kane_dynamics_ros.simulation.sensors import Reading, Reporter, ReportOptions

NAMES = ("a", "b", "c")
READING = Reading(np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0]), np.array([0.1, 0.2, 0.3]))


def due(options: ReportOptions, steps: int = 1000) -> list[int]:
    reporter = Reporter(NAMES, options, 1e-3)
    return [step for step in range(steps) if reporter.due(step)]


def test_reports_come_at_the_rate() -> None:
    assert due(ReportOptions(rate=250.0)) == list(range(0, 1000, 4))
    assert due(ReportOptions(rate=5000.0)) == list(range(1000))  # at most one a step


def test_jitter_delays_without_drift_and_repeats_with_its_seed() -> None:
    found = due(ReportOptions(rate=50.0, jitter=0.5, seed=1))
    late = np.array(found) - 20 * np.arange(len(found))
    assert len(found) == 50
    assert late.min() >= 0
    assert late.max() <= 10  # half a period
    assert len(set(late.tolist())) > 5
    assert found == due(ReportOptions(rate=50.0, jitter=0.5, seed=1))
    assert found != due(ReportOptions(rate=50.0, jitter=0.5, seed=2))


def test_shuffled_reports_keep_names_and_values_together() -> None:
    reporter = Reporter(NAMES, ReportOptions(shuffle=True), 1e-3)
    orders = set()
    for _ in range(50):
        report = reporter.compose(READING, Faults(NAMES))
        assert report is not None
        orders.add(report.names)
        for name, position, velocity in zip(report.names, report.position, report.velocity, strict=True):
            k = NAMES.index(name)
            assert (position, velocity) == (READING.position[k], READING.velocity[k])
    assert len(orders) == 6


def test_velocity_and_effort_can_be_left_out() -> None:
    report = Reporter(NAMES, ReportOptions(velocity=False, effort=False), 1e-3).compose(
        READING, Faults(NAMES)
    )
    assert report is not None
    assert [len(values) for values in report[1:4]] == [3, 0, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 0.0}, "simulation option report.rate: found 0.0; allowed: finite and > 0"),
        ({"jitter": 2.0}, "simulation option report.jitter: found 2.0; allowed: 0 to 1"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(SimulationError) as caught:
        ReportOptions(**options)  # type: ignore[arg-type]
    assert str(caught.value) == message
