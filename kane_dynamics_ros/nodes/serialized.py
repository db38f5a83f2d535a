"""Trajectories as the middleware serializes them, taken and read without holding up another thread.

rclpy converts a message in one call, during which no other Python thread runs: 0.8 s for 100,000 points. Here
the bytes are taken by a call that lets other threads run, and read point by point. The format is XCDR version
1 (OMG DDS-XTypes 7.4.3): little or big endian, each value aligned to its size, counted from the end of the
four bytes that tell the encoding.
"""

import ctypes
import struct
import weakref
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics_ros.control.validation import FIELDS, SECOND_NS, RequestPoint, TrajectoryRequest
from kane_dynamics_ros.errors import KaneDynamicsError

BYTE_ORDERS = {b"\x00\x00": ">", b"\x00\x01": "<"}  # of plain CDR, by the first two bytes
Bytes = NDArray[np.uint8]


class SerializedMessageError(KaneDynamicsError):
    """Bytes that are no message. Codes: ``too_short`` (length, needed), ``encoding``."""


class _Cursor:
    """A position in the bytes behind the encoding; each method advances it by what it reads."""

    def __init__(self, body: Bytes, order: str) -> None:
        self._body, self._view = body, body.data
        self._word = struct.Struct(f"{order}I")
        self._time = struct.Struct(f"{order}iI")
        self._double = np.dtype(f"{order}f8")
        self.place = 0

    def _advance(self, length: int) -> int:
        """The present place; the next is ``length`` behind it. Raises ``SerializedMessageError``."""
        here = self.place
        self.place = here + length
        if self.place > len(self._body):
            length, needed = len(self._body), self.place
            message = f"the serialized trajectory has {length} bytes; it needs {needed} at least"
            raise SerializedMessageError(message, "too_short", length=length, needed=needed)
        return here

    def count(self) -> int:
        self.place = -(-self.place // 4) * 4
        here = self._advance(4)
        count: int = self._word.unpack_from(self._view, here)[0]
        return count

    def time_ns(self) -> int:
        self.place = -(-self.place // 4) * 4
        here = self._advance(8)
        seconds, nanoseconds = self._time.unpack_from(self._view, here)
        total: int = seconds * SECOND_NS + nanoseconds
        return total

    def text(self) -> str:
        length = self.count()
        here = self._advance(length)
        return bytes(self._view[here : here + length]).rstrip(b"\0").decode(errors="replace")

    def doubles(self) -> Sequence[float]:
        """A view of a sequence of numbers; nothing is copied."""
        count = self.count()
        if not count:
            return ()
        self.place = -(-self.place // 8) * 8
        here = self._advance(8 * count)
        values: Any = np.frombuffer(self._view, self._double, count, here)
        return values  # type: ignore[no-any-return]

    def skip_doubles(self) -> None:
        count = self.count()
        if count:
            self.place = -(-self.place // 8) * 8
            self._advance(8 * count)

    def point(self) -> RequestPoint:
        values = [self.doubles() for _ in FIELDS]
        return RequestPoint(self.time_ns(), *values)

    def skip_point(self) -> None:
        for _ in FIELDS:
            self.skip_doubles()
        self._advance(-self.place % 4 + 8)


class SerializedPoints(Sequence[RequestPoint]):
    """The points of a serialized trajectory, each made when it is asked for.

    A hundred thousand objects that stay would hold up every collection of garbage.
    """

    def __init__(self, body: Bytes, order: str, places: "array[int]") -> None:
        self._body, self._order, self._places = body, order, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> RequestPoint: ...
    @overload
    def __getitem__(self, index: slice) -> list[RequestPoint]: ...
    def __getitem__(self, index: int | slice) -> RequestPoint | list[RequestPoint]:
        cursor = _Cursor(self._body, self._order)
        if isinstance(index, slice):
            return [self._at(cursor, place) for place in self._places[index]]
        return self._at(cursor, self._places[index])

    def __iter__(self) -> Iterator[RequestPoint]:
        cursor = _Cursor(self._body, self._order)
        return (self._at(cursor, place) for place in self._places)

    @staticmethod
    def _at(cursor: _Cursor, place: int) -> RequestPoint:
        cursor.place = place
        return cursor.point()


def request_from_bytes(data: Any) -> TrajectoryRequest:
    """A serialized ``JointTrajectory`` as a request, unchecked. Raises ``SerializedMessageError``."""
    whole: Bytes = np.frombuffer(data, np.uint8)
    order = BYTE_ORDERS.get(bytes(whole[:2]))
    if order is None:  # another encoding: let the middleware change it to its own
        try:
            plain = serialize_message(deserialize_message(bytes(data), JointTrajectory))
        except Exception as error:  # a RuntimeError, or one of the middleware's own
            message = (
                f"the encoding {bytes(whole[:4]).hex()} of the serialized trajectory cannot be read: {error}"
            )
            raise SerializedMessageError(message, "encoding") from None
        return request_from_bytes(plain)
    body = whole[4:]
    cursor = _Cursor(body, order)
    stamp_ns, label = cursor.time_ns(), cursor.text()
    names = tuple(cursor.text() for _ in range(cursor.count()))
    places = array("q")
    for _ in range(cursor.count()):
        places.append(cursor.place)
        cursor.skip_point()
    return TrajectoryRequest(names, SerializedPoints(body, order, places), stamp_ns, label)


def bytes_from_request(request: TrajectoryRequest) -> bytes:
    """A request as a serialized ``JointTrajectory``, which ``Publisher.publish`` takes as it is."""
    result = bytearray(b"\x00\x01\x00\x00")
    result += struct.pack("<iI", *divmod(request.stamp_ns, SECOND_NS))
    _append_text(result, request.label)
    _append_count(result, len(request.names))
    for name in request.names:
        _append_text(result, name)
    _append_count(result, len(request.points))
    for point in request.points:
        for field in FIELDS:
            values = np.asarray(getattr(point, field), dtype="<f8")
            _append_count(result, len(values))
            if len(values):
                result += bytes(-(len(result) - 4) % 8)
                result += values.tobytes()
        result += struct.pack("<iI", *divmod(point.time_ns, SECOND_NS))
    return bytes(result)


def _append_count(result: bytearray, count: int) -> None:
    result += bytes(-len(result) % 4)
    result += struct.pack("<I", count)


def _append_text(result: bytearray, text: str) -> None:
    encoded = text.encode() + b"\0"
    _append_count(result, len(encoded))
    result += encoded


# rcl's call to take a serialized message, through ctypes, which lets other Python threads run meanwhile:
# rclpy's holds them up for as long as it copies, some ten milliseconds for 100,000 points


class _Allocator(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("allocate", "free", "reallocate", "zero", "state")]


class _ByteArray(ctypes.Structure):
    """rcutils_uint8_array_t."""

    _fields_ = [
        ("buffer", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("capacity", ctypes.c_size_t),
        ("allocator", _Allocator),
    ]


class _Rcl:
    """The functions of librcl and librcutils that ``take`` calls. Raises ``OSError``, ``AttributeError``."""

    def __init__(self) -> None:
        rcl, rcutils = ctypes.CDLL("librcl.so"), ctypes.CDLL("librcutils.so")  # rclpy has loaded them
        self.take = rcl.rcl_take_serialized_message
        self.take.argtypes = [ctypes.c_void_p] * 4
        self.default_allocator = rcutils.rcutils_get_default_allocator
        self.default_allocator.restype = _Allocator
        self.init = rcutils.rcutils_uint8_array_init
        self.init.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
        self.fini = rcutils.rcutils_uint8_array_fini
        self.fini.argtypes = [ctypes.c_void_p]
        self.error_reset = rcutils.rcutils_reset_error


def _load_rcl() -> _Rcl | None:
    try:
        return _Rcl()
    except (OSError, AttributeError):
        return None


_RCL = _load_rcl()


def take(subscription: Any) -> Any:
    """The bytes of the next message of a subscription, or None when there is none."""
    if _RCL is None:
        taken = subscription.handle.take_message(subscription.msg_type, True)
        return None if taken is None else taken[0]
    message, allocator = _ByteArray(), _RCL.default_allocator()
    if _RCL.init(ctypes.byref(message), 0, ctypes.byref(allocator)):
        raise MemoryError
    handle = subscription.handle
    with handle:
        failed = _RCL.take(handle.pointer, ctypes.byref(message), None, None)
    if failed or not message.length:
        _RCL.error_reset()
        _RCL.fini(ctypes.byref(message))
        return None
    data = (ctypes.c_uint8 * message.length).from_address(message.buffer)
    weakref.finalize(data, _RCL.fini, ctypes.byref(message))
    return data
