"""rosbag2's MCAP storage, as far as a damaged file can be read.

rosbags' reader makes an object of each message, which takes longer than all the rest, unpacks without bounds,
and refuses a file without an end, as a killed recorder leaves it. Here a chunk stays one buffer, and its
records are walked through for the places of the messages. A record is an opcode (1 byte), a length (8 bytes)
and as much content.
"""

import os
import struct
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterator
from itertools import count, repeat
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from kane_dynamics_ros.replay.compression import LARGEST_CHUNK, CompressionError, unpacked
from kane_dynamics_ros.replay.errors import BagError, damaged
from kane_dynamics_ros.replay.messages import Block, Topic

MAGIC = b"\x89MCAP0\r\n"
FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, DATA_END = 0x02, 0x03, 0x04, 0x05, 0x06, 0x0F  # opcodes
HEAD = struct.Struct("<BQ")  # opcode, length
MESSAGE_HEAD = struct.Struct("<HIqq")  # channel, sequence, log time, publish time; the payload follows
UP_TO_CHANNEL = HEAD.size + 2  # bytes of a message's record: equal in those of one channel and length
LOGGED = slice(HEAD.size + 6, HEAD.size + 14)  # where its log time lies
CHUNK_HEAD = struct.Struct("<QQQII")  # first and last time, size, checksum, length of the compression's name
RUN, LONGEST = 8, 1024  # records in a row that are worth looking at together, at least and at most
LOOSE = 2**20  # [bytes] of records outside chunks that are handed on together
FAILURES = 3  # that an error names

Messages = dict[int, list[tuple[int, int, int]]]  # by channel: place, length [bytes], log time [ns]


class Record(NamedTuple):
    """A record's kind, its content, its place in the file [bytes], and whether all of it is there."""

    opcode: int
    content: bytes
    place: int
    whole: bool


class McapFile:
    """A ``.mcap`` file; ``source`` is the file to name in errors, for ``path`` may be its unpacked copy."""

    def __init__(self, path: Path, source: Path) -> None:
        self.path, self.source = path, source
        self._schemas: dict[int, str] = {}
        self._channels: dict[int, Topic] = {}
        self._failures: list[str] = []

    def topics(self) -> tuple[Topic, ...]:
        """Every topic with a channel in the readable part. Raises ``BagError`` if there is none."""
        with self.path.open("rb") as file:
            self._scan(_summary(file))
        if not self._channels:
            for data in self._buffers():
                self._scan(data)
        if not self._channels and self._failures:
            raise self._damage()
        return tuple(dict.fromkeys(self._channels.values()))

    def blocks(self, names: Collection[str]) -> Iterator[Block]:
        """A block a chunk and topic, in the order of the file. Raises ``BagError``."""
        self._failures = []
        for data in self._buffers():
            for channel, messages in self._scan(data).items():
                topic = self._channels.get(channel)
                if topic is not None and topic.name in names:
                    offsets, lengths, received = np.array(messages, np.int64).T
                    yield Block(topic.name, np.frombuffer(data, np.uint8), offsets, lengths, received)
        if self._failures:
            raise self._damage()

    def _damage(self) -> BagError:
        rest = len(self._failures) - FAILURES
        more = [f"and {rest} more"] if rest > 0 else []
        return damaged(self.source, "; ".join([*self._failures[:FAILURES], *more]))

    def _scan(self, data: bytes) -> Messages:
        """The messages in a buffer of records, up to the first cut one; schemas and channels are noted.

        A schema is a number and a name, a channel a number, its schema's and a topic.
        """
        found: Messages = defaultdict(list)
        start = 0
        while start + HEAD.size <= len(data):
            opcode, length = HEAD.unpack_from(data, start)
            content = start + HEAD.size
            if content + length > len(data):
                break
            if opcode == MESSAGE and length >= MESSAGE_HEAD.size:
                (channel,) = struct.unpack_from("<H", data, content)
                received = _log_times(data, start, HEAD.size + length)
                place, size = content + MESSAGE_HEAD.size, length - MESSAGE_HEAD.size
                places = count(place, HEAD.size + length)
                found[channel] += zip(places, repeat(size), received)
                start += len(received) * (HEAD.size + length)
                continue
            start = content + length
            if opcode == SCHEMA and length >= 8:
                (number,) = struct.unpack_from("<H", data, content)
                self._schemas[number] = _text(data[content:start], 2)
            elif opcode == CHANNEL and length >= 8:
                number, schema = struct.unpack_from("<HH", data, content)
                self._channels[number] = Topic(_text(data[content:start], 4), self._schemas.get(schema, ""))
        return found

    def _buffers(self) -> Iterator[bytes]:
        """Records chunk by chunk in the order of the file, those outside of chunks together."""
        loose = bytearray()
        with self.path.open("rb") as file:
            for record in self._records(file):
                if record.opcode != CHUNK:
                    loose += HEAD.pack(record.opcode, len(record.content)) + record.content
                if loose and (record.opcode == CHUNK or len(loose) > LOOSE):
                    yield bytes(loose)
                    loose.clear()
                if record.opcode == CHUNK:
                    yield self._chunk(record)
        yield bytes(loose)

    def _records(self, file: BinaryIO) -> Iterator[Record]:
        """Every record that is used, up to the end of the data; the last may be cut."""
        size = file.seek(0, os.SEEK_END)
        file.seek(len(MAGIC))
        while len(head := file.read(HEAD.size)) == HEAD.size:
            opcode, length = HEAD.unpack(head)
            place = file.tell() - HEAD.size
            there = min(length, size - file.tell())  # a corrupt length may be any number
            if opcode in (SCHEMA, CHANNEL, MESSAGE, CHUNK):
                if there > LARGEST_CHUNK:
                    self._failures.append(
                        f"the record at byte {place} has {there} bytes; at most {LARGEST_CHUNK} are allowed"
                    )
                    return
                yield Record(opcode, file.read(there), place, there == length)
            else:  # an attachment, say, of any size
                file.seek(there, os.SEEK_CUR)
            if there < length:
                self._failures.append(
                    f"the file ends at byte {file.tell()}, inside the record that begins at byte {place}"
                )
                return
            if opcode in (DATA_END, FOOTER):
                return
        self._failures.append(f"the file ends at byte {file.tell()} without a footer")

    def _chunk(self, record: Record) -> bytes:
        """A chunk's records, decompressed; empty where its checksum or compression is wrong."""
        try:
            _, _, stated, checksum, length = CHUNK_HEAD.unpack_from(record.content)
            start = CHUNK_HEAD.size + length + 8
            compression = record.content[CHUNK_HEAD.size : start - 8].decode()
            data = unpacked(compression, record.content[start:], stated)
        except (struct.error, UnicodeDecodeError, CompressionError) as error:
            self._failures.append(f"the chunk at byte {record.place} cannot be decompressed ({error})")
            return b""
        if record.whole and checksum and zlib.crc32(data) != checksum:
            self._failures.append(f"the checksum of the chunk at byte {record.place} is wrong")
            return b""
        return data


