"""Break the code that a row of docs/papers.md names, run the test that the row names, and see it fail.

``python mutate_rows.py ROWS`` reads a JSON list of ``[code file, name, test, change]`` and prints a JSON list
with what each test said: "failed" where it noticed, "passed" where it did not. One process runs them all,
so that the libraries are imported once. A function is broken by changing every number and
expression that it returns by a thousandth and by a thousandth of one ("size"), or by turning their signs
("sign").
"""

import dataclasses
import importlib
import io
import json
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
}
change = CHANGES["size"]


def wrong(value: Any) -> Any:
    """The value with every number and expression in it changed."""
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


def run(test: str) -> str:
    """One test in this process, its file imported afresh; nothing that was computed before is remembered."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if file.startswith(str(HERE.parent)) and Path(file).name not in {Path(__file__).name, "conftest.py"}:
            del sys.modules[name]
        elif name.partition(".")[0] == PACKAGE:
            for item in vars(module).values():
                getattr(item, "cache_clear", lambda: None)()
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = pytest.main(["-q", "-x", *WITHOUT, "-o", "addopts=", str(HERE / test)])
    return OUTCOMES.get(int(code), said.getvalue())


def outcome(path: str, name: str, test: str, kind: str) -> str:
    global change
    change = CHANGES[kind]
    with broken(path, name):
        return run(test)


if __name__ == "__main__":
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # none is needed here, and each costs time at each run
    print(json.dumps([outcome(*row) for row in json.loads(sys.argv[1])]))
