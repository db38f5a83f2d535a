"""What the launch files start: decided and checked before anything starts, then made actions of ROS's launch.

A plan is made of the launch arguments' texts alone: the URDF is read and expanded, the model loaded and
compared with it, the parameter files read as the nodes will read them. Whatever is wrong raises
``KaneDynamicsError`` here, so that a launch either starts everything or nothing: a controller that runs on
beside a failed launch could move a robot. ROS's launch, which only a ROS installation has, is imported when
a plan is turned into actions.
"""

import importlib
import importlib.util
import math
import re
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple
from xml.etree import ElementTree

from kane_dynamics_ros.description import parse_robot
from kane_dynamics_ros.description.load import urdf_text
from kane_dynamics_ros.errors import KaneDynamicsError, missing_package
from kane_dynamics_ros.nodes.feedforward.model import StaleModelError, check_model
from kane_dynamics_ros.nodes.feedforward.parameters import TABLE as FEEDFORWARD_TABLE
from kane_dynamics_ros.nodes.feedforward.parameters import build_settings
from kane_dynamics_ros.nodes.hardware.parameters import TABLE as HARDWARE_TABLE
from kane_dynamics_ros.nodes.hardware.parameters import build_hardware
from kane_dynamics_ros.nodes.messages import COMMAND_TOPIC
from kane_dynamics_ros.nodes.parameters import Declaration, checked_value, file_parameters
from kane_dynamics_ros.runtime import DynamicsModel, initial_positions
from kane_dynamics_ros.runtime.load import find_module, load_model
from kane_dynamics_ros.share import share_directory
from kane_dynamics_ros.simulation.actuators import COMMAND_INTERFACES
from kane_dynamics_ros.this_python import module_command

PACKAGE = "kane_dynamics_ros"
SHIPPED = "manipulator_5dof"
SHARE = share_directory()
BAG_PACKAGES = ("rosbags", "lz4", "zstandard")  # which rosdep does not know
TOPIC_HARDWARE = "joint_state_topic_hardware_interface"
TOPIC_PLUGIN = f"{TOPIC_HARDWARE}/JointStateTopicSystem"
CONTROLLER_PACKAGES = ("joint_state_broadcaster", "joint_trajectory_controller")  # of ros2_controllers
PLAYED = "joint states played to"  # what replay --live says when it has read the bag
ARM_TOPICS = "simulated_arm"  # where the arm's own topics are, apart from joint_state_broadcaster's
ROS_NAME = re.compile(r"/?[A-Za-z_]\w*(/[A-Za-z_]\w*)*")
COMPLAINT = re.compile(r"^error: |\[(ERROR|FATAL)\]|^\w+Error: ")  # ours, ROS's log, Python's


class Argument(NamedTuple):
    """A launch argument; ``default`` None where it has to be given."""

    name: str
    default: str | None
    description: str


ROBOT_ARGUMENTS = (
    Argument("urdf", str(SHARE / "urdf" / f"{SHIPPED}.urdf.xacro"), "URDF or xacro file of the robot"),
    Argument("xacro_arguments", "", "arguments of the xacro file: 'name:=value other:=value'"),
    Argument("model", "", f"generated module: a path; empty: what params_file says, else {SHIPPED}"),
    Argument(
        "mode",
        "",
        "feedforward, feedforward_pd, computed_torque or gravity_compensation; empty: what params_file "
        "says, else computed_torque",
    ),
    Argument(
        "params_file",
        "",
        f"parameters of the node, under /**:; empty: config/feedforward.yaml for {SHIPPED}, for any other "
        "model none: gains then follow from the joints' inertias",
    ),
    Argument("namespace", "", "namespace of every node"),
    Argument("use_sim_time", "false", "take the time from /clock"),
    Argument("controller", "forward_effort_controller", "controller whose commands topic gets the efforts"),
    Argument("publish_description", "true", "start robot_state_publisher, where it is installed"),
    Argument("rviz", "false", "start RViz, where it is installed"),
    Argument("rviz_config", str(SHARE / "config" / f"{SHIPPED}.rviz"), "RViz configuration"),
)
ELASTIC = Argument(
    "elastic",
    "",
    "links that bend: a YAML file, or urdf for the URDF's <elastic>; empty: as hardware_params_file says",
)
SIMULATION_ARGUMENTS = (
    *ROBOT_ARGUMENTS,
    Argument(
        "hardware_params_file",
        str(SHARE / "config" / "simulated_hardware.yaml"),
        "parameters of the simulated hardware, under /**:",
    ),
    ELASTIC,
)
ROS2_CONTROL_ARGUMENTS = (
    Argument("urdf", str(SHARE / "urdf" / f"{SHIPPED}.urdf.xacro"), "URDF or xacro file of the robot"),
    Argument("xacro_arguments", "", "arguments of the xacro file: 'name:=value other:=value'"),
    Argument("model", SHIPPED, "generated module: a path, or the name of the shipped one"),
    Argument("interface", "effort", "command interface of every joint: effort, position or velocity"),
    Argument(
        "controllers_file",
        "",
        "controller_manager's parameters and those of its controllers, under /**:; empty: "
        f"config/joint_trajectory_controller.yaml for {SHIPPED}; any other model needs its own",
    ),
    Argument(
        "controllers", "joint_state_broadcaster joint_trajectory_controller", "controllers that are started"
    ),
    Argument("hardware_params_file", "", "more parameters of the simulated hardware, under /**:"),
    ELASTIC,
    Argument("rate", "", "seconds of /clock in a second of the wall; empty: no /clock, the wall's time"),
)
REPLAY_ARGUMENTS = (
    Argument("bag", None, "bag folder or file"),
    Argument("model", SHIPPED, "generated module: a path, or the name of the shipped one"),
    Argument("mode", "computed_torque", "mode of the node"),
    Argument("rate", "1", "times the recorded rate"),
)


