"""Write a robot's module: NAME.py, NAME.h and NAME.c."""

import hashlib
import keyword
import re
from pathlib import Path

from kane_dynamics_ros import __version__
from kane_dynamics_ros.codegen.c_header import c_header
from kane_dynamics_ros.codegen.c_source import c_source
from kane_dynamics_ros.codegen.derived import Derived
from kane_dynamics_ros.codegen.errors import ModuleNameError, OutputError
from kane_dynamics_ros.codegen.python_source import python_source


def module_name(text: str) -> str:
    """A name that is safe as a file name and as an identifier in Python and C."""
    name = re.sub(r"[^0-9A-Za-z]+", "_", text).strip("_").lower()
    if not name or name[0].isdigit() or keyword.iskeyword(name):
        name = f"robot_{name}".rstrip("_")
    return name


def checked_name(name: str) -> str:
    """A name that the user chose, as it is.

    Raises:
        ModuleNameError: it is no identifier, or a keyword of Python.
    """
    if not re.fullmatch(r"[A-Za-z][0-9A-Za-z_]*", name) or keyword.iskeyword(name):
        raise ModuleNameError(name)
    return name


def write_module(derived: Derived, name: str, folder: Path) -> tuple[Path, ...]:
    """Write NAME.py, NAME.h and NAME.c into the folder, all or none; returns their paths.

    Raises:
        OutputError: the folder cannot be written.
    """
    header, source = c_header(name, derived, __version__), c_source(name, derived, __version__)
    c_sha256 = hashlib.sha256((header + source).encode()).hexdigest()
    texts = {
        f"{name}.py": python_source(name, derived, __version__, c_sha256),
        f"{name}.h": header,
        f"{name}.c": source,
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = [folder / f".{file}.new" for file in texts]
        for path, text in zip(temporary, texts.values(), strict=True):
            path.write_text(text, encoding="utf-8", newline="\n")
        for path, file in zip(temporary, texts, strict=True):
            path.replace(folder / file)
    except OSError as error:
        raise OutputError(folder, error.strerror or str(error)) from error
    return tuple(folder / file for file in texts)
