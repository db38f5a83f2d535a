"""The longest gap between commands at 1 kHz while ``feedforward_node`` takes a trajectory of 100,000 points.

Three processes: the node; one that sends states at ``RATE`` and notes when commands come; this one, which
sends the trajectory. The gap of ``SECONDS`` with the trajectory is compared with the same time before it, in
one run; of ``ROUNDS`` such pairs the one with the median difference counts, for other work makes gaps too.
"""

import json
import os
import random
import subprocess
import sys
import time
from array import array
from pathlib import Path

import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from benchmark.line import Line, below
from benchmark.round_trip import MODEL, RATE, RUN, START, START_TIME, running
from kane_dynamics_ros.nodes.messages import COMMAND_TOPIC, JOINT_STATES_QOS
from kane_dynamics_ros.runtime import load_model

SPACE = f"long{RUN}"
SECONDS = 5.0  # [s] for taking and beginning to follow the trajectory, and of the idle time before it
ROUNDS = 3
SETTLE = 3.0  # [s]
ALLOWED = 0.005  # [s] more than without a trajectory


def send_states(space: str, seconds: float) -> None:
    """Send states for so long; print the commands' times [s] of the steady clock as JSON."""
    rclpy.init()
    node = Node("states", namespace=f"/{space}", start_parameter_services=False)
    times: list[float] = []
    subscription = node.create_subscription(Float64MultiArray, COMMAND_TOPIC, print, QoSProfile(depth=100))
    publisher = node.create_publisher(JointState, "joint_states", JOINT_STATES_QOS)
    message = JointState(name=list(load_model(MODEL).joint_names), position=array("d", START))
    message.velocity = array("d", 5 * [0.0])
    next_time = end = time.perf_counter()
    end += seconds
    while next_time < end:
        while time.perf_counter() < next_time:
            if subscription.handle.take_message(Float64MultiArray, True) is not None:
                times.append(time.monotonic())
            time.sleep(5e-5)
        next_time += 1.0 / RATE
        publisher.publish(message)
    print(json.dumps(times))


def long_trajectory(points: int) -> bytes:
    """A slow wave of the first joint, with velocities, as the middleware serializes it."""
    message = JointTrajectory(joint_names=list(load_model(MODEL).joint_names))
    period = 600  # points, 6 s
    for i in range(points // period * period):
        angle, speed = 2.0 * np.pi * (i + 1) / period, 2.0 * np.pi / (0.01 * period)
        q, qd = START.copy(), np.zeros(5)
        q[0] += 0.1 * (1.0 - np.cos(angle))
        qd[0] = 0.1 * speed * np.sin(angle)
        point = JointTrajectoryPoint(positions=array("d", q), velocities=array("d", qd))
        point.time_from_start.sec, point.time_from_start.nanosec = divmod((i + 1) * 10_000_000, 1_000_000_000)
        message.points.append(point)
    serialized: bytes = serialize_message(message)
    return serialized


def measure(points: int = 100_200) -> tuple[float, float]:
    """The longest gap without and with a trajectory [s], of the median round."""
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ.setdefault("ROS_DOMAIN_ID", str(random.choice(range(20, 40))))
    data = long_trajectory(points)
    seconds = START_TIME + SETTLE + ROUNDS * 2.0 * SECONDS
    program = f"from benchmark.long_trajectory import send_states; send_states({SPACE!r}, {seconds})"
    still = ("-p", "safety.on_tracking_error:=ignore")  # the arm of this benchmark does not move
    with running("kane_dynamics_ros.nodes.feedforward_node", SPACE, *still):
        states = subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=Path(__file__).parents[1]
        )
        rclpy.init()
        try:
            node = Node("sender", namespace=f"/{SPACE}", start_parameter_services=False)
            publisher = node.create_publisher(JointTrajectory, "joint_trajectory", QoSProfile(depth=1))
            while not publisher.get_subscription_count():
                time.sleep(0.05)
            time.sleep(SETTLE)
            sent = []
            for _ in range(ROUNDS):
                time.sleep(SECONDS)
                sent.append(time.monotonic())
                publisher.publish(data)
                time.sleep(SECONDS)
            output, _ = states.communicate()
        finally:
            rclpy.shutdown()
    times = np.array(json.loads(output.splitlines()[-1]))
    gaps, at = np.diff(times), times[1:]
    rounds = [
        (
            float(gaps[(at > moment - SECONDS) & (at < moment)].max()),
            float(gaps[(at > moment) & (at < moment + SECONDS)].max()),
        )
        for moment in sent
    ]
    return sorted(rounds, key=lambda pair: pair[1] - pair[0])[ROUNDS // 2]


def lines() -> list[Line]:
    """The table's line."""
    idle, taking = measure()
    text = "longest gap between commands, 100,000 points at 1 kHz, beyond the idle node's"
    return [below(text, 1e3 * (taking - idle), 1e3 * ALLOWED, "DESIGN.md's bound", "ms")]


if __name__ == "__main__":
    print(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 100_200))
