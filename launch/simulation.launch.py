"""Simulated hardware and the feedforward node in a closed loop, without a robot.

    ros2 launch kane_dynamics_ros simulation.launch.py rviz:=true

Takes feedforward.launch.py's arguments too. With ``use_sim_time:=true`` the simulation waits for every
command and publishes /clock, so that the outcome does not depend on the machine's speed. Everything is
read and checked before anything starts; when a node ends, the launch ends.
"""

from kane_dynamics_ros.nodes.launch import SIMULATION_ARGUMENTS, launch_description, plan_simulation
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """The arguments, then the simulated hardware and what commands it."""
    return launch_description(SIMULATION_ARGUMENTS, plan_simulation)
