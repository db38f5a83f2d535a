"""Files written whole or not at all, and folders of results in which nothing of the user's is replaced.

A folder of results holds a list of the files that a command wrote there, ``.kane_dynamics_COMMAND.json``:
these alone may be replaced by the next run.
"""

import errno
import json
import os
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from kane_dynamics_ros.errors import KaneDynamicsError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # what another place, or room, may mend


class OutputFileError(KaneDynamicsError):
    """A file could not be written, and nothing of it is left; ``path``."""


class ForeignFileError(KaneDynamicsError):
    """A result would replace a file that this package did not write; ``path``."""


def not_written(path: Path, error: OSError) -> OutputFileError:
    """What the system says of a file that it does not take."""
    advice = (
        "make room, or give another path" if error.errno in FULL else "give another path, or fix this one"
    )
    message = f"{path}: cannot be written: {error.strerror or error}; {advice}"
    return OutputFileError(message, path=path)


def foreign_file(path: Path, command: str) -> ForeignFileError:
    """A file that is in the way of a command's results."""
    return ForeignFileError(
        f"{path}: is there already, and kane_dynamics {command} did not write it; move it away, or "
        "choose another folder for the results",
        path=path,
    )


def write_file(path: Path, content: str | bytes) -> None:
    """Write beside the file, then rename: what was there stays until all of the new is on disk. Texts: UTF-8.

    Folders are made as needed; devices and pipes are written to as they are, and links are followed. A file
    keeps its mode, and stays where it may not be written to. Raises ``OutputFileError``, also where another
    user put the link or the pipe into a folder in which everybody may, such as /tmp.
    """
    data = content.encode() if isinstance(content, str) else content
    refuse_planted(path)
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
        raise not_written(path, error) from error


def refuse_planted(path: Path) -> None:
    """Raise ``OutputFileError`` where a link, pipe or device on the way belongs to somebody else.

    Linux refuses to follow such links too, where fs.protected_symlinks is set, but not everywhere.
    """
    for part in (path.absolute(), *path.absolute().parents):
        try:
            there, folder = part.lstat(), part.parent.stat()
        except OSError:
            continue
        harmless = stat.S_ISREG(there.st_mode) or stat.S_ISDIR(there.st_mode)
        trusted = there.st_uid in (os.geteuid(), folder.st_uid)
        if not harmless and not trusted and folder.st_mode & stat.S_IWOTH:
            raise OutputFileError(
                f"{path}: not written, because {part} belongs to another user and leads elsewhere, in a "
                "folder that everybody may write to; give another path",
                "planted",
                path=path,
            )


def claim_files(folder: Path, names: Collection[str], command: str) -> None:
    """Enter files that a command is about to write into a folder's list; the folder is made where absent.

    Raises:
        ForeignFileError: one is there, and the command did not write it.
        OutputFileError: the list cannot be written.
    """
    refuse_foreign(folder, names, command)
    list_files(folder, written_files(folder, command).union(names), command)


@contextmanager
def whole_results(folder: Path, names: Collection[str], command: str) -> Iterator[Path]:
    """A folder to write results to, which take the place of an earlier run's when all of them are whole.

    ``names``: the files and folders that the command may write, none of them another's (``refuse_foreign``).
    Where writing fails, all of the old stays; where a rename fails, each is old or new: ``OutputFileError``.
    """
    part, made = folder / f".{command}.{os.getpid()}.part", not folder.exists()
    old = {folder / name for name in names}
    try:
        part.mkdir(parents=True)
        yield part
        files = [path.relative_to(part).as_posix() for path in part.rglob("*") if path.is_file()]
        list_files(folder, written_files(folder, command).union(names, files), command)
        _replace_old(old, part)
        left = [name for name in written_files(folder, command) if os.path.lexists(folder / name)]
        list_files(folder, left, command)
    except (OSError, KaneDynamicsError) as error:
        reason = error if isinstance(error, OSError) else error.__cause__
        at = Path(getattr(reason, "filename", None) or part)
        if not isinstance(reason, OSError) or (part.is_dir() and {part, *old}.isdisjoint((at, *at.parents))):
            raise  # of what was read, say
        raise not_written(folder, reason) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
        if made and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def _replace_old(old: Collection[Path], part: Path) -> None:
    """Rename what is in ``part`` over an earlier run's, then remove the rest of it; as ``write_file``."""
    if refused := [path for path in old if path.is_file() and not os.access(path, os.W_OK)]:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(refused[0]))
    written = {path.name: path for path in part.iterdir()}
    for name, path in written.items():
        target = part.parent / name
        if path.is_file() and target.is_symlink():  # it may lead to another disk
            write_file(target, path.read_bytes())
            continue
        if path.is_file() and target.is_file():
            path.chmod(stat.S_IMODE(target.stat().st_mode))
        elif os.path.lexists(target):
            target.replace(part / f".{name}.old")
        path.replace(target)
    for path in filter(os.path.lexists, old):
        if path.name not in written:
            path.replace(part / path.name)  # which goes


def refuse_foreign(folder: Path, names: Collection[str], command: str) -> None:
    """Raise ``ForeignFileError`` where a file of these names is there that the command did not write."""
    written = written_files(folder, command)
    for name in sorted(names):
        if name not in written and os.path.lexists(folder / name):
            raise foreign_file(folder / name, command)


def refuse_unwritable(folder: Path) -> None:
    """Raise ``OutputFileError`` where no file can be written to a folder, which is made for the trial."""
    trial, made = folder / f".{os.getpid()}.trial", not folder.exists()
    write_file(trial, "\n")
    trial.unlink()
    if made:
        folder.rmdir()


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
