"""``load_model``: a generated module becomes a ``DynamicsModel``.

A model is code: its text is run, with the rights of the user who loads it. What runs is the text whose
checksum was compared, read once: no cache of Python's (``.pyc``) comes between. Another user's module is
refused where anybody could have put it, as in ``/tmp``; elsewhere a warning tells that it is another's, or
that anybody may change it.
"""

import functools
import logging
import os
import stat
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from types import ModuleType
from typing import Literal, get_args

from kane_dynamics_ros.checksum import FORMAT, content_hash, stated_checksum
from kane_dynamics_ros.errors import batch_error, non_finite, path_error, shape_error, singular_mass_matrix
from kane_dynamics_ros.runtime.compilation import CompileError, available_processors
from kane_dynamics_ros.runtime.model import (
    DynamicsModel,
    GeneratedModule,
    Kernel,
    ModelError,
    Source,
    default_parameters,
    documents,
    model_at,
)
from kane_dynamics_ros.runtime.parameters import Parameters
from kane_dynamics_ros.runtime.python_kernel import PythonKernel, checked_array
from kane_dynamics_ros.runtime.units import Units
from kane_dynamics_ros.text import listed

Backend = Literal["auto", "c", "python"]
SHIPPED = Path(__file__).resolve().parent.parent / "generated"
AGAIN = "generate it again with kane_dynamics generate"
log = logging.getLogger(__name__)


def load_model(
    source: str | os.PathLike[str], *, backend: Backend = "auto", ready: Collection[str] = ()
) -> DynamicsModel:
    """The model in a generated module.

    >>> model = load_model("manipulator_5dof")
    >>> q = [0.1, 0.5, 0.3, 0.2, 0.3]
    >>> print(model.forward_dynamics(q, q, model.gravity(q)).round(3))
    [ 0.064  0.283 -0.703  0.014 -0.058]

    Args:
        source: path of a NAME.py that ``kane_dynamics generate`` wrote, or a shipped model's name.
        backend: "c" for the compiled form, which is built when it is absent; "python" for pure Python;
            "auto" takes the compiled form where it can be had and says in the log why when it cannot.
        ready: functions of NAME.h that are to be compiled now, as ``CONTROL``; others are when they are
            called first, and that call takes as long.

    Raises:
        ModelError: no such file or name; not a generated module, or changed since; another user's, in a
            folder that anybody may write to, or below one; another word for ``backend``.
        PathError: it cannot be read.
        CompileError: ``backend="c"`` and it cannot be compiled.
    """
    if backend not in get_args(Backend):
        allowed = ", ".join(map(repr, get_args(Backend)))
        raise ModelError(f"backend {backend!r}; allowed are {allowed}", "backend", found=backend)
    return _model(read_module(find_module(source)), backend, ready=ready)


@functools.lru_cache(maxsize=8)  # a pool sends the model anew with each task
def _load_again(path: Path, backend: Backend, checksum: str, parameters: Parameters) -> DynamicsModel:
    """A model that was pickled. Raises what ``load_model`` does, and where its module is another one now."""
    module = read_module(find_module(path))
    if module.checksum != checksum:
        message = f"{path}: the file is another one than when the model was pickled; pickle the model again"
        raise ModelError(message, "replaced", path=path)
    return _model(module, backend, parameters)


def _model(
    module: GeneratedModule,
    backend: Backend,
    parameters: Parameters | None = None,
    ready: Collection[str] = (),
) -> DynamicsModel:
    """A module's model at these parameters, or at those that it was generated with."""
    return model_at(parameters or default_parameters(module.facts), _source(module, backend, ready))


def compile_model(source: str | os.PathLike[str], ready: Collection[str] = ()) -> Path:
    """Build the compiled form of a module now, where it is absent; returns the path of the first library.

    It holds what makes a torque; ``ready``: as for ``load_model``.

    Raises:
        CompileError: it cannot be compiled.
    """
    units = Units(read_module(find_module(source)))
    units.make_ready(ready)
    return units.extension()[0]


def _source(module: GeneratedModule, backend: Backend, ready: Collection[str]) -> Source:
    """The module with what evaluates it."""
    if backend != "python":
        try:
            units = Units(module)
            units.make_ready(ready)
            return Source(module, "c", _compiled(module, units), _load_again, units.address)
        except CompileError as error:
            if backend == "c":
                raise
            log.warning("%s; pure Python gives the same answers, slower", error)
    return Source(module, "python", functools.partial(PythonKernel, run(module)), _load_again)


def _compiled(module: GeneratedModule, units: Units) -> Callable[[Sequence[float]], Kernel]:
    library = units.extension()[1]
    names = module.facts["joint_names"]
    library.configure(
        units.form,
        checked_array,
        shape_error,
        batch_error,
        non_finite,
        lambda index: singular_mass_matrix([names[index]]),
        available_processors(),
        documents(),
        DynamicsModel,
    )
    kernel: Callable[[Sequence[float]], Kernel] = library.Kernel
    return kernel


