"""A URDF or xacro file to a Robot; xacro runs in a process of its own, since a xacro file is a program."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kane_dynamics_ros.description.findings import (
    DescriptionError,
    Notes,
    Place,
    TooLargeError,
    UnknownXacroArgumentError,
    UnreadableFileError,
    UnrunXacroError,
    XacroError,
)
from kane_dynamics_ros.description.model import Robot
from kane_dynamics_ros.description.reader import parse_robot
from kane_dynamics_ros.description.xml_tree import MAX_BYTES, parse_xml

LONGEST = 20  # [s]
MOST_MEMORY = 1_000_000_000  # [bytes]
XACRO_PROCESS = Path(__file__).with_name("xacro_process.py")


def expand_xacro(source: str, data: bytes, arguments: Mapping[str, str]) -> str:
    """The URDF text that xacro makes of file ``source``, whose content is ``data``.

    The file passes the safe reader first, so that entity bombs never reach xacro's own parser; memory and
    time are bounded. Raises ``UnknownXacroArgumentError`` for an argument that neither the file nor one that
    it includes declares or asks for, which xacro itself would ignore, and ``XacroError`` whatever happens
    inside xacro.
    """
    parse_xml(data, source)
    task = json.dumps([source, dict(arguments), MOST_MEMORY])
    try:
        done = subprocess.run(
            [sys.executable, str(XACRO_PROCESS)],
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
    answer = json.loads(done.stdout)
    if answer["undeclared"]:
        raise UnknownXacroArgumentError(Place(source), answer["undeclared"], answer["declared"])
    return str(answer["text"])


def load_robot(path: str | os.PathLike[str], *, xacro_arguments: Mapping[str, str] | None = None) -> Robot:
    """Read a URDF file, or a xacro file with ``xacro_arguments``; a URDF with xacro tags is expanded too.

    Nothing that the file names (meshes, ``package://``, ``file://``) is opened; only xacro's own includes
    are. Raises ``DescriptionError``.
    """
    source = os.fspath(path)
    data = read_bytes(source)
    if not source.endswith(".xacro"):
        try:
            robot = parse_robot(data, source)
            refuse_arguments(source, xacro_arguments)
            return robot
        except UnrunXacroError as error:
            if not error.is_tag:  # a stray ${...}: no reason to run what may be anybody's expressions
                raise
    robot = parse_robot(expand_xacro(source, data, xacro_arguments or {}), f"{source} (expanded)")
    notes = Notes(source)
    notes.add("KD111", "expanded by xacro; lines below count in the expansion")
    return replace(robot, findings=(*notes.findings, *robot.findings))


def refuse_arguments(source: str, xacro_arguments: Mapping[str, str] | None) -> None:
    """Raise ``UnknownXacroArgumentError`` where arguments were given to what is not xacro."""
    if xacro_arguments:
        raise UnknownXacroArgumentError(Place(source), list(xacro_arguments), ())


def read_bytes(source: str) -> bytes:
    """The content of a regular file of reasonable size. Raises ``UnreadableFileError``, ``TooLargeError``."""
    try:
        status = os.stat(source)
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableFileError(Place(source), "it is not a regular file")
        with open(source, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UnreadableFileError(Place(source), reason) from None
    if len(data) > MAX_BYTES:
        raise TooLargeError(Place(source), "bytes", MAX_BYTES)
    return data


def urdf_text(path: str | os.PathLike[str], xacro_arguments: Mapping[str, str] | None = None) -> str:
    """The URDF's text as ``robot_description`` carries it; see ``urdf_content``."""
    return urdf_content(path, xacro_arguments).decode("utf-8", "replace")


def urdf_content(path: str | os.PathLike[str], xacro_arguments: Mapping[str, str] | None = None) -> bytes:
    """The URDF's bytes, in UTF-8 and expanded where ``load_robot`` would expand it, else as they are.

    Whether it describes a robot that we can read is not asked. Raises ``UnreadableFileError``,
    ``TooLargeError``, ``XacroError``, ``UnknownXacroArgumentError``.
    """
    source = os.fspath(path)
    data = read_bytes(source)
    if source.endswith(".xacro"):
        return expand_xacro(source, data, xacro_arguments or {}).encode()
    try:
        parse_robot(data, source)
    except UnrunXacroError as error:
        if error.is_tag:
            return expand_xacro(source, data, xacro_arguments or {}).encode()
    except DescriptionError:
        pass
    refuse_arguments(source, xacro_arguments)
    return data
