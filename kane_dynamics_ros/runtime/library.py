"""Import the compiled form of a generated module."""

import importlib.machinery
import importlib.util
import logging
import sys
from pathlib import Path
from types import ModuleType

from kane_dynamics_ros.runtime.build import build_library, find_library
from kane_dynamics_ros.runtime.errors import CompileError

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
