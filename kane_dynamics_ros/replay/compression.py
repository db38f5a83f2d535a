"""zstd and LZ4 undone within bounds: a few kilobytes of an untrusted bag can claim to be gigabytes.

What is unpacked is never larger than its own header states, than an absolute limit, nor than
``LARGEST_RATIO`` times what was packed. Joint states of a robot at rest shrink some hundred times, bombs
30,000 times.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import lz4.frame  # type: ignore[import-untyped]
import zstandard

from kane_dynamics_ros.replay.errors import BagError, damaged

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
LARGEST_CHUNK = 2**28  # [bytes] of an MCAP chunk or record; recorders write some megabytes
LARGEST_MESSAGE = 2**26  # [bytes]
LARGEST_RATIO = 1000  # unpacked over packed
SLACK = 2**20  # [bytes] that anything may unpack to
PIECE = 2**12  # [bytes] of a file unpacked at a time: zstd makes at most 2^17 bytes of 4, so 128 MiB at once
FREE_SHARE = 0.5  # of the free disk that an unpacked file may take


class CompressionError(Exception):
    """Packed bytes that cannot, or must not, be unpacked; the text says why."""


def bound(packed: int, largest: int) -> int:
    """How many bytes ``packed`` ones may unpack to."""
    return min(largest, LARGEST_RATIO * packed + SLACK)


def unpacked(compression: str, data: bytes, stated: int | None, largest: int = LARGEST_CHUNK) -> bytes:
    """A chunk's records, or a message; of cut data the beginning.

    ``compression``: "zstd", "lz4" or "". ``stated``: the size that the record gives [bytes], None where it
    gives none. Raises ``CompressionError`` for an unknown compression, corrupt bytes, and more than stated or
    allowed.
    """
    if not compression:
        return data
    most = bound(len(data), largest)
    if stated is not None and stated > most:
        raise CompressionError(
            f"{len(data)} bytes are said to unpack to {stated}; at most {most} are allowed"
        )
    most = most if stated is None else stated
    try:
        if compression == "zstd":
            with zstandard.ZstdDecompressor().stream_reader(data) as stream:
                found = bytes(stream.read(most + 1))
        elif compression == "lz4":
            found = bytes(lz4.frame.LZ4FrameDecompressor().decompress(data, max_length=most + 1))
        else:
            raise CompressionError(f"unknown compression {compression!r}; known are zstd and lz4")
    except (zstandard.ZstdError, RuntimeError) as error:
        raise CompressionError(str(error)) from error
    if len(found) > most:
        raise CompressionError(f"it unpacks to more than the {most} bytes that are stated or allowed")
    return found


def unpacked_message(data: bytes) -> bytes:
    """A message that rosbag2 compressed on its own. Raises ``CompressionError``."""
    try:
        size = zstandard.get_frame_parameters(data).content_size
    except zstandard.ZstdError as error:
        raise CompressionError(str(error)) from error
    stated = None if size == zstandard.CONTENTSIZE_UNKNOWN else size
    found = unpacked("zstd", data, stated, LARGEST_MESSAGE)
    if stated is not None and len(found) != stated:
        raise CompressionError("it does not unpack to the size that it states")
    return found


def unpack_file(source: Path, file: Path) -> Iterator[BagError]:
    """Unpack ``source`` to ``file`` as far as that goes; yields what stopped it."""
    with source.open("rb") as packed:
        most = bound(source.stat().st_size, int(FREE_SHARE * shutil.disk_usage(file.parent).free))
        stream, left = zstandard.ZstdDecompressor().decompressobj(), most
        try:
            with file.open("wb") as target:
                while not stream.eof and (piece := packed.read(PIECE)):
                    data = stream.decompress(piece)
                    target.write(data[:left])
                    left -= len(data)
                    if left < 0:
                        yield damaged(source, f"it unpacks to more than the {most} bytes allowed")
                        return
        except zstandard.ZstdError as error:
            yield damaged(source, f"zstd says: {error}")
        else:
            if not stream.eof:
                yield damaged(source, "the zstd stream ends early")
