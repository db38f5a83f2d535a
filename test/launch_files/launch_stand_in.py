"""A small stand-in of ROS's launch API: actions remember what they were made of, so that tests can look."""

import sys
from types import ModuleType, SimpleNamespace


class Recorded:
    """Any action, handler or value of launch."""

    def __init__(self, *arguments, **keywords):
        self.arguments = arguments
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
    """A launch context in which arguments have these values."""
    return SimpleNamespace(launch_configurations=values, is_shutdown=False)
