"""Trajectory and model files may be a stranger's: each command ends with 0, or with 2 and one line."""

import json
import random
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from random_chains import random_chain
from text_mutations import (
    CASES,
    NASTY,
    NUMBER,
    SEED,
    change_bytes,
    move_line,
    replace_number,
    replace_word,
)

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.control.trajectory_file import TrajectoryFileError, read_trajectory

NAMES = ["gamma_1", "alpha_2", "alpha_3", "beta_4", "gamma_4"]
NASTY_YAML = [
    *NASTY,
    b"&a [*a]",
    b"*a",
    b"!!python/object:os.system x",
    b"2026-13-45",
    b"9" * 400,
    b"9" * 5000,
    b"-1e308",
    b"{sec: 1e400}",
    b"{sec: 9223372036, nanosec: -1}",
    b"[" * 2000,
    b"null",
    b"true",
    b"1_000",
    b"0x10",
    b"1:30:00",
]


def put_nasty_value(random: random.Random, text: bytes) -> bytes:
    """A number becomes any other value of YAML."""
    numbers = list(NUMBER.finditer(text))
    if not numbers:
        return text
    number = random.choice(numbers)
    return text[: number.start()] + random.choice(NASTY_YAML) + text[number.end() :]


def mutated(random_: random.Random, text: bytes) -> bytes:
    mutations = [replace_number, replace_number, replace_word, move_line, change_bytes, put_nasty_value]
    for mutate in random_.choices(mutations, k=random_.choice([1, 1, 2, 4])):
        text = mutate(random_, text)
    return text


def trajectories() -> list[bytes]:
    """One with positions, one with all fields, one by hand with times in seconds and a stamp; as JSON too."""
    times = [{"sec": i + 1, "nanosec": 500_000_000} for i in range(4)]
    rest = [0.0] * 5
    positions = [[0.1 * i, 0.5, 0.2 - 0.05 * i, 0.0, 0.3] for i in range(4)]
    plain = [{"time_from_start": t, "positions": p} for t, p in zip(times, positions, strict=True)]
    full = [{**point, "velocities": rest, "accelerations": rest, "effort": rest} for point in plain]
    by_hand = [{"time_from_start": 1.5 * (i + 1), "positions": p} for i, p in enumerate(positions)]
    stamp = {"stamp": {"sec": 5, "nanosec": 3}, "frame_id": ""}
    contents = [{"joint_names": NAMES, "points": points} for points in (plain, full)]
    contents.append({"header": stamp, "joint_names": NAMES, "points": by_hand})
    return [text(content).encode() for content in contents for text in (yaml.safe_dump, json.dumps)]


def command_ends_well(words: list[str], capsys: pytest.CaptureFixture[str]) -> int:
    """The exit code, when it is 0, or 2 with one line, after those of a step that took seconds."""
    code = main(words)
    said = capsys.readouterr().err
    assert code in (0, 2), said
    if code:
        *steps, error = said.splitlines()
        assert error.startswith("error: ")
        assert all(re.fullmatch(r"[a-z ]+, \d+ s", step) for step in steps)
    return code


@pytest.mark.timeout(3600)
def test_trajectories_with_random_faults_are_annotated_or_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seeded; ``make fuzz`` makes it longer."""
    texts, codes = trajectories(), []
    target = tmp_path / "out.yaml"
    for case in range(CASES):
        random_ = random.Random(f"{SEED}/{case}")
        source = tmp_path / f"{case}.yaml"
        source.write_bytes(mutated(random_, random_.choice(texts)))
        words = ["annotate", "manipulator_5dof", str(source), "-o", str(target)]
        codes.append(command_ends_well(words, capsys))
        source.unlink()  # what a failure leaves behind is its case
    assert 0 < sum(code == 0 for code in codes) < CASES  # some faults do harm, some do none


@pytest.mark.timeout(3600)
def test_models_with_random_faults_load_or_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Faults anywhere, and in the lines that the checksum leaves out; seeded, longer by ``make fuzz``."""
    module = write_module(derive(random_chain(np.random.default_rng(1), 1)), "arm", tmp_path)[0]
    text = module.read_bytes()
    begin = text.index(b"VERIFIED = ")
    end = text.index(b"\n", begin)
    codes = []
    for case in range(CASES):
        random_ = random.Random(f"{SEED}/{case}")
        if case % 2:
            module.write_bytes(mutated(random_, text))
        else:
            record = mutated(random_, b"VERIFIED = {'lagrange': 1e-15, 'maggi': (1, 2, [3.5e-16])}")
            module.write_bytes(text[:begin] + record + text[end:])
        codes.append(command_ends_well(["torque", str(module), "--q", "0.1", "--json"], capsys))
    assert 0 < sum(code == 0 for code in codes) < CASES


@pytest.mark.parametrize(
    "time",
    [
        "9" * 400,
        "1.0e+308",
        "-1.0e+300",
        "{sec: " + "9" * 400 + "}",
        "{sec: 1.5}",
        ".inf",
        "true",
        "0x" + "f" * 6000,
        "{sec: 1, nanosec: -1}",
    ],
)
def test_a_time_that_no_message_could_carry_is_refused(tmp_path: Path, time: str) -> None:
    path = tmp_path / "trajectory.yaml"
    path.write_text(f"joint_names: [a]\npoints: [{{positions: [0], time_from_start: {time}}}]")
    with pytest.raises(TrajectoryFileError):
        read_trajectory(path)


def test_a_number_beyond_a_doubles_range_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trajectory.yaml"
    path.write_text(f"joint_names: [a]\npoints: [{{positions: [{'9' * 400}], time_from_start: 1}}]")
    with pytest.raises(TrajectoryFileError):
        read_trajectory(path)


@pytest.mark.parametrize("place", ["joint_names: [*z]", "joint_names: [a]\npoints: [{positions: [*z]}]"])
def test_lists_that_hold_each_other_a_billion_times_are_not_written_out(tmp_path: Path, place: str) -> None:
    levels = [
        f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]"
        for old, new in zip("abcdefghi", "bcdefghiz", strict=True)
    ]
    path = tmp_path / "trajectory.yaml"
    path.write_text("a: &a [1]\n" + "\n".join(levels) + f"\n{place}\n")
    with pytest.raises(TrajectoryFileError) as raised:
        read_trajectory(path)
    assert len(str(raised.value)) < 1000
