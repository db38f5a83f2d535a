"""The hardware component: interfaces, commands, silence, brakes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kane_dynamics_ros.errors import NonFiniteError
from kane_dynamics_ros.simulation.actuators import InnerLoop
from kane_dynamics_ros.simulation.engine import SimulationDivergedError, SimulationError
from kane_dynamics_ros.simulation.faults import Fault
from kane_dynamics_ros.simulation.hardware import HardwareOptions, SimulatedHardware
from kane_dynamics_ros.simulation.plant import Plant

Arm = Callable[..., Any]
LOCKED_LATER = Fault("lock", "j0", start=0.002)


def test_interfaces_are_named_as_ros2_control_names_them(uncoupled_arm: Arm) -> None:
    hardware = SimulatedHardware(Plant(uncoupled_arm([1.0, 1.0])))
    assert hardware.command_interfaces == ("j0/effort", "j1/effort")
    kinds = ("position", "velocity", "effort")
    assert hardware.state_interfaces == tuple(f"{name}/{kind}" for name in ("j0", "j1") for kind in kinds)


def test_the_brakes_hold_the_arm_until_the_first_command(uncoupled_arm: Arm) -> None:
    hardware = SimulatedHardware(Plant(uncoupled_arm([1.0], load=[10.0])))
    for _ in range(100):
        hardware.step()
    assert hardware.read().position[0] == 0.0
    hardware.write(np.zeros(1))
    hardware.step()
    np.testing.assert_allclose(hardware.read().velocity, [-0.01], rtol=1e-12)  # 10 N m on 1 kg m^2, 1 ms


@pytest.mark.parametrize(
    ("command", "error", "message"),
    [
        ([1.0], SimulationError, "command: found shape (1,); allowed: one value per joint, (2,)"),
        (
            [1.0, np.nan],
            NonFiniteError,
            "command: found a value that is not finite; every value must be finite",
        ),
    ],
)
def test_a_bad_command_is_refused_and_the_last_one_stays(
    uncoupled_arm: Arm, command: list[float], error: type[Exception], message: str
) -> None:
    hardware = SimulatedHardware(Plant(uncoupled_arm([1.0, 1.0])))
    hardware.write(np.array([1.0, 2.0]))
    with pytest.raises(error) as caught:
        hardware.write(np.array(command))
    assert str(caught.value) == message
    hardware.step()
    np.testing.assert_array_equal(hardware.read().effort, [1.0, 2.0])


@pytest.mark.parametrize(
    ("on_silence", "velocity"),
    [("hold", 0.2), ("release", 0.1), ("brake", 0.0)],
)
def test_silence_holds_releases_or_brakes(uncoupled_arm: Arm, on_silence: Any, velocity: float) -> None:
    options = HardwareOptions(command_timeout=0.1, on_silence=on_silence)
    hardware = SimulatedHardware(Plant(uncoupled_arm([1.0])), options)
    hardware.write(np.ones(1))
    for _ in range(200):  # 1 rad/s^2 for 0.2 s, or for the 0.1 s before the timeout
        hardware.step()
    np.testing.assert_allclose(hardware.read().velocity, [velocity], atol=1e-12)


@pytest.mark.parametrize(("on_silence", "acceleration"), [("gravity", 0.0), ("release", -5.0)])
def test_gravity_on_silence_carries_the_arm(uncoupled_arm: Arm, on_silence: Any, acceleration: float) -> None:
    """Commanded 6 N m against a load of 5 for 0.1 s, then silent for 0.2 s; inertia 1 kg m^2."""
    arm = uncoupled_arm([1.0], load=[5.0])
    options = HardwareOptions(command_timeout=0.1, on_silence=on_silence)
    hardware = SimulatedHardware(Plant(arm), options, gravity=lambda q: arm.bias(q, 0.0 * q))
    hardware.write(np.array([6.0]))
    for _ in range(300):
        hardware.step()
    np.testing.assert_allclose(hardware.read().velocity, [0.1 + 0.2 * acceleration], rtol=1e-9)
    with pytest.raises(SimulationError):
        SimulatedHardware(Plant(arm), HardwareOptions(on_silence="gravity"))


def test_a_new_command_ends_the_silence(uncoupled_arm: Arm) -> None:
    options = HardwareOptions(command_timeout=0.01, on_silence="brake")
    hardware = SimulatedHardware(Plant(uncoupled_arm([1.0])), options)
    hardware.write(np.ones(1))
    for _ in range(50):
        hardware.step()
    hardware.write(np.ones(1))
    hardware.step()
    np.testing.assert_allclose(hardware.read().velocity, [0.001], rtol=1e-12)


def test_stop_rests_the_arm_where_it_is(uncoupled_arm: Arm) -> None:
    hardware = SimulatedHardware(Plant(uncoupled_arm([1.0])))
    hardware.write(np.ones(1))
    for _ in range(100):
        hardware.step()
    position = hardware.read().position
    hardware.stop()
    for _ in range(10):
        hardware.step()
    np.testing.assert_array_equal(hardware.read().position, position)
    np.testing.assert_array_equal(hardware.read().velocity, [0.0])


def test_time_passes_where_the_engine_cannot_go_on(uncoupled_arm: Arm, monkeypatch: Any) -> None:
    hardware = SimulatedHardware(Plant(uncoupled_arm([1.0])), HardwareOptions(faults=(LOCKED_LATER,)))

    def diverge(effort: Any) -> None:
        raise SimulationDivergedError("of the test")

    monkeypatch.setattr(hardware.engine, "step", diverge)
    for _ in range(3):
        with pytest.raises(SimulationDivergedError):
            hardware.step()
    assert hardware.time == 3 * hardware.engine.time_step
    assert hardware.faults.find("lock") == LOCKED_LATER


@pytest.mark.parametrize(("interface", "row"), [("position", 0), ("velocity", 1)])
def test_inner_loops_reach_their_command_under_load(uncoupled_arm: Arm, interface: Any, row: int) -> None:
    arm = uncoupled_arm([1.0, 1e-3], load=[5.0, 0.1], damping=0.01)
    hardware = SimulatedHardware(Plant(arm), inner_loop=InnerLoop(arm, interface))
    assert hardware.command_interfaces == (f"j0/{interface}", f"j1/{interface}")
    command = np.array([0.3, -0.2])
    hardware.write(command)
    for _ in range(500):  # 0.5 s is 78 time constants of a 25 Hz loop
        hardware.step()
    # damping 0.01 N m s/rad is unknown to the loop: v is short by d v / (J w), 6 % on the light joint
    np.testing.assert_allclose(hardware.read()[row], command, rtol=0.07)


def test_a_position_loop_arrives_exactly_without_friction(uncoupled_arm: Arm) -> None:
    arm = uncoupled_arm([1.0, 1e-3], load=[5.0, 0.1])
    hardware = SimulatedHardware(Plant(arm), inner_loop=InnerLoop(arm, "position"))
    hardware.write(np.array([0.3, -0.2]))
    for _ in range(500):
        hardware.step()
    np.testing.assert_allclose(hardware.read().position, [0.3, -0.2], rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"command_timeout": -1.0}, "command_timeout: found -1.0; allowed: finite and >= 0"),
        ({"on_silence": "pray"}, "on_silence: found 'pray'; allowed: hold, release, gravity, brake"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SimulationError) as caught:
        HardwareOptions(**options)
    assert str(caught.value) == f"simulation option {message}"
