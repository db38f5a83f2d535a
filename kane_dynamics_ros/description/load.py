"""A URDF or xacro file to a Robot."""

import os
import stat
from collections.abc import Mapping
from dataclasses import replace

from kane_dynamics_ros.description.errors import Place, TooLargeError, UnreadableFileError, UnrunXacroError
from kane_dynamics_ros.description.expand import expand_xacro
from kane_dynamics_ros.description.model import Robot
from kane_dynamics_ros.description.notes import Notes
from kane_dynamics_ros.description.urdf import parse_robot
from kane_dynamics_ros.description.xml_tree import MAX_BYTES


def load_robot(path: str | os.PathLike[str], *, xacro_arguments: Mapping[str, str] | None = None) -> Robot:
    """Read a URDF file, or a xacro file with ``xacro_arguments``; a URDF with xacro tags is expanded too.

    Nothing that the file names (meshes, ``package://``, ``file://``) is opened; only xacro's own includes
    are. Raises ``DescriptionError``.
    """
    source = os.fspath(path)
    data = read_bytes(source)
    if not source.endswith(".xacro"):
        try:
            return parse_robot(data, source)
        except UnrunXacroError as error:
            if not error.is_tag:  # a stray ${...}: no reason to run what may be anybody's expressions
                raise
    robot = parse_robot(expand_xacro(source, data, xacro_arguments or {}), f"{source} (expanded)")
    notes = Notes(source)
    notes.add("KD111", "expanded by xacro; lines below count in the expansion")
    return replace(robot, findings=(*notes.findings, *robot.findings))


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
