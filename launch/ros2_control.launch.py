"""joint_trajectory_controller, admittance, MoveIt against an arm with real torques and no robot.

    ros2 launch kane_dynamics_ros ros2_control.launch.py

controller_manager with the simulated arm as its hardware, over topics; needs the packages controller_manager,
robot_state_publisher, joint_state_topic_hardware_interface and the controllers. docs/howto/ros2_control.md
explains it. With ``rate:=0.2`` the arm publishes /clock, five times slower than the wall; with
``elastic:=urdf``, or a file of links, it bends.
"""

from kane_dynamics_ros.nodes.launch import ROS2_CONTROL_ARGUMENTS, launch_description, plan_ros2_control
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """The arguments, then the arm, controller_manager and its controllers."""
    return launch_description(ROS2_CONTROL_ARGUMENTS, plan_ros2_control)
