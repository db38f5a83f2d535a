"""Packages of robots in a folder, and their compilation with the compilers of this machine."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
COUNTER = REPOSITORY / "examples" / "realtime_controller"  # allocations.hpp and .cpp
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
CPP_COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name)]
C_OF_CPP = {"g++": "gcc", "clang++": "clang"}


def compiled(command: Sequence[object]) -> None:
    """Run a compiler; what it says is the test's failure."""
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def compile_c(package: Path, target: Path, compiler: str = "gcc") -> Path:
    """The generated C as an object file. Clang finds the kernels that a robot of few joints does not need."""
    source = package / "src" / f"{package.name}.c"
    unused = ["-Wno-unused-function"] if compiler == "clang" else []
    flags = ["-std=c99", "-O2", *WARNINGS, *unused, "-I", package / "include"]
    compiled([compiler, *flags, "-c", source, "-o", target])
    return target


def compile_replay(package: Path, target: Path, compiler: str = "g++", standard: str = "c++17") -> Path:
    """``replay.cpp`` with a package's core, which counts its allocations."""
    model = compile_c(package, target.with_suffix(".o"), C_OF_CPP[compiler])
    name = package.name
    robot = [f"-DROBOT={name}", f'-DROBOT_HEADER="{name}/control_core.hpp"']
    sources = [HERE / "replay.cpp", package / "src" / "control_core.cpp", COUNTER / "allocations.cpp"]
    flags = [f"-std={standard}", "-O2", *WARNINGS, "-I", package / "include", "-I", COUNTER]
    compiled([compiler, *flags, *robot, *sources, model, "-o", target])
    return target
