"""Every storage and compression of rosbag2 gives the same arrays; what cannot be read is said."""

import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap.writer import CompressionType, IndexType
from mcap.writer import Writer as McapWriter
from replay_bags import JOINT_STATE, Record, joint_state, part, small_record, write_bag, write_messages
from rosbags.rosbag2 import CompressionMode, StoragePlugin

from kane_dynamics_ros.replay.bag import open_bag
from kane_dynamics_ros.replay.errors import BagError
from kane_dynamics_ros.replay.messages import JointStateDecoder, JointStates
from kane_dynamics_ros.replay.recording import read_recording

MCAP, SQLITE = StoragePlugin.MCAP, StoragePlugin.SQLITE3
RECORD = small_record()


def read(path: Path, names: tuple[str, ...] = RECORD.names) -> tuple[JointStates, list[str]]:
    """The joint states of a bag, and its damages."""
    decoder = JointStateDecoder(names)
    with open_bag(path) as bag:
        for block in bag.blocks({"/joint_states"}):
            decoder.add(block)
        return decoder.result(), list(map(str, bag.damages))


def assert_same(states: JointStates, record: Record) -> None:
    """To the bit: reading copies values."""
    np.testing.assert_array_equal(states.stamps, record.stamps)
    np.testing.assert_array_equal(states.received, record.received)
    for name in ("position", "velocity", "effort"):
        np.testing.assert_array_equal(getattr(states, name), getattr(record, name))


def write_mcap(path: Path, record: Record, **options: object) -> Path:
    """A lone file by the mcap library, with options that rosbags never writes."""
    with path.open("wb") as file:
        writer = McapWriter(file, **options)
        writer.start("ros2")
        schema = writer.register_schema(JOINT_STATE, "ros2msg", b"")
        channel = writer.register_channel("/joint_states", "cdr", schema)
        for i, received in enumerate(record.received.tolist()):
            writer.add_message(channel, received, joint_state(record, i), received)
        writer.finish()
    return path


@pytest.mark.parametrize(
    ("storage", "compression"),
    [
        (MCAP, CompressionMode.NONE),
        (MCAP, CompressionMode.STORAGE),
        (MCAP, CompressionMode.FILE),
        (MCAP, CompressionMode.MESSAGE),
        (SQLITE, CompressionMode.NONE),
        (SQLITE, CompressionMode.FILE),
        (SQLITE, CompressionMode.MESSAGE),
    ],
)
@pytest.mark.parametrize("metadata", [True, False])
def test_every_storage_and_compression_gives_the_recorded_values(
    tmp_path: Path, storage: StoragePlugin, compression: CompressionMode, metadata: bool
) -> None:
    bag = write_bag(tmp_path / "bag", RECORD, storage, compression)
    if not metadata:
        (bag / "metadata.yaml").unlink()
    states, damages = read(bag)
    assert_same(states, RECORD)
    assert damages == []


@pytest.mark.parametrize("storage", [MCAP, SQLITE])
def test_a_lone_file_is_told_by_its_content_whatever_its_name(tmp_path: Path, storage: StoragePlugin) -> None:
    """Field report 121: an MCAP file opened as SQLite."""
    bag = write_bag(tmp_path / "bag", RECORD, storage)
    [source] = [file for file in bag.iterdir() if file.name != "metadata.yaml"]
    lone = tmp_path / ("lone.db3" if storage is MCAP else "lone.mcap")
    shutil.copy(source, lone)
    assert_same(read(lone)[0], RECORD)


@pytest.mark.parametrize(
    "options",
    [
        {"compression": CompressionType.LZ4},
        {"compression": CompressionType.ZSTD, "chunk_size": 4096},
        {"use_chunking": False},
        {
            "index_types": IndexType.NONE,
            "use_summary_offsets": False,
            "repeat_channels": False,
            "repeat_schemas": False,
        },
    ],
    ids=["lz4", "many small chunks", "no chunks", "no index and no summary"],
)
def test_mcap_is_read_whatever_the_recorder_left_out(tmp_path: Path, options: dict[str, object]) -> None:
    states, damages = read(write_mcap(tmp_path / "bag.mcap", RECORD, **options))
    assert_same(states, RECORD)
    assert damages == []


@pytest.mark.parametrize("metadata", [True, False])
def test_split_files_are_read_in_the_order_of_their_numbers(tmp_path: Path, metadata: bool) -> None:
    parts = np.array_split(np.arange(len(RECORD.stamps)), 12)
    folder = tmp_path / "bag"
    folder.mkdir()
    names = [f"bag_{i}.mcap" for i in range(12)]
    for name, chosen in zip(names, parts, strict=True):
        write_mcap(folder / name, part(RECORD, chosen))
    if metadata:
        listed = "".join(f"  - recorded/{name}\n" for name in names)
        (folder / "metadata.yaml").write_text(
            f"rosbag2_bagfile_information:\n  version: 4\n  relative_file_paths:\n{listed}"
        )
    assert_same(read(folder)[0], RECORD)


