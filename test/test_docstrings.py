"""The examples in docstrings run and print what they show, in every module that has any."""

import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [
    path for path in sorted((ROOT / "kane_dynamics_ros").rglob("*.py")) if ">>> " in path.read_text("utf-8")
]


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("module", [module_name(path) for path in FILES])
def test_examples_print_what_they_show(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if ".nodes." in module:
        pytest.importorskip("rclpy", reason="the nodes need ROS 2")
    monkeypatch.chdir(tmp_path)  # for what an example writes
    result = doctest.testmod(importlib.import_module(module), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 0
    assert result.failed == 0, capsys.readouterr().out


def test_every_function_on_the_reference_page_has_an_example() -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text("utf-8")
    lacking = []
    for name in re.findall(r"^::: ([\w.]+)", page, re.MULTILINE):
        module, _, last = name.rpartition(".")
        item = getattr(importlib.import_module(module), last)
        if inspect.isfunction(item) and ">>> " not in (item.__doc__ or ""):
            lacking.append(name)
    assert lacking == []
