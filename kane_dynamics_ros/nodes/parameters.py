"""ROS parameters from a table: declared with descriptors, read with checks, whole sets at a time.

The checks are in ``runtime.node_parameters``. ROS arguments are read here too, for what has to be known
before a node has them.
"""

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.node import Node

from kane_dynamics_ros.runtime.node_parameters import (
    Declaration,
    RosParameterError,
    WithoutAliases,
    applies,
    checked_value,
    file_sections,
    wrong_parameter,
)
from kane_dynamics_ros.text import did_you_mean, listed
from kane_dynamics_ros.yaml_text import load_yaml

OF_ROS = ("qos_overrides.", "use_sim_time", "start_type_description_service")  # parameters of every node


def declare(node: Node, table: Sequence[Declaration], only: str = "", but: tuple[str, ...] = ()) -> None:
    """Declare every parameter of the table, with its descriptor. Raises ``RosParameterError``.

    A parameter that is given and was never declared is warned of, for it may be a misspelt one: of the names
    that begin with ``only``, those that begin with one of ``but`` aside. So is, at the first call of a
    process's node, a parameter file that has nothing for it.

    The value is checked before the descriptor gets its range: rclpy's own refusal names neither the
    value nor what is allowed.
    """
    if not only:
        warn_of_other_nodes_files(node, sys.argv)
    any_type = ParameterDescriptor(dynamic_typing=True)
    changed = []
    for each in table:
        if not node.has_parameter(each.name):
            node.declare_parameter(each.name, each.default, any_type)
            checked_value(each, node.get_parameter(each.name).value)
            node.set_descriptor(each.name, _descriptor(each))
        value = node.get_parameter(each.name).value
        if value != each.default:
            shown = repr(value)
            changed.append(f"{each.name}: {shown if len(shown) <= 80 else shown[:80] + '...'}")
    if changed or not only:  # none, too, is worth a line: so it is when a file's keys match no node
        node.get_logger().info(f"parameters other than their defaults: {', '.join(changed) or 'none'}")
    known = sorted(each.name for each in table)
    for name in sorted(node._parameter_overrides):  # what was given; rclpy offers no public way to it
        if node.has_parameter(name) or not name.startswith(only) or name.startswith((*but, *OF_ROS)):
            continue
        advice = did_you_mean(name, known).rstrip() or f"the parameters are {', '.join(known)}"
        if name == "robot_description":
            advice = "it is a topic here, as robot_state_publisher publishes it"
        node.get_logger().warning(
            f"parameter {name!r} is given but not known, so that it has no effect; {advice}"
        )


def warn_of_other_nodes_files(node: Node, arguments: Sequence[str]) -> None:
    """Warn of each parameter file in a process's arguments none of whose sections is for the node."""
    own = node.get_fully_qualified_name()
    for option, file in pairwise(arguments):
        if option == "--params-file":
            with suppress(RosParameterError):  # rcl has said what is wrong with the file
                sections = {section for section, _, _ in file_sections(Path(file), option)}
                if sections and not any(applies(each, own) for each in sections):
                    node.get_logger().warning(
                        f"{file} has no effect: it has parameters for {listed(sorted(sections))}, "
                        f"and this node is {own!r}"
                    )


def _descriptor(declaration: Declaration) -> ParameterDescriptor:
    """Text, unit and range, for ``ros2 param describe``."""
    unit = f" [{declaration.unit}]" if declaration.unit else ""
    descriptor = ParameterDescriptor(
        description=declaration.description + unit,
        additional_constraints=f"allowed is {declaration.allowed}",
        read_only=declaration.read_only,
        dynamic_typing=True,  # else rclpy would refuse 1 where 1.0 is the default
    )
    least, most = declaration.minimum, declaration.maximum
    if declaration.kind == "number" and math.isfinite(least) and math.isfinite(most):
        descriptor.floating_point_range = [FloatingPointRange(from_value=least, to_value=most)]
    return descriptor


def read(
    node: Node, table: Iterable[Declaration], changes: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Checked values of the whole table, with some of them replaced. Raises ``RosParameterError``.

    A change to None, which is how ROS deletes a parameter, is refused.
    """
    replaced = changes or {}
    for name, value in replaced.items():
        if value is None:
            raise wrong_parameter(name, None, "a value: a parameter of this node cannot be deleted")
    return {
        each.name: checked_value(each, replaced.get(each.name, node.get_parameter(each.name).value))
        for each in table
    }


# ROS arguments: rcl's parser refuses mixed lists such as ``gravity: [0, 0, -9.81]``, before a node can see
# them; they become lists of floating-point numbers, in ``-p name:=value`` and in ``--params-file`` files


def uniform_arguments(arguments: Sequence[str], folder: Path) -> list[str]:
    """The arguments with mixed lists made uniform; rewritten parameter files go to ``folder``."""
    result = list(arguments)
    for i, (option, value) in enumerate(pairwise(arguments), 1):
        if option in ("-p", "--param"):
            name, _, text = value.partition(":=")
            if (uniform := _uniform(text)) is not None:
                result[i] = f"{name}:={uniform}"
        elif option == "--params-file":
            with suppress(OSError, UnicodeDecodeError):  # rcl says what is wrong with the file
                if (uniform := _uniform(Path(value).read_text(encoding="utf-8"))) is not None:
                    copy = folder / f"{i}.yaml"
                    copy.write_text(uniform, encoding="utf-8")
                    result[i] = str(copy)
    return result


def _uniform(text: str) -> str | None:
    """A YAML text with mixed lists of numbers made lists of float; None where nothing is to be changed."""
    try:
        content = load_yaml(text, WithoutAliases)
    except yaml.YAMLError:
        return None  # rcl says what is wrong with it
    before, after = (
        yaml.safe_dump(each, default_flow_style=True, sort_keys=False, width=math.inf)
        for each in (content, _with_floats(content))
    )
    return None if after == before else str(after).strip()


def _with_floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_floats(each) for key, each in value.items()}
    if isinstance(value, list) and {type(each) for each in value} == {int, float}:
        return [float(each) for each in value]
    return value
