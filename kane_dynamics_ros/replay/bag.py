"""A bag on disk: which files it has, in which storage, and how they are compressed."""

import re
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath

import numpy as np
import yaml

from kane_dynamics_ros.replay.compression import ZSTD_MAGIC, CompressionError, unpack_file, unpacked_message
from kane_dynamics_ros.replay.errors import BagError, damaged
from kane_dynamics_ros.replay.mcap import MAGIC as MCAP_MAGIC
from kane_dynamics_ros.replay.mcap import McapFile
from kane_dynamics_ros.replay.messages import Block, Topic, blocks_of
from kane_dynamics_ros.replay.sqlite import SqliteFile, whole_pages

SQLITE_MAGIC = b"SQLite format 3\x00"
STORAGES = "MCAP and SQLite 3 files, each also under zstd"
LARGEST_METADATA = 2**24  # [bytes] of metadata.yaml that are read


@dataclass
class Bag:
    """An open bag. ``damages`` grows while it is read: what could not be read, file by file."""

    path: Path
    files: list[McapFile | SqliteFile]
    damages: list[BagError] = field(default_factory=list)

    def topics(self) -> tuple[Topic, ...]:
        """Every topic of the readable files. Raises ``BagError`` where damage leaves none."""
        found: dict[Topic, None] = {}
        for file in self.files:
            try:
                found.update(dict.fromkeys(file.topics()))
            except BagError as damage:
                self._note(damage)
        if self.damages and not found:
            raise self.damages[0]
        return tuple(found)

    def blocks(self, names: Collection[str]) -> Iterator[Block]:
        """The messages of some topics, file by file; message compression is undone."""
        spoiled: Counter[str] = Counter()
        for file in self.files:
            try:
                for block in file.blocks(names):
                    yield from _inflated(block, spoiled)
            except BagError as damage:
                self._note(damage)
        for topic, count in spoiled.items():
            self._note(damaged(self.path, f"{count} messages on {topic!r} cannot be decompressed"))

    def _note(self, damage: BagError) -> None:
        if str(damage) not in map(str, self.damages):
            self.damages.append(damage)


@contextmanager
def open_bag(path: Path) -> Iterator[Bag]:
    """A bag folder, or one of its files alone; files under zstd are unpacked while it is open.

    A file's first bytes say its storage, never its name nor metadata.yaml, which may be missing.
    Raises ``BagError``.
    """
    with tempfile.TemporaryDirectory(prefix="kane_dynamics_replay_") as folder:
        bag = Bag(path, [])
        for i, source in enumerate(_sources(path)):
            file, copy = source, Path(folder) / f"{i}_{source.stem}"
            try:
                if _head(file).startswith(ZSTD_MAGIC):
                    bag.damages.extend(unpack_file(source, copy))
                    file = copy
                head = _head(file)
                if head.startswith(SQLITE_MAGIC):
                    file = whole_pages(file, copy)
            except OSError as error:
                raise BagError(
                    f"{source}: it cannot be unpacked into {folder}: {error.strerror or error}; let TMPDIR "
                    "name a folder with more room",
                    "no_room",
                    bag=source,
                ) from error
            if not head.startswith((MCAP_MAGIC, SQLITE_MAGIC)):
                raise BagError(
                    f"{source}: not a bag file: it starts with {head[:8].hex(' ') or 'nothing (0 bytes)'}; "
                    f"allowed are {STORAGES}; record again, or give the bag's folder",
                    "unknown_storage",
                    bag=source,
                )
            storage = McapFile if head.startswith(MCAP_MAGIC) else SqliteFile
            bag.files.append(storage(file, source))
        yield bag


def _sources(path: Path) -> list[Path]:
    if not path.exists():
        raise BagError(
            f"{path}: no such file or folder; give a rosbag2 folder, a .mcap or a .db3 file",
            "not_found",
            bag=path,
        )
    if path.is_file():
        return [path]
    named = [path / name for name in _names_in_metadata(path / "metadata.yaml")]
    found = [file for file in named if file.is_file()] or bag_files(path)
    if not found:
        raise BagError(f"{path}: the folder holds no bag file; allowed are {STORAGES}", "no_files", bag=path)
    return found


def bag_files(folder: Path) -> list[Path]:
    """The files of a known storage in a folder, split files by their number: _2 before _10."""
    magics = MCAP_MAGIC, SQLITE_MAGIC, ZSTD_MAGIC
    found = [file for file in sorted(folder.iterdir()) if file.is_file() and _head(file).startswith(magics)]
    return sorted(found, key=lambda file: [int(n) for n in re.findall(r"\d+", file.name)])


def _head(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(len(SQLITE_MAGIC))


def _names_in_metadata(file: Path) -> list[str]:
    """The files in their order, without folders (older versions wrote them); none if it is unreadable.

    What the file says counts only where it names a file in the folder, so that any fault in it, a date that
    does not exist, thousands of brackets or digits, leaves the reader with the folder's own list.
    """
    try:
        with file.open("rb") as stream:
            content = yaml.safe_load(stream.read(LARGEST_METADATA))
        names = content["rosbag2_bagfile_information"]["relative_file_paths"]
        return list(dict.fromkeys(PurePath(name).name for name in names))
    except (OSError, yaml.YAMLError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        return []


def _inflated(block: Block, spoiled: Counter[str]) -> Iterator[Block]:
    """The block with each compressed message unpacked, as rosbag2 compresses them one by one.

    Messages that cannot be unpacked are left out and counted in ``spoiled``, by topic.
    """
    whole = block.lengths >= len(ZSTD_MAGIC)
    heads = block.offsets[whole][:, None] + np.arange(len(ZSTD_MAGIC))
    if not (block.buffer[heads] == np.frombuffer(ZSTD_MAGIC, np.uint8)).all(axis=1).any():
        yield block
        return

    def messages() -> Iterator[tuple[int, bytes]]:
        for i, time in enumerate(block.received.tolist()):
            message = block.message(i)
            try:
                yield time, unpacked_message(message) if message.startswith(ZSTD_MAGIC) else message
            except CompressionError:
                spoiled[block.topic] += 1

    yield from blocks_of(block.topic, messages())