def test_rows_in_the_journal_of_a_killed_recorder_are_read(tmp_path: Path) -> None:
    bag = write_bag(tmp_path / "bag", RECORD, SQLITE)
    source = bag / "bag.db3"
    database = sqlite3.connect(source)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("DELETE FROM messages WHERE id > 150")
    database.commit()
    killed = tmp_path / "killed"
    shutil.copytree(bag, killed)  # with the journal, which closing would remove
    database.close()
    assert (killed / "bag.db3-wal").stat().st_size > 0
    assert_same(read(killed)[0], part(RECORD, slice(150)))


def test_a_cut_mcap_keeps_its_whole_messages_and_says_where_it_ends(tmp_path: Path) -> None:
    whole = write_mcap(tmp_path / "bag.mcap", RECORD, compression=CompressionType.NONE, chunk_size=16_000)
    content = whole.read_bytes()
    whole.write_bytes(content[: len(content) // 2])
    states, [damage] = read(whole)
    count = len(states.stamps)
    assert 80 < count < 120  # about half of 200 messages
    assert_same(states, part(RECORD, slice(count)))
    start = damage.rsplit(" ", 5)[0]
    assert damage.startswith(
        f"{whole}: damaged: the file ends at byte {len(content) // 2}, inside the record that"
    )
    assert damage.endswith("; what could be read before it was used"), start


@pytest.mark.parametrize("compression", [CompressionType.ZSTD, CompressionType.LZ4])
def test_a_cut_compressed_chunk_gives_its_beginning_or_nothing(
    tmp_path: Path, compression: CompressionType
) -> None:
    whole = write_mcap(tmp_path / "bag.mcap", RECORD, compression=compression, chunk_size=16_000)
    content = whole.read_bytes()
    whole.write_bytes(content[: len(content) // 2])
    states, damages = read(whole)
    assert len(damages) == 1
    assert 50 < len(states.stamps) < 150
    assert_same(states, part(RECORD, slice(len(states.stamps))))


def test_a_chunk_with_a_wrong_checksum_is_left_out_and_the_rest_is_read(tmp_path: Path) -> None:
    file = write_mcap(tmp_path / "bag.mcap", RECORD, compression=CompressionType.NONE, chunk_size=16_000)
    content = bytearray(file.read_bytes())
    place = content.index(joint_state(RECORD, 100))
    content[place + 200] ^= 0xFF
    file.write_bytes(content)
    states, [damage] = read(file)
    assert 100 < len(states.stamps) < 200
    assert RECORD.stamps[100] not in states.stamps
    head, tail = (
        f"{file}: damaged: the checksum of the chunk at byte ",
        " is wrong; what could be read before it was used",
    )
    assert damage.startswith(head)
    assert damage.endswith(tail)


def test_a_cut_sqlite_file_keeps_the_rows_whose_pages_are_there(tmp_path: Path) -> None:
    record = small_record(5000)
    bag = write_bag(tmp_path / "bag", record, SQLITE)
    content = (bag / "bag.db3").read_bytes()
    (bag / "bag.db3").write_bytes(content[: len(content) // 2])
    states, damages = read(bag)
    assert damages == [
        f"{bag / 'bag.db3'}: damaged: SQLite says: database disk image is malformed; "
        "what could be read before it was used"
    ]
    assert 1000 < len(states.stamps) < 4000
    assert_same(states, part(record, np.searchsorted(record.stamps, states.stamps)))


def test_a_cut_zstd_file_keeps_its_beginning(tmp_path: Path) -> None:
    record = small_record(5000)
    bag = write_bag(tmp_path / "bag", record, MCAP, CompressionMode.FILE)
    [file] = bag.glob("*.zstd")
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    states, damages = read(bag)
    assert damages[0] == f"{file}: damaged: the zstd stream ends early; what could be read before it was used"
    assert 1000 < len(states.stamps) < 4000
    assert_same(states, part(record, slice(len(states.stamps))))


@pytest.mark.parametrize(
    ("path", "code", "told"),
    [
        ("notes.txt", "unknown_storage", "68 65 6c 6c 6f"),
        ("empty", "no_files", "MCAP"),
        ("nowhere", "not_found", "folder"),
    ],
)
def test_what_is_no_bag_is_refused_with_what_was_found(
    tmp_path: Path, path: str, code: str, told: str
) -> None:
    (tmp_path / "notes.txt").write_text("hello bag")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BagError, match=told) as refused, open_bag(tmp_path / path):
        pass
    assert (refused.value.code, refused.value.bag) == (code, tmp_path / path)


@pytest.mark.parametrize("storage", [MCAP, SQLITE])
def test_flipped_bytes_anywhere_never_raise_anything_but_our_errors(
    tmp_path: Path, storage: StoragePlugin
) -> None:
    """150 files with up to eight random bytes changed, some of them cut as well."""
    bag = write_bag(tmp_path / "bag", RECORD, storage)
    [file] = [file for file in bag.iterdir() if file.name != "metadata.yaml"]
    (bag / "metadata.yaml").unlink()
    content = file.read_bytes()
    random = np.random.default_rng(11)
    outcomes = set()
    for _ in range(150):
        broken = np.frombuffer(content, np.uint8).copy()
        broken[random.integers(16, len(broken), random.integers(1, 9))] = random.integers(0, 256)
        length = len(broken) if random.random() < 0.7 else int(random.integers(16, len(broken)))
        file.write_bytes(broken[:length].tobytes())
        try:
            recording = read_recording(bag, RECORD.names)
        except BagError as error:
            outcomes.add(error.code)
        else:
            outcomes.add("damaged" if recording.damages else "read")
    assert {"damaged", "read"} <= outcomes


def test_rows_that_are_no_messages_are_left_out(tmp_path: Path) -> None:
    bag = write_bag(tmp_path / "bag", RECORD, SQLITE)
    with sqlite3.connect(bag / "bag.db3") as database:
        database.execute("UPDATE messages SET data = 'text' WHERE id = 11")
        database.execute("UPDATE messages SET timestamp = 'late' WHERE id = 21")
    database.close()
    assert_same(read(bag)[0], part(RECORD, np.setdiff1d(np.arange(200), [10, 20])))


@pytest.mark.parametrize("storage", [MCAP, SQLITE])
def test_a_large_message_among_small_ones_is_read_in_its_place(
    tmp_path: Path, storage: StoragePlugin
) -> None:
    """SQLite's rows are fetched by the hundred only while they are small."""
    record = small_record(3000)
    messages = [joint_state(record, i) for i in range(3000)]
    messages[1700] += bytes(2**20)  # padding at its end
    bag = write_messages(
        tmp_path / "bag",
        {("/joint_states", JOINT_STATE): list(zip(record.received.tolist(), messages, strict=True))},
        storage,
    )
    with open_bag(bag) as opened:
        blocks = list(opened.blocks({"/joint_states"}))
        assert opened.damages == []
    assert np.concatenate([block.received for block in blocks]).tolist() == record.received.tolist()
    read = [block.message(i) for block in blocks for i in range(len(block.offsets))]
    assert read == messages


def test_rows_that_hold_no_message_are_left_out(tmp_path: Path) -> None:
    bag = write_bag(tmp_path / "bag", small_record(1000), SQLITE)
    [file] = bag.glob("*.db3")
    with sqlite3.connect(file) as database:
        database.execute("UPDATE messages SET data = 'text' WHERE id = 10")
        database.execute("UPDATE messages SET data = 3.5 WHERE id = 700")
        database.execute("UPDATE messages SET timestamp = 'late' WHERE id = 900")
    with open_bag(bag) as opened:
        count = sum(len(block.offsets) for block in opened.blocks({"/joint_states"}))
    assert count == 997


def test_messages_of_two_topics_in_runs_of_any_length_are_all_found(tmp_path: Path) -> None:
    """Runs of 1 to 40, of equal and of changing sizes, as the mcap library itself reads them."""
    random = np.random.default_rng(5)
    path = tmp_path / "bag.mcap"
    with path.open("wb") as file:
        writer = McapWriter(file, chunk_size=20_000)
        writer.start("ros2")
        channels = [
            writer.register_channel(topic, "cdr", writer.register_schema(topic, "ros2msg", b""))
            for topic in ("/a", "/b")
        ]
        time = 0
        for run in random.integers(1, 41, 200):
            topic, size = random.integers(0, 2), 8 * random.integers(0, 3)
            for _ in range(run):
                time += int(random.integers(0, 2**40))
                own = size if random.random() < 0.98 else random.integers(0, 60)
                writer.add_message(channels[topic], time, random.bytes(own), time)
        writer.finish()
    expected: dict[str, list[tuple[int, bytes]]] = {"/a": [], "/b": []}
    with path.open("rb") as file:
        for _, channel, message in make_reader(file).iter_messages(log_time_order=False):
            expected[channel.topic].append((message.log_time, message.data))
    found: dict[str, list[tuple[int, bytes]]] = {"/a": [], "/b": []}
    with open_bag(path) as bag:
        for block in bag.blocks(found):
            times = block.received.tolist()
            found[block.topic] += [(time, block.message(i)) for i, time in enumerate(times)]
    assert found == expected