class LaunchArgumentError(KaneDynamicsError):
    """A launch argument has a value that is not allowed."""

    def __init__(self, name: str, found: str, allowed: str) -> None:
        self.name, self.found = name, found
        super().__init__(f"launch argument {name}:={found!r}; allowed is {allowed}; nothing was started")


class NotInstalledError(KaneDynamicsError):
    """ROS packages that the launch needs are not there.

    ``missing``: packages, each with the executable that is missing, empty where it is the package itself.
    ``package`` and ``executable`` are the first one's.
    """

    def __init__(self, missing: Sequence[tuple[str, str]]) -> None:
        self.missing = tuple(missing)
        self.package, self.executable = missing[0]
        packages = list(dict.fromkeys(package for package, _ in missing))
        what = [
            f"executable {executable!r} of ROS package {package!r}" if executable else f"package {package!r}"
            for package, executable in missing
        ]
        debian = " ".join(f"ros-$ROS_DISTRO-{package.replace('_', '-')}" for package in packages)
        is_there = "is not there: install it" if len(missing) == 1 else "are not there: install them"
        super().__init__(
            f"{', '.join(what)} {is_there} and source the setup.bash (apt install {debian}); "
            "nothing was started"
        )


class ControllersFileError(KaneDynamicsError):
    """A controller in ``controllers_file`` is for joints that the model does not have."""

    def __init__(self, file: Path, controller: str, unknown: Sequence[str], joints: Sequence[str]) -> None:
        super().__init__(
            f"{file}: controller {controller!r} is for joints {', '.join(map(repr, unknown))}, which the "
            f"model does not have; its joints are {', '.join(map(repr, joints))}; nothing was started"
        )


