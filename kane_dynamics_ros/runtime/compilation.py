"""Compile a generated NAME.c into a Python extension, once for each source and processor, and import it."""

import hashlib
import importlib.machinery
import importlib.util
import logging
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import numpy as np

from kane_dynamics_ros.runtime.errors import CompileError

# The C compiler, and the processor that it compiles for.


FLAGS = (
    "-std=c99",
    "-O3",
    "-march=native",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fPIC",
    "-shared",
    "-pthread",
)
MOST_SECONDS = 900  # for a compiler that hangs


def compiler() -> str | None:
    """The C compiler: $CC, or the first of cc, gcc, clang on the PATH that answers."""
    names = filter(None, (os.environ.get("CC"), "cc", "gcc", "clang"))
    return next((path for path in map(shutil.which, names) if path and _answers(path)), None)


def _answers(path: str) -> bool:
    try:
        return subprocess.run([path, "--version"], capture_output=True, check=False).returncode == 0
    except OSError:  # no program of this machine
        return False


def processor() -> str:
    """What -march=native depends on: the machine, and the first processor's features where it tells."""
    features = ""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        features = next((line for line in lines if line.lower().startswith(("flags", "features"))), "")
    except OSError:
        pass
    return f"{platform.machine()} {platform.processor()} {features}"


def run_compiler(command: str, source: Path, arguments: Sequence[str], target: Path) -> None:
    """Compile ``source`` into a shared library.

    Args:
        command: from ``compiler``.
        source: what error messages name.
        arguments: the files, and options beside ``FLAGS``.
        target: the library.

    Raises:
        CompileError: the compiler's words, or that it did not end.
    """
    try:
        result = subprocess.run(
            [command, *FLAGS, *arguments, "-o", str(target), "-lm"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=MOST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CompileError(source, str(error)) from error
    if result.returncode != 0:
        raise CompileError(source, f"the compiler says: {result.stderr.strip()[-800:]}")


# Compile a generated NAME.c into a Python extension, once for each source, processor and Python.
#
# The library's name carries a hash of everything that it depends on, so that one of another machine,
# processor, Python or source is never loaded but built again. It is put beside NAME.c or, where that folder
# cannot be written, into the user's cache.


BINDING = Path(__file__).with_name("extension.c")
BINDING_PARTS = (BINDING, BINDING.with_name("run-batches.h"))


def find_library(source: Path, c_sha256: str) -> Path | None:
    """The extension built earlier for this source, machine and Python."""
    return _find(source, library_name(source.stem, c_sha256))


def build_library(source: Path, c_sha256: str) -> Path:
    """Compile the extension; returns its path.

    Args:
        source: NAME.c, with NAME.h beside it.
        c_sha256: hash of both, as NAME.py states it.

    Raises:
        CompileError: no compiler, no Python.h, files that do not match the hash, or the compiler's words.
    """
    texts = [source.with_suffix(suffix) for suffix in (".h", ".c")]
    if not all(path.is_file() for path in texts):
        raise CompileError(source, "NAME.c and NAME.h are not beside NAME.py")
    found = hashlib.sha256("".join(path.read_text(encoding="utf-8") for path in texts).encode()).hexdigest()
    if found != c_sha256:
        raise CompileError(source, "it was changed after it was generated")
    include = sysconfig.get_path("include")
    if not (Path(include) / "Python.h").is_file():
        raise CompileError(source, f"Python.h is not in {include} (Debian and Ubuntu: python3-dev)")
    name = source.stem
    arguments = [
        f"-DKD(function)={name}_##function",
        f"-DKD_SIZE(size)={name.upper()}_##size",
        f"-DKD_INIT=PyInit_{name}",
        f'-DKD_TITLE="{name}"',
        f'-DKD_HEADER="{name}.h"',
        "-iquote",
        str(source.parent),
        f"-I{include}",
        f"-I{np.get_include()}",
        str(BINDING),
        str(source),
    ]
    return _build(source, library_name(name, c_sha256), arguments)


def shared_library(source: Path) -> Path:
    """The library of a C file of ours that needs libm only, for ctypes; built where it is absent.

    Raises ``CompileError``.
    """
    name = f"{source.stem}.{_key(source.read_text(encoding='utf-8'))}.so"
    return _find(source, name) or _build(source, name, [str(source)])


def library_name(name: str, c_sha256: str) -> str:
    """The file name of the extension for this source on this machine and Python."""
    binding = (path.read_text(encoding="utf-8") for path in BINDING_PARTS)
    key = _key(c_sha256, *binding, np.__version__.split(".")[0])
    return f"{name}.{key}{sysconfig.get_config_var('EXT_SUFFIX')}"


def folders(source: Path) -> list[Path]:
    """Where a library may be: beside the source, then the user's cache, where the user has a home."""
    try:
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # no $HOME, and a user without a name, as in containers
        return [source.parent]
    return [source.parent, Path(cache) / "kane_dynamics_ros"]


def writable(folder: Path) -> bool:
    """Whether files can be written there; makes the folder where it is absent."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def _key(*facts: str) -> str:
    """A hash of what a library depends on, the flags and the processor included."""
    return hashlib.sha256(repr((*facts, FLAGS, processor())).encode()).hexdigest()[:16]


def _find(source: Path, name: str) -> Path | None:
    """``os.path``, because a folder that may not be entered has no file for us."""
    return next((folder / name for folder in folders(source) if os.path.isfile(folder / name)), None)


def _build(source: Path, name: str, arguments: Sequence[str]) -> Path:
    """Compile beside, then rename: no process meets half a library."""
    command = compiler()
    if command is None:
        raise CompileError(source, "no C compiler was found ($CC, cc, gcc, clang)")
    folder = next((folder for folder in folders(source) if writable(folder)), None)
    if folder is None:
        raise CompileError(source, "neither its folder nor the user's cache can be written")
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".build-") as temporary:
            built = Path(temporary) / name
            run_compiler(command, source, arguments, built)
            return built.replace(folder / name)
    except OSError as error:
        raise CompileError(source, str(error)) from error


# Import the compiled form of a generated module.


PACKAGE = (
    "kane_dynamics_ros.compiled"  # Python enters extensions in sys.modules: a bare `json` would hide its own
)
log = logging.getLogger(__name__)


def load_library(source: Path, c_sha256: str) -> ModuleType:
    """The imported library for NAME.c; built where there is none, or none that can be imported.

    Raises:
        CompileError: it cannot be built, or what was built cannot be imported.
    """
    found = find_library(source, c_sha256)
    if found:
        try:
            return import_library(source.stem, found)
        except ImportError as error:
            log.warning("%s; it is built again", error)
    try:
        return import_library(source.stem, build_library(source, c_sha256))
    except ImportError as error:
        raise CompileError(source, f"what was built cannot be imported: {error}") from error


def import_library(name: str, path: Path) -> ModuleType:
    """Import a built library; one already imported from this path is used again.

    Raises:
        ImportError: the file is damaged, or no library for this machine.
    """
    key = f"{PACKAGE}.{path}"
    if key not in sys.modules:
        loader = importlib.machinery.ExtensionFileLoader(f"{PACKAGE}.{name}", str(path))
        spec = importlib.util.spec_from_file_location(f"{PACKAGE}.{name}", path, loader=loader)
        if spec is None:
            raise ImportError(f"{path} has no loader")
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
        sys.modules[key] = module
    return sys.modules[key]
