"""``load_model``: a generated module becomes a ``DynamicsModel``.

A model is code: its text is run, with the rights of the user who loads it. What runs is the text whose
checksum was compared, read once: no cache of Python's (``.pyc``) comes between. Another user's module is
refused where anybody could have put it, as in ``/tmp``; elsewhere a warning tells that others wrote it, or
could have.
"""

import functools
import logging
import os
import pwd
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NamedTuple, get_args

from kane_dynamics_ros.checksum import content_hash, stated_checksum
from kane_dynamics_ros.errors import (
    BatchError,
    KaneDynamicsError,
    NonFiniteError,
    PathError,
    ShapeError,
    SingularMassMatrixError,
)
from kane_dynamics_ros.runtime.compilation import CompileError, is_own_group, library_path, load_library
from kane_dynamics_ros.runtime.model import (
    DynamicsModel,
    Kernel,
    Source,
    default_parameters,
    documents,
    model_at,
)
from kane_dynamics_ros.runtime.parameters import Parameters
from kane_dynamics_ros.runtime.python_kernel import PythonKernel

Backend = Literal["auto", "c", "python"]
SHIPPED = Path(__file__).resolve().parent.parent / "generated"
log = logging.getLogger(__name__)


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


class UntrustedModuleError(KaneDynamicsError):
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


class BackendError(KaneDynamicsError):
    """``backend`` is not a word that ``load_model`` knows."""

    def __init__(self, found: str, allowed: Sequence[str]) -> None:
        super().__init__(f"backend {found!r}; allowed are {', '.join(map(repr, allowed))}")


def load_model(source: str | os.PathLike[str], *, backend: Backend = "auto") -> DynamicsModel:
    """The model in a generated module.

    Args:
        source: path of a NAME.py that ``kane_dynamics generate`` wrote, or a shipped model's name.
        backend: "c" for the compiled form, which is built when it is absent; "python" for pure Python;
            "auto" takes the compiled form where it can be had and says in the log why when it cannot.

    Raises:
        ModelNotFoundError: no such file or name.
        ModelChecksumError: not a generated module, or changed since.
        UntrustedModuleError: another user's, in a folder that anybody may write to, or below one.
        CompileError: ``backend="c"`` and it cannot be compiled.
        BackendError: another word for ``backend``.
    """
    if backend not in get_args(Backend):
        raise BackendError(backend, get_args(Backend))
    path = find_module(source)
    return _model(path, read_module(path), backend)


@functools.lru_cache(maxsize=8)  # a pool sends the model anew with each task
def _load_again(path: Path, backend: Backend, checksum: str, parameters: Parameters) -> DynamicsModel:
    """A model that was pickled.

    Raises:
        ModelChecksumError: its module is another one by now. And what ``load_model`` raises.
    """
    module = read_module(find_module(path))
    if module.checksum != checksum:
        raise ModelChecksumError(path, "the file is another one than when the model was pickled")
    return _model(path, module, backend, parameters)


def _model(
    path: Path, module: "CheckedModule", backend: Backend, parameters: Parameters | None = None
) -> DynamicsModel:
    """A module's model at these parameters, or at those that it was generated with."""
    make, used = _kernel_maker(module, backend)
    source = Source(path, module.checksum, module.model, used, make, _load_again)
    return model_at(parameters or default_parameters(module.model), source)


def compile_model(source: str | os.PathLike[str]) -> Path:
    """Build the compiled form of a module now, where it is absent; returns the library's path.

    Raises:
        CompileError: it cannot be compiled.
    """
    path = find_module(source)
    c_sha256: str = read_module(path).model["c_sha256"]
    return library_path(path.with_suffix(".c"), c_sha256)


def _kernel_maker(
    module: "CheckedModule", backend: Backend
) -> tuple[Callable[[Sequence[float]], Kernel], str]:
    """What makes a kernel from packed parameters, and which backend it is."""
    if backend != "python":
        try:
            return _compiled(module), "c"
        except CompileError as error:
            if backend == "c":
                raise
            log.warning("%s; pure Python gives the same answers, slower", error)
    functions = module.run()

    def in_python(parameters: Sequence[float]) -> Kernel:
        return PythonKernel(functions, parameters)

    return in_python, "python"


