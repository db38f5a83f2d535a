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
    did_you_mean,
    refusal,
    too_large,
)
from kane_dynamics_ros.description.model import Robot
from kane_dynamics_ros.description.reader import parse_robot
from kane_dynamics_ros.description.xml_tree import MAX_BYTES, parse_xml
from kane_dynamics_ros.text import listed

LONGEST = 20  # [s]
MOST_MEMORY = 1_000_000_000  # [bytes]
XACRO_PROCESS = Path(__file__).with_name("xacro_process.py")


def load_robot(path: str | os.PathLike[str], *, xacro_arguments: Mapping[str, str] | None = None) -> Robot:
    """Read a URDF file, or a xacro file with ``xacro_arguments``; a URDF with xacro tags is expanded too.

    Nothing that the file names (meshes, ``package://``, ``file://``) is opened; only xacro's own includes
    are. Raises ``DescriptionError``.
    """
    source = os.fspath(path)
    data = read_bytes(source)
    text = expanded(source, data, xacro_arguments or {})
    if text is None:
        return parse_robot(data, source)
    robot = parse_robot(text, f"{source} (expanded)")
    notes = Notes(source)
    notes.add("KD111", "expanded by xacro; lines below count in the expansion")
    return replace(robot, findings=(*notes.findings, *robot.findings))


def urdf_text(path: str | os.PathLike[str], xacro_arguments: Mapping[str, str] | None = None) -> str:
    """The URDF's text as ``robot_description`` carries it; see ``urdf_content``."""
    return urdf_content(path, xacro_arguments).decode("utf-8", "replace")


def urdf_content(path: str | os.PathLike[str], xacro_arguments: Mapping[str, str] | None = None) -> bytes:
    """The URDF's bytes, in UTF-8 and expanded where ``load_robot`` would expand it, else as they are.

    Whether it describes a robot that we can read is not asked. Raises ``DescriptionError``.
    """
    source = os.fspath(path)
    data = read_bytes(source)
    text = expanded(source, data, xacro_arguments or {})
    return data if text is None else text.encode()


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


def expanded(source: str, data: bytes, arguments: Mapping[str, str]) -> str | None:
    """The URDF text that xacro makes of file ``source`` with content ``data``; None where it is no xacro.

    Raises ``DescriptionError``, also for ``arguments`` of what is no xacro.
    """
    if source.endswith(".xacro") or has_xacro_tags(source, data):
        return expand_xacro(source, data, arguments)
    refuse_arguments(source, arguments)
    return None


def refuse_arguments(source: str, arguments: Mapping[str, str] | None) -> None:
    """Raise ``DescriptionError`` where arguments were given to what is not xacro."""
    if arguments:
        raise undeclared(source, list(arguments), ())


def has_xacro_tags(source: str, data: bytes) -> bool:
    """Whether a tag of xacro stands where a URDF is read; a stray ``${...}`` is no reason to evaluate it."""
    if b"xacro:" not in data.replace(b"\0", b""):  # in UTF-16 and UTF-32 too
        return False
    try:
        parse_robot(data, source)
    except DescriptionError as error:
        return error.code == "KD106" and bool(getattr(error, "is_tag", False))
    return False


def expand_xacro(source: str, data: bytes, arguments: Mapping[str, str]) -> str:
    """The URDF text that xacro makes of file ``source``, whose content is ``data``.

    The file passes the safe reader first, so that entity bombs never reach xacro's own parser; memory and
    time are bounded. Raises ``DescriptionError`` whatever happens inside xacro, and for an argument that
    neither the file nor one that it includes declares or asks for, which xacro itself would ignore.
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
        raise xacro_failed(source, f"it did not end within {LONGEST} s") from None
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").splitlines()
        raise xacro_failed(source, lines[-1][:500] if lines else f"exit code {done.returncode}")
    answer = json.loads(done.stdout)
    if answer["undeclared"]:
        raise undeclared(source, answer["undeclared"], answer["declared"])
    return str(answer["text"])


def xacro_failed(source: str, reason: str) -> DescriptionError:
    """xacro's own reason."""
    found = f"xacro failed: {reason}"
    return refusal("KD105", Place(source), found, "try the file with the xacro command first")


def undeclared(source: str, given: list[str], declared: list[str] | tuple[()]) -> DescriptionError:
    """Arguments that nothing in a xacro file asks for."""
    plural = len(given) != 1
    found = f"the xacro {'arguments' if plural else 'argument'} {listed(given)} "
    known = f"those that are: {listed(declared, most=40)}" if declared else "the file takes none"
    return refusal(
        "KD115",
        Place(source),
        f"{found}{'are' if plural else 'is'} not declared",
        f"{did_you_mean(given[0], declared)}{known}",
    )
