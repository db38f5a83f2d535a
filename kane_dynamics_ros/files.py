"""Files written whole or not at all, and folders of results in which nothing of the user's is replaced.

A folder of results holds a list of the files that a command wrote there, ``.kane_dynamics_COMMAND.json``:
these alone may be replaced by the next run.
"""

import errno
import json
import os
import stat
from collections.abc import Collection
from pathlib import Path

from kane_dynamics_ros.errors import KaneDynamicsError


class OutputFileError(KaneDynamicsError):
    """A file could not be written; nothing of it is left."""

    def __init__(self, path: Path, error: OSError) -> None:
        self.path = path
        super().__init__(
            f"{path}: cannot be written: {error.strerror or error}; make room, or give another path"
        )


class ForeignFileError(KaneDynamicsError):
    """A result would replace a file that this package did not write."""

    def __init__(self, path: Path, command: str) -> None:
        self.path = path
        super().__init__(
            f"{path}: is there already, and kane_dynamics {command} did not write it; move it away, or "
            "choose another folder for the results"
        )


def write_file(path: Path, content: str | bytes) -> None:
    """Write beside the file, then rename: what was there stays until all of the new is on disk. Texts: UTF-8.

    Folders are made as needed; devices and pipes are written to as they are. A file keeps its mode, and stays
    where it may not be written to. Raises ``OutputFileError``.
    """
    data = content.encode() if isinstance(content, str) else content
    target = path.resolve()  # a link stays one
    part = target.with_name(f".{target.name[:200]}.{os.getpid()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not target.is_file():
            target.write_bytes(data)
            return
        mode = target.stat().st_mode if target.exists() else None
        if mode is not None and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
        part.unlink(missing_ok=True)  # of a process that was killed; whatever it is, it is not followed
        try:
            with part.open("xb") as file:
                if mode is not None:
                    os.fchmod(file.fileno(), stat.S_IMODE(mode))
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise OutputFileError(path, error) from error


def claim_files(folder: Path, names: Collection[str], command: str) -> None:
    """Enter files that a command is about to write into a folder's list; the folder is made where absent.

    Raises:
        ForeignFileError: one is there, and the command did not write it.
        OutputFileError: the list cannot be written.
    """
    refuse_foreign(folder, names, command)
    list_files(folder, written_files(folder, command).union(names), command)


def refuse_foreign(folder: Path, names: Collection[str], command: str) -> None:
    """Raise ``ForeignFileError`` where a file of these names is there that the command did not write."""
    written = written_files(folder, command)
    for name in sorted(names):
        if name not in written and os.path.lexists(folder / name):
            raise ForeignFileError(folder / name, command)


def written_files(folder: Path, command: str) -> frozenset[str]:
    """The files that the command says it wrote into a folder; none where nothing says so."""
    try:
        text = _list_of(folder, command).read_text(encoding="utf-8")
        return frozenset(map(str, json.loads(text)["files"]))
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return frozenset()


def list_files(folder: Path, files: Collection[str], command: str) -> None:
    """State which files of a folder the command wrote. Raises ``OutputFileError``."""
    content = {"written by": f"kane_dynamics {command}", "files": sorted(files)}
    write_file(_list_of(folder, command), json.dumps(content, indent=2) + "\n")


def _list_of(folder: Path, command: str) -> Path:
    return folder / f".kane_dynamics_{command}.json"
