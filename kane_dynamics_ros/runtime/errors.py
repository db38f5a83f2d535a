"""Errors of loading a generated module."""

from collections.abc import Sequence
from pathlib import Path

from kane_dynamics_ros.errors import KaneDynamicsError


class ModelNotFoundError(KaneDynamicsError):
    """Neither a file nor the name of a shipped model."""

    def __init__(self, found: str, shipped: Sequence[str]) -> None:
        super().__init__(
            f"no model {found!r}: give the path of a generated NAME.py (kane_dynamics generate writes one), "
            f"or one of the shipped models: {', '.join(shipped)}"
        )


class ModelChecksumError(KaneDynamicsError):
    """The file is not a generated module, or was changed after it was generated."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path}: {what}; generate it again with kane_dynamics generate")


class PlantedModuleError(KaneDynamicsError):
    """A module that anybody could have put where it lies."""

    def __init__(self, path: Path, owner: str) -> None:
        self.path, self.owner = path, owner
        super().__init__(
            f"{path}: it belongs to {owner}, and lies where anybody may put files; a model is code, which "
            "runs with your rights: copy it, with its .c and .h, if you trust it, to a folder of yours"
        )


class NotAModuleError(KaneDynamicsError):
    """A robot's description was given where its generated module is wanted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(
            f"{path}: XML, not a generated module; a URDF becomes one by kane_dynamics generate {path.name}"
        )


class CompileError(KaneDynamicsError):
    """The compiled form was asked for and cannot be had."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: cannot be compiled: {reason}; use backend='python' or fix the cause")


class BuildInterruptedError(KaneDynamicsError):
    """A signal ended the process's wait for the compiler."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path}: interrupted while it was compiled; the next start compiles it")


class NoMassError(KaneDynamicsError):
    """The centre of mass of nothing was asked for."""

    def __init__(self) -> None:
        super().__init__(
            "there is no centre of mass: nothing that moves has mass; give a link or the payload some"
        )


class BackendError(KaneDynamicsError):
    """``backend`` is not a word that ``load_model`` knows."""

    def __init__(self, found: str, allowed: Sequence[str]) -> None:
        super().__init__(f"backend {found!r}; allowed are {', '.join(map(repr, allowed))}")


class ParameterError(KaneDynamicsError):
    """A run-time parameter has a value that makes no sense."""

    def __init__(self, name: str, found: object, allowed: str) -> None:
        self.name, self.found, self.allowed = name, found, allowed
        super().__init__(f"parameter {name}: found {found!r}; allowed: {allowed}")