def _summary(file: BinaryIO) -> bytes:
    """The records at the end of the file, which repeat schemas and channels; empty where it has none.

    The footer, last before the magic, is a record of 20 bytes that begins with the place of the summary.
    """
    size = file.seek(0, os.SEEK_END)
    tail = HEAD.size + 20 + len(MAGIC)
    file.seek(max(0, size - tail))
    end = file.read()
    if len(end) < tail or not end.endswith(MAGIC) or HEAD.unpack_from(end) != (FOOTER, 20):
        return b""
    (start,) = struct.unpack_from("<Q", end, HEAD.size)
    if not 0 < size - start <= LARGEST_CHUNK or not start:
        return b""
    file.seek(start)
    return file.read()


def _log_times(data: bytes, start: int, size: int) -> list[int]:
    """Those of the message at ``start`` and of the ones behind it with its channel and record's ``size``.

    The messages of one topic often follow each other, and NumPy looks at a thousand in the time of ten.
    """
    head, far = data[start : start + UP_TO_CHANNEL], start + (RUN - 1) * size
    if data[far : far + UP_TO_CHANNEL] != head:
        return list(struct.unpack_from("<q", data, start + LOGGED.start))
    number = min(LONGEST, (len(data) - start) // size)
    records = np.frombuffer(data, np.uint8, number * size, start).reshape(number, size)
    differ = (records[:, :UP_TO_CHANNEL] != records[0, :UP_TO_CHANNEL]).any(axis=1)
    run = int(np.argmax(differ)) or number
    times: list[int] = records[:run, LOGGED].copy().view("<i8")[:, 0].tolist()
    return times


def _text(content: bytes, place: int) -> str:
    """A text behind its length of 4 bytes."""
    (length,) = struct.unpack_from("<I", content, place)
    return content[place + 4 : place + 4 + length].decode("utf-8", "replace")
