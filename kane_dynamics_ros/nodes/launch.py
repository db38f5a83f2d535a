"""What the launch files check before they start anything, and what they do when a node ends.

A launch file reads its arguments (``values_of``), checks them (``check_robot``, ``check_arm``,
``check_installed``) and then starts its nodes, each with its handlers (``ends_launch``). What a node would
refuse when it is configured is refused here, by the functions that the node itself calls: the URDF is read,
the model loaded and compared with it, the parameters checked with the model. Everything is checked before the
first action is returned: ROS's launch leaves what has started behind when a later part fails, and a
controller that runs on beside a failed launch could move a robot.
"""

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from ament_index_python.packages import get_package_prefix
from launch.actions import (
    DeclareLaunchArgument,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
)
from launch.event_handlers import OnProcessExit, OnProcessIO
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from kane_dynamics_ros.description.load import urdf_of_arguments
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.nodes.feedforward import model as feedforward_model
from kane_dynamics_ros.nodes.feedforward import parameters as feedforward
from kane_dynamics_ros.nodes.hardware import parameters as hardware
from kane_dynamics_ros.nodes.messages import COMMAND_TOPIC
from kane_dynamics_ros.nodes.process import LAUNCHED_BY
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.runtime.load import find_module
from kane_dynamics_ros.runtime.node_parameters import Declaration, checked_value, file_parameters
from kane_dynamics_ros.share import share_directory

PACKAGE = "kane_dynamics_ros"
SHIPPED = "manipulator_5dof"
SHARE = share_directory()
ROS_NAME = re.compile(r"/?[A-Za-z_]\w*(/[A-Za-z_]\w*)*")
COMPLAINT = re.compile(r"^error: |\[(ERROR|FATAL)\]|^\w+Error: ")  # ours, ROS's log, Python's

Values = Mapping[str, str]


class LaunchError(KaneDynamicsError):
    """Nothing was started, or the launch ends.

    Codes: ``argument`` (name, found), ``not_installed`` (missing: pairs of a package and its executable,
    empty for the package itself), ``other_joints`` (controller, unknown), ``bag``, ``node_ended`` (name,
    exit_code).
    """


# Arguments


def robot_arguments() -> list[Any]:
    """The robot, its model and the node's parameters, for ``check_robot``."""
    xacro = str(SHARE / "urdf" / f"{SHIPPED}.urdf.xacro")
    return [
        argument("urdf", xacro, "URDF or xacro file of the robot"),
        argument("xacro_arguments", "", "arguments of the xacro file: 'name:=value other:=value'"),
        argument("model", "", f"generated module: a path; empty: what params_file says, else {SHIPPED}"),
        argument(
            "mode",
            "",
            "feedforward, feedforward_pd, computed_torque or gravity_compensation; empty: what params_file "
            "says, else computed_torque",
        ),
        argument(
            "params_file",
            "",
            f"parameters of the node, under /**:; empty: config/feedforward.yaml for {SHIPPED}, for any "
            "other model none: gains then follow from the joints' inertias",
        ),
    ]


def place_arguments() -> list[Any]:
    """Where the node is in ROS's graph, and whose time it takes; for ``check_robot`` too."""
    controller = "controller whose commands topic gets the efforts"
    return [
        argument("namespace", "", "namespace of every node"),
        argument("use_sim_time", "false", "take the time from /clock"),
        argument("controller", "forward_effort_controller", controller),
    ]


def view_arguments() -> list[Any]:
    """What shows the robot, for ``views``."""
    return [
        argument("publish_description", "true", "start robot_state_publisher, where it is installed"),
        argument("rviz", "false", "start RViz, where it is installed"),
        argument("rviz_config", str(SHARE / "config" / f"{SHIPPED}.rviz"), "RViz configuration"),
    ]


def elastic_argument() -> Any:
    """Links of the simulated arm that bend, for ``simulated_arm``."""
    text = (
        "links that bend: a YAML file, or urdf for the URDF's <elastic>; empty: as the parameters' file says"
    )
    return argument("elastic", "", text)


def argument(name: str, default: str | None, description: str) -> Any:
    """A launch argument; ``default`` None where it has to be given."""
    return DeclareLaunchArgument(name, default_value=default, description=description)


def values_of(context: Any, declared: Sequence[Any]) -> dict[str, str]:
    """The arguments' values. A name on the command line that is nearly one of theirs is refused: a slip."""
    given = context.launch_configurations
    values = {each.name: str(given.get(each.name, "")) for each in declared}
    for word in context.argv:
        name, separator, _ = word.partition(":=")
        close = get_close_matches(name, list(values), n=1)
        if separator and name not in values and close:
            message = f"launch argument {name!r} is not known; did you mean {close[0]}? Nothing was started"
            raise LaunchError(message, "argument", name=name, found=word)
    return values


