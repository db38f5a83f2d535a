"""ROS parameters from a table: declared with descriptors, read with checks, whole sets at a time.

Integers are accepted where numbers are meant, a single number where a list of them is. A wrong value
raises ``RosParameterError``, which names the parameter, the value and what is allowed. ROS arguments and
parameter files are read here too, for what has to be known before a node has them.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import yaml
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.node import Node

from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.friction import BEYOND, Beyond, wrong_coupling
from kane_dynamics_ros.runtime import Payload
from kane_dynamics_ros.yaml_text import Loader, load_yaml

ParameterKind = Literal["text", "texts", "switch", "integer", "number", "numbers"]
Values = Mapping[str, Any]  # checked values by the parameters' names

OF_ROS = ("qos_overrides.", "use_sim_time", "start_type_description_service")  # parameters of every node
BELOW = "ros__parameters"  # the key of a file below which a node's parameters are

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


def declare(node: Node, table: Sequence[Declaration], only: str = "", but: tuple[str, ...] = ()) -> None:
    """Declare every parameter of the table, with its descriptor. Raises ``RosParameterError``.

    A parameter that is given and was never declared is warned of, for it may be a misspelt one: of the names
    that begin with ``only``, those that begin with one of ``but`` aside.

    The value is checked before the descriptor gets its range: rclpy's own refusal names neither the
    value nor what is allowed.
    """
    any_type = ParameterDescriptor(dynamic_typing=True)
    changed = []
    for each in table:
        if not node.has_parameter(each.name):
            node.declare_parameter(each.name, each.default, any_type)
            checked_value(each, node.get_parameter(each.name).value)
            node.set_descriptor(each.name, _descriptor(each))
        value = node.get_parameter(each.name).value
        if value != each.default:
            changed.append(f"{each.name}: {value!r:.80}")
    if changed or not only:  # none, too, is worth a line: so it is when a file's keys match no node
        node.get_logger().info(f"parameters other than their defaults: {', '.join(changed) or 'none'}")
    known = sorted(each.name for each in table)
    for name in sorted(node._parameter_overrides):  # what was given; rclpy offers no public way to it
        if node.has_parameter(name) or not name.startswith(only) or name.startswith((*but, *OF_ROS)):
            continue
        close = get_close_matches(name, known, n=1)
        advice = f"did you mean {close[0]}?" if close else f"the parameters are {', '.join(known)}"
        if name == "robot_description":
            advice = "it is a topic here, as robot_state_publisher publishes it"
        node.get_logger().warning(
            f"parameter {name!r} is given but not known, so that it has no effect; {advice}"
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


def checked_value(declaration: Declaration, value: Any) -> Any:
    """The value as bool, str, int, float or list. Raises ``RosParameterError``."""
    kind, choices = declaration.kind, declaration.choices
    if value is False and "off" in choices:
        value = "off"  # YAML reads an unquoted off as false
    if kind == "switch" and isinstance(value, bool):
        return value
    if kind == "text" and isinstance(value, str) and value in (choices or (value,)):
        return value
    if kind == "texts" and isinstance(value, (list, tuple)) and all(isinstance(x, str) for x in value):
        return [each for each in value if each]
    if kind == "number" and _is_number(value, declaration):
        return float(value)
    if kind == "integer" and _is_number(value, declaration) and int(value) == value:
        return int(value)
    if kind == "numbers" and not isinstance(value, (str, bytes)):
        values = [] if value is None else list(value) if isinstance(value, Iterable) else [value]
        if all(_is_number(each, declaration) for each in values):
            return [float(each) for each in values]
    raise wrong_parameter(declaration.name, value, declaration.allowed)


def per_joint(name: str, values: Sequence[float], joints: int) -> list[float]:
    """One value for each joint; a single one is repeated. Raises ``RosParameterError``."""
    if len(values) == 1:
        return list(values) * joints
    if len(values) != joints:
        raise wrong_parameter(name, list(values), f"1 value, or {joints}: one for each joint of the model")
    return list(values)


def given(values: Values, name: str, n: int, default: Any) -> Any:
    """A parameter that has a value for each joint, (n,); the default where it is empty."""
    return np.array(per_joint(name, values[name], n)) if values[name] else default


def friction_beyond(values: Values, joints: Sequence[str]) -> Beyond:
    """The joints' friction beyond viscous and Coulomb friction, as the parameters say.

    Raises ``RosParameterError``.
    """
    n = len(joints)
    zero, one, C = np.zeros(n), np.ones(n), values["friction.coupling"]
    if C and (wrong := wrong_coupling(C, joints)):
        raise wrong_parameter("friction.coupling", *wrong)
    return Beyond(
        **{name: given(values, f"friction.{name}", n, zero) for name in BEYOND},
        stribeck_velocity=given(values, "friction.stribeck_velocity", n, one),
        coupling=np.reshape(C, (n, n)) if C else None,
    )


def of_length(name: str, values: Sequence[float], length: int) -> Any:
    """The values as a tuple of so many. Raises ``RosParameterError``."""
    if len(values) != length:
        raise wrong_parameter(name, values, f"a list of {length} numbers")
    return tuple(values)


def payload(values: Values) -> Payload:
    """The body at the first tip."""
    com = of_length("payload.com", values["payload.com"], 3)
    return Payload(values["payload.mass"], com, of_length("payload.inertia", values["payload.inertia"], 6))


def payloads(values: Values, tips: Sequence[str]) -> Payload | dict[str, Payload]:
    """The bodies at all tips; ``payload.branches`` are ten numbers a tip: mass, centre, central inertia."""
    name, others = "payload.branches", values["payload.branches"]
    if not others:
        return payload(values)
    if len(others) != 10 * (len(tips) - 1):
        allowed = f"ten numbers for each tip after the first: {', '.join(tips[1:]) or 'there is none'}"
        raise wrong_parameter(name, others, allowed)
    rows = (others[k : k + 10] for k in range(0, len(others), 10))
    bodies = (Payload(mass, (x, y, z), tuple(inertia)) for mass, x, y, z, *inertia in rows)
    return dict(zip(tips, (payload(values), *bodies), strict=True))


def _is_number(value: Any, declaration: Declaration) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value) and declaration.minimum <= value <= declaration.maximum


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
        content = load_yaml(text, _WithoutAliases)
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


# Parameter files


class _WithoutAliases(Loader):
    """ROS reads no aliases, and a few dozen of them, nested, stand for more than a computer can hold."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("it has an alias (*), which ROS does not read")
        return super().compose_node(parent, index)


