"""Simulated hardware and the feedforward node in a closed loop, without a robot.

    ros2 launch kane_dynamics_ros simulation.launch.py rviz:=true

Takes feedforward.launch.py's arguments too. With ``use_sim_time:=true`` the simulation waits for every
command and publishes /clock, so that the outcome does not depend on the machine's speed. Everything is
read and checked before anything starts; when a node ends, the launch ends.
"""

from launch.actions import OpaqueFunction

from kane_dynamics_ros.nodes import launch as checks
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """The arguments, then the simulated hardware and what commands it."""
    arguments = [
        *checks.robot_arguments(),
        *checks.place_arguments(),
        *checks.view_arguments(),
        checks.argument(
            "hardware_params_file",
            str(checks.SHARE / "config" / "simulated_hardware.yaml"),
            "parameters of the simulated hardware, under /**:",
        ),
        checks.elastic_argument(),
    ]

    def start(context):
        values = checks.values_of(context, arguments)
        robot = checks.check_robot(values)
        commands = [("forward_effort_controller/commands", f"{values['controller']}/commands")]
        mode = {"time.mode": "lock_step" if robot.use_sim_time else "wall"}
        arm = checks.simulated_arm(robot, values, mode, commands)
        nodes = [*arm, *checks.feedforward_node(robot, values), *checks.views(robot, values)]
        checks.check_installed(
            (checks.PACKAGE, "simulated_hardware_node"), (checks.PACKAGE, "feedforward_node")
        )
        return nodes

    return LaunchDescription([*arguments, OpaqueFunction(function=start)])
