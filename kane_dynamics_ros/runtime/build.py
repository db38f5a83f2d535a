"""Compile a generated NAME.c into a Python extension, once for each source, processor and Python.

The library's name carries a hash of everything that it depends on, so that one of another machine,
processor, Python or source is never loaded but built again. It is put beside NAME.c or, where that folder
cannot be written, into the user's cache.
"""

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
from pathlib import Path
from types import ModuleType

import numpy as np

from kane_dynamics_ros.runtime.errors import CompileError

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
log = logging.getLogger(__name__)
BINDING = Path(__file__).with_name("extension.c")
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


def library_name(name: str, c_sha256: str) -> str:
    """The file name of the library for this source on this machine and Python."""
    facts = (c_sha256, BINDING.read_text(), FLAGS, processor(), np.__version__.split(".")[0])
    key = hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
    return f"{name}.{key}{sysconfig.get_config_var('EXT_SUFFIX')}"


def folders(source: Path) -> list[Path]:
    """Where the library may be: beside the source, then the user's cache, where the user has a home."""
    try:
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # no $HOME, and a user without a name, as in containers
        return [source.parent]
    return [source.parent, Path(cache) / "kane_dynamics_ros"]


def find_library(source: Path, c_sha256: str) -> Path | None:
    """The library built earlier for this source, machine and Python."""
    name = library_name(source.stem, c_sha256)
    return next((folder / name for folder in folders(source) if os.path.isfile(folder / name)), None)


def build_library(source: Path, c_sha256: str) -> Path:
    """Compile the library; returns its path.

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
    command = compiler()
    if command is None:
        raise CompileError(source, "no C compiler was found ($CC, cc, gcc, clang)")
    include = sysconfig.get_path("include")
    if not (Path(include) / "Python.h").is_file():
        raise CompileError(source, f"Python.h is not in {include} (Debian and Ubuntu: python3-dev)")
    folder = next((folder for folder in folders(source) if writable(folder)), None)
    if folder is None:
        raise CompileError(source, "neither its folder nor the user's cache can be written")
    target = folder / library_name(source.stem, c_sha256)
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".build-") as temporary:
            built = Path(temporary) / target.name
            _run_compiler(command, source, include, built)
            built.replace(target)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CompileError(source, str(error)) from error
    return target


def shared_library(source: Path) -> Path:
    """The library of a C file of ours that needs libm only, for ctypes; built where it is absent.

    Raises ``CompileError``.
    """
    facts = (source.read_text(encoding="utf-8"), FLAGS, processor())
    name = f"{source.stem}.{hashlib.sha256(repr(facts).encode()).hexdigest()[:16]}.so"
    found = next((folder / name for folder in folders(source) if (folder / name).is_file()), None)
    if found is not None:
        return found
    command = compiler()
    if command is None:
        raise CompileError(source, "no C compiler was found ($CC, cc, gcc, clang)")
    folder = next((folder for folder in folders(source) if writable(folder)), None)
    if folder is None:
        raise CompileError(source, "neither its folder nor the user's cache can be written")
    with tempfile.TemporaryDirectory(dir=folder, prefix=".build-") as temporary:
        built = Path(temporary) / name
        arguments = [command, *FLAGS, str(source), "-o", str(built), "-lm"]
        run = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=MOST_SECONDS)
        if run.returncode != 0:
            raise CompileError(source, run.stderr.strip())
        return built.replace(folder / name)


def writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def _run_compiler(command: str, source: Path, include: str, target: Path) -> None:
    name = source.stem
    result = subprocess.run(
        [
            command,
            *FLAGS,
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
            "-o",
            str(target),
            "-lm",
        ],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=MOST_SECONDS,
        check=False,
    )
    if result.returncode != 0:
        raise CompileError(source, f"the compiler says: {result.stderr.strip()[-800:]}")


def load_library(source: Path, c_sha256: str) -> ModuleType:
    """The imported library for this source; built where there is none, or none that can be imported.

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
    key = f"kane_dynamics_ros.compiled.{path}"
    if key not in sys.modules:
        full_name = f"kane_dynamics_ros.compiled.{name}"  # Python enters it in sys.modules, where a bare
        loader = importlib.machinery.ExtensionFileLoader(full_name, str(path))  # `json` would hide Python's
        spec = importlib.util.spec_from_file_location(full_name, path, loader=loader)
        if spec is None:
            raise ImportError(f"{path} has no loader")
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
        sys.modules[key] = module
    return sys.modules[key]
