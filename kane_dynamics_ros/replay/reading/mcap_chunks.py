"""The messages of an MCAP file as buffers with an index, whether the file has chunks and indexes or not."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import BinaryIO, NamedTuple

import numpy as np
from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode
from mcap.reader import make_reader
from mcap.records import Channel, Schema
from numpy.lib.stride_tricks import sliding_window_view

from kane_dynamics_ros.replay.reading.blocks import Topic
from kane_dynamics_ros.replay.reading.mcap_records import (
    RECORD_HEAD,
    UNREADABLE,
    IndexEntries,
    McapDamageError,
    Record,
    chunk_data,
    index_entries,
    records,
)

MESSAGE_FIELDS = struct.Struct("<HIqq")  # channel, sequence, log time, publish time; the payload follows
LOOSE = 2**20  # [bytes] of records outside chunks that are handed on together


class Piece(NamedTuple):
    """Consecutive records in one buffer, and where each channel's messages lie in it."""

    data: bytes
    entries: list[IndexEntries]


@dataclass
class Directory:
    """Topics by channel number, as schema and channel records tell them."""

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
    except (*UNREADABLE, OSError):  # the last: shorter than a footer
        summary = None
    if summary is not None:
        for schema in summary.schemas.values():
            directory.note(schema)
        for channel in summary.channels.values():
            directory.note(channel)
    return directory


def pieces(file: BinaryIO, directory: Directory, damages: list[McapDamageError]) -> Iterator[Piece]:
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
        yield Piece(data, index)


def _fits(entries: IndexEntries, data: bytes, directory: Directory) -> bool:
    """Whether an index is about a known channel, and every entry points at a message of that channel."""
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
        index = []  # it may be cut; the chunk itself tells what it holds
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
