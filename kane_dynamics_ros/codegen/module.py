"""Write a robot's module: NAME.py, NAME.h and NAME.c."""

import errno
import hashlib
import keyword
import re
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


class OutputError(KaneDynamicsError):
    """The generated files cannot be written."""

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(f"{folder}: cannot write the generated module: {reason}; choose another -o DIR")


class ModuleNameError(KaneDynamicsError):
    """``--name`` is not usable as a file name and identifier."""

    def __init__(self, found: str) -> None:
        super().__init__(
            f"--name {found!r}: allowed are ASCII letters, digits and underscores, not beginning with a "
            "digit, and no keyword of Python; choose another name"
        )


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
    texts = {
        folder / f"{name}.py": python_source(name, derived, __version__, c_sha256),
        folder / f"{name}.h": header,
        folder / f"{name}.c": source,
    }
    accept(texts[folder / f"{name}.py"])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in texts:
            check_replaceable(path)
        _replace_all(texts, folder)
    except OSError as error:
        raise OutputError(folder, error.strerror or str(error)) from error
    return tuple(texts)


def check_replaceable(path: Path) -> None:
    """Raise ``OutputError`` where a file is there that was not generated: somebody's own."""
    if path.is_file():
        with path.open("rb") as file:
            if GENERATED not in file.readline(LONGEST_LINE):
                raise OutputError(path.parent, f"{path.name} is there already, and was not generated")


def _replace_all(texts: Mapping[Path, str], folder: Path) -> None:
    """Write beside, then rename: a reader or another writer never meets half a file."""
    blocked = next((path for path in texts if path.is_dir()), None)
    if blocked:
        raise IsADirectoryError(errno.EISDIR, f"{blocked.name} is a folder")
    with tempfile.TemporaryDirectory(dir=folder, prefix=".generate-") as temporary:
        for path, text in texts.items():
            (Path(temporary) / path.name).write_text(text, encoding="utf-8", newline="\n")
        for path in texts:
            (Path(temporary) / path.name).replace(path)
