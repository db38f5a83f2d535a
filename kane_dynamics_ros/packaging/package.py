"""Write an ament_cmake package around a robot's generated C: header, control core, solver plugin, controller.

The templates in ``templates`` are the package; what is filled in are the package's name, numbers, and the
names of joints and links, which only ever become escaped string literals.
"""

import json
import math
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from kane_dynamics_ros import __version__
from kane_dynamics_ros.codegen.derive import Derived
from kane_dynamics_ros.codegen.module import checked_name, write_module
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.files import claim_files, write_file
from kane_dynamics_ros.runtime import DynamicsModel, load_model

COMMAND = "package"  # whose list in the package's folder says what it may replace
STATES = 8  # random ones, at which the package's own tests know the efforts
TEMPLATES = {  # and where in the package each goes; NAME is the package's
    "include/model.hpp": "include/NAME/NAME.hpp",
    "include/control_core.hpp": "include/NAME/control_core.hpp",
    "src/control_core.cpp": "src/control_core.cpp",
}
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
        "boolean": lambda value: "true" if value else "false",
        "json": json.dumps,
    }
    for template, path in TEMPLATES.items():
        text = environment.get_template(f"{template}.j2").render(values)
        texts[path.replace("NAME", name)] = text
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
        "slots": {name: begin for name, (begin, _) in slots.items()},
    }


def _limit(limit: float | None, otherwise: float) -> float:
    return otherwise if limit is None else limit


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


def _array(values: Iterable[float]) -> str:
    """An initializer of a ``std::array``."""
    return "{" + ", ".join(map(number, values)) + "}"
