"""Play a bag to a feedforward node of its own and compare every command with the offline answer.

    ros2 launch kane_dynamics_ros replay.launch.py bag:=my_bag model:=models/my_robot.py mode:=feedforward

The launch ends with the comparison, and with its exit code.
"""

import importlib.util
import subprocess
from pathlib import Path

from launch.actions import ExecuteProcess, OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnProcessIO

from kane_dynamics_ros.errors import missing_package
from kane_dynamics_ros.nodes import launch as checks
from kane_dynamics_ros.nodes.feedforward import parameters as feedforward
from kane_dynamics_ros.nodes.feedforward.model import check_model
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.this_python import module_command
from launch import LaunchDescription

BAG_PACKAGES = ("rosbags", "mcap", "apsw")  # which rosdep does not know
PLAYED = "joint states played to"  # what replay --live says when it has read the bag


def generate_launch_description() -> LaunchDescription:
    """The player, whose end ends the launch, and, as soon as it has read the bag, a node on its time."""
    arguments = [
        checks.argument("bag", None, "bag folder or file"),
        checks.argument("model", checks.SHIPPED, "generated module: a path, or the name of the shipped one"),
        checks.argument("mode", "computed_torque", "mode of the node"),
        checks.argument("rate", "1", "times the recorded rate"),
    ]

    def start(context):
        values = checks.values_of(context, arguments)
        checks.number(values, "rate")
        check_bag(values)
        checks.check_installed((checks.PACKAGE, "feedforward_node"))
        own = {"model": values["model"], "mode": values["mode"], "use_sim_time": True}
        node = checks.our_node("feedforward_node", parameters=[checks.typed(own)])
        command = module_command(
            checks.PACKAGE, "replay", values["bag"], "--model", values["model"], "--live"
        )
        player = ExecuteProcess(cmd=[*command, "--rate", values["rate"]], name="replay", output="screen")
        return [
            *checks.ends_launch(player, "replay", success="end"),
            when_said(player, PLAYED, lambda: checks.ends_launch(node, "feedforward_node")),
        ]

    return LaunchDescription([*arguments, OpaqueFunction(function=start)])


def check_bag(values):
    """Whether the bag can be played to the model's node; what reads bags is in a process of its own.

    Raises ``KaneDynamicsError`` where the bag cannot be read, lacks joints of the model, or describes another
    robot: the node would refuse every state of it.
    """
    if not values["bag"] or not Path(values["bag"]).exists():
        raise checks.wrong(values, "bag", "the path of a bag folder or file that exists")
    for package in BAG_PACKAGES:
        missing = missing_package(ImportError(name=package))
        if importlib.util.find_spec(package) is None and missing:
            raise missing
    own = {"model": values["model"], "mode": values["mode"]}
    model = load_model(values["model"], backend="python")
    feedforward.build_settings(checks.parameters_of(feedforward.TABLE, own), model)
    command = module_command("kane_dynamics_ros.replay.live", values["bag"], "--model", values["model"])
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").splitlines()
        reason = lines[-1] if lines else f"{values['bag']}: exit code {done.returncode}"
        raise checks.LaunchError(f"{reason.removeprefix('error: ')}; nothing was started", "bag")
    if description := done.stdout.decode("utf-8", "replace"):
        check_model(model, description)  # the player publishes it


def when_said(action, words, then):
    """A handler that starts ``then``, once, when a process has written words to standard output."""
    said = bytearray()
    started = []

    def listen(event):
        said.extend(event.text)
        if words.encode() not in said or started:
            return None
        started.extend(then())
        return started

    return RegisterEventHandler(OnProcessIO(target_action=action, on_stdout=listen))
