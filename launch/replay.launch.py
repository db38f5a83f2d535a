"""Play a bag to a feedforward node of its own and compare every command with the offline answer.

    ros2 launch kane_dynamics_ros replay.launch.py bag:=my_bag model:=models/my_robot.py mode:=feedforward

The launch ends with the comparison.
"""

import sys

from launch.actions import DeclareLaunchArgument, ExecuteProcess, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """The node on simulated time, and the player, whose end ends the launch."""
    bag, model, mode, rate = map(LaunchConfiguration, ("bag", "model", "mode", "rate"))
    node = Node(
        package="kane_dynamics_ros",
        executable="feedforward_node",
        output="screen",
        parameters=[{"model": model, "mode": mode, "use_sim_time": True}],
    )
    replay = [sys.executable, "-m", "kane_dynamics_ros", "replay", bag, "--model", model, "--live"]
    return LaunchDescription(
        [
            DeclareLaunchArgument("bag", description="bag folder or file"),
            DeclareLaunchArgument("model", default_value="manipulator_5dof", description="generated module"),
            DeclareLaunchArgument("mode", default_value="computed_torque", description="mode of the node"),
            DeclareLaunchArgument("rate", default_value="1", description="times the recorded rate"),
            node,
            ExecuteProcess(cmd=[*replay, "--rate", rate], output="screen", on_exit=Shutdown()),
        ]
    )
