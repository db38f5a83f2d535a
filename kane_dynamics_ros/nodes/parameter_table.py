"""Declare a node's parameters from a table: text, unit, range; integers are accepted for numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node
from rclpy.parameter import Parameter

from kane_dynamics_ros.errors import KaneDynamicsError

Value = bool | int | float | str | list[float] | list[str]


class ParameterValueError(KaneDynamicsError):
    """A ROS parameter has a value that is not allowed."""

    def __init__(self, name: str, found: object, allowed: str) -> None:
        self.name, self.found, self.allowed = name, found, allowed
        super().__init__(f"parameter {name}: found {found!r}; allowed: {allowed}")


@dataclass(frozen=True)
class Entry:
    """One parameter. The default's type is the parameter's; ``least`` and ``most`` bound numbers.

    A list of strings must not be empty in the table: ROS cannot tell its type; use [""], read as empty.
    """

    name: str
    default: Value
    text: str
    unit: str = ""
    least: float = -math.inf
    most: float = math.inf
    choices: tuple[str, ...] = ()
    read_only: bool = True

    def descriptor(self) -> ParameterDescriptor:
        """For ``ros2 param describe``; typing is dynamic so that 1 is accepted where 1.0 is meant."""
        described = ParameterDescriptor(
            name=self.name,
            description=f"{self.text} [{self.unit}]" if self.unit else self.text,
            additional_constraints=self.allowed(),
            read_only=self.read_only,
            dynamic_typing=True,
        )
        if math.isfinite(self.least) and math.isfinite(self.most):
            self._describe_range(described)
        return described

    def _describe_range(self, described: ParameterDescriptor) -> None:
        if type(self.default) is float:
            described.floating_point_range = [FloatingPointRange(from_value=self.least, to_value=self.most)]
        elif type(self.default) is int:
            described.integer_range = [IntegerRange(from_value=int(self.least), to_value=int(self.most))]

    def allowed(self) -> str:
        """What the parameter may be, in words."""
        if self.choices:
            return ", ".join(self.choices)
        kind = {bool: "true or false", int: "an integer", float: "a number", str: "a string"}.get(
            type(self.default)
        ) or ("strings" if self._holds_strings() else "numbers")
        low = f", at least {self.least:g}" if math.isfinite(self.least) else ""
        high = f", at most {self.most:g}" if math.isfinite(self.most) else ""
        return kind + low + high

    def read(self, found: object) -> Any:
        """``found`` as this parameter's type. Raises ``ParameterValueError``."""
        try:
            return self._convert(found)
        except (TypeError, ValueError):
            raise ParameterValueError(self.name, found, self.allowed()) from None

    def _convert(self, found: Any) -> Any:
        if isinstance(self.default, list):
            if isinstance(found, str | bytes):
                raise TypeError
            items = [str(x) if self._holds_strings() else self._number(x, float) for x in found]
            return [item for item in items if item != ""]
        if isinstance(self.default, bool | str):
            if type(found) is not type(self.default) or (self.choices and found not in self.choices):
                raise ValueError
            return found
        return self._number(found, type(self.default))

    def _number(self, found: Any, kind: type) -> float | int:
        if isinstance(found, bool) or not isinstance(found, int | float) or kind(found) != found:
            raise TypeError
        if not (math.isfinite(found) and self.least <= found <= self.most):
            raise ValueError
        value: float | int = kind(found)
        return value

    def _holds_strings(self) -> bool:
        return isinstance(self.default, list) and isinstance(self.default[0], str)


def declare(node: Node, table: Sequence[Entry]) -> dict[str, Any]:
    """Declare every entry and return the values, by name. Raises ``ParameterValueError``."""
    values = {}
    for entry in table:
        parameter: Parameter[Any] = node.declare_parameter(entry.name, entry.default, entry.descriptor())
        values[entry.name] = entry.read(parameter.value)
    return values