class BagRefusedError(KaneDynamicsError):
    """The bag cannot be replayed with the model."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason.removeprefix('error: ')}; nothing was started")


class NodeEndedError(KaneDynamicsError):
    """A node that the others need has ended, so the launch ends."""

    def __init__(self, name: str, code: int, last_words: str) -> None:
        self.name, self.exit_code = name, code
        why = f": {last_words}" if last_words else "; what it said stands above"
        super().__init__(f"{name} ended with exit code {code}, so the launch ends{why}")


@dataclass(frozen=True)
class NodePlan:
    """One node: ``parameters`` are files and mappings, the later ones win.

    The end of one that is ``required`` ends the launch with an error; one that ``finishes`` may end well.
    """

    package: str
    executable: str
    parameters: tuple[str | dict[str, Any], ...] = ()
    remappings: tuple[tuple[str, str], ...] = ()
    arguments: tuple[str, ...] = ()
    required: bool = True
    finishes: bool = False
    optional: bool = False  # left out, with a word, where its package is not installed


@dataclass(frozen=True)
class LaunchPlan:
    """Everything that a launch starts.

    ``last`` is a command whose end, well or not, ends the launch; ``last_name`` is what it is called then.
    Where ``ready`` is not empty, the nodes start when ``last`` has written that to standard output.
    """

    nodes: tuple[NodePlan, ...]
    namespace: str = ""
    last: tuple[str, ...] = ()
    last_name: str = ""
    ready: str = ""
    notes: tuple[str, ...] = field(default=())
    packages: tuple[str, ...] = ()  # which the nodes need besides their own


def plan_feedforward(values: Mapping[str, str]) -> LaunchPlan:
    """The node beside a real robot's ros2_control; ``values`` are those of ``ROBOT_ARGUMENTS``.

    Raises ``KaneDynamicsError`` with the argument, file or parameter that keeps it from starting.
    """
    return _robot_plan(_Robot(values))


def plan_simulation(values: Mapping[str, str]) -> LaunchPlan:
    """The launch with a simulated arm; ``values`` are those of ``SIMULATION_ARGUMENTS``."""
    robot = _Robot(values)
    plan = _robot_plan(robot)
    own = {
        "model": robot.model_name,
        "robot_description": robot.description,
        "time.mode": "lock_step" if robot.use_sim_time else "wall",
    }
    file = _file(values, "hardware_params_file")
    hardware = _simulated_arm(values, file, own, robot.model, robot.namespace, robot.remappings)
    return LaunchPlan((hardware, *plan.nodes), plan.namespace, notes=plan.notes)


def plan_ros2_control(values: Mapping[str, str]) -> LaunchPlan:
    """The simulated arm as ros2_control's hardware, controller_manager and its controllers."""
    interface = values["interface"]
    if interface not in COMMAND_INTERFACES:
        raise LaunchArgumentError("interface", interface, f"one of {', '.join(COMMAND_INTERFACES)}")
    description = urdf_of_arguments(values)
    model = load_model(values["model"], backend="python")
    _check_model_of_file(model, description, values)
    described = with_topic_hardware(description, model, interface)
    controllers = _controllers_file(values, model)
    started = shlex.split(values["controllers"])
    manager = file_parameters(controllers, "controller_manager", "")
    types = {str(manager.get(f"{name}.type", "")).partition("/")[0] for name in started}
    own: dict[str, Any] = {
        "model": values["model"],
        "robot_description": description,
        "command.type": "joint_state",
        "command.interface": interface,
        "publish_rate": 1000.0,
        "time.mode": "clock" if values["rate"] else "wall",
    }
    if values["rate"]:
        own["time.rate"] = _number(values, "rate")
    file = _file(values, "hardware_params_file") if values["hardware_params_file"] else None
    sim_time = {"use_sim_time": bool(values["rate"])}
    topics = tuple((name, f"{ARM_TOPICS}/{name}") for name in ("joint_commands", "joint_states"))
    return LaunchPlan(
        (
            _simulated_arm(values, file, own, model, "", topics),
            NodePlan(
                "robot_state_publisher",
                "robot_state_publisher",
                ({"robot_description": described, **sim_time},),
            ),
            NodePlan("controller_manager", "ros2_control_node", (str(controllers), sim_time)),
            NodePlan(
                "controller_manager",
                "spawner",
                arguments=(*started, "--param-file", str(controllers)),
                finishes=True,
            ),
        ),
        packages=(TOPIC_HARDWARE, *(package for package in CONTROLLER_PACKAGES if package in types)),
    )


def _controllers_file(values: Mapping[str, str], model: DynamicsModel) -> Path:
    """The file that is given, or the shipped one, which is for the shipped model alone.

    Raises ``LaunchArgumentError``, and ``ControllersFileError`` where a controller that is started is for
    other joints than the model's.
    """
    if values["controllers_file"]:
        file = _file(values, "controllers_file")
    elif is_shipped(values["model"]):
        file = SHARE / "config" / "joint_trajectory_controller.yaml"
    else:
        allowed = f"a file with controllers and gains for model {values['model']!r}"
        raise LaunchArgumentError("controllers_file", "", allowed)
    for name in shlex.split(values["controllers"]):
        joints = file_parameters(file, name, "").get("joints")
        given = joints if isinstance(joints, list) else []
        unknown = [each for each in given if each not in model.joint_names]
        if unknown:
            raise ControllersFileError(file, name, unknown, model.joint_names)
    return file


