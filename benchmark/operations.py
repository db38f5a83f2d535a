"""Operations of C functions, counted by a C parser: nobody's own figures are believed.

Counted are the binary + - * / of numbers; unary minus and calls are counted apart. A call to a helper that
the same file defines counts as the helper's own operations (CasADi squares with a helper), except calls to
helpers whose name starts with a prefix in ``apart``. Subscripts, addresses and integers are not arithmetic of
the model. What stands in a loop counts as often as it runs; where that is not known, nothing is counted.
"""

import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
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
    """Operations of one call of ``function`` in a C file, in which no loop is left early.

    ``without``: macros that leave other functions out, which a parser takes long for. Raises ``KeyError`` if
    the function is not defined there, ``ValueError`` for a loop whose bounds are not known.
    """
    definitions = _definitions(TYPES + preprocessed(source, without))
    counter = _Counter(definitions, tuple(apart))
    counter.visit(definitions[function])
    return counter.operations


@lru_cache(maxsize=1)  # of one file as a rule all functions are counted, one after another
def _definitions(text: str) -> dict[str, Any]:
    tree = c_parser.CParser().parse(text)
    return {node.decl.name: node for node in tree.ext if isinstance(node, c_ast.FuncDef)}


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
        self.integers: dict[str, int] = {}  # what is known: enumerators, arguments and the counters of loops
        self.addresses: set[str] = set()  # names of arrays and pointers

    def visit_Enumerator(self, node: Any) -> None:
        self.integers[node.name] = self._value(node.value)

    def visit_Decl(self, node: Any) -> None:
        if isinstance(node.type, c_ast.ArrayDecl | c_ast.PtrDecl):
            self.addresses.add(node.name)
        if node.init is not None:
            self.visit(node.init)
        if isinstance(node.type, c_ast.Enum | c_ast.FuncDecl):
            self.visit(node.type)

    def visit_For(self, node: Any) -> None:
        first = node.init.decls[0] if isinstance(node.init, c_ast.DeclList) else node.init
        counter, start = (
            (first.name, first.init) if node.init is not first else (first.lvalue.name, first.rvalue)
        )
        try:
            self.integers[counter] = self._value(start)
            while self._value(node.cond):
                self.visit(node.stmt)
                step = 1 if isinstance(node.next, c_ast.UnaryOp) else self._value(node.next.rvalue)
                self.integers[counter] += step if "+" in node.next.op else -step
        except NameError as error:
            raise ValueError(f"{node.coord}: how often the loop runs is not known: {error}") from error

    def visit_While(self, node: Any) -> None:
        raise ValueError(f"{node.coord}: how often the loop runs is not known")

    visit_DoWhile = visit_While

    def _value(self, expression: Any) -> int:
        text = c_generator.CGenerator().visit(expression).replace("/", "//").replace("&&", " and ")
        if "." in text:
            raise TypeError("not of integers alone")
        return int(eval(text, {"__builtins__": {}}, self.integers))

    def visit_BinaryOp(self, node: Any) -> None:
        sides = (node.left, node.right)
        address = any(isinstance(side, c_ast.ID) and side.name in self.addresses for side in sides)
        if self._known(node) is None:
            self.operations.binary += node.op in ARITHMETIC and not address
            self.generic_visit(node)

    def visit_TernaryOp(self, node: Any) -> None:
        chosen = self._known(node.cond)
        if chosen is None:
            self.generic_visit(node)
        else:
            self.visit(node.iftrue if chosen else node.iffalse)

    def _known(self, expression: Any) -> int | None:
        """The value of an expression of known integers alone."""
        try:
            return self._value(expression)
        except (NameError, SyntaxError, TypeError):
            return None

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
        name, arguments = node.name.name, node.args.exprs if node.args else ()
        if name in self.definitions and not name.startswith(self.apart):
            definition, outside = self.definitions[name], (self.integers, self.addresses)
            self.integers, self.addresses = dict(self.integers), set(self.addresses)
            for parameter, argument in zip(definition.decl.type.args.params, arguments, strict=True):
                known = self._known(argument)
                if known is not None:
                    self.integers[parameter.name] = known
            self.visit(definition)
            self.integers, self.addresses = outside
        else:
            self.operations.calls[name] += 1
        for argument in arguments:
            self.visit(argument)
