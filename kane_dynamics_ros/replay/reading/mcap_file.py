"""rosbag2's MCAP storage as blocks per topic."""

from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from kane_dynamics_ros.replay.errors import DamagedBagError
from kane_dynamics_ros.replay.reading.blocks import Block, Topic
from kane_dynamics_ros.replay.reading.mcap_chunks import MESSAGE_FIELDS, directory_at_end, pieces
from kane_dynamics_ros.replay.reading.mcap_records import RECORD_HEAD, IndexEntries, McapDamageError


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
                for _ in pieces(file, directory, damages):
                    pass
        if damages and not directory.channels:
            raise self._damaged(damages)
        return tuple(dict.fromkeys(directory.channels.values()))

    def blocks(self, names: Collection[str]) -> Iterator[Block]:
        """A block a chunk and topic, in the order of the file. Raises ``DamagedBagError``."""
        damages: list[McapDamageError] = []
        with self.path.open("rb") as file:
            directory = directory_at_end(file)
            for data, index in pieces(file, directory, damages):
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
