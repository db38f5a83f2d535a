"""The simulated hardware node over DDS, in this process: messages, parameters, faults, lock step."""

import re
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from kane_dynamics_ros.nodes.simulated_hardware_node import SimulatedHardwareNode
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.runtime.node_parameters import RosParameterError
from kane_dynamics_ros.simulation.engine import SimulationDivergedError

MODEL = load_model("manipulator_5dof")
HOME = np.array([0.0, 0.9, -1.2, 0.3, 0.5])  # the URDF's initial values
PATIENCE = 20.0  # [s] for anything to happen on a busy machine


class TopicSystem:
    """ros2_control's JointStateTopicSystem: JointState commands, NaN where nothing is commanded.

    ``names`` are its joints, in its order. It says nothing while a command equals the state.
    """

    def __init__(self, probe: Node, names: list[str]) -> None:
        self._publisher = probe.create_publisher(JointState, "joint_commands", 10)
        self._names = names
        self.matched = self._publisher.get_subscription_count

    def write(self, **commands: list[float]) -> None:
        message = JointState(name=self._names)
        for interface, values in commands.items():
            setattr(message, interface, values)
        self._publisher.publish(message)


class Bench:
    """The node under test and a probe that hears its joint states, spun together."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        arguments = [part for name, value in parameters.items() for part in ("-p", f"{name}:={value}")]
        space = f"/run_{uuid.uuid4().hex}"  # apart from other runs of these tests on this machine
        remaps = ["-r", f"__ns:={space}", "-r", f"/clock:={space}/clock"]
        rclpy.init(args=["--ros-args", "--log-level", "error", *remaps, *arguments])
        interface = parameters.get("command.interface", "effort")
        self.other_commands = parameters.get("command.type") == "joint_state"
        self.node = SimulatedHardwareNode()
        self.probe = Node("probe")
        self.states: list[JointState] = []
        self.clocks: list[Clock] = []
        self.answer: Callable[[JointState], list[float]] | None = None
        self.probe.create_subscription(JointState, "joint_states", self._hear, 1000)
        self.probe.create_subscription(Clock, "/clock", self.clocks.append, 1000)
        self.commands = self.probe.create_publisher(
            Float64MultiArray, f"forward_{interface}_controller/commands", 10
        )
        self.parameters = self.probe.create_client(SetParameters, "simulated_hardware/set_parameters")
        self.atomically = self.probe.create_client(
            SetParametersAtomically, "simulated_hardware/set_parameters_atomically"
        )
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.executor.add_node(self.probe)

    def _hear(self, message: JointState) -> None:
        self.states.append(message)
        if self.answer:
            self.command(self.answer(message))

    def command(self, values: list[float]) -> None:
        self.commands.publish(Float64MultiArray(data=values))

    def until(self, condition: Callable[[], bool]) -> None:
        """Spin until the condition holds; fail after ``PATIENCE``."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, "nothing happened in time"
            self.executor.spin_once(timeout_sec=0.05)

    def connected(self) -> bool:
        listens = self.commands.get_subscription_count() > 0 or self.other_commands
        return listens and len(self.states) > 0

    def set(self, name: str, value: Any) -> tuple[bool, str]:
        """Call the node's parameter service, as ``ros2 param set`` does."""
        message = Parameter(name, value=value).to_parameter_msg()
        self.until(self.parameters.service_is_ready)
        future = self.parameters.call_async(SetParameters.Request(parameters=[message]))
        self.until(future.done)
        (result,) = future.result().results
        return result.successful, result.reason

    def set_together(self, values: dict[str, Any]) -> Any:
        """The result of a set of parameters, whole or not at all."""
        messages = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        self.until(self.atomically.service_is_ready)
        future = self.atomically.call_async(SetParametersAtomically.Request(parameters=messages))
        self.until(future.done)
        return future.result().result

    def fresh(self, count: int = 1) -> list[JointState]:
        """The next joint states, two left out that were already on their way."""
        start = len(self.states) + 2
        self.until(lambda: len(self.states) >= start + count)
        return self.states[start : start + count]

    def is_silent(self) -> bool:
        """Whether no joint state comes for 0.3 s."""
        count, end = len(self.states), time.monotonic() + 0.3
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.05)
        return len(self.states) == count

    def close(self) -> None:
        self.executor.shutdown()
        self.probe.destroy_node()
        self.node.destroy_node()


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Bench]]:
    """Factory: ``bench(**{"parameter.name": value})``; one at a time."""
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    made: list[Bench] = []

    def make(**parameters: Any) -> Bench:
        made.append(Bench(parameters))
        made[-1].until(made[-1].connected)
        return made[-1]

    try:
        yield make
    finally:
        for each in made:
            each.close()
        rclpy.try_shutdown()


