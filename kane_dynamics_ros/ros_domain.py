"""A ROS domain of one's own: claimed by a lock, found empty, and foreign nodes on it are named.

Two runs on one machine must not hear each other's ``joint_states``. ``free_domain`` gives a domain that no
other run of this package holds (a lock file for each domain) and on which no DDS participant of this machine
listens (the UDP ports that the RTPS standard, 9.6.1.1, derives from the domain's number are free). With
``ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST``, as in ``private_environment``, no other machine's nodes are on
it. ``kane_dynamics_ros.nodes.domain`` asks the ROS graph too.
"""

import fcntl
import os
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kane_dynamics_ros.errors import KaneDynamicsError

DOMAINS = range(20, 100)  # below 102: from there on the ports are those that Linux gives to clients
FIRST_PORT, PORTS_A_DOMAIN, FIRST_UNICAST = 7400, 250, 10  # RTPS 9.6.1.1: PB, DG, d1
PARTICIPANTS = 20  # of one domain, two ports each, whose ports are looked at


class NoFreeDomainError(KaneDynamicsError):
    """Every domain is taken."""

    def __init__(self, domains: Sequence[int]) -> None:
        self.domains = tuple(domains)
        super().__init__(
            f"no ROS domain from {domains[0]} to {domains[-1]} is free: other nodes of this machine are on "
            "each; end those that are not needed"
        )


class ForeignNodeError(KaneDynamicsError):
    """A foreign node is on a domain that should be private."""

    def __init__(self, domain: int, names: Iterable[str]) -> None:
        self.domain, self.names = domain, tuple(names)
        super().__init__(
            f"ROS domain {domain} is not ours alone: {', '.join(self.names)} appeared on it; "
            "nothing more is commanded; end it, or give it another ROS_DOMAIN_ID"
        )


@contextmanager
def free_domain(
    domains: Sequence[int] = DOMAINS, empty: Callable[[int], bool] | None = None
) -> Iterator[int]:
    """A domain that no other process uses, held until the context ends.

    Args:
        domains: the numbers to choose from, in order.
        empty: a further question, asked of a domain that is locked and whose ports are free.

    Raises:
        NoFreeDomainError: none is free.
    """
    for domain in domains:
        lock = _lock(domain)
        if lock is None:
            continue
        try:
            if ports_are_free(domain) and (empty is None or empty(domain)):
                yield domain
                return
        finally:
            os.close(lock)
    raise NoFreeDomainError(domains)


def private_environment(domain: int) -> dict[str, str]:
    """This process's environment, on a domain that does not leave the machine."""
    return {**os.environ, **private_variables(domain)}


def private_variables(domain: int) -> dict[str, str]:
    """The variables alone that put a process on a domain that does not leave the machine."""
    return {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}


def ports(domain: int) -> list[int]:
    """The UDP ports of a domain: multicast discovery, and unicast discovery and data of each participant."""
    base = FIRST_PORT + PORTS_A_DOMAIN * domain
    return [base, *range(base + FIRST_UNICAST, base + FIRST_UNICAST + 2 * PARTICIPANTS)]


def ports_are_free(domain: int) -> bool:
    """Whether no process of this machine listens on a port of the domain."""
    return all(map(_is_free, ports(domain)))


def _lock(domain: int) -> int | None:
    """The open lock file of a domain; ``None`` where another process holds it. Closing it ends the claim."""
    path = Path(tempfile.gettempdir()) / f"kane_dynamics_ros-domain-{domain}.lock"
    try:
        try:
            lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        except FileNotFoundError:
            lock = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except OSError:  # another user's, or not a file: not ours to use
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
