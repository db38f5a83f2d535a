"""A ROS domain of one's own: claimed by a lock, found empty, and foreign nodes on it are named.

Two runs on one machine must not hear each other's ``joint_states``. ``free_domain`` gives a domain that no
other run of this package holds (each holds one TCP port of its domain's range, which the system frees with
the process) and on which no DDS participant of this machine listens (the UDP ports that the RTPS standard,
9.6.1.1, derives from the domain's number are free). With ``ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST``, as in
``private_environment``, no other machine's nodes are on it. ``kane_dynamics_ros.nodes.domain`` asks the ROS
graph too.
"""

import os
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from kane_dynamics_ros.errors import KaneDynamicsError

DOMAINS = range(20, 100)  # below 102: from there on the ports are those that Linux gives to clients
FIRST_PORT, PORTS_A_DOMAIN, FIRST_UNICAST = 7400, 250, 10  # RTPS 9.6.1.1: PB, DG, d1
PARTICIPANTS = 20  # of one domain, two ports each, whose ports are looked at


class DomainError(KaneDynamicsError):
    """A ROS domain cannot be had, or not be kept, for ourselves.

    Codes: ``none_free`` (``domains``); ``foreign`` (``domain``, ``names``: of the nodes that appeared on it).
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
    for domain in domains:
        last = FIRST_PORT + PORTS_A_DOMAIN * (domain + 1) - 1  # of a participant that no machine has
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as lock:
            if not _bound(lock, "127.0.0.1", last) or not all(map(_is_free, ports(domain))):
                continue
            if empty is None or empty(domain):
                yield domain
                return
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


def _is_free(port: int) -> bool:
    """Whether no process of this machine listens on a UDP port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        return _bound(probe, "", port)


def _bound(own: socket.socket, address: str, port: int) -> bool:
    """Bind a socket; False where another one has the port."""
    try:
        own.bind((address, port))
    except OSError:
        return False
    return True
