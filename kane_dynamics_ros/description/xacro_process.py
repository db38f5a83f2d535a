"""Runs the ``xacro`` package on one file. A program of its own: a xacro file is a program, too.

Reads ``[path, arguments, bytes of memory]`` as JSON and writes ``{"text", "undeclared", "declared"}``: the
URDF, the arguments given that nothing in the file asks for, and those that it declares. What goes wrong ends
it with one line. Run by ``load.py``, never imported.
"""

import os
import sys

# no module of this folder or of the working directory; the two above are loaded before any program begins
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path = [path for path in sys.path if path and os.path.abspath(path) != HERE]

import json  # noqa: E402
import re  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from typing import Any  # noqa: E402

MOST_INCLUDES = 1000  # looked at although they were not read
ARGUMENT = re.compile(r"""\$\(arg\s+([^)\s]+)|\barg\(\s*["']([^"']+)""")  # $(arg NAME), xacro.arg('NAME')
EVALUATION = re.compile(r"\$\(eval\s(.*)", re.DOTALL)  # whose names are arguments
WORD = re.compile(r"\w+")


class Arguments(dict[str, str]):
    """The arguments of a run; remembers which were asked for."""

    def __init__(self, given: dict[str, str]) -> None:
        super().__init__(given)
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return super().__getitem__(name)


class Declarations:
    """What a xacro file and those that it includes say about arguments, in branches not taken as well.

    ``declared``: by ``<xacro:arg>``, or asked for by name; ``evaluated``: words of ``$(eval ...)``;
    ``all_read`` is False where an include that was not followed could not be read either, so that nobody
    knows what it declares.
    """

    def __init__(self, xacro: Any) -> None:
        self.xacro = xacro
        self.declared: set[str] = set()
        self.evaluated: set[str] = set()
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
                self.declared.add(node.getAttribute("name"))
            elif name == "xacro:include":
                self.includes.setdefault(node.getAttribute("filename"), folder)
            texts = [value for _, value in node.attributes.items()] if name else [node.nodeValue or ""]
            for text in texts:
                self.declared.update(first or second for first, second in ARGUMENT.findall(text))
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
        waiting.extend(one.childNodes)


def main() -> None:
    """Expand the file that standard input names."""
    source, given, memory = json.loads(sys.stdin.read())
    output, sys.stdout = sys.stdout.buffer, sys.stderr  # what a file prints is no part of the answer
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    except (ImportError, ValueError, OSError):
        pass
    try:
        import xacro
    except ImportError:
        sys.exit("the Python package xacro is not installed")
    arguments, declarations = Arguments(given), Declarations(xacro)
    try:
        text = xacro.process_file(source, mappings=arguments).toprettyxml(indent="  ")
        unknown = given.keys() - arguments.asked - declarations.declared - declarations.evaluated
        if unknown:
            declarations.look_at_the_rest()
            unknown -= declarations.declared | declarations.evaluated
    except MemoryError:
        sys.exit("it needs too much memory")
    except Exception as error:  # xacro raises whatever its expressions raise
        sys.exit(" ".join(str(error).split()) or type(error).__name__)
    undeclared = sorted(unknown) if declarations.all_read else []
    answer = {"text": text, "undeclared": undeclared, "declared": sorted(declarations.declared)}
    output.write(json.dumps(answer).encode())


if __name__ == "__main__":
    main()
