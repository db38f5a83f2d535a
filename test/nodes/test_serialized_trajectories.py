"""Serialized trajectories, read and written here, against the middleware's own serialization."""

import random
import struct
import threading
from array import array
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from kane_dynamics_ros.control.goals import Ticket
from kane_dynamics_ros.control.loop import Candidate
from kane_dynamics_ros.nodes.feedforward.trajectories import TrajectoryIntake
from kane_dynamics_ros.nodes.messages import request_from
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
    same(request_from_bytes(serialize_message(message)), request_from(message))


@pytest.mark.parametrize("seed", range(50))
def test_what_is_written_is_read_by_the_middleware(seed):
    request = request_from(random_trajectory(seed))
    same(request_from(deserialize_message(bytes_from_request(request), JointTrajectory)), request)


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
    needed = len(bytes_from_request(request_from(message)))
    for length in range(4, needed - 1, 7):
        with pytest.raises(SerializedMessageError):
            request_from_bytes(whole[:length])


def test_a_count_of_points_that_cannot_be_is_refused_without_filling_the_memory():
    body = struct.pack("<iII1sxxxII", 0, 0, 1, b"\0", 0, 2**32 - 1)
    with pytest.raises(SerializedMessageError):
        request_from_bytes(b"\x00\x01\x00\x00" + body)


# A stop does not wait for a long trajectory that is still being prepared.


def test_a_stop_overtakes_a_trajectory_that_is_being_prepared():
    begun, go_on = threading.Event(), threading.Event()

    def prepare(request, number, goal):
        if request.points:
            begun.set()
            assert go_on.wait(20.0)
        return Candidate(Ticket(number), None)

    intake = intake_without_ros(prepare)
    long = SimpleNamespace(points=[None] * 10_000, stamp_ns=0, label="")
    assert intake.submit(long) == 1
    assert begun.wait(20.0)
    assert intake.submit(SimpleNamespace(points=[], stamp_ns=0, label="")) == 2
    (stop,) = intake.ready
    assert (stop.ticket.number, stop.prepared) == (2, None)
    go_on.set()
    intake._worker.shutdown()
    late = intake.ready[-1]
    assert late.ticket.number == 1
    assert late.prepared.code == "overtaken"


def test_a_short_trajectory_does_not_overtake_a_long_one():
    go_on = threading.Event()

    def prepare(request, number, goal):
        if number == 1:
            assert go_on.wait(20.0)
        return Candidate(Ticket(number), None)

    intake = intake_without_ros(prepare)
    for count in (10_000, 1):
        intake.submit(SimpleNamespace(points=[None] * count, stamp_ns=0, label=""))
    go_on.set()
    intake._worker.shutdown()
    assert [each.ticket.number for each in intake.ready] == [1, 2]


def test_a_fault_while_preparing_refuses_the_trajectory_and_is_logged_with_its_traceback():
    def prepare(request, number, goal):
        raise ZeroDivisionError("of the test")

    intake = intake_without_ros(prepare)
    intake.submit(SimpleNamespace(points=[None], stamp_ns=0, label="mine"))
    (candidate,) = intake.ready
    assert candidate.ticket == Ticket(1, 0, "mine")
    assert "ZeroDivisionError: of the test" in str(candidate.prepared)
    assert "Traceback" in intake._logger.errors[0]


class Logger:
    def __init__(self):
        self.errors = []

    def error(self, text):
        self.errors.append(text)


def intake_without_ros(prepare):
    """The intake with its worker, without subscription and receiving thread."""
    intake = TrajectoryIntake.__new__(TrajectoryIntake)
    intake._begin(prepare, Logger())
    return intake
