"""ROS arguments with mixed lists of integers and numbers made uniform.

rcl's own parser refuses ``gravity: [0, 0, -9.81]`` before a node can see it. Such lists, in
``-p name:=value`` and in ``--params-file`` files, become lists of numbers here.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml


def uniform_arguments(arguments: Sequence[str], folder: Path) -> list[str]:
    """The arguments with mixed lists made uniform; rewritten parameter files go to ``folder``."""
    result = list(arguments)
    for i, argument in enumerate(result[:-1]):
        if argument in ("-p", "--param"):
            result[i + 1] = _uniform_assignment(result[i + 1])
        elif argument == "--params-file":
            result[i + 1] = _uniform_file(result[i + 1], folder)
    return result


def _uniform_assignment(assignment: str) -> str:
    """``name:=[0, 1.5]`` as ``name:=[0.0, 1.5]``; anything else unchanged."""
    name, separator, text = assignment.partition(":=")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        return assignment  # rcl says what is wrong with it
    changed = _uniform(value)
    return assignment if changed is value else f"{name}{separator}{changed}"


def _uniform_file(name: str, folder: Path) -> str:
    """The file's name, or that of a rewritten copy when it holds a mixed list."""
    try:
        content = yaml.safe_load(Path(name).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return name  # rcl says what is wrong with it
    changed = _uniform(content)
    if changed is content:
        return name
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".yaml", delete=False, encoding="utf-8") as copy:
        yaml.safe_dump(changed, copy, sort_keys=False)
    return copy.name


def _uniform(value: Any) -> Any:
    """The value with mixed lists of numbers made lists of float; the same object when there are none."""
    if isinstance(value, dict):
        changed = {key: _uniform(each) for key, each in value.items()}
        return changed if any(changed[key] is not value[key] for key in value) else value
    if isinstance(value, list) and {type(each) for each in value} == {int, float}:
        return [float(each) for each in value]
    return value
