"""rosbag2's SQLite storage: tables ``topics`` and ``messages``, read as an untrusted file.

A database is a program: a view or a computed column makes rows out of nothing, and damaged pages that lead to
each other are walked through for ever. So both names must be plain tables, and a reader that gets more bytes,
or needs more steps, than the file's size allows stops with an error.
"""

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import apsw

from kane_dynamics_ros.replay.compression import LARGEST_MESSAGE
from kane_dynamics_ros.replay.errors import DamagedBagError, UnpackError
from kane_dynamics_ros.replay.messages import Block, Topic, joined

# A damaged file may hold anything in any column: texts are asked for as bytes, messages are checked.
TOPICS = "SELECT CAST(name AS BLOB), CAST(type AS BLOB) FROM topics ORDER BY id LIMIT 65536"
TOPIC_NUMBERS = "SELECT id FROM topics WHERE name = ? LIMIT 1024"
MESSAGES = "SELECT timestamp, data FROM messages WHERE topic_id = ? ORDER BY id LIMIT -1 OFFSET ?"
SCHEMA = "SELECT CAST(type AS BLOB), CAST(sql AS BLOB) FROM sqlite_schema WHERE name = ?"
COLUMNS = "SELECT hidden FROM pragma_table_xinfo(?)"
ROWS = 512  # rows a block: few enough to stay in the processor's cache from here to the decoded arrays
TOGETHER = 2**26  # [bytes] of messages a block
SMALL = TOGETHER // ROWS  # [bytes] of a message that may be read without looking at its size
STEPS = 1_000_000  # of SQLite's virtual machine between two looks at how many there were
STEPS_PER_BYTE = 64  # a row of some 30 bytes takes some 10 steps a topic
PAGES_AT, CHANGES_AT, VALID_FOR_AT = 28, 24, 92  # [bytes] in the file's header


class NoTableError(Exception):
    """``topics`` or ``messages`` is no plain table; the text says what it is."""


REFUSED = (apsw.Error, NoTableError, UnicodeDecodeError)  # the last: any text of SQLite's may be damaged


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
        except REFUSED as error:
            raise DamagedBagError(self.source, f"SQLite says: {error}") from error

    def blocks(self, names: Collection[str]) -> Iterator[Block]:
        """Messages of each topic in turn, in the order of recording. Raises ``DamagedBagError``."""
        try:
            with closing(self._connect()) as database:
                left = self._size()
                for name in names:
                    for block in _blocks(database, name):
                        left -= len(block.buffer)
                        if left < 0:
                            raise DamagedBagError(self.source, "its pages lead to each other")
                        yield block
        except REFUSED as error:
            raise DamagedBagError(self.source, f"SQLite says: {error}") from error

    def _connect(self) -> apsw.Connection:
        """The file, read only, with nothing in it trusted. Raises ``NoTableError``."""
        # A killed recorder leaves its last seconds in a journal beside the file, which only an ordinary
        # opening reads; without one, "immutable" opens bags on read-only disks too.
        mode = "mode=ro" if self._journal().exists() else "immutable=1"
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        database = apsw.Connection(f"{self.path.absolute().as_uri()}?{mode}", flags)
        database.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        database.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        database.limit(apsw.SQLITE_LIMIT_LENGTH, LARGEST_MESSAGE)
        allowed = STEPS_PER_BYTE * self._size() // STEPS + 10
        database.set_progress_handler(_Countdown(allowed), STEPS)
        try:
            for table in ("topics", "messages"):
                _check_table(database, table)
        except BaseException:
            database.close()
            raise
        return database

    def _journal(self) -> Path:
        return self.path.with_name(self.path.name + "-wal")

    def _size(self) -> int:
        """The file and its journal [bytes]: what all of its rows together cannot exceed."""
        journal = self._journal()
        return self.path.stat().st_size + (journal.stat().st_size if journal.exists() else 0)


class _Countdown:
    """Tells SQLite to stop after so many calls."""

    def __init__(self, calls: int) -> None:
        self.calls = calls

    def __call__(self) -> bool:
        self.calls -= 1
        return self.calls < 0


