"""A URDF or xacro file to a Robot; xacro runs in a process of its own, since a xacro file is a program."""

import json
import os
import shlex
import stat
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kane_dynamics_ros.description import xacro_process
from kane_dynamics_ros.description.findings import DescriptionError, Notes, Place, refusal, too_large
from kane_dynamics_ros.description.model import Robot
from kane_dynamics_ros.description.reader import parse_robot
from kane_dynamics_ros.description.xacro_process import searched
from kane_dynamics_ros.description.xml_tree import MAX_BYTES, parse_xml
from kane_dynamics_ros.text import did_you_mean, listed, named, shortened

XACRO_SECONDS = 20.0  # [s]
MOST_MEMORY = 1_000_000_000  # [bytes]


def load_robot(
    path: str | os.PathLike[str],
    *,
    xacro_arguments: Mapping[str, str] | None = None,
    packages: Sequence[str | os.PathLike[str]] = (),
    xacro_seconds: float = XACRO_SECONDS,
) -> Robot:
    """Read a URDF file, or a xacro file; a URDF with xacro tags is expanded too.

    Nothing that the file names (meshes, ``package://``, ``file://``) is opened; only xacro's own includes
    are. ``packages``: folders of ROS packages for ``$(find NAME)``, beside those that ``find_package`` finds
    by itself. ``xacro_seconds``: how long xacro may take. Raises ``DescriptionError``.

    >>> from kane_dynamics_ros.share import share_directory
    >>> load_robot(share_directory() / "urdf" / "manipulator_5dof.urdf").root
    'base'
    """
    source = os.fspath(path)
    data, text = read_expanded(source, xacro_arguments, packages, xacro_seconds)
    if text is None:
        return parse_robot(data, source)
    robot = parse_robot(text, f"{source} (expanded)")
    notes = Notes(source)
    notes.add("KD111", "expanded by xacro; lines below count in the expansion")
    return replace(robot, findings=(*notes.findings, *robot.findings))


def urdf_text(path: str | os.PathLike[str], xacro_arguments: Mapping[str, str] | None = None) -> str:
    """The URDF's text as ``robot_description`` carries it; see ``urdf_content``."""
    return urdf_content(path, xacro_arguments).decode("utf-8", "replace")


def urdf_content(
    path: str | os.PathLike[str],
    xacro_arguments: Mapping[str, str] | None = None,
    *,
    packages: Sequence[str | os.PathLike[str]] = (),
    xacro_seconds: float = XACRO_SECONDS,
) -> bytes:
    """The URDF's bytes, in UTF-8 and expanded where ``load_robot`` would expand it, else as they are.

    Whether it describes a robot that we can read is not asked. Raises ``DescriptionError``.
    """
    data, text = read_expanded(os.fspath(path), xacro_arguments, packages, xacro_seconds)
    return data if text is None else text.encode()


def urdf_of_arguments(path: str, xacro_arguments: str = "") -> str:
    """The text of a URDF that is named by two texts, as launch arguments and ROS parameters do it.

    ``xacro_arguments`` is ``'name:=value other:=value'``. The text is that of a robot. Raises
    ``DescriptionError``.
    """
    try:
        pairs = [word.partition(":=") for word in shlex.split(xacro_arguments)]
    except ValueError:  # a quotation that does not end
        pairs = [("", "", "")]
    if not all(name and separator for name, separator, _ in pairs):
        found = f"xacro_arguments is {xacro_arguments!r}"
        raise refusal("KD115", Place(path), found, "write it as 'name:=value other:=value'")
    text = urdf_text(path, {name: value for name, _, value in pairs})
    parse_robot(text, path)
    return text


def read_bytes(source: str) -> bytes:
    """The content of a regular file of reasonable size. Raises ``DescriptionError``."""
    reason = "it is not a regular file"
    try:
        if stat.S_ISREG(os.stat(source).st_mode):
            with open(source, "rb") as file:
                data = file.read(MAX_BYTES + 1)
            if len(data) > MAX_BYTES:
                raise too_large(Place(source), MAX_BYTES, "bytes")
            return data
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
    found = f"cannot be read: {reason}"
    raise refusal("KD101", Place(source), found, "give the path of a URDF or xacro file")


# xacro


