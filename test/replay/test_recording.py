"""Which topics a recording is read from, and what is said when they are missing."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.writer import Writer as McapWriter
from replay_bags import (
    JOINT_STATE,
    START,
    STORE,
    URDF,
    joint_state,
    record,
    small_record,
    write_bag,
    write_messages,
)

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.replay.errors import BagError
from kane_dynamics_ros.replay.messages import JointStates
from kane_dynamics_ros.replay.recording import Recording, check_clock, read_recording
from kane_dynamics_ros.runtime import load_model

RECORD = small_record()
TEXT, ARRAY = "std_msgs/msg/String", "std_msgs/msg/Float64MultiArray"
Topics = dict[tuple[str, str], list[tuple[int, bytes]]]


def states(count: int = 200) -> list[tuple[int, bytes]]:
    return [(int(RECORD.received[i]), joint_state(RECORD, i)) for i in range(count)]


def text(data: str) -> bytes:
    return bytes(STORE.serialize_cdr(STORE.types[TEXT](data), TEXT))


def array(*values: float) -> bytes:
    layout: Any = STORE.types["std_msgs/msg/MultiArrayLayout"]([], 0)
    return bytes(STORE.serialize_cdr(STORE.types[ARRAY](layout, np.array(values, float)), ARRAY))


def read(folder: Path, topics: Topics, topic: str | None = None) -> Recording:
    return read_recording(write_messages(folder / "bag", topics), RECORD.names, topic)


def refusal(folder: Path, topics: Topics, topic: str | None = None) -> str:
    """The message of the error, without the bag's path in front."""
    with pytest.raises(BagError) as refused:
        read(folder, topics, topic)
    start = f"{folder / 'bag'}: "
    assert str(refused.value).startswith(start)
    return str(refused.value)[len(start) :]


def test_states_commands_and_description_are_read_in_one_go(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        {
            ("/arm/joint_states", JOINT_STATE): states(),
            ("/arm/forward_effort_controller/commands", ARRAY): [(START + 5, array(1, 2, 3))],
            ("/arm/robot_description", TEXT): [(START, text("<robot/>"))],
            ("/chatter", TEXT): [(START, text("hello"))],
        },
    )
    assert found.topic == "/arm/joint_states"
    np.testing.assert_array_equal(found.states.position, RECORD.position)
    assert found.commands is not None
    np.testing.assert_array_equal(found.commands.effort, [[1, 2, 3]])
    assert found.description == "<robot/>"
    assert found.notes == ()
    assert found.seconds > 0


def test_a_description_recorded_only_at_the_start_is_found(tmp_path: Path) -> None:
    """Field report 124: latched topics are in the bag once, whatever part of it is of interest."""
    found = read(
        tmp_path,
        {
            ("/robot_description", TEXT): [(START - 10**10, text("<robot/>"))],
            ("/joint_states", JOINT_STATE): states(),
        },
    )
    assert found.description == "<robot/>"


def test_a_topic_of_unknown_type_is_skipped_with_a_note(tmp_path: Path) -> None:
    """Field report 122: one custom message must not stop the reading."""
    file = tmp_path / "bag.mcap"
    with file.open("wb") as stream:
        writer = McapWriter(stream)
        writer.start("ros2")
        ours = writer.register_schema(JOINT_STATE, "ros2msg", b"")
        custom = writer.register_schema("my_msgs/msg/Custom", "ros2msg", b"float64 x")
        joints = writer.register_channel("/joint_states", "cdr", ours)
        other = writer.register_channel("/custom", "cdr", custom)
        for received, data in states():
            writer.add_message(other, received, b"\xff\xff", received)
            writer.add_message(joints, received, data, received)
        writer.finish()
    found = read_recording(file, RECORD.names)
    np.testing.assert_array_equal(found.states.effort, RECORD.effort)
    [note] = found.notes
    assert "/custom" in note
    assert "my_msgs/msg/Custom" in note


def test_dropped_and_unstamped_messages_are_noted(tmp_path: Path) -> None:
    unstamped = record(RECORD.position, None, RECORD.effort, 1000, RECORD.names)
    unstamped.stamps[:] = 0
    messages = [(START, b"\x00\x01\x00\x00junk"), (START + 1, joint_state(unstamped, 0)), *states()]
    assert read(tmp_path, {("/joint_states", JOINT_STATE): messages}).notes == (
        "1 joint state messages were malformed and dropped",
        "1 joint states have no stamp; their receive time stands in",
    )


def test_no_joint_states(tmp_path: Path) -> None:
    assert refusal(tmp_path, {("/chatter", TEXT): [(START, text("hello"))]}) == (
        "no topic of type sensor_msgs/msg/JointState; found topics '/chatter'; record joint_states, or name "
        "its topic with --topic"
    )


def test_a_topic_that_is_not_there(tmp_path: Path) -> None:
    assert refusal(tmp_path, {("/joint_states", JOINT_STATE): states()}, "/arm/joint_states") == (
        "no topic '/arm/joint_states' of type sensor_msgs/msg/JointState; allowed for --topic: "
        "'/joint_states'"
    )


def test_two_arms_in_one_bag_need_a_choice(tmp_path: Path) -> None:
    topics = {(f"/{arm}/joint_states", JOINT_STATE): states() for arm in ("left", "right")}
    assert refusal(tmp_path, topics) == (
        "several topics may be the joint states: '/left/joint_states', '/right/joint_states'; choose one "
        "with --topic"
    )


