"""Runs the ``xacro`` package on one file; finds the packages that files name, with or without a workspace.

A program of its own, since a xacro file is a program, too. Reads ``{"source", "arguments", "packages",
"memory"}`` as JSON and writes an ``answer``. The standard library alone; run by ``load.py``.
"""

import os
import sys

if __name__ == "__main__":
    # no module of this folder or of the working directory; the two above are loaded before any program begins
    HERE = os.path.dirname(os.path.abspath(__file__))
    sys.path = [path for path in sys.path if path and os.path.abspath(path) != HERE]

import importlib
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

LEVELS = 3  # how far below a folder of packages they are looked for
MOST_FOLDERS = 2000  # looked at in one folder

MOST_INCLUDES = 1000  # looked at although they were not read
ARGUMENT = re.compile(r"""\$\(arg\s+([^)\s]+)|\barg\(\s*["']([^"']+)""")  # $(arg NAME), xacro.arg('NAME')
EVALUATION = re.compile(r"\$\(eval\s(.*)", re.DOTALL)  # whose names are arguments
WORD = re.compile(r"\w+")


# Packages by their package.xml


def find_package(name: str, file: Path, folders: Sequence[Path] = ()) -> Path | None:
    """The folder of package ``name``, which ``file`` asks for; None where it is not found.

    Looked at are, in this order: ``folders`` (each a package or a folder of packages, of this name in its
    package.xml or else as a folder), the package that holds ``file``, AMENT_PREFIX_PATH, ROS_PACKAGE_PATH,
    and the packages beside ``file`` and beside each folder above it. There a folder counts that belongs to
    the user, to root or to the owner of ``file``: in a shared folder anybody may put a package.
    """
    packages = (folder for folder in _packages_in(folders) if is_package(folder, name))
    called = (folder for folder in _packages_in(folders) if folder.name == name and folder.is_dir())
    others = (folder for folder in _candidates(name, file) if is_package(folder, name))
    return next(itertools.chain(packages, called, others), None)


def searched(file: Path, folders: Sequence[Path] = ()) -> list[str]:
    """What ``find_package`` looks at, in words."""
    variables = [name for name in ("AMENT_PREFIX_PATH", "ROS_PACKAGE_PATH") if os.environ.get(name)]
    return [*map(str, folders), *variables, f"the folders above and beside {file.resolve().parent}"]


def is_package(folder: Path, name: str) -> bool:
    """Whether the folder's package.xml has this name."""
    try:
        with open(folder / "package.xml", "rb") as file:
            found = re.search(rb"<name>\s*([^<\s]+)\s*</name>", file.read(100_000))
    except (OSError, ValueError):
        return False
    return found is not None and found[1].decode(errors="replace") == name


def _candidates(name: str, file: Path) -> Iterator[Path]:
    above = file.resolve().parents
    yield from above
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    yield from (Path(prefix, "share", name) for prefix in prefixes if prefix)
    paths = os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)
    yield from _packages_in(Path(path) for path in paths if path)
    owners = {os.getuid(), 0, _owner(file)}
    for folder in above:
        yield from (own for own in (folder / name, *_folders_in(folder)) if _owner(own) in owners)


def _packages_in(folders: Iterable[Path]) -> Iterator[Path]:
    """The folders, and those up to ``LEVELS`` below that hold no package themselves."""
    level = list(folders)
    for _ in range(LEVELS + 1):
        yield from level
        below = [folder for folder in level if not (folder / "package.xml").is_file()]
        level = [inner for folder in below for inner in _folders_in(folder)]


