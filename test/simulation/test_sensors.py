"""Each imperfection of a sensor against its formula or its statistics."""

import numpy as np
import pytest

from kane_dynamics_ros.simulation.engine import SimulationError
from kane_dynamics_ros.simulation.sensors import SensorOptions, Sensors

Q, QD, EFFORT = np.array([0.1234, -2.0]), np.array([1.0, 2.0]), np.array([3.0, 4.0])


def test_ideal_sensors_tell_the_truth_in_arrays_of_their_own() -> None:
    reading = Sensors(SensorOptions()).read(0.0, Q, QD, EFFORT)
    for found, true in zip(reading, (Q, QD, EFFORT), strict=True):
        np.testing.assert_array_equal(found, true)
        assert not np.shares_memory(found, true)


def test_the_encoder_rounds_after_the_bias() -> None:
    reading = Sensors(SensorOptions(resolution=0.01, position_bias=0.004)).read(0.0, Q, QD, EFFORT)
    np.testing.assert_allclose(reading.position, [0.13, -2.0], rtol=1e-12)


def test_noise_has_the_stated_deviation_and_repeats_with_its_seed() -> None:
    options = SensorOptions(position_noise=0.1, velocity_noise=0.2, effort_noise=0.3, effort_bias=1.0, seed=3)
    first, second = Sensors(options), Sensors(options)
    rows = np.array([first.read(t, Q, QD, EFFORT) for t in range(5000)])
    again = np.array([second.read(t, Q, QD, EFFORT) for t in range(5000)])
    np.testing.assert_array_equal(rows, again)
    # 10,000 samples a kind: the deviation is known to 0.7 % (one sigma), the mean to 0.01 deviations
    deviation = rows.std(axis=0).mean(axis=1)
    np.testing.assert_allclose(deviation, [0.1, 0.2, 0.3], rtol=0.03)
    np.testing.assert_allclose(rows[:, 2].mean(axis=0), EFFORT + 1.0, atol=0.02)


def test_a_differenced_velocity_is_the_encoders_slope() -> None:
    sensors = Sensors(SensorOptions(velocity="difference", resolution=0.01))
    assert sensors.read(0.0, np.array([0.0]), np.ones(1), np.zeros(1)).velocity[0] == 0.0
    found = sensors.read(0.002, np.array([0.016]), np.ones(1), np.zeros(1)).velocity[0]
    np.testing.assert_allclose(found, 0.02 / 0.002, rtol=1e-12)


def test_a_second_reading_at_one_time_keeps_the_velocity() -> None:
    sensors = Sensors(SensorOptions(velocity="difference"))
    sensors.read(0.0, np.zeros(1), np.ones(1), np.zeros(1))
    first = sensors.read(0.01, np.array([0.1]), np.ones(1), np.zeros(1)).velocity
    second = sensors.read(0.01, np.array([0.1]), np.ones(1), np.zeros(1)).velocity
    np.testing.assert_array_equal(first, second)


def test_the_filtered_velocity_is_the_low_pass_of_the_difference() -> None:
    sensors = Sensors(SensorOptions(velocity="filtered", velocity_cutoff=10.0))
    found = [
        sensors.read(k * 1e-3, np.array([k * 2e-3]), np.ones(1), np.zeros(1)).velocity[0] for k in range(100)
    ]
    expected = 2.0 * (1.0 - np.exp(-2.0 * np.pi * 10.0 * 1e-3 * np.arange(100)))  # step response to 2 rad/s
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"velocity": "guessed"}, "sensor.velocity: found 'guessed'; allowed: exact, difference, filtered"),
        ({"velocity_cutoff": 0.0}, "sensor.velocity_cutoff: found 0.0; allowed: finite and > 0"),
        ({"resolution": float("nan")}, "sensor.resolution: found nan; allowed: finite and >= 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(SimulationError) as caught:
        SensorOptions(**options)  # type: ignore[arg-type]
    assert str(caught.value) == f"simulation option {message}"