def test_the_arm_stands_at_its_initial_position_until_the_first_command(bench: Any) -> None:
    arm = bench()
    states = arm.fresh(20)
    for state in states:
        assert state.name == list(MODEL.joint_names)
        np.testing.assert_array_equal(state.position, HOME)
        np.testing.assert_array_equal(state.velocity, np.zeros(5))
    arm.command([0.0] * 5)
    arm.until(lambda: abs(arm.states[-1].velocity[1]) > 0.01)  # it falls


def test_the_reported_effort_is_what_the_actuator_gave(bench: Any) -> None:
    arm = bench()
    arm.command([1e4, *MODEL.gravity(HOME)[1:]])
    arm.until(lambda: arm.states[-1].effort[0] != 0.0)
    assert arm.states[-1].effort[0] == 250.0  # the URDF's limit
    np.testing.assert_allclose(arm.states[-1].effort[1:], MODEL.gravity(HOME)[1:], rtol=1e-15)


def test_bad_commands_are_dropped_and_counted_and_the_node_lives(bench: Any) -> None:
    arm = bench()
    gravity = MODEL.gravity(HOME).tolist()
    arm.command(gravity)
    arm.until(lambda: arm.states[-1].effort[1] != 0.0)
    for bad in ([1.0], [], [float("nan")] * 5, [float("inf")] * 5):
        arm.command(bad)
    arm.until(lambda: arm.node.dropped_commands == 4)
    np.testing.assert_allclose(arm.fresh()[0].effort, gravity, rtol=1e-15)


def test_stamps_and_positions_are_measured_on_the_wall_clock(bench: Any) -> None:
    arm = bench(publish_rate=100)
    before = arm.probe.get_clock().now().nanoseconds * 1e-9
    state = arm.fresh()[0]
    stamp = state.header.stamp.sec + state.header.stamp.nanosec * 1e-9
    after = arm.probe.get_clock().now().nanoseconds * 1e-9
    assert before - 0.1 <= stamp <= after


def test_faults_are_switched_while_running_through_the_parameter_service(bench: Any) -> None:
    arm = bench()
    assert arm.set("faults.active", ["nan:beta_4", "lost:alpha_2"]) == (True, "")
    arm.until(lambda: arm.states[-1].name == ["gamma_1", "alpha_3", "beta_4", "gamma_4"])
    assert np.isnan(arm.states[-1].position).tolist() == [False, False, True, False]
    assert arm.set("faults.active", ["dropout"]) == (True, "")
    arm.until(arm.is_silent)
    count = len(arm.states)
    assert arm.set("faults.active", ["stale"]) == (True, "")
    arm.until(lambda: len(arm.states) >= count + 25)
    late = arm.states[count + 5 : count + 25]  # the first may be stragglers from before the dropout
    assert all(state.header.stamp == late[0].header.stamp for state in late)
    assert arm.set("faults.active", [""]) == (True, "")
    arm.until(lambda: arm.states[-1].name == list(MODEL.joint_names))


def test_wrong_changes_are_refused_with_the_reason(bench: Any) -> None:
    arm = bench()
    assert arm.set("faults.active", ["lock:elbow"]) == (
        False,
        "unknown joint 'elbow'; the model's joints are 'gamma_1', 'alpha_2', 'alpha_3', 'beta_4', 'gamma_4'",
    )
    taken, reason = arm.set("faults.active", ["melt"])
    assert not taken
    assert "'faults.active': found 'melt'" in reason
    assert arm.set("time.paused", True)[0] is False  # the wall's clock does not stand still
    assert arm.set("payload.mass", -1.0)[0] is False
    assert arm.set("payload.com", [0.0, 1.0]) == (
        False,
        "parameter 'payload.com': found [0.0, 1.0]; allowed is a list of 3 numbers",
    )
    assert arm.set("update_rate", 10.0)[0] is False
    assert arm.set("payload.mass", 2) == (True, "")
    assert arm.node.hardware.engine.model.parameters.payload.mass == 2.0


