"""Errors of writing a module."""

from pathlib import Path

from kane_dynamics_ros.errors import KaneDynamicsError


class OutputError(KaneDynamicsError):
    """The generated files cannot be written."""

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(f"{folder}: cannot write the generated module: {reason}; choose another -o DIR")


class ModuleNameError(KaneDynamicsError):
    """``--name`` is not usable as a file name and identifier."""

    def __init__(self, found: str) -> None:
        super().__init__(
            f"--name {found!r}: allowed are ASCII letters, digits and underscores, not beginning with a "
            "digit, and no keyword of Python; choose another name"
        )
