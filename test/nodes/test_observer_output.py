"""What the node publishes of external efforts, with a stand-in for the middleware: times are the test's."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

from stand_in_node import StandInNode

from kane_dynamics_ros.control.loop import ControlLoop
from kane_dynamics_ros.nodes.feedforward.observer import ObserverOutput
from kane_dynamics_ros.nodes.feedforward.parameters import TABLE, build_settings
from kane_dynamics_ros.runtime import load_model

MODEL = load_model("manipulator_5dof")
Q = np.array([0.1, 0.8, -0.9, 0.2, 0.1])
PUSH = np.array([5.0, 0.0, 0.0, 0.0, 0.0])  # [N m]
VALUES = {each.name: each.default for each in TABLE} | {"observer.run": "always", "observer.cutoff": 0.1}
PERIOD_NS = 1_000_000
SETTLED = 1000  # states: a hundred time constants of the residual, less than one of the cut-off frequency


class Bench:
    """The observer's output, fed with an arm at rest that is pushed or not."""

    def __init__(self):
        self.node, self.now_ns = StandInNode(), 0
        self.output = ObserverOutput(self.node, ControlLoop(build_settings(VALUES, MODEL)), VALUES)

    def listen(self, subscribers):
        for topic in self.node.topics.values():
            topic.subscribers = subscribers
        self.output.look_for_subscribers()

    def take(self, states, push):
        """The external effort at the first joint that was published last [N m]."""
        for _ in range(states):
            self.now_ns += PERIOD_NS
            self.output.take(Q, 0.0 * Q, MODEL.gravity(Q) - push, self.now_ns)
        return self.node.topics["~/external_torque"].messages[-1].effort[0]


def test_an_effort_from_before_a_gap_is_not_in_the_smoothed_one_after_it():
    bench = Bench()
    assert bench.take(SETTLED, PUSH) > 0.3 * PUSH[0]
    bench.now_ns += 500 * PERIOD_NS
    assert bench.take(3, 0.0 * PUSH) == pytest.approx(0.0, abs=1e-9)


def test_an_effort_from_when_somebody_listened_before_is_not_in_the_smoothed_one():
    bench = Bench()
    assert bench.take(SETTLED, PUSH) > 0.3 * PUSH[0]
    bench.listen(0)
    bench.take(SETTLED, 0.0 * PUSH)
    bench.listen(1)
    assert bench.take(1, 0.0 * PUSH) == pytest.approx(0.0, abs=1e-9)


def test_a_state_that_came_twice_does_not_end_the_smoothing():
    bench = Bench()
    smooth = bench.take(SETTLED, PUSH)
    bench.now_ns -= PERIOD_NS
    bench.take(1, PUSH)
    assert bench.take(1, PUSH) == pytest.approx(smooth, rel=0.01)
