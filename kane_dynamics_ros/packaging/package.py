"""Write an ament_cmake package around a robot's generated C: header, control core, solver plugin, controller.

The tree of ``templates`` is the package, with NAME for its name; what is filled in are that name, numbers,
and the names of joints and links, which only ever become escaped string literals.
"""

import math
import re
import tempfile
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined
from numpy.typing import ArrayLike

from kane_dynamics_ros import __version__
from kane_dynamics_ros.codegen.derive import Derived
from kane_dynamics_ros.codegen.module import checked_name, write_module
from kane_dynamics_ros.description.geometry import about_origin
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.files import claim_files, write_file
from kane_dynamics_ros.runtime import DynamicsModel, load_model
from kane_dynamics_ros.runtime.node_parameters import NODE_TABLE

COMMAND = "package"  # whose list in the package's folder says what it may replace
STATES = 8  # random ones, at which the package's own tests know the efforts
OWN_TABLE = Path(__file__).with_name("controller_parameters.yaml")
SHARED = (  # the node's parameters that the controller has too; all of a group where its name ends with a dot
    "mode",
    "feedforward_pd.",
    "computed_torque.",
    "terms.inertia",
    "terms.coriolis",
    "terms.gravity",
    "terms.friction",
    "gravity",
    "payload.mass",
    "payload.com",
    "payload.inertia",
    "rotor_inertia",
    "friction.",
    "trajectory.limits",
    "limits.",
    "safety.state_timeout",
    "safety.position_jump",
    "safety.saturation_time",
    "safety.overrun_period",
    "safety.recovery_time",
    "safety.on_stale_state",
    "safety.on_position_jump",
    "safety.on_saturation",
    "safety.on_overrun",
    "safety.on_non_finite",
    "safety.on_tracking_error",
    "safety.no_effect_time",
    "safety.on_deactivate",
    "description_check",
)
PLANNED = {  # what needs a plan, which a controller does not have: such a choice, and what the others are
    "safety.on_deactivate": ("stop_and_hold", "Last command when deactivated"),
    "trajectory.limits": (
        "retime",
        "A reference outside the URDF's limits: refuse it, clamp its positions, or ignore the limits",
    ),
}
TYPES = {"text": "string", "switch": "bool", "number": "double", "numbers": "double_array"}
CPP_WORDS = (  # what no namespace may be called: words of C++, and libraries that the package uses
    "alignas alignof asm auto bool catch char char8_t char16_t char32_t concept const consteval constexpr "
    "constinit co_await co_return co_yield decltype default delete do double dynamic_cast enum explicit "
    "export extern false float friend goto inline int long mutable namespace new noexcept nullptr "
    "operator private protected public register reinterpret_cast requires short signed sizeof static "
    "static_assert static_cast struct switch template this thread_local throw true typedef typeid "
    "typename union unsigned using virtual void volatile wchar_t main std eigen urdf rclcpp "
    "rclcpp_lifecycle pluginlib controller_interface hardware_interface diagnostic_msgs trajectory_msgs "
    "inverse_dynamics_solver linux unix"
)


class PackageNameError(KaneDynamicsError):
    """``name`` cannot be a package's."""


def package_name(name: str) -> str:
    """The name, if a ROS package, a C++ namespace and the C functions may have it.

    >>> package_name("my_robot_dynamics")
    'my_robot_dynamics'

    Raises:
        PackageNameError, OutputError: it may not.
    """
    reason = None
    if not re.fullmatch(r"[a-z](_?[a-z0-9])+", name):
        reason = "allowed are lower-case letters, digits and single underscores, a letter first"
    elif name in CPP_WORDS.split():
        reason = "it is a word of C++ or a library that the package uses"
    if reason is not None:
        raise PackageNameError(f"--name {name!r}: {reason}; choose another name", "bad_name", name=name)
    return checked_name(name)


def write_package(
    derived: Derived, name: str, folder: Path, *, accept: Callable[[str], None] = lambda text: None
) -> list[Path]:
    """Write the package ``folder``/NAME; returns the files' paths.

    ``accept`` is given the text of the module NAME.py first; when it raises, nothing is written.

    Raises:
        PackageNameError, OutputError: the name cannot be used.
        ForeignFileError, OutputFileError: a file is somebody's own, or cannot be written.
    """
    texts = package_texts(derived, package_name(name), accept)
    place = folder / name
    claim_files(place, texts, COMMAND)
    for path, text in texts.items():
        write_file(place / path, text)
    return [place / path for path in texts]


