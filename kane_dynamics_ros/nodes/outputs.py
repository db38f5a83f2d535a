"""What the node publishes for every state, with messages that are made once and filled again."""

from array import array
from collections.abc import Sequence

import numpy as np
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from kane_dynamics_ros.control.law import Efforts, Law, efforts_by_term
from kane_dynamics_ros.control.loop import Step
from kane_dynamics_ros.control.splines import Array
from kane_dynamics_ros.nodes.qos import COMMANDS, OUTPUT, publisher_events

COMMAND_TOPIC = "forward_effort_controller/commands"
TERM_NAMES = (*Efforts._fields, "limits")
NANOSECONDS = 1_000_000_000
FLUSH_TIME = Duration(nanoseconds=200_000_000)


class CommandOutput:
    """Efforts (n,) in model order on the controller's command topic."""

    def __init__(self, node: Node, joints: int) -> None:
        events = publisher_events(node.get_logger(), COMMAND_TOPIC)
        self.publisher = node.create_publisher(
            Float64MultiArray, COMMAND_TOPIC, COMMANDS, event_callbacks=events
        )
        self._message = Float64MultiArray(data=array("d", bytes(8 * joints)))
        self._values = np.frombuffer(self._message.data)  # shares the message's memory

    def publish(self, tau: Array) -> None:
        self._values[:] = tau
        self.publisher.publish(self._message)

    def flush(self) -> None:
        """Wait until what was published has arrived where somebody listens."""
        self.publisher.wait_for_all_acked(FLUSH_TIME)


class StepOutput:
    """The reference with its effort, and each term when asked, while somebody listens."""

    def __init__(self, node: Node, joint_names: Sequence[str]) -> None:
        self._names = list(joint_names)
        self._feedforward = node.create_publisher(JointState, "~/feedforward", OUTPUT)
        self._terms: dict[str, Publisher[JointState]] = {
            name: node.create_publisher(JointState, f"~/terms/{name}", OUTPUT) for name in TERM_NAMES
        }
        self.heard = False
        self._feedforward_heard = False
        self._terms_heard = False

    @property
    def publishers(self) -> "list[Publisher[JointState]]":
        return [self._feedforward, *self._terms.values()]

    def look_for_listeners(self, publish_terms: bool) -> None:
        """Ask the middleware who listens; too slow to ask for every state."""
        self._feedforward_heard = self._feedforward.get_subscription_count() > 0
        self._terms_heard = publish_terms and any(
            publisher.get_subscription_count() for publisher in self._terms.values()
        )
        self.heard = self._feedforward_heard or self._terms_heard

    def publish(self, step: Step, law: Law, now_ns: int) -> None:
        if self._feedforward_heard:
            self._feedforward.publish(self._message(now_ns, step.tau, step.reference))
        if self._terms_heard:
            terms = efforts_by_term(law, step.reference, step.q, step.qd)
            for name, tau in zip(TERM_NAMES, (*terms, step.tau - terms.total), strict=True):
                self._terms[name].publish(self._message(now_ns, tau))

    def _message(self, now_ns: int, effort: Array, reference: Array | None = None) -> JointState:
        message = JointState(name=self._names, effort=array("d", effort.tobytes()))
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(now_ns, NANOSECONDS)
        if reference is not None:
            message.position, message.velocity = (array("d", row.tobytes()) for row in reference[:2])
        return message
