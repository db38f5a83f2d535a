"""rosbag2's SQLite storage: tables ``topics`` and ``messages``, read as an untrusted file.

rosbags' reader would leave out the journal of a killed recorder, and walks through damaged pages for ever. A
database is a program: a view makes rows out of nothing, pages may lead to each other. So both names must be
tables, and a reader that gets more bytes, or takes more steps, than the file's size allows gives up.
"""

import os
import shutil
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

from kane_dynamics_ros.replay.compression import LARGEST_MESSAGE
from kane_dynamics_ros.replay.errors import damaged
from kane_dynamics_ros.replay.messages import Block, Topic, blocks_of

TABLES = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('topics', 'messages')"
TOPICS = "SELECT CAST(name AS BLOB), CAST(type AS BLOB) FROM topics ORDER BY id LIMIT 65536"
# A damaged file may hold anything in any column; the length of a row is known before the row is read.
MESSAGES = f"""SELECT timestamp, data FROM messages WHERE topic_id = ? AND typeof(timestamp) = 'integer'
AND typeof(data) = 'blob' AND length(data) <= {LARGEST_MESSAGE} ORDER BY id"""
STEPS = 1_000_000  # of SQLite's virtual machine between two looks at how many there were
STEPS_PER_BYTE = 64  # a row of some 30 bytes takes some 20 steps a topic


class SqliteFile:
    """A ``.db3`` file; ``source`` is the file to name in errors, for ``path`` may be its unpacked copy."""

    def __init__(self, path: Path, source: Path) -> None:
        self.path, self.source = path, source
        self._journal = path.with_name(path.name + "-wal")  # a killed recorder's last seconds
        self._size = path.stat().st_size + (self._journal.stat().st_size if self._journal.exists() else 0)

    def topics(self) -> tuple[Topic, ...]:
        """Every topic in the table. Raises ``BagError``."""
        with self._database() as database:
            rows = database.execute(TOPICS).fetchall()
        return tuple(Topic(*((text or b"").decode("utf-8", "replace") for text in row)) for row in rows)

    def blocks(self, names: Collection[str]) -> Iterator[Block]:
        """Messages of each topic in turn, in the order of recording. Raises ``BagError``."""
        left = self._size
        with self._database() as database:
            for name in names:
                query = "SELECT id FROM topics WHERE CAST(name AS BLOB) = ? LIMIT 1024"
                for (number,) in database.execute(query, (name.encode(),)).fetchall():
                    for block in blocks_of(name, database.execute(MESSAGES, (number,))):
                        left -= len(block.buffer)
                        if left < 0:
                            raise damaged(self.source, "its pages lead to each other")
                        yield block

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        """The file, read only, with nothing in it trusted; what SQLite says of it becomes a ``BagError``."""
        # the journal needs an ordinary opening; without one, bags on read-only disks open too
        mode = "mode=ro" if self._journal.exists() else "immutable=1"
        calls, most = count(), STEPS_PER_BYTE * self._size // STEPS + 10
        try:
            with closing(sqlite3.connect(f"{self.path.absolute().as_uri()}?{mode}", uri=True)) as database:
                database.set_progress_handler(lambda: next(calls) > most, STEPS)
                database.execute("PRAGMA trusted_schema = OFF")
                database.execute("PRAGMA writable_schema = ON")  # reads as many pages as a cut file still has
                if database.execute(TABLES).fetchone() != (2,):
                    message = "there are no tables 'topics' and 'messages', as rosbag2 writes them"
                    raise sqlite3.DatabaseError(message)
                yield database
        except (sqlite3.Error, UnicodeDecodeError) as error:  # even SQLite's own texts may be damaged
            raise damaged(self.source, f"SQLite says: {error}") from error


def whole_pages(file: Path, copy: Path) -> Path:
    """The file itself, or, where it ends inside a page, a copy without that page.

    SQLite would take what is missing for zeros. Raises ``OSError`` where there is no room for the copy.
    """
    with file.open("rb") as stream:
        page = int.from_bytes(stream.read(18)[16:], "big")
    size = file.stat().st_size
    rest = size % (65536 if page == 1 else page or 1)  # so the format writes 64 KiB
    if not rest:
        return file
    if file != copy:
        shutil.copyfile(file, copy)
    os.truncate(copy, size - rest)
    return copy
