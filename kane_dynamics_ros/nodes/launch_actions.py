"""Plans as actions of ROS's launch, which only a ROS installation has: it is imported when called."""

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.nodes.launch_plan import Argument, NodeEndedError, NodePlan, Plan

COMPLAINT = re.compile(r"^error: |\[(ERROR|FATAL)\]|^\w+Error: ")  # ours, ROS's log, Python's


class NotInstalledError(KaneDynamicsError):
    """A ROS package that the launch needs is not there."""

    def __init__(self, package: str, executable: str) -> None:
        self.package, self.executable = package, executable
        super().__init__(
            f"executable {executable!r} of ROS package {package!r} is not there: install it and source its "
            f"setup.bash (apt install ros-$ROS_DISTRO-{package.replace('_', '-')}); nothing was started"
        )


MakePlan = Callable[[Mapping[str, str]], Plan]


def description_of(arguments: Sequence[Argument], plan: MakePlan) -> Any:
    """The ``LaunchDescription``: the arguments, then what the plan made of their values starts."""
    launch, actions = importlib.import_module("launch"), importlib.import_module("launch.actions")
    declared = [
        actions.DeclareLaunchArgument(each.name, default_value=each.default, description=each.description)
        for each in arguments
    ]

    def start(context: Any) -> list[Any]:
        values = {each.name: str(context.launch_configurations.get(each.name, "")) for each in arguments}
        return actions_of(plan(values))

    return launch.LaunchDescription([*declared, actions.OpaqueFunction(function=start)])


def actions_of(plan: Plan) -> list[Any]:
    """The actions that carry the plan out. Notes come first, the command that ends the launch last."""
    actions = importlib.import_module("launch.actions")
    for node in plan.nodes:  # all of them before the first one starts: launch would leave that behind
        if not (node.optional and not _installed(node.package)):
            _check_installed(node)
    words = [actions.LogInfo(msg=note) for note in plan.notes]
    nodes = [action for node in plan.nodes for action in _node_actions(node, plan.namespace)]
    if not plan.last:
        return words + nodes
    name = " ".join(plan.last[1:4])
    last = actions.ExecuteProcess(cmd=list(plan.last), output="screen")
    return [*words, *nodes, last, *_on_end(last, name, well_too=False)]


def _node_actions(node: NodePlan, namespace: str) -> list[Any]:
    """The node, and what its end does; or a line that says why there is none."""
    actions = importlib.import_module("launch.actions")
    launch_ros = importlib.import_module("launch_ros.actions")
    descriptions = importlib.import_module("launch_ros.parameter_descriptions")
    if node.optional and not _installed(node.package):
        return [actions.LogInfo(msg=f"{node.package} is not installed: going on without it")]
    parameters = [
        each
        if isinstance(each, str)
        else {
            name: descriptions.ParameterValue(value, value_type=str) if isinstance(value, str) else value
            for name, value in each.items()
        }
        for each in node.parameters
    ]
    action = launch_ros.Node(
        package=node.package,
        executable=node.executable,
        namespace=namespace,
        output="screen",
        parameters=parameters,
        remappings=list(node.remappings),
        arguments=list(node.arguments),
    )
    return [action, *(_on_end(action, node.executable, well_too=True) if node.required else [])]


def _on_end(action: Any, name: str, well_too: bool) -> list[Any]:
    """Handlers: the last error that the process tells is remembered, and its end becomes the launch's.

    The exception is launch's way to a non-zero exit code; ``well_too`` makes exit code 0 an error too, as
    the end of a node is that nobody asked to end.
    """
    actions = importlib.import_module("launch.actions")
    handlers = importlib.import_module("launch.event_handlers")
    last_words = [""]

    def listen(event: Any) -> None:
        lines = event.text.decode("utf-8", "replace").splitlines()
        last_words[0] = next((line for line in reversed(lines) if COMPLAINT.search(line)), last_words[0])

    def end(event: Any, context: Any) -> list[Any]:
        if context.is_shutdown:  # Ctrl-C, or another node's end
            return []
        if event.returncode or well_too:
            error: KaneDynamicsError = NodeEndedError(name, event.returncode, last_words[0])
            return [actions.OpaqueFunction(function=_raiser(error))]
        return [actions.Shutdown(reason=f"{name} has ended")]

    return [
        actions.RegisterEventHandler(handlers.OnProcessIO(target_action=action, on_stderr=listen)),
        actions.RegisterEventHandler(handlers.OnProcessExit(target_action=action, on_exit=end)),
    ]


def _raiser(error: KaneDynamicsError) -> Callable[[Any], None]:
    def raise_it(context: Any) -> None:
        raise error

    return raise_it


def _prefix(package: str) -> Path | None:
    """Where a ROS package is installed."""
    index = importlib.import_module("ament_index_python.packages")
    try:
        return Path(index.get_package_prefix(package))
    except LookupError:  # PackageNotFoundError is one
        return None


def _installed(package: str) -> bool:
    return _prefix(package) is not None


def _check_installed(node: NodePlan) -> None:
    """Raise ``NotInstalledError`` where a node's package or executable is missing."""
    prefix = _prefix(node.package)
    if prefix is None or not (prefix / "lib" / node.package / node.executable).is_file():
        raise NotInstalledError(node.package, node.executable)