def _check_table(database: apsw.Connection, name: str) -> None:
    found = list(database.execute(SCHEMA, (name,)))
    if not found:
        raise NoTableError(f"there is no table {name!r}")
    for kind, sql in found:
        if kind != b"table" or not (sql or b"").upper().startswith(b"CREATE TABLE"):
            raise NoTableError(f"{name!r} is no plain table, as rosbag2 writes it")
    if any(hidden for (hidden,) in database.execute(COLUMNS, (name,))):
        raise NoTableError(f"the table {name!r} has computed columns, which rosbag2 never writes")


def whole_pages(file: Path, copy: Path) -> Path:
    """The file itself; of a cut one a copy with as many whole pages as there are, and a header that says so.

    SQLite would fill up a cut last page with zeros, and refuse a file of fewer pages than its header counts.
    Raises ``UnpackError`` where there is no room for the copy.
    """
    with file.open("rb") as stream:
        head = stream.read(100)
    size = file.stat().st_size
    page = int.from_bytes(head[16:18], "big") or 1
    page = 65536 if page == 1 else page  # so the format writes 64 KiB
    pages = size // page
    counted = int.from_bytes(head[PAGES_AT : PAGES_AT + 4], "big")
    current = head[CHANGES_AT : CHANGES_AT + 4] == head[VALID_FOR_AT : VALID_FOR_AT + 4]
    cut = current and counted > pages and not file.with_name(file.name + "-wal").exists()
    if size % page == 0 and not cut:
        return file
    try:
        if file != copy:
            shutil.copyfile(file, copy)
        os.truncate(copy, pages * page)
        if cut and pages:
            with copy.open("r+b") as stream:
                stream.seek(PAGES_AT)
                stream.write(pages.to_bytes(4, "big"))
    except OSError as error:
        raise UnpackError(file, copy.parent, error.strerror or str(error)) from error
    return copy


def _decoded(name: bytes | None) -> str:
    return (name or b"").decode("utf-8", "replace")


def _blocks(database: apsw.Connection, name: str) -> Iterator[Block]:
    """A topic's messages in the order of recording. Raises ``apsw.Error`` after the last readable one."""
    for (number,) in database.execute(TOPIC_NUMBERS, (name,)).fetchall():
        done = 0
        database.limit(apsw.SQLITE_LIMIT_LENGTH, SMALL)
        try:
            rows = database.execute(MESSAGES, (number, done))
            while fetched := list(islice(rows, ROWS)):  # no step of Python a row
                done += len(fetched)
                yield from _joined(name, fetched)
        except apsw.Error:  # a larger message, or damage: this block again, row by row
            database.limit(apsw.SQLITE_LIMIT_LENGTH, LARGEST_MESSAGE)
            yield from _blocks_row_by_row(database, name, number, done)


def _blocks_row_by_row(database: apsw.Connection, name: str, number: Any, done: int) -> Iterator[Block]:
    """A topic's messages after the first ``done``: up to the one that cannot be read, whatever their size."""
    rows = database.execute(MESSAGES, (number, done))
    ended = False
    while not ended:
        fetched: list[tuple[object, object]] = []
        try:
            ended = _fetch(rows, fetched)
        except apsw.Error:
            yield from _joined(name, fetched)  # what came before the error
            raise
        yield from _joined(name, fetched)


def _fetch(rows: Iterator[tuple[object, object]], fetched: list[tuple[object, object]]) -> bool:
    """Rows for one block; whether they were the last."""
    size = 0
    for row in rows:
        fetched.append(row)
        size += len(row[1]) if isinstance(row[1], bytes) else 0
        if len(fetched) >= ROWS or size > TOGETHER:
            return False
    return True


def _joined(name: str, rows: list[tuple[object, object]]) -> Iterator[Block]:
    """A block of rows; those whose columns hold something else, as a damaged file's may, are left out."""
    received, messages = zip(*rows, strict=True) if rows else ((), ())
    if set(map(type, received)) != {int} or set(map(type, messages)) != {bytes}:
        rows = [row for row in rows if isinstance(row[0], int) and isinstance(row[1], bytes)]
        received, messages = zip(*rows, strict=True) if rows else ((), ())
    if rows:
        yield joined(name, received, messages)
