"""A bag on disk: which files it has, in which storage, and how they are compressed."""

import re
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath

import yaml
import zstandard

from kane_dynamics_ros.replay.errors import (
    BagNotFoundError,
    DamagedBagError,
    NoBagFilesError,
    UnknownStorageError,
)
from kane_dynamics_ros.replay.reading.blocks import BagFile, Block, Topic, joined
from kane_dynamics_ros.replay.reading.mcap import MAGIC as MCAP_MAGIC
from kane_dynamics_ros.replay.reading.mcap import McapFile
from kane_dynamics_ros.replay.reading.sqlite import SqliteFile, whole_pages

SQLITE_MAGIC = b"SQLite format 3\x00"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
MAGICS = (MCAP_MAGIC, SQLITE_MAGIC, ZSTD_MAGIC)
COPY = 2**22  # [bytes] decompressed at a time


@dataclass
class Bag:
    """An open bag. ``damages`` grows while it is read: what could not be read, file by file."""

    path: Path
    files: list[BagFile]
    damages: list[DamagedBagError] = field(default_factory=list)

    def topics(self) -> tuple[Topic, ...]:
        """Every topic of the readable files."""
        found: dict[Topic, None] = {}
        for file in self.files:
            try:
                found.update(dict.fromkeys(file.topics()))
            except DamagedBagError as damage:
                self._note(damage)
        return tuple(found)

    def blocks(self, names: Collection[str]) -> Iterator[Block]:
        """The messages of some topics, file by file; message compression is undone."""
        for file in self.files:
            try:
                for block in file.blocks(names):
                    yield _inflated(block)
            except DamagedBagError as damage:
                self._note(damage)

    def _note(self, damage: DamagedBagError) -> None:
        if str(damage) not in map(str, self.damages):
            self.damages.append(damage)


@contextmanager
def open_bag(path: Path) -> Iterator[Bag]:
    """A bag folder, or one of its files alone; files under zstd are unpacked while it is open.

    The storage is told by a file's first bytes, never by its name nor by metadata.yaml, which may be
    missing. Raises ``BagNotFoundError``, ``NoBagFilesError``, ``UnknownStorageError``.
    """
    with tempfile.TemporaryDirectory(prefix="kane_dynamics_replay_") as folder:
        bag = Bag(path, [])
        for i, source in enumerate(_sources(path)):
            file = source
            copy = Path(folder) / f"{i}_{source.stem}"
            if _starts_with(file, ZSTD_MAGIC):
                bag.damages.extend(_unpack(source, copy))
                file = copy
            if _starts_with(file, SQLITE_MAGIC):
                file = whole_pages(file, copy)
            bag.files.append(_opened(file, source))
        yield bag


def _sources(path: Path) -> list[Path]:
    if not path.exists():
        raise BagNotFoundError(path)
    if path.is_file():
        return [path]
    named = [path / name for name in _names_in_metadata(path / "metadata.yaml")]
    there = [file for file in named if file.is_file()]
    found = there or bag_files(path)
    if not found:
        raise NoBagFilesError(path)
    return found


def bag_files(folder: Path) -> list[Path]:
    """The files of a known storage in a folder, split files by their number: _2 before _10."""
    found = [
        file
        for file in sorted(folder.iterdir())
        if file.is_file() and any(_starts_with(file, magic) for magic in MAGICS)
    ]
    return sorted(found, key=lambda file: [int(n) for n in re.findall(r"\d+", file.name)])


def _names_in_metadata(file: Path) -> list[str]:
    """The files in their order, without folders (older versions wrote them); none if it is unreadable."""
    try:
        information = yaml.safe_load(file.read_text())["rosbag2_bagfile_information"]
        return [PurePath(name).name for name in information["relative_file_paths"]]
    except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError):
        return []


def _starts_with(file: Path, magic: bytes) -> bool:
    with file.open("rb") as stream:
        return stream.read(len(magic)) == magic


def _opened(file: Path, source: Path) -> BagFile:
    if _starts_with(file, MCAP_MAGIC):
        return McapFile(file, source)
    if _starts_with(file, SQLITE_MAGIC):
        return SqliteFile(file, source)
    with file.open("rb") as stream:
        raise UnknownStorageError(source, stream.read(8))


def _unpack(source: Path, file: Path) -> Iterator[DamagedBagError]:
    """Decompress as far as it goes; yields what stopped it."""
    with source.open("rb") as packed, file.open("wb") as unpacked:
        stream = zstandard.ZstdDecompressor().decompressobj()
        try:
            while piece := packed.read(COPY):
                unpacked.write(stream.decompress(piece))
        except zstandard.ZstdError as error:
            yield DamagedBagError(source, f"zstd says: {error}")
            return
        if not stream.eof:
            yield DamagedBagError(source, "the zstd stream ends early")


def _inflated(block: Block) -> Block:
    """The block with each message decompressed, if rosbag2 compressed them one by one."""
    if not len(block.offsets) or not block.message(0).startswith(ZSTD_MAGIC):
        return block
    unpack = zstandard.ZstdDecompressor().decompress
    messages = [unpack(block.message(i)) for i in range(len(block.offsets))]
    return joined(block.topic, block.received.tolist(), messages)
