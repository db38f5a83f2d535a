"""Messages from bytes to arrays: what a storage hands over, and joint states and commands decoded from it.

A storage hands over blocks, some thousand serialized messages of one topic. Two messages have one layout when
they agree in every byte but values and padding: then each value lies at the same place in both, and one
field of all messages of a block is one strided view of its bytes. ROS publishers send thousands of such
messages in a row, so only the first of them is walked through byte by byte.
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from kane_dynamics_ros.algebra import Array, Mask

Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]
Words = NDArray[np.uint32]

ENCAPSULATION = 4  # [bytes] before a message; alignment counts from behind them
PLAIN_CDR = (b"\x00\x00", b"\x00\x01")  # big endian, little endian
STAMP, STAMP_SIZE = ENCAPSULATION, 8  # [bytes]: where header.stamp lies, which comes first
WORDS = np.dtype(np.uint32)  # in which layouts are compared
JOINT_STATE_TYPE = "sensor_msgs/msg/JointState"
FIELDS = ("position", "velocity", "effort")
UNREAD = np.iinfo(np.int64).min  # stands for the stamp of a message that was dropped
KEPT = 64  # layouts remembered; publishers that shuffle their joints have many
ROWS = 512  # messages a block: few enough to stay in the processor's cache from here to the decoded arrays
TOGETHER = 2**26  # [bytes] of messages a block
AHEAD = 8  # the next new layout is looked for in so many times the messages that shared the last one


# Blocks: raw messages by the thousand


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

    @cached_property
    def stride(self) -> int | None:
        """The distance of neighbouring messages [bytes], where it is always the same."""
        steps = np.diff(self.offsets)
        if not len(steps):
            return 0
        return int(steps[0]) if (steps == steps[0]).all() else None

    def message(self, i: int) -> bytes:
        """Message i as bytes of its own."""
        start = int(self.offsets[i])
        return self.buffer[start : start + int(self.lengths[i])].tobytes()

    def values(self, chosen: Integers, start: int, number: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """``number`` values from byte ``start`` on of some messages (M,): (M, number).

        Of all messages at equal distances, the usual case, they are a view; else they are gathered.
        """
        if number == 0 or not len(chosen):
            return np.empty((len(chosen), number), dtype)
        if len(chosen) == len(self.offsets) and self.stride is not None:
            strides = self.stride, dtype.itemsize
            first = int(self.offsets[0]) + start
            view: NDArray[Any] = np.ndarray((len(chosen), number), dtype, self.buffer.data, first, strides)
            return view
        places = self.offsets[chosen] + start
        gathered: NDArray[Any] = sliding_window_view(self.buffer, number * dtype.itemsize)[places].view(dtype)
        return gathered


def blocks_of(topic: str, messages: Iterable[tuple[int, bytes]]) -> Iterator[Block]:
    """Blocks of receive times [ns] and messages that come one by one; what came before an error, too."""
    received: list[int] = []
    together: list[bytes] = []
    size = 0
    try:
        for time, message in messages:
            received.append(time)
            together.append(message)
            size += len(message)
            if len(received) >= ROWS or size > TOGETHER:
                yield block_of(topic, received, together)
                received, together, size = [], [], 0
    except Exception:
        if received:
            yield block_of(topic, received, together)
        raise
    if received:
        yield block_of(topic, received, together)


def block_of(topic: str, received: Sequence[int], messages: Sequence[bytes]) -> Block:
    """A block from messages that came one by one."""
    lengths = np.fromiter(map(len, messages), np.int64, len(messages))
    offsets = np.zeros_like(lengths)
    np.cumsum(lengths[:-1], out=offsets[1:])
    buffer = np.frombuffer(b"".join(messages), np.uint8)
    return Block(topic, buffer, offsets, lengths, np.array(received, np.int64))


# Walking through one CDR message


class MalformedMessageError(ValueError):
    """The bytes are no message of the expected type."""


class Cursor:
    """A position in a CDR message. ``fixed`` marks the bytes of the layout: no padding, no values.

    It learns the layout from one message of a block, for all of them; the node's ``nodes.serialized`` reads
    each trajectory once and copies nothing: two subjects that have the alignment in common.
    """

    def __init__(self, message: bytes) -> None:
        if message[:2] not in PLAIN_CDR:
            raise MalformedMessageError(f"unknown encapsulation {message[:2].hex(' ')}")
        self.order = "<" if message[1] else ">"
        self.message = message
        self.place = ENCAPSULATION
        self.fixed: Bytes = np.zeros(len(message), np.uint8)
        self.fixed[:2] = 1

    def skip(self, size: int, alignment: int = 1, *, fixed: bool = False) -> int:
        """Pass over values, or a part of the layout, and say where it starts.

        Raises ``MalformedMessageError`` at the message's end.
        """
        start = self.place + -(self.place - ENCAPSULATION) % alignment
        self.place = start + size
        if self.place > len(self.message):
            raise MalformedMessageError(f"it ends at byte {len(self.message)}, inside a value")
        if fixed:
            self.fixed[start : self.place] = 1
        return start

    def count(self) -> int:
        """A length, part of the layout."""
        start = self.skip(4, 4, fixed=True)
        value: int = struct.unpack_from(self.order + "I", self.message, start)[0]
        return value

    def text(self, fixed: bool = True) -> str:
        """A string; part of the layout, or, where not ``fixed``, only its length."""
        length = self.count()
        start = self.skip(length, fixed=fixed)
        return self.message[start : start + length].rstrip(b"\0").decode("utf-8", "replace")

    def doubles(self) -> tuple[int, int]:
        """A sequence of float64: where its values start, and how many there are."""
        number = self.count()
        return self.skip(8 * number, 8 if number else 1), number


def string(message: bytes) -> str | None:
    """The text of a std_msgs/String, None where it is none."""
    with suppress(MalformedMessageError):
        return Cursor(message).text()
    return None


# Layouts


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the fields of a message lie.

    ``length`` is a message's size [bytes]. All its messages share some bits: of the words of 4 bytes with the
    indices ``words`` (W,), those that ``fixed`` (W,) masks are as in ``template`` (W,).
    ``arrays``: name to (first byte, number of float64).
    """

    length: int
    words: Integers
    template: Words
    fixed: Words
    order: str
    names: tuple[str, ...]
    arrays: dict[str, tuple[int, int]]

    def match(self, block: Block, chosen: Integers) -> Mask:
        """Which of some messages of a block have this layout, shape of ``chosen``."""
        same = np.asarray(block.lengths[chosen] == self.length)
        rest = chosen if same.all() else chosen[same]
        words = block.values(rest, 0, self.length // WORDS.itemsize, WORDS)[:, self.words]
        differing = (words & self.fixed) != self.template
        if differing.any():
            same[same] = ~differing.any(axis=1)
        return same

    def doubles(self, block: Block, chosen: Integers, array: str) -> Array:
        """One array field of some messages: (N, values)."""
        values = block.values(chosen, *self.arrays[array], np.dtype(self.order + "f8"))
        return values.astype(np.float64)

    def stamps(self, block: Block, chosen: Integers) -> Integers:
        """``header.stamp`` of some messages that begin with a header [ns]: (N,)."""
        parts = block.values(chosen, STAMP, 2, np.dtype(self.order + "u4")).astype(np.int64)
        seconds = parts[:, 0].astype(np.uint32).view(np.int32).astype(np.int64)  # sec is signed
        return seconds * 1_000_000_000 + parts[:, 1]


def joint_state_layout(message: bytes) -> Layout:
    """The layout of a sensor_msgs/JointState. Raises ``MalformedMessageError``."""
    cursor = Cursor(message)
    cursor.skip(STAMP_SIZE)
    cursor.text(fixed=False)  # frame_id, which may change from message to message
    names = tuple(cursor.text() for _ in range(cursor.count()))
    arrays = {field: cursor.doubles() for field in FIELDS}
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


def _layout(cursor: Cursor, names: tuple[str, ...], arrays: dict[str, tuple[int, int]]) -> Layout:
    """What the cursor learnt. Lengths and float64 are aligned, so behind the last whole word is padding."""
    size = len(cursor.message) // WORDS.itemsize * WORDS.itemsize
    template = np.frombuffer(cursor.message[:size], WORDS)
    fixed = (cursor.fixed[:size] * np.uint8(255)).view(WORDS)
    words = np.flatnonzero(fixed)
    return Layout(
        len(cursor.message), words, template[words] & fixed[words], fixed[words], cursor.order, names, arrays
    )


# Sorting by layout


class Grouper:
    """Sorts the messages of one topic by layout, and remembers the layouts from block to block.

    Thousands of messages are decoded at once, and one by one only where the layout changes.
    """

    def __init__(self, parse: Callable[[bytes], Layout]) -> None:
        self._parse = parse
        self._layouts: list[Layout] = []
        self.malformed = 0

    def groups(self, block: Block) -> Iterator[tuple[Layout, Integers]]:
        """Pairs of a layout and the indices of its messages; malformed ones are counted and left out.

        The work grows with the number of messages, even where no two of them share a layout.
        """
        rest = np.arange(len(block.offsets))
        for layout in tuple(self._layouts):
            if not len(rest):
                return
            same = layout.match(block, rest)
            if same.any():
                self._layouts.remove(layout)
                self._layouts.insert(0, layout)  # the most recently used first
                yield layout, rest[same]
                rest = rest[~same]
        start, ahead = 0, len(rest)
        while start < len(rest):
            try:
                layout = self._parse(block.message(int(rest[start])))
            except MalformedMessageError:
                self.malformed += 1
                start += 1
                continue
            self._layouts = [layout, *self._layouts][:KEPT]
            window = rest[start : start + ahead]
            same = layout.match(block, window)
            yield layout, window[same]
            found, others = int(same.sum()), window[~same]
            start += found
            rest[start : start + len(others)] = others
            ahead = AHEAD * found


# Joint states


@dataclass(frozen=True)
class JointStates:
    """N messages, n joints. What a message lacks is NaN, whatever the reason.

    ``stamps`` and ``received`` [ns], (N,); ``position``, ``velocity``, ``effort``: (N, n), in rad,
    rad/s, N m or m, m/s, N. ``found`` are the joints that appear in any message. Counted: messages
    ``dropped`` (malformed, or with arrays of another length than ``name``), and ``unstamped`` ones,
    for which the receive time stands in.
    """

    joints: tuple[str, ...]
    stamps: Integers
    received: Integers
    position: Array
    velocity: Array
    effort: Array
    found: tuple[str, ...]
    dropped: int
    unstamped: int

    def part(self, chosen: slice | Integers | Mask) -> "JointStates":
        """Some of the messages; what is counted stays the whole recording's."""
        return replace(
            self, **{name: getattr(self, name)[chosen] for name in ("stamps", "received", *FIELDS)}
        )


class JointStateDecoder:
    """Takes the blocks of one sensor_msgs/JointState topic, for the joints of a model."""

    def __init__(self, joints: Sequence[str]) -> None:
        self._joints = tuple(joints)
        self._grouper = Grouper(joint_state_layout)
        none = np.empty((0, len(joints)))
        self._times: list[Integers] = [np.empty((2, 0), np.int64)]
        self._values: dict[str, list[Array]] = {name: [none] for name in FIELDS}
        self.found: dict[str, None] = {}  # joints named so far
        self._inconsistent = 0

    def add(self, block: Block) -> None:
        """Decode one block, a layout at a time."""
        size = len(block.offsets)
        stamps = np.full(size, UNREAD)
        decoded: dict[str, Array] = {}
        for layout, chosen in self._grouper.groups(block):
            number = len(layout.names)
            if len(set(layout.names)) < number or {n for _, n in layout.arrays.values()} - {0, number}:
                self._inconsistent += len(chosen)
                continue
            self.found.update(dict.fromkeys(layout.names))
            stamps[chosen] = layout.stamps(block, chosen)
            for name in FIELDS:
                values = _in_order(layout, block, chosen, name, self._joints)
                if len(chosen) == size:  # the usual case: one layout, nothing to merge
                    decoded[name] = values
                    continue
                if name not in decoded:
                    decoded[name] = np.full((size, len(self._joints)), np.nan)
                decoded[name][chosen] = values
        kept = stamps != UNREAD
        if kept.any():
            self._times.append(np.stack((stamps, block.received))[:, kept])
            for name in FIELDS:
                self._values[name].append(decoded[name] if kept.all() else decoded[name][kept])

    def result(self) -> JointStates:
        """Everything so far; the decoder is spent then: its parts are given up field by field."""
        stamps, received = np.concatenate(self._times, axis=1)
        position, velocity, effort = (np.concatenate(self._values.pop(name)) for name in FIELDS)
        unstamped = stamps == 0
        stamps[unstamped] = received[unstamped]
        return JointStates(
            joints=self._joints,
            stamps=stamps,
            received=received,
            position=position,
            velocity=velocity,
            effort=effort,
            found=tuple(self.found),
            dropped=self._grouper.malformed + self._inconsistent,
            unstamped=int(unstamped.sum()),
        )


def _in_order(layout: Layout, block: Block, chosen: Integers, name: str, joints: tuple[str, ...]) -> Array:
    """One field of some messages in the model's joint order, (N, n); NaN where they lack it."""
    if layout.arrays[name][1] and layout.names == joints:
        return layout.doubles(block, chosen, name)
    ordered = np.full((len(chosen), len(joints)), np.nan)
    if layout.arrays[name][1]:
        ours = [i for i, joint in enumerate(joints) if joint in layout.names]
        theirs = [layout.names.index(joints[i]) for i in ours]
        ordered[:, ours] = layout.doubles(block, chosen, name)[:, theirs]
    return ordered


# Effort commands


@dataclass(frozen=True)
class Commands:
    """Effort commands in the model's joint order: ``received`` [ns] (N,), ``effort`` (N, n).

    They carry no stamp: only the receive time places them.
    """

    received: Integers
    effort: Array


class CommandDecoder:
    """Takes the blocks of one std_msgs/Float64MultiArray topic; arrays of another length are left out."""

    def __init__(self, joints: int) -> None:
        self._joints = joints
        self._grouper = Grouper(float64_array_layout)
        self._received: list[Integers] = [np.empty(0, np.int64)]
        self._effort: list[Array] = [np.empty((0, joints))]

    def add(self, block: Block) -> None:
        """Decode one block."""
        for layout, chosen in self._grouper.groups(block):
            if layout.arrays["data"][1] == self._joints:
                self._received.append(block.received[chosen])
                self._effort.append(layout.doubles(block, chosen, "data"))

    def result(self) -> Commands | None:
        """All commands by receive time; ``None`` when there were none."""
        received = np.concatenate(self._received)
        order = np.argsort(received, kind="stable")
        return Commands(received[order], np.concatenate(self._effort)[order]) if len(received) else None
