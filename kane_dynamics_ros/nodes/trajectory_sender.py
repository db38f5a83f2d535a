"""Send one trajectory to the node that listens, and tell what becomes of it.

``kane_dynamics send`` runs this as a process. It waits for a subscriber of ``joint_trajectory``, sends, and
prints each state that the controller reports on ``feedforward_node/trajectory_status``. Exit codes: 0, the
trajectory is finished, or was sent to a subscriber that does not tell; 1, it was refused or dropped, or the
controller has gone; 2, nobody listens.
"""

import argparse
import sys
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.duration import Duration
from rclpy.exceptions import InvalidNamespaceException
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.validate_namespace import validate_namespace
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics_ros.control.trajectory_file import read_trajectory
from kane_dynamics_ros.control.validation import TrajectoryRequest
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.nodes.messages import STATUS_QOS, TRAJECTORY_QOS, values_of
from kane_dynamics_ros.nodes.process import StopRequest
from kane_dynamics_ros.nodes.serialized import bytes_from_request

STATUS = "feedforward_node/trajectory_status"
GRACE = 2.0  # [s] for a controller to be discovered as one that tells, and without it before it has gone
PERIOD = 0.05  # [s] between looks
AGAIN = 0.5  # [s] between attempts while the controller waits for the robot's first states
INTERRUPTED = 130  # 128 + SIGINT, as shells report it


class SendError(KaneDynamicsError):
    """A trajectory could not be sent; code ``no_subscriber``."""


def send(node: Node, request: TrajectoryRequest, wait: Callable[[], bool], timeout: float) -> int:
    """Send a trajectory and follow it; the exit code. ``timeout`` [s] is for the subscriber and its answer.

    ``wait`` spins the node once and says whether to go on. A controller that has just been started refuses
    until joint states come: it is asked again.

    Raises ``SendError``.
    """
    label = f"kane_dynamics send {uuid.uuid4()}"  # by which the controller's reports are ours
    message = bytes_from_request(replace(request, label=label))
    reports: deque[dict[str, str]] = deque()
    publisher = node.create_publisher(JointTrajectory, "joint_trajectory", TRAJECTORY_QOS)

    def take(status: DiagnosticStatus) -> None:
        values = values_of(status)
        if values.get("frame_id") == label:
            reports.append(values)

    def until(holds: Callable[[], bool], seconds: float) -> bool:
        """Wait until something holds, at most so long; whether it does."""
        end = time.monotonic() + seconds
        while not holds() and time.monotonic() < end and wait():
            pass
        return holds()

    def somebody_tells() -> bool:
        return node.count_publishers(STATUS) > 0

    def left_alone() -> int:
        text = f"interrupted; the controller goes on: a trajectory without points on {topic} stops it"
        print(text, file=sys.stderr)
        return INTERRUPTED

    node.create_subscription(DiagnosticStatus, STATUS, take, STATUS_QOS)
    topic = publisher.topic_name
    if not until(lambda: publisher.get_subscription_count() > 0, timeout):
        raise SendError(
            f"nobody listens on {topic} after {timeout:g} s; start the controller first, with the same "
            "ROS_DOMAIN_ID and namespace (--namespace)",
            "no_subscriber",
        )
    tells = until(somebody_tells, GRACE)
    if not wait():
        return INTERRUPTED
    publisher.publish(message)
    if not tells:
        publisher.wait_for_all_acked(Duration(seconds=timeout))
        print(f"sent on {topic}; its subscriber does not tell on {STATUS} what becomes of it")
        return 0
    print(f"sent on {topic}", flush=True)
    end = time.monotonic() + timeout
    answered = until(lambda: bool(reports), timeout)
    while answered and wait():
        while reports:
            news = reports.popleft()
            if news.get("code") == "no_state" and time.monotonic() < end:
                until(lambda: False, AGAIN)
                if not wait():  # stopped: the arm must not move any more
                    return INTERRUPTED
                publisher.publish(message)
                continue
            print(f"{news['state']}: {news['reason']}", flush=True)
            if news["state"] != "accepted":
                return 0 if news["state"] == "finished" else 1
        if not until(somebody_tells, GRACE):
            break
    if not wait():
        return left_alone()
    what = "the controller has gone" if answered else f"the controller did not answer in {timeout:g} s"
    print(f"{what}; what became of the trajectory is not known", file=sys.stderr)
    return 1


def main(arguments: Sequence[str] | None = None) -> int:
    """The process; its exit code."""
    parser = argparse.ArgumentParser(prog="kane_dynamics send", description=__doc__)
    parser.add_argument("trajectory", type=Path)
    parser.add_argument("--namespace", default="")
    parser.add_argument("--timeout", type=float, default=20.0)
    chosen = parser.parse_args(arguments)
    namespace = f"/{chosen.namespace.strip('/')}"
    try:
        validate_namespace(namespace)
    except InvalidNamespaceException as error:
        print(f"error: --namespace: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    stop = StopRequest()
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = Node("trajectory_sender", namespace=namespace, start_parameter_services=False)
    executor = SingleThreadedExecutor()
    executor.add_node(node)

    def wait() -> bool:
        executor.spin_once(timeout_sec=PERIOD)
        return not stop.made

    try:
        return send(node, read_trajectory(chosen.trajectory), wait, chosen.timeout)
    except KaneDynamicsError as error:
        if stop.made:
            return INTERRUPTED
        print(f"error: {error}", file=sys.stderr)
        return 2
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown()


if __name__ == "__main__":
    sys.exit(main())
