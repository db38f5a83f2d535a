"""Raw messages by the thousand: what every storage hands to the decoders."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]


class Topic(NamedTuple):
    """A topic of a bag, and its message type as ``package/msg/Name``."""

    name: str
    type: str


@dataclass(frozen=True)
class Block:
    """Some thousand messages of one topic, serialized (CDR), in the order they were recorded.

    Message i is ``buffer[offsets[i]:offsets[i] + lengths[i]]``; ``received[i]`` [ns] is when the
    recorder got it. All three index arrays have shape (N,).
    """

    topic: str
    buffer: Bytes
    offsets: Integers
    lengths: Integers
    received: Integers

    def message(self, i: int) -> bytes:
        """Message i as bytes of its own."""
        start = int(self.offsets[i])
        return self.buffer[start : start + int(self.lengths[i])].tobytes()


class BagFile(Protocol):
    """One file of a bag, whatever its storage."""

    def topics(self) -> tuple[Topic, ...]:
        """The topics of the readable part. Raises ``DamagedBagError`` when none can be told."""

    def blocks(self, names: Collection[str]) -> Iterator[Block]:
        """The messages of some topics. Raises ``DamagedBagError`` after the last readable one."""


def joined(topic: str, received: Sequence[int], messages: Sequence[bytes]) -> Block:
    """A block from messages that came one by one."""
    lengths = np.fromiter(map(len, messages), np.int64, len(messages))
    offsets = np.zeros_like(lengths)
    np.cumsum(lengths[:-1], out=offsets[1:])
    buffer = np.frombuffer(b"".join(messages), np.uint8)
    return Block(topic, buffer, offsets, lengths, np.array(received, np.int64))
