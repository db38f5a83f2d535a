"""The records of an MCAP file one after another, as far as the file can be read.

The reader of the ``mcap`` library makes an object of each message; here a chunk stays one buffer, and
its message index (time and offset of each message) becomes two arrays. The library still reads
every record that comes once or once a chunk.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import BinaryIO, NamedTuple

import lz4.frame  # type: ignore[import-untyped]
import numpy as np
import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Chunk

from kane_dynamics_ros.replay.reading.blocks import Integers

MAGIC = b"\x89MCAP0\r\n"
RECORD_HEAD = struct.Struct("<BQ")  # opcode, length
INDEX_HEAD = struct.Struct("<HI")  # channel, bytes that follow
INDEX_ENTRY = np.dtype([("time", "<u8"), ("offset", "<u8")])


# What the library raises when a length or a text in a record is corrupt.
UNREADABLE = (McapError, struct.error, UnicodeDecodeError, OverflowError)


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
        content = file.read(min(length, size - file.tell()))  # a corrupt length may be any number
        whole = len(content) == length
        yield Record(opcode, content, place, whole)
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
        data = _decompressed(chunk.compression, chunk.data)
    except (*UNREADABLE, zstandard.ZstdError, RuntimeError) as error:
        raise McapDamageError(f"the chunk at byte {record.place} cannot be decompressed ({error})") from error
    if record.whole and chunk.uncompressed_crc and zlib.crc32(data) != chunk.uncompressed_crc:
        raise McapDamageError(f"the checksum of the chunk at byte {record.place} is wrong")
    return data


def _decompressed(compression: str, data: bytes) -> bytes:
    """As much of the data as can be had: a cut stream gives its beginning."""
    if compression == "zstd":
        return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    if compression == "lz4":
        return bytes(lz4.frame.LZ4FrameDecompressor().decompress(data))
    if compression:
        raise RuntimeError(f"unknown compression {compression!r}")
    return data
