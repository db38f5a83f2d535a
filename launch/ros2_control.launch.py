"""joint_trajectory_controller, admittance, MoveIt or the feedforward node, against an arm with real torques.

    ros2 launch kane_dynamics_ros ros2_control.launch.py
    ros2 launch kane_dynamics_ros ros2_control.launch.py feedforward:=true

controller_manager with the simulated arm as its hardware, over topics; needs the packages controller_manager,
robot_state_publisher, joint_state_topic_hardware_interface and the controllers.
docs/howto/simulated_ros2_control.md explains it. With ``feedforward:=true`` the controllers are
joint_state_broadcaster and forward_effort_controller, and the feedforward node commands the arm through them.
With ``rate:=0.2`` the arm publishes /clock, five times slower than the wall; with ``elastic:=urdf``, or a
file of links, it bends.
"""

import shlex
from xml.etree import ElementTree

from launch.actions import OpaqueFunction
from launch_ros.actions import Node

from kane_dynamics_ros.nodes import launch as checks
from kane_dynamics_ros.runtime import initial_positions
from kane_dynamics_ros.runtime.node_parameters import file_parameters
from kane_dynamics_ros.simulation.actuators import COMMAND_INTERFACES
from launch import LaunchDescription

TOPIC_HARDWARE = "joint_state_topic_hardware_interface"
ARM_TOPICS = "simulated_arm"  # where the arm's own topics are, apart from joint_state_broadcaster's
TRAJECTORY = ("joint_state_broadcaster joint_trajectory_controller", "joint_trajectory_controller.yaml")
FEEDFORWARD = ("joint_state_broadcaster forward_effort_controller", "controllers.yaml")
OF_ROS2_CONTROLLERS = ("joint_state_broadcaster", "joint_trajectory_controller", "forward_command_controller")


def generate_launch_description() -> LaunchDescription:
    """The arguments, then the arm, controller_manager, its controllers and, if wanted, the node."""
    arguments = [
        *checks.robot_arguments(),
        checks.argument("feedforward", "false", "start the feedforward node"),
        checks.argument(
            "interface", "effort", "command interface of every joint: effort, position or velocity"
        ),
        checks.argument(
            "controllers_file",
            "",
            "controller_manager's parameters and those of its controllers, under /**:; empty: "
            f"config/{TRAJECTORY[1]} for {checks.SHIPPED}, config/{FEEDFORWARD[1]} with feedforward; any "
            "other model needs its own",
        ),
        checks.argument(
            "controllers", "", f"controllers that are started; empty: {TRAJECTORY[0]}, or {FEEDFORWARD[0]}"
        ),
        checks.argument("hardware_params_file", "", "more parameters of the simulated hardware, under /**:"),
        checks.elastic_argument(),
        checks.argument(
            "rate", "", "seconds of /clock in a second of the wall; empty: no /clock, the wall's time"
        ),
    ]

    def start(context):
        values = checks.values_of(context, arguments)
        simulated = bool(values["rate"])
        values |= {"namespace": "", "use_sim_time": str(simulated), "controller": "forward_effort_controller"}
        robot = checks.check_robot(values)
        feedforward, interface = checks.switch(values, "feedforward"), values["interface"]
        if interface not in COMMAND_INTERFACES or (feedforward and interface != "effort"):
            allowed = "effort, with feedforward" if feedforward else f"one of {', '.join(COMMAND_INTERFACES)}"
            raise checks.wrong(values, "interface", allowed)
        names, shipped = FEEDFORWARD if feedforward else TRAJECTORY
        started = shlex.split(values["controllers"]) or names.split()
        controllers = checks.file(values, "controllers_file")
        if controllers is None:
            if not checks.is_shipped(robot.model_name):
                allowed = f"a file with controllers and gains for model {robot.model_name!r}"
                raise checks.wrong(values, "controllers_file", allowed)
            controllers = checks.SHARE / "config" / shipped
        check_controllers(controllers, started, robot.model)
        own = {
            "command.type": "joint_state",
            "command.interface": interface,
            "publish_rate": 1000.0,
            "time.mode": "clock" if simulated else "wall",
            **({"time.rate": checks.number(values, "rate")} if simulated else {}),
        }
        topics = [(topic, f"{ARM_TOPICS}/{topic}") for topic in ("joint_commands", "joint_states")]
        arm = checks.simulated_arm(robot, values, own, topics)
        manager = file_parameters(controllers, "controller_manager", "")
        kinds = {str(manager.get(f"{name}.type", "")).partition("/")[0] for name in started}
        checks.check_installed(
            (checks.PACKAGE, "simulated_hardware_node"),
            *([(checks.PACKAGE, "feedforward_node")] if feedforward else []),
            ("robot_state_publisher", "robot_state_publisher"),
            ("controller_manager", "ros2_control_node"),
            ("controller_manager", "spawner"),
            (TOPIC_HARDWARE, ""),
            *((package, "") for package in OF_ROS2_CONTROLLERS if package in kinds),
        )
        sim_time = {"use_sim_time": simulated}
        described = with_topic_hardware(robot.description, robot.model, interface)
        publisher = Node(
            package="robot_state_publisher",
            executable="robot_state_publisher",
            output="screen",
            parameters=[checks.typed({"robot_description": described, **sim_time})],
        )
        controller_manager = Node(
            package="controller_manager",
            executable="ros2_control_node",
            output="screen",
            parameters=[str(controllers), sim_time],
        )
        spawner = Node(
            package="controller_manager",
            executable="spawner",
            output="screen",
            arguments=[*started, "--param-file", str(controllers)],
        )
        return [
            *arm,
            *checks.ends_launch(publisher, "robot_state_publisher"),
            *checks.ends_launch(controller_manager, "ros2_control_node"),
            *checks.ends_launch(spawner, "spawner", success="finished"),
            *(checks.feedforward_node(robot, values) if feedforward else []),
        ]

    return LaunchDescription([*arguments, OpaqueFunction(function=start)])


