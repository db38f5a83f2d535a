"""The compilers of this machine; ``None`` where none answers, also where one only seems to be there."""

import shutil
import subprocess

from kane_dynamics_ros.runtime.compilation import compiler

C_COMPILER = compiler()


def _path_of(name: str) -> str | None:
    path = shutil.which(name)
    if path is None or subprocess.run([path, "--version"], capture_output=True, check=False).returncode:
        return None
    return path


CPP_COMPILER = _path_of("g++")
CPP_COMPILERS = [name for name in ("g++", "clang++") if C_COMPILER and _path_of(name)]  # they call C code
