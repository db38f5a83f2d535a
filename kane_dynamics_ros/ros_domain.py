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
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from platformdirs import user_cache_path

from kane_dynamics_ros.errors import KaneDynamicsError

NAME = "kane_dynamics_ros"

DOMAINS = range(20, 100)  # below 102: from there on the ports are those that Linux gives to clients
FIRST_PORT, PORTS_A_DOMAIN, FIRST_UNICAST = 7400, 250, 10  # RTPS 9.6.1.1: PB, DG, d1
PARTICIPANTS = 20  # of one domain, two ports each, whose ports are looked at


class DomainError(KaneDynamicsError):
    """A ROS domain cannot be had, or not be kept, for ourselves.

    Codes: ``none_free`` (``domains``); ``foreign`` (``domain``, ``names``: of the nodes that appeared on it);
    ``lock`` (no folder for the locks).
    """


def foreign_nodes_appeared(domain: int, names: Iterable[str]) -> DomainError:
    """Foreign nodes are on a domain that should be private."""
    names = tuple(names)
    return DomainError(
        f"ROS domain {domain} is not ours alone: {', '.join(names)} appeared on it; "
        "nothing more is commanded; end it, or give it another ROS_DOMAIN_ID",
        "foreign",
        domain=domain,
        names=names,
    )


@contextmanager
def free_domain(
    domains: Sequence[int] = DOMAINS, empty: Callable[[int], bool] | None = None
) -> Iterator[int]:
    """A domain that no other process uses, held until the context ends.

    Args:
        domains: the numbers to choose from, in order.
        empty: a further question, asked of a domain that is locked and whose ports are free.

    Raises ``DomainError``.
    """
    folder = lock_folder()
    for domain in domains:
        lock = _lock(folder / f"{domain}.lock")
        if lock is None:
            continue
        try:
            if ports_are_free(domain) and (empty is None or empty(domain)):
                yield domain
                return
        finally:
            os.close(lock)
    raise DomainError(
        f"no ROS domain from {domains[0]} to {domains[-1]} is free: other nodes of this machine are on "
        "each; end those that are not needed",
        "none_free",
        domains=tuple(domains),
    )


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


def lock_folder() -> Path:
    """This user's own folder of locks: in the temporary folder, or in the cache where that name is taken.

    Nobody else can put a link or a pipe into it, at which a lock would hang or fail.
    """
    places = (
        Path(tempfile.gettempdir()) / f"kane_dynamics_ros-{os.getuid()}",
        user_cache_path(NAME) / "domains",
    )
    for folder in places:
        with suppress(OSError):
            folder.mkdir(0o700, parents=True, exist_ok=True)
            there = folder.lstat()
            if stat.S_ISDIR(there.st_mode) and there.st_uid == os.getuid() and not there.st_mode & 0o022:
                return folder
    taken = " and ".join(map(str, places))
    raise DomainError(f"{taken}: neither is a folder of this user's alone; remove what is there", "lock")


def _lock(path: Path) -> int | None:
    """The open lock file; ``None`` where another process holds it. Closing it ends the claim."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
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
