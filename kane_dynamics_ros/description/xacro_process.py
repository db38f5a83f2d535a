"""Runs the ``xacro`` package on one file. A program of its own: a xacro file is a program, too.

Reads ``{"source", "arguments", "packages", "memory"}`` as JSON and writes the URDF's ``text``, or the
``error`` and what was missing; with it the arguments that the file declares and their defaults, those given
that nothing in it asks for, and the macros of a file that yields no link. Run by ``load.py``, never imported.
"""

import os
import sys

# no module of this folder or of the working directory; the two above are loaded before any program begins
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path = [path for path in sys.path if path and os.path.abspath(path) != HERE]

import importlib.util  # noqa: E402
import json  # noqa: E402
import re  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

MOST_INCLUDES = 1000  # looked at although they were not read
ARGUMENT = re.compile(r"""\$\(arg\s+([^)\s]+)|\barg\(\s*["']([^"']+)""")  # $(arg NAME), xacro.arg('NAME')
EVALUATION = re.compile(r"\$\(eval\s(.*)", re.DOTALL)  # whose names are arguments
WORD = re.compile(r"\w+")


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
    """``$(find NAME)`` for the packages of ``packages.py``; remembers the one that was not found."""

    def __init__(self, source: str, folders: list[str]) -> None:
        spec: Any = importlib.util.spec_from_file_location("packages", os.path.join(HERE, "packages.py"))
        self.packages = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.packages)
        self.source, self.folders = Path(source), [Path(folder) for folder in folders]
        self.missing: str | None = None
        substitution: Any = importlib.import_module("xacro.substitution_args")
        substitution._eval_find = substitution._eval_dict["find"] = self.find

    def find(self, name: str) -> str:
        """The folder of a package."""
        folder = self.packages.find_package(name, self.source, self.folders)
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
        for node in nodes(document):
            name = getattr(node, "tagName", "")
            if name == "xacro:arg":
                default = node.getAttribute("default") if node.hasAttribute("default") else None
                self.declared[node.getAttribute("name")] = default
            elif name == "xacro:include":
                self.includes.setdefault(node.getAttribute("filename"), folder)
            elif name == "xacro:macro":
                self.macros.append(node.getAttribute("name"))
            texts = [value for _, value in node.attributes.items()] if name else [node.nodeValue or ""]
            for text in texts:
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


def nodes(node: Any) -> Iterator[Any]:
    """A node of a document and all below it."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(reversed(one.childNodes))


def answer_to(source: str, given: dict[str, str], folders: list[str], xacro: Any) -> dict[str, Any]:
    """What xacro makes of a file, or why it fails."""
    arguments, declarations = Arguments(given), Declarations(xacro)
    packages = Packages(source, folders)
    try:
        document = xacro.process_file(source, mappings=arguments)
        text = document.toprettyxml(indent="  ")
    except MemoryError:
        sys.exit("it needs too much memory")
    except Exception as error:  # xacro raises whatever its expressions raise
        missing = {"missing_argument": arguments.missing, "missing_package": packages.missing}
        reason = " ".join(str(error).split()) or type(error).__name__
        return {"error": reason, "declared": declarations.declared, **missing}
    unknown = given.keys() - arguments.asked - declarations.declared.keys() - declarations.evaluated
    if unknown:
        declarations.look_at_the_rest()
        unknown -= declarations.declared.keys() | declarations.evaluated
    undeclared = sorted(unknown) if declarations.all_read else []
    linkless = not any(getattr(node, "tagName", "") == "link" for node in document.documentElement.childNodes)
    macros = declarations.macros if linkless else []
    return {"text": text, "undeclared": undeclared, "declared": declarations.declared, "macros": macros}


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
    answer = answer_to(task["source"], task["arguments"], task["packages"], xacro)
    output.write(json.dumps(answer).encode())


if __name__ == "__main__":
    main()
