"""A test's side of the wire: the feedforward node as a process, and a node that talks to it over DDS."""

import os
import signal
import subprocess
import sys
import time
import uuid
from array import array
from pathlib import Path

import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from kane_dynamics_ros.runtime import load_model

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"  # read by both sides' middleware

MODEL = load_model("manipulator_5dof")
NAMES = list(MODEL.joint_names)
Q = np.array([0.1, 0.8, -0.9, 0.2, 0.1])
SPACE = f"/run_{uuid.uuid4().hex}"  # apart from other runs of these tests on this machine
ABSOLUTE = [word for name in ("clock", "diagnostics") for word in ("-r", f"/{name}:={SPACE}/{name}")]
PATIENCE = 60.0  # [s] for what a busy machine delays, as the compilation of a function that is new
BEST_EFFORT = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
RELIABLE = QoSProfile(depth=1)
DISCOVERED_WITHIN = 5.0  # [s]
TOLD = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)  # also what was said before
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
ANYWHERE = [word for name in NAMES for word in ("-p", f"constraints.{name}.goal:=0.0")]
STILL = ("-p", "safety.on_tracking_error:=ignore", *ANYWHERE)  # for tests whose arm does not move
PATIENT = ("-p", "safety.state_timeout:=2.0")  # so that a busy machine makes no faults


class FeedforwardProcess:
    """``feedforward_node`` with its log in a file."""

    def __init__(self, log: Path, domain, *arguments, namespace=""):
        self.log_file = log
        command = [sys.executable, "-m", "kane_dynamics_ros.nodes.feedforward_node", "--ros-args", *ABSOLUTE]
        command += ["-r", f"__ns:={SPACE}{namespace}", *arguments]
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                command,
                env=os.environ | {"ROS_DOMAIN_ID": str(domain)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def log(self):
        return self.log_file.read_text(errors="replace")

    def end(self, number=signal.SIGINT):
        """Signal it and give its exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Sender:
    """A publisher whose first message waits until somebody listens: discovery takes a while."""

    def __init__(self, lab, publisher):
        self.lab, self.get_subscription_count = lab, publisher.get_subscription_count
        self._publisher = publisher

    def publish(self, message):
        deadline = time.monotonic() + DISCOVERED_WITHIN
        while not self.get_subscription_count() and time.monotonic() < deadline:
            self.lab.spin(0.01)
        self._publisher.publish(message)


class Lab:
    """A node of ours with its executor; ``commands`` are the efforts that came, in order."""

    def __init__(self, domain, namespace=""):
        self.context = rclpy.Context()
        self.context.init(["--ros-args", *ABSOLUTE], domain_id=domain)
        space = SPACE + namespace
        self.node = Node("lab", context=self.context, namespace=space, start_parameter_services=False)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.commands = []
        self.node.create_subscription(
            Float64MultiArray, "forward_effort_controller/commands", self._keep, QoSProfile(depth=100)
        )
        self.states = self.node.create_publisher(JointState, "joint_states", RELIABLE)
        self.trajectories = Sender(
            self, self.node.create_publisher(JointTrajectory, "joint_trajectory", RELIABLE)
        )

    def close(self):
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.shutdown()

    def listen(self, kind, topic, qos=10):
        """A list that fills with a topic's messages."""
        messages = []
        self.node.create_subscription(kind, topic, messages.append, qos)
        return messages

    def describe(self, urdf):
        self.node.create_publisher(String, "robot_description", LATCHED).publish(String(data=urdf))

    def spin(self, seconds):
        """Receive for a while."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self.executor.spin_once(timeout_sec=left)

    def wait_for(self, condition, while_doing=None, patience=PATIENCE):
        """Until the condition holds; fails the test when it never does."""
        end = time.monotonic() + patience
        while not condition():
            assert time.monotonic() < end, "the condition never held"
            if while_doing is not None:
                while_doing()
            self.executor.spin_once(timeout_sec=0.005)

    def send(self, q=Q, qd=None, names=NAMES, publisher=None, stamp=None):
        """One joint state, stamped now."""
        message = JointState(name=list(names), position=array("d", q))
        message.velocity = array("d", np.zeros(len(q)) if qd is None else qd)
        message.header.stamp = self.node.get_clock().now().to_msg() if stamp is None else stamp
        (publisher or self.states).publish(message)

    def hold(self, seconds, q=Q, rate=100.0):
        """Send the same state for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.send(q)
            self.spin(1.0 / rate)

    def wait_until_commanding(self, q=Q, patience=PATIENCE):
        """Until the node answers a state, so that both sides have found each other."""
        self.commands.clear()
        self.wait_for(lambda: self.commands, lambda: self.send(q), patience)

    def call(self, kind, service, request):
        """The response of a service of the node."""
        client = self.node.create_client(kind, service)
        self.wait_for(client.service_is_ready)
        future = client.call_async(request)
        self.wait_for(future.done)
        return future.result()

    def _keep(self, message):
        self.commands.append(np.array(message.data))


def trajectory(*points, names=NAMES, stamp=None):
    """``points`` are (time [s], positions) or (time, positions, velocities)."""
    message = JointTrajectory(joint_names=list(names))
    if stamp is not None:
        message.header.stamp = stamp
    for time_from_start, positions, *velocities in points:
        point = JointTrajectoryPoint(positions=array("d", positions))
        if velocities:
            point.velocities = array("d", velocities[0])
        seconds, point.time_from_start.nanosec = divmod(round(time_from_start * 1e9), 1_000_000_000)
        point.time_from_start.sec = seconds
        message.points.append(point)
    return message
