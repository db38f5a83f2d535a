"""ROS parameters from a table: declared with descriptors, read with checks, whole sets at a time.

Integers are accepted where numbers are meant, a single number where a list of them is. A wrong value
raises ``RosParameterError``, which names the parameter, the value and what is allowed. ROS arguments and
parameter files are read here too, for what has to be known before a node has them.
"""

import math
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import yaml
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.node import Node

from kane_dynamics_ros.errors import KaneDynamicsError

ParameterKind = Literal["text", "texts", "switch", "integer", "number", "numbers"]
Values = Mapping[str, Any]  # checked values by the parameters' names

_WORDS: dict[ParameterKind, str] = {
    "text": "a text",
    "texts": "a list of texts",
    "switch": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "numbers": "a list of numbers, or one number for all",
}


class RosParameterError(KaneDynamicsError):
    """A parameter, ``name``, has a value that is not allowed."""


def wrong_parameter(name: str, found: object, allowed: str) -> RosParameterError:
    """The error of a parameter's value."""
    return RosParameterError(f"parameter {name!r}: found {found!r}; allowed is {allowed}", name=name)


@dataclass(frozen=True)
class Declaration:
    """One parameter. ``numbers`` is a list; ``minimum`` and ``maximum`` hold for each of its values.

    ``texts`` is a list too; empty texts in it are left out, for ROS cannot tell the type of an empty list.
    """

    name: str
    kind: ParameterKind
    default: Any
    description: str
    unit: str = ""
    minimum: float = -math.inf
    maximum: float = math.inf
    choices: tuple[str, ...] = ()
    read_only: bool = False

    @property
    def allowed(self) -> str:
        """What is allowed, in words."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        text = _WORDS[self.kind]
        if math.isfinite(self.minimum) or math.isfinite(self.maximum):
            text += f" from {self.minimum:g} to {self.maximum:g}"
        return text + (f" [{self.unit}]" if self.unit else "")


def declarations(file: Path) -> tuple[Declaration, ...]:
    """The parameters in a YAML file: of each name, the fields of its ``Declaration``."""
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    fields = ({**each, "choices": tuple(each.get("choices", ()))} for each in content.values())
    return tuple(Declaration(name, **each) for name, each in zip(content, fields, strict=True))


def declare(node: Node, table: Sequence[Declaration], later: Sequence[str] = (), more: bool = False) -> None:
    """Declare every parameter of the table, with its descriptor. Raises ``RosParameterError``.

    A parameter that is given but in no table is warned of: it may be a misspelt one. Those whose names begin
    as one of ``later`` are declared later, by another call with ``more``.

    The value is checked before the descriptor gets its range: rclpy's own refusal names neither the
    value nor what is allowed.
    """
    for each in table:
        if node.has_parameter(each.name):
            continue
        any_type = ParameterDescriptor(dynamic_typing=True)
        checked_value(each, node.declare_parameter(each.name, each.default, any_type).value)
        node.set_descriptor(each.name, _descriptor(each))
    log_differences(node, table, more)
    known = sorted(each.name for each in table)
    groups = tuple({name.partition(".")[0] + "." for name in known})
    for name in unknown_overrides(node):
        if name.startswith(tuple(later)) or (more and not name.startswith(groups)):
            continue  # of those the other call says it
        close = get_close_matches(name, known, n=1)
        advice = f"did you mean {close[0]}?" if close else f"the parameters are {', '.join(known)}"
        if name == "robot_description":
            advice = "it is a topic here, as robot_state_publisher publishes it"
        node.get_logger().warning(
            f"parameter {name!r} is given but not known, so that it has no effect; {advice}"
        )


def log_differences(node: Node, table: Sequence[Declaration], more: bool) -> None:
    """Say which parameters differ from their defaults: of a file whose keys match no node, none does."""
    values = {each.name: node.get_parameter(each.name).value for each in table}
    texts = [f"{each.name}: {values[each.name]!r:.80}" for each in table if values[each.name] != each.default]
    if texts or not more:
        node.get_logger().info(f"parameters other than their defaults: {', '.join(texts) or 'none'}")


def unknown_overrides(node: Node) -> list[str]:
    """Parameters given on the command line or in a file that the node never declared: misspelt ones."""
    given = node._parameter_overrides  # rclpy offers no public way to them
    return sorted(name for name in given if not node.has_parameter(name) and not _is_ros_own(name))


def _is_ros_own(name: str) -> bool:
    return name.startswith(("qos_overrides.", "use_sim_time", "start_type_description_service"))


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


def checked_value(declaration: Declaration, value: Any) -> Any:
    """The value as bool, str, int, float or list. Raises ``RosParameterError``."""
    if value is False and "off" in declaration.choices:
        value = "off"  # YAML reads an unquoted off as false
    if declaration.kind == "switch" and isinstance(value, bool):
        return value
    if declaration.kind == "text" and isinstance(value, str) and value in (declaration.choices or (value,)):
        return value
    if declaration.kind == "number" and _is_number(value, declaration):
        return float(value)
    if declaration.kind == "integer" and _is_number(value, declaration) and int(value) == value:
        return int(value)
    if (
        declaration.kind == "texts"
        and isinstance(value, (list, tuple))
        and all(isinstance(x, str) for x in value)
    ):
        return [each for each in value if each]
    if declaration.kind == "numbers":
        values = [] if value is None else [value] if isinstance(value, (int, float)) else value
        if isinstance(values, Iterable) and not isinstance(values, (str, bytes)):
            listed = list(values)
            if all(_is_number(each, declaration) for each in listed):
                return [float(each) for each in listed]
    raise wrong_parameter(declaration.name, value, declaration.allowed)


def per_joint(name: str, values: Sequence[float], joints: int) -> list[float]:
    """One value for each joint; a single one is repeated. Raises ``RosParameterError``."""
    if len(values) == 1:
        return list(values) * joints
    if len(values) != joints:
        raise wrong_parameter(name, list(values), f"1 value, or {joints}: one for each joint of the model")
    return list(values)


def _is_number(value: Any, declaration: Declaration) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value) and declaration.minimum <= value <= declaration.maximum


# ROS arguments: rcl's parser refuses mixed lists such as ``gravity: [0, 0, -9.81]``, before a node can see
# them; they become lists of floating-point numbers, in ``-p name:=value`` and in ``--params-file`` files


def uniform_arguments(arguments: Sequence[str], folder: Path) -> list[str]:
    """The arguments with mixed lists made uniform; rewritten parameter files go to ``folder``."""
    result = list(arguments)
    for i, argument in enumerate(result[:-1]):
        if argument in ("-p", "--param"):
            result[i + 1] = _uniform_assignment(result[i + 1])
        elif argument == "--params-file":
            result[i + 1] = _uniform_file(result[i + 1], folder)
    return result


def _uniform_assignment(assignment: str) -> str:
    """``name:=[0, 1.5]`` as ``name:=[0.0, 1.5]``; anything else unchanged."""
    name, separator, text = assignment.partition(":=")
    try:
        value = _load_yaml(text)
    except yaml.YAMLError:
        return assignment  # rcl says what is wrong with it
    changed = _uniform(value)
    return assignment if changed is value else f"{name}{separator}{changed}"


def _uniform_file(name: str, folder: Path) -> str:
    """The file's name, or that of a rewritten copy when it holds a mixed list."""
    try:
        content = _load_yaml(Path(name).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return name  # rcl says what is wrong with it
    changed = _uniform(content)
    if changed is content:
        return name
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".yaml", delete=False, encoding="utf-8") as copy:
        yaml.safe_dump(changed, copy, sort_keys=False)
    return copy.name