def plan_replay(values: Mapping[str, str]) -> LaunchPlan:
    """A node of its own, and the player whose end ends the launch; ``values``: ``REPLAY_ARGUMENTS``.

    Raises ``KaneDynamicsError`` where the bag cannot be read, lacks joints of the model, or describes another
    robot: the node would refuse every state of it.
    """
    if not values["bag"] or not Path(values["bag"]).exists():
        raise LaunchArgumentError("bag", values["bag"], "the path of a bag folder or file that exists")
    _number(values, "rate")
    for package in BAG_PACKAGES:
        if importlib.util.find_spec(package) is None and (
            missing := missing_package(ImportError(name=package))
        ):
            raise missing
    model = load_model(values["model"], backend="python")
    own = {"model": values["model"], "mode": values["mode"], "use_sim_time": True}
    build_settings(_defaults(FEEDFORWARD_TABLE) | _checked(FEEDFORWARD_TABLE, own), model)
    description = _description_in_bag(values)
    if description:  # the player publishes it, and the node stops when it is another robot's
        check_model(model, description)
    player = module_command(PACKAGE, "replay", values["bag"], "--model", values["model"], "--live")
    return LaunchPlan(
        (NodePlan(PACKAGE, "feedforward_node", (own,)),),
        last=(*player, "--rate", values["rate"]),
        last_name="replay",
        ready=PLAYED,
    )


def _description_in_bag(values: Mapping[str, str]) -> str:
    """The bag's ``robot_description``, empty where it has none; what reads bags is in a process of its own.

    Raises ``BagRefusedError`` where the bag cannot be read, or lacks joints of the model.
    """
    command = module_command("kane_dynamics_ros.replay.live", values["bag"], "--model", values["model"])
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").splitlines()
        raise BagRefusedError(lines[-1] if lines else f"{values['bag']}: exit code {done.returncode}")
    return done.stdout.decode("utf-8", "replace")


class _Robot:
    """The arguments that both launch files have in common, read and checked."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self.namespace = _name(values, "namespace") if values["namespace"] else ""
        self.use_sim_time = _switch(values, "use_sim_time")
        self.rviz = _switch(values, "rviz")
        self.rviz_config = _file(values, "rviz_config") if self.rviz else None
        self.publish_description = _switch(values, "publish_description")
        self.remappings = ((COMMAND_TOPIC, f"{_name(values, 'controller')}/commands"),)
        self.description = urdf_of_arguments(values)
        self.params_file = _file(values, "params_file") if values["params_file"] else None
        asked = {key: values[key] for key in ("model", "mode") if values[key]}
        if self.params_file is None and is_shipped(asked.get("model", SHIPPED)):
            self.params_file = SHARE / "config" / "feedforward.yaml"
        given = _parameters(self.params_file, "feedforward_node", self.namespace, FEEDFORWARD_TABLE)
        given |= _checked(FEEDFORWARD_TABLE, asked)
        self.model_name: str = given["model"]
        self.model: DynamicsModel = load_model(self.model_name, backend="python")
        if given["description_check"] != "off" and not given["generate_when_stale"]:
            self._check_model(values)
        build_settings(given, self.model)
        self.own: dict[str, Any] = asked | {"use_sim_time": self.use_sim_time}

    def _check_model(self, values: Mapping[str, str]) -> None:
        try:
            _check_model_of_file(self.model, self.description, values)
        except KaneDynamicsError:
            if values["model"] or not is_shipped(self.model_name):
                raise
            allowed = f"the module generated from {values['urdf']} (kane_dynamics generate)"
            raise LaunchArgumentError("model", "", allowed) from None


def _check_model_of_file(model: DynamicsModel, description: str, values: Mapping[str, str]) -> None:
    """As ``check_model``; where xacro made the description, its arguments may be what differs."""
    try:
        check_model(model, description)
    except StaleModelError as error:
        if not values["urdf"].endswith(".xacro"):
            raise
        remedy = "or give xacro_arguments:='name:=value ...' as the model was generated with (--xacro)"
        raise StaleModelError(error.model, error.differences, remedy) from None


def _simulated_arm(
    values: Mapping[str, str],
    file: Path | None,
    own: dict[str, Any],
    model: DynamicsModel,
    namespace: str,
    remappings: tuple[tuple[str, str], ...],
) -> NodePlan:
    """The simulated hardware with a file's parameters and ``own`` ones, which win; they are tried here."""
    if values["elastic"]:
        own = own | {"elastic": values["elastic"]}
    given = _parameters(file, "simulated_hardware", namespace, HARDWARE_TABLE) | _checked(HARDWARE_TABLE, own)
    if given["elastic"] not in ("", "urdf") and not Path(given["elastic"]).is_file():
        raise LaunchArgumentError("elastic", given["elastic"], "a YAML file, urdf or nothing")
    if given["engine"] == "own" and not given["elastic"]:  # the others need what is slow to load
        build_hardware(model, given)
    files = () if file is None else (str(file),)
    return NodePlan(PACKAGE, "simulated_hardware_node", (*files, own), remappings)


