"""A stop on the simulated arm: at rest after the last command, at every rate, with late and lost commands."""

import numpy as np
import pytest

from kane_dynamics_ros.control.law import Law, TermSwitches
from kane_dynamics_ros.control.limits import effort_limits, position_limits, velocity_limits
from kane_dynamics_ros.control.loop import ControlLoop, LoopSettings
from kane_dynamics_ros.control.states import Safety
from kane_dynamics_ros.control.validation import RequestPoint, Rules, TrajectoryRequest
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.simulation.hardware import SimulatedHardware
from kane_dynamics_ros.simulation.plant import Plant

MODEL, N = load_model("manipulator_5dof"), 5
START = np.array([0.1, 0.8, -0.9, 0.2, 0.1])
GOAL = START + np.array([0.5, -0.4, 0.5, 0.4, 0.4])  # in a second
LONGEST = 1.0  # [s]: safety.stop_time
LOST = 0.1  # of the commands
RUNS = 40
AT_REST = 0.02  # [rad/s]


def settings():
    """The node's defaults."""
    lower, upper = position_limits(MODEL.joints)
    return LoopSettings(
        law=Law("computed_torque", MODEL, np.full(N, 400.0), np.full(N, 40.0), TermSwitches()),
        rules=Rules(),
        safety=Safety(),
        effort_limits=effort_limits(MODEL.joints),
        effort_rate=None,
        lower=lower,
        upper=upper,
        reference_limits="reject",
        fastest=velocity_limits(MODEL.joints),
    )


class Bench:
    """The loop and the simulated arm, with commands that come one period late, or never."""

    def __init__(self, rate, seed):
        self.period, self.random = 1.0 / rate, np.random.default_rng(seed)
        self.plant = Plant(MODEL)
        self.plant.reset(START, np.zeros(N))
        self.hardware = SimulatedHardware(self.plant)
        self.loop = ControlLoop(settings())
        self.periods, self.late = 0, None

    @property
    def time(self):
        return self.periods * self.period

    @property
    def now_ns(self):
        return 1 + round(self.time * 1e9)

    def advance(self, tau):
        """A period with a command: the one before reaches the arm, this one the next time, or not at all."""
        if self.late is not None:
            self.hardware.write(self.late)
        self.late = tau if self.random.random() >= LOST else None
        for _ in range(round(self.period / self.plant.time_step)):
            self.hardware.step()
        self.periods += 1

    def step(self):
        q, qd, _ = self.hardware.read()
        self.advance(self.loop.step(q, qd, self.now_ns, self.time))


@pytest.mark.parametrize("rate", [100, 200, 500, 1000])
def test_the_arm_rests_after_the_last_command(rate):
    for run in range(RUNS):
        bench = Bench(rate, run)
        bench.step()
        end = RequestPoint(1_000_000_000, tuple(GOAL), (0.0,) * N, (0.0,) * N)
        bench.loop.follow(TrajectoryRequest(MODEL.joint_names, (end,)), bench.now_ns)
        while bench.time < 0.2 + 0.6 * run / RUNS:
            bench.step()
        assert np.abs(bench.plant.qd).max() > 0.1  # it is in the midst of its motion
        begun = bench.time
        seconds = bench.loop.stop(bench.now_ns, LONGEST, bench.period)
        while not bench.loop.stopped:
            bench.step()
            assert bench.time < begun + seconds + LONGEST
        last = bench.loop.last_effort("hold")
        np.testing.assert_allclose(last, MODEL.gravity(bench.loop.last.q), atol=1e-12)
        for _ in range(rate // 2):  # it is repeated, as the node does, and then stays
            bench.advance(last)
            assert np.abs(bench.plant.qd).max() < AT_REST
