"""A domain of one's own: claimed once, found empty, guarded."""

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

rclpy = pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

from kane_dynamics_ros.ros_domain import (
    DomainError,
    free_domain,
    ports,
    private_environment,
)

PATIENCE = 30.0  # [s] on a busy machine


def processes_on(domain):
    """The ids of the processes that listen on the domain, by what Linux says of its sockets.

    Processes of other users are not visible to a user who is not root.
    """
    inodes = set()
    for table in ("/proc/net/udp", "/proc/net/udp6"):
        try:
            rows = [line.split() for line in Path(table).read_text().splitlines()[1:]]
        except OSError:
            continue
        wanted = set(ports(domain))
        inodes |= {row[9] for row in rows if int(row[1].rpartition(":")[2], 16) in wanted}
    found = set()
    for folder in Path("/proc").glob("[0-9]*") if inodes else ():
        try:
            links = map(target_of, (folder / "fd").iterdir())
            if any(link.removeprefix("socket:[").removesuffix("]") in inodes for link in links):
                found.add(int(folder.name))
        except OSError:  # ended meanwhile, or another user's
            continue
    return found


def target_of(link):
    """What a link points to; nothing where it was closed meanwhile."""
    try:
        return os.readlink(link)
    except OSError:
        return ""


def claimed_elsewhere(taken):
    with free_domain(domains=[taken]):
        pass


def test_two_runs_never_hold_one_domain():
    with free_domain() as first, free_domain() as second:
        assert first != second
        with pytest.raises(DomainError), free_domain(domains=[first, second]):
            pass
        other = multiprocessing.get_context("spawn").Process(target=claimed_elsewhere, args=(first,))
        other.start()
        other.join(PATIENCE)
        assert other.exitcode == 1
    with free_domain(domains=[first]) as again:
        assert again == first


def test_a_domain_on_whose_ports_somebody_listens_is_passed_over():
    with free_domain() as free:
        pass
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as somebody:
        somebody.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as DDS does
        somebody.bind(("", ports(free)[1]))
        assert os.getpid() in processes_on(free)
        with pytest.raises(DomainError), free_domain(domains=[free]):
            pass


@pytest.fixture
def robot():
    """A domain with a node on it, in a namespace."""
    with free_domain() as domain:
        command = [sys.executable, "-m", "kane_dynamics_ros.nodes.simulated_hardware_node", "--ros-args"]
        process = subprocess.Popen(
            [*command, "-r", "__ns:=/somebody", "--log-level", "error"], env=private_environment(domain)
        )
        try:
            yield domain, process
        finally:
            process.kill()
            process.wait()


def test_a_running_node_takes_its_domain_by_ports(robot):
    domain, process = robot
    end = time.monotonic() + PATIENCE
    while process.pid not in processes_on(domain):
        assert time.monotonic() < end, "the node never took a port"
        time.sleep(0.1)
    with pytest.raises(DomainError), free_domain(domains=[domain]):
        pass


# The guard, which also prints all nodes that it judges at each look.
GUARD = """
import sys
from kane_dynamics_ros.nodes import domain
judge = domain.foreign_nodes
def told(node, namespaces):
    print(judge(node, ()), flush=True)
    return judge(node, namespaces)
domain.foreign_nodes = told
sys.exit(domain.main(["--guard", sys.argv[1]]))
"""


@pytest.mark.parametrize(("namespace", "code"), [("/somebody", 0), ("/some", 2)])
def test_the_guard_names_a_foreign_node_and_knows_its_own(robot, namespace, code):
    domain, _ = robot
    guard = subprocess.Popen(
        [sys.executable, "-c", GUARD, namespace],
        env=private_environment(domain),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        if code == 0:
            looks = 0
            while looks < 3:  # at the node
                line = guard.stdout.readline()
                assert line, guard.stderr.read()
                looks += "/somebody/simulated_hardware" in line
            guard.send_signal(signal.SIGINT)
        _, error = guard.communicate(timeout=PATIENCE)
    finally:
        guard.kill()
    assert guard.returncode == code
    assert ("/somebody/simulated_hardware" in error) == (code == 2)
