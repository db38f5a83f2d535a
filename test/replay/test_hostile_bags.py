"""A bag may be a stranger's: whatever is in it, reading ends, memory is bounded, and every error is ours."""

import os
import random
import sqlite3
import struct
from pathlib import Path

import lz4.frame
import numpy as np
import pytest
import zstandard
from mcap.writer import CompressionType
from mcap.writer import Writer as McapWriter
from replay_bags import (
    JOINT_STATE,
    STORE,
    effort,
    joint_state,
    motion,
    pinocchio_arm,
    record,
    small_record,
    write_bag,
)
from rosbags.rosbag2 import CompressionMode, StoragePlugin
from text_mutations import CASES, SEED

from kane_dynamics_ros.replay.bag import open_bag
from kane_dynamics_ros.replay.compression import (
    SLACK,
    CompressionError,
    unpack_file,
    unpacked,
    unpacked_message,
)
from kane_dynamics_ros.replay.errors import BagError
from kane_dynamics_ros.replay.jobs import Job, run_job
from kane_dynamics_ros.replay.messages import JointStateDecoder, JointStates, block_of
from kane_dynamics_ros.replay.recording import read_recording, set_aside

MCAP, SQLITE = StoragePlugin.MCAP, StoragePlugin.SQLITE3
NAMES = ("gamma_1", "alpha_2", "alpha_3", "beta_4", "gamma_4")
RATE = 100.0
BOMB = 2**28  # [bytes]


def recorded(seconds: float = 8.0):
    """The reference robot moving, with the efforts that Pinocchio says."""
    q, qd, qdd = motion(seconds, RATE, 5)
    return record(q, qd, effort(pinocchio_arm(), q, qd, qdd), RATE, NAMES)


def judged(bag: Path):
    return run_job(Job(bag, "manipulator_5dof"))


def zstd_bomb(size: int = BOMB, stated: bool = True) -> bytes:
    """Zeros that unpack to ``size`` bytes; the header may or may not say so."""
    return zstandard.ZstdCompressor(write_content_size=stated).compress(bytes(size))


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_chunk_that_unpacks_to_more_than_it_states_is_refused(compression):
    packed = zstd_bomb() if compression == "zstd" else lz4.frame.compress(bytes(BOMB))
    with pytest.raises(CompressionError):
        unpacked(compression, packed, 1000)


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_chunk_gives_what_it_states(compression):
    data = os.urandom(100_000)
    packed = zstandard.compress(data) if compression == "zstd" else lz4.frame.compress(data)
    assert unpacked(compression, packed, len(data)) == data


def test_chunk_that_states_a_bomb_is_refused_before_anything_is_unpacked():
    with pytest.raises(CompressionError, match="are said to unpack"):
        unpacked("zstd", zstd_bomb(), BOMB)


@pytest.mark.parametrize("stated", [True, False])
def test_message_that_is_a_bomb_is_refused(stated):
    with pytest.raises(CompressionError):
        unpacked_message(zstd_bomb(stated=stated))


@pytest.mark.parametrize("stated", [True, False])
def test_file_that_is_a_bomb_stops_at_its_bound(tmp_path, stated):
    packed = tmp_path / "bomb.mcap.zstd"
    packed.write_bytes(zstd_bomb(stated=stated))
    [damage] = unpack_file(packed, tmp_path / "unpacked")
    assert "allowed" in str(damage)
    assert (tmp_path / "unpacked").stat().st_size <= 1000 * packed.stat().st_size + SLACK


