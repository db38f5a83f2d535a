"""Packages of ROS found by their package.xml, with or without a ROS workspace.

The standard library alone: the process that runs xacro loads this file as well.
"""

import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

LEVELS = 3  # how far below a folder of packages they are looked for
MOST_FOLDERS = 2000  # looked at in one folder


def find_package(name: str, file: Path, folders: Sequence[Path] = ()) -> Path | None:
    """The folder of package ``name``, which ``file`` asks for; None where it is not found.

    Looked at are, in this order: ``folders`` (each a package or a folder of packages), the package that holds
    ``file``, AMENT_PREFIX_PATH, ROS_PACKAGE_PATH, and the packages beside ``file`` and beside each folder
    above it. There a folder counts that belongs to the user, to root or to the owner of ``file``: in a shared
    folder anybody may put a package.
    """
    return next((folder for folder in _candidates(name, file, folders) if is_package(folder, name)), None)


def searched(file: Path, folders: Sequence[Path] = ()) -> list[str]:
    """What ``find_package`` looks at, in words."""
    variables = [name for name in ("AMENT_PREFIX_PATH", "ROS_PACKAGE_PATH") if os.environ.get(name)]
    return [*map(str, folders), *variables, f"the folders above and beside {file.resolve().parent}"]


def is_package(folder: Path, name: str) -> bool:
    """Whether the folder's package.xml has this name."""
    try:
        with open(folder / "package.xml", "rb") as file:
            found = re.search(rb"<name>\s*([^<\s]+)\s*</name>", file.read(100_000))
    except (OSError, ValueError):
        return False
    return found is not None and found[1].decode(errors="replace") == name


def _candidates(name: str, file: Path, folders: Sequence[Path]) -> Iterator[Path]:
    above = file.resolve().parents
    yield from _packages_in(folders)
    yield from above
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    yield from (Path(prefix, "share", name) for prefix in prefixes if prefix)
    paths = os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)
    yield from _packages_in(Path(path) for path in paths if path)
    owners = {os.getuid(), 0, _owner(file)}
    for folder in above:
        yield from (own for own in (folder / name, *_folders_in(folder)) if _owner(own) in owners)


def _packages_in(folders: Iterable[Path]) -> Iterator[Path]:
    """The folders, and those up to ``LEVELS`` below that hold no package themselves."""
    level = list(folders)
    for _ in range(LEVELS + 1):
        yield from level
        below = [folder for folder in level if not (folder / "package.xml").is_file()]
        level = [inner for folder in below for inner in _folders_in(folder)]


def _folders_in(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            found = [Path(entry) for entry in itertools.islice(entries, MOST_FOLDERS) if entry.is_dir()]
    except OSError:
        return []
    return sorted(path for path in found if not path.name.startswith("."))


def _owner(path: Path) -> int | None:
    try:
        return os.stat(path).st_uid
    except OSError:
        return None
