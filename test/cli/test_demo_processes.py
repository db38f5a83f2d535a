"""Nodes as processes: they always end, and one that fails is reported with the end of its log."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from own_domain import own_domain

from kane_dynamics_ros.cli import demo as processes
from kane_dynamics_ros.cli.demo import (
    DemonstrationError,
    guard_command,
    node_command,
    running,
    wait_for,
)
from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.ros_domain import private_environment
from kane_dynamics_ros.this_python import module_command

BAG = Path(__file__).parents[1] / "replay" / "data" / "regression.mcap"
SLEEP = "import time; print('started', flush=True); time.sleep(60)"
FAIL = "print('no such model'); raise SystemExit(3)"
STUBBORN = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); " + SLEEP


@pytest.fixture
def programs(monkeypatch):
    """Lets the names sleep, fail and stubborn stand for nodes."""
    codes = {"sleep": SLEEP, "fail": FAIL, "stubborn": STUBBORN, "end": ""}
    monkeypatch.setattr(processes, "SHUTDOWN_TIMEOUT", 0.5)
    return {name: [sys.executable, "-c", code] for name, code in codes.items()}


def test_command_line_sets_ros_parameters_as_yaml():
    parameters = {"mode": "feedforward_pd", "terms.gravity": False, "kp": [1.0, 2.0], "rate": 500.0}
    assert node_command("some_node", parameters, "/space") == [
        *module_command("kane_dynamics_ros.nodes.some_node", quietly=True, bound=True),
        "--ros-args",
        *["-r", "__ns:=/space", "-r", "/clock:=/space/clock", "-r", "/diagnostics:=/space/diagnostics"],
        *["-p", 'mode:="feedforward_pd"', "-p", "terms.gravity:=false"],
        *["-p", "kp:=[1.0, 2.0]", "-p", "rate:=500.0"],
    ]


REPLAY = ["replay", str(BAG), "--model", "manipulator_5dof", "--live"]


@pytest.mark.parametrize(
    ("words", "what"), [(["demo"], "the demonstration"), (REPLAY, "--live")], ids=["demo", "replay"]
)
def test_missing_ros_is_said_at_once_with_two_ways_out(monkeypatch, capsys, tmp_path, words, what):
    """Also where rclpy is there and cannot be imported, as one that was built for another Python."""
    (tmp_path / "rclpy").mkdir()
    broken = "raise ModuleNotFoundError('no module rclpy._rclpy_pybind11', name='rclpy._rclpy_pybind11')"
    (tmp_path / "rclpy" / "__init__.py").write_text(broken)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    assert main(words) == 2
    assert capsys.readouterr().err == (
        f"error: {what} needs ROS 2's rclpy, which this Python does not have; source ROS's "
        "setup.bash, or install ROS 2 from PyPI with pip install '.[ros]' in the checkout\n"
    )


@pytest.mark.parametrize("name", ["sleep", "stubborn"])
def test_node_is_ended_when_something_fails(programs, tmp_path, name):
    def fail_while_it_runs():
        with running(name, programs[name], os.environ, tmp_path) as node:
            nodes.append(node)
            raise ZeroDivisionError

    nodes = []
    with pytest.raises(ZeroDivisionError):
        fail_while_it_runs()
    assert [node.ended() for node in nodes] == [True]


def test_waiting_ends_when_the_worker_has_ended(programs, tmp_path):
    with (
        running("sleep", programs["sleep"], os.environ, tmp_path) as node,
        running("end", programs["end"], os.environ, tmp_path) as worker,
    ):
        wait_for(worker, while_running=[node])
        assert not node.ended()


@pytest.mark.parametrize("failing", ["worker", "other"])
def test_failure_of_any_node_is_reported_with_the_end_of_its_log(programs, tmp_path, failing):
    first, second = ("fail", "sleep") if failing == "worker" else ("sleep", "fail")
    with (
        running(first, programs[first], os.environ, tmp_path) as worker,
        running(second, programs[second], os.environ, tmp_path) as other,
        pytest.raises(DemonstrationError) as caught,
    ):
        wait_for(worker, while_running=[other])
    log = tmp_path / "fail.log"
    assert str(caught.value) == f"fail ended with exit code 3; its log {log} closes with:\nno such model"


FOREIGN_NODE = """
import rclpy, time
rclpy.init()
node = rclpy.create_node("real_robot")
time.sleep(60)
"""


def test_a_foreign_node_on_the_domain_ends_the_run_and_is_named(tmp_path):
    pytest.importorskip("rclpy", reason="the guard is a node")
    environment = private_environment(own_domain())
    foreign_node = [sys.executable, "-c", FOREIGN_NODE]
    worker = [sys.executable, "-c", SLEEP]
    with (
        running(processes.GUARD, guard_command("/demo"), environment, tmp_path) as guard,
        running("worker", worker, environment, tmp_path) as working,
        running("foreign", foreign_node, environment, tmp_path),
        pytest.raises(DemonstrationError) as caught,
    ):
        wait_for(working, while_running=[guard])
    assert "/real_robot" in str(caught.value)


def test_a_run_is_alone_on_its_domain_and_in_its_namespace(monkeypatch, tmp_path):
    started = []

    def note(name, command, environment, logs):
        started.append((name, command, environment["ROS_DOMAIN_ID"]))
        return running(name, [sys.executable, "-c", "" if "recorder" in name else SLEEP], environment, logs)

    monkeypatch.setattr(processes, "running", note)
    processes.record({}, tmp_path / "trajectory.yaml", tmp_path / "run", wall_clock=False)
    assert started[0][0] == processes.GUARD  # before anything is commanded
    assert len({domain for *_, domain in started}) == 1
    space = started[0][1][-1]
    assert space.startswith("/demo_")
    assert all(f"__ns:={space}" in command for _, command, _ in started[1:])


PARENT = """
import sys, time
from pathlib import Path
from kane_dynamics_ros.cli.demo import running
from kane_dynamics_ros.this_python import module_command
command = module_command("slow", quietly=True, bound=True)
with running("slow", command, {{"PYTHONPATH": {path!r}}}, Path({path!r})):
    time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_a_node_does_not_outlive_a_demonstration_that_was_killed(tmp_path, number):
    started = tmp_path / "started"
    (tmp_path / "slow.py").write_text(
        f"import os, time; open({str(started)!r}, 'w').write(str(os.getpid())); time.sleep(600)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", PARENT.format(path=str(tmp_path))])
    node = int(wait_until(lambda: started.exists() and started.read_text()))
    parent.send_signal(number)
    parent.wait()
    wait_until(lambda: not alive(node))


def alive(process):
    """Whether it runs; one that nobody has waited for is a zombie, which does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(holds, seconds=60.0):
    end = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found
