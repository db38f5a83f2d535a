"""The parameters of a running feedforward node, as it would read them itself."""

from typing import Any

import rclpy
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient

from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.nodes.feedforward_parameters import TABLE
from kane_dynamics_ros.nodes.parameters import checked

ANSWERED_WITHIN = 10.0  # [s]


class ParametersMissingError(KaneDynamicsError):
    """The node does not tell its parameters."""

    def __init__(self, node: str) -> None:
        super().__init__(f"node {node!r} does not answer for its parameters; name the node with --node")


def read_remote(node: Node, remote: str) -> dict[str, Any]:
    """Checked values of the whole table. Raises ``ParametersMissingError`` and ``ParameterError``."""
    client = AsyncParameterClient(node, remote)
    if not client.wait_for_services(timeout_sec=ANSWERED_WITHIN):
        raise ParametersMissingError(remote)
    future = client.get_parameters([each.name for each in TABLE])
    rclpy.spin_until_future_complete(node, future, timeout_sec=ANSWERED_WITHIN)
    response = future.result()
    if response is None:
        raise ParametersMissingError(remote)
    return {
        each.name: checked(each, parameter_value_to_python(value))
        for each, value in zip(TABLE, response.values, strict=True)
    }
