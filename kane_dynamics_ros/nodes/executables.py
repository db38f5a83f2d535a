"""What ``ros2 run`` starts.

Ctrl-C and SIGTERM end a node quietly while it is still importing what it needs, and a package that is missing
is said in one line. So nothing that takes long is imported here, or by the packages above.
"""

import importlib
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import FrameType

PARAMETERS = {  # the file that declares each node's, in the package
    "feedforward_node": "runtime/node_parameters.yaml",
    "simulated_hardware_node": "nodes/hardware/parameters.yaml",
    "trajectory_recorder_node": "nodes/trajectory_recorder.yaml",
}


def run(name: str) -> int:
    """The process of the node in the module of that name; its exit code, 2 where it cannot start."""
    for number in (signal.SIGINT, signal.SIGTERM):  # until the node handles them itself
        signal.signal(number, _end)
    if {"-h", "--help"} & set(sys.argv[1:]):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # the reader, say `head`, may have seen enough
        print("\n".join(help_lines(name)))
        return 0
    if left := not_for_ros(sys.argv[1:]):
        advice = f"parameters come after --ros-args: {name} --ros-args -p NAME:=VALUE"
        print(f"error: {shlex.join(left)} has no effect; {advice}", file=sys.stderr)
        return 2
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy is imported
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


def not_for_ros(arguments: Sequence[str]) -> list[str]:
    """The arguments that are not between ``--ros-args`` and ``--``: ROS ignores them."""
    left, to_ros = [], False
    for each in arguments:
        if to_ros or each == "--ros-args":
            to_ros = each != "--"
        else:
            left.append(each)
    return left


def help_lines(name: str) -> list[str]:
    """How a node is started, and its parameters: default, unit, meaning."""
    from kane_dynamics_ros.runtime.node_parameters import declarations

    file = Path(__file__).parents[1] / PARAMETERS[name]
    return [
        f"usage: {name} --ros-args [-p NAME:=VALUE ...] [--params-file FILE] [-r __ns:=/NAMESPACE]",
        "",
        "a ROS 2 node, which runs until Ctrl-C; its parameters:",
        *(
            f"  {each.name} ({each.default!r}{each.unit and ' ' + each.unit}): {each.description}"
            for each in declarations(file)
        ),
    ]


def _end(number: int, frame: FrameType | None) -> None:
    """At once: nothing has been commanded or opened yet."""
    os._exit(0)


feedforward_node = partial(run, "feedforward_node")
simulated_hardware_node = partial(run, "simulated_hardware_node")
trajectory_recorder_node = partial(run, "trajectory_recorder_node")
