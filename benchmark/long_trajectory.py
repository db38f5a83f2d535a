"""The longest gap between commands at 1 kHz while ``feedforward_node`` takes a trajectory of 100,000 points.

Three processes: the node; one that sends states at ``RATE`` and notes when commands come; this one, which
sends the trajectory. The longest gap of ``SECONDS``, or more, in which the node takes the trajectory and
begins to follow it is compared with that of ``SECONDS`` before, in which it held still; of ``ROUNDS`` such
pairs the one with the median difference counts, for other work makes gaps too. The node must accept all.
"""

import json
import os
import signal
import subprocess
import sys
import time
from array import array
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from benchmark.line import Line, below
from benchmark.round_trip import MODEL, RATE, RUN, START, START_TIME, running
from kane_dynamics_ros.nodes.messages import COMMAND_TOPIC, JOINT_STATES_QOS, STATUS_QOS
from kane_dynamics_ros.ros_domain import free_domain, private_variables
from kane_dynamics_ros.runtime import load_model

SPACE = f"long{RUN}"
SECONDS = 5.0  # [s] for taking and beginning to follow the trajectory, and of the time at rest before it
LEAD = 2.0  # [s] from where the arm is held to the first point
PATIENCE = 30.0  # [s] until the trajectory is taken
ROUNDS = 3
SETTLE = 3.0  # [s]
ALLOWED = 0.005  # [s] more than without a trajectory


def send_states(space: str, seconds: float) -> None:
    """Send states for so long, or until SIGINT; print the commands' times [s] of the steady clock as JSON."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = Node("states", namespace=f"/{space}", start_parameter_services=False)
    times: list[float] = []
    subscription = node.create_subscription(Float64MultiArray, COMMAND_TOPIC, print, QoSProfile(depth=100))
    publisher = node.create_publisher(JointState, "joint_states", JOINT_STATES_QOS)
    message = JointState(name=list(load_model(MODEL).joint_names), position=array("d", START))
    message.velocity = array("d", 5 * [0.0])
    next_time = end = time.perf_counter()
    end += seconds
    with suppress(KeyboardInterrupt):
        while next_time < end:
            while time.perf_counter() < next_time:
                if subscription.handle.take_message(Float64MultiArray, True) is not None:
                    times.append(time.monotonic())
                time.sleep(5e-5)
            next_time += 1.0 / RATE
            publisher.publish(message)
    print(json.dumps(times))


def long_trajectory(points: int) -> bytes:
    """A slow wave of the first joint after ``LEAD``, with velocities, as the middleware serializes it."""
    message = JointTrajectory(joint_names=list(load_model(MODEL).joint_names))
    period = 600  # points, 6 s
    for i in range(points // period * period):
        angle, speed = 2.0 * np.pi * (i + 1) / period, 2.0 * np.pi / (0.01 * period)
        q, qd = START.copy(), np.zeros(5)
        q[0] += 0.1 * (1.0 - np.cos(angle))
        qd[0] = 0.1 * speed * np.sin(angle)
        point = JointTrajectoryPoint(positions=array("d", q), velocities=array("d", qd))
        time_from_start = round(LEAD * 1e9) + i * 10_000_000  # [ns]
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(time_from_start, 1_000_000_000)
        message.points.append(point)
    serialized: bytes = serialize_message(message)
    return serialized


class Sender:
    """Sends trajectories to the node under test, and hears what becomes of them."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._publisher = node.create_publisher(JointTrajectory, "joint_trajectory", QoSProfile(depth=1))
        self._told: list[dict[str, str]] = []
        topic = "feedforward_node/trajectory_status"
        node.create_subscription(DiagnosticStatus, topic, self._receive, STATUS_QOS)

    def _receive(self, status: DiagnosticStatus) -> None:
        self._told.append({pair.key: pair.value for pair in status.values})

    def wait_for(self, condition: Callable[[], object], seconds: float, what: str) -> None:
        """Spin until the condition holds. Raises ``TimeoutError``."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what}: not within {seconds:g} s")
            rclpy.spin_once(self._node, timeout_sec=0.05)

    def wait_for_receiver(self) -> None:
        """Until the node subscribes to trajectories and this one hears their status."""
        status = self._node.count_publishers
        self.wait_for(
            lambda: (
                self._publisher.get_subscription_count()
                and status(f"/{SPACE}/feedforward_node/trajectory_status")
            ),
            START_TIME,
            "the node under test",
        )

    def rest(self, seconds: float) -> None:
        """Send the trajectory without points, and wait: the node holds where it is."""
        self._publisher.publish(JointTrajectory(joint_names=list(load_model(MODEL).joint_names)))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            rclpy.spin_once(self._node, timeout_sec=0.05)

    def send(self, data: bytes) -> tuple[float, float]:
        """Send a serialized trajectory; when that was [s], and when the node had begun to follow it.

        Raises:
            RuntimeError: the node did not accept it. TimeoutError: it said nothing within ``PATIENCE``.
        """
        self._told.clear()
        moment = time.monotonic()
        self._publisher.publish(data)
        self.wait_for(lambda: self._told, PATIENCE, "the trajectory's status")
        if self._told[0]["state"] != "accepted":
            raise RuntimeError(f"the trajectory is {self._told[0]['state']}: {self._told[0]['reason']}")
        end = max(moment + SECONDS, time.monotonic() + LEAD)
        time.sleep(max(end - time.monotonic(), 0.0))
        return moment, end


def measure(points: int = 100_200) -> tuple[float, float]:
    """The longest gap at rest and while a trajectory is taken [s], of the median round.

    Raises:
        RuntimeError: a trajectory was not accepted. TimeoutError: a node is silent.
    """
    with free_domain() as domain:
        os.environ.update(private_variables(domain))
        times, sent = _rounds(long_trajectory(points))
    gaps, at = np.diff(times), times[1:]
    rounds = [
        (
            float(gaps[(at > moment - SECONDS) & (at < moment)].max()),
            float(gaps[(at > moment) & (at < end)].max()),
        )
        for moment, end in sent
    ]
    return sorted(rounds, key=lambda pair: pair[1] - pair[0])[ROUNDS // 2]


def _rounds(data: bytes) -> tuple[np.ndarray, list[tuple[float, float]]]:
    """When commands came, and from when to when each trajectory was taken [s]."""
    seconds = START_TIME + SETTLE + ROUNDS * (SECONDS + PATIENCE + SETTLE)
    program = f"from benchmark.long_trajectory import send_states; send_states({SPACE!r}, {seconds})"
    still = ("-p", "safety.on_tracking_error:=ignore")  # the arm of this benchmark does not move
    with running("kane_dynamics_ros.nodes.feedforward_node", SPACE, *still):
        states = subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=Path(__file__).parents[1]
        )
        rclpy.init()
        try:
            sender = Sender(Node("sender", namespace=f"/{SPACE}", start_parameter_services=False))
            sender.wait_for_receiver()
            sent = []
            for _ in range(ROUNDS):
                sender.rest(SETTLE + SECONDS)
                sent.append(sender.send(data))
            sender.rest(0.0)
            states.send_signal(signal.SIGINT)
            output, _ = states.communicate()
        finally:
            states.kill()
            states.wait()
            rclpy.shutdown()
    return np.array(json.loads(output.splitlines()[-1])), sent


def lines() -> list[Line]:
    """The table's line."""
    idle, taking = measure()
    text = "longest gap between commands, 100,000 points at 1 kHz, beyond the idle node's"
    return [below(text, 1e3 * (taking - idle), 1e3 * ALLOWED, "DESIGN.md's bound", "ms")]


if __name__ == "__main__":
    print(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 100_200))
