"""Processes of this package import nothing from the current folder, which may be anybody's."""

import concurrent.futures
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kane_dynamics_ros.this_python import SAFE_PATH, can_import, module_command, safe_children

PLANTED = ("numpy", "runpy", "logging", "kane_dynamics_ros", "rclpy", "argparse")


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder with modules that somebody else put there, and what they leave when they run."""
    for name in PLANTED:
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r})\n")
    return tmp_path


def test_the_folder_is_a_trap_for_python_itself(shared: Path) -> None:
    subprocess.run([sys.executable, "-m", "kane_dynamics_ros"], cwd=shared, capture_output=True, check=False)
    assert (shared / "ran").is_file()


def test_arguments_and_exit_code_are_those_of_the_module(shared: Path) -> None:
    command = module_command("kane_dynamics_ros", "torque", "nothing.py", "--q", "0")
    done = subprocess.run(command, cwd=shared, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: no model 'nothing.py'")
    assert not (shared / "ran").exists()


def test_whether_a_package_can_be_imported_is_not_asked_of_the_current_folder(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shared)
    (shared / "only_here.py").write_text("")
    assert can_import("numpy")
    assert not can_import("only_here")
    assert not (shared / "ran").exists()


@pytest.mark.parametrize("node", ["domain", "bag_player"])
def test_processes_of_nodes_import_nothing_from_the_current_folder(node: str, shared: Path) -> None:
    pytest.importorskip("rclpy", reason="nodes need ROS 2")
    command = module_command(f"kane_dynamics_ros.nodes.{node}", "--help")
    done = subprocess.run(command, cwd=shared, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: ")
    assert not (shared / "ran").exists()


def test_ctrl_c_ends_a_quiet_process_without_a_traceback_while_it_imports(tmp_path: Path) -> None:
    """The logs of a demonstration that was interrupted at its start were full of tracebacks."""
    started = tmp_path / "started"
    (tmp_path / "slow.py").write_text(f"open({str(started)!r}, 'w'); import time; time.sleep(60)\n")
    command = module_command("slow", quietly=True)
    process = subprocess.Popen(command, env={"PYTHONPATH": str(tmp_path)}, stderr=subprocess.PIPE)
    end = time.monotonic() + 60.0
    while not started.exists() and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.communicate()[1] == b""
    assert process.returncode == -signal.SIGINT


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 always looks in the current folder")
def test_workers_import_nothing_from_the_current_folder(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shared / "multiprocessing.py").write_text((shared / "numpy.py").read_text())
    monkeypatch.chdir(shared)
    monkeypatch.delenv(SAFE_PATH, raising=False)
    spawn = multiprocessing.get_context("spawn")
    with safe_children(), concurrent.futures.ProcessPoolExecutor(1, spawn) as pool:
        assert pool.submit(pow, 2, 3).result() == 8
    assert not (shared / "ran").exists()
    assert SAFE_PATH not in os.environ
    with (
        pytest.raises(concurrent.futures.BrokenExecutor),
        concurrent.futures.ProcessPoolExecutor(1, spawn) as pool,
    ):
        pool.submit(pow, 2, 3).result()
    assert (shared / "ran").exists()  # it is a trap