@pytest.mark.parametrize(
    "wrong", [{"faults.active": ["lock:elbow"]}, {"time.paused": True}, {"payload.inertia": [1.0] * 6}]
)
def test_of_a_set_that_is_refused_nothing_is_applied(bench: Any, wrong: dict[str, Any]) -> None:
    arm = bench()
    good = {"payload.mass": 2.0, "faults.active": ["nan:beta_4"]}
    assert not arm.set_together(good | wrong).successful
    assert arm.node.hardware.engine.model.parameters.payload.mass == 0.0
    assert arm.node.hardware.faults.active == ()
    assert arm.node.values["payload.mass"] == 0.0
    assert arm.set_together(good).successful
    assert arm.node.hardware.engine.model.parameters.payload.mass == 2.0
    assert [str(each) for each in arm.node.hardware.faults.active] == ["nan:beta_4"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"update_rate": 0.0}, None),  # rcl refuses what is out of range, in its own words
        (
            {"engine": "gazebo"},
            "parameter 'engine': found 'gazebo'; allowed is one of own, mujoco",
        ),
        (
            {"plant.initial_positions": "['elbow=1']"},
            "parameter 'plant.initial_positions': found 'elbow=1'; allowed is NAME=NUMBER, NAME one of "
            "gamma_1, alpha_2, alpha_3, beta_4, gamma_4",
        ),
        (
            {"plant.rotor_inertia": "['alpha_2=inf']"},
            "parameter 'plant.rotor_inertia': found 'alpha_2=inf'; allowed is NAME=NUMBER, a finite number",
        ),
    ],
)
def test_wrong_parameters_end_the_start(
    monkeypatch: Any, parameters: dict[str, Any], message: str | None
) -> None:
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    arguments = [part for name, value in parameters.items() for part in ("-p", f"{name}:={value}")]
    rclpy.init(args=["--ros-args", *arguments])
    try:
        with pytest.raises(RosParameterError if message else Exception) as caught:
            SimulatedHardwareNode()
    finally:
        rclpy.try_shutdown()
    assert message is None or str(caught.value) == message


def test_position_commands_come_on_their_own_topic(bench: Any) -> None:
    arm = bench(**{"command.interface": "position"})
    goal = HOME + 0.1
    arm.command(goal.tolist())
    arm.until(lambda: bool(np.abs(np.array(arm.states[-1].position) - goal).max() < 2e-3))


def computed_torque(state: JointState) -> list[float]:
    """Moves every joint by 0.2 rad; a function of the state alone."""
    q, qd = np.array(state.position), np.array(state.velocity)
    effort = MODEL.mass_matrix(q) @ (100.0 * (HOME + 0.2 - q) - 20.0 * qd) + MODEL.bias(q, qd)
    return list(effort)


def lock_step_run(bench: Any, **parameters: Any) -> list[tuple[Any, ...]]:
    arm = bench(**{"time.mode": "lock_step", "time.timeout": PATIENCE}, **parameters)
    arm.answer = computed_torque
    arm.command(computed_torque(arm.states[-1]))
    arm.until(lambda: len(arm.states) > 200)
    unique = {(s.header.stamp.sec, s.header.stamp.nanosec): s for s in arm.states}
    rows = [(*stamp, *s.name, *s.position, *s.velocity, *s.effort) for stamp, s in unique.items()]
    arm.close()
    rclpy.try_shutdown()
    return rows[:200]


def test_lock_step_runs_are_the_same_bit_for_bit(bench: Any) -> None:
    noisy = {"sensor.position_noise": 1e-4, "report.shuffle": False, "report.jitter": 0.3}
    first = lock_step_run(bench, **noisy)
    assert first == lock_step_run(bench, **noisy)
    stamps = [row[0] + 1e-9 * row[1] for row in first]
    assert stamps[0] == 1.0
    assert stamps[-1] > 1.25  # 200 states at up to 500 Hz


