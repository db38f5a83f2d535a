"""Write a robot's module: NAME.py, NAME.h and NAME.c."""

import errno
import hashlib
import keyword
import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from kane_dynamics_ros import __version__
from kane_dynamics_ros.codegen.derive import Derived
from kane_dynamics_ros.codegen.print_c import c_header, c_source
from kane_dynamics_ros.codegen.print_python import python_source
from kane_dynamics_ros.errors import KaneDynamicsError

GENERATED = b"enerated by kane_dynamics_ros"  # in the first line of each file
LONGEST_LINE = 4096  # [bytes]

OF_C99 = (  # its headers, which NAME.h would stand before
    "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdarg stdbool "
    "stddef stdint stdio stdlib string tgmath time wchar wctype"
)
OF_PACKAGES = "casadi kane_dynamics_ros launch matplotlib mujoco numpy pinocchio rclpy scipy sympy torch yaml"
TAKEN = frozenset((*sys.stdlib_module_names, *OF_C99.split(), *OF_PACKAGES.split()))


class OutputError(KaneDynamicsError):
    """The module cannot be written as asked.

    Codes: ``unwritable`` and ``not_generated`` (``folder``, ``reason``), ``bad_name`` (``name``).
    """


def module_name(text: str) -> str:
    """A name that is safe as a file name and as an identifier in Python and C, made of a robot's name.

    >>> module_name("My arm (v2)"), module_name("numpy")
    ('my_arm_v2', 'robot_numpy')
    """
    name = re.sub(r"[^0-9A-Za-z]+", "_", text).strip("_").lower()
    return name if _unusable(name) is None else f"robot_{name}".rstrip("_")


def checked_name(name: str) -> str:
    """A name that the user chose, as it is.

    >>> checked_name("left_arm")
    'left_arm'

    Raises:
        OutputError: it is no identifier, or it would stand before something else of that name.
    """
    if reason := _unusable(name):
        raise OutputError(f"--name {name!r}: {reason}; choose another name", "bad_name", name=name)
    return name


def _unusable(name: str) -> str | None:
    """Why a name cannot be that of a module, a header and the beginning of C functions' names."""
    if not re.fullmatch(r"[A-Za-z][0-9A-Za-z_]*", name) or keyword.iskeyword(name):
        return "allowed are ASCII letters, digits and underscores, a letter first, and no Python keyword"
    if name.lower() in TAKEN:
        return "programs beside the file would import or include it instead of the library of that name"
    if re.match(r"kd(_|$)", name, re.IGNORECASE):
        return "names that begin with kd_ are those of the generated code's own functions"
    return None


def write_module(
    derived: Derived, name: str, folder: Path, *, accept: Callable[[str], None] = lambda text: None
) -> tuple[Path, ...]:
    """Write NAME.py, NAME.h and NAME.c into the folder, all or none; returns their paths.

    ``accept`` is given the text of NAME.py first; when it raises, nothing is written.

    Raises:
        OutputError: the folder cannot be written, or holds such a file that was not generated.
    """
    header, source = c_header(name, derived, __version__), c_source(name, derived, __version__)
    c_sha256 = hashlib.sha256((header + source).encode()).hexdigest()
    module = folder / f"{name}.py"
    texts = {  # the module is written last: where it is, the rest is
        folder / f"{name}.h": header,
        folder / f"{name}.c": source,
        module: python_source(name, derived, __version__, c_sha256),
    }
    accept(texts[module])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in texts:
            check_replaceable(path)
        _replace_all(texts, folder)
    except OSError as error:
        raise _unwritable(folder, error.strerror or str(error)) from error
    return (module, *(path for path in texts if path != module))


def check_replaceable(path: Path) -> None:
    """Raise ``OutputError`` where a file is there that was not generated: somebody's own."""
    if path.is_file():
        with path.open("rb") as file:
            if GENERATED not in file.readline(LONGEST_LINE):
                reason = f"{path.name} is there already, and was not generated"
                raise _unwritable(path.parent, reason, "not_generated")


def _unwritable(folder: Path, reason: str, code: str = "unwritable") -> OutputError:
    text = f"{folder}: cannot write the generated module: {reason}; choose another -o DIR"
    return OutputError(text, code, folder=folder, reason=reason)


def _replace_all(texts: Mapping[Path, str], folder: Path) -> None:
    """Write beside, then rename: a reader or another writer never meets half a file."""
    if blocked := next((path for path in texts if path.is_dir()), None):
        raise IsADirectoryError(errno.EISDIR, f"{blocked.name} is a folder")
    with tempfile.TemporaryDirectory(dir=folder, prefix=".generate-") as temporary:
        for path, text in texts.items():
            (Path(temporary) / path.name).write_text(text, encoding="utf-8", newline="\n")
        for path in texts:
            (Path(temporary) / path.name).replace(path)