def test_joint_states_are_preferred_to_other_topics_of_their_type(tmp_path: Path) -> None:
    topics = {
        ("/measured", JOINT_STATE): states(3),
        ("/joint_states", JOINT_STATE): states(),
    }
    assert len(read(tmp_path, topics).states.stamps) == 200
    assert len(read(tmp_path / "other", topics, "/measured").states.stamps) == 3


def test_topic_without_messages_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, {("/joint_states", JOINT_STATE): [], ("/chatter", TEXT): [(1, text(""))]}) == (
        "topic '/joint_states': it holds zero messages; record while the joint state publisher runs"
    )


def test_topic_of_malformed_messages_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, {("/joint_states", JOINT_STATE): [(1, b"junk"), (2, b"")]}) == (
        "topic '/joint_states': all 2 messages on it are malformed; record while the joint state "
        "publisher runs"
    )


def test_recording_without_effort_is_refused(tmp_path: Path) -> None:
    silent = record(RECORD.position, RECORD.velocity, None, 1000, RECORD.names)
    messages = [(int(silent.received[i]), joint_state(silent, i)) for i in range(200)]
    assert refusal(tmp_path, {("/joint_states", JOINT_STATE): messages}) == (
        "topic '/joint_states': no effort of joints 'joint_1', 'joint_2', 'joint_3' in any message; a "
        "verdict needs position and measured effort: have the driver or joint_state_broadcaster publish them"
    )


def test_joints_of_another_robot(tmp_path: Path) -> None:
    other = record(RECORD.position, None, RECORD.effort, 1000, ("joint_1", "a", "b"))
    messages = [(int(other.received[i]), joint_state(other, i)) for i in range(200)]
    assert refusal(tmp_path, {("/joint_states", JOINT_STATE): messages}) == (
        "topic '/joint_states': joints 'joint_2', 'joint_3' of the model never appear; found joints "
        "'joint_1', 'a', 'b'; use the model of the robot that was recorded, or --rename BAG_NAME=MODEL_NAME"
    )


def test_topics_without_number_are_one_note(tmp_path: Path) -> None:
    """65,536 channels, each told twice; every topic of an unknown type had a note of its own."""
    file = tmp_path / "bag.mcap"
    with file.open("wb") as stream:
        writer = McapWriter(stream)
        writer.start("ros2")
        ours = writer.register_schema(JOINT_STATE, "ros2msg", b"")
        joints = writer.register_channel("/joint_states", "cdr", ours)
        for received, data in states():
            writer.add_message(joints, received, data, received)
        writer.finish()

    def channel(number: int) -> bytes:
        topic = f"/topic_{number}".encode()
        body = struct.pack("<HHI", number, 0, len(topic)) + topic + b"\3\0\0\0cdr" + bytes(4)
        return b"\x04" + struct.pack("<Q", len(body)) + body

    content, channels = file.read_bytes(), b"".join(map(channel, range(2, 65_536)))
    file.write_bytes(content[:8] + 2 * channels + content[8:-37])  # without the footer, which leads to few
    found = read_recording(file, RECORD.names)
    np.testing.assert_array_equal(found.states.effort, RECORD.effort)
    [note] = found.notes
    assert note.endswith(" more")


@pytest.mark.parametrize(
    ("late", "columns", "said"),
    [
        (0.3, [[0, 1], [0, 1]], "by 0.295 s"),
        (500.0, [[0], [1]], "by 500 s"),
        (0.3, [[0], [1]], None),  # each joint has one clock, and the other's lag is gone when sorted
    ],
    ids=["one joint in two times", "joints in turns, far apart", "joints in turns"],
)
def test_two_clocks_are_told(late: float, columns: list[list[int]], said: str | None) -> None:
    """Every second message is of another publisher, whose clock is late."""
    n = 1000
    stamps = np.arange(n) * 5_000_000
    stamps[1::2] -= round(late * 1e9)
    position = np.full((n, 2), np.nan)
    for k, chosen in enumerate(columns):
        position[k::2, chosen] = 0.0
    told = JointStates(("a", "b"), stamps, stamps, position, position, position, ("a", "b"), 0, 0)
    if said is None:
        check_clock(Path("bag"), "/joint_states", told)
        return
    with pytest.raises(BagError) as refused:
        check_clock(Path("bag"), "/joint_states", told)
    assert refused.value.code == "clocks"
    assert said in str(refused.value)


def test_a_late_message_of_a_short_recording_is_no_clock() -> None:
    stamps = np.arange(12) * 5_000_000
    stamps[7] -= 6_000_000
    values = np.zeros((12, 1))
    check_clock(
        Path("bag"),
        "/joint_states",
        JointStates(("a",), stamps, stamps, values, values, values, ("a",), 0, 0),
    )


@pytest.mark.parametrize(
    "command",
    [["replay", "--model", "manipulator_5dof"], ["observe", "--model", "manipulator_5dof"], ["identify"]],
)
def test_commands_refuse_two_clocks(command: list[str], tmp_path: Path, capsys: Any) -> None:
    names = load_model("manipulator_5dof").joint_names
    taken = record(*(np.zeros((600, 5)) for _ in range(3)), 100.0, names)
    taken.stamps[1::2] -= 300_000_000
    bag = write_bag(tmp_path / "bag", taken)
    urdf = ["--urdf", str(URDF), "-o", str(tmp_path / "out")] if command == ["identify"] else []
    assert main([command[0], str(bag), *command[1:], *urdf]) == 2
    assert "stamps go back, usually by 0.29 s" in capsys.readouterr().err
