"""The C++ example: it compiles without warnings, follows, allocates nothing, and threads share its model."""

import platform
import re
import subprocess
import time
from pathlib import Path

import pytest
from compilers import CPP_COMPILER

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLE = REPOSITORY / "examples" / "realtime_controller"
GENERATED = REPOSITORY / "kane_dynamics_ros" / "generated"
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Werror"]

pytestmark = [
    pytest.mark.skipif(CPP_COMPILER is None, reason="no C++ compiler on this machine"),
    pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the allocation counter needs glibc"),
]


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("controller")
    model, program = folder / "model.o", folder / "realtime_controller"
    compile_c = ["gcc", "-std=c99", "-O1", "-c", GENERATED / "manipulator_5dof.c", "-o", model]
    sources = [EXAMPLE / "main.cpp", EXAMPLE / "allocations.cpp"]
    options = ["-std=c++17", "-O1", *WARNINGS, "-I", GENERATED, "-pthread"]
    subprocess.run(compile_c, check=True)
    subprocess.run(["g++", *options, *sources, model, "-lm", "-o", program], check=True)
    return program


def test_follows_without_allocating_while_another_thread_uses_the_model(controller: Path) -> None:
    """3000 cycles of 0.1 ms; the program itself checks the error of the exact arm against 2 mrad."""
    run = subprocess.run([controller, "3000", "100"], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stdout
    counted = re.search(r"allocations before the loop: (\d+), in the loop: 0\n", run.stdout)
    assert counted is not None
    assert int(counted[1]) > 0, "starting a thread allocates: a counter at 0 counts nothing"
    evaluations = re.search(r"evaluations by the second thread: (\d+)", run.stdout)
    assert evaluations is not None
    assert int(evaluations[1]) > 1


def test_keeps_its_period(controller: Path) -> None:
    """200 cycles of 1 ms take 0.2 s, and no less."""
    start = time.monotonic()
    subprocess.run([controller, "200", "1000"], capture_output=True, timeout=60, check=True)
    assert time.monotonic() - start >= 0.2