def _compiled(module: "CheckedModule") -> Callable[[Sequence[float]], Kernel]:
    library = load_library(module.path.with_suffix(".c"), module.model["c_sha256"])
    names = module.model["joint_names"]

    def singular(index: int) -> SingularMassMatrixError:
        return SingularMassMatrixError([names[index]])

    makers = (ShapeError, BatchError, NonFiniteError, singular)
    library.configure(*makers, available_processors(), documents(), DynamicsModel)
    kernel: Callable[[Sequence[float]], Kernel] = library.Kernel
    return kernel


def available_processors() -> int:
    """How many processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# The module as a file: found, checked, run


def find_module(source: str | os.PathLike[str]) -> Path:
    """The file of a generated module, or of a shipped model given by name.

    Raises:
        ModelNotFoundError: no such file or name.
        UntrustedModuleError: a link that anybody could have put there leads to another user's file.
    """
    path = Path(source)
    if path.is_file():
        found = path.resolve()
        _refuse_planted(path.absolute(), os.stat(found))
        return found
    shipped = sorted(p.stem for p in SHIPPED.glob("*.h"))
    if str(source) in shipped:
        return SHIPPED / f"{source}.py"
    raise ModelNotFoundError(str(source), shipped)


class CheckedModule(NamedTuple):
    """A generated module whose text fits its checksum."""

    path: Path
    text: str
    checksum: str
    model: dict[str, Any]  # its ``MODEL``

    def run(self) -> ModuleType:
        """The module with its functions."""
        return _run(self.path, self.text)


def read_module(path: Path) -> CheckedModule:
    """Read a generated module and compare its checksum; nothing of it runs before.

    Raises:
        ModelChecksumError: not a generated module, or changed since. NotAModuleError: XML, as a URDF is.
        PathError: it cannot be read. UntrustedModuleError: anybody could have put it there.
    """
    try:
        with path.open("rb") as file:
            _check_writers(path, os.fstat(file.fileno()))
            text = file.read().decode("utf-8", errors="replace")
    except OSError as error:
        raise PathError(error) from error
    text = text.replace("\r\n", "\n").replace("\r", "\n")  # as Python reads it
    stated = stated_checksum(text)
    if stated is None:
        if text.lstrip().startswith("<"):
            raise NotAModuleError(path)
        raise ModelChecksumError(path, "not a module that kane_dynamics generated: it has no checksum")
    if stated != content_hash(text):
        raise ModelChecksumError(path, "the file was changed after it was generated: its checksum differs")
    statements = text.partition("\ndef ")[0]  # MODEL stands before the functions, which C does without
    return CheckedModule(path, text, stated, _run(path, statements).MODEL)


def _run(path: Path, text: str) -> ModuleType:
    module = ModuleType(f"kane_dynamics_generated_{path.stem}")
    module.__file__ = str(path)
    try:
        exec(compile(text, path, "exec", dont_inherit=True), module.__dict__)
    except Exception as error:  # a checksum can be forged
        raise ModelChecksumError(path, f"it cannot be run as Python ({error})") from error
    if not isinstance(getattr(module, "MODEL", None), dict):
        raise ModelChecksumError(path, "it holds no MODEL")
    return module


def _check_writers(path: Path, status: os.stat_result) -> None:
    """Refuse a module that anybody could have put there; warn of one that others could have written."""
    _refuse_planted(path, status)
    by_group = status.st_mode & stat.S_IWGRP and not is_own_group(status.st_gid)
    if _is_of_another_user(status):
        what = f"it belongs to {_name(status.st_uid)}"
    elif by_group or status.st_mode & stat.S_IWOTH:
        what = "others may write to it"
    else:
        return
    log.warning("%s: %s; a model is code, which runs with your rights", path, what)


def _refuse_planted(path: Path, status: os.stat_result) -> None:
    """Raise ``UntrustedModuleError`` where a folder that others may write to leads to another user's file.

    Folders count as far up as they belong to other users, and the one above these.
    """
    folders = iter(path.parents)
    of = status
    while _is_of_another_user(of) and (folder := next(folders, None)):
        of = os.stat(folder)
        if of.st_mode & stat.S_IWOTH:
            raise UntrustedModuleError(path, _name(status.st_uid))


def _is_of_another_user(status: os.stat_result) -> bool:
    """Whether it is neither the user's, nor root's, nor whose code runs in this process anyway."""
    return status.st_uid not in (os.geteuid(), 0, os.stat(__file__).st_uid)


def _name(user: int) -> str:
    try:
        return f"user {pwd.getpwuid(user).pw_name!r}"
    except KeyError:
        return f"user {user}"