def wrong(values: Values, name: str, allowed: str) -> LaunchError:
    """The error of an argument."""
    message = f"launch argument {name}:={values[name]!r}; allowed is {allowed}; nothing was started"
    return LaunchError(message, "argument", name=name, found=values[name])


def switch(values: Values, name: str) -> bool:
    """``true`` or ``false``."""
    if values[name].lower() not in ("true", "false"):
        raise wrong(values, name, "true or false")
    return values[name].lower() == "true"


def number(values: Values, name: str) -> float:
    """A number above 0."""
    try:
        found = float(values[name])
    except ValueError:
        found = math.nan
    if not 0.0 < found < math.inf:
        raise wrong(values, name, "a number above 0")
    return found


def ros_name(values: Values, name: str) -> str:
    """A name in ROS's graph."""
    if not ROS_NAME.fullmatch(values[name]):
        raise wrong(values, name, "a ROS name: letters, digits and _, separated by /")
    return values[name]


def file(values: Values, name: str) -> Path | None:
    """A file that exists; None where the argument is empty."""
    if values[name] and not Path(values[name]).is_file():
        raise wrong(values, name, "the path of a file that exists")
    return Path(values[name]) if values[name] else None


# Checks


@dataclass(frozen=True)
class Robot:
    """A robot whose feedforward node can be configured; ``parameters`` are the node's, files and mappings."""

    description: str
    model_name: str
    model: DynamicsModel
    parameters: list[Any]
    namespace: str
    use_sim_time: bool


def check_robot(values: Values) -> Robot:
    """The values of ``robot_arguments`` and ``place_arguments`` as the node would take them.

    Raises ``KaneDynamicsError``.
    """
    namespace = ros_name(values, "namespace") if values["namespace"] else ""
    use_sim_time = switch(values, "use_sim_time")
    description = urdf_of_arguments(values["urdf"], values["xacro_arguments"])
    asked: dict[str, Any] = {key: values[key] for key in ("model", "mode") if values[key]}
    params = file(values, "params_file")
    if params is None and is_shipped(asked.get("model", SHIPPED)):
        params = SHARE / "config" / "feedforward.yaml"
    given = parameters_of(feedforward.TABLE, asked, params, "feedforward_node", namespace)
    checked = given["description_check"] != "off" and not given["generate_when_stale"]
    model = _model_of(given["model"], description if checked else None, values)
    feedforward.build_settings(given, model)
    parameters = [*([] if params is None else [str(params)]), typed(asked | {"use_sim_time": use_sim_time})]
    return Robot(description, given["model"], model, parameters, namespace, use_sim_time)


def check_installed(*needed: tuple[str, str]) -> None:
    """Raise ``LaunchError`` for packages, each with an executable or "", that are not installed."""
    missing = [
        (package, executable)
        for package, executable in needed
        if not installed(package)
        or (executable and not Path(get_package_prefix(package), "lib", package, executable).is_file())
    ]
    if missing:
        what = [f"executable {e!r} of ROS package {p!r}" if e else f"package {p!r}" for p, e in missing]
        debian = " ".join(dict.fromkeys(f"ros-$ROS_DISTRO-{p.replace('_', '-')}" for p, _ in missing))
        message = (
            f"not installed: {', '.join(what)}; install what is missing and source the setup.bash "
            f"(apt install {debian}); nothing was started"
        )
        raise LaunchError(message, "not_installed", missing=tuple(missing))


def installed(package: str) -> bool:
    """Whether a ROS package is installed."""
    try:
        return bool(get_package_prefix(package))
    except LookupError:  # PackageNotFoundError is one
        return False


def is_shipped(model: str) -> bool:
    """Whether a module's name or path means the shipped one, which the shipped gains belong to."""
    return find_module(model).resolve() == find_module(SHIPPED).resolve()


def _model_of(name: str, description: str | None, values: Values) -> DynamicsModel:
    """The model, as the node's configuration gets it; without a compiler, which takes long."""
    try:
        return feedforward_model.checked_model(name, description, False, "", "python")
    except KaneDynamicsError as error:
        if getattr(error, "code", "") == "stale" and values["urdf"].endswith(".xacro"):
            remedy = "or give xacro_arguments:='name:=value ...' as the model was generated with (--xacro)"
            error = feedforward_model.ModelCheckError(f"{error}, {remedy}", "stale")
        if values["model"] or not is_shipped(name):
            raise error from None
        allowed = f"the module generated from {values['urdf']} (kane_dynamics generate)"
        raise wrong(values, "model", allowed) from None


def parameters_of(
    table: Sequence[Declaration],
    own: Mapping[str, Any],
    params: Path | None = None,
    node: str = "",
    namespace: str = "",
) -> dict[str, Any]:
    """Checked values of a node's whole table; the node itself warns of names that it does not know."""
    given = {each.name: each.default for each in table}
    given |= {} if params is None else file_parameters(params, node, namespace)
    given |= own
    return {each.name: checked_value(each, given[each.name]) for each in table}


