"""The bare rclpy node that ``round_trip`` compares with: every state's positions come back as efforts."""

from contextlib import suppress

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from kane_dynamics_ros.nodes.messages import COMMAND_TOPIC, COMMANDS_QOS, JOINT_STATES_QOS


class EchoNode(Node):
    """One subscription, one publisher, one message that is made once."""

    def __init__(self) -> None:
        super().__init__("echo")
        self._publisher = self.create_publisher(Float64MultiArray, COMMAND_TOPIC, COMMANDS_QOS)
        self._message = Float64MultiArray()
        self.create_subscription(JointState, "joint_states", self._echo, JOINT_STATES_QOS)

    def _echo(self, state: JointState) -> None:
        self._message.data = state.position
        self._publisher.publish(self._message)


def main() -> None:
    rclpy.init()
    with suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(EchoNode())


if __name__ == "__main__":
    main()