def test_message_bomb_among_messages_is_counted_and_the_rest_is_judged(tmp_path):
    bag = write_bag(tmp_path / "bag", recorded(), SQLITE, CompressionMode.MESSAGE)
    [file] = bag.glob("*.db3")
    with sqlite3.connect(file) as database:
        database.execute("UPDATE messages SET data = ? WHERE id = 100", (zstd_bomb(),))
        database.execute("UPDATE messages SET data = ? WHERE id = 200", (b"\x28\xb5\x2f\xfd not zstd",))
        plain = zstandard.decompress(
            database.execute("SELECT data FROM messages WHERE id = 300").fetchone()[0]
        )
        database.execute("UPDATE messages SET data = ? WHERE id = 300", (plain,))  # one is not compressed
    found = judged(bag)
    assert found.verdict is not None
    assert found.verdict.processing.messages == 800 - 2
    [damage] = found.verdict.damages
    assert "2 messages on '/joint_states' cannot be decompressed" in damage


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW messages AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        "SELECT i AS id, 1 AS topic_id, i AS timestamp, x'00' AS data FROM n",
        "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, "
        "data AS (zeroblob(1000000000)))",
        "CREATE TABLE other(id INTEGER)",
    ],
)
def test_messages_that_are_no_plain_table_are_refused(tmp_path, statement):
    bag = write_bag(tmp_path / "bag", small_record(10), SQLITE)
    [file] = bag.glob("*.db3")
    with sqlite3.connect(file) as database:
        database.execute("DROP TABLE messages")
        database.execute(statement)
    with pytest.raises(BagError, match="messages"):
        read_recording(bag, small_record(10).names)


def test_pages_that_lead_to_each_other_end(tmp_path):
    """An inner page of the table whose children are all the same page: rows without end."""
    bag = write_bag(tmp_path / "bag", small_record(20_000), SQLITE)
    [file] = bag.glob("*.db3")
    content = bytearray(file.read_bytes())
    page = struct.unpack_from(">H", content, 16)[0]
    inner = [at for at in range(page, len(content), page) if content[at] == 5]  # of a table
    assert inner
    for at in inner:  # each inner page leads to the first leaf of the first, or to itself
        cells = struct.unpack_from(">H", content, at + 3)[0]
        for cell in range(cells):
            place = at + struct.unpack_from(">H", content, at + 12 + 2 * cell)[0]
            struct.pack_into(
                ">I",
                content,
                place,
                inner[0] // page + 1
                if at != inner[0]
                else struct.unpack_from(">I", content, at + struct.unpack_from(">H", content, at + 12)[0])[0],
            )
    file.write_bytes(content)
    try:
        found = read_recording(bag, small_record(10).names)
        assert found.damages
    except BagError:
        pass


def test_short_index_that_repeats_a_long_message_is_not_followed(tmp_path):
    """16 bytes an entry would otherwise stand for a message of any length, as often as it says."""
    path = tmp_path / "bag.mcap"
    taken = small_record(50)
    with path.open("wb") as file:
        writer = McapWriter(file, compression=CompressionType.NONE)
        writer.start("ros2")
        channel = writer.register_channel(
            "/joint_states", "cdr", writer.register_schema(JOINT_STATE, "ros2msg", b"")
        )
        for i, received in enumerate(taken.received.tolist()):
            writer.add_message(channel, received, joint_state(taken, i), received)
        writer.finish()
    content = bytearray(path.read_bytes())
    at = content.index(b"\x07" + struct.pack("<Q", 6 + 16 * 50))  # the index: every entry made the first
    first = content[at + 9 + 6 : at + 9 + 6 + 16]
    content[at + 15 : at + 15 + 16 * 50] = first * 50
    path.write_bytes(content)
    np.testing.assert_array_equal(read_recording(path, taken.names).states.stamps, taken.stamps)


def steps_of_decoding(messages: list[bytes]) -> int:
    """How many pairs of message and layout are compared while a topic is decoded."""
    from kane_dynamics_ros.replay import messages as module

    counted = 0
    match = module.Layout.match

    def counting(self, block, chosen):
        nonlocal counted
        counted += len(chosen)
        return match(self, block, chosen)

    module.Layout.match = counting
    try:
        decoder = JointStateDecoder(NAMES)
        decoder.add(block_of("/joint_states", list(range(len(messages))), messages))
        assert len(decoder.result().stamps) == len(messages)
    finally:
        module.Layout.match = match
    return counted


