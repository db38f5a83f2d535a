"""Annotating trajectories beside the commands: a dense one takes longer than a command may wait."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics_ros.control.request import TrajectoryRequest
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.nodes.messages import request_from, trajectory_from
from kane_dynamics_ros.nodes.qos import OUTPUT


class BackgroundAnnotation:
    """Publishes on ``~/annotated``, or says why not; one request after the other, in a thread of its own."""

    def __init__(self, node: Node) -> None:
        self._logger = node.get_logger()
        self._publisher = node.create_publisher(JointTrajectory, "~/annotated", OUTPUT)
        self._worker = ThreadPoolExecutor(max_workers=1)

    def begin(self, message: Any, annotate: Callable[[TrajectoryRequest], TrajectoryRequest]) -> None:
        """Take a request; ``annotate`` must not change what the thread of the commands uses."""
        self._worker.submit(self._answer, message, annotate)

    def finish(self) -> None:
        """Drop what waits, and wait for what is being annotated."""
        self._worker.shutdown(cancel_futures=True)

    def _answer(self, message: Any, annotate: Callable[[TrajectoryRequest], TrajectoryRequest]) -> None:
        try:
            annotated = annotate(request_from(message))
        except KaneDynamicsError as error:
            self._logger.warning(f"trajectory not annotated: {error}")
            return
        self._publisher.publish(trajectory_from(annotated, message.header.frame_id))
