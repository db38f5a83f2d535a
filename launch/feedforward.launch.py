"""The feedforward node beside a real robot's ros2_control, with robot_state_publisher and RViz if wanted.

    ros2 launch kane_dynamics_ros feedforward.launch.py urdf:=arm.urdf.xacro model:=models/arm.py

``ros2 launch kane_dynamics_ros feedforward.launch.py --show-args`` explains every argument. Everything is
read and checked before anything starts; when a node ends, the launch ends.
"""

from launch.actions import OpaqueFunction

from kane_dynamics_ros.nodes import launch as checks
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """The arguments, then the nodes that they ask for."""
    arguments = [*checks.robot_arguments(), *checks.place_arguments(), *checks.view_arguments()]

    def start(context):
        values = checks.values_of(context, arguments)
        robot = checks.check_robot(values)
        checks.check_installed((checks.PACKAGE, "feedforward_node"))
        return [*checks.feedforward_node(robot, values), *checks.views(robot, values)]

    return LaunchDescription([*arguments, OpaqueFunction(function=start)])
