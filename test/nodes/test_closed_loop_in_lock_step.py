"""feedforward_node and simulated_hardware_node as processes, over DDS, in lock step."""

import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")
from builtin_interfaces.msg import Duration, Time
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.duration import Duration as Patience
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from kane_dynamics_ros.cli.main import main

HOME = np.array([0.0, 0.9, -1.2, 0.3, 0.5])  # [rad] the URDF's initial values
AMPLITUDE = np.array([0.3, 0.2, 0.3, 0.3, 0.3])  # [rad]
PERIOD = 1.0  # [s]
LEAD = 500_000_000  # [ns] of /clock between sending the trajectory and its start
PATIENCE = 50.0  # [s] of the wall, for one run on a busy machine
SECOND = 1_000_000_000  # [ns]
ROOT = Path(__file__).parents[2]
GAINS = (  # those of config/feedforward.yaml
    "feedforward_pd.kp:=[600.0, 600.0, 200.0, 2.0, 2.0]",
    "feedforward_pd.kd:=[120.0, 120.0, 30.0, 0.08, 0.04]",
)
SPACE = f"/run_{uuid.uuid4().hex}"  # apart from other runs of these tests on this machine

COMMANDS, GATED = "forward_effort_controller/commands", "gated/commands"
Run = dict[int, Any]  # position, velocity, effort by time
Motion = Callable[[float], np.ndarray]
Start = Callable[[str, list[str], list[str]], "subprocess.Popen[bytes]"]
Until = Callable[[Callable[[], bool]], None]


def swing(moment: float) -> np.ndarray:
    """Position, velocity, acceleration of one swing from HOME and back to it, (3, 5); moment in [0, 1] s."""
    w = 2.0 * np.pi / PERIOD
    c, s = np.cos(w * moment), np.sin(w * moment)
    return np.array([HOME + AMPLITUDE * (1.0 - c), AMPLITUDE * w * s, AMPLITUDE * w * w * c])


def turn_of_the_crank(moment: float) -> np.ndarray:
    """Position, velocity, acceleration of a four-bar's drive, (3, 1): a swing from 0 to -1 rad and back."""
    w = 2.0 * np.pi / PERIOD
    c, s = np.cos(w * moment), np.sin(w * moment)
    return np.array([[(c - 1.0) / 2], [-w * s / 2], [-w * w * c / 2]])