def _robot_plan(robot: _Robot) -> LaunchPlan:
    """The feedforward node, robot_state_publisher and RViz."""
    files = () if robot.params_file is None else (str(robot.params_file),)
    nodes = [NodePlan(PACKAGE, "feedforward_node", (*files, robot.own), robot.remappings)]
    sim_time = {"use_sim_time": robot.use_sim_time}
    if robot.publish_description:
        described = {"robot_description": robot.description, **sim_time}
        publisher = "robot_state_publisher"
        nodes.append(NodePlan(publisher, publisher, (described,), optional=True))
    if robot.rviz:
        shown = ("-d", str(robot.rviz_config))
        nodes.append(NodePlan("rviz2", "rviz2", (sim_time,), arguments=shown, required=False, optional=True))
    notes = () if files else ("no params_file: every gain follows from the joints' inertias",)
    return LaunchPlan(tuple(nodes), robot.namespace, notes=notes)


def is_shipped(model: str) -> bool:
    """Whether a module's name or path means the shipped one, which the shipped gains belong to."""
    return find_module(model).resolve() == find_module(SHIPPED).resolve()


def with_topic_hardware(description: str, model: DynamicsModel, interface: str) -> str:
    """The URDF with its <ros2_control> replaced by one whose hardware is the simulated arm, over topics."""
    root = ElementTree.fromstring(description)
    initial = dict(zip(model.joint_names, initial_positions(model.joints).tolist(), strict=True))
    for each in root.findall("ros2_control"):
        root.remove(each)
    control = ElementTree.SubElement(root, "ros2_control", name=model.name, type="system")
    hardware = ElementTree.SubElement(control, "hardware")
    ElementTree.SubElement(hardware, "plugin").text = TOPIC_PLUGIN
    for name, value in (
        ("joint_commands_topic", f"/{ARM_TOPICS}/joint_commands"),
        ("joint_states_topic", f"/{ARM_TOPICS}/joint_states"),
        ("trigger_joint_command_threshold", "-1"),  # an effort that equals the measured one is a command too
    ):
        ElementTree.SubElement(hardware, "param", name=name).text = value
    for joint in model.joint_names:
        element = ElementTree.SubElement(control, "joint", name=joint)
        ElementTree.SubElement(element, "command_interface", name=interface)
        for state in ("position", "velocity", "effort"):
            reported = ElementTree.SubElement(element, "state_interface", name=state)
            if state == "position":
                ElementTree.SubElement(reported, "param", name="initial_value").text = repr(initial[joint])
    ElementTree.indent(control)
    return ElementTree.tostring(root, encoding="unicode")


def urdf_of_arguments(values: Mapping[str, str]) -> str:
    """The text of the URDF that ``urdf`` and ``xacro_arguments`` mean. Raises ``KaneDynamicsError``."""
    path, given = values["urdf"], values["xacro_arguments"]
    try:
        pairs = [word.partition(":=") for word in shlex.split(given)]
    except ValueError as error:  # a quotation that does not end
        raise LaunchArgumentError("xacro_arguments", given, f"name:=value ...: {error}") from None
    if not all(name and separator for name, separator, _ in pairs):
        raise LaunchArgumentError("xacro_arguments", given, "name:=value other:=value ...")
    if pairs and not path.endswith(".xacro"):
        raise LaunchArgumentError("xacro_arguments", given, f"none: {path} is not a xacro file")
    text = urdf_text(path, {name: value for name, _, value in pairs})
    parse_robot(text, path)
    return text


def _switch(values: Mapping[str, str], name: str) -> bool:
    text = values[name].lower()
    if text not in ("true", "false"):
        raise LaunchArgumentError(name, values[name], "true or false")
    return text == "true"


def _number(values: Mapping[str, str], name: str) -> float:
    try:
        number = float(values[name])
    except ValueError:
        number = math.nan
    if not 0.0 < number < math.inf:
        raise LaunchArgumentError(name, values[name], "a number above 0")
    return number


