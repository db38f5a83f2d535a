"""rosbag2's MCAP storage as blocks per topic, as far as a damaged file can be read.

The reader of the ``mcap`` library makes an object of each message; here a chunk stays one buffer, and
its message index (time and offset of each message) becomes two arrays. The library still reads
every record that comes once or once a chunk. A chunk without a usable index is walked through instead.
"""

import os
import struct
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.reader import make_reader
from mcap.records import Channel, Chunk, Schema
from numpy.lib.stride_tricks import sliding_window_view

from kane_dynamics_ros.replay.compression import LARGEST_CHUNK, CompressionError, unpack_chunk
from kane_dynamics_ros.replay.errors import DamagedBagError
from kane_dynamics_ros.replay.messages import Block, Integers, Topic

MAGIC = b"\x89MCAP0\r\n"
RECORD_HEAD = struct.Struct("<BQ")  # opcode, length
INDEX_HEAD = struct.Struct("<HI")  # channel, bytes that follow
INDEX_ENTRY = np.dtype([("time", "<u8"), ("offset", "<u8")])
MESSAGE_FIELDS = struct.Struct("<HIqq")  # channel, sequence, log time, publish time; the payload follows
LOOSE = 2**20  # [bytes] of records outside chunks that are handed on together
USED = (Opcode.SCHEMA, Opcode.CHANNEL, Opcode.MESSAGE, Opcode.CHUNK, Opcode.MESSAGE_INDEX)  # kinds of records
# What the library raises when a length or a text in a record is corrupt.
UNREADABLE = (McapError, struct.error, UnicodeDecodeError, OverflowError, MemoryError)


# Records one after another


class McapDamageError(Exception):
    """Something in the file cannot be read; the text says what and where."""


class Record(NamedTuple):
    """A record's kind, its content, its place in the file [bytes], and whether all of it is there."""

    opcode: int
    content: bytes
    place: int
    whole: bool = True


class IndexEntries(NamedTuple):
    """Where one channel's messages lie in the chunk before: (N,) each."""

    channel: int
    received: Integers
    offsets: Integers


def records(file: BinaryIO) -> Iterator[Record]:
    """Every record up to the footer. Raises ``McapDamageError`` where the file ends early.

    The last, cut record is handed over before, so that what is whole in it can be saved.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(len(MAGIC))
    while True:
        place = file.tell()
        head = file.read(RECORD_HEAD.size)
        if len(head) < RECORD_HEAD.size:
            raise McapDamageError(f"the file ends at byte {place + len(head)} without a footer")
        opcode, length = RECORD_HEAD.unpack(head)
        there = min(length, size - file.tell())  # a corrupt length may be any number
        whole = there == length
        if opcode in USED:
            if there > LARGEST_CHUNK:
                raise McapDamageError(
                    f"the record at byte {place} has {there} bytes; at most {LARGEST_CHUNK} are allowed"
                )
            yield Record(opcode, file.read(there), place, whole)
        else:  # an attachment, say, of any size
            file.seek(there, os.SEEK_CUR)
        if not whole:
            raise McapDamageError(
                f"the file ends at byte {file.tell()}, inside the record that begins at byte {place}"
            )
        if opcode in (Opcode.DATA_END, Opcode.FOOTER):
            return


def index_entries(content: bytes) -> IndexEntries:
    """A message index record as arrays, in the order of the chunk. Raises ``McapDamageError``."""
    try:
        channel, _ = INDEX_HEAD.unpack_from(content)
        entries = np.frombuffer(content, INDEX_ENTRY, offset=INDEX_HEAD.size)
    except (struct.error, ValueError) as error:
        raise McapDamageError(f"a message index cannot be read ({error})") from error
    entries = entries[np.argsort(entries["offset"], kind="stable")]
    return IndexEntries(channel, entries["time"].astype(np.int64), entries["offset"].astype(np.int64))


def chunk_data(record: Record) -> bytes:
    """A chunk's messages, decompressed. Raises ``McapDamageError`` for a wrong checksum or compression."""
    try:
        chunk = Chunk.read(ReadDataStream(BytesIO(record.content)))
        data = unpack_chunk(chunk.compression, chunk.data, chunk.uncompressed_size)
    except (*UNREADABLE, CompressionError) as error:
        raise McapDamageError(f"the chunk at byte {record.place} cannot be decompressed ({error})") from error
    if record.whole and chunk.uncompressed_crc and zlib.crc32(data) != chunk.uncompressed_crc:
        raise McapDamageError(f"the checksum of the chunk at byte {record.place} is wrong")
    return data