def package_texts(
    derived: Derived, name: str, accept: Callable[[str], None] = lambda text: None
) -> dict[str, str]:
    """The files of a package by their paths in it: the same input gives the same bytes."""
    with tempfile.TemporaryDirectory(prefix="kane_dynamics-") as temporary:
        module, header, source = write_module(derived, name, Path(temporary), accept=accept)
        model = load_model(module, backend="python")
        texts = {
            f"include/{name}/{name}.h": header.read_text(encoding="utf-8"),
            f"src/{name}.c": source.read_text(encoding="utf-8").replace(
                f'#include "{name}.h"', f'#include "{name}/{name}.h"'
            ),
        }
        values = _values(derived, model)
    environment = Environment(
        loader=PackageLoader("kane_dynamics_ros.packaging"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "literal": literal,
        "number": number,
        "array": _array,
        "about_origin": about_origin,
        "boolean": lambda value: "true" if value else "false",
        "scalar": lambda text: yaml.safe_dump(text, default_style='"', width=math.inf).strip(),
    }
    texts["src/parameters.yaml"] = parameters_yaml(name)
    for template in environment.list_templates(extensions=["j2"]):
        path = template.removesuffix(".j2").replace("NAME", name)
        texts[path] = environment.get_template(template).render(values)
    return texts


def _values(derived: Derived, model: DynamicsModel) -> dict[str, Any]:
    """What the templates take."""
    slots: Mapping[str, tuple[int, int]] = model.source.module.facts["parameters"]
    return {
        "name": model.name,
        "NAME": model.name.upper(),
        "version": __version__,
        "generated": f"Generated by kane_dynamics_ros {__version__} from a URDF; do not edit.",
        "urdf_hash": model.urdf_hash,
        "joints": [
            {
                "name": joint.name,
                "unit": joint.unit,
                "effort_unit": joint.effort_unit,
                "continuous": joint.kind == "continuous",
                "lower": _limit(joint.lower if joint.kind != "continuous" else None, -math.inf),
                "upper": _limit(joint.upper if joint.kind != "continuous" else None, math.inf),
                "velocity": _limit(joint.velocity, math.inf),
                "effort": _limit(joint.effort, math.inf),
                "damping": joint.damping,
                "friction": joint.friction,
            }
            for joint in model.joints
        ],
        "defaults": model.parameters,
        "chain": derived.chain,
        "states": _states(model),
        "slots": {name: begin for name, (begin, _) in slots.items()},
    }


def _states(model: DynamicsModel) -> list[dict[str, Any]]:
    """Random states with the efforts of the model in Python, for the package's own tests."""
    rng = np.random.default_rng(0)
    states = []
    for q, qd, qdd in rng.uniform(-1.0, 1.0, (STATES, 3, len(model.joints))).round(3):
        tau = model.inverse_dynamics(q, qd, qdd)
        states.append({"q": q, "qd": qd, "qdd": qdd, "tau": tau, "gravity": model.gravity(q)})
    return states


def _limit(limit: float | None, otherwise: float) -> float:
    return otherwise if limit is None else limit


# The parameters, for generate_parameter_library: the node's, and what only a controller has


def parameters_yaml(name: str) -> str:
    """The declarations of ``NAME_parameters``, made of the node's own table."""
    table = yaml.safe_load(NODE_TABLE.read_text(encoding="utf-8"))
    tree: dict[str, Any] = {}
    for key, declared in table.items():
        if key in SHARED or f"{key.partition('.')[0]}." in SHARED:
            *groups, leaf = key.split(".")
            branch = tree
            for group in groups:
                branch = branch.setdefault(group, {})
            branch[leaf] = _parameter(key, declared)
    own = yaml.safe_load(OWN_TABLE.read_text(encoding="utf-8"))
    text = yaml.safe_dump(
        {f"{name}_parameters": tree | own}, sort_keys=False, default_flow_style=None, width=110
    )
    return f"# Generated by kane_dynamics_ros {__version__} from its node's parameters; do not edit.\n{text}"


def _parameter(key: str, declared: Mapping[str, Any]) -> dict[str, Any]:
    """One declaration of the node in the words of generate_parameter_library."""
    planned, description = PLANNED.get(key, (None, declared["description"]))
    choices = [choice for choice in declared.get("choices", []) if choice != planned]
    unit = f" [{declared['unit']}]" if "unit" in declared else ""
    parameter = {
        "type": TYPES[declared["kind"]],
        "default_value": "hold" if declared["default"] == planned else declared["default"],
        "description": f"{description}{unit}",
    }
    if declared.get("read_only"):
        parameter["read_only"] = True
    validation: dict[str, Any] = {}
    least, most = declared.get("minimum"), declared.get("maximum")
    if choices:
        validation["one_of<>"] = [choices]
    elif declared["kind"] == "numbers" and most is not None:
        validation["element_bounds<>"] = [least, most]
    elif declared["kind"] == "numbers" and least is not None:
        validation["lower_element_bounds<>"] = [least]
    elif most is not None:
        validation["bounds<>"] = [least, most]
    return parameter | ({"validation": validation} if validation else {})


# C++ literals


def literal(text: str) -> str:
    """A C++ string literal of any text: UTF-8, with what is no plain character escaped.

    >>> print(literal('a "joint" */'), literal("B\\n"))
    "a \\"joint\\" */" "B\\012"
    """
    plain = {34: '\\"', 92: "\\\\", 63: "\\077"}  # a question mark may begin a trigraph
    data = text.encode("utf-8", "surrogatepass")
    return '"' + "".join(plain.get(b, chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in data) + '"'


def number(value: float) -> str:
    """A C++ literal of a double, the same bits.

    >>> number(0.1), number(-math.inf), number(2.0)
    ('0.1', '-kUnlimited', '2.0')
    """
    if math.isinf(value):
        return "kUnlimited" if value > 0.0 else "-kUnlimited"
    return repr(float(value))


def _array(values: ArrayLike) -> str:
    """An initializer of a ``std::array``, in lines of at most 90 characters; matrices row after row."""
    lines = textwrap.wrap(", ".join(map(number, np.ravel(values))), 86)
    return "{" + "\n     ".join(lines) + "}"
