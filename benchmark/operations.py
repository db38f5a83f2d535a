"""Operations of C functions, counted by a C parser: nobody's own figures are believed.

Counted are the binary + - * / of numbers; unary minus and calls are counted apart. A call to a helper that
the same file defines counts as the helper's own operations (CasADi squares with a helper), except calls to
helpers whose name starts with a prefix in ``apart``. Subscripts are not arithmetic of the model. What stands
in a loop counts as often as it runs, where that is known.
"""

import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pycparser import c_ast, c_generator, c_parser

ARITHMETIC = ("+", "-", "*", "/", "+=", "-=", "*=", "/=")
HEADERS = ("math.h", "float.h", "stddef.h", "stdint.h", "string.h", "stdbool.h")
TYPES = "typedef unsigned long uint64_t; typedef unsigned long size_t; typedef long int64_t;\n"


@dataclass
class Operations:
    """Binary operations, unary minus signs, and calls by name."""

    binary: int = 0
    negations: int = 0
    calls: Counter[str] = field(default_factory=Counter)


def count_operations(
    source: Path, function: str, apart: Sequence[str] = ("kd_sincos",), without: Sequence[str] = ()
) -> Operations:
    """Operations of one call of ``function`` in a C file. Raises ``KeyError`` if it is not defined there.

    ``without``: macros that leave other functions out, which a parser takes long for.
    """
    tree = c_parser.CParser().parse(TYPES + preprocessed(source, without))
    definitions = {node.decl.name: node.body for node in tree.ext if isinstance(node, c_ast.FuncDef)}
    counter = _Counter(definitions, tuple(apart))
    counter.visit(definitions[function])
    return counter.operations


def preprocessed(source: Path, defined: Sequence[str] = ()) -> str:
    """The file's text after the C preprocessor, with empty system headers: what is the file's own."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), "cc")
    with tempfile.TemporaryDirectory() as empty:
        for header in HEADERS:
            Path(empty, header).touch()
        command = [compiler, "-E", "-P", "-std=c99", "-U__GNUC__", "-nostdinc", "-I", empty, str(source)]
        command += [f"-D{name}" for name in defined]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class _Counter(c_ast.NodeVisitor):  # type: ignore[misc]
    """Visits a function's body, and the bodies of the helpers that it calls."""

    def __init__(self, definitions: dict[str, Any], apart: tuple[str, ...]) -> None:
        self.definitions, self.apart = definitions, apart
        self.operations = Operations()
        self.constants: dict[str, int] = {}  # enumerators that were met

    def visit_Enumerator(self, node: Any) -> None:
        self.constants[node.name] = self._value(node.value)

    def visit_For(self, node: Any) -> None:
        before, self.operations = self.operations, Operations()
        self.visit(node.stmt)
        found, self.operations = self.operations, before
        times = self._times(node)
        self.operations.binary += times * found.binary
        self.operations.negations += times * found.negations
        self.operations.calls.update({name: times * count for name, count in found.calls.items()})

    def _times(self, node: Any) -> int:
        """How often a loop's body runs; 1 where its bounds are no constants."""
        try:
            first, last = self._value(node.init.decls[0].init), self._value(node.cond.right)
        except NameError:
            return 1
        return abs(last - first) + (node.cond.op in ("<=", ">="))

    def _value(self, expression: Any) -> int:
        text = c_generator.CGenerator().visit(expression).replace("/", "//")
        return int(eval(text, {}, self.constants))

    def visit_BinaryOp(self, node: Any) -> None:
        self.operations.binary += node.op in ARITHMETIC
        self.generic_visit(node)

    def visit_Assignment(self, node: Any) -> None:
        self.operations.binary += node.op in ARITHMETIC
        self.generic_visit(node)

    def visit_UnaryOp(self, node: Any) -> None:
        literal = isinstance(node.expr, c_ast.Constant)  # the sign of a number is part of it
        self.operations.negations += node.op == "-" and not literal
        self.generic_visit(node)

    def visit_ArrayRef(self, node: Any) -> None:
        self.visit(node.name)

    def visit_FuncCall(self, node: Any) -> None:
        name = node.name.name
        if name in self.definitions and not name.startswith(self.apart):
            self.visit(self.definitions[name])
        else:
            self.operations.calls[name] += 1
        if node.args is not None:
            self.visit(node.args)
