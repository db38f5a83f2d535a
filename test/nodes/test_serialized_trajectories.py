"""Serialized trajectories, read and written here, against the middleware's own serialization."""

import random
import struct
import threading
import time
from array import array
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from kane_dynamics_ros.control.goals import Ticket
from kane_dynamics_ros.control.loop import Candidate
from kane_dynamics_ros.control.validation import RequestPoint, TrajectoryError, TrajectoryRequest
from kane_dynamics_ros.nodes.feedforward.trajectories import Preparation
from kane_dynamics_ros.nodes.serialized import (
    SerializedMessageError,
    bytes_from_request,
    request_from_bytes,
)

FIELDS = ("positions", "velocities", "accelerations", "effort")


def random_trajectory(seed):
    """Fields of any length, also none, so that the alignment of what follows changes."""
    draw = random.Random(seed)
    names = ["j" * draw.randint(0, 9) for _ in range(draw.randint(0, 7))]
    message = JointTrajectory(joint_names=names)
    message.header.frame_id = "ü" * draw.randint(0, 5)
    message.header.stamp.sec, message.header.stamp.nanosec = draw.randint(-5, 2**31 - 1), draw.randint(0, 999)
    for _ in range(draw.randint(0, 9)):
        point = JointTrajectoryPoint()
        for field in FIELDS:
            setattr(point, field, array("d", [draw.random() for _ in range(draw.choice([0, 1, 2, 5]))]))
        point.time_from_start.sec, point.time_from_start.nanosec = (
            draw.randint(-9, 9),
            draw.randint(0, 2**32 - 1),
        )
        message.points.append(point)
    return message


def plain_request(message):
    """What a message says, field by field."""
    points = [
        RequestPoint(
            point.time_from_start.sec * 1_000_000_000 + point.time_from_start.nanosec,
            *(getattr(point, field) for field in FIELDS),
        )
        for point in message.points
    ]
    stamp = message.header.stamp
    stamp_ns = stamp.sec * 1_000_000_000 + stamp.nanosec
    return TrajectoryRequest(message.joint_names, points, stamp_ns, message.header.frame_id)


def same(one, other):
    assert (tuple(one.names), one.stamp_ns, one.label) == (tuple(other.names), other.stamp_ns, other.label)
    assert len(one.points) == len(other.points)
    for a, b in zip(one.points, other.points, strict=True):
        assert a.time_ns == b.time_ns
        for field in FIELDS:
            np.testing.assert_array_equal(getattr(a, field), getattr(b, field))


@pytest.mark.parametrize("seed", range(50))
def test_bytes_are_read_as_the_middleware_reads_them(seed):
    message = random_trajectory(seed)
    same(request_from_bytes(serialize_message(message)), plain_request(message))


@pytest.mark.parametrize("seed", range(50))
def test_what_is_written_is_read_by_the_middleware(seed):
    request = plain_request(random_trajectory(seed))
    same(plain_request(deserialize_message(bytes_from_request(request), JointTrajectory)), request)


def test_points_are_given_by_index_and_by_slice():
    points = request_from_bytes(serialize_message(random_trajectory(3))).points
    assert [point.time_ns for point in points[1:3]] == [points[1].time_ns, points[2].time_ns]


def test_the_other_byte_order_is_read_too():
    body = struct.pack(
        ">iII1sx2xI I2sxx I I4x2d III iI", 7, 5, 1, b"\0", 1, 2, b"a\0", 1, 2, 0.5, -1.5, 0, 0, 0, 3, 4
    )
    request = request_from_bytes(b"\x00\x00\x00\x00" + body)
    assert (request.stamp_ns, request.names) == (7_000_000_005, ("a",))
    assert request.points[0].time_ns == 3_000_000_004
    np.testing.assert_array_equal(request.points[0].positions, [0.5, -1.5])


