"""What ``ros2 run`` starts.

Ctrl-C and SIGTERM end a node quietly while it is still importing what it needs, and a package that is missing
is said in one line. So nothing that takes long is imported here, or by the packages above.
"""

import importlib
import os
import signal
import sys
from functools import partial
from types import FrameType


def run(name: str) -> int:
    """The process of the node in the module of that name; its exit code, 2 where a package is missing."""
    for number in (signal.SIGINT, signal.SIGTERM):  # until the node handles them itself
        signal.signal(number, _end)
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


def _end(number: int, frame: FrameType | None) -> None:
    """At once: nothing has been commanded or opened yet."""
    os._exit(0)


feedforward_node = partial(run, "feedforward_node")
simulated_hardware_node = partial(run, "simulated_hardware_node")
trajectory_recorder_node = partial(run, "trajectory_recorder_node")
