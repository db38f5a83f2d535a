"""What the node publishes of external efforts, with a stand-in for the middleware: times are the test's."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

from stand_in_node import StandInNode

from kane_dynamics_ros.control.loop import ControlLoop
from kane_dynamics_ros.control.states import collision_in
from kane_dynamics_ros.nodes.feedforward.observer import ObserverOutput
from kane_dynamics_ros.nodes.feedforward.parameters import TABLE, build_settings
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.simulation.actuators import ActuatorOptions
from kane_dynamics_ros.simulation.faults import parse_fault
from kane_dynamics_ros.simulation.hardware import HardwareOptions, SimulatedHardware
from kane_dynamics_ros.simulation.plant import Plant

MODEL = load_model("manipulator_5dof")
Q = np.array([0.1, 0.8, -0.9, 0.2, 0.1])
PUSH = np.array([5.0, 0.0, 0.0, 0.0, 0.0])  # [N m]
VALUES = {each.name: each.default for each in TABLE} | {"observer.run": "always", "observer.cutoff": 0.1}
PERIOD_NS = 1_000_000
SETTLED = 1000  # states: a hundred time constants of the residual, less than one of the cut-off frequency


class Bench:
    """The observer's output, fed with an arm at rest that is pushed or not."""

    def __init__(self, **values):
        self.node, self.now_ns, self.values = StandInNode(), 0, VALUES | values
        loop = ControlLoop(build_settings(self.values, MODEL))
        self.output = ObserverOutput(self.node, loop, self.values)

    def listen(self, subscribers):
        for topic in self.node.topics.values():
            topic.subscribers = subscribers
        self.output.look_for_subscribers()

    def take(self, states, push):
        """The external effort at the first joint that was published last [N m]."""
        for _ in range(states):
            self.now_ns += PERIOD_NS
            effort = MODEL.gravity(Q) - push
            self.output.take(Q, 0.0 * Q, effort, effort, self.now_ns)
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


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("smallest", [0.0, 1e-320])
@pytest.mark.parametrize("others", [0.0, 80.0])
def test_joints_with_hardly_an_effort_limit_leave_a_wrench_that_explains_the_efforts(smallest, others):
    values = {"limits.effort": [smallest, *[others] * 4], "observer.cutoff": 0.0}
    bench = Bench(**values, **{"observer.undetermined": "least"})
    bench.take(SETTLED, PUSH)
    wrench = bench.node.topics["~/external_wrench"].messages[-1].wrench
    values = [getattr(part, axis) for part in (wrench.force, wrench.torque) for axis in "xyz"]
    found = MODEL.external_effort(Q, np.array(values))
    np.testing.assert_allclose(found, PUSH, atol=0.05 * PUSH[0])


LATENCY = 3  # states from a measurement to the effect of its command
LAG = HardwareOptions(actuators=ActuatorOptions(time_constant=0.02))  # [s] until the drives have their effort


class BrakedArm:
    """The simulated arm under the node's loop and observer, braked until the first command has its effect."""

    def __init__(self, options=None, **values):
        self.values = VALUES | {"safety.on_collision": "hold"} | values
        self.loop = ControlLoop(build_settings(self.values, MODEL))
        self.output = ObserverOutput(StandInNode(), self.loop, self.values)
        self.hardware = SimulatedHardware(Plant(MODEL), options)
        self.hardware.engine.reset(Q, 0.0 * Q)
        self.states, self.on_the_way = 0, []

    def run(self, states, answers=True):
        """The joint at which a collision was found, or None."""
        for _ in range(states):
            q, qd, effort = self.hardware.read()
            time = self.states * 1e-3
            tau = self.loop.step(q, qd, self.states * PERIOD_NS, time)
            self.output.take(q, qd, effort, tau, self.states * PERIOD_NS + 1)
            self.on_the_way.append(tau)
            if answers and len(self.on_the_way) > LATENCY:
                self.hardware.write(self.on_the_way.pop(0))
            self.hardware.step()
            self.states += 1
        found = collision_in(self.loop.state)
        return None if found is None else found.joint


SOURCES = pytest.mark.parametrize("source", ["measured", "commanded"])
FORCE = np.array([40.0, 40.0, 0.0])  # [N] at the tip, root axes
HAND = "contact:hand force=" + ",".join(f"{each:g}" for each in FORCE)


@pytest.mark.parametrize(("source", "options"), [("measured", None), ("measured", LAG), ("commanded", None)])
def test_brakes_that_carry_the_load_until_the_first_command_are_no_contact(source, options):
    arm = BrakedArm(options, **{"observer.effort": source})
    assert np.abs(MODEL.gravity(Q)).max() > 2.0 * arm.output.observer.settings.thresholds.constant.min()
    assert arm.run(LATENCY, answers=False) is None
    assert arm.run(1000) is None


@SOURCES
def test_a_push_after_the_brakes_opened_is_a_collision(source):
    arm = BrakedArm(**{"observer.effort": source})
    assert arm.run(50) is None
    arm.hardware.switch_faults([parse_fault(HAND)])
    pushed = np.abs(MODEL.external_effort(Q, np.concatenate((FORCE, np.zeros(3))), frame="root"))
    strong = pushed > arm.output.observer.settings.thresholds.constant
    assert arm.run(200) in np.array(MODEL.joint_names)[strong]


def test_brakes_that_close_in_a_pause_of_the_states_are_no_contact():
    arm = BrakedArm()
    assert arm.run(50) is None
    arm.hardware.stop()
    arm.on_the_way.clear()
    for _ in range(500):
        arm.hardware.step()
        arm.states += 1
    assert arm.run(LATENCY, answers=False) is None
    assert arm.run(1000) is None


def test_an_arm_that_another_one_moves_is_observed_without_commands():
    """The other's efforts are never the node's: that the joints move tells that no brake holds them."""
    arm = Bench()
    for k in range(300):
        q, qd = Q + 0.1e-3 * k, np.full(5, 0.1)
        push = PUSH if k >= 200 else 0.0 * PUSH
        arm.now_ns += PERIOD_NS
        arm.output.take(q, qd, MODEL.inverse_dynamics(q, qd, 0.0 * q) - push, None, arm.now_ns)
        if k == 199:
            assert arm.output.collision is None
    assert arm.output.collision is not None
