"""The delay between command and measured effort, planted and found, and what is said of it."""

import numpy as np
import pytest
from replay_bags import START

from kane_dynamics_ros.replay.correlation import Delay, command_delay
from kane_dynamics_ros.replay.messages import Commands, JointStates
from kane_dynamics_ros.replay.verdict import delay_sentence

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


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(8))
def test_the_true_delay_lies_within_the_uncertainty(noise: float, seed: int) -> None:
    """Steps between two samples, delayed by any fraction of one."""
    random = np.random.default_rng(seed)
    delay = random.uniform(-0.01, 0.02)
    commands = Commands(START + np.rint(TIME * 1e9).astype(np.int64), effort_at(TIME))
    measured = effort_at(TIME - delay) + noise * random.standard_normal((len(TIME), 2))
    found = command_delay(commands, recorded(measured))
    assert found is not None
    assert abs(found.seconds - delay) < found.uncertainty < 0.0015


def test_slow_commands_leave_the_delay_less_certain() -> None:
    """Commands every 10 ms of an effort that is measured every 1 ms."""

    def waves(time: np.ndarray) -> np.ndarray:
        return np.stack([np.sin(31 * time) + np.sin(17 * time), np.cos(23 * time)], axis=1)

    slow = TIME[::10]
    commands = Commands(START + np.rint(slow * 1e9).astype(np.int64), waves(slow))
    found = command_delay(commands, recorded(waves(TIME - 0.004)))
    assert found is not None
    assert found.uncertainty > 0.010
    assert delay_sentence(found) == ""


def test_a_delay_that_cannot_be_told_from_none_is_not_mentioned() -> None:
    assert delay_sentence(None) == ""
    assert delay_sentence(Delay(-0.00006, 0.98, 0.0005)) == ""
    assert "lags behind the command by 3.00 ms" in delay_sentence(Delay(0.003, 0.98, 0.0005))


def test_no_lag_is_negative_in_words() -> None:
    sentence = delay_sentence(Delay(-0.004, 0.98, 0.0005))
    assert "leads the command by 4.00 ms" in sentence
    assert "-4" not in sentence
