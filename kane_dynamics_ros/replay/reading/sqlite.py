"""rosbag2's SQLite storage: tables ``topics`` and ``messages``."""

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

import apsw

from kane_dynamics_ros.replay.errors import DamagedBagError
from kane_dynamics_ros.replay.reading.blocks import Block, Topic, joined

# A damaged file may hold anything in any column: texts are asked for as bytes, messages are checked.
TOPICS = "SELECT CAST(name AS BLOB), CAST(type AS BLOB) FROM topics ORDER BY id"
TOPIC_NUMBERS = "SELECT id FROM topics WHERE name = ?"
MESSAGES = "SELECT timestamp, data FROM messages WHERE topic_id = ? ORDER BY id"
ROWS = 1024  # rows a block: few enough to stay in the processor's cache from here to the decoded arrays


class SqliteFile:
    """A ``.db3`` file."""

    def __init__(self, path: Path, source: Path) -> None:
        """``source`` is the file to name in errors: ``path`` may be its unpacked copy."""
        self.path, self.source = path, source

    def topics(self) -> tuple[Topic, ...]:
        """Every topic in the table. Raises ``DamagedBagError``."""
        try:
            with closing(self._connect()) as database:
                return tuple(Topic(*map(_decoded, row)) for row in database.execute(TOPICS))
        except apsw.Error as error:
            raise DamagedBagError(self.source, f"SQLite says: {error}") from error

    def blocks(self, names: Collection[str]) -> Iterator[Block]:
        """Messages of each topic in turn, in the order of recording. Raises ``DamagedBagError``."""
        try:
            with closing(self._connect()) as database:
                for name in names:
                    yield from _blocks(database, name)
        except apsw.Error as error:
            raise DamagedBagError(self.source, f"SQLite says: {error}") from error

    def _connect(self) -> apsw.Connection:
        # A killed recorder leaves its last seconds in a journal beside the file, which only an ordinary
        # opening reads; without one, "immutable" opens bags on read-only disks too.
        journal = self.path.with_name(self.path.name + "-wal")
        mode = "mode=ro" if journal.exists() else "immutable=1"
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        database = apsw.Connection(f"{self.path.absolute().as_uri()}?{mode}", flags)
        database.execute("PRAGMA writable_schema=ON")  # else a cut file is refused whole
        return database


def whole_pages(file: Path, copy: Path) -> Path:
    """The file itself, or a copy without a cut last page, which SQLite would fill up with zeros."""
    with file.open("rb") as stream:
        head = stream.read(18)
    page = int.from_bytes(head[16:18], "big") or 1
    page = 65536 if page == 1 else page  # so the format writes 64 KiB
    size = file.stat().st_size
    if size % page == 0:
        return file
    if file != copy:
        shutil.copyfile(file, copy)
    os.truncate(copy, size // page * page)
    return copy


def _decoded(name: bytes | None) -> str:
    return (name or b"").decode("utf-8", "replace")


def _blocks(database: apsw.Connection, name: str) -> Iterator[Block]:
    for (number,) in database.execute(TOPIC_NUMBERS, (name,)).fetchall():
        rows = database.execute(MESSAGES, (number,))
        while True:
            fetched: list[tuple[int, bytes]] = []
            try:
                fetched.extend(islice(rows, ROWS))  # keeps what came before an error
            except apsw.Error:
                yield from _joined(name, fetched)
                raise
            if not fetched:
                break
            yield from _joined(name, fetched)


def _joined(name: str, rows: list[tuple[int, bytes]]) -> Iterator[Block]:
    """A block of the rows that are messages: all of them, unless the file is damaged."""
    try:
        if rows:
            yield joined(name, *zip(*rows, strict=True))
    except TypeError:
        yield from _joined(name, [row for row in rows if _is_message(*row)])


def _is_message(received: object, data: object) -> bool:
    return isinstance(received, int) and isinstance(data, bytes)
