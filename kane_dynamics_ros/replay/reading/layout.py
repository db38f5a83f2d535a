"""Messages of one layout decoded together: each field of all of them is one strided view of the bytes.

Two messages have one layout when they agree in every byte but values and padding: then each value
lies at the same place in both. ROS publishers send thousands of such messages in a row.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from kane_dynamics_ros.replay.reading.blocks import Block, Bytes, Integers
from kane_dynamics_ros.replay.reading.cdr import ENCAPSULATION, Cursor

Doubles = NDArray[np.float64]
Mask = NDArray[np.bool_]
Words = NDArray[np.uint32]


WORD = 4  # [bytes]
STAMP, STAMP_SIZE = ENCAPSULATION, 8  # [bytes]: where header.stamp lies, which comes first


class Run(NamedTuple):
    """Bytes from ``start`` on, as words of 4: their value, and a mask of the bits that are fixed."""

    start: int
    template: Words
    fixed: Words


@dataclass(frozen=True)
class Layout:
    """Where the fields of a message lie.

    ``length`` is a message's size [bytes]; ``runs`` holds the bytes that all messages share;
    ``arrays``: name to (first byte, number of float64).
    """

    length: int
    runs: tuple[Run, ...]
    order: str
    names: tuple[str, ...]
    arrays: dict[str, tuple[int, int]]

    def match(self, block: Block, chosen: Integers) -> Mask:
        """Which of some messages of a block have this layout, shape of ``chosen``."""
        same = np.asarray(block.lengths[chosen] == self.length)
        offsets = block.offsets[chosen[same]]
        agree = np.ones(len(offsets), bool)
        for start, template, fixed in self.runs:
            found = _table(block.buffer, offsets + start, len(template), np.dtype(np.uint32))
            agree &= ~((found ^ template) & fixed).any(axis=1)
        same[same] = agree
        return same

    def doubles(self, block: Block, chosen: Integers, array: str) -> Doubles:
        """One array field of some messages: (N, values)."""
        start, number = self.arrays[array]
        return self._values(block, chosen, start, number, "f8").astype(np.float64)

    def stamps(self, block: Block, chosen: Integers) -> Integers:
        """``header.stamp`` of some messages that begin with a header [ns]: (N,)."""
        parts = self._values(block, chosen, STAMP, 2, "u4").astype(np.int64)
        seconds = parts[:, 0].astype(np.uint32).view(np.int32).astype(np.int64)  # sec is signed
        return seconds * 1_000_000_000 + parts[:, 1]

    def _values(self, block: Block, chosen: Integers, start: int, number: int, kind: str) -> NDArray[Any]:
        return _table(block.buffer, block.offsets[chosen] + start, number, np.dtype(self.order + kind))


def _table(buffer: Bytes, starts: Integers, number: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """``number`` values from each of N places in a buffer, (N, number).

    Places at equal distances, the usual case, are a view; others are gathered.
    """
    if number == 0 or not len(starts):
        return np.empty((len(starts), number), dtype)
    steps = np.diff(starts)
    if not len(steps) or (steps == steps[0]).all():
        strides = (int(steps[0]) if len(steps) else 0, dtype.itemsize)
        view: NDArray[Any] = np.ndarray((len(starts), number), dtype, buffer.data, int(starts[0]), strides)
        return view
    gathered: NDArray[Any] = sliding_window_view(buffer, number * dtype.itemsize)[starts].view(dtype)
    return gathered


def joint_state_layout(message: bytes) -> Layout:
    """The layout of a sensor_msgs/JointState. Raises ``MalformedMessageError``."""
    cursor = Cursor(message)
    cursor.skip(STAMP_SIZE)
    cursor.text()  # frame_id
    names = tuple(cursor.text() for _ in range(cursor.count()))
    arrays = {field: cursor.doubles() for field in ("position", "velocity", "effort")}
    return _layout(cursor, names, arrays)


def float64_array_layout(message: bytes) -> Layout:
    """The layout of a std_msgs/Float64MultiArray. Raises ``MalformedMessageError``."""
    cursor = Cursor(message)
    for _ in range(cursor.count()):
        cursor.text()  # a dimension's label
        cursor.count()  # its size
        cursor.count()  # its stride
    cursor.count()  # data_offset
    return _layout(cursor, (), {"data": cursor.doubles()})


Parse = Callable[[bytes], Layout]


def _layout(cursor: Cursor, names: tuple[str, ...], arrays: dict[str, tuple[int, int]]) -> Layout:
    return Layout(len(cursor.message), tuple(_runs(cursor)), cursor.order, names, arrays)


def _runs(cursor: Cursor) -> Iterator[Run]:
    """The words that hold fixed bytes, neighbours joined.

    Lengths and float64 are aligned, so that whatever follows the last whole word is padding.
    """
    size = len(cursor.message) // WORD * WORD
    template = np.frombuffer(cursor.message[:size], np.uint32)
    fixed = (cursor.fixed[:size] * np.uint8(255)).view(np.uint32)
    used = np.flatnonzero(fixed)
    for group in np.split(used, np.flatnonzero(np.diff(used) > 1) + 1):
        words = slice(int(group[0]), int(group[-1]) + 1)
        yield Run(WORD * words.start, template[words], fixed[words])
