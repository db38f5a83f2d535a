"""Break the code that a row of docs/papers.md names, run the test that the row names, and see it fail.

``python mutate_rows.py ROWS`` reads a JSON list of ``[code file, name, test, change]`` and prints a JSON list
with what each test said: "failed" where it noticed, "passed" where it did not. One process runs them all,
so that the libraries are imported once. A function is broken by changing every number and expression that it
returns by a thousandth and by a thousandth of one ("size"), by turning their signs ("sign"), by exchanging
two unequal entries of each vector that it returns ("swapped"), or by exchanging two operands of an
expression or entries of a list in its source ("exchanged", each change that is possible with its number).

``python mutate_rows.py`` alone breaks every row in every way, and prints those that no test notices; the
tests run a share of them.
"""

import ast
import dataclasses
import functools
import importlib
import inspect
import io
import itertools
import json
import operator
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy

HERE = Path(__file__).parent
PACKAGE = "kane_dynamics_ros"
OUTCOMES = {0: "passed", 1: "failed", 2: "failed"}  # 2: the test file's own constants could not be made
# Not needed here, and each costs time at each run: the last one collects all garbage five times.
WITHOUT = [
    word for name in ("cacheprovider", "faulthandler", "unraisableexception") for word in ("-p", f"no:{name}")
]


CHANGES: dict[str, Callable[[Any, Any], Any]] = {  # of a value, where one is the unit of its kind
    "size": lambda value, thousandth: value + thousandth * (value + 1),
    "sign": lambda value, thousandth: -value,
    "swapped": lambda value, thousandth: NotImplemented,  # of vectors, see ``swapped``
}
change = CHANGES["size"]
exchanged_entries = 0  # by ``swapped``, so far
OPERATIONS: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
NUMBERS = (int, float, complex, np.number, sympy.Basic)


