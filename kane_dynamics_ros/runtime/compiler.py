"""The C compiler, and the processor that it compiles for."""

import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

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
