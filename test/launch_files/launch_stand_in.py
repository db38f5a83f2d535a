"""A small stand-in of ROS's launch API: actions remember what they were made of, so that tests can look."""

import runpy
import sys
from types import ModuleType, SimpleNamespace

from kane_dynamics_ros import nodes
from kane_dynamics_ros.share import share_directory

SHARE = share_directory()


class Recorded:
    """Any action, handler or value of launch."""

    def __init__(self, *arguments, **keywords):
        self.arguments = arguments
        self.name = arguments[0] if arguments else None
        self.__dict__.update(keywords)


NAMES = {
    "launch": ["LaunchDescription"],
    "launch.actions": [
        *["DeclareLaunchArgument", "ExecuteProcess", "LogInfo", "OpaqueFunction"],
        *["RegisterEventHandler", "Shutdown"],
    ],
    "launch.event_handlers": ["OnProcessExit", "OnProcessIO"],
    "launch_ros": [],
    "launch_ros.actions": ["Node"],
    "launch_ros.parameter_descriptions": ["ParameterValue"],
    "ament_index_python": [],
}


OURS = {"kane_dynamics_ros": ["feedforward_node", "simulated_hardware_node"]}


def install(monkeypatch, folder, installed=()):
    """Put the stand-in where ``import launch`` finds it; ``installed`` are ROS packages besides ours.

    Each has an executable of its own name, in ``folder``.
    """
    for package, executables in {**OURS, **{name: [name] for name in installed}}.items():
        for executable in executables:
            path = folder / "lib" / package / executable
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    for name, classes in NAMES.items():
        module = ModuleType(name)
        for each in classes:
            setattr(module, each, type(each, (Recorded,), {}))
        monkeypatch.setitem(sys.modules, name, module)

    def prefix(package):
        if package not in {*OURS, *installed}:
            raise LookupError(package)
        return str(folder)

    packages = ModuleType("ament_index_python.packages")
    packages.get_package_prefix = prefix
    monkeypatch.setitem(sys.modules, "ament_index_python.packages", packages)


def context(**values):
    """A launch context in which arguments have these values, given on the command line."""
    words = [f"{name}:={value}" for name, value in values.items()]
    return SimpleNamespace(launch_configurations=values, is_shutdown=False, argv=words)


def launched(name):
    """The launch file's declared arguments by name, and the function that starts everything."""
    sys.modules.pop("kane_dynamics_ros.nodes.launch", None)  # it was imported with another test's stand-in
    vars(nodes).pop("launch", None)
    module = runpy.run_path(str(SHARE / "launch" / f"{name}.launch.py"))
    [entities] = module["generate_launch_description"]().arguments
    *declared, start = entities
    return {each.name: each for each in declared}, start.function


def started(name, **given):
    """The actions that the launch file returns with these arguments."""
    declared, start = launched(name)
    defaults = {
        key: each.default_value
        for key, each in declared.items()
        if getattr(each, "default_value", None) is not None
    }
    return start(context(**defaults | given))


def of_kind(kind, actions):
    return [each for each in actions if type(each).__name__ == kind]


def node(actions, executable):
    [found] = [each for each in of_kind("Node", actions) if each.executable == executable]
    return found


def settings(actions, executable):
    """A node's parameters that are not from files, texts as texts."""
    own = [each for each in node(actions, executable).parameters if isinstance(each, dict)][-1]
    return {name: value.name if isinstance(value, Recorded) else value for name, value in own.items()}
