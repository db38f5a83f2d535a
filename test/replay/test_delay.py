"""The delay between command and measured effort, planted and found."""

import numpy as np
import pytest
from replay_bags import START

from kane_dynamics_ros.replay.estimation.delay import command_delay
from kane_dynamics_ros.replay.reading.messages import Commands, JointStates

TIME = np.arange(10_000) * 1e-3


def effort_at(time: np.ndarray) -> np.ndarray:
    """A step every 0.1 s beside a slow wave: (N, 2)."""
    steps = np.random.default_rng(3).standard_normal((200, 2))
    return steps[(time * 10).astype(int) + 50] + 20 * np.sin(time)[:, None]


def recorded(measured: np.ndarray) -> JointStates:
    received = START + np.rint(TIME * 1e9).astype(np.int64)
    nothing = np.zeros_like(measured)
    return JointStates(("a", "b"), received, received, nothing, nothing, measured, ("a", "b"), 0, 0)


@pytest.mark.parametrize("delay", [0.0, 0.003, 0.0125, -0.004])
def test_a_planted_delay_is_found_to_half_a_sample(delay: float) -> None:
    commands = Commands(START + np.rint(TIME * 1e9).astype(np.int64), effort_at(TIME))
    found = command_delay(commands, recorded(effort_at(TIME - delay)))
    assert found is not None
    assert found.seconds == pytest.approx(delay, abs=0.5e-3)
    assert found.correlation > 0.85


def test_commands_that_have_nothing_to_do_with_the_effort_give_no_delay() -> None:
    random = np.random.default_rng(4)
    commands = Commands(START + np.rint(TIME * 1e9).astype(np.int64), random.standard_normal((len(TIME), 2)))
    assert command_delay(commands, recorded(random.standard_normal((len(TIME), 2)))) is None


def test_constant_efforts_give_no_delay() -> None:
    commands = Commands(START + np.rint(TIME * 1e9).astype(np.int64), np.ones((len(TIME), 2)))
    assert command_delay(commands, recorded(np.ones((len(TIME), 2)))) is None