def test_frame_ids_that_all_differ_take_the_work_of_one_frame_id():
    """60,000 states of as many frames took sixteen times as long as of one."""

    def message(i: int, frame: str) -> bytes:
        types = STORE.types
        stamp = types["builtin_interfaces/msg/Time"](1, i)
        values = (np.full(5, float(i)) for _ in range(3))
        header = types["std_msgs/msg/Header"](stamp, frame)
        return bytes(STORE.serialize_cdr(types[JOINT_STATE](header, list(NAMES), *values), JOINT_STATE))

    same = steps_of_decoding([message(i, "frame_00000") for i in range(2000)])
    assert steps_of_decoding([message(i, f"frame_{i:05d}") for i in range(2000)]) == same


@pytest.mark.parametrize("what", ["frame", "joint"])
def test_messages_that_all_differ_in_layout_take_work_linear_in_their_number(what):
    def message(i: int) -> bytes:
        types = STORE.types
        names = [*NAMES[:4], f"joint_{i:0{5 + i % 7}d}"] if what == "joint" else list(NAMES)
        frame = f"frame_{i:0{5 + i % 7}d}" if what == "frame" else "base"
        stamp = types["builtin_interfaces/msg/Time"](1, i)
        values = (np.full(5, float(i)) for _ in range(3))
        return bytes(
            STORE.serialize_cdr(
                types[JOINT_STATE](types["std_msgs/msg/Header"](stamp, frame), names, *values), JOINT_STATE
            )
        )

    few, many = (steps_of_decoding([message(i) for i in range(n)]) for n in (500, 2000))
    assert many < 6 * few  # linear: 4 times; quadratic: 16 times


@pytest.mark.parametrize(
    "text",
    ["[" * 5000, "a: " + "9" * 5000, "a: 2026-13-45", "a: !!python/object:os.system x", "\x00", "- &a [*a]"],
    ids=["brackets", "digits", "date", "object", "zero", "loop"],
)
def test_metadata_of_any_content_does_not_keep_a_bag_from_being_read(tmp_path, text):
    bag = write_bag(tmp_path / "bag", small_record(20))
    (bag / "metadata.yaml").write_text(text)
    assert len(read_recording(bag, small_record(20).names).states.stamps) == 20


def spoiled(values: dict[str, dict[tuple[int, int], float]]):
    taken = recorded()
    for field, places in values.items():
        for place, value in places.items():
            getattr(taken, field)[place] = value
    return taken


@pytest.mark.parametrize(("field", "value"), [("position", 1e160), ("velocity", 1e160), ("effort", -np.inf)])
def test_impossible_sample_is_set_aside_and_named(tmp_path, field, value):
    clean = judged(write_bag(tmp_path / "clean", recorded())).verdict
    found = judged(write_bag(tmp_path / "bag", spoiled({field: {(250, 1): value}}))).verdict
    [note] = [note for note in found.notes if "impossible" in note]
    assert f"1 impossible value for the {field} of joint 'alpha_2'" in note
    assert note.endswith("at 2.50 s")
    for one, other in zip(found.joints, clean.joints, strict=True):
        # one missing sample of 100 Hz is interpolated; the noise-free efforts have an RMS of newton metres
        assert one.fit.rmse == pytest.approx(other.fit.rmse, abs=1e-3)


def test_impossible_values_are_set_aside_in_a_copy_of_what_was_read():
    names, times = ("a", "b"), np.arange(4, dtype=np.int64) * 10**7
    position, effort = np.ones((4, 2)), np.array([[1.0, np.inf], [2.0, 3.0], [-np.inf, 4.0], [np.nan, 5.0]])
    read = JointStates(names, times, times, position, position, effort, names, 0, 0)
    before = effort.copy()
    cleaned, impossible = set_aside(read)
    np.testing.assert_array_equal(read.effort, before)
    np.testing.assert_array_equal(cleaned.effort, np.where(np.isinf(before), np.nan, before))
    assert cleaned.position is position  # nothing to set aside: no copy
    assert [(one.joint, one.field, one.count, one.total) for one in impossible] == [
        ("a", "effort", 1, 3),
        ("b", "effort", 1, 4),
    ]


