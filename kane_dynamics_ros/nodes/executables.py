"""What ``ros2 run`` starts. Ctrl-C and SIGTERM end a node quietly even while it is still importing rclpy."""

import os
import signal
from types import FrameType


def feedforward_node() -> int:
    """The process of the feedforward node; its exit code."""
    _end_quietly_on_signals()
    from kane_dynamics_ros.nodes.feedforward_node import main

    return main()


def simulated_hardware_node() -> int:
    """The process of the simulated arm; its exit code."""
    _end_quietly_on_signals()
    from kane_dynamics_ros.nodes.simulated_hardware_node import main

    return main()


def _end_quietly_on_signals() -> None:
    """Until the node handles them itself; nothing has been commanded or opened before."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(0)
