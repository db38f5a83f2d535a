"""The feedforward node beside a real robot's ros2_control, with robot_state_publisher and RViz if wanted.

    ros2 launch kane_dynamics_ros feedforward.launch.py urdf:=arm.urdf.xacro model:=models/arm.py

``ros2 launch kane_dynamics_ros feedforward.launch.py --show-args`` explains every argument. Everything is
read and checked before anything starts; when a node ends, the launch ends.
"""

from kane_dynamics_ros.nodes.launch import ROBOT_ARGUMENTS, launch_description, plan_feedforward
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """The arguments, then the nodes that they ask for."""
    return launch_description(ROBOT_ARGUMENTS, plan_feedforward)
