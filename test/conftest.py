"""What holds for every test; its presence lets each import the shared helpers that lie beside it.

``make test`` runs them in as many processes as there are cores, by pytest-xdist; no test needs that. Each
process has a ROS domain of its own, and its own of every fixture.
"""

import os

# Read when NumPy is imported: beside other tests, threads for small matrices would wait for each other.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from own_domain import claims_of_one_test, own_domain

from kane_dynamics_ros.ros_domain import free_domain, private_variables

os.environ.update(private_variables(own_domain()))  # what a test does not put elsewhere is apart from all
# A shell's background jobs ignore Ctrl-C, those of nohup a hang-up; what tests start and end would too.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)


def pytest_configure(config: pytest.Config) -> None:
    """What tests compile goes beside pytest's own cache, not into the user's, and serves the next run."""
    if cache := getattr(config, "cache", None):
        os.environ["XDG_CACHE_HOME"] = str(cache.mkdir("compiled"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of the demonstration stand side by side: one of several processes runs it and all of them."""
    items.sort(key=lambda item: "demo_output" not in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="module", autouse=True)
def ros_domain() -> Iterator[int]:
    """The domain of a file's tests, in their environment too; given back after the last of them."""
    with free_domain() as number, pytest.MonkeyPatch.context() as patch:
        for name, value in private_variables(number).items():
            patch.setenv(name, value)
        yield number


@pytest.fixture(autouse=True)
def _claims() -> Iterator[None]:
    """Before all other fixtures of one test, so that it ends after them."""
    with claims_of_one_test():
        yield


@pytest.fixture(scope="session")
def demo_output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``kane_dynamics demo`` wrote, and printed (output.txt); it runs once for all tests."""
    pytest.importorskip("rclpy", reason="the demonstration needs ROS 2")
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "kane_dynamics_ros", "demo", "--output", str(folder)]
    demo = subprocess.run(command, capture_output=True, text=True)
    assert demo.returncode == 0, demo.stdout + demo.stderr
    (folder / "output.txt").write_text(demo.stdout)
    return folder