# Nodes


def typed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters for a ``Node``, whose texts stay texts: launch would read a URDF or a number as YAML."""
    return {
        name: ParameterValue(value, value_type=str) if isinstance(value, str) else value
        for name, value in values.items()
    }


def our_node(executable: str, **more: Any) -> Any:
    """A node of this package's, which ends with this launch, however that ends."""
    environment = {LAUNCHED_BY: str(os.getpid())}
    return Node(package=PACKAGE, executable=executable, output="screen", additional_env=environment, **more)


def feedforward_node(robot: Robot, values: Values) -> list[Any]:
    """The node with its handlers, and a word where every gain follows from the joints' inertias."""
    node = our_node(
        "feedforward_node",
        namespace=robot.namespace,
        parameters=robot.parameters,
        remappings=[(COMMAND_TOPIC, f"{ros_name(values, 'controller')}/commands")],
    )
    words = "no params_file: every gain follows from the joints' inertias"
    said = [] if len(robot.parameters) > 1 else [LogInfo(msg=words)]
    return [*said, *ends_launch(node, "feedforward_node")]


def simulated_arm(robot: Robot, values: Values, own: Mapping[str, Any], remappings: list[Any]) -> list[Any]:
    """The simulated hardware with its handlers; ``own`` parameters win over those of the file.

    Raises ``KaneDynamicsError``.
    """
    own = {"model": robot.model_name, "robot_description": robot.description, **own}
    if values["elastic"]:
        own["elastic"] = values["elastic"]
    params = file(values, "hardware_params_file")
    given = parameters_of(hardware.TABLE, own, params, "simulated_hardware", robot.namespace)
    if given["elastic"] not in ("", "urdf") and not Path(given["elastic"]).is_file():
        raise wrong({"elastic": given["elastic"]}, "elastic", "a YAML file, urdf or nothing")
    if given["engine"] == "own" and not given["elastic"]:  # the others need what is slow to load
        hardware.build_hardware(robot.model, given)
    node = our_node(
        "simulated_hardware_node",
        namespace=robot.namespace,
        parameters=[*([] if params is None else [str(params)]), typed(own)],
        remappings=remappings,
    )
    return ends_launch(node, "simulated_hardware_node")


def views(robot: Robot, values: Values) -> list[Any]:
    """robot_state_publisher and RViz, where they are wanted and installed."""
    sim_time = {"use_sim_time": robot.use_sim_time}
    wanted: dict[str, dict[str, Any]] = {}
    if switch(values, "publish_description"):
        described = typed({"robot_description": robot.description, **sim_time})
        wanted["robot_state_publisher"] = {"parameters": [described]}
    if switch(values, "rviz"):
        shown = ["-d", str(file(values, "rviz_config"))]
        wanted["rviz2"] = {"parameters": [sim_time], "arguments": shown}
    actions: list[Any] = []
    for name, more in wanted.items():
        if not installed(name):
            actions.append(LogInfo(msg=f"{name} is not installed: going on without it"))
            continue
        node = Node(package=name, executable=name, namespace=robot.namespace, output="screen", **more)
        actions += [node] if name == "rviz2" else ends_launch(node, name)  # RViz may be closed
    return actions


# What the end of a node does

Success = Literal["error", "end", "finished"]  # what exit code 0 is: no end was asked for, the launch's, fine


def ends_launch(action: Any, name: str, success: Success = "error") -> list[Any]:
    """The action with its handlers: the last error that it tells is remembered, and its end ends the launch.

    The exception is launch's way to a non-zero exit code; where ``success`` is ``error``, exit code 0 is one
    too: that of a node which was not asked to end.
    """
    last_words = [""]

    def listen(event: Any) -> None:
        lines = event.text.decode("utf-8", "replace").splitlines()
        last_words[0] = next((line for line in reversed(lines) if COMPLAINT.search(line)), last_words[0])

    def end(event: Any, context: Any) -> list[Any]:
        if context.is_shutdown or (event.returncode == 0 and success == "finished"):
            return []  # Ctrl-C, another node's end, or what was wanted
        if event.returncode == 0 and success == "end":
            return [Shutdown(reason=f"{name} has ended")]

        def fail(context: Any) -> None:
            why = f": {last_words[0]}" if last_words[0] else "; what it said stands above"
            message = f"{name} ended with exit code {event.returncode}, so the launch ends{why}"
            raise LaunchError(message, "node_ended", name=name, exit_code=event.returncode)

        return [OpaqueFunction(function=fail)]

    return [
        action,
        RegisterEventHandler(OnProcessIO(target_action=action, on_stderr=listen)),
        RegisterEventHandler(OnProcessExit(target_action=action, on_exit=end)),
    ]
