"""Files written whole or not at all."""

import os
from pathlib import Path

from kane_dynamics_ros.errors import KaneDynamicsError


class OutputFileError(KaneDynamicsError):
    """A file could not be written; nothing of it is left."""

    def __init__(self, path: Path, error: OSError) -> None:
        self.path = path
        super().__init__(
            f"{path}: cannot be written: {error.strerror or error}; make room, or give another path"
        )


def write_file(path: Path, content: str | bytes) -> None:
    """Write beside the file, then rename: what was there stays until all of the new is on disk. Texts: UTF-8.

    Folders are made as needed; devices and pipes are written to as they are. Raises ``OutputFileError``.
    """
    data = content.encode() if isinstance(content, str) else content
    target = path.resolve()  # a link stays one
    part = target.with_name(f".{target.name[:200]}.{os.getpid()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not target.is_file():
            target.write_bytes(data)
            return
        try:
            with part.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise OutputFileError(path, error) from error
