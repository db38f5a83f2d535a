"""How a node's process ends: Ctrl-C while something long goes on, twice, and what it logs meanwhile."""

import os
import signal
import subprocess
import sys
import time

import pytest
from own_domain import own_environment

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

from kane_dynamics_ros.nodes.process import LAUNCH_PERIOD, LAUNCHED_BY

PATIENCE = 60.0  # [s] on a busy machine

NODE = """
import logging, subprocess
from rclpy.node import Node
from kane_dynamics_ros.nodes.process import run_node, stopping_at_once

class Compiling(Node):
    def __init__(self):
        super().__init__("compiling")
        self.create_timer(0.01, self.compile)

    def compile(self):
        logging.getLogger("kane_dynamics_ros.runtime").info("compiling")
        with stopping_at_once():
            child = subprocess.Popen(["sleep", "60"], start_new_session=True)
            print("child", child.pid, flush=True)
            try:
                child.wait()
            finally:
                child.kill()
                child.wait()

    def destroy_node(self):
        print("finished", flush=True)
        super().destroy_node()

raise SystemExit(run_node(Compiling))
"""


@pytest.fixture
def process(tmp_path):
    """The node with what it prints in a file."""
    log = tmp_path / "log"
    with log.open("wb") as output:
        started = subprocess.Popen(
            [sys.executable, "-c", NODE],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=own_environment(),
        )
    try:
        yield started, log
    finally:
        started.kill()
        started.wait()


def wait_for(log, word):
    deadline = time.monotonic() + PATIENCE
    while word not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_compilation_and_the_process_cleanly(process, number):
    started, log = process
    wait_for(log, "child")
    started.send_signal(number)
    assert started.wait(PATIENCE) == 0
    text = log.read_text()
    assert "finished" in text
    assert "Traceback" not in text
    child = int(text.split("child", 1)[1].split()[0])
    assert not os.path.exists(f"/proc/{child}")


def test_a_second_ctrl_c_does_not_change_the_exit_code(process):
    started, log = process
    wait_for(log, "child")
    for _ in range(50):
        if started.poll() is not None:
            break
        started.send_signal(signal.SIGINT)
        time.sleep(0.01)
    assert started.wait(PATIENCE) == 0
    assert "Traceback" not in log.read_text()


def test_what_other_rooms_log_is_in_the_ros_log(process):
    started, log = process
    wait_for(log, "[kane_dynamics_ros.runtime]: compiling")
    started.send_signal(signal.SIGINT)
    assert started.wait(PATIENCE) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_node_that_a_launch_started_ends_with_it(tmp_path, number):
    """``ros2 launch`` has no handler for SIGTERM: it ends at once, and its nodes would go on."""
    launch = subprocess.Popen(["sleep", "600"])
    log = tmp_path / "log"
    with log.open("wb") as output:
        node = subprocess.Popen(
            [sys.executable, "-m", "kane_dynamics_ros.nodes.simulated_hardware_node"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=own_environment() | {LAUNCHED_BY: str(launch.pid)},
        )
    try:
        wait_for(log, "simulating")
        time.sleep(3.0 * LAUNCH_PERIOD)
        assert node.poll() is None  # as long as it is there
        launch.send_signal(number)
        launch.wait()
        assert node.wait(PATIENCE) == 0
        assert "Traceback" not in log.read_text()
    finally:
        for process in (launch, node):
            process.kill()
            process.wait()