def test_lock_step_publishes_the_clock_that_stamps_the_states(bench: Any) -> None:
    arm = bench(**{"time.mode": "lock_step"})
    arm.answer = computed_torque
    arm.command(computed_torque(arm.states[-1]))
    arm.until(lambda: len(arm.states) > 50 and len(arm.clocks) > 50)
    stamps = {(s.header.stamp.sec, s.header.stamp.nanosec) for s in arm.states}
    clocks = {(c.clock.sec, c.clock.nanosec) for c in arm.clocks}
    assert len(stamps & clocks) >= 45  # the first ones may have passed before the probe listened


def test_lock_step_stands_still_until_a_command_comes(bench: Any) -> None:
    arm = bench(**{"time.mode": "lock_step", "time.timeout": 0.05})
    start = arm.states[0].header.stamp
    states = arm.fresh(3)  # repetitions
    assert all(state.header.stamp == start for state in states)


NAN = float("nan")


def topic_system(arm: Bench, names: list[str]) -> TopicSystem:
    system = TopicSystem(arm.probe, names)
    arm.until(lambda: system.matched() > 0)
    return system


def test_joint_state_commands_move_the_joints_that_they_name(bench: Callable[..., Bench]) -> None:
    arm = bench(**{"command.type": "joint_state", "command.interface": "position", "command.bandwidth": 10.0})
    system = topic_system(arm, [*reversed(MODEL.joint_names), "finger"])
    goal = [0.6, 0.3, -1.2, 0.9, 0.2, 0.03]  # reversed: gamma_4 ... gamma_1, and a joint that the arm lacks
    system.write(position=goal)
    expected = np.array(goal[4::-1])
    arm.until(lambda: np.allclose(arm.states[-1].position, expected, atol=0.02))
    system.write(position=[NAN, NAN, NAN, 1.0, NAN, NAN])  # then silence: the command holds
    expected[1] = 1.0
    arm.until(lambda: np.allclose(arm.states[-1].position, expected, atol=0.02))


def test_before_its_first_command_a_joint_stays_where_it_is(bench: Callable[..., Bench]) -> None:
    arm = bench(**{"command.type": "joint_state", "command.interface": "position", "command.bandwidth": 10.0})
    system = topic_system(arm, list(MODEL.joint_names))
    system.write(position=[NAN] * 5)
    assert [list(state.position) for state in arm.fresh()] == [HOME.tolist()]
    system.write(position=[0.3, NAN, NAN, NAN, NAN])
    arm.until(lambda: np.allclose(arm.states[-1].position, [0.3, *HOME[1:]], atol=0.02))


@pytest.mark.parametrize(
    "message", [{"effort": [1.0]}, {"effort": [float("inf"), 0.0, 0.0, 0.0, 0.0]}], ids=["length", "infinite"]
)
def test_joint_state_commands_that_make_no_sense_are_counted(
    bench: Callable[..., Bench], message: dict[str, list[float]]
) -> None:
    arm = bench(**{"command.type": "joint_state"})
    topic_system(arm, list(MODEL.joint_names)).write(**message)
    arm.until(lambda: arm.node.dropped_commands == 1)


def refused_at_the_start(monkeypatch: pytest.MonkeyPatch, parameter: str, values: dict[str, str]) -> None:
    """The node does not start with these values, and names the parameter."""
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    try:
        with pytest.raises(RosParameterError, match=re.escape(f"'{parameter}'")):
            Bench(values)
    finally:
        rclpy.try_shutdown()


def test_lock_step_with_a_controller_that_waits_for_the_clock_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = {"command.type": "joint_state", "time.mode": "lock_step"}
    refused_at_the_start(monkeypatch, "time.mode", values)


FOREARM = str(Path(__file__).parents[2] / "examples" / "elastic_forearm" / "forearm.yaml")


def test_elastic_links_refuse_a_contact_and_go_on_in_lock_step(bench: Callable[..., Bench]) -> None:
    arm = bench(elastic=FOREARM, **{"time.mode": "lock_step"})
    arm.answer = computed_torque
    arm.command(computed_torque(arm.states[-1]))
    accepted, reason = arm.set("faults.active", ["contact:hand force=0,15,0"])
    assert not accepted
    assert "'faults.active'" in reason
    begin = arm.states[-1].header.stamp
    arm.until(lambda: arm.states[-1].header.stamp != begin)