def check_controllers(params, controllers, model):
    """Raise ``LaunchError`` where a controller in the file is for joints that the model does not have."""
    for name in controllers:
        joints = file_parameters(params, name, "").get("joints")
        unknown = [each for each in joints or [] if each not in model.joint_names]
        if unknown:
            listed, known = (", ".join(map(repr, each)) for each in (unknown, model.joint_names))
            message = (
                f"{params}: controller {name!r} is for joints {listed}, which the model does not have; its "
                f"joints are {known}; nothing was started"
            )
            raise checks.LaunchError(message, "other_joints", controller=name, unknown=unknown)


def with_topic_hardware(description, model, interface):
    """The URDF with its <ros2_control> replaced by one whose hardware is the simulated arm, over topics."""
    root = ElementTree.fromstring(description)
    initial = dict(zip(model.joint_names, initial_positions(model.joints).tolist(), strict=True))
    for each in root.findall("ros2_control"):
        root.remove(each)
    control = ElementTree.SubElement(root, "ros2_control", name=model.name, type="system")
    plugin = ElementTree.SubElement(control, "hardware")
    ElementTree.SubElement(plugin, "plugin").text = f"{TOPIC_HARDWARE}/JointStateTopicSystem"
    for name, value in (
        ("joint_commands_topic", f"/{ARM_TOPICS}/joint_commands"),
        ("joint_states_topic", f"/{ARM_TOPICS}/joint_states"),
        ("trigger_joint_command_threshold", "-1"),  # an effort that equals the measured one is a command too
    ):
        ElementTree.SubElement(plugin, "param", name=name).text = value
    for joint in model.joint_names:
        element = ElementTree.SubElement(control, "joint", name=joint)
        ElementTree.SubElement(element, "command_interface", name=interface)
        for state in ("position", "velocity", "effort"):
            reported = ElementTree.SubElement(element, "state_interface", name=state)
            if state == "position":
                ElementTree.SubElement(reported, "param", name="initial_value").text = repr(initial[joint])
    ElementTree.indent(control)
    return ElementTree.tostring(root, encoding="unicode")
