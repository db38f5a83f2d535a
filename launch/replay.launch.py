"""Play a bag to a feedforward node of its own and compare every command with the offline answer.

    ros2 launch kane_dynamics_ros replay.launch.py bag:=my_bag model:=models/my_robot.py mode:=feedforward

The launch ends with the comparison, and with its exit code.
"""

from kane_dynamics_ros.nodes.launch import REPLAY_ARGUMENTS, launch_description, plan_replay
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """The node on simulated time, and the player, whose end ends the launch."""
    return launch_description(REPLAY_ARGUMENTS, plan_replay)