def test_a_message_that_ends_too_early_is_refused():
    whole = serialize_message(random_trajectory(5))
    message = deserialize_message(whole, JointTrajectory)
    needed = len(bytes_from_request(plain_request(message)))
    for length in range(4, needed - 1, 7):
        with pytest.raises(SerializedMessageError):
            request_from_bytes(whole[:length])


@pytest.mark.parametrize("header", [b"\xff\xff\x00\x00", b"\x12\x34\x00\x00", b"\x00", b""])
def test_an_unknown_encoding_is_refused_in_words(header):
    whole = bytes(serialize_message(random_trajectory(5)))
    with pytest.raises(SerializedMessageError) as caught:
        request_from_bytes(header + whole[4:] if len(header) == 4 else header)
    assert caught.value.code == "encoding"


def test_a_count_of_points_that_cannot_be_is_refused_without_filling_the_memory():
    body = struct.pack("<iII1sxxxII", 0, 0, 1, b"\0", 0, 2**32 - 1)
    with pytest.raises(SerializedMessageError):
        request_from_bytes(b"\x00\x01\x00\x00" + body)


# The queue of trajectories that are prepared in the background.


class Prepared:
    """A queue whose preparations wait for each other's ``go_on``, and what they said."""

    def __init__(self, bad=(), slow=True):
        self.begun, self.go_on, self.seen, self.errors = threading.Event(), threading.Event(), [], []
        self.bad = bad
        if not slow:
            self.go_on.set()
        self.queue = Preparation(self.prepare, self, lambda: False)

    def error(self, text, **_):
        self.errors.append(text)

    def prepare(self, request, number, goal):
        if request.points:
            self.begun.set()
            assert self.go_on.wait(20.0)
        self.seen.append(number)
        if number in self.bad:
            return Candidate(Ticket(number), TrajectoryError("bad", "no_points"))
        return Candidate(Ticket(number), None)

    def submit(self, points, stamp=0):
        return self.queue.submit(SimpleNamespace(points=[None] * points, stamp_ns=stamp, label=""))

    def wait(self, count):
        """What is ready, once it is so many: numbers, with the code of a refusal or cancel."""
        deadline = time.monotonic() + 20.0
        while len(self.queue.ready) < count:
            assert time.monotonic() < deadline
            time.sleep(0.001)
        time.sleep(0.02)
        return [self.told(each) for each in self.queue.ready]

    @staticmethod
    def told(item):
        if isinstance(item, int):
            return item, "cancel"
        return item.ticket.number, getattr(item.prepared, "code", "")


LONG = 10_000


def test_a_stop_overtakes_a_trajectory_that_is_being_prepared():
    prepared = Prepared()
    assert prepared.submit(LONG) == 1
    assert prepared.begun.wait(20.0)
    prepared.submit(LONG)
    assert prepared.submit(0) == 3
    assert prepared.wait(2) == [(2, "overtaken"), (3, "")]
    prepared.go_on.set()
    assert prepared.wait(3)[2:] == [(1, "overtaken")]
    prepared.queue.finish()


def test_a_short_trajectory_does_not_overtake_a_long_one_that_is_being_prepared():
    prepared = Prepared()
    prepared.submit(LONG)
    assert prepared.begun.wait(20.0)
    prepared.submit(1)
    prepared.go_on.set()
    assert prepared.wait(2) == [(1, ""), (2, "")]


@pytest.mark.parametrize("points", [0, 1], ids=["a stop", "a short one"])
def test_what_another_thread_sends_does_not_overtake_a_short_one_that_is_being_prepared(points):
    begun, go_on = threading.Event(), threading.Event()

    def prepare(request, number, goal):
        begun.set()
        assert number > 1 or go_on.wait(20.0)
        return Candidate(Ticket(number), None)

    queue = Preparation(prepare, None, lambda: False)
    threads = [
        threading.Thread(
            target=queue.submit, args=(SimpleNamespace(points=[None] * count, stamp_ns=0, label=""),)
        )
        for count in (1, points)
    ]
    threads[0].start()
    assert begun.wait(20.0)
    threads[1].start()
    time.sleep(0.05)
    go_on.set()
    for each in threads:
        each.join(20.0)
    assert [each.ticket.number for each in queue.ready] == [1, 2]
    queue.finish()