def wrong(value: Any) -> Any:
    """The value with every number and expression in it changed."""
    if change is CHANGES["swapped"]:
        return swapped(value)
    if isinstance(value, (bool, str, bytes, type(None), type)) or callable(value):
        return value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, np.ndarray):
        return wrong_array(value)
    if isinstance(value, sympy.MatrixBase):
        return value.applyfunc(wrong)
    if isinstance(value, (float, np.floating, complex)):
        return change(value, 0.001)
    if isinstance(value, sympy.Basic):
        return change(value, sympy.Rational(1, 1000))
    if dataclasses.is_dataclass(value):
        return wrong_dataclass(value)
    if isinstance(value, dict):
        return {key: wrong(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(wrong(item) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(wrong(item) for item in value)
    if isinstance(value, Iterator):
        return (wrong(item) for item in value)
    raise TypeError(f"no way to break a {type(value).__name__}")


def swapped(value: Any) -> Any:
    """The value with two unequal entries of each vector, matrix or tuple in it exchanged."""
    if isinstance(value, (np.ndarray, sympy.MatrixBase)):
        found = value.copy() if isinstance(value, np.ndarray) else value.as_mutable()
        flat = found.flat if isinstance(found, np.ndarray) else found.flat()
        i, j = unequal(list(flat))
        places = [
            divmod(k, found.shape[-1]) if len(found.shape) == 2 else np.unravel_index(k, found.shape)
            for k in (i, j)
        ]
        found[places[0]], found[places[1]] = value[places[1]], value[places[0]]
        return found
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
        return dataclasses.replace(value, **dict(zip(fields, swapped(list(fields.values())), strict=True)))
    if isinstance(value, dict):
        return dict(zip(value, swapped(list(value.values())), strict=True))
    if isinstance(value, (list, tuple)):
        items = [item if isinstance(item, NUMBERS) else swapped(item) for item in value]
        i, j = unequal(items)
        items[i], items[j] = items[j], items[i]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return (swapped(item) for item in value) if isinstance(value, Iterator) else value


def unequal(items: list[Any]) -> tuple[int, int]:
    """Two numbers or expressions among the items that differ; (0, 0) where there are none."""
    global exchanged_entries
    for i, j in itertools.combinations([k for k, item in enumerate(items) if isinstance(item, NUMBERS)], 2):
        if items[i] != items[j]:
            exchanged_entries += 1
            return i, j
    return 0, 0


# Exchanges in a function's source


def function_of(item: Any) -> Any:
    """The plain function of a method, a property, a cached function or a class."""
    item = inspect.unwrap(
        getattr(item, "fget", None) or getattr(item, "func", None) or getattr(item, "__func__", item)
    )
    return item.__init__ if isinstance(item, type) else item


@functools.cache
def exchanges(path: str, name: str) -> list[tuple[str, Any]]:
    """What can be exchanged in a function: how the expression reads then, and the function's code."""
    function = function_of(next(owners(path, name))[2])
    file = Path(inspect.getfile(function))
    text = file.read_bytes()
    starts = list(itertools.accumulate(map(len, text.splitlines(keepends=True)), initial=0))

    def span(node: ast.expr) -> slice:
        return slice(
            starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        )

    found = []
    for whole, *two in pairs(ast.parse(text), function.__qualname__):
        first, second = sorted(map(span, two), key=lambda part: part.start)
        all_ = span(whole)
        edited = [
            text[: first.start],
            text[second],
            text[first.stop : second.start],
            text[first],
            text[second.stop :],
        ]
        code = compile(b"".join(edited), str(file), "exec")
        reads = b"".join(edited)[all_.start : all_.stop].decode()
        found.append((" ".join(reads.split()), code_of(code, function.__qualname__)))
    return found


def code_of(code: Any, name: str) -> Any:
    """The code object of a function within that of its module."""
    inside = [item for item in code.co_consts if inspect.iscode(item)]
    here = [item for item in inside if item.co_qualname == name]
    return here[0] if here else next(filter(None, (code_of(item, name) for item in inside)), None)


def pairs(tree: ast.Module, name: str) -> Iterator[tuple[ast.expr, ast.expr, ast.expr]]:
    """Expressions of a function, and two operands or neighbouring entries whose exchange changes them."""
    node: Any = tree
    for part in name.split("."):
        node = next(item for item in node.body if getattr(item, "name", None) == part)
    waiting = list(node.body)
    while waiting:
        item = waiting.pop(0)
        if isinstance(item, (ast.Raise, ast.JoinedStr)):  # messages
            continue
        if isinstance(item, ast.AnnAssign):
            waiting += [item.value] if item.value else []
            continue
        if isinstance(item, ast.BinOp):
            operands = list(leaves(item))
            for a, b in itertools.combinations(operands, 2):
                named = {id(leaf): ast.unparse(leaf) for leaf in operands}
                turned = named | {id(a): named[id(b)], id(b): named[id(a)]}
                if sympy.expand(value_of(item, named) - value_of(item, turned)) != 0:
                    yield item, a, b
            waiting += operands
            continue
        if isinstance(item, (ast.Tuple, ast.List)) and isinstance(item.ctx, ast.Load):
            for a, b in itertools.pairwise(item.elts):
                if ast.unparse(a) != ast.unparse(b) and not isinstance(a, ast.Starred) | isinstance(
                    b, ast.Starred
                ):
                    yield item, a, b
        waiting += ast.iter_child_nodes(item)


def leaves(node: ast.expr) -> Iterator[ast.expr]:
    """The operands of an arithmetic expression."""
    if isinstance(node, ast.BinOp):
        yield from leaves(node.left)
        yield from leaves(node.right)
    elif isinstance(node, ast.UnaryOp):
        yield from leaves(node.operand)
    else:
        yield node


def value_of(node: ast.expr, named: dict[int, str]) -> Any:
    """An arithmetic expression in symbols, one for each operand's text."""
    if isinstance(node, ast.UnaryOp):
        return -value_of(node.operand, named)
    if not isinstance(node, ast.BinOp):
        return sympy.Symbol(named[id(node)])
    left, right = value_of(node.left, named), value_of(node.right, named)
    return OPERATIONS.get(type(node.op), sympy.Function("other"))(left, right)


def wrong_array(value: Any) -> Any:
    if value.dtype == object:
        return np.vectorize(wrong, otypes=[object])(value) if value.size else value
    return value + 1 if value.dtype.kind in "iu" else change(value, 0.001)


def wrong_dataclass(value: Any) -> Any:
    fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
    return dataclasses.replace(value, **{name: wrong(item) for name, item in fields.items()})


def breaking(function: Callable[..., Any]) -> Callable[..., Any]:
    def broken(*arguments: Any, **named: Any) -> Any:
        return wrong(function(*arguments, **named))

    return broken


def owners(path: str, name: str) -> Iterator[tuple[Any, str, Any]]:
    """Where a function or method of a file is kept: a class, a module's names or a table, and the key."""
    module = importlib.import_module(f"{PACKAGE}.{path.removesuffix('.py').replace('/', '.')}")
    *holder, last = name.split(".")
    if holder:
        yield getattr(module, holder[0]), last, vars(getattr(module, holder[0]))[last]
    elif hasattr(module, last):
        function = getattr(module, last)
        for other in [m for n, m in sys.modules.items() if n.partition(".")[0] == PACKAGE]:
            tables = [item for item in vars(other).values() if isinstance(item, dict)]
            for holder in [vars(other), *tables]:
                yield from ((holder, key, item) for key, item in list(holder.items()) if item is function)
    else:
        for kind in [item for item in vars(module).values() if isinstance(item, type)]:
            if last in vars(kind) and kind.__module__ == module.__name__:
                yield kind, last, vars(kind)[last]


@contextmanager
def broken(path: str, name: str) -> Iterator[None]:
    found = list(owners(path, name))
    if not found:
        raise LookupError(f"{path} has no {name}")
    try:
        for holder, key, item in found:
            put(holder, key, broken_item(item))
        yield
    finally:
        for holder, key, item in found:
            put(holder, key, item)


def put(holder: Any, key: str, item: Any) -> None:
    if isinstance(holder, dict):
        holder[key] = item
    else:
        setattr(holder, key, item)


def broken_item(item: Any) -> Any:
    if isinstance(item, property):
        return property(breaking(item.fget))  # type: ignore[arg-type]
    if isinstance(item, (staticmethod, classmethod)):
        return type(item)(breaking(item.__func__))
    return breaking(item)


def run(tests: str) -> str:
    """Tests in this process, their files imported afresh; nothing that was computed before is remembered."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if file.startswith(str(HERE.parent)) and Path(file).name not in {Path(__file__).name, "conftest.py"}:
            del sys.modules[name]
        elif name.partition(".")[0] == PACKAGE:
            for item in vars(module).values():
                getattr(item, "cache_clear", lambda: None)()
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = pytest.main(
            [
                "-q",
                "-x",
                "--assert=plain",
                *WITHOUT,
                "-o",
                "addopts=",
                *(str(HERE / test) for test in tests.split()),
            ]
        )
    collected = int(code) != 4 or " error in " not in said.getvalue()  # 4: or the file's constants are wrong
    return OUTCOMES.get(int(code) if collected else 2, said.getvalue())


@contextmanager
def exchanged(path: str, name: str, number: int) -> Iterator[str]:
    function = function_of(next(owners(path, name))[2])
    before = function.__code__
    reads, function.__code__ = exchanges(path, name)[number]
    try:
        yield reads
    finally:
        function.__code__ = before


def outcome(path: str, name: str, test: str, kind: str) -> str:
    global change
    kind, _, number = kind.partition(" ")
    if kind == "exchanged":
        with exchanged(path, name, int(number)):
            return run(test)
    change, before = CHANGES[kind], exchanged_entries
    with broken(path, name):
        said = run(test)
    return outcome(path, name, test, "size") if kind == "swapped" and exchanged_entries == before else said


def every_way() -> None:
    """Print each change that the tests of its rows do not notice."""
    from test_papers_page import exchanges_of_rows, mutations

    for path, name, test, kind in [*itertools.chain(*mutations().values()), *exchanges_of_rows()]:
        if outcome(path, name, test, kind) != "failed":
            reads = exchanges(path, name)[int(kind.split()[1])][0] if " " in kind else ""
            print(path, name, test, kind, reads, flush=True)


if __name__ == "__main__":
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # none is needed here, and each costs time at each run
    if len(sys.argv) > 1:
        print(json.dumps([outcome(*row) for row in json.loads(sys.argv[1])]))
    else:
        every_way()
