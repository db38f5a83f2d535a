"""``load_model``: a generated module becomes a ``DynamicsModel``."""

import importlib.util
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args

from kane_dynamics_ros.checksum import content_hash, seal_of
from kane_dynamics_ros.errors import BatchError, NonFiniteError, ShapeError, SingularMassMatrixError
from kane_dynamics_ros.runtime.compilation import build_library, find_library, load_library
from kane_dynamics_ros.runtime.errors import BackendError, CompileError, ModelNotFoundError, ModelSealError
from kane_dynamics_ros.runtime.metadata import Facts
from kane_dynamics_ros.runtime.model import GeneratedModel, MakeKernel
from kane_dynamics_ros.runtime.python_kernel import PythonKernel

Backend = Literal["auto", "c", "python"]
SHIPPED = Path(__file__).resolve().parent.parent / "generated"
log = logging.getLogger(__name__)


def load_model(source: str | os.PathLike[str], *, backend: Backend = "auto") -> GeneratedModel:
    """The model in a generated module.

    Args:
        source: path of a NAME.py that ``kane_dynamics generate`` wrote, or a shipped model's name.
        backend: "c" for the compiled form, which is built when it is absent; "python" for pure Python;
            "auto" takes the compiled form where it can be had and says in the log why when it cannot.

    Raises:
        ModelNotFoundError: no such file or name.
        ModelSealError: not a generated module, or changed since.
        CompileError: ``backend="c"`` and it cannot be compiled.
        BackendError: another word for ``backend``.
    """
    if backend not in get_args(Backend):
        raise BackendError(backend, get_args(Backend))
    path = find_module(source)
    module = import_module(path)
    facts = Facts(module.MODEL)
    make, used = _kernel_maker(path, module, facts, backend)
    return GeneratedModel(facts, make, used, facts.default_parameters())


def find_module(source: str | os.PathLike[str]) -> Path:
    """The file of a generated module, or of a shipped model given by name."""
    path = Path(source)
    if path.is_file():
        return path.resolve()
    shipped = sorted(p.stem for p in SHIPPED.glob("*.h"))
    if str(source) in shipped:
        return SHIPPED / f"{source}.py"
    raise ModelNotFoundError(str(source), shipped)


def import_module(path: Path) -> ModuleType:
    """Import a generated module after its seal was checked; nothing of it runs before."""
    text = path.read_text(encoding="utf-8", errors="replace")
    stated = seal_of(text)
    if stated is None:
        raise ModelSealError(path, "this is not a module that kane_dynamics generated: it has no seal")
    if stated != content_hash(text):
        raise ModelSealError(path, "the file was changed after it was generated: its hash does not match")
    spec = importlib.util.spec_from_file_location(f"kane_dynamics_generated_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ModelSealError(path, "it cannot be imported as Python")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if stated != module.CONTENT_SHA256:  # Python's own cache held an older file of the same second and size
        exec(compile(text, path, "exec"), module.__dict__)
    return module


def compile_model(source: str | os.PathLike[str]) -> Path:
    """Build the compiled form of a module now, where it is absent; returns the library's path.

    Raises:
        CompileError: it cannot be compiled.
    """
    path = find_module(source)
    c_sha256: str = import_module(path).MODEL["c_sha256"]
    c_file = path.with_suffix(".c")
    return find_library(c_file, c_sha256) or build_library(c_file, c_sha256)


def _kernel_maker(path: Path, module: ModuleType, facts: Facts, backend: Backend) -> tuple[MakeKernel, str]:
    """What makes a kernel from packed parameters, and which backend it is."""
    if backend != "python":
        try:
            return _compiled(path, facts), "c"
        except CompileError as error:
            if backend == "c":
                raise
            log.warning("%s; pure Python gives the same answers, slower", error)

    def in_python(parameters: Sequence[float]) -> Any:
        return PythonKernel(module, parameters)

    return in_python, "python"


def available_processors() -> int:
    """How many processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _compiled(path: Path, facts: Facts) -> MakeKernel:
    library = load_library(path.with_suffix(".c"), facts.model["c_sha256"])

    def singular(index: int) -> SingularMassMatrixError:
        return SingularMassMatrixError([facts.joint_names[index]])

    library.configure(ShapeError, BatchError, NonFiniteError, singular, available_processors())
    kernel: MakeKernel = library.Kernel
    return kernel