@pytest.mark.parametrize(("points", "slowly"), [(1, True), (100, False)])
def test_what_takes_long_is_not_prepared_in_the_thread_that_submits(points, slowly):
    """Of an action's goal that is the thread of the commands."""
    names = []

    def prepare(request, number, goal):
        names.append(threading.current_thread().name)
        return Candidate(Ticket(number), None)

    queue = Preparation(prepare, None, lambda: slowly)
    queue.submit(SimpleNamespace(points=[None] * points, stamp_ns=0, label=""))
    deadline = time.monotonic() + 20.0
    while not queue.ready:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    queue.finish()
    assert names == ["prepare"]


def test_nothing_that_waits_or_is_being_prepared_survives_a_refusal_of_all():
    prepared = Prepared()
    prepared.submit(LONG, 0)
    assert prepared.begun.wait(20.0)
    prepared.submit(LONG, 7)
    prepared.queue.refuse(TrajectoryError("the node is not active", "not_active"))
    prepared.go_on.set()
    assert sorted(prepared.wait(2)) == [(1, "not_active"), (2, "not_active")]


def test_of_many_that_wait_the_newest_is_prepared_and_what_it_replaces_is_skipped():
    prepared = Prepared(bad=(5,))
    for points, stamp in ((LONG, 0), (LONG, 0), (LONG, 7), (LONG, 0), (1, 0), (LONG, 9)):
        prepared.submit(points, stamp)
        assert prepared.begun.wait(20.0)
    prepared.go_on.set()
    # the newest without a stamp is bad and replaces nothing, the one before it replaces all before itself
    assert prepared.wait(6) == [
        (1, ""),
        (5, "no_points"),
        (2, "overtaken"),
        (3, "overtaken"),
        (4, ""),
        (6, ""),
    ]
    assert prepared.seen == [1, 5, 4, 6]


def test_what_waits_is_bounded_and_the_newest_stays(monkeypatch):
    monkeypatch.setattr("kane_dynamics_ros.nodes.feedforward.trajectories.MOST_POINTS", 2 * LONG)
    prepared = Prepared()
    for k in range(60):
        prepared.submit(LONG if k < 59 else 5 * LONG, stamp=1 + k)
        assert prepared.begun.wait(20.0)
        assert len(prepared.queue._waiting) <= 2
    prepared.go_on.set()
    found = prepared.wait(60)
    assert [number for number, code in found if not code] == [1, 60]
    assert {code for _, code in found} == {"", "overtaken"}


def test_a_trajectory_is_cancelled_wherever_it_is():
    prepared = Prepared()
    for k in range(4):
        prepared.submit(LONG, stamp=1 + k)
        assert prepared.begun.wait(20.0)
    prepared.queue.cancel(1)  # it is being prepared
    prepared.queue.cancel(3)  # it waits
    prepared.go_on.set()
    assert prepared.wait(4) == [(3, "overtaken"), (1, "overtaken"), (2, ""), (4, "")]
    prepared.queue.cancel(2)  # it is ready, or followed already
    assert prepared.wait(5)[4:] == [(2, "cancel")]


def test_a_fault_while_preparing_refuses_the_trajectory_and_is_logged_with_its_traceback():
    def prepare(request, number, goal):
        raise ZeroDivisionError("of the test")

    prepared = Prepared()
    queue = Preparation(prepare, prepared, lambda: False)
    queue.submit(SimpleNamespace(points=[None], stamp_ns=0, label="mine"))
    (candidate,) = queue.ready
    assert candidate.ticket == Ticket(1, 0, "mine")
    assert candidate.prepared.code == "fault"
    assert "ZeroDivisionError: of the test" in str(candidate.prepared)
    assert "Traceback" in prepared.errors[0]
