"""Simulated hardware and the feedforward node in a closed loop, without a robot.

    ros2 launch kane_dynamics_ros simulation.launch.py rviz:=true

Takes feedforward.launch.py's arguments too. With ``use_sim_time:=true`` the simulation waits for every
command and publishes /clock, so that the outcome does not depend on the machine's speed.
"""

from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PythonExpression
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from kane_dynamics_ros.share import share_directory
from launch import LaunchDescription

SHARE = share_directory()
COMMAND_TOPIC = "forward_effort_controller/commands"


def generate_launch_description() -> LaunchDescription:
    """feedforward.launch.py, and the simulated hardware that it commands."""
    source = PythonLaunchDescriptionSource(str(SHARE / "launch" / "feedforward.launch.py"))
    hardware_file = DeclareLaunchArgument(
        "hardware_params_file",
        default_value=str(SHARE / "config" / "simulated_hardware.yaml"),
        description="parameters of the simulated hardware, under /**:",
    )
    return LaunchDescription([hardware_file, IncludeLaunchDescription(source), simulated_hardware()])


def simulated_hardware() -> Node:
    """The plant with the same model, controller and namespace."""
    use_sim_time = LaunchConfiguration("use_sim_time")
    time_mode = PythonExpression(["'lock_step' if '", use_sim_time, "'.lower() == 'true' else 'wall'"])
    return Node(
        package="kane_dynamics_ros",
        executable="simulated_hardware_node",
        namespace=LaunchConfiguration("namespace"),
        output="screen",
        parameters=[
            LaunchConfiguration("hardware_params_file"),
            {
                "model": ParameterValue(LaunchConfiguration("model"), value_type=str),
                "time.mode": ParameterValue(time_mode, value_type=str),
            },
        ],
        remappings=[(COMMAND_TOPIC, [LaunchConfiguration("controller"), "/commands"])],
    )