def read_expanded(
    source: str,
    arguments: Mapping[str, str] | None,
    packages: Sequence[str | os.PathLike[str]],
    seconds: float,
) -> tuple[bytes, str | None]:
    """The content of file ``source``, and the URDF text that xacro makes of it; None where it is no xacro.

    Raises ``DescriptionError``, also for ``arguments`` of what is no xacro.
    """
    data = read_bytes(source)
    if source.endswith(".xacro") or has_xacro_tags(source, data):
        folders = [Path(folder) for folder in packages]
        return data, expand_xacro(source, data, arguments or {}, folders, seconds)
    refuse_arguments(source, arguments)
    return data, None


def has_xacro_tags(source: str, data: bytes) -> bool:
    """Whether a tag of xacro stands where a URDF is read; a stray ``${...}`` is no reason to evaluate it."""
    if b"xacro:" not in data.replace(b"\0", b""):  # in UTF-16 and UTF-32 too
        return False
    try:
        parse_robot(data, source)
    except DescriptionError as error:
        return error.code == "KD106" and bool(getattr(error, "is_tag", False))
    return False


def refuse_arguments(source: str, given: Iterable[str] | None, declared: Sequence[str] = ()) -> None:
    """Raise ``DescriptionError`` where arguments are ``given`` that nothing in the file asks for."""
    if not given:
        return
    names = list(given)
    known = f"those that are: {listed(declared, most=40)}" if declared else "the file takes none"
    found = f"the xacro {named('argument', names)} {'is' if len(names) == 1 else 'are'} not declared"
    raise refusal("KD115", Place(source), found, f"{did_you_mean(names[0], declared)}{known}")


def expand_xacro(
    source: str, data: bytes, arguments: Mapping[str, str], packages: Sequence[Path], seconds: float
) -> str:
    """The URDF text that xacro makes of file ``source``, whose content is ``data``.

    The file passes the safe reader first, so that entity bombs never reach xacro's own parser; memory and
    time are bounded. Raises ``DescriptionError`` whatever happens inside xacro, and for an argument that
    neither the file nor one that it includes declares or asks for, which xacro itself would ignore.
    """
    parse_xml(data, source)
    place = Place(source)
    answer = run_xacro(source, arguments, packages, seconds)
    if answer["undeclared"]:
        refuse_arguments(source, answer["undeclared"], sorted(answer["declared"]))
    if answer["macros"]:
        found = f"it only defines macros ({listed(answer['macros'])}): xacro makes no link of it"
        raise refusal("KD120", place, found, "give the file that includes this one and calls a macro")
    if "error" not in answer:
        return str(answer["text"])
    words = [
        name if default is None else f"{name} (default {shortened(default)})"
        for name, default in list(answer["declared"].items())[:40]
    ]
    taken = f"the file takes {', '.join(words)}"
    package, argument = answer["missing_package"], answer["missing_argument"]
    if package is not None:
        places = ", ".join(searched(Path(source), packages))
        found = f"it asks for the package {package!r}, which is not in {places}"
        raise refusal("KD119", place, found, "give the folder that holds it: --packages DIR", package=package)
    if argument is not None:
        found = f"it asks for the xacro argument {argument!r}, which was not given and has no default"
        remedy = f"give it with --xacro {argument}:=VALUE; {taken}"
        raise refusal("KD118", place, found, remedy, argument=argument)
    remedy = f"; or give other arguments, --xacro NAME:=VALUE; {taken}" if words else ""
    found = f"xacro failed: {answer['error'][:500]}"
    raise refusal("KD105", place, found, f"try the file with the xacro command first{remedy}")


def run_xacro(
    source: str, arguments: Mapping[str, str], packages: Sequence[Path], seconds: float
) -> dict[str, Any]:
    """The answer of the process that runs xacro; where it dies, with that as its ``error``."""
    folders = [str(folder.absolute()) for folder in packages]
    task = {"source": source, "arguments": dict(arguments), "packages": folders, "memory": MOST_MEMORY}
    try:
        done = subprocess.run(
            [sys.executable, xacro_process.__file__],
            input=json.dumps(task).encode(),
            capture_output=True,
            timeout=seconds,
            check=False,
        )
        if done.returncode == 0:
            return dict(json.loads(done.stdout))
        lines = done.stderr.decode(errors="replace").splitlines()
        reason = lines[-1] if lines else f"exit code {done.returncode}"
    except subprocess.TimeoutExpired:
        reason = f"it did not end within {seconds:g} s; allow it more with --xacro-seconds"
    return xacro_process.answer(error=reason)
