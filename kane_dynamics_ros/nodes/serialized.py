"""Trajectories as the middleware serializes them, taken and read without holding up another thread.

rclpy converts a message in one call, during which no other Python thread runs: 0.8 s for 100,000 points of
five joints. It even takes such a message as bytes, 12 MB, without letting another thread run for 24 to 29 ms,
where 5 ms are allowed between two commands. Here the bytes are taken by a call that lets other threads run
(0.4 to 4 ms), and read point by point. The format is XCDR version 1 (OMG DDS-XTypes 7.4.3): little or big
endian, each value aligned to its size, counted from the end of the four bytes that tell the encoding.
"""

import ctypes
import struct
import weakref
from array import array
from collections.abc import Sequence
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

    def __init__(self, body: Bytes, order: str, place: int = 0) -> None:
        self._body, self._view = body, body.data
        self._word, self._time, self._double = f"{order}I", f"{order}iI", f"{order}f8"
        self.place = place

    def _advance(self, alignment: int, length: int) -> int:
        """The next aligned place, and go on ``length`` behind it. Raises ``SerializedMessageError``."""
        here = -(-self.place // alignment) * alignment
        self.place = here + length
        if self.place > len(self._body):
            length, needed = len(self._body), self.place
            message = f"the serialized trajectory has {length} bytes; it needs {needed} at least"
            raise SerializedMessageError(message, "too_short", length=length, needed=needed)
        return here

    def count(self) -> int:
        count: int = struct.unpack_from(self._word, self._view, self._advance(4, 4))[0]
        return count

    def time_ns(self) -> int:
        seconds, nanoseconds = struct.unpack_from(self._time, self._view, self._advance(4, 8))
        total: int = seconds * SECOND_NS + nanoseconds
        return total

    def text(self) -> str:
        length = self.count()
        here = self._advance(1, length)
        return bytes(self._view[here : here + length]).rstrip(b"\0").decode(errors="replace")

    def point(self) -> RequestPoint:
        """A point, whose numbers are views of the bytes."""
        values: list[Any] = []
        for _ in FIELDS:
            count = self.count()
            here = self._advance(8, 8 * count) if count else 0
            values.append(np.frombuffer(self._view, self._double, count, here) if count else ())
        return RequestPoint(self.time_ns(), *values)

    def skip_point(self) -> None:
        for _ in FIELDS:
            if count := self.count():
                self._advance(8, 8 * count)
        self._advance(4, 8)


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
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return _Cursor(self._body, self._order, self._places[index]).point()


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

    def put(form: str, *values: Any) -> None:
        result.extend(bytes(-len(result) % 4) + struct.pack(f"<{form}", *values))

    def put_text(text: str) -> None:
        encoded = text.encode() + b"\0"
        put(f"I{len(encoded)}s", len(encoded), encoded)

    put("iI", *divmod(request.stamp_ns, SECOND_NS))
    put_text(request.label)
    put("I", len(request.names))
    for name in request.names:
        put_text(name)
    put("I", len(request.points))
    for point in request.points:
        for field in FIELDS:
            values = np.asarray(getattr(point, field), dtype="<f8")
            put("I", len(values))
            if len(values):
                result.extend(bytes(-(len(result) - 4) % 8) + values.tobytes())
        put("iI", *divmod(point.time_ns, SECOND_NS))
    return bytes(result)


# rcl's call to take a serialized message, through ctypes, which lets other Python threads run meanwhile


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


try:
    _RCL, _RCUTILS = ctypes.CDLL("librcl.so"), ctypes.CDLL("librcutils.so")  # rclpy has loaded them
    _RCL.rcl_take_serialized_message.argtypes = [ctypes.c_void_p] * 4
    _RCUTILS.rcutils_get_default_allocator.restype = _Allocator
    _RCUTILS.rcutils_uint8_array_init.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    _RCUTILS.rcutils_uint8_array_fini.argtypes = [ctypes.c_void_p]
except (OSError, AttributeError):
    _RCL = None  # type: ignore[assignment]


def take(subscription: Any) -> Any:
    """The bytes of the next message of a subscription, or None when there is none."""
    if _RCL is None:
        taken = subscription.handle.take_message(subscription.msg_type, True)
        return None if taken is None else taken[0]
    message, allocator = _ByteArray(), _RCUTILS.rcutils_get_default_allocator()
    if _RCUTILS.rcutils_uint8_array_init(ctypes.byref(message), 0, ctypes.byref(allocator)):
        raise MemoryError
    handle = subscription.handle
    with handle:
        failed = _RCL.rcl_take_serialized_message(handle.pointer, ctypes.byref(message), None, None)
    if failed or not message.length:
        _RCUTILS.rcutils_reset_error()
        _RCUTILS.rcutils_uint8_array_fini(ctypes.byref(message))
        return None
    data = (ctypes.c_uint8 * message.length).from_address(message.buffer)
    weakref.finalize(data, _RCUTILS.rcutils_uint8_array_fini, ctypes.byref(message))
    return data
