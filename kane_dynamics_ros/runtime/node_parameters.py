"""What ``feedforward_node``'s parameters say, without ROS: values with checks, and the model that they make.

They are declared in ``node_parameters.yaml``, which the node, the C++ package and ``--parameters`` share.
A wrong value raises ``RosParameterError``, which names the parameter, the value and what is allowed. Integers
are accepted where numbers are meant, a single number where a list of them is.
"""

import math
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import yaml

from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.friction import BEYOND, ExtraFriction, wrong_coupling
from kane_dynamics_ros.runtime.model import DynamicsModel
from kane_dynamics_ros.runtime.parameters import Payload
from kane_dynamics_ros.yaml_text import Loader, load_yaml

NODE = "feedforward_node"
NODE_TABLE = Path(__file__).with_name("node_parameters.yaml")
OF_THE_MODEL = ("gravity", "payload", "rotor_inertia", "friction")  # groups of the node's parameters
ParameterKind = Literal["text", "texts", "switch", "integer", "number", "numbers"]
Values = Mapping[str, Any]  # checked values by the parameters' names
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
    """The error of a parameter's value; rclpy gives lists as arrays."""
    found = found.tolist() if isinstance(found, array) else found
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
        if math.isfinite(self.maximum):
            text += f" from {self.minimum:g} to {self.maximum:g}"
        elif self.kind in ("number", "numbers"):
            text += ", finite" + f" and from {self.minimum:g} on" * math.isfinite(self.minimum)
        return text + (f" [{self.unit}]" if self.unit else "")


def declarations(file: Path) -> tuple[Declaration, ...]:
    """The parameters in a YAML file: of each name, the fields of its ``Declaration``."""
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    fields = ({**each, "choices": tuple(each.get("choices", ()))} for each in content.values())
    return tuple(Declaration(name, **each) for name, each in zip(content, fields, strict=True))


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


def friction_beyond(values: Values, joints: Sequence[str]) -> ExtraFriction:
    """The joints' friction beyond viscous and Coulomb friction, as the parameters say.

    Raises ``RosParameterError``.
    """
    n = len(joints)
    zero, one, C = np.zeros(n), np.ones(n), values["friction.coupling"]
    if C and (wrong := wrong_coupling(C, joints)):
        raise wrong_parameter("friction.coupling", *wrong)
    return ExtraFriction(
        **{name: given(values, f"friction.{name}", n, zero) for name in BEYOND},
        stribeck_velocity=given(values, "friction.stribeck_velocity", n, one),
        at_rest=given(values, "friction.at_rest", n, zero) if "friction.at_rest" in values else zero,
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


# The model that they make


def configured_model(values: Values, loaded_model: DynamicsModel) -> DynamicsModel:
    """The model with gravity, payload, rotors and friction as the parameters say."""
    joints, n = loaded_model.joints, len(loaded_model.joints)
    damping = np.array([joint.damping for joint in joints]) * values["friction.urdf_damping"]
    friction = np.array([joint.friction for joint in joints]) * values["friction.urdf_friction"]
    changes: dict[str, Any] = {
        "payload": payloads(values, loaded_model.tips),
        "viscous": tuple(given(values, "friction.viscous", n, damping).tolist()),
        "coulomb": tuple(given(values, "friction.coulomb", n, friction).tolist()),
        "follower_viscous": [j.damping * values["friction.urdf_damping"] for j in loaded_model.followers],
        "follower_coulomb": [j.friction * values["friction.urdf_friction"] for j in loaded_model.followers],
        "coulomb_velocity": values["friction.coulomb_velocity"],
        "coupling": values["friction.coupling"],
    }
    if values["gravity"]:
        changes["gravity"] = of_length("gravity", values["gravity"], 3)
    if values["rotor_inertia"]:
        changes["rotor_inertia"] = tuple(per_joint("rotor_inertia", values["rotor_inertia"], n))
    return loaded_model.with_parameters(**changes)


def with_parameter_file(
    model: DynamicsModel, file: Path | None, urdf_friction: bool = False
) -> tuple[DynamicsModel, ExtraFriction | None]:
    """A model with the gravity, payload, rotors and friction that a parameter file gives to the node.

    And the friction beyond viscous and Coulomb friction. What the file, if any, does not give is as the node
    has it by default: friction the URDF's, all else the model's. Without a file, friction is that of the URDF
    where ``urdf_friction`` asks for it. Raises ``KaneDynamicsError``, which names
    the option of the commands that give it, ``--parameters``.
    """
    if file is None:
        return model.with_urdf_friction() if urdf_friction else model, None
    table = {each.name: each for each in declarations(NODE_TABLE)}
    found = file_parameters(file, NODE, "", "--parameters")
    chosen = [name for name in found if name.partition(".")[0] in OF_THE_MODEL]
    if not chosen:
        groups = ", ".join(OF_THE_MODEL)
        raise wrong_parameter("--parameters", str(file), f"a file that gives {NODE} some of {groups}")
    for name in chosen:
        if name not in table:
            raise wrong_parameter(name, found[name], "no such parameter of the node; is it misspelt?")
    values = {name: checked_value(each, found.get(name, each.default)) for name, each in table.items()}
    beyond = friction_beyond(values, model.joint_names)
    return configured_model(values, model), beyond


# Parameter files


class WithoutAliases(Loader):
    """ROS reads no aliases, and a few dozen of them, nested, stand for more than a computer can hold."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("it has an alias (*), which ROS does not read")
        return super().compose_node(parent, index)


def file_parameters(file: Path, node: str, namespace: str, option: str = "params_file") -> dict[str, Any]:
    """What a ROS parameter file sets for a node, by dotted name; later entries win.

    Raises ``RosParameterError`` as ``file_sections`` does.
    """
    own = "".join(f"/{part}" for part in (*namespace.split("/"), node) if part)
    return {name: value for section, name, value in file_sections(file, option) if applies(section, own)}


def applies(section: str, node: str) -> bool:
    """Whether a section of a parameter file is for a node, given by its full name; ``*`` and ``**`` count."""
    pattern = re.escape(section).replace(r"/\*\*", "(/[^/]+)*").replace(r"\*", "[^/]+")
    return re.fullmatch(pattern, node) is not None


def file_sections(file: Path, option: str) -> Iterator[tuple[str, str, Any]]:
    """The values of a ROS parameter file: of each the section (``/namespace/node``), dotted name and value.

    Raises ``RosParameterError``, which names the ``option`` that gave it, for a file that is no YAML, or not
    keyed by nodes.
    """
    try:
        content = load_yaml(file.read_text(encoding="utf-8"), WithoutAliases)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        why = " ".join(str(error).split())
        raise wrong_parameter(option, str(file), f"a readable YAML file: {why}") from None
    if not isinstance(content, dict | None):
        raise wrong_parameter(option, str(file), "a mapping of /** or node names to ros__parameters")
    for path, value in _leaves(content or {}):
        if BELOW not in path:
            allowed = f"parameters below /**: and {BELOW}:, as ROS reads them; {'.'.join(path)!r} is not"
            raise wrong_parameter(option, str(file), allowed)
        place = path.index(BELOW)
        keys = (key.strip("/") for key in path[:place])  # of namespaces and the node
        yield "".join(f"/{key}" for key in keys if key), ".".join(path[place + 1 :]), value


def _leaves(tree: Mapping[Any, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The values of a nested mapping, each with the keys that lead to it."""
    for key, value in tree.items():
        path = (*above, str(key))
        if isinstance(value, dict):
            yield from _leaves(value, path)
        else:
            yield path, value
