"""YAML as JSON, ROS and its version 1.2 read it: to PyYAML, which knows 1.1, 1e-3 is no number but text."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml


def parameter_file(content: Mapping[str, Any], head: Sequence[str]) -> str:
    """A parameter file for any node, with comments before it."""
    tree = {"/**": {"ros__parameters": dict(content)}}
    body = yaml.safe_dump(tree, sort_keys=False, default_flow_style=None, width=100)
    return "".join(f"# {line}\n" for line in head) + body


def rounded(values: Iterable[float]) -> list[float]:
    """Numbers as such files state them, to six digits."""
    return [float(f"{value:.6g}") for value in values]


class Loader(yaml.SafeLoader):
    """PyYAML's safe loader, for which 1e-3 is a number."""


NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$", re.ASCII)  # with an exponent
Loader.add_implicit_resolver("tag:yaml.org,2002:float", NUMBER, list("+-.0123456789"))


def load_yaml(text: str | bytes, loader: type[yaml.SafeLoader] = Loader) -> Any:
    """The content of a YAML text.

    Raises ``yaml.YAMLError``, also for what is nested too deeply, not in its encoding, or a date that there
    is not.

    Example:
        >>> load_yaml("{stiffness: 2e9, joints: [1, 2]}")
        {'stiffness': 2000000000.0, 'joints': [1, 2]}
    """
    try:
        return yaml.load(text, loader)
    except RecursionError:
        raise yaml.YAMLError("it is nested too deeply") from None
    except ValueError as error:
        raise yaml.YAMLError(str(error)) from None