def file_parameters(file: Path, node: str, namespace: str) -> dict[str, Any]:
    """What a ROS parameter file sets for a node, by dotted name; later entries win.

    Raises ``RosParameterError`` for a file that is no YAML, or not keyed by nodes.
    """
    try:
        content = load_yaml(file.read_text(encoding="utf-8"), _WithoutAliases)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        why = " ".join(str(error).split())
        raise wrong_parameter("params_file", str(file), f"a readable YAML file: {why}") from None
    if not isinstance(content, dict | None):
        raise wrong_parameter("params_file", str(file), "a mapping of /** or node names to ros__parameters")
    full = "".join(f"/{part}" for part in (*namespace.split("/"), node) if part)
    result: dict[str, Any] = {}
    for path, value in _leaves(content or {}):
        if BELOW not in path:
            allowed = f"parameters below /**: and {BELOW}:, as ROS reads them; {'.'.join(path)!r} is not"
            raise wrong_parameter("params_file", str(file), allowed)
        place = path.index(BELOW)
        keys = (key.strip("/") for key in path[:place])  # of namespaces and the node
        pattern = re.escape("".join(f"/{key}" for key in keys if key))
        pattern = pattern.replace(r"/\*\*", "(/[^/]+)*").replace(r"\*", "[^/]+")
        if re.fullmatch(pattern, full):
            result[".".join(path[place + 1 :])] = value
    return result


def _leaves(tree: Mapping[Any, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The values of a nested mapping, each with the keys that lead to it."""
    for key, value in tree.items():
        path = (*above, str(key))
        if isinstance(value, dict):
            yield from _leaves(value, path)
        else:
            yield path, value
