"""Round trips of joint states at 1 kHz: through ``feedforward_node``, and through a bare rclpy echo.

The node runs twice, without and with its observer of external torque. The three are processes of their own
under one client, which turns to each for a second at a time, so that all see the same machine. A state and
its answer are matched by value: the command that computed torque gives for it, to the last bit.

States are best effort with a queue of one, as ROS controllers have it: a state that comes while an older one
waits takes its place. So the next state is sent when its millisecond has come *and* the last one is answered;
one that has no answer after ``LONGEST`` is lost.
"""

import os
import subprocess
import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import numpy as np
import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from benchmark.line import Line, below
from kane_dynamics_ros.control.law import efforts
from kane_dynamics_ros.control.limits import clamp
from kane_dynamics_ros.control.plan import hold_at, sample
from kane_dynamics_ros.nodes.domain import foreign_nodes
from kane_dynamics_ros.nodes.feedforward.parameters import TABLE, build_settings
from kane_dynamics_ros.nodes.messages import COMMAND_TOPIC, JOINT_STATES_QOS
from kane_dynamics_ros.ros_domain import DomainError, free_domain, private_variables
from kane_dynamics_ros.runtime import load_model

MODEL = "manipulator_5dof"
RATE = 1000  # [Hz]
START = np.array([0.0, 0.9, -1.2, 0.3, 0.5])  # [rad]
START_TIME = 20.0  # [s] for the processes to come up
LONGEST = 0.05  # [s] for an answer
PATIENT = ("-p", "safety.state_timeout:=60.0")  # [s]: while the other node has its turn
OBSERVING = ("-p", "observer.run:=always", "-p", "observer.effort:=commanded")  # the states carry no efforts
RUN = f"_{os.getpid()}"  # apart from other runs on this machine

Key = bytes


@dataclass
class RoundTrips:
    """Times from publishing a state to receiving its command [s], and how many states had none."""

    sent: int = 0
    times: list[float] = field(default_factory=list)

    @property
    def lost(self) -> int:
        return self.sent - len(self.times)

    def percentile(self, q: float) -> float:
        return float(np.percentile(self.times, q))


class Client:
    """Sends states to one node and matches what comes back."""

    def __init__(self, node: Node, namespace: str, answer: Callable[[np.ndarray], Key]) -> None:
        self.trips = RoundTrips()
        self.answered_state = float("-inf")  # when the state was sent that the newest command answers
        self._answer = answer
        self._waiting: dict[Key, float] = {}
        self._answered = threading.Event()
        self._publisher = node.create_publisher(JointState, f"/{namespace}/joint_states", JOINT_STATES_QOS)
        node.create_subscription(
            Float64MultiArray, f"/{namespace}/{COMMAND_TOPIC}", self._receive, QoSProfile(depth=100)
        )
        self._names = list(load_model(MODEL).joint_names)
        self._random = np.random.default_rng(0)

    def wait_until_answered(self) -> None:
        """Send the start position until an answer comes: both nodes are up, and the arm is held there."""
        deadline = time.monotonic() + START_TIME
        while not self.trips.times:
            if time.monotonic() > deadline:
                raise TimeoutError("no answer from the node under test")
            self._send(START)
            time.sleep(0.02)
        self.trips = RoundTrips()

    def run(self, count: int) -> None:
        """Send ``count`` states, at ``RATE`` unless an answer takes longer."""
        positions = START + self._random.uniform(-1e-3, 1e-3, (count, len(START)))
        self._waiting.clear()
        next_time = time.perf_counter()
        for position in positions:
            time.sleep(max(next_time - time.perf_counter(), 0.0))
            next_time = max(next_time + 1.0 / RATE, time.perf_counter())
            self._answered.clear()
            self._send(position)
            self._answered.wait(LONGEST)
        self.trips.sent += count

    def _send(self, position: np.ndarray) -> None:
        message = JointState(name=self._names, position=array("d", position), velocity=array("d", 5 * [0.0]))
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(time.time_ns(), 1_000_000_000)
        answer = self._answer(position)
        self._waiting[answer] = time.perf_counter()
        self._publisher.publish(message)

    def _receive(self, message: Float64MultiArray) -> None:
        now = time.perf_counter()
        sent = self._waiting.pop(message.data.tobytes(), None)
        if sent is not None:
            self.answered_state = max(self.answered_state, sent)
            self.trips.times.append(now - sent)
            self._answered.set()


