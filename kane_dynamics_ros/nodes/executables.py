"""What ``ros2 run`` starts.

Ctrl-C and SIGTERM end a node quietly while it is still importing what it needs, and a package that is missing
is said in one line. So nothing that takes long is imported here, or by the packages above.
"""

import importlib
import os
import signal
import sys
from types import FrameType


def feedforward_node() -> int:
    """The process of the feedforward node; its exit code."""
    return _run("feedforward_node")


def simulated_hardware_node() -> int:
    """The process of the simulated arm; its exit code."""
    return _run("simulated_hardware_node")


def trajectory_recorder_node() -> int:
    """The process of the recorder; its exit code."""
    return _run("trajectory_recorder_node")


def _run(name: str) -> int:
    """The node's ``main``; 2 where a package that it needs is not installed."""
    _end_quietly_on_signals()
    try:
        module = importlib.import_module(f"kane_dynamics_ros.nodes.{name}")
    except ImportError as error:
        from kane_dynamics_ros.errors import missing_package

        missing = missing_package(error)
        if missing is None:
            raise
        print(f"error: {missing}", file=sys.stderr)
        return 2
    return int(module.main())


def _end_quietly_on_signals() -> None:
    """Until the node handles them itself; nothing has been commanded or opened before."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(0)
