"""Headless closed loops, and the example of the documentation."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kane_dynamics_ros.simulation.engine import SimulationError
from kane_dynamics_ros.simulation.hardware import HardwareOptions, SimulatedHardware
from kane_dynamics_ros.simulation.plant import Plant
from kane_dynamics_ros.simulation.rollout import simulate
from kane_dynamics_ros.simulation.sensors import SensorOptions

Arm = Callable[..., Any]
DOCUMENT = Path(__file__).parents[2] / "docs" / "simulated_hardware.md"


def at_rest(time: float) -> np.ndarray:
    return np.zeros((3, 1))


def pd(reference: np.ndarray, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    return 25.0 * (reference[0] - q) - 10.0 * qd


def test_a_pd_loop_follows_its_closed_form(uncoupled_arm: Arm) -> None:
    model = uncoupled_arm([1.0])
    hardware = SimulatedHardware(Plant(model))
    hardware.engine.reset(np.array([0.1]), np.zeros(1))
    run = simulate(model, pd, at_rest, 1.0, hardware)
    # critically damped, poles at -5: x = 0.1 (1 + 5 t) exp(-5 t); the hold of 1 ms shifts it by h/2
    np.testing.assert_allclose(run.q[:, 0], 0.1 * (1 + 5 * run.time) * np.exp(-5 * run.time), atol=2e-4)
    np.testing.assert_array_equal(run.error, -run.q)
    np.testing.assert_array_equal(run.effort[1:], run.command[:-1])
    assert run.time.shape == (1000,)
    assert run.reference.shape == (1000, 3, 1)


def test_commands_can_come_at_a_slower_rate(uncoupled_arm: Arm) -> None:
    run = simulate(uncoupled_arm([1.0]), pd, at_rest, 0.1, control_rate=100.0)
    np.testing.assert_allclose(run.time, 0.01 * np.arange(10), rtol=1e-12)


@pytest.mark.parametrize("rate", [300.0, 3000.0])
def test_a_rate_that_does_not_divide_the_step_rate_is_refused(uncoupled_arm: Arm, rate: float) -> None:
    with pytest.raises(SimulationError) as caught:
        simulate(uncoupled_arm([1.0]), pd, at_rest, 0.1, control_rate=rate)
    assert str(caught.value) == (
        f"simulation option control_rate: found {rate}; allowed: 1000 Hz divided by a whole number"
    )


def test_the_controller_hears_the_sensors_and_the_record_keeps_both(uncoupled_arm: Arm) -> None:
    model = uncoupled_arm([1.0])
    options = HardwareOptions(sensors=SensorOptions(position_bias=0.5))
    run = simulate(model, pd, at_rest, 0.01, SimulatedHardware(Plant(model), options))
    np.testing.assert_allclose(run.position, run.q + 0.5, rtol=1e-15)
    np.testing.assert_allclose(run.command[0], [-12.5], rtol=1e-15)


def test_runs_with_one_seed_are_equal_bit_for_bit(uncoupled_arm: Arm) -> None:
    model = uncoupled_arm([1.0])
    options = HardwareOptions(sensors=SensorOptions(position_noise=1e-3, seed=2))
    first, second = (
        simulate(model, pd, at_rest, 0.5, SimulatedHardware(Plant(model), options)) for _ in range(2)
    )
    np.testing.assert_array_equal(first.q, second.q)
    assert np.abs(first.q).max() > 0.0


def test_the_example_of_the_documentation_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    exec(compile(example, str(DOCUMENT), "exec"), {})
    errors = np.array(capsys.readouterr().out.strip(" []\n").split(), dtype=float)
    assert (errors < 0.01).all()  # [rad] wrist: F / (J kp) = 0.02 / (1e-3 * 2500) = 0.008