def measure(seconds: float = 30.0) -> tuple[RoundTrips, RoundTrips, RoundTrips]:
    """Of ours, of ours with its observer and of the echo, ``seconds`` [s] of each, on a domain of their own.

    Raises:
        DomainError: another node came to the domain meanwhile.
    """
    with free_domain() as domain:
        os.environ.update(private_variables(domain))
        return _measure(domain, seconds)


def _measure(domain: int, seconds: float) -> tuple[RoundTrips, RoundTrips, RoundTrips]:
    with (
        running("kane_dynamics_ros.nodes.feedforward_node", f"ours{RUN}", *PATIENT),
        running("kane_dynamics_ros.nodes.feedforward_node", f"observing{RUN}", *PATIENT, *OBSERVING),
        running("benchmark.echo_node", f"echo{RUN}"),
        spinning_node() as node,
    ):
        ours = Client(node, f"ours{RUN}", computed_torque_answer())
        observing = Client(node, f"observing{RUN}", computed_torque_answer())
        echo = Client(node, f"echo{RUN}", lambda position: position.tobytes())
        clients = ours, observing, echo
        for client in clients:
            client.wait_until_answered()
        for _ in range(round(seconds)):
            for client in clients:
                client.run(RATE)
        if found := foreign_nodes(node, tuple(f"/{name}{RUN}" for name in ("ours", "observing", "echo"))):
            raise DomainError(f"ROS domain {domain} is not ours alone: {', '.join(found)}", "foreign")
    return ours.trips, observing.trips, echo.trips


def computed_torque_answer() -> Callable[[np.ndarray], Key]:
    """The command's bytes for a position at rest, while the node holds ``START``."""
    settings = build_settings({each.name: each.default for each in TABLE}, load_model(MODEL))
    reference = sample(hold_at(START, 0), 0)
    rest = np.zeros(len(START))
    return lambda q: clamp(efforts(settings.law, reference, q, rest), settings.effort_limits).tobytes()


@contextmanager
def running(module: str, namespace: str, *arguments: str) -> Iterator[None]:
    """A node as a process in a namespace, ended on leaving."""
    command = [sys.executable, "-m", module, "--ros-args", "-r", f"__ns:=/{namespace}", *arguments]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(5.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def spinning_node() -> Iterator[Node]:
    """A small node that a thread spins."""
    rclpy.init()
    node = Node("round_trip", start_parameter_services=False)
    executor = SingleThreadedExecutor()
    executor.add_node(node)

    def spin() -> None:
        with suppress(ExternalShutdownException):
            executor.spin()

    thread = threading.Thread(target=spin)
    try:
        thread.start()
        yield node
    finally:
        rclpy.shutdown()
        thread.join()


def lines() -> list[Line]:
    """The table's lines: what our node adds to the bare echo's round trip, and what it lost."""
    ours, observing, echo = measure()
    return [*_beside("node", ours, echo), *_beside("node with observer", observing, echo)]


def _beside(name: str, ours: RoundTrips, echo: RoundTrips) -> list[Line]:
    found = []
    for title, percentile, allowed in (("median", 50.0, 1.15), ("99th percentile", 99.0, 1.30)):
        mine, theirs = ours.percentile(percentile), echo.percentile(percentile)
        required = f"under {allowed:.2f} x"
        work = f"{name}'s round trip at 1 kHz, {title}"
        found.append(
            Line(work, mine * 1e6, theirs * 1e6, "bare rclpy echo", "us", required, mine < allowed * theirs)
        )
    lost = f"{name}, states without an answer, of {ours.sent} (the echo lost {echo.lost})"
    return [*found, below(lost, float(ours.lost), 1.0, "DESIGN.md's bound", "states")]
