"""The C++ control core answers recorded cycles of the Python loop as that loop did, and allocates nothing."""

import platform
import subprocess
from pathlib import Path

import numpy as np
import pytest
from compilers import CPP_COMPILERS
from example_robots import ROBOTS
from packages import (
    WARNINGS,
    X86_64_V3,
    all_kinds,
    compile_check,
    compile_replay,
    compiled,
    hostile_urdf,
    written,
)
from recorded_loop import FAULTS, PHASES, Recording, record_loop
from ur10e import ur10e_urdf

from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.runtime import DynamicsModel, load_model
from kane_dynamics_ros.share import share_directory

pytestmark = [
    pytest.mark.skipif(not CPP_COMPILERS, reason="no C++ compiler on this machine"),
    pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the allocation counter needs glibc"),
]

NO_REFERENCE, STEP = 1, 4  # of the core's Refusal
ROUNDING = 1e-12  # of the largest effort: the same C on both sides, sums in another order


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reference robot's."""
    urdf = share_directory() / "urdf" / "manipulator_5dof.urdf"
    return written(urdf, None, "arm_dynamics", tmp_path_factory.mktemp("packages"))


@pytest.fixture(scope="module")
def model() -> DynamicsModel:
    return load_model("manipulator_5dof")


def answers(program: Path, recording: Recording, n: int) -> tuple[np.ndarray, str]:
    """What the core answers to each recorded cycle, and what the program prints."""
    record, answered = program.with_suffix(".record"), program.with_suffix(".answers")
    recording.record.tofile(record)
    run = subprocess.run([program, record, answered], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return np.fromfile(answered).reshape(len(recording.efforts), -1), run.stdout


def assert_same(recording: Recording, answered: np.ndarray, n: int) -> None:
    """Efforts, phases, faults and their counts, cycle by cycle."""
    given, efforts, rest = np.split(answered, (1, 1 + n), axis=1)
    assert ((given[:, 0] > 0.0) == ~np.isnan(recording.efforts[:, 0])).all()
    efforts = np.where(given > 0.0, efforts, np.nan)
    largest = np.nanmax(np.abs(recording.efforts))
    assert np.nanmax(np.abs(efforts - recording.efforts)) < ROUNDING * largest
    tracking = {"holding": "tracking", "following": "tracking"}
    phases = [tracking.get(PHASES[int(phase)], PHASES[int(phase)]) for phase in rest[:, 0]]
    assert phases == recording.phases
    assert (rest[:, 2] > 0.0).tolist() == recording.lasting
    assert (rest[:, 3 : 3 + len(FAULTS)] == recording.faults).all()


def test_a_hundred_thousand_cycles_are_answered_as_the_python_loop_answers_them(
    package: Path, model: DynamicsModel, tmp_path: Path
) -> None:
    """With every mode, fault, reaction and limit, in both builds of the library; and no cycle allocates."""
    recording = record_loop(model, 100_000, seed=3)
    for march in ["-march=x86-64-v3"] if X86_64_V3 else [], []:
        program = compile_replay(package, tmp_path / "replay", CPP_COMPILERS[0], march=march)
        answered, printed = answers(program, recording, len(model.joints))
        assert_same(recording, answered, len(model.joints))
    assert "in the cycles: 0\n" in printed
    assert "before: 0," not in printed, "reading the record allocates: a counter at 0 counts nothing"
    assert (recording.faults[-1] > 0).all(), "every fault came"
    assert {text.split()[1] for text in recording.reactions} == {"hold", "zero", "stop"}
    for kind in ("position_jump", "tracking_error"):
        lasting = [text for text in recording.reactions if text.startswith(kind) and text.endswith("lasting")]
        assert lasting, f"{kind} came back too often"
    reasons = {(PHASES[int(row[6])], int(row[-1])) for row in answered}
    assert {("holding", NO_REFERENCE), ("holding", STEP)} <= reasons, "what is out of reach is not followed"


@pytest.mark.parametrize("standard", ["c++17", "c++20"])
@pytest.mark.parametrize("compiler", CPP_COMPILERS)
def test_the_core_compiles_without_a_warning(package: Path, compiler: str, standard: str) -> None:
    flags = [f"-std={standard}", *WARNINGS, "-fsyntax-only", "-I", package / "include"]
    compiled([compiler, *flags, package / "src" / "control_core.cpp"])


@pytest.mark.parametrize(
    "robot_name", ["ur10e", "panda with its hand", "hostile names", "joints of all kinds"]
)
def test_cores_of_other_robots_answer_as_the_python_loop_does(robot_name: str, tmp_path: Path) -> None:
    """With the last compiler that there is."""
    urdf, tip = {
        "ur10e": (ur10e_urdf(tmp_path), None),
        "panda with its hand": (ROBOTS / "panda_description/urdf/panda.urdf", "panda_hand"),
        "hostile names": (hostile_urdf(tmp_path), None),
        "joints of all kinds": (all_kinds(tmp_path), None),
    }[robot_name]
    package = written(urdf, tip, "robot_dynamics", tmp_path)
    module = write_module(derive(serial_chain(load_robot(urdf), tip)), "robot_dynamics", tmp_path / "module")
    other = load_model(module[0])
    recording = record_loop(other, 3_000, seed=5)
    program = compile_replay(package, tmp_path / "replay", CPP_COMPILERS[-1])
    answered, printed = answers(program, recording, len(other.joints))
    assert_same(recording, answered, len(other.joints))
    assert "in the cycles: 0\n" in printed
    check = compile_check(package, tmp_path / "check", CPP_COMPILERS[-1])
    assert subprocess.run([check, urdf], capture_output=True, text=True, check=True).stdout == "\n"
