"""A node as a process: start, spin, and end with exit code 0 on Ctrl-C, SIGTERM or a shutdown.

Signals are handled here, not by rclpy, whose handler shuts the context down at once: the node could not
publish a last safe command then.
"""

import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Protocol

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.signals import SignalHandlerOptions

from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.nodes.arguments import uniform_arguments


class Spinning(Protocol):
    """A node that spins itself, and has something to do before its process ends."""

    def spin(self, stopped: Callable[[], bool]) -> None: ...

    def finish(self) -> None: ...


class StopRequest:
    """Becomes true at the first SIGINT or SIGTERM."""

    def __init__(self) -> None:
        self.made = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._make)

    def _make(self, number: int, frame: FrameType | None) -> None:
        self.made = True


def run_node(build: Callable[[], Spinning]) -> int:
    """Build a node, spin it until it is asked to stop, let it finish; the process's exit code."""
    stop = StopRequest()
    with tempfile.TemporaryDirectory(prefix="kane_dynamics_ros_") as folder:
        arguments = uniform_arguments(sys.argv, Path(folder))
        try:
            rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
        except RuntimeError as error:  # rclpy's, of ROS arguments that cannot be read
            print(f"error: {error}", file=sys.stderr)
            return 2
    try:
        node = build()
        try:
            node.spin(lambda: stop.made)
        finally:
            node.finish()
    except ExternalShutdownException:
        return 0
    except KaneDynamicsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    finally:
        rclpy.try_shutdown()
    return 0
