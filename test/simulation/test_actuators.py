"""Each imperfection of a drive against its formula."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kane_dynamics_ros.simulation.actuators import ActuatorOptions, Actuators
from kane_dynamics_ros.simulation.engine import SimulationError

Arm = Callable[..., Any]
H = 1e-3  # [s]


def drive(arm: Any, **options: Any) -> Actuators:
    return Actuators(arm.joints, ActuatorOptions(**options), H)


def respond(actuators: Actuators, command: float, steps: int) -> list[float]:
    return [actuators.apply(np.array([command]), np.zeros(1))[0] for _ in range(steps)]


def test_an_ideal_drive_gives_what_is_asked(uncoupled_arm: Arm) -> None:
    assert respond(drive(uncoupled_arm([1.0])), 3.7, 2) == [3.7, 3.7]


def test_the_urdf_limit_clips_and_is_counted(uncoupled_arm: Arm) -> None:
    actuators = drive(uncoupled_arm([1.0], effort=2.0))
    assert respond(actuators, -5.0, 3) == [-2.0] * 3
    assert actuators.saturated.tolist() == [3]


def test_a_limit_of_0_means_unknown(uncoupled_arm: Arm) -> None:
    assert respond(drive(uncoupled_arm([1.0], effort=0.0)), 1e6, 1) == [1e6]


def test_limits_can_be_given(uncoupled_arm: Arm) -> None:
    assert respond(drive(uncoupled_arm([1.0], effort=2.0), effort_limits=(None,)), 5.0, 1) == [5.0]
    with pytest.raises(SimulationError) as caught:
        drive(uncoupled_arm([1.0]), effort_limits=(1.0, 2.0))
    assert (
        str(caught.value) == "simulation option actuator.effort_limits: found [1.0, 2.0]; allowed: 1 values"
    )


def test_the_lag_follows_the_exponential(uncoupled_arm: Arm) -> None:
    found = respond(drive(uncoupled_arm([1.0]), time_constant=0.02), 1.0, 50)
    expected = 1.0 - np.exp(-H / 0.02 * np.arange(1, 51))  # exact for a constant command
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_delay_shifts_by_whole_steps(uncoupled_arm: Arm) -> None:
    actuators = drive(uncoupled_arm([1.0]), delay=0.003)
    found = [actuators.apply(np.array([float(k)]), np.zeros(1))[0] for k in range(1, 8)]
    assert found == [0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_delay_below_half_a_step_is_none(uncoupled_arm: Arm) -> None:
    assert respond(drive(uncoupled_arm([1.0]), delay=0.0004), 1.0, 1) == [1.0]


def test_quantisation_rounds_to_the_quantum(uncoupled_arm: Arm) -> None:
    assert respond(drive(uncoupled_arm([1.0]), quantum=0.25), 0.9, 1) == [1.0]


def test_ripple_is_a_sine_of_the_position(uncoupled_arm: Arm) -> None:
    actuators = drive(uncoupled_arm([1.0]), ripple=0.5, ripple_cycles=12.0)
    found = actuators.apply(np.ones(1), np.array([0.1]))
    np.testing.assert_allclose(found, [1.0 + 0.5 * np.sin(1.2)], rtol=1e-15)


def test_a_negative_coefficient_is_refused() -> None:
    with pytest.raises(SimulationError) as caught:
        ActuatorOptions(delay=-1.0)
    assert str(caught.value) == "simulation option actuator.delay: found -1.0; allowed: finite and >= 0"