def trajectory(names: list[str], start: int, motion: Motion) -> JointTrajectory:
    message = JointTrajectory(joint_names=names)
    message.header.stamp = Time(sec=start // SECOND, nanosec=start % SECOND)
    for moment in np.linspace(0.0, PERIOD, 51):
        q, qd, qdd = motion(moment).tolist()
        after = Duration(sec=int(moment), nanosec=round(moment % 1.0 * 1e9))
        message.points.append(
            JointTrajectoryPoint(positions=q, velocities=qd, accelerations=qdd, time_from_start=after)
        )
    message.points[-1].velocities = [0.0] * len(names)
    return message


@contextmanager
def processes() -> Iterator[Start]:
    """A function that starts a node of ours; all are killed at the end whatever happens."""
    started: list[subprocess.Popen[bytes]] = []

    def start(node: str, parameters: list[str], remaps: list[str]) -> subprocess.Popen[bytes]:
        arguments = [part for each in parameters for part in ("-p", each)]
        remaps = [f"__ns:={SPACE}", f"/clock:={SPACE}/clock", *remaps]
        arguments += [part for each in remaps for part in ("-r", each)]
        command = [sys.executable, "-m", f"kane_dynamics_ros.nodes.{node}", "--ros-args", *arguments]
        started.append(subprocess.Popen(command))
        return started[-1]

    try:
        yield start
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.fixture(scope="module", autouse=True)
def ros() -> Iterator[None]:
    rclpy.init()
    try:
        yield
    finally:
        rclpy.try_shutdown()


@pytest.fixture(scope="module")
def own_run(ros: None) -> Run:
    """One run against our own plant; see ``record``."""
    return record("own")


def record(engine: str) -> Run:
    """The swing with an engine; see ``follow``."""
    return follow([f"engine:={engine}"])


@contextmanager
def spun_probe() -> Iterator[tuple[Node, Until]]:
    """A node of the test's, and a function that spins it; it ends before the nodes beside it are killed."""
    probe, executor = rclpy.create_node("probe", namespace=SPACE), SingleThreadedExecutor()
    executor.add_node(probe)
    end = time.monotonic() + PATIENCE

    def until(condition: Callable[[], bool]) -> None:
        while not condition():
            assert time.monotonic() < end, "nothing happened in time"
            executor.spin_once(timeout_sec=0.05)

    try:
        yield probe, until
    finally:
        executor.shutdown()
        probe.destroy_node()


class Gate:
    """Passes the controller's commands on to the arm, once it is open; keeps the last one until then."""

    def __init__(self, probe: Node) -> None:
        self.onward = probe.create_publisher(Float64MultiArray, GATED, 10)
        self.kept: Float64MultiArray | None = None
        self._open = False
        probe.create_subscription(Float64MultiArray, COMMANDS, self._pass, 100)

    def _pass(self, command: Float64MultiArray) -> None:
        self.kept = command
        if self._open:
            self.onward.publish(command)

    def open(self) -> None:
        self._open = True
        self.onward.publish(self.kept)


def follow(
    arm: list[str],
    control: tuple[str, ...] = (),
    rate: int = 250,
    duration: float = PERIOD,
    motion: Motion = swing,
) -> Run:
    """Joint states during a motion, by the time [ns] since its start; both nodes started anew."""
    states: dict[int, JointState] = {}

    def hear(message: JointState) -> None:
        states[message.header.stamp.sec * SECOND + message.header.stamp.nanosec] = message

    with processes() as start, spun_probe() as (probe, until):
        probe.create_subscription(JointState, "joint_states", hear, 1000)
        sender = probe.create_publisher(JointTrajectory, "joint_trajectory", 1)
        gate = Gate(probe)
        nodes = [
            start("feedforward_node", ["use_sim_time:=true", "safety.state_timeout:=0.0", *control], []),
            start(
                "simulated_hardware_node",
                ["time.mode:=lock_step", "time.timeout:=5.0", f"publish_rate:={rate}", *arm],
                [f"{COMMANDS}:={GATED}"],
            ),
        ]
        until(lambda: sender.get_subscription_count() > 0 and gate.onward.get_subscription_count() > 0)
        until(lambda: gate.kept is not None and len(states) > 0)  # the controller has a state to start from
        begin = max(states) + LEAD
        sender.publish(trajectory(states[max(states)].name, begin, motion))
        assert sender.wait_for_all_acked(Patience(seconds=10))
        gate.open()
        until(lambda: max(states) > begin + duration * SECOND)
        for process in nodes:
            process.terminate()
        assert [process.wait(timeout=20) for process in nodes] == [0, 0]
    measured = {moment - begin: (s.position, s.velocity, s.effort) for moment, s in states.items()}
    return {moment: values for moment, values in measured.items() if 0 <= moment < duration * SECOND}


def rms_error(states: Run, motion: Motion = swing) -> np.ndarray:
    errors = [motion(moment / SECOND)[0] - np.array(values[0]) for moment, values in states.items()]
    return np.sqrt(np.mean(np.square(errors), axis=0))


def test_runs_repeat_bit_for_bit(own_run: Run) -> None:
    assert len(own_run) == 250  # 250 Hz
    assert record("own") == own_run


def test_the_arm_follows(own_run: Run) -> None:
    assert (rms_error(own_run) < 2e-3).all()  # [rad] the model is exact, the control sampled at 250 Hz


def test_a_four_bar_follows_through_its_crank(tmp_path: Path) -> None:
    """Both nodes on a module with a closed loop, made from the example's URDF and its file of loops."""
    example = ROOT / "examples" / "four_bar"
    made = ["generate", str(example / "four_bar.urdf"), "--loops", str(example / "loops.yaml")]
    assert main([*made, "-o", str(tmp_path)]) == 0
    model = f"model:={tmp_path / 'four_bar.py'}"
    run = follow([model], (model,), motion=turn_of_the_crank)
    assert len(run) == 250
    assert (rms_error(run, turn_of_the_crank) < 2e-3).all()  # [rad]


def test_mujoco_is_followed_as_well_as_our_plant(own_run: Run) -> None:
    pytest.importorskip("mujoco", reason="needs the mujoco extra")
    np.testing.assert_allclose(rms_error(record("mujoco")), rms_error(own_run), rtol=0.1)


def settled(mode: str) -> float:
    """Largest speed [rad/s] of the elastic reference arm's joints, 0.3 to 0.5 s after the swing's end."""
    links = str(ROOT / "examples" / "elastic_forearm" / "forearm.yaml")
    control = (f"mode:={mode}", *GAINS)
    run = follow([f"elastic:={links}"], control, rate=500, duration=PERIOD + 0.5)
    late = [values[1] for moment, values in run.items() if moment > (PERIOD + 0.3) * SECOND]
    assert len(late) == 99
    return float(np.abs(late).max())


def test_the_elastic_arm_settles_under_the_shipped_gains_of_feedforward_pd() -> None:
    assert settled("feedforward_pd") < 0.02


def test_a_slow_coarse_clock_and_a_deactivated_controller_do_not_hang_it() -> None:
    """At 50 Hz, twenty states take 0.4 s of /clock and milliseconds of the wall; the timeout is 0.1 s."""
    newest = [0]

    def hear(message: JointState) -> None:
        newest[0] = message.header.stamp.sec * SECOND + message.header.stamp.nanosec

    with processes() as start, spun_probe() as (probe, until):
        probe.create_subscription(JointState, "joint_states", hear, 1000)
        client = probe.create_client(ChangeState, "feedforward_node/change_state")
        start("feedforward_node", ["use_sim_time:=true"], [])
        start("simulated_hardware_node", ["time.mode:=lock_step", "publish_rate:=50.0"], [])
        until(lambda: newest[0] > 10 * SECOND)
        for transition in (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_ACTIVATE):
            request = ChangeState.Request(transition=Transition(id=transition))
            until(client.service_is_ready)
            changed = client.call_async(request)
            until(changed.done)
            assert changed.result().success
        held = newest[0]
        until(lambda: newest[0] > held + SECOND)
