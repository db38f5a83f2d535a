"""ros2_control beside the node: whether its controller and hardware let commands reach the arm.

controller_manager tells each change on ``~/activity`` (seen with ros2_control 5.16); the joints of each
hardware component come from its service ``list_hardware_components``. Where controller_manager_msgs is not
installed, or no controller_manager runs, nothing is known and nothing is reported.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rclpy.node import Node

from kane_dynamics_ros.nodes.messages import LATCHED_QOS

try:
    from controller_manager_msgs.msg import ControllerManagerActivity
    from controller_manager_msgs.srv import ListHardwareComponents
except ImportError:
    ControllerManagerActivity = ListHardwareComponents = None

ACTIVE = "active"


def obstacle(
    activity: Any, controller: str, joints_of: Mapping[str, frozenset[str]], ours: Iterable[str]
) -> str | None:
    """Why commands do not reach the arm, by a ``ControllerManagerActivity``; None where they do.

    ``joints_of`` says which joints each hardware component commands; a component that is not in it, or has
    none of ``ours``, does not matter.
    """
    states = {each.name: each.state.label for each in activity.controllers}
    if states.get(controller) != ACTIVE:
        return f"controller {controller!r} is {states.get(controller, 'not loaded')}"
    for each in activity.hardware_components:
        if each.state.label != ACTIVE and joints_of.get(each.name, frozenset()) & frozenset(ours):
            return f"hardware {each.name!r} is {each.state.label}"
    return None


def joints_from(response: Any) -> dict[str, frozenset[str]]:
    """The joints that each component of a ``ListHardwareComponents`` response commands."""
    return {
        component.name: frozenset(each.name.rsplit("/", 1)[0] for each in component.command_interfaces)
        for component in response.component
    }


class ControllerManagerFollower:
    """Tells ``react`` whenever the obstacle between commands and arm changes; None: there is none.

    The controller is the one whose command topic is ``topic``: the name before the last slash.
    ``has_been_clear``: there was a moment without an obstacle. Until then everything is being brought up.
    """

    def __init__(
        self, node: Node, manager: str, topic: str, ours: Iterable[str], react: Callable[[str | None], None]
    ) -> None:
        self._node, self._ours, self._react = node, tuple(ours), react
        self._controller = topic.split("/")[-2]
        self._activity: Any = None
        self._joints: dict[str, frozenset[str]] = {}
        self._notified: str | None = None
        self.has_been_clear = False
        self._client: Any = None
        if manager and ControllerManagerActivity is not None:
            topic = f"{manager}/activity"
            kind = ControllerManagerActivity
            self._subscription = node.create_subscription(kind, topic, self.on_activity, LATCHED_QOS)
            components = f"{manager}/list_hardware_components"
            self._client = node.create_client(ListHardwareComponents, components)

    def on_activity(self, message: Any) -> None:
        """Controllers or hardware changed state."""
        self._activity = message
        if self._client is not None and self._client.service_is_ready():
            future = self._client.call_async(ListHardwareComponents.Request())
            future.add_done_callback(lambda done: self.on_components(done.result()))
        self._notify()

    def on_components(self, response: Any) -> None:
        """Which joints each hardware component commands."""
        if response is not None and self._activity is not None:
            self._joints = joints_from(response)
            self._notify()

    def destroy(self) -> None:
        """End following."""
        if self._client is not None:
            self._node.destroy_subscription(self._subscription)
            self._node.destroy_client(self._client)

    def _notify(self) -> None:
        found = obstacle(self._activity, self._controller, self._joints, self._ours)
        if found != self._notified:
            self._notified = found
            self._react(found)
        self.has_been_clear = self.has_been_clear or found is None
