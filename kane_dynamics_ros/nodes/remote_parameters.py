"""The parameters of a running feedforward node, as it would read them itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.task import Future

from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.nodes.feedforward_parameters import TABLE
from kane_dynamics_ros.nodes.parameters import checked

ANSWERED_WITHIN = 10.0  # [s]


class ParameterRefusedError(KaneDynamicsError):
    """The node does not take a value."""

    def __init__(self, node: str, name: str, reason: str) -> None:
        super().__init__(f"node {node!r} refuses to change its parameter {name!r}: {reason}")


class ParametersMissingError(KaneDynamicsError):
    """The node does not tell its parameters."""

    def __init__(self, node: str) -> None:
        super().__init__(f"node {node!r} does not answer for its parameters; name the node with --node")


@contextmanager
def changed_remotely(node: Node, remote: str, name: str, value: float) -> Iterator[None]:
    """One parameter of another node changed for a while, and set back at the end."""
    client = _client(node, remote)
    before = read_remote(node, remote)[name]
    _set(node, remote, client, Parameter(name, value=value))
    try:
        yield
    finally:
        _set(node, remote, client, Parameter(name, value=before))


def read_remote(node: Node, remote: str) -> dict[str, Any]:
    """Checked values of the whole table. Raises ``ParametersMissingError`` and ``ParameterError``."""
    future = _client(node, remote).get_parameters([each.name for each in TABLE])
    values = _result(node, remote, future).values
    return {
        each.name: checked(each, parameter_value_to_python(value))
        for each, value in zip(TABLE, values, strict=True)
    }


def _client(node: Node, remote: str) -> AsyncParameterClient:
    client = AsyncParameterClient(node, remote)
    if not client.wait_for_services(timeout_sec=ANSWERED_WITHIN):
        raise ParametersMissingError(remote)
    return client


def _set(node: Node, remote: str, client: AsyncParameterClient, parameter: "Parameter[Any]") -> None:
    [result] = _result(node, remote, client.set_parameters([parameter])).results
    if not result.successful:
        raise ParameterRefusedError(remote, parameter.name, result.reason)


def _result(node: Node, remote: str, future: "Future[Any]") -> Any:
    rclpy.spin_until_future_complete(node, future, timeout_sec=ANSWERED_WITHIN)
    response = future.result()
    if response is None:
        raise ParametersMissingError(remote)
    return response
