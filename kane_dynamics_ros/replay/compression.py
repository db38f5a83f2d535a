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

from kane_dynamics_ros.replay.errors import DamagedBagError, UnpackError

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
LARGEST_CHUNK = 2**28  # [bytes] of an MCAP chunk or record; recorders write some megabytes
LARGEST_MESSAGE = 2**26  # [bytes]
LARGEST_RATIO = 1000  # unpacked over packed
SLACK = 2**20  # [bytes] that anything may unpack to
FRAME_HEADER = 18  # [bytes] at most
PIECE = 2**12  # [bytes] of a file unpacked at a time: zstd makes at most 2^17 bytes of 4, so 128 MiB at once
FREE_SHARE = 0.5  # of the free disk that an unpacked file may take


class CompressionError(Exception):
    """Packed bytes that cannot, or must not, be unpacked; the text says why."""


def bound(packed: int, largest: int) -> int:
    """How many bytes ``packed`` ones may unpack to."""
    return min(largest, LARGEST_RATIO * packed + SLACK)


def unpack_chunk(compression: str, data: bytes, stated: int) -> bytes:
    """A chunk's records; of a cut one the beginning. ``stated`` [bytes] is the size that its record gives.

    Raises ``CompressionError`` for an unknown compression, corrupt bytes, and more than stated or allowed.
    """
    if not compression:
        return data
    _check_stated(stated, len(data), bound(len(data), LARGEST_CHUNK))
    try:
        if compression == "zstd":
            unpacked = _zstd(data, stated + 1)
        elif compression == "lz4":
            unpacked = bytes(lz4.frame.LZ4FrameDecompressor().decompress(data, max_length=stated + 1))
        else:
            raise CompressionError(f"unknown compression {compression!r}; known are zstd and lz4")
    except (zstandard.ZstdError, RuntimeError) as error:
        raise CompressionError(str(error)) from error
    if len(unpacked) > stated:
        raise CompressionError(f"it unpacks to more than the {stated} bytes that it states")
    return unpacked


def unpack_message(data: bytes) -> bytes:
    """A message that rosbag2 compressed on its own. Raises ``CompressionError``."""
    try:
        stated = zstandard.get_frame_parameters(data).content_size
        most = bound(len(data), LARGEST_MESSAGE)
        known = stated != zstandard.CONTENTSIZE_UNKNOWN
        if known:
            _check_stated(stated, len(data), most)
        unpacked = _zstd(data, (stated if known else most) + 1)
    except zstandard.ZstdError as error:
        raise CompressionError(str(error)) from error
    if len(unpacked) > most or (known and len(unpacked) != stated):
        raise CompressionError("it does not unpack to the size that it states")
    return unpacked


def _check_stated(stated: int, packed: int, most: int) -> None:
    if stated > most:
        raise CompressionError(f"{packed} bytes are said to unpack to {stated}; at most {most} are allowed")


def _zstd(data: bytes, most: int) -> bytes:
    """The first ``most`` bytes of a zstd frame. Raises ``zstandard.ZstdError``."""
    with zstandard.ZstdDecompressor().stream_reader(data) as stream:
        return bytes(stream.read(most))


def unpack_file(source: Path, file: Path) -> Iterator[DamagedBagError]:
    """Unpack ``source`` to ``file`` as far as that goes; yields what stopped it. Raises ``UnpackError``."""
    with source.open("rb") as packed:
        most = _largest_file(source, packed.read(FRAME_HEADER), file.parent)
        packed.seek(0)
        stream, written = zstandard.ZstdDecompressor().decompressobj(), 0
        try:
            with file.open("wb") as unpacked:
                while not stream.eof and (piece := packed.read(PIECE)):
                    data = stream.decompress(piece)
                    written += len(data)
                    if written > most:
                        unpacked.write(data[: max(0, most - written + len(data))])
                        yield DamagedBagError(source, f"it unpacks to more than the {most} bytes allowed")
                        return
                    unpacked.write(data)
        except zstandard.ZstdError as error:
            yield DamagedBagError(source, f"zstd says: {error}")
            return
        except OSError as error:
            raise UnpackError(source, file.parent, error.strerror or str(error)) from error
        if not stream.eof:
            yield DamagedBagError(source, "the zstd stream ends early")


def _largest_file(source: Path, head: bytes, folder: Path) -> int:
    """How many bytes a file may unpack to: what its header states, its ratio and the free disk allow."""
    most = bound(source.stat().st_size, int(FREE_SHARE * shutil.disk_usage(folder).free))
    try:
        stated = zstandard.get_frame_parameters(head).content_size
    except zstandard.ZstdError:
        return most
    return most if stated == zstandard.CONTENTSIZE_UNKNOWN else min(most, stated)
