"""Messages decoded by the thousand equal those that rosbags decodes one by one."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_bags import JOINT_STATE, STORE, small_record

from kane_dynamics_ros.replay.messages import (
    Block,
    CommandDecoder,
    JointStateDecoder,
    JointStates,
    block_of,
)

JOINTS = ("shoulder", "elbow", "wrist")
TYPES = STORE.types


def message(
    stamp: tuple[int, int] = (5, 6),
    frame: str = "base",
    names: tuple[str, ...] = JOINTS,
    lengths: tuple[int, int, int] = (3, 3, 3),
    seed: int = 0,
) -> Any:
    """A JointState with random values."""
    random = np.random.default_rng(seed)
    header = TYPES["std_msgs/msg/Header"](TYPES["builtin_interfaces/msg/Time"](*stamp), frame)
    return TYPES[JOINT_STATE](header, list(names), *(random.standard_normal(length) for length in lengths))


def serialized(text: Any, little_endian: bool = True) -> bytes:
    return bytes(STORE.serialize_cdr(text, JOINT_STATE, little_endian=little_endian))


def decode(*messages: bytes, joints: tuple[str, ...] = JOINTS) -> JointStates:
    decoder = JointStateDecoder(joints)
    decoder.add(block_of("/joint_states", list(range(len(messages))), messages))
    return decoder.result()


def one_by_one(messages: list[bytes], field: str) -> Iterator[list[float]]:
    """What the loop over rosbags gives: each joint by its name, NaN where the message has none."""
    for data in messages:
        read: Any = STORE.deserialize_cdr(data, JOINT_STATE)
        values = dict(zip(read.name, getattr(read, field), strict=False))
        yield [values.get(joint, np.nan) for joint in JOINTS]


names = st.permutations([*JOINTS, "gripper", "schulter äöü"]).flatmap(
    lambda order: st.integers(0, len(order)).map(lambda count: tuple(order[:count]))
)


@st.composite
def any_message(draw: st.DrawFn) -> bytes:
    chosen = draw(names)
    lengths = tuple(draw(st.sampled_from((0, len(chosen)))) for _ in range(3))
    stamp = (draw(st.integers(1, 2**31 - 1)), draw(st.integers(0, 10**9 - 1)))
    frame = draw(st.sampled_from(("", "base", "a much longer frame name")))
    return serialized(message(stamp, frame, chosen, lengths, draw(st.integers(0, 9))), draw(st.booleans()))


@settings(max_examples=60, deadline=None)
@given(st.lists(any_message(), min_size=1, max_size=30))
def test_any_sequence_of_layouts_and_byte_orders_equals_the_loop_over_rosbags(messages: list[bytes]) -> None:
    states = decode(*messages)
    stamps = [STORE.deserialize_cdr(data, JOINT_STATE).header.stamp for data in messages]
    assert states.stamps.tolist() == [stamp.sec * 10**9 + stamp.nanosec for stamp in stamps]
    for field in ("position", "velocity", "effort"):
        np.testing.assert_array_equal(getattr(states, field), list(one_by_one(messages, field)))
    assert states.dropped == 0


def test_garbage_in_padding_does_not_make_a_new_layout() -> None:
    """A serializer need not clear the bytes between aligned fields."""
    clean = serialized(message(frame="ab"))  # 3 bytes with the final zero, 1 of padding
    dirty = bytearray(clean)
    dirty[4 + 8 + 4 + 3] = 0xEE
    states = decode(clean, bytes(dirty))
    np.testing.assert_array_equal(states.position[0], states.position[1])


def test_messages_with_arrays_of_another_length_than_name_are_dropped_and_counted() -> None:
    states = decode(
        serialized(message()),
        serialized(message(lengths=(3, 2, 3))),
        serialized(message(names=("wrist", "wrist", "elbow"))),
    )
    assert len(states.stamps) == 1
    assert states.dropped == 2


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 200), st.binary(max_size=40))
def test_hostile_bytes_are_dropped_and_never_raise(cut: int, junk: bytes) -> None:
    good = serialized(message())
    states = decode(good, good[:cut] + junk, good)
    assert len(states.stamps) + states.dropped == 3
    assert len(states.stamps) >= 2


def test_a_message_without_stamp_takes_its_receive_time() -> None:
    states = decode(serialized(message(stamp=(0, 0))), serialized(message()))
    assert states.stamps.tolist() == [0, 5_000_000_006]
    assert states.unstamped == 1


def test_joints_that_are_not_the_models_are_ignored_but_told() -> None:
    states = decode(serialized(message()), joints=("wrist", "tool"))
    assert states.found == JOINTS
    assert np.isnan(states.position[:, 1]).all()
    np.testing.assert_array_equal(states.position[0, 0], message().position[2])


def test_layouts_are_remembered_from_block_to_block() -> None:
    record = small_record(20)
    decoder = JointStateDecoder(record.names)
    for _ in range(3):
        decoder.add(block_of("/joint_states", [0], [serialized(message(names=record.names))]))
    assert len(decoder.result().stamps) == 3


def array_block(*sizes: int) -> Block:
    """Float64MultiArray messages 0, 1, 2 ... of these sizes, all values equal to the message's number."""
    kind = "std_msgs/msg/Float64MultiArray"
    layout = TYPES["std_msgs/msg/MultiArrayLayout"]([], 0)
    messages = [
        bytes(STORE.serialize_cdr(TYPES[kind](layout, np.full(size, float(i))), kind))
        for i, size in enumerate(sizes)
    ]
    return block_of("/commands", list(range(len(sizes)))[::-1], messages)


def test_commands_come_by_receive_time_and_only_of_the_right_length() -> None:
    decoder = CommandDecoder(3)
    decoder.add(array_block(3, 2, 3))
    commands = decoder.result()
    assert commands is not None
    assert commands.received.tolist() == [0, 2]
    np.testing.assert_array_equal(commands.effort, [[2.0] * 3, [0.0] * 3])


@pytest.mark.parametrize("sizes", [(), (2, 4)])
def test_no_usable_command_is_none(sizes: tuple[int, ...]) -> None:
    decoder = CommandDecoder(3)
    if sizes:
        decoder.add(array_block(*sizes))
    assert decoder.result() is None