def _name(values: Mapping[str, str], name: str) -> str:
    if not ROS_NAME.fullmatch(values[name]):
        raise LaunchArgumentError(name, values[name], "a ROS name: letters, digits and _, separated by /")
    return values[name]


def _file(values: Mapping[str, str], name: str) -> Path:
    path = Path(values[name])
    if not path.is_file():
        raise LaunchArgumentError(name, values[name], "the path of a file that exists")
    return path


def _parameters(file: Path | None, node: str, namespace: str, table: Sequence[Declaration]) -> dict[str, Any]:
    """Checked values of a node's whole table, with what a parameter file says of it."""
    loaded = {} if file is None else file_parameters(file, node, namespace)
    return _defaults(table) | _checked(table, loaded)


def _defaults(table: Sequence[Declaration]) -> dict[str, Any]:
    return {each.name: checked_value(each, each.default) for each in table}


def _checked(table: Sequence[Declaration], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that the table knows, checked; the node itself warns of the others."""
    given = {each.name: values[each.former] for each in table if each.former in values} | dict(values)
    return {each.name: checked_value(each, given[each.name]) for each in table if each.name in given}


# A plan as actions of ROS's launch


def launch_description(arguments: Sequence[Argument], plan: Callable[[Mapping[str, str]], LaunchPlan]) -> Any:
    """The ``LaunchDescription``: the arguments, then what the plan made of their values starts."""
    launch, actions = importlib.import_module("launch"), importlib.import_module("launch.actions")
    declared = [
        actions.DeclareLaunchArgument(each.name, default_value=each.default, description=each.description)
        for each in arguments
    ]

    def start(context: Any) -> list[Any]:
        values = {each.name: str(context.launch_configurations.get(each.name, "")) for each in arguments}
        return actions_of_plan(plan(values))

    return launch.LaunchDescription([*declared, actions.OpaqueFunction(function=start)])


def actions_of_plan(plan: LaunchPlan) -> list[Any]:
    """The actions that carry the plan out. Notes come first, the command that ends the launch last."""
    actions = importlib.import_module("launch.actions")
    _check_installed(plan)  # before the first node starts: launch would leave that behind
    words = [actions.LogInfo(msg=note) for note in plan.notes]
    nodes = [action for node in plan.nodes for action in _node_actions(node, plan.namespace)]
    if not plan.last:
        return words + nodes
    last = actions.ExecuteProcess(cmd=list(plan.last), output="screen")
    ending = _on_end(last, plan.last_name, "end")
    if not plan.ready:
        return [*words, *nodes, last, *ending]
    return [*words, last, *ending, _when_said(last, plan.ready, nodes)]


def _when_said(action: Any, words: str, then: Sequence[Any]) -> Any:
    """A handler that starts actions, once, when a process has written words to standard output."""
    handlers = importlib.import_module("launch.event_handlers")
    waiting = list(then)
    said = bytearray()

    def listen(event: Any) -> list[Any] | None:
        said.extend(event.text)
        if words.encode() not in said or not waiting:
            return None
        started = waiting.copy()
        waiting.clear()
        return started

    register = importlib.import_module("launch.actions").RegisterEventHandler
    return register(handlers.OnProcessIO(target_action=action, on_stdout=listen))


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
    success: Success = "finished" if node.finishes else "error"
    return [action, *(_on_end(action, node.executable, success) if node.required else [])]


Success = Literal["error", "end", "finished"]  # what exit code 0 is: no end was asked for, the launch's, fine


def _on_end(action: Any, name: str, success: Success) -> list[Any]:
    """Handlers: the last error that the process tells is remembered, and its end becomes the launch's.

    The exception is launch's way to a non-zero exit code; where ``success`` is an error, exit code 0 is
    one too: that of a node which was not asked to end.
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
        if event.returncode or success == "error":
            error: KaneDynamicsError = NodeEndedError(name, event.returncode, last_words[0])
            return [actions.OpaqueFunction(function=_raiser(error))]
        if success == "finished":
            return []
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


def _check_installed(plan: LaunchPlan) -> None:
    """Raise ``NotInstalledError`` with every package and executable that is missing."""
    missing = []
    for node in plan.nodes:
        prefix = _prefix(node.package)
        if prefix is None and node.optional:
            continue
        if prefix is None or not (prefix / "lib" / node.package / node.executable).is_file():
            missing.append((node.package, node.executable))
    missing += [(package, "") for package in plan.packages if not _installed(package)]
    if missing:
        raise NotInstalledError(missing)
