"""The feedforward node beside a real robot's ros2_control, with robot_state_publisher and RViz if wanted.

    ros2 launch kane_dynamics_ros feedforward.launch.py urdf:=arm.urdf.xacro model:=models/arm.py

``ros2 launch kane_dynamics_ros feedforward.launch.py --show-args`` explains every argument.
"""

import shlex

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from kane_dynamics_ros.description.load import expand_xacro, read_bytes
from kane_dynamics_ros.share import share_directory
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

SHARE = share_directory()
COMMAND_TOPIC = "forward_effort_controller/commands"

ARGUMENTS = (
    ("urdf", str(SHARE / "urdf" / "manipulator_5dof.urdf.xacro"), "URDF or xacro file of the robot"),
    ("xacro_arguments", "", "arguments of the xacro file: 'name:=value other:=value'"),
    ("model", "manipulator_5dof", "generated module: a path, or the name of the shipped one"),
    ("mode", "computed_torque", "feedforward, feedforward_pd, computed_torque or gravity_compensation"),
    ("params_file", str(SHARE / "config" / "feedforward.yaml"), "parameters of the node, under /**:"),
    ("namespace", "", "namespace of every node"),
    ("use_sim_time", "false", "take the time from /clock"),
    ("controller", "forward_effort_controller", "controller whose commands topic gets the efforts"),
    ("publish_description", "true", "start robot_state_publisher, where it is installed"),
    ("rviz", "false", "start RViz, where it is installed"),
    ("rviz_config", str(SHARE / "config" / "manipulator_5dof.rviz"), "RViz configuration"),
)


def generate_launch_description() -> LaunchDescription:
    """The arguments, then the nodes that they ask for."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text)
        for name, default, text in ARGUMENTS
    ]
    return LaunchDescription([*declared, feedforward(), OpaqueFunction(function=viewers)])


def feedforward() -> Node:
    """The node itself; what its file sets, ``model`` and ``mode`` override."""
    controller = LaunchConfiguration("controller")
    return Node(
        package="kane_dynamics_ros",
        executable="feedforward_node",
        namespace=LaunchConfiguration("namespace"),
        output="screen",
        parameters=[
            LaunchConfiguration("params_file"),
            {
                "model": ParameterValue(LaunchConfiguration("model"), value_type=str),
                "mode": ParameterValue(LaunchConfiguration("mode"), value_type=str),
                "use_sim_time": ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool),
            },
        ],
        remappings=[(COMMAND_TOPIC, [controller, "/commands"])],
    )


def viewers(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """robot_state_publisher and RViz, as far as they are installed."""
    use_sim_time = ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool)
    publisher = Node(
        package="robot_state_publisher",
        executable="robot_state_publisher",
        namespace=LaunchConfiguration("namespace"),
        parameters=[
            {
                "robot_description": ParameterValue(urdf_text(context), value_type=str),
                "use_sim_time": use_sim_time,
            }
        ],
        condition=IfCondition(LaunchConfiguration("publish_description")),
    )
    rviz = Node(
        package="rviz2",
        executable="rviz2",
        namespace=LaunchConfiguration("namespace"),
        arguments=["-d", LaunchConfiguration("rviz_config")],
        parameters=[{"use_sim_time": use_sim_time}],
        condition=IfCondition(LaunchConfiguration("rviz")),
    )
    return [*if_installed("robot_state_publisher", publisher), *if_installed("rviz2", rviz)]


def if_installed(package: str, node: Node) -> list[LaunchDescriptionEntity]:
    """The node, or a line that says why not."""
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return [LogInfo(msg=f"{package} is not installed: going on without it", condition=node.condition)]
    return [node]


def urdf_text(context: LaunchContext) -> str:
    """The URDF that the arguments name, xacro expanded; without a shell, so that paths may hold spaces."""
    path = LaunchConfiguration("urdf").perform(context)
    words = shlex.split(LaunchConfiguration("xacro_arguments").perform(context))
    data = read_bytes(path)
    if not path.endswith(".xacro"):
        return data.decode("utf-8")
    return expand_xacro(path, data, dict(word.split(":=", 1) for word in words))