# Buffers with an index, whether the file has chunks and indexes or not


class IndexedBuffer(NamedTuple):
    """Consecutive records in one buffer, and where each channel's messages lie in it."""

    data: bytes
    entries: list[IndexEntries]


@dataclass
class Directory:
    """Topics by channel number, from schema and channel records."""

    schemas: dict[int, str] = field(default_factory=dict)
    channels: dict[int, Topic] = field(default_factory=dict)

    def note(self, record: Schema | Channel) -> None:
        """Remember a schema's name or a channel's topic."""
        if isinstance(record, Schema):
            self.schemas[record.id] = record.name
        else:
            self.channels[record.id] = Topic(record.topic, self.schemas.get(record.schema_id, ""))


def directory_at_end(file: BinaryIO) -> Directory:
    """The directory from the summary at the end of the file; empty when there is none to read."""
    directory = Directory()
    try:
        summary = make_reader(file).get_summary()
    except Exception:  # another's parser on untrusted bytes: whatever it raises, the file itself has the rest
        summary = None
    if summary is not None:
        for schema in summary.schemas.values():
            directory.note(schema)
        for channel in summary.channels.values():
            directory.note(channel)
    return directory


def buffers(file: BinaryIO, directory: Directory, damages: list[McapDamageError]) -> Iterator[IndexedBuffer]:
    """Every readable message, in the order of the file; what cannot be read is added to ``damages``."""
    for record, index in _indexed(file, damages):
        try:
            data = chunk_data(record) if record.opcode == Opcode.CHUNK else record.content
        except McapDamageError as damage:
            damages.append(damage)
            continue
        if not index or not all(_fits(entries, data, directory) for entries in index):
            try:
                index = _scanned(data, directory)
            except UNREADABLE as error:
                damages.append(
                    McapDamageError(f"the records at byte {record.place} cannot be read ({error})")
                )
                continue
        yield IndexedBuffer(data, index)


def _fits(entries: IndexEntries, data: bytes, directory: Directory) -> bool:
    """Whether an index is about a known channel, and each entry points at a message of its own there."""
    head = RECORD_HEAD.size + MESSAGE_FIELDS.size
    offsets = entries.offsets
    if entries.channel not in directory.channels or not len(offsets):
        return False
    if offsets.min() < 0 or offsets.max() > len(data) - head:
        return False
    heads = np.ascontiguousarray(sliding_window_view(np.frombuffer(data, np.uint8), head)[offsets])
    lengths = heads[:, 1:9].copy().view("<u8")[:, 0]
    channels = heads[:, RECORD_HEAD.size : RECORD_HEAD.size + 2].copy().view("<u2")[:, 0]
    ends = offsets.astype(np.uint64) + np.uint64(RECORD_HEAD.size) + lengths
    return bool(
        (heads[:, 0] == Opcode.MESSAGE).all()
        and (channels == entries.channel).all()
        and (lengths >= MESSAGE_FIELDS.size).all()
        and (lengths <= len(data)).all()
        and (ends <= len(data)).all()
        and (ends[:-1] <= offsets[1:].astype(np.uint64)).all()  # else a short index repeats one long message
    )


