"""Command lines that run modules of this package as processes of their own, with this Python.

``python -m`` and ``python -c`` look for modules in the current folder first, before any of Python's own: a
``numpy.py`` that lies in a shared folder would run with the rights of whoever starts a command there. So the
current folder is taken off the path before anything else is imported. The package is found where this process
found it.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
START = (
    "import sys; sys.path = [*filter(None, sys.path), {root!r}]; {quietly}"
    "import runpy; runpy.run_module({name!r}, run_name='__main__', alter_sys=True)"
)


SAFE_PATH = "PYTHONSAFEPATH"
GRACE = 5.0  # [s] for a process to end after the one that started it
# A thread that reads until the pipe from the starting process is closed, as its death closes it too
BOUND = (
    "import os, signal, threading, time; threading.Thread(target=lambda: (os.read(0, 1), "
    f"os.kill(os.getpid(), signal.SIGINT), time.sleep({GRACE}), os._exit(1)), daemon=True).start(); "
)
QUIETLY = "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL); "


def module_command(name: str, *words: str, quietly: bool = False, bound: bool = False) -> list[str]:
    """The command line that runs a module by its full name, as ``python -m`` does.

    ``quietly``: Ctrl-C ends it without a traceback until it handles that itself, after its imports.
    ``bound``: it ends, as by Ctrl-C, when its standard input is closed. With a pipe there that nobody writes
    to it does not outlive the process that started it, however that ended.
    """
    first = (QUIETLY if quietly else "") + (BOUND if bound else "")
    start = START.format(root=str(ROOT), name=name, quietly=first)
    return [sys.executable, "-c", start, *words]


def can_import(name: str) -> bool:
    """Whether this Python can import a package, as a process of its own tells: a folder alone may be broken.

    ROS 2's packages that were built for another Python are found, and fail when they are imported.
    """
    start = START.format(root=str(ROOT), name=name, quietly="").partition("import runpy")[0]
    command = [sys.executable, "-c", f"{start}import {name}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@contextmanager
def safe_children() -> Iterator[None]:
    """Within, what ``multiprocessing`` starts leaves the current folder out too, from Python 3.11 on."""
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SAFE_PATH]
        else:
            os.environ[SAFE_PATH] = before