def _folders_in(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            found = [Path(entry) for entry in itertools.islice(entries, MOST_FOLDERS) if entry.is_dir()]
    except OSError:
        return []
    return sorted(path for path in found if not path.name.startswith("."))


def _owner(path: Path) -> int | None:
    try:
        return os.stat(path).st_uid
    except OSError:
        return None


# xacro, watched while it runs


class Arguments(dict[str, str]):
    """The arguments of a run; remembers which were asked for, and the last that was not there."""

    def __init__(self, given: dict[str, str]) -> None:
        super().__init__(given)
        self.asked: set[str] = set()
        self.missing: str | None = None

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        self.missing = None if name in self else name
        return super().__getitem__(name)


class Packages:
    """``$(find NAME)`` as ``find_package`` finds it; remembers the one that was not found."""

    def __init__(self, source: str, folders: list[str]) -> None:
        self.source, self.folders = Path(source), [Path(folder) for folder in folders]
        self.missing: str | None = None
        substitution: Any = importlib.import_module("xacro.substitution_args")
        substitution._eval_find = substitution._eval_dict["find"] = self.find

    def find(self, name: str) -> str:
        """The folder of a package."""
        folder = find_package(name, self.source, self.folders)
        self.missing = None if folder else name
        if folder is None:
            raise LookupError(f"there is no package {name!r}")
        return str(folder)


class Declarations:
    """What a xacro file and those that it includes say about arguments, in branches not taken as well.

    ``declared``: by ``<xacro:arg>``, with the default, or asked for by name; ``evaluated``: words of
    ``$(eval ...)``; ``macros``: the names of macros; ``all_read`` is False where an include that was not
    followed could not be read either, so that nobody knows what it declares.
    """

    def __init__(self, xacro: Any) -> None:
        self.xacro = xacro
        self.declared: dict[str, str | None] = {}
        self.evaluated: set[str] = set()
        self.macros: list[str] = []
        self.all_read = True
        self.included: set[str] = set()  # names of files as they are written, of includes that were followed
        self.includes: dict[str, str] = {}  # all, with the folder of the file that includes
        self._parse, self._files = xacro.parse, xacro.get_include_files
        xacro.parse, xacro.get_include_files = self._looked_at, self._followed

    def _looked_at(self, content: Any, filename: str | None = None) -> Any:
        document = self._parse(content, filename)
        folder = os.path.dirname(os.path.abspath(filename)) if filename else os.getcwd()
        for element in document.getElementsByTagName("*"):
            if element.tagName == "xacro:arg":
                default = element.getAttribute("default") if element.hasAttribute("default") else None
                self.declared[element.getAttribute("name")] = default
            elif element.tagName == "xacro:include":
                self.includes.setdefault(element.getAttribute("filename"), folder)
            elif element.tagName == "xacro:macro":
                self.macros.append(element.getAttribute("name"))
            texts = [value for _, value in element.attributes.items()]
            for text in (*texts, *(child.nodeValue or "" for child in element.childNodes)):
                for first, second in ARGUMENT.findall(text):
                    self.declared.setdefault(first or second, None)
                self.evaluated.update(
                    word for part in EVALUATION.findall(text) for word in WORD.findall(part)
                )
        return document

    def _followed(self, filename: str, symbols: Any) -> Any:
        self.included.add(filename)
        return self._files(filename, symbols)

    def look_at_the_rest(self) -> None:
        """Read the files whose inclusion depends on a condition that was not met."""
        for _ in range(MOST_INCLUDES):
            left = self.includes.keys() - self.included
            if not left:
                return
            name = min(left)
            self.included.add(name)
            self.xacro.filestack.append(os.path.join(self.includes[name], "includes"))
            try:
                for path in self._files(name, self.xacro.Table(self.xacro._global_symbols)):
                    self._looked_at(None, path)
            except Exception:
                self.all_read = False
        self.all_read = False


def answer(**found: Any) -> dict[str, Any]:
    """What becomes of a xacro file; what is not among ``found`` is empty.

    The URDF's ``text``, or the ``error`` with the package or argument that was missing; the arguments that
    the file declares and their defaults; those given that nothing in it asks for; the macros of a file that
    yields no link.
    """
    missing = {"missing_argument": None, "missing_package": None}
    return {"declared": {}, "undeclared": [], "macros": [], **missing, **found}


def expand(source: str, given: dict[str, str], folders: list[str], xacro: Any) -> dict[str, Any]:
    """What xacro makes of a file, or why it fails."""
    arguments, seen, packages = Arguments(given), Declarations(xacro), Packages(source, folders)
    try:
        document = xacro.process_file(source, mappings=arguments)
        text = document.toprettyxml(indent="  ")
    except MemoryError:
        sys.exit("it needs too much memory")
    except Exception as error:  # xacro raises whatever its expressions raise
        missing = {"missing_argument": arguments.missing, "missing_package": packages.missing}
        reason = " ".join(str(error).split()) or type(error).__name__
        return answer(error=reason, declared=seen.declared, **missing)
    undeclared = given.keys() - arguments.asked - seen.declared.keys() - seen.evaluated
    if undeclared:
        seen.look_at_the_rest()
        undeclared -= seen.declared.keys() | seen.evaluated
    return answer(
        text=text,
        declared=seen.declared,
        undeclared=sorted(undeclared) if seen.all_read else [],
        macros=[]
        if any(node.nodeName == "link" for node in document.documentElement.childNodes)
        else seen.macros,
    )


def main() -> None:
    """Expand the file that standard input names."""
    task = json.loads(sys.stdin.read())
    output, sys.stdout = sys.stdout.buffer, sys.stderr  # what a file prints is no part of the answer
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (task["memory"], task["memory"]))
    except (ImportError, ValueError, OSError):
        pass
    try:
        import xacro
    except ImportError:
        sys.exit("the Python package xacro is not installed")
    found = expand(task["source"], task["arguments"], task["packages"], xacro)
    output.write(json.dumps(found).encode())


if __name__ == "__main__":
    main()
