"""ros2_control beside the node: whether its controller and hardware let commands reach the arm.

controller_manager tells each change on ``~/activity`` (seen with ros2_control 5.16); the joints of each
hardware component come from its service ``list_hardware_components``. Where controller_manager_msgs is not
installed, or no controller_manager runs, nothing is known and nothing is reported.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rclpy.node import Node

from kane_dynamics_ros.nodes.messages import LATCHED_QOS

try:
    from controller_manager_msgs.msg import ControllerManagerActivity
    from controller_manager_msgs.srv import ListHardwareComponents
except ImportError:
    ControllerManagerActivity = ListHardwareComponents = None

ACTIVE = "active"


@dataclass(frozen=True)
class Activity:
    """States by name of controllers and of hardware components, as controller_manager tells them."""

    controllers: Mapping[str, str]
    hardware: Mapping[str, str]


def obstacle(
    activity: Activity, controller: str, joints_of: Mapping[str, frozenset[str]], ours: Iterable[str]
) -> str | None:
    """Why commands do not reach the arm, or None.

    ``joints_of`` says which joints each hardware component commands; a component that is not in it, or has
    none of ``ours``, does not matter.
    """
    state = activity.controllers.get(controller)
    if state is None:
        return f"controller {controller!r} is not loaded"
    if state != ACTIVE:
        return f"controller {controller!r} is {state}"
    needed = frozenset(ours)
    for name, state in activity.hardware.items():
        if state != ACTIVE and joints_of.get(name, frozenset()) & needed:
            return f"hardware {name!r} is {state}"
    return None


def activity_from(message: Any) -> Activity:
    """What a ``ControllerManagerActivity`` says."""
    controllers = {each.name: each.state.label for each in message.controllers}
    hardware = {each.name: each.state.label for each in message.hardware_components}
    return Activity(controllers, hardware)


def joints_from(response: Any) -> dict[str, frozenset[str]]:
    """The joints that each component of a ``ListHardwareComponents`` response commands."""
    return {
        component.name: frozenset(each.name.rsplit("/", 1)[0] for each in component.command_interfaces)
        for component in response.component
    }


def controller_of(topic: str) -> str:
    """The controller whose command topic this is: the name before the last slash."""
    return topic.rsplit("/", 2)[-2] if topic.count("/") else topic


class ControllerManagerFollower:
    """Tells ``react`` whenever the obstacle between commands and arm changes; None: there is none.

    ``has_been_clear``: there was a moment without one. Until then everything is still being brought up.
    """

    def __init__(
        self, node: Node, manager: str, topic: str, ours: Iterable[str], react: Callable[[str | None], None]
    ) -> None:
        self._node = node
        self._controller, self._ours, self._react = controller_of(topic), tuple(ours), react
        self._activity: Activity | None = None
        self._joints: dict[str, frozenset[str]] = {}
        self._notified: str | None = None
        self.has_been_clear = False
        self._subscription: Any = None
        self._client: Any = None
        if manager and ControllerManagerActivity is not None:
            activity = f"{manager}/activity"
            self._subscription = node.create_subscription(
                ControllerManagerActivity, activity, self.on_activity, LATCHED_QOS
            )
            self._client = node.create_client(ListHardwareComponents, f"{manager}/list_hardware_components")

    def on_activity(self, message: Any) -> None:
        """Controllers or hardware changed state."""
        self._activity = activity_from(message)
        if self._client is not None and self._client.service_is_ready():
            future = self._client.call_async(ListHardwareComponents.Request())
            future.add_done_callback(lambda done: self.on_components(done.result()))
        self._notify()

    def on_components(self, response: Any) -> None:
        """Which joints each hardware component commands."""
        if response is not None:
            self._joints = joints_from(response)
            self._notify()

    def destroy(self) -> None:
        """End following."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._node.destroy_client(self._client)

    def _notify(self) -> None:
        if self._activity is None:
            return
        found = obstacle(self._activity, self._controller, self._joints, self._ours)
        if found != self._notified:
            self._notified = found
            self._react(found)
        self.has_been_clear = self.has_been_clear or found is None
