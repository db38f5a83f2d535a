"""Runs the ``xacro`` package on a file, in a process of its own: a xacro file is a program."""

import json
import subprocess
import sys
from collections.abc import Mapping

from kane_dynamics_ros.description.errors import Place, XacroError
from kane_dynamics_ros.description.xml_tree import parse_xml

LONGEST = 20  # [s]
MOST_MEMORY = 1_000_000_000  # [bytes]

# The child: no module of the working directory is imported, memory is bounded where that can be done, and
# what goes wrong comes back as one line. xacro raises whatever its expressions raise, or exits.
_CHILD = """
import sys
sys.path = [path for path in sys.path if path]
import json
source, arguments, memory = json.loads(sys.stdin.read())
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
except (ImportError, ValueError, OSError):
    pass
try:
    import xacro
except ImportError:
    sys.exit("the Python package xacro is not installed")
try:
    text = xacro.process_file(source, mappings=arguments).toprettyxml(indent="  ")
except MemoryError:
    sys.exit("it needs too much memory")
except Exception as error:
    sys.exit(" ".join(str(error).split()) or type(error).__name__)
sys.stdout.buffer.write(text.encode("utf-8"))
"""


def expand_xacro(source: str, data: bytes, arguments: Mapping[str, str]) -> str:
    """The URDF text that xacro makes of file ``source``, whose content is ``data``.

    The file passes the safe reader first, so that entity bombs never reach xacro's own parser.
    Raises ``XacroError`` whatever happens inside xacro.
    """
    parse_xml(data, source)
    task = json.dumps([source, dict(arguments), MOST_MEMORY])
    try:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD],
            input=task.encode(),
            capture_output=True,
            timeout=LONGEST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise XacroError(Place(source), f"it did not end within {LONGEST} s") from None
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").splitlines()
        raise XacroError(Place(source), lines[-1][:500] if lines else f"exit code {done.returncode}")
    return done.stdout.decode()