def _indexed(file: BinaryIO, damages: list[McapDamageError]) -> Iterator[tuple[Record, list[IndexEntries]]]:
    """Each chunk with the message indexes behind it; records outside chunks in bundles without index."""
    chunk: Record | None = None
    index: list[IndexEntries] = []
    loose = bytearray()
    try:
        for record in records(file):
            if record.opcode == Opcode.MESSAGE_INDEX and record.whole:
                index.append(index_entries(record.content))
                continue
            if chunk is not None:
                yield chunk, index
            chunk, index = (record if record.opcode == Opcode.CHUNK else None), []
            if record.opcode in (Opcode.SCHEMA, Opcode.CHANNEL, Opcode.MESSAGE) and record.whole:
                loose += RECORD_HEAD.pack(record.opcode, len(record.content)) + record.content
            if len(loose) > LOOSE or (chunk is not None and loose):
                yield Record(Opcode.MESSAGE, bytes(loose), record.place), []
                loose.clear()
    except McapDamageError as damage:
        damages.append(damage)
        index = []  # it may be cut; the chunk itself says what it holds
    if chunk is not None:
        yield chunk, index
    if loose:
        yield Record(Opcode.MESSAGE, bytes(loose), file.tell()), []


def _scanned(data: bytes, directory: Directory) -> list[IndexEntries]:
    """The index of a buffer found by walking through its records, up to the first that is cut."""
    found: dict[int, list[tuple[int, int]]] = {}
    start = 0
    while start + RECORD_HEAD.size <= len(data):
        opcode, length = RECORD_HEAD.unpack_from(data, start)
        content = start + RECORD_HEAD.size
        if content + length > len(data):
            break
        if opcode == Opcode.MESSAGE and length >= MESSAGE_FIELDS.size:
            channel, _, received, _ = MESSAGE_FIELDS.unpack_from(data, content)
            found.setdefault(channel, []).append((received, start))
        elif opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
            stream = ReadDataStream(BytesIO(data[content : content + length]))
            directory.note(Schema.read(stream) if opcode == Opcode.SCHEMA else Channel.read(stream))
        start = content + length
    return [
        IndexEntries(channel, *np.array(entries, np.int64).T)
        for channel, entries in found.items()
        if channel in directory.channels
    ]


# The file


class McapFile:
    """A ``.mcap`` file."""

    def __init__(self, path: Path, source: Path) -> None:
        """``source`` is the file to name in errors: ``path`` may be its unpacked copy."""
        self.path, self.source = path, source

    def topics(self) -> tuple[Topic, ...]:
        """Every topic with a channel in the readable part. Raises ``DamagedBagError`` if there is none."""
        damages: list[McapDamageError] = []
        with self.path.open("rb") as file:
            directory = directory_at_end(file)
            if not directory.channels:
                for _ in buffers(file, directory, damages):
                    pass
        if damages and not directory.channels:
            raise self._damaged(damages)
        return tuple(dict.fromkeys(directory.channels.values()))

    def blocks(self, names: Collection[str]) -> Iterator[Block]:
        """A block a chunk and topic, in the order of the file. Raises ``DamagedBagError``."""
        damages: list[McapDamageError] = []
        with self.path.open("rb") as file:
            directory = directory_at_end(file)
            for data, index in buffers(file, directory, damages):
                for entries in index:
                    topic = directory.channels[entries.channel].name
                    if topic in names:
                        yield _block(topic, data, entries)
        if damages:
            raise self._damaged(damages)

    def _damaged(self, damages: list[McapDamageError]) -> DamagedBagError:
        return DamagedBagError(self.source, "; ".join(map(str, damages)))


def _block(topic: str, data: bytes, entries: IndexEntries) -> Block:
    """The messages of one channel: the payload follows the record's head and the message's fields."""
    buffer = np.frombuffer(data, np.uint8)
    words = sliding_window_view(buffer, 8)[entries.offsets + 1]  # the length, after the opcode's byte
    lengths = np.ascontiguousarray(words).view("<u8")[:, 0].astype(np.int64) - MESSAGE_FIELDS.size
    return Block(
        topic, buffer, entries.offsets + RECORD_HEAD.size + MESSAGE_FIELDS.size, lengths, entries.received
    )