# The module as a file: found, checked, run


def find_module(source: str | os.PathLike[str]) -> Path:
    """The file of a generated module, or of a shipped model given by name.

    Raises:
        ModelError: no such file or name.
    """
    path = Path(source)
    if path.is_file():
        return path.absolute()
    shipped = sorted(p.stem for p in SHIPPED.glob("*.h"))
    if str(source) in shipped:
        return SHIPPED / f"{source}.py"
    written = (header.with_suffix(".py") for header in sorted(path.parent.glob("*.h")))  # as by generate
    beside = [str(module) for module in written if module.is_file()]
    there = f"; those in its folder are {listed(beside)}" if beside else ""
    message = (
        f"no model {str(source)!r}: give the path of a generated NAME.py (kane_dynamics generate writes "
        f"one), or one of the shipped models: {', '.join(shipped)}{there}"
    )
    raise ModelError(message, "not_found", found=str(source))


def read_module(path: Path) -> GeneratedModule:
    """Read a generated module and compare its checksum; nothing of it runs before.

    Raises:
        ModelError: not a generated module, changed since, or of another version; anybody could have put it
            there.
        PathError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            _check_owner(path, os.fstat(file.fileno()))
            text = file.read().decode("utf-8", errors="replace")
    except OSError as error:
        raise path_error(error) from error
    text = text.replace("\r\n", "\n").replace("\r", "\n")  # as Python reads it
    stated = stated_checksum(text)
    if stated is None and text.lstrip().startswith("<"):
        message = (
            f"{path}: XML, not a generated module; a URDF becomes one by kane_dynamics generate {path.name}"
        )
        raise ModelError(message, "xml", path=path)
    if stated is None and not text.startswith('"""Generated by kane_dynamics_ros '):
        message = f"{path}: not a module that kane_dynamics generated: it has no checksum; {AGAIN}"
        raise ModelError(message, "not_generated", path=path)
    if stated is None or stated != content_hash(text):
        message = f"{path}: the file was changed after it was generated: its checksum differs; {AGAIN}"
        raise ModelError(message, "changed", path=path)
    statements = text.partition("\ndef ")[0]  # MODEL stands before the functions, which C does without
    facts = getattr(_run(path, statements), "MODEL", None)
    if not isinstance(facts, dict):  # a checksum can be forged
        raise ModelError(f"{path}: it holds no MODEL; {AGAIN}", "not_generated", path=path)
    if facts.get("format") != FORMAT:
        version = facts.get("generator", "of unknown number")
        message = f"{path}: generated by another version of kane_dynamics_ros ({version}); {AGAIN}"
        raise ModelError(message, "other_version", path=path, found=facts.get("format"), allowed=FORMAT)
    return GeneratedModule(path.resolve(), text, stated, facts)


def _check_owner(path: Path, status: os.stat_result) -> None:
    """Refuse another user's module where anybody could have put it; warn where anybody may change it."""
    what = "anybody may write to it" if status.st_mode & stat.S_IWOTH else ""
    if _is_anothers(status):
        what = f"it belongs to user {status.st_uid}"
        if folder := _public_folder(path) or _public_folder(path.resolve()):  # of a link, and where it leads
            message = (
                f"{path}: {what}, and anybody may put files into {folder}; a model is code, which runs with "
                "your rights: copy it, with its .c and .h, if you trust it, to a folder of yours"
            )
            raise ModelError(message, "untrusted", path=path, owner=status.st_uid)
    if what:
        log.warning("%s: %s; a model is code, which runs with your rights", path, what)


def _public_folder(path: Path) -> Path | None:
    """The folder above that anybody may write to, below which no folder is the user's own."""
    for folder in path.parents:
        status = os.stat(folder)
        if status.st_mode & stat.S_IWOTH:
            return folder
        if not _is_anothers(status):  # who may write there let the file in
            return None
    return None


def _is_anothers(status: os.stat_result) -> bool:
    """Whether it is neither the user's, nor root's, nor whose code runs in this process anyway."""
    return status.st_uid not in (os.geteuid(), 0, os.stat(__file__).st_uid)


def run(module: GeneratedModule) -> ModuleType:
    """The module with its functions: the text that was compared runs."""
    return _run(module.path, module.text)


def _run(path: Path, text: str) -> ModuleType:
    module = ModuleType(f"kane_dynamics_generated_{path.stem}")
    module.__file__ = str(path)
    try:
        exec(compile(text, path, "exec", dont_inherit=True), module.__dict__)
    except Exception as error:  # a checksum can be forged
        message = f"{path}: it cannot be run as Python ({error}); {AGAIN}"
        raise ModelError(message, "not_generated", path=path) from error
    return module
