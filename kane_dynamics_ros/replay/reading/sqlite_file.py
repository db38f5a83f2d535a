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

# A damaged file may hold anything in any column: names come as bytes, and messages only if they are some.
TOPICS = "SELECT CAST(name AS BLOB), CAST(type AS BLOB) FROM topics ORDER BY id"
MESSAGES = (
    "SELECT timestamp, data FROM messages WHERE topic_id IN (SELECT id FROM topics WHERE name = ?) "
    "AND typeof(timestamp) = 'integer' AND typeof(data) = 'blob' ORDER BY messages.id"
)
ROWS = 4096  # rows a fetch: some MB, and the cost of a call is spread


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
    rows = database.execute(
        MESSAGES,
        (name,),
    )
    while True:
        fetched: list[tuple[int, bytes]] = []
        try:
            fetched.extend(islice(rows, ROWS))  # keeps what came before an error
        except apsw.Error:
            if fetched:
                yield joined(name, *zip(*fetched, strict=True))
            raise
        if not fetched:
            return
        yield joined(name, *zip(*fetched, strict=True))