def _uniform(value: Any) -> Any:
    """The value with mixed lists of numbers made lists of float; the same object when there are none."""
    if isinstance(value, dict):
        changed = {key: _uniform(each) for key, each in value.items()}
        return changed if any(changed[key] is not value[key] for key in value) else value
    if isinstance(value, list) and {type(each) for each in value} == {int, float}:
        return [float(each) for each in value]
    return value


# Parameter files


class _WithoutAliases(yaml.SafeLoader):
    """ROS reads no aliases, and a few dozen of them, nested, stand for more than a computer can hold."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("it has an alias (*), which ROS does not read")
        return super().compose_node(parent, index)


def _load_yaml(text: str) -> Any:
    """The content of a YAML text as ROS could read it. Raises ``yaml.YAMLError``."""
    try:
        return yaml.load(text, _WithoutAliases)
    except RecursionError:
        raise yaml.YAMLError("it is nested too deeply") from None
    except ValueError as error:  # of a date that there is not
        raise yaml.YAMLError(str(error)) from None


def file_parameters(file: Path, node: str, namespace: str) -> dict[str, Any]:
    """What a ROS parameter file sets for a node, by dotted name; later entries win.

    Raises ``RosParameterError`` for a file that is no YAML, or not keyed by nodes.
    """
    try:
        content = _load_yaml(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        why = " ".join(str(error).split())
        raise wrong_parameter("params_file", str(file), f"a readable YAML file: {why}") from None
    content = {} if content is None else content
    if not isinstance(content, dict):
        raise wrong_parameter("params_file", str(file), "a mapping of /** or node names to ros__parameters")
    if content and (loose := _outside_nodes(content)):
        allowed = f"parameters below /**: and ros__parameters:, as ROS reads them; {loose!r} is not"
        raise wrong_parameter("params_file", str(file), allowed)
    full = "/".join(("", *namespace.strip("/").split("/"), node)).replace("//", "/")
    result: dict[str, Any] = {}
    for key, entry in _by_node(content, ""):
        pattern = re.escape(key if key.startswith("/") else f"/{key}")
        pattern = pattern.replace(r"/\*\*", "(/[^/]+)*").replace(r"\*", "[^/]+")
        if re.fullmatch(pattern, full):
            result |= _flat(entry)
    return result


def _outside_nodes(tree: Mapping[str, Any]) -> str:
    """The first key with a value that is not below a node's ros__parameters; empty when there is none."""
    for key, value in tree.items():
        if key == "ros__parameters":
            continue
        if not isinstance(value, dict):
            return str(key)
        if loose := _outside_nodes(value):
            return loose
    return ""


def _by_node(tree: Mapping[str, Any], above: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Node patterns with their ros__parameters; namespaces may be nested."""
    found: list[tuple[str, Mapping[str, Any]]] = []
    for key, value in tree.items():
        if isinstance(value, dict) and key == "ros__parameters":
            found.append((above, value))
        elif isinstance(value, dict):
            found += _by_node(value, f"{above}/{str(key).lstrip('/')}")
    return found


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in tree.items():
        values |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return values