def test_a_contact_that_elastic_links_cannot_have_is_refused_at_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = {"elastic": FOREARM, "faults.schedule": "['contact:hand force=0,15,0@2..3']"}
    refused_at_the_start(monkeypatch, "faults.schedule", values)


def test_lock_step_goes_on_with_an_arm_that_cannot_move(bench: Callable[..., Bench]) -> None:
    arm = bench(**{"time.mode": "lock_step"})
    tries = iter(range(1000))

    def diverge(effort: Any) -> None:
        assert next(tries, None) is not None, "the loop to the next joint state has no end"
        raise SimulationDivergedError("of the test")

    arm.node.hardware.engine.step = diverge
    begin = arm.states[-1].header.stamp
    arm.command([0.0] * 5)
    arm.until(lambda: arm.states[-1].header.stamp != begin)


@pytest.mark.parametrize("rate", [0.25, 4.0])
def test_its_own_clock_runs_slower_or_faster_than_the_wall(bench: Callable[..., Bench], rate: float) -> None:
    arm = bench(**{"time.mode": "clock", "time.rate": rate, "update_rate": 100.0, "publish_rate": 50.0})
    arm.fresh(5)
    seconds = [each.clock.sec + 1e-9 * each.clock.nanosec for each in arm.clocks]
    began, first = time.monotonic(), seconds[-1]
    arm.until(lambda: time.monotonic() > began + 1.0)
    last = arm.clocks[-1].clock.sec + 1e-9 * arm.clocks[-1].clock.nanosec
    elapsed = time.monotonic() - began
    assert last - first < 1.2 * rate * elapsed + 0.1  # a busy machine makes it slower, never faster
    assert last - first > 0.2 * rate * elapsed
    np.testing.assert_allclose(np.diff(seconds), 0.01, atol=2e-9)  # no step is left out


def test_simulated_time_without_a_clock_is_said(bench: Callable[..., Bench]) -> None:
    arm = bench(use_sim_time="true")
    said: list[str] = []
    logger = arm.node.get_logger()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(logger), "warning", lambda self, text, **_: said.append(text))
        arm.until(lambda: any("/clock" in text for text in said))  # a slow machine is warned of before


def stamps(messages: Sequence[Any]) -> set[tuple[int, int]]:
    return {(each.header.stamp.sec, each.header.stamp.nanosec) for each in messages}


def test_poses_of_an_elastic_arm_s_tip_come_with_its_joint_states(bench: Callable[..., Bench]) -> None:
    """The rigid one is Pinocchio's for the joints' positions; the true one hangs below it."""
    pinocchio = pytest.importorskip("pinocchio", reason="needs the test extra")
    root = Path(__file__).parents[2]
    arm = bench(elastic=FOREARM)
    poses: dict[str, list[PoseStamped]] = {"tip_pose": [], "rigid_tip_pose": []}
    for name, heard in poses.items():
        arm.probe.create_subscription(PoseStamped, f"simulated_hardware/{name}", heard.append, 1000)
    arm.until(lambda: all(len(heard) > 5 for heard in poses.values()))
    arm.until(lambda: bool(stamps(poses["tip_pose"]) & stamps(arm.states)))
    other = pinocchio.buildModelFromUrdf(str(root / "urdf" / "manipulator_5dof.urdf"))
    data = other.createData()
    pinocchio.framesForwardKinematics(other, data, np.array(arm.states[-1].position))
    frame = data.oMf[other.getFrameId(MODEL.tip)]
    true, rigid = poses["tip_pose"][-1], poses["rigid_tip_pose"][-1]
    assert true.header.frame_id == rigid.header.frame_id == MODEL.root
    p, R = rigid.pose.position, rigid.pose.orientation
    np.testing.assert_allclose([p.x, p.y, p.z], frame.translation, atol=1e-9)
    expected = pinocchio.Quaternion(frame.rotation).coeffs()
    assert abs(np.dot(expected, [R.x, R.y, R.z, R.w])) == pytest.approx(1.0, abs=1e-12)
    assert -0.02 < true.pose.position.z - p.z < -1e-3