def test_too_many_impossible_samples_are_an_error(tmp_path):
    found = judged(
        write_bag(tmp_path / "bag", spoiled({"effort": {(i, 2): 3e308 for i in range(0, 800, 50)}}))
    )
    assert found.verdict is None
    assert "16 of 800 values for the effort of joint 'alpha_3' are impossible" in found.error


def test_samples_far_apart_are_told_as_too_slow(tmp_path):
    q, qd, _ = motion(30.0, 1.0, 5)
    taken = record(q, qd, q, 1 / 200, NAMES)
    found = judged(write_bag(tmp_path / "bag", taken))
    assert found.verdict is None
    assert "recorded at 0.005 Hz" in found.error


def test_stamps_that_cluster_do_not_make_a_fine_grid(tmp_path):
    """Nine of ten samples 1 ns after the one before: the median period is no rate to sample at."""
    taken = recorded(4.0)
    stamps = taken.stamps.copy()
    for k in range(1, 10):
        stamps[k::10] = stamps[::10] + k
    found = judged(
        write_bag(
            tmp_path / "bag",
            type(taken)(taken.names, stamps, stamps, *(taken.position, taken.velocity, taken.effort)),
        )
    )
    assert found.verdict is not None or "Hz" in found.error or "interval" in found.error


def mutated(content: bytes, random_: random.Random) -> bytes:
    """A few bytes changed, numbers put in, parts cut, doubled or exchanged."""
    data = bytearray(content)
    for _ in range(random_.choice([1, 1, 2, 8, 64])):
        at = random_.randrange(max(1, len(data)))
        kind = random_.randrange(6)
        if kind == 0:
            data[at : at + 1] = bytes([random_.randrange(256)])
        elif kind == 1:
            data[at : at + 8] = struct.pack("<Q", random_.choice([0, 1, 2**31, 2**40, 2**63, 2**64 - 1]))
        elif kind == 2:
            data[at : at + 8] = struct.pack("<d", random_.choice([1e160, -1e308, np.inf, np.nan, 0.0]))
        elif kind == 3:
            del data[at : at + random_.randrange(1, 200)]
        elif kind == 4:
            data[at:at] = data[at : at + random_.randrange(1, 200)]
        else:
            other = random_.randrange(max(1, len(data)))
            data[at : at + 64] = data[other : other + 64]
    return bytes(data[: random_.randrange(len(data))] if random_.random() < 0.15 else data)


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """One file of each storage and compression."""
    folder = tmp_path_factory.mktemp("originals")
    kinds = [
        (MCAP, CompressionMode.NONE),
        (MCAP, CompressionMode.STORAGE),
        (MCAP, CompressionMode.FILE),
        (MCAP, CompressionMode.MESSAGE),
        (SQLITE, CompressionMode.NONE),
        (SQLITE, CompressionMode.FILE),
        (SQLITE, CompressionMode.MESSAGE),
    ]
    files = []
    for i, (storage, compression) in enumerate(kinds):
        bag = write_bag(folder / str(i), recorded(4.0), storage, compression)
        files += [file.read_bytes() for file in bag.iterdir() if file.name != "metadata.yaml"]
    return files


@pytest.mark.timeout(3600)
def test_bags_with_random_faults_give_a_finite_verdict_or_an_error_of_ours(tmp_path, originals):
    """Seeded; ``make fuzz`` makes it longer. Any other exception fails the test."""
    verdicts = 0
    for case in range(CASES):
        random_ = random.Random(f"{SEED}/{case}")
        path = tmp_path / f"{case}.bag"
        path.write_bytes(mutated(originals[case % len(originals)], random_))
        found = judged(path)
        path.unlink()
        if found.verdict is None:
            assert found.error
            continue
        verdicts += 1
        for joint in found.verdict.joints:
            assert all(value is None or np.isfinite(value) for value in joint.fit), case
    assert 0 < verdicts < CASES  # some faults do harm, some do none


def test_opening_leaves_nothing_in_the_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    bag = write_bag(tmp_path / "bag", small_record(20), MCAP, CompressionMode.FILE)
    with open_bag(bag) as opened:
        assert opened.topics()
    assert list((tmp_path / "temporary").iterdir()) == []
